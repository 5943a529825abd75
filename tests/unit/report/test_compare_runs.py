"""Two recordings compared for the screens, and reports that overwrite nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from run_script import write_runs

from bioeval_tui.errors import UsageError
from bioeval_tui.report.compare_runs import compare_runs, write_report
from bioeval_tui.settings import Settings
from bioeval_tui.tui.data.run_list import RunList

IDS = ["20261120-090000-aaaa", "20261120-100000-bbbb"]


@pytest.fixture
def runs(tmp_path: Path) -> RunList:
    settings = Settings(data_dir_override=str(tmp_path))
    write_runs(settings, IDS)
    return RunList(settings)


def test_a_run_compared_with_itself_has_no_differences(runs: RunList) -> None:
    found = compare_runs(runs.summary(IDS[0]), runs.summary(IDS[1]))
    assert [condition.condition for condition in found.conditions] == ["withheld", "supplied"]
    for condition in found.conditions:
        assert condition.score.a == condition.score.b is not None
        assert {check.change for check in condition.assertions} == {"same"}
        assert condition.latency is not None
        assert condition.latency.a == condition.latency.b


def test_comparing_a_deleted_run_says_that_it_is_gone(runs: RunList) -> None:
    with pytest.raises(UsageError, match="no longer exists"):
        runs.summary("20261120-110000-cccc")


def test_reports_are_private_and_get_unique_names(runs: RunList, tmp_path: Path) -> None:
    paths = [runs.find(run_id) for run_id in IDS]
    first, second = write_report(paths[:1], tmp_path), write_report(paths[:1], tmp_path)
    both = write_report(paths, tmp_path)
    assert len({first, second, both}) == 3
    assert "<html" in first.read_text("utf-8")
    if os.name != "nt":
        assert first.stat().st_mode & 0o077 == 0

"""Watched reports: those written later appear, too."""

from __future__ import annotations

import json
import re
import shutil
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from medal_rows import sample_rows

from bioeval_tui.base.settings import Settings
from bioeval_tui.grade.runs import find_runs
from bioeval_tui.grading import TaskReport
from bioeval_tui.sample.paths import sample_submissions
from bioeval_tui.tui.data.services import AppServices
from bioeval_tui.tui.grading_items import MedalRow
from bioeval_tui.tui.medals.medals_view import MedalTable
from tests.command import call
from tests.forked import fork_templates

ROWS = "bioeval_tui.tui.data.grading"


@pytest.fixture(autouse=True)
def forks_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    fork_templates(monkeypatch)


def written(path: Path, report: TaskReport) -> None:
    path.write_text(json.dumps({"task_reports": [report.to_dict()]}))


async def test_new_reports_in_a_watched_folder_appear_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{ROWS}.WATCH_S", 0.01)
    read, looks = Path.read_bytes, count()

    def at_first_half_written(path: Path) -> bytes:
        whole = read(path)
        return whole[:40] if path.name.startswith("b_") and next(looks) == 0 else whole

    first, second = [row.report for row in sample_rows() if row.report][:2]
    folder = tmp_path / "reports"
    folder.mkdir()
    written(folder / "a_grading_report.json", first)
    services = AppServices(Settings(data_dir_override=str(tmp_path / "data")), reports=[folder])
    rows: Any = services.medals()
    assert (at_once := await anext(rows)) is not None
    assert at_once.task_id == first.task_id
    assert await anext(rows) is None
    monkeypatch.setattr(Path, "read_bytes", at_first_half_written)
    written(folder / "b_grading_report.json", second)
    assert (later := await anext(rows)) is not None
    assert later.task_id == second.task_id
    assert await anext(rows) is None
    services.close()


async def test_the_screen_has_one_row_of_each_submission_of_runs_and_reports_as_the_table_has(
    tmp_path: Path,
) -> None:
    """One run cannot be graded here but is in a report; of one whose file came later, the report
    says that it left none.
    """
    group = tmp_path / "runs" / "2025-07-01T10-00-00-GMT_run-group_ada"
    known = {}
    for number, task in enumerate(("t-1", "t-2", "t-3")):
        name = f"{task}_{UUID(int=number)}"
        known[name] = {"task_id": task}
        (group / name / "submission").mkdir(parents=True)
        if task != "t-3":
            (group / name / "submission" / "submission.csv").write_text("id,y\n1,1\n")
    (group / "metadata.json").write_text(json.dumps({"runs": known}))
    (row, *_) = (row.report for row in sample_rows() if row.report and row.report.medal == "gold")
    first = next(iter(known))
    won = {
        **row.to_dict(),
        "extra": {},
        "task_id": "t-1",
        "submission_path": f"runs/{group.name}/{first}/submission/submission.csv",
    }
    none = {
        **won,
        "submission_path": None,
        "score": None,
        "valid_submission": False,
        "gold_medal": False,
        "extra": {},
    }
    reports = [won, {**none, "task_id": "t-2"}, {**none, "task_id": "t-3"}]
    (group / "grading_report.json").write_text(json.dumps({"task_reports": reports}))
    settings = Settings(data_dir_override=str(tmp_path / "data"))
    services = AppServices(settings, runs=find_runs([tmp_path / "runs"]))
    table = MedalTable()
    async for graded in services.medals():
        if graded is None:
            break
        table.add(graded)
    services.close()
    shown = sorted((entry.row.task_id, entry.row.agent, entry.standing) for entry in table.entries)
    assert shown == [
        ("t-1", "ada", "gold"),
        ("t-2", "ada", "not_graded"),
        ("t-3", "ada", "invalid"),
    ]
    counts = "1 gold, 1 invalid, 1 not graded of 3;"
    assert counts in table.answer.what
    printed = call("medals", tmp_path / "runs", "--table").stdout
    assert counts in printed


async def test_a_mended_file_is_graded_again_and_stays_so(tmp_path: Path) -> None:
    """Where the session's reports are; a copy of the samples, of which one is replaced by a good
    one.
    """
    samples = tmp_path / "samples"
    shutil.copytree(sample_submissions(), samples)
    good, bad = (
        next(samples.glob(f"*_{agent}")) / "breast-cancer.csv" for agent in ("careful", "broken")
    )
    listed = tmp_path / "list.jsonl"
    listed.write_text(
        json.dumps({"task_id": "oncology/breast-cancer", "submission_path": str(bad)})
    )
    out = tmp_path / "out"
    assert call("grade", listed, "--output-dir", out).return_value == 1

    async def rows() -> list[MedalRow]:
        found = []
        async for row in services.medals():
            if row is None:
                break
            found.append(row)
        return found

    services = AppServices(Settings(), reports=[out])
    [row] = await rows()
    assert row.report is not None
    assert not row.report.valid_submission
    shutil.copy(good, bad)
    fresh = services.grade_again(row)
    assert fresh.report is not None
    assert (fresh.report.medal, fresh.agent, fresh.key) == ("silver", "broken", row.key)
    [(_, before)] = fresh.earlier
    assert before.startswith("invalid: 7 ids are missing")
    [again] = await rows()
    assert (again.report and again.report.medal, again.at) == ("silver", fresh.at)
    assert [words for _, words in again.earlier] == [before]
    services.close()
    shown = call("medals", out, "--table")
    assert "1 silver of 1 submission;" in shown.stdout
    assert re.search(r" silver +0\.99153  0\.\d+ to 0\.\d+ ", shown.stdout), "with its interval"
    assert "1 other grading of the same submissions is left out" in shown.stderr

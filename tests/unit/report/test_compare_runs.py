"""Two recordings compared for the screens, and reports that overwrite nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from run_script import scripted_run, write_runs

from bioeval_tui.errors import UsageError
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.report.compare_runs import compare_runs, preview, write_report
from bioeval_tui.report.gains import lost_points
from bioeval_tui.report.run_summary import Loss
from bioeval_tui.settings import Settings
from bioeval_tui.tui.data.run_list import RunList
from tests.unit.report.recorded import GOLDEN, Recorded, Talk

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


def test_a_preview_quotes_the_turn_in_which_a_task_was_not_done() -> None:
    found = preview(GOLDEN)
    reason = "1 of 2 rules holds: asked for the missing time zone. Not met: confirmed the reminder."
    assert found.lost == Loss(reason, 2, "assistant", "Which time zone are you in?")
    assert found.lowest == "withheld"
    assert found.gains[0] == ("assertion “a reminder exists”", "+0.24")
    assert found.last == ()


@pytest.mark.parametrize(
    ("talk", "lost"),
    [
        (Talk(tasks=(1.0, 0.2), holds=(False,)), Loss("“task 2” is not done")),
        (Talk(tasks=(0.9,), holds=(True, False)), Loss("“check 2” does not hold")),
        (Talk(latencies_ms=(500.0, 3000.0)), Loss("slow: this answer took 3.00 s", 2, "assistant", "hello")),
        (Talk(failures=1), Loss("503", 1, "assistant")),
    ],
)
def test_what_lost_points_is_a_failed_task_then_an_assertion_then_slow_answers_and_failures(
    talk: Talk, lost: Loss, tmp_path: Path
) -> None:
    found = preview(Recorded(withheld=[Talk(), talk], supplied=[Talk(), Talk()]).write(tmp_path))
    assert (found.lowest, found.lost) == ("withheld, trial 2", lost)


def test_an_assertion_that_broke_shows_the_answer_that_broke_it() -> None:
    state = apply_all(RunState(), scripted_run())
    talk = state.conversation("withheld")
    talk.verdict = None
    held = talk.checks[0]
    held[:2] = [check.model_copy(update={"status": "passed"}) for check in held[:2]]
    lost = lost_points(state, talk)
    assert lost.turn == 3
    assert lost.passage.startswith("I can't set it without a time zone.")


def test_a_run_that_lost_nothing_shows_its_last_messages(tmp_path: Path) -> None:
    found = preview(Recorded(withheld=[Talk()], supplied=[Talk()]).write(tmp_path))
    assert found.lost is None
    assert found.last == (("user", "Hello"), ("assistant", "hello"))

"""A recording compared with itself, and previews of a run beside a list."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_script import scripted_run

from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.result import load_run, result_of
from bioeval_tui.tui.runs.runs_view import preview
from tests.unit.report.recorded import GOLDEN, Recorded, Talk


def test_a_run_compared_with_itself_has_no_differences() -> None:
    run = result_of(apply_all(RunState(), scripted_run()))
    found = compare(run, run)
    assert [condition.condition for condition in found.conditions] == ["withheld", "supplied"]
    for condition in found.conditions:
        assert condition.a.mean == condition.b.mean is not None
        assert {check.change for check in condition.assertions} == {"same"}
        assert condition.latency is not None
        assert condition.latency.mean == 0


def test_a_preview_says_why() -> None:
    found = preview(load_run(GOLDEN))
    assert found.lowest == "without the facts"
    assert found.last == ()
    # It was never met: no message shows why.
    assert found.answer.why == "without the facts, assertion: “a reminder exists” fails"


@pytest.mark.parametrize(
    ("talk", "lost"),
    [
        (Talk(tasks=(1.0, 0.2)), "judge: “task 2”: 0.20, no reason is recorded"),
        (Talk(holds=(True, False)), "assertion: “check 2” fails"),
        (Talk(latencies_ms=(500.0, 3000.0)), "slow answers: the slowest, in turn 2, took 3.00 s"),
        (Talk(failures=1), "1 failed request: 503"),
    ],
)
def test_a_preview_says_what_cost_the_lowest_conversation_most(
    talk: Talk, lost: str, tmp_path: Path
) -> None:
    found = preview(
        load_run(Recorded(withheld=[Talk(), talk], supplied=[Talk(), Talk()]).write(tmp_path))
    )
    assert found.answer.why == f"trial 2, without the facts, {lost}"


def test_an_assertion_that_broke_names_the_turn_and_what_was_observed() -> None:
    events = Recorded([Talk(latencies_ms=(500.0,) * 3, holds=(False,))]).events()
    at = next(number for number, event in enumerate(events) if event.kind == "assertion_checked")
    last = events[at].model_copy(update={"why": "entities is []"})
    events[at : at + 1] = [
        *(
            last.model_copy(update={"after_turn": turn, "final": False, "status": status})
            for turn, status in enumerate(("passed", "passed", "failed"), start=1)
        ),
        last,
    ]
    (lost,) = result_of(apply_all(RunState(), events)).conversation("withheld", 1).why_lost
    assert lost.reason.endswith(" fails since turn 3: entities is []")


def test_a_run_that_lost_nothing_shows_its_last_messages(tmp_path: Path) -> None:
    found = preview(load_run(Recorded(withheld=[Talk()], supplied=[Talk()]).write(tmp_path)))
    assert found.answer.why == ""
    assert found.last == (("user", "Hello"), ("assistant", "hello"))

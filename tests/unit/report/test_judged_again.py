"""Rescored transcripts: the latest verdict counts, and the recorded ones are shown beside it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bioeval_tui.evaluation.wiring.resuming import rerun_offer
from bioeval_tui.record import events, score as composite
from bioeval_tui.record.catalogue import Catalogue, RunFilter
from bioeval_tui.record.overlay import append_numbered
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.document import run_document
from bioeval_tui.report.formats.console import print_score_card
from bioeval_tui.report.result import load_run
from bioeval_tui.report.summary import summarise_runs
from tests.documents import document_of
from tests.unit.report.recorded import Recorded, Talk


def judged(score: float, judge: str, *, trial: int = 1, attempt: int = 1) -> list[events.RunEvent]:
    """A later judging of the withheld conversation, as `runs rescore` writes it."""
    parts = (
        composite.timing_part(1000.0, [500.0], ended=True),
        composite.task_part([score], 1),
        composite.assertion_part([(1.0, True)]),
    )
    whole = composite.compose(parts, 0)
    where: dict[str, Any] = {
        "run_id": "20260102-030405-abcd", "seq": 99, "at": datetime(2026, 2, 3, tzinfo=UTC),
        "condition": "withheld", "trial": trial, "attempt": attempt, "author": "ada",
    }  # fmt: skip
    task = events.TaskScored(task=1, title="task 1", score=score)
    verdict = events.TranscriptScored(
        **where, judge=judge, tasks=(task,), prompts={"eval/score": "cafe" * 16}
    )
    scored = events.ConversationScored(
        **where, score=whole.score, parts=whole.parts, penalty=0.0, failures=0
    )
    return [verdict, scored]


def test_the_latest_verdict_counts_and_the_recorded_one_is_shown_beside_it(tmp_path: Path) -> None:
    path = Recorded([Talk(tasks=(1.0,))], [Talk(tasks=(1.0,))]).write(tmp_path)
    append_numbered(path, [*judged(0.5, "first"), *judged(0.0, "second")])
    run = load_run(path)
    assert summarise_runs([run])[0].conditions[0].score.mean == 0.71
    assert run.state.ended is not None
    assert run.state.ended.mean == 0.85
    (again,) = run.judged_again.values()
    assert [(row.judge, row.score, row.counts) for row in again.rows] == [
        ("judge", 1.0, False), ("first", 0.86, False), ("second", 0.71, True),
    ]  # fmt: skip
    said = "1 of 2 conversations judged again: the latest verdict of each counts (second)"
    assert any(line.startswith(said) for line in run.warnings)
    assert "Judged again" in document_of("html", run)
    assert "| second | eval/score cafecafe | ada |" in document_of("md", run)
    assert "judge judge, second" in " ".join(
        f"judge {value}" for name, value in run.versions if name == "judge"
    )
    assert json.loads(document_of("inspect", run))["eval"]["metadata"]["judge"] == "judge, second"
    assert 'name="judge" value="judge, second"' in document_of("junit", run)
    assert "judge, second" in document_of("html", run)
    report = json.loads(document_of("json", run))["runs"][0]
    assert (report["judge"], report["judge_prompt"]) == ("judge, second", "eval/score cafecafe")
    assert report["score"] == 0.85
    assert [row["counts"] for row in report["judged_again"]] == [False, False, True]


def test_the_cost_of_a_run_is_the_same_wherever_it_is_shown_and_without_later_verdicts(
    tmp_path: Path,
) -> None:
    path = Recorded([Talk(tasks=(1.0,))], [Talk(tasks=(1.0,))]).write(tmp_path)
    before = run_document(load_run(path))["cost"]
    later, scored = judged(0.5, "later")
    append_numbered(path, [later.model_copy(update={"tokens_in": 4321, "tokens_out": 80}), scored])
    run = load_run(path)
    card = Console(file=StringIO(), width=200)
    print_score_card(run, card)
    assert run_document(run)["cost"] == before
    for shown in (card.file.getvalue(), document_of("md", run)):  # type: ignore[attr-defined]
        assert "later" in shown
        assert "4,321" not in shown


def test_as_recorded_uses_the_recorded_verdicts(tmp_path: Path) -> None:
    path = Recorded([Talk(tasks=(1.0,))], [Talk(tasks=(1.0,))]).write(tmp_path)
    append_numbered(path, judged(0.0, "second"))
    run = load_run(path, as_recorded=True)
    assert summarise_runs([run])[0].conditions[0].score.mean == 1.0
    assert [row.counts for row in run.judged_again[next(iter(run.judged_again))].rows] == [
        True,
        False,
    ]
    notes = compare(load_run(path), run).notes
    assert any("judge: A “judge, second”, B judge" in note for note in notes)


def test_a_verdict_on_an_abandoned_attempt_or_unknown_conversation_is_ignored(
    tmp_path: Path,
) -> None:
    path = Recorded([Talk(tasks=(1.0,))]).write(tmp_path)
    append_numbered(path, [*judged(0.0, "x", attempt=7), *judged(0.0, "x", trial=9)])
    run = load_run(path)
    assert not run.judged_again
    assert list(run.state.conversations) == [("withheld", 1)]


def test_the_list_of_runs_shows_the_latest_verdicts(tmp_path: Path) -> None:
    path = Recorded([Talk(tasks=None)], [Talk(tasks=(1.0,))]).write(tmp_path)
    catalogue = Catalogue(tmp_path)
    (before,) = catalogue.runs()
    assert (before.scores["withheld"], before.score, before.judged_again) == (None, None, False)
    assert "judge" in before.fault
    assert f"`bioeval-tui runs rescore {path.stem}` asks only the judge again" in rerun_offer(path)
    append_numbered(path, judged(0.5, "another"))
    (after,) = catalogue.runs()
    assert (after.scores["withheld"], after.score, after.judged_again) == (0.86, 0.93, True)
    assert after.fault == "none"
    (as_json,) = (run.to_dict() for run in catalogue.runs())
    assert as_json == after.to_dict()
    assert [run.score for run in catalogue.runs(RunFilter(min_score=0.9))] == [0.93]
    assert rerun_offer(path) == "", "a later verdict has made up for it"
    assert run_document(load_run(path))["conditions"]["withheld"]["score"] == 0.86
    assert run_document(load_run(path, as_recorded=True))["conditions"]["withheld"]["score"] is None


UNJUDGED = Talk(tasks=None)
LOST = Talk(reason="evaluator_failed", fault="infrastructure", tasks=None)
UNREPORTED = Talk(holds=(None,), unmeasured="none")
"""Its assertion asks for what the agent does not report."""


@pytest.mark.parametrize(
    ("first", "second", "offer"),
    [
        (Talk(), Talk(), ""),
        (UNJUDGED, Talk(), "1 conversation could not be judged; `bioeval-tui runs rescore"),
        (UNJUDGED, UNJUDGED, "2 conversations could not be judged; `bioeval-tui runs rescore"),
        (LOST, Talk(), "1 trial could not be measured; `bioeval-tui runs resume"),
        (UNREPORTED, Talk(), ""),
        # the judge alone cannot make up for both
        (UNJUDGED, LOST, "1 trial could not be measured; `bioeval-tui runs resume"),
        (LOST, UNJUDGED, "1 trial could not be measured; `bioeval-tui runs resume"),
        (UNJUDGED, UNREPORTED, "1 trial could not be measured; `bioeval-tui runs resume"),
        (UNREPORTED, LOST, "1 trial could not be measured; `bioeval-tui runs resume"),
    ],
)
def test_what_is_offered_makes_up_for_each_conversation_without_a_score(
    tmp_path: Path, first: Talk, second: Talk, offer: str
) -> None:
    path = Recorded([first], [second]).write(tmp_path)
    found = rerun_offer(path)
    assert found.startswith(f"{path.stem}: {offer}" if offer else "")
    assert bool(found) == bool(offer)

"""The difference that the facts make is claimed only on what both conditions are scored by,
wherever it is shown.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui import load_run
from bioeval_tui.record import events
from bioeval_tui.record.cases import JobCase
from bioeval_tui.record.events import write_event
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.tui.live import panels, score_card_view
from bioeval_tui.tui.runs.batch_view import run_glances
from bioeval_tui.tui.runs.board_view import board
from tests.command import call
from tests.documents import document_of
from tests.unit.report.recorded import START, Recorded, Talk, reviewed, shown
from tests.unit.tui.lines import texts

FACT = "a fact"
SHARED_TASK = {"task": "task 1", "acceptanceCriteria": "done"}
OWN_TASK = {"task": "task 2", "acceptanceCriteria": "done", "withheldCriteria": "asks first"}
SHARED_CHECK = {"name": "check 1", "expression": "true", "weight": 1.0}
OWN_CHECK = {"name": "check 2", "expression": "true", "weight": 3.0, "only": "supplied"}
SLOW = (2000.0,)
"""Twice the target: a timing part of 0.5."""

# By the formula, with what is shared: (0.5 + 2 · 0.5 + 4 · 0) / 7 = 0.21 and (0.5 + 2 · 1 + 4 · 1)
# / 7 = 0.93. With all that is scored, the scores are 0.14 and 0.93.
WITHHELD = Talk(tasks=(0.5, 0.0), holds=(False,), latencies_ms=SLOW)
SUPPLIED = Talk(tasks=(1.0, 1.0), holds=(True, True), latencies_ms=SLOW, fact=True)
DIFFERENCE, OF_ALL = 0.72, 0.79
BASIS = "1 of 2 tasks and 1 of 2 assertions"


def job(
    tasks: Sequence[Any] = (SHARED_TASK, OWN_TASK),
    assertions: Sequence[Any] = (SHARED_CHECK, OWN_CHECK),
    **more: Any,
) -> dict[str, Any]:
    return {
        "aspirationalAverage": 1000.0,
        "tasks": list(tasks),
        "assertions": list(assertions),
        "facts": [FACT],
    } | more


def recorded(
    withheld: Sequence[Talk] = (WITHHELD,), supplied: Sequence[Talk] = (SUPPLIED,), **changed: Any
) -> Recorded:
    return Recorded(withheld, supplied, started={"job": job()} | changed)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the runs."""
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    folder = tmp_path / "runs"
    folder.mkdir()
    return folder


def printed(*arguments: object) -> Any:
    return json.loads(call(*arguments, catch_exceptions=False).stdout)


def listed_difference() -> float | None:
    """Return the difference of the only run, as `runs list` has it."""
    return printed("runs", "list", "--json")[0]["difference"]


def test_the_difference_is_that_of_the_shared_scores_in_every_number(runs: Path) -> None:
    path = recorded().write(runs)
    found = load_run(path)
    assert found.scores == {"withheld": 0.14, "supplied": 0.93}
    assert found.difference is not None
    assert found.difference.mean == pytest.approx(DIFFERENCE)
    document = printed("runs", "show", path.stem, "--json")
    rests_on = {"tasks": 1, "of_tasks": 2, "assertions": 1, "of_assertions": 2}
    assert document["difference"] == {
        "mean": pytest.approx(DIFFERENCE),
        "verdict": "too few",
        "words": found.difference.words,
        "rests_on": rests_on,
    }
    report = json.loads(document_of("json", *found.loaded))["summary"][0]
    assert report["difference"]["mean"] == pytest.approx(DIFFERENCE)
    assert report["difference"]["words"] == found.difference.words
    assert report["difference"]["rests_on"] == rests_on
    assert [each["title"] for each in report["task_differences"]] == ["task 1"]
    assert listed_difference() == pytest.approx(DIFFERENCE)


def test_frames_have_what_a_difference_is_made_of(runs: Path) -> None:
    found = load_run(recorded().write(runs))
    scores = found.to_frame().set_index("condition").shared_score
    assert scores.supplied - scores.withheld == pytest.approx(DIFFERENCE)
    assert found.to_frame("tasks").shared.tolist() == [True, False, True, False]
    assert found.to_frame("assertions").shared.tolist() == [True, True, False]


def test_every_view_says_on_what_the_difference_rests(runs: Path) -> None:
    run = recorded()
    path = run.write(runs)
    result = load_run(path).loaded[0]
    state = apply_all(RunState(), run.events())
    trial = result.trial(1)
    card = score_card_view.card_text(result, trial)
    views = {
        "markdown": document_of("md", result),
        "html": document_of("html", result),
        "card": card,
        "headless": call("runs", "show", path.stem).stdout,
        "notebook": load_run(path)._repr_html_(),
    }
    panel = "".join(cell.text for cell in panels.uplift_cells(state, 1))
    assert panel == "+0.72  on shared"
    for name, text in views.items():
        assert BASIS in text or "on the 2 criteria both share" in text, name
        assert "0.79" not in text, name
    assert "+0.72" in card
    assert "task 2\t✗ 0.00\t✓ 1.00\t–" in card.replace("2 ", "", 1), (
        "a task of its own has no difference"
    )
    lines = texts(board(run_glances(state), 120, 40, None))
    assert not any("+0.79" in line for line in lines)


def test_the_grid_and_the_card_of_several_trials_take_the_same_difference(runs: Path) -> None:
    run = recorded([WITHHELD, replace(WITHHELD, tasks=(1.0, 0.0))], [SUPPLIED] * 2)
    result = load_run(run.write(runs)).loaded[0]
    mean = result.summary.uplift.mean
    assert mean == pytest.approx((0.72 + 0.57) / 2, abs=0.006)
    shown = f"+{mean:.2f}"
    (row,) = (
        line
        for line in score_card_view.card_text(result).splitlines()
        if f"on {BASIS}" in line and "\t" in line[:90]
    )
    assert row.endswith(shown)
    glances = run_glances(apply_all(RunState(), run.events()))
    small = [replace(glance, model="small") for glance in glances]
    lines = texts(board([*glances, *small], 120, 40, None))
    assert any(shown in line for line in lines)
    assert any("difference on what both conditions share" in line for line in lines)
    assert listed_difference() == pytest.approx(mean)


@pytest.mark.parametrize(
    ("tasks", "assertions"),
    [
        ([OWN_TASK], [OWN_CHECK]),
        ([OWN_TASK], []),
        ([], [OWN_CHECK]),
        ([OWN_TASK], [SHARED_CHECK | {"weight": 0.0}, OWN_CHECK]),
        ([OWN_TASK | {"withheldCriteria": "", "only": "withheld"}], [OWN_CHECK]),
    ],
)
def test_without_anything_shared_no_difference_is_claimed(
    runs: Path, tasks: list[Any], assertions: list[Any]
) -> None:
    talks = Talk(tasks=(0.5,) * len(tasks), holds=(True,) * len(assertions), fact=True)
    run = Recorded(
        [talks],
        [replace(talks, tasks=(1.0,) * len(tasks))],
        started={"job": job(tasks, assertions)},
    )
    path = run.write(runs)
    found = load_run(path)
    result = found.loaded[0]
    assert found.difference is not None
    assert found.difference.mean is None
    assert found.answer.sure.endswith(
        "the conditions share no criteria, so no effect of the facts is claimed"
    )
    assert found.outcome in ("own_criteria", "perfect")
    assert found.to_frame().shared_score.isna().all()
    claimed = "each condition has its own criteria, so no difference is claimed"
    assert printed("runs", "show", path.stem, "--json")["difference"]["words"] == claimed
    for view in (document_of("html", result), found._repr_html_()):
        assert claimed in view
    for view in (document_of("html", result), document_of("md", result)):
        assert "each by its own criteria" in view
    card = score_card_view.card_text(result, result.trial(1))
    assert "each by its own criteria" in card
    assert listed_difference() is None


@pytest.mark.parametrize(
    ("changed", "assertions"),
    [
        ({}, [SHARED_CHECK]),
        ({"withheldCriteria": " done\n"}, [SHARED_CHECK]),
        ({"withheldCriteria": ""}, [SHARED_CHECK, OWN_CHECK | {"weight": 0.0}]),
    ],
)
def test_what_has_no_weight_or_is_worded_alike_is_no_criterion_of_its_own(
    runs: Path, changed: dict[str, Any], assertions: list[Any]
) -> None:
    started = {"job": job([SHARED_TASK | changed], assertions)}
    low = Talk(tasks=(0.5,), holds=(True,) * len(assertions), fact=True)
    path = Recorded([low], [replace(low, tasks=(1.0,))], started=started).write(runs)
    found = load_run(path)
    assert found.difference is not None
    assert found.difference.shared is None
    assert found.difference.mean == pytest.approx(1.0 - 0.86)
    assert listed_difference() == pytest.approx(1.0 - 0.86)
    assert "criteria" not in str(found)


def test_a_rule_of_one_condition_makes_its_task_one_of_its_own(runs: Path) -> None:
    ruled = SHARED_TASK | {"rules": [{"pattern": "done", "only": "supplied"}, {"pattern": "hello"}]}
    found = load_run(recorded(job=job([ruled, SHARED_TASK])).write(runs))
    assert found.difference is not None
    assert found.difference.shared is not None
    assert (found.difference.shared.tasks, found.difference.shared.of_tasks) == (1, 2)


def test_items_of_a_rubric_are_shared_like_tasks_but_not_if_all_of_them_take_points_away(
    runs: Path,
) -> None:
    items = [
        {"criterion": "harms", "points": -5},
        {"criterion": "asks", "points": 5, "only": "withheld"},
    ]
    found = load_run(recorded(job=job([], [SHARED_CHECK], rubric=items)).write(runs))
    assert found.difference is not None
    assert found.difference.shared is not None
    assert (found.difference.shared.tasks, found.difference.shared.of_tasks) == (0, 2)
    assert found.difference.mean is not None, "the assertion is shared"


def test_a_recording_without_the_verdicts_on_what_is_shared_claims_nothing(runs: Path) -> None:
    kept = [
        event for event in recorded().events() if not isinstance(event, events.TranscriptScored)
    ]
    path = runs / "20260102-030405-abcd.jsonl"
    path.write_bytes(b"".join(map(write_event, kept)))
    found = load_run(path)
    assert found.difference is not None
    assert found.difference.mean is None
    assert (
        "the recording lacks verdicts on what both share, so no effect of the facts is claimed"
        in found.answer.sure
    )
    assert "2 without recorded verdicts" not in str(found)
    assert listed_difference() is None


def test_cases_are_compared_on_what_both_conditions_of_each_share(runs: Path) -> None:
    parts = (
        {"tasks": [SHARED_TASK, OWN_TASK]},
        {"tasks": [OWN_TASK]},
        {"tasks": [SHARED_TASK], "facts": []},
    )
    cases = tuple(JobCase(name=f"case {n}", parts=own) for n, own in enumerate(parts))
    low = Talk(tasks=(0.5, 0.0), holds=(), fact=True)
    withheld = [low, replace(low, tasks=(0.0,)), replace(low, tasks=(0.2,))]
    supplied = [replace(talk, tasks=(1.0,) * len(talk.tasks or ())) for talk in withheld]
    run = Recorded(withheld, supplied, started={"job": job(assertions=[]), "cases": cases}, cases=3)
    found = load_run(run.write(runs))
    assert found.difference is not None
    assert found.difference.mean == pytest.approx(1.0 - 0.67), (
        "only the first case has facts and shares something"
    )
    assert dict(found.difference.estimate.counted.reasons) == {
        "without shared criteria": 1, "without facts to withhold": 1,
    }  # fmt: skip
    assert found.difference.shared is not None
    assert (found.difference.shared.tasks, found.difference.shared.of_tasks) == (2, 4)
    assert listed_difference() == pytest.approx(1.0 - 0.67)


def test_what_fails_by_its_own_criteria_is_named_and_the_effect_is_of_what_both_share(
    runs: Path,
) -> None:
    fails = replace(WITHHELD, tasks=(1.0, 0.0), holds=(True,))
    found = load_run(
        recorded([fails] * 5, [replace(SUPPLIED, latencies_ms=(900.0,))] * 5).write(runs)
    )
    assert "; 0.93 → 1.00 on the" in found.answer.what
    assert "Fails without the facts only: task 2 “task 2”." in found.answer.what
    assert found.answer.sure == "yes: the facts help, +0.07 in each of 5 trials"


def test_an_agent_that_fails_only_by_its_own_criteria_leaves_something_to_gain(runs: Path) -> None:
    guesses = replace(WITHHELD, tasks=(1.0, 0.0), holds=(True,), latencies_ms=(900.0,))
    found = load_run(recorded([guesses], [replace(SUPPLIED, latencies_ms=(900.0,))]).write(runs))
    assert found.outcome == "too_few"
    assert "nothing was left to gain" not in str(found)
    assert "on the 2 criteria both share" in found.answer.what
    assert "one trial is too few to tell what the facts change" in found.answer.sure


def test_perfect_scores_by_own_criteria_leave_nothing_to_gain(runs: Path) -> None:
    best = Talk(tasks=(1.0, 1.0), holds=(True,), fact=True)
    found = load_run(recorded([best], [replace(best, holds=(True, True))]).write(runs))
    assert found.outcome == "perfect"
    assert found.answer.what == "1.00 → 1.00 with the facts."
    assert found.answer.sure.endswith("nothing was left to gain")


def test_people_who_score_a_shared_task_change_the_difference(runs: Path) -> None:
    path = recorded().write(runs)
    opinion = reviewed(1, task=1, before=0.5, after=1.0)
    overlay = path.with_suffix(".overlay.jsonl")
    overlay.write_bytes(write_event(opinion.model_copy(update={"run_id": path.stem})))
    result = load_run(path).loaded[0]
    assert result.summary.uplift.mean == pytest.approx(DIFFERENCE)
    assert result.apply_reviews().summary.uplift.mean == pytest.approx(0.93 - 0.36)


def test_later_verdicts_change_the_listed_difference_too(runs: Path) -> None:
    path = recorded().write(runs)
    base = {
        "run_id": path.stem,
        "at": START,
        "condition": "withheld",
        "trial": 1,
        "attempt": 1,
        "author": "judge",
    }
    tasks = tuple(
        events.TaskScored(task=n, title=f"task {n}", score=1.0, passed=True) for n in (1, 2)
    )
    old = next(
        event for event in recorded().events()
        if isinstance(event, events.ConversationScored) and event.condition == "withheld"
    )  # fmt: skip
    later = [
        events.TranscriptScored(**base, seq=1, judge="judge", tasks=tasks),
        old.model_copy(update={"seq": 2, "score": 0.36, "author": "judge"}),
    ]
    path.with_suffix(".overlay.jsonl").write_bytes(b"".join(map(write_event, later)))
    found = load_run(path)
    assert found.difference is not None
    assert found.difference.mean == pytest.approx(0.93 - 0.36)
    assert listed_difference() == pytest.approx(0.93 - 0.36)


def test_the_published_mean_stays_that_of_both_scores(runs: Path) -> None:
    found = load_run(recorded().write(runs))
    assert found.score == pytest.approx((0.14 + 0.93) / 2, abs=0.006)


def test_a_live_run_tells_what_its_difference_rests_on_only_once_both_have_ended() -> None:
    begun = recorded().events()
    first = next(n for n, event in enumerate(begun) if isinstance(event, events.ConversationScored))
    state = apply_all(RunState(), begun[: first + 1])
    assert [cell.text for cell in panels.uplift_cells(state, 1)] == ["once both ended"]
    own = recorded(job=job([OWN_TASK, OWN_TASK], [OWN_CHECK, OWN_CHECK])).events()
    state = apply_all(RunState(), own[: first + 1])
    assert [cell.text for cell in panels.uplift_cells(state, 1)] == ["none claimed: own criteria"]
    assert shown(apply_all(RunState(), own))[1].uplift is None

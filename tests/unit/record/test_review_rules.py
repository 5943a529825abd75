"""Which reviews count and what they change: each rule at its edge, and two at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bioeval_tui.formats import ConversationKey
from bioeval_tui.record import events
from bioeval_tui.record.cases import JobCase
from bioeval_tui.record.events import Fault, RunEvent
from bioeval_tui.record.reviews import (
    ReviewedScores,
    Reviews,
    TaskKey,
    apply_reviews,
    fold_reviews,
    mark_words,
    pass_above,
    reviewed_fault,
    reviewed_scores,
    words,
)
from bioeval_tui.record.state import RunState, apply_all
from tests.unit.record.test_reviews import JOB, SUPPLIED, WITHHELD, run
from tests.unit.report.recorded import START, Recorded, Talk, reviewed

SCORED: dict[str, Any] = {"task": 1, "after": 1.0}


def with_job(state: RunState, **changes: Any) -> RunState:
    """Return a run whose job has other parts."""
    assert state.started is not None
    state.started = state.started.model_copy(update={"job": {**JOB, **changes}})
    return state


@pytest.mark.parametrize(
    "lacks",
    [{"after": None}, {"task": None}, {"condition": None}, {"trial": None},
        {"after": None, "task": None, "action": "fault", "fault": "agent"}],
)  # fmt: skip
def test_only_a_score_of_a_task_rests_on_criteria(lacks: dict[str, Any]) -> None:
    state = run()
    of_unknown: dict[str, Any] = SCORED | {"judging": "lost"}
    assert not fold_reviews([reviewed(1, **of_unknown)], state, state).standing
    assert fold_reviews([reviewed(1, **(of_unknown | lacks))], state, state).standing


@pytest.mark.parametrize(
    ("then", "now", "counts"),
    [
        ([{"task": "ask"}], [{"task": "ask"}], True),
        ([{"task": "ask"}], [{"task": "other"}], False),
        ([{"task": "ask"}], [], False),
        ([], [{"task": "ask"}], False),
        ([], [], True),
    ],
)
def test_a_score_counts_while_the_reviewer_was_asked_what_counts_now(
    then: list[Any], now: list[Any], counts: bool
) -> None:
    states = [with_job(run(), tasks=tasks) for tasks in (then, now)]
    assert bool(fold_reviews([reviewed(1, **SCORED)], *states).tasks) == counts


@pytest.mark.parametrize(
    ("place", "counts"),
    [({}, True), ({"attempt": None}, True), ({"attempt": 2}, False), ({"trial": 2}, False),
        ({"condition": "other"}, False)],
)  # fmt: skip
def test_a_review_is_of_the_attempt_that_is_there(place: dict[str, Any], counts: bool) -> None:
    assert bool(fold_reviews([reviewed(1, **(SCORED | place))], run()).tasks) == counts


def test_a_note_on_the_whole_run_is_of_no_attempt() -> None:
    note = reviewed(1, action="note", condition=None, trial=None, attempt=None)
    assert fold_reviews([note], run()).notes == [note]
    of_one = reviewed(1, action="note", trial=None)
    assert fold_reviews([of_one], run()).notes == [of_one]


def test_the_latest_by_time_counts_also_where_a_zone_is_missing() -> None:
    hour = timedelta(hours=1)
    entries = [
        reviewed(1, task=1, after=0.1, at=START + hour),
        reviewed(2, task=1, after=0.2, at=(START + 2 * hour).replace(tzinfo=None)),
        reviewed(3, task=1, after=0.3, at=START),
    ]
    (opinions,) = fold_reviews(entries).tasks.values()
    assert [entry.after for entry in opinions.values()] == [0.2]


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        (SCORED, "tasks"),
        (SCORED | {"after": 0.0}, "tasks"),
        (SCORED | {"after": None}, None),
        (SCORED | {"task": None}, None),
        (SCORED | {"condition": None}, None),
        (SCORED | {"trial": None}, None),
        ({"action": "fault", "fault": "agent"}, "faults"),
        ({"action": "fault", "fault": "agent", "trial": None}, None),
        ({"submission": "s", "mark": "valid"}, "submissions"),
        ({"submission": "s", "mark": None}, None),
        ({"submission": "s", "mark": "valid", "action": "note"}, "notes"),
        (SCORED | {"action": "note"}, "notes"),
    ],
)
def test_what_an_entry_is_of(entry: dict[str, Any], kind: str | None) -> None:
    found = fold_reviews([reviewed(1, **entry)])
    kinds = ("tasks", "faults", "submissions", "notes")
    assert [name for name in kinds if getattr(found, name)] == ([kind] if kind else [])
    assert list(found.standing) == ["1"]


@pytest.mark.parametrize(
    ("task", "above"),
    [(-1, 0.6), (0, 0.6), (1, 0.6), (2, 0.9), (3, 0.0), (4, 0.6), (5, 0.6)],
)
def test_a_task_is_passed_above_what_the_job_says_or_else_0_6(task: int, above: float) -> None:
    tasks = [*JOB["tasks"], {"task": "any", "passAbove": 0}, {"task": "odd", "passAbove": "1"}]
    assert pass_above(with_job(run(), tasks=tasks), 1, task) == above


@pytest.mark.parametrize(
    ("points", "score", "passed"),
    [(None, 0.6, False), (None, 0.61, True), (2.0, 0.61, True), (2.0, 0.6, False),
        (-1.0, 0.61, False), (-1.0, 0.6, True)],
)  # fmt: skip
def test_an_item_below_0_is_passed_if_it_is_not_met(
    points: float | None, score: float, passed: bool
) -> None:
    state = run()
    verdict = state.conversations[WITHHELD].verdict
    assert verdict is not None
    tasks = [task.model_copy(update={"points": points}) for task in verdict.tasks]
    state.conversations[WITHHELD].verdict = verdict.model_copy(update={"tasks": tuple(tasks)})
    after = apply_reviews(state, fold_reviews([reviewed(1, task=1, after=score)]))
    changed = after.conversations[WITHHELD].verdict
    assert changed is not None
    assert (changed.tasks[0].score, changed.tasks[0].passed) == (score, passed)


def test_people_can_be_the_only_judge() -> None:
    state = run(None)
    state.conversations[WITHHELD].verdict = None
    scored = [reviewed(1, task=1, after=1.0), reviewed(2, task=2, after=0.4)]
    talk = apply_reviews(state, fold_reviews(scored)).conversations[WITHHELD]
    assert talk.verdict is not None
    assert (talk.verdict.judge, talk.verdict.condition, talk.verdict.trial) == (
        "people",
        "withheld",
        1,
    )
    assert [(task.task, task.title, task.score, task.weight) for task in talk.verdict.tasks] == [
        (1, "ask", 1.0, 1.0),
        (2, "remind", 0.4, 1.0),
    ]
    assert talk.score is not None
    assert talk.score.score == 0.8


def spoiled(fault: Fault) -> list[RunEvent]:
    return [reviewed(9, action="fault", fault=fault)]


BOTH_TASKS = [reviewed(1, task=1, after=1.0), reviewed(2, task=2, after=0.4)]


@pytest.mark.parametrize(
    ("entries", "score", "fault"),
    [
        ([], 0.6, "none"),
        (spoiled("none"), 0.6, "none"),
        (spoiled("agent"), 0.6, "agent"),
        (spoiled("evaluator"), None, "evaluator"),
        (spoiled("judge"), None, "judge"),
        (spoiled("infrastructure"), None, "infrastructure"),
        # where people scored every task, nothing of the judge is left to spoil it
        ([*BOTH_TASKS, *spoiled("judge")], 0.8, "judge"),
        ([*BOTH_TASKS, *spoiled("evaluator")], None, "evaluator"),
        ([BOTH_TASKS[0], *spoiled("judge")], None, "judge"),
    ],
)
def test_a_fault_spoils_a_score_unless_people_gave_it(
    entries: list[RunEvent], score: float | None, fault: Fault
) -> None:
    after = apply_reviews(run(), fold_reviews(entries)).conversations[WITHHELD]
    assert after.score is not None
    assert (after.score.score, after.score.fault) == (score, fault)
    if score is None:
        assert after.score.reason == f"reviewed: fault of the {fault}"


def test_a_job_without_tasks_has_none_that_people_could_have_scored() -> None:
    state = with_job(run(), tasks=[])
    after = apply_reviews(state, fold_reviews(spoiled("judge")))
    assert after.scores()["withheld"] is None


def test_reviewers_agree_on_a_fault_if_all_name_the_same() -> None:
    one, same = reviewed(1, fault="agent"), reviewed(2, "ben", fault="agent")
    other, none = reviewed(3, "cy", fault="judge"), reviewed(4, "di", fault=None)
    assert reviewed_fault({}) is None
    assert reviewed_fault({"ada": one, "ben": same, "di": none}) == "agent"
    assert reviewed_fault({"ada": one, "cy": other}) is None
    assert reviewed_fault({"di": none}) is None


def test_a_conversation_that_was_not_scored_is_left_as_it_is() -> None:
    state = run()
    state.conversations[WITHHELD].score = None
    after = apply_reviews(state, fold_reviews([*BOTH_TASKS]))
    assert after.conversations[WITHHELD] is state.conversations[WITHHELD]
    assert apply_reviews(run(), Reviews()).conversations[SUPPLIED].score is not None


@pytest.mark.parametrize(
    ("checked", "weights", "scores"),
    [
        # (weight, passed) of the assertions that were checked, of two in the job; timing counts 1,
        # the tasks' 0.7 twice, the assertions four times
        ([(1.0, True), (1.0, True)], None, 0.91),
        ([(1.0, True), (1.0, False)], None, 0.63),
        ([(1.0, True)], None, None),
        ([], None, None),
        ([(1.0, True)], "supplied", 0.91),
    ],
)
def test_an_assertion_that_was_not_checked_at_the_end_is_not_measured(
    checked: list[tuple[float, bool]], weights: str | None, scores: float | None
) -> None:
    """A conversation that was not scored when it was recorded has its other parts from there."""
    state = run(fault="evaluator")
    listed = [
        {"expression": "true"},
        {"expression": "true"} | ({"only": weights} if weights else {}),
    ]
    with_job(state, assertions=listed)
    for index, (weight, passed) in enumerate(checked):
        state.conversations[WITHHELD].final_checks[index] = events.AssertionChecked(
            run_id="r", seq=1, at=START, condition="withheld", trial=1, attempt=1, index=index,
            title="t", weight=weight, after_turn=1, final=True,
            status="passed" if passed else "failed",
        )  # fmt: skip
    cleared = fold_reviews([*BOTH_TASKS, *spoiled("none")])
    assert apply_reviews(state, cleared).scores()["withheld"] == scores


def test_a_run_is_reviewed_once_somebody_gave_a_score_or_a_fault() -> None:
    state = run()
    note = reviewed(1, action="note")
    assert reviewed_scores(state, fold_reviews([note])) is None
    assert reviewed_scores(state, fold_reviews([])) is None
    scored = reviewed_scores(state, fold_reviews([reviewed(1, **SCORED)]))
    assert scored is not None
    assert (scored.reviewers, scored.tasks, scored.of_tasks, scored.disputed) == (("ada",), 1, 4, 0)
    assert scored.conditions == ("withheld",)
    blamed = reviewed_scores(
        state,
        fold_reviews(
            [
                reviewed(1, action="fault", fault="agent", condition="supplied"),
                reviewed(2, "ben", action="fault", fault="judge", condition="supplied"),
            ]
        ),
    )
    assert blamed is not None
    assert (blamed.reviewers, blamed.tasks, blamed.disputed) == (("ada", "ben"), 0, 1)
    assert blamed.conditions == ("supplied",)


@pytest.mark.parametrize(
    ("found", "lines"),
    [
        (ReviewedScores({"withheld": 0.8}, None, (), 1, 1, conditions=("withheld",)),
            ["without the facts 0.60 → 0.80 (reviewed)"]),
        (ReviewedScores({"withheld": 0.8}, None, (), 1, 1), ["without the facts 0.80"]),
        (ReviewedScores({"withheld": 0.8, "supplied": 0.6}, 0.7, (), 1, 1,
            conditions=("withheld",)),
            ["without the facts 0.60 → 0.80 (reviewed)", "with the facts 0.60",
                "mean 0.60 → 0.70 (reviewed)"]),
        (ReviewedScores({"withheld": 0.8}, 0.8, (), 1, 1, drawn=True), []),
    ],
)  # fmt: skip
def test_only_a_reviewed_condition_says_so_and_two_have_a_mean(
    found: ReviewedScores, lines: list[str]
) -> None:
    assert found.condition_scores(run()) == lines
    assert (found.to_dict()["score"], found.to_dict()["scores"]) == (
        (None, {}) if found.drawn else (found.mean, found.scores)
    )


@pytest.mark.parametrize(
    ("marks", "told"),
    [
        ({}, ""),
        ({"ada": ("valid", "")}, "valid (ada)"),
        ({"ada": ("invalid", "leaked")}, "invalid (ada: leaked)"),
        ({"ada": ("valid", "fine"), "ben": ("valid", "")}, "valid (ada: fine; ben)"),
        ({"ada": ("valid", "fine"), "ben": ("invalid", "")},
            "suspicious (ada valid: fine; ben invalid)"),
    ],
)  # fmt: skip
def test_reviewers_are_named_with_their_marks_where_these_differ(
    marks: dict[str, tuple[str, str]], told: str
) -> None:
    given = {name: reviewed(1, name, mark=mark, why=why) for name, (mark, why) in marks.items()}
    assert mark_words(given) == told


def test_a_score_that_stays_the_same_as_it_is_printed_has_no_arrow() -> None:
    assert words(0.6, 0.6049) == "0.60 (reviewed)"
    assert words(None, 0.6) == "– → 0.60 (reviewed)"
    assert words(None, None) == "– (reviewed)"


def test_a_trial_of_a_case_is_reviewed_by_its_own_tasks() -> None:
    parts = [{"tasks": [{"task": f"of {n}", "passAbove": n / 10}]} for n in (1, 2)]
    cases = tuple(JobCase(name=f"case {n}", parts=part) for n, part in enumerate(parts))
    told = Recorded([Talk(), Talk()], cases=2, started={"cases": cases}).events()
    state = apply_all(RunState(), told)
    assert [pass_above(state, trial, 1) for trial in (1, 2)] == [0.1, 0.2]
    second = fold_reviews([reviewed(1, trial=2, task=1, after=0.15)], state)
    assert list(second.tasks) == [TaskKey(ConversationKey("withheld", 2), 1)]
    verdict = apply_reviews(state, second).conversations[ConversationKey("withheld", 2)].verdict
    assert verdict is not None
    assert not verdict.tasks[0].passed

"""Reviews by people: which count, what an undo removes, and the resulting scores."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from bioeval_tui.formats import ConversationKey
from bioeval_tui.record import events, score as composite
from bioeval_tui.record.reviews import (
    ReviewedScores,
    TaskKey,
    apply_reviews,
    disagree,
    fold_reviews,
    reviewed_fault,
    reviewed_mark,
    reviewed_score,
    reviewed_scores,
    words,
)
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.tui.review_view import mark_lines
from tests.unit.report.recorded import reviewed

WITHHELD, SUPPLIED = ConversationKey("withheld", 1), ConversationKey("supplied", 1)
NOW = datetime(2026, 11, 21, tzinfo=UTC)
JOB: dict[str, Any] = {
    "aspirationalAverage": 1000,
    "tasks": [{"task": "ask"}, {"task": "remind", "passAbove": 0.9}],
    "assertions": [],
}


def run(judged: tuple[float, ...] | None = (0.2, 0.6), fault: events.Fault = "none") -> RunState:
    """Two conversations, timing 1.0, no assertions; `judged` None for a judge that could not be
    reached.
    """
    where: dict[str, Any] = {"run_id": "r", "seq": 0, "at": NOW}
    many: list[Any] = [
        events.RunStarted(
            **where, job_name="j", job_path="j.yml", job=JOB, job_sha256="0", program_version="1",
            agent="a",
            evaluator="e", judge="judge", seed=1,
        )
    ]  # fmt: skip
    for condition in ("withheld", "supplied"):
        talk = {**where, "condition": condition, "trial": 1, "attempt": 1}
        many.append(
            events.MessageCompleted(
                **talk,
                message=2,
                turn=1,
                role="assistant",
                speaker="a",
                content="Hi",
                latency_ms=500,
            )
        )
        reason = "evaluator_failed" if fault == "evaluator" else "signed_off"
        many.append(events.ConversationEnded(**talk, reason=reason, fault=fault))
        scores = judged or ()
        tasks = [
            events.TaskScored(task=n, title="t", score=s) for n, s in enumerate(scores, start=1)
        ]
        error = None if judged else "timed out"
        many.append(events.TranscriptScored(**talk, judge="judge", tasks=tuple(tasks), error=error))
        parts = (
            composite.timing_part(1000, [500]),
            composite.task_part(judged, 2, "timed out"),
            composite.assertion_part([]),
        )
        whole = composite.compose(parts, 0)
        parts = () if fault == "evaluator" else parts
        value = whole.score if parts else None
        why = fault if fault != "none" else "judge" if value is None else "none"
        many.append(
            events.ConversationScored(
                **talk, score=value, parts=parts, penalty=0, failures=0, fault=why
            )
        )
    return apply_all(RunState(), many)


def test_the_latest_review_of_each_person_counts_and_all_are_kept() -> None:
    found = fold_reviews(
        [
            reviewed(1, task=1, before=0.2, after=0.5),
            reviewed(2, "ben", task=1, before=0.2, after=1.0),
            reviewed(3, task=1, before=0.5, after=0.8),
        ],
        run(),
    )
    opinions = found.tasks[TaskKey(WITHHELD, 1)]
    assert {name: entry.after for name, entry in opinions.items()} == {"ada": 0.8, "ben": 1.0}
    assert reviewed_score(opinions) == pytest.approx(0.9)
    assert disagree(opinions)
    assert (found.reviewers, len(found.standing)) == (("ada", "ben"), 3)


def test_an_undo_removes_only_your_own_review() -> None:
    entries = [
        reviewed(1, task=1, after=0.5),
        reviewed(2, task=1, after=0.9),
        reviewed(3, "ben", action="undo", undoes="2"),
        reviewed(4, action="undo", undoes="2"),
    ]
    found = fold_reviews(entries[:3])
    assert reviewed_score(found.tasks[TaskKey(WITHHELD, 1)]) == 0.9
    found = fold_reviews(entries)
    assert reviewed_score(found.tasks[TaskKey(WITHHELD, 1)]) == 0.5
    assert list(found.standing) == ["1"]


def test_reviews_change_the_score_and_not_the_recorded_state() -> None:
    state = run()
    reviews = fold_reviews([reviewed(1, task=1, before=0.2, after=0.8, why="\x1b[2Jit did")], state)
    before = state.scores()
    found = reviewed_scores(state, reviews)
    assert found is not None
    # (1·1 + 2·mean(0.8, 0.6)) / 3 and, as recorded, (1·1 + 2·mean(0.2, 0.6)) / 3
    assert found.scores == {"withheld": 0.8, "supplied": 0.6}
    assert (found.mean, found.reviewers, found.tasks, found.of_tasks) == (0.7, ("ada",), 1, 4)
    assert state.scores() == before == {"withheld": 0.6, "supplied": 0.6}
    after = apply_reviews(state, reviews)
    verdict = after.conversations[WITHHELD].verdict
    assert verdict is not None
    assert [(task.score, task.passed) for task in verdict.tasks] == [(0.8, True), (0.6, False)]
    assert "\x1b" not in next(iter(reviews.standing.values())).why
    assert words(0.6, 0.8) == "0.60 → 0.80 (reviewed)"
    assert words(0.6, 0.6) == "0.60 (reviewed)"


def test_the_jobs_threshold_decides_whether_a_reviewed_task_passed() -> None:
    state = run()
    for score, passed in ((0.9, False), (0.95, True)):
        after = apply_reviews(state, fold_reviews([reviewed(1, task=2, after=score)]))
        verdict = after.conversations[WITHHELD].verdict
        assert verdict is not None
        assert verdict.tasks[1].passed is passed


def test_a_fault_removes_the_score_when_all_reviewers_of_it_agree() -> None:
    state = run()
    one = [reviewed(1, action="fault", fault="evaluator")]
    found = reviewed_scores(state, fold_reviews(one))
    assert found is not None
    assert (found.scores, found.mean) == ({"withheld": None, "supplied": 0.6}, None)
    both = [*one, reviewed(2, "ben", action="fault", fault="agent")]
    reviews = fold_reviews(both)
    assert reviewed_fault(reviews.faults[WITHHELD]) is None
    found = reviewed_scores(state, reviews)
    assert found is not None
    assert (found.scores["withheld"], found.disputed) == (0.6, 1)


def test_people_can_score_what_the_judge_could_not() -> None:
    state = run(None)
    assert state.scores()["withheld"] is None
    half = fold_reviews([reviewed(1, task=1, after=1.0)])
    assert apply_reviews(state, half).scores()["withheld"] is None
    whole = fold_reviews([reviewed(1, task=1, after=1.0), reviewed(2, task=2, after=0.4)])
    assert apply_reviews(state, whole).scores() == {"withheld": 0.8, "supplied": None}
    blamed = fold_reviews([*whole.standing.values(), reviewed(3, action="fault", fault="judge")])
    assert apply_reviews(state, blamed).scores()["withheld"] == 0.8


def test_a_conversation_that_was_not_measured_counts_only_when_people_say_so() -> None:
    state = run(fault="evaluator")
    scored = [reviewed(1, task=1, after=1.0), reviewed(2, task=2, after=0.4)]
    assert apply_reviews(state, fold_reviews(scored)).scores()["withheld"] is None
    cleared = fold_reviews([*scored, reviewed(3, action="fault", fault="none")])
    assert apply_reviews(state, cleared).scores()["withheld"] == 0.8


def test_a_task_of_the_other_condition_is_not_missed() -> None:
    state = run((0.2,))
    assert state.started is not None
    tasks = [JOB["tasks"][0], {"task": "remind", "only": "supplied"}]
    state.started = state.started.model_copy(update={"job": {**JOB, "tasks": tasks}})
    found = reviewed_scores(state, fold_reviews([reviewed(1, task=1, after=1.0)], state))
    assert found is not None
    assert (found.scores["withheld"], found.of_tasks) == (1.0, 3)


def test_reviews_of_an_abandoned_attempt_are_ignored() -> None:
    state = run()
    assert fold_reviews([reviewed(1, task=1, after=1.0, attempt=2)], state).tasks == {}


def test_marks_that_disagree_make_a_submission_suspicious() -> None:
    def marked(number: int, author: str, mark: str) -> events.Reviewed:
        return reviewed(number, author, submission="s", mark=mark, condition=None, trial=None)

    found = fold_reviews([marked(1, "ada", "invalid")])
    assert reviewed_mark(found.submissions["s"]) == "invalid"
    found = fold_reviews([marked(1, "ada", "invalid"), marked(2, "ben", "valid")])
    assert reviewed_mark(found.submissions["s"]) == "suspicious"
    assert reviewed_mark({}) is None


@pytest.mark.parametrize(
    ("ada", "ben", "differ"),
    [
        ({"after": 0.5}, {"after": 0.5}, False),
        ({"after": 0.5}, {"after": 0.6}, True),
        ({"after": 0.0}, {"after": None, "action": "accept"}, True),
        ({"fault": "agent"}, {"fault": "agent"}, False),
        ({"fault": "agent"}, {"fault": "judge"}, True),
        ({"mark": "invalid"}, {"mark": "invalid"}, False),
        ({"mark": "invalid"}, {"mark": "valid"}, True),
        # who says the same for another reason, or without seeing the score, does not differ
        ({"after": 0.5, "why": "a"}, {"after": 0.5, "why": "b", "blind": True}, False),
    ],
)
def test_reviewers_differ_in_a_score_a_fault_or_a_mark(
    ada: dict[str, Any], ben: dict[str, Any], differ: bool
) -> None:
    opinions = {"ada": reviewed(1, **ada), "ben": reviewed(2, "ben", **ben)}
    assert disagree(opinions) is differ
    assert not disagree({"ada": opinions["ada"]})
    assert not disagree({})
    if "mark" in ada:
        shown = "".join(cell.text for line in mark_lines(opinions) for cell in line)
        assert ("reviewers differ" in shown) is differ


def test_reviews_of_a_run_of_one_condition_give_no_mean() -> None:
    found = ReviewedScores({"supplied": 0.7}, None, ("ada",), 1, 3, conditions=("supplied",))
    assert found.condition_scores(RunState()) == ["with the facts – → 0.70 (reviewed)"]

"""People's reviews of a run from its overlay: which ones count, and the resulting scores.

Pure: no I/O. The latest review of each reviewer counts. Where reviewers differ, a task's reviewed
score is the mean of theirs; a fault, or a mark of a submission, counts only when all who gave one
agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from bioeval_tui.base import units
from bioeval_tui.base.printed import Fields
from bioeval_tui.base.text import clean, clean_line
from bioeval_tui.record import score as composite
from bioeval_tui.record.cases import is_counted, judge_question, judged, judged_items
from bioeval_tui.record.events import (
    EXCUSED,
    CriteriaGiven,
    Reviewed,
    TaskScored,
    TranscriptScored,
    job_number,
    place_of,
)
from bioeval_tui.record.state import PASSED, ConversationKey
from bioeval_tui.statistics.means import exact_mean

if TYPE_CHECKING:
    from bioeval_tui.record.events import ConversationScored, Fault, Mark, RunEvent, ScorePart
    from bioeval_tui.record.state import ConversationState, RunState

PASS_ABOVE = 0.6
SPOILING = EXCUSED
"""Faults with which a reviewed conversation does not count as a result of the agent."""

Opinions = dict[str, "Reviewed"]
"""The latest review of each reviewer, by name."""


class TaskKey(NamedTuple):
    """One task of one conversation. `task` counts from 1."""

    key: ConversationKey
    task: int


@dataclass(slots=True)
class Reviews:
    """The entries in force after undo: by task, by conversation (fault), by graded submission;
    notes in order.
    """

    tasks: dict[TaskKey, Opinions] = field(default_factory=dict)
    blind: dict[TaskKey, Opinions] = field(default_factory=dict)
    """The latest of each reviewer's scores that was given before the judge's was seen: a score that
    is changed later was none the less given blind.
    """
    faults: dict[ConversationKey, Opinions] = field(default_factory=dict)
    submissions: dict[str, Opinions] = field(default_factory=dict)
    notes: list[Reviewed] = field(default_factory=list)
    standing: dict[str, Reviewed] = field(default_factory=dict)
    """Every entry that was not undone, in order, by its id."""

    @property
    def reviewers(self) -> tuple[str, ...]:
        """The reviewers whose scores, faults or marks are in force, ordered by name."""
        every = (*self.tasks.values(), *self.faults.values(), *self.submissions.values())
        return tuple(sorted(set(chain.from_iterable(every))))


def fold_reviews(
    many: Iterable[RunEvent], state: RunState | None = None, now: RunState | None = None
) -> Reviews:
    """Fold an overlay's reviews; with the recorded `state`, those of abandoned attempts are left
    out.

    With the state in force `now`, so are scores of tasks by other criteria than those that count:
    who gave them was asked something else. Reviewers can undo only their own entries. Texts are
    cleaned, because an overlay may come from somebody else.
    """
    many = list(many)
    entries = [_cleaned(event) for event in many if isinstance(event, Reviewed)]
    if state is not None and now is not None:
        given = (event for event in many if isinstance(event, CriteriaGiven))
        states = {"": state} | {event.judging: state.judged_anew(event) for event in given}
        entries = [
            entry
            for entry in entries
            if not _asked_otherwise(entry, states.get(entry.judging), now)
        ]
    # By time, because reviews from another machine may have been imported after newer ones.
    entries.sort(key=lambda entry: entry.at if entry.at.tzinfo else entry.at.replace(tzinfo=UTC))
    authors = {entry.review: entry.author for entry in entries}
    undone = {
        entry.undoes
        for entry in entries
        if entry.action == "undo" and entry.undoes and authors.get(entry.undoes) == entry.author
    }
    reviews = Reviews()
    for entry in entries:
        if entry.action != "undo" and entry.review not in undone and not _abandoned(entry, state):
            reviews.standing[entry.review] = entry
            _take(reviews, entry)
    return reviews


def reviewed_score(opinions: Mapping[str, Reviewed]) -> float | None:
    """Return a task's reviewed score: the mean over its reviewers."""
    given = [entry.after for entry in opinions.values() if entry.after is not None]
    if given:
        return exact_mean(given)
    return None


def reviewed_fault(opinions: Mapping[str, Reviewed]) -> Fault | None:
    """Return the fault on which all reviewers agree; None if they differ or nobody set one."""
    given = {entry.fault for entry in opinions.values() if entry.fault is not None}
    if len(given) == 1:
        return given.pop()
    return None


def reviewed_mark(opinions: Mapping[str, Reviewed]) -> Mark | None:
    """Return the mark on which all reviewers agree; `suspicious` when they differ; None when nobody
    gave one.
    """
    given = {entry.mark for entry in opinions.values() if entry.mark is not None}
    if len(given) > 1:
        return "suspicious"
    if given:
        return given.pop()
    return None


def mark_words(opinions: Mapping[str, Reviewed]) -> str:
    """Return `suspicious (ada: leaked labels)`; empty if nobody gave a mark."""
    mark = reviewed_mark(opinions)
    if mark is None:
        return ""
    many = len({entry.mark for entry in opinions.values()}) > 1
    given = []
    for name, entry in opinions.items():
        opinion = name
        if many:
            opinion += f" {entry.mark}"
        if entry.why:
            opinion += f": {entry.why}"
        given.append(opinion)
    return clean_line(f"{mark} ({'; '.join(given)})")


def disagree(opinions: Mapping[str, Reviewed]) -> bool:
    """Return whether the reviewers differ."""
    return len({(entry.after, entry.fault, entry.mark) for entry in opinions.values()}) > 1


def pass_above(state: RunState, trial: int, task: int) -> float:
    """Return the score above which a task of a trial counts as passed, as the job says."""
    listed = judged(state.trial_job(trial))
    if not 0 < task <= len(listed):
        return PASS_ABOVE
    value = listed[task - 1].get("passAbove")
    if isinstance(value, int | float):
        return float(value)
    return PASS_ABOVE


def plain(value: float | None) -> str:
    """Return a score with two decimals, or a dash."""
    return units.number(value)


def words(before: float | None, after: float | None) -> str:
    """Return `0.60 → 0.80 (reviewed)`, or `0.60 (reviewed)` if unchanged; a dash for an unknown
    score.
    """
    old, new = plain(before), plain(after)
    if old == new:
        return f"{old} (reviewed)"
    return f"{old} → {new} (reviewed)"


# Reviewed scores


@dataclass(frozen=True, slots=True)
class ReviewedScores:
    """A run's scores after its reviews.

    `tasks` is the number of tasks scored by people, of `of_tasks`.
    """

    scores: dict[str, float | None]
    mean: float | None
    reviewers: tuple[str, ...]
    tasks: int
    of_tasks: int
    disputed: int = 0
    """Tasks, faults and marks on which reviewers differ."""
    conditions: tuple[str, ...] = ()
    """The conditions in which somebody gave a score or a fault."""
    drawn: bool = False
    """Whether they are of a random sample: what people would say is estimated from it, and no score
    is part people's, part judge's.
    """

    def condition_scores(self, state: RunState) -> list[str]:
        """Return each condition's score and the mean of both, `withheld 0.41 → 0.55 (reviewed)`,
        given the run; nothing of a sample.
        """
        if self.drawn:
            return []
        before = state.scores()
        by_condition = []
        for name, score in self.scores.items():
            told = plain(score)
            if name in self.conditions:
                told = words(before.get(name), score)
            by_condition.append(f"{state.condition_title(name)} {told}")
        if len(self.scores) > 1:
            return [*by_condition, f"mean {words(state.mean(), self.mean)}"]
        return by_condition

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        if self.drawn:
            return REVIEWED.of(self, score=None, scores={})
        return REVIEWED.of(self)


REVIEWED = Fields(
    ReviewedScores,
    "score", "scores", "reviewers", "tasks", "of_tasks", "disputed",
    named={"score": "mean"},
    called="PrintedReviewed", about="A run's scores after its reviews.",
)  # fmt: skip


def reviewed_scores(state: RunState, reviews: Reviews) -> ReviewedScores | None:
    """Return the run's reviewed scores; None when nobody gave a score or a fault."""
    if not reviews.tasks and not reviews.faults:
        return None
    after = apply_reviews(state, reviews)
    scores = after.scores()
    every = (*reviews.tasks.values(), *reviews.faults.values())
    count = sum(len(_judged(state, key)) for key in state.conversations)
    return ReviewedScores(
        scores=scores,
        mean=after.mean(),
        reviewers=tuple(sorted(set(chain.from_iterable(every)))),
        tasks=len(reviews.tasks),
        of_tasks=count,
        disputed=sum(map(disagree, every)),
        conditions=tuple(
            sorted(
                {*(k.key.condition for k in reviews.tasks), *(k.condition for k in reviews.faults)}
            )
        ),
    )


def apply_reviews(state: RunState, reviews: Reviews) -> RunState:
    """Return the state with people's scores instead of the judge's; `state` itself does not change.

    Timing, assertions and failures stay as recorded. With a fault of the evaluator, judge or
    infrastructure, a conversation has no score (unless the judge is at fault and people scored
    every task). With `agent` or `none`, it has its score again if every part was measured.
    """
    scored: dict[ConversationKey, dict[int, float | None]] = {}
    for key, opinions in reviews.tasks.items():
        scored.setdefault(key.key, {})[key.task] = reviewed_score(opinions)
    talks = {
        key: _reviewed_talk(
            state, talk, scored.get(key, {}), reviewed_fault(reviews.faults.get(key, {}))
        )
        for key, talk in state.conversations.items()
    }
    reviewed = replace(state, conversations=talks)
    if state.ended is not None:
        update = {"scores": reviewed.scores(), "mean": reviewed.mean()}
        reviewed.ended = state.ended.model_copy(update=update)
    return reviewed


def _reviewed_talk(
    state: RunState,
    talk: ConversationState,
    given: Mapping[int, float | None],
    fault: Fault | None,
) -> ConversationState:
    """Return a conversation with the scores of tasks that people gave it, and their fault."""
    if talk.score is None or (not given and fault is None):
        return talk
    tasks = _tasks(
        state, talk, {number: value for number, value in given.items() if value is not None}
    )
    fields: dict[str, Any] = {"score": _score(state, talk, tasks, fault, given.keys())}
    if tasks:
        base = talk.verdict or _no_verdict(talk)
        fields["verdict"] = base.model_copy(update={"tasks": tuple(tasks), "error": None})
    if fault is not None and talk.ended is not None:
        fields["ended"] = talk.ended.model_copy(update={"fault": fault})
    return talk.changed(**fields)


def _tasks(
    state: RunState, talk: ConversationState, given: Mapping[int, float]
) -> list[TaskScored]:
    """Return the scored tasks in the job's order, with people's scores if there are any."""
    known = {task.task: task for task in talk.verdict.tasks} if talk.verdict else {}
    tasks = []
    for number, item in _judged(state, talk.key).items():
        task = known.get(number)
        if number in given:
            task = task or TaskScored(
                task=number,
                title=str(item.get("task", "")),
                score=given[number],
                points=item.get("points"),
                tags=tuple(item.get("tags") or ()),
                weight=job_number(item, "weight", 1.0),
            )
            passed = (given[number] > pass_above(state, talk.key.trial, number)) == (
                (task.points or 1) > 0
            )
            task = task.model_copy(
                update={"score": given[number], "passed": passed, "kept_by": None}
            )
        if task is not None:
            tasks.append(task)
    return tasks


def _score(
    state: RunState,
    talk: ConversationState,
    tasks: list[TaskScored],
    fault: Fault | None,
    given: Iterable[int],
) -> ConversationScored:
    """Return a conversation's score as people's reviews change it.

    There is none if the reviewed `fault` spoils the result. It stays as recorded if such a fault is
    recorded and nobody has set another. Otherwise it is composed again of the `tasks`; `given` are
    the numbers of those that people scored.
    """
    assert talk.score is not None
    count = len(_judged(state, talk.key))
    by_people = bool(count) and len(set(given)) == count
    # Where people scored every task, nothing of the judge is left to spoil the score.
    if fault in SPOILING and not (fault == "judge" and by_people):
        changes = {"score": None, "reason": f"reviewed: fault of the {fault}", "fault": fault}
        return talk.score.model_copy(update=changes)
    if (
        talk.score.score is None
        and talk.ended is not None
        and talk.ended.fault in SPOILING
        and fault is None
    ):
        # people scored its tasks, but nobody set a fault with which it counts as a result
        return talk.score
    part = composite.judged_part(
        tasks if len(tasks) == count else None, count, "not every task is scored"
    )
    parts = talk.score.parts or _parts(state, talk)
    whole = composite.compose(
        [part if old.name == "task" else old for old in parts], talk.score.failures
    )
    left: Fault = "none" if whole.score is not None else talk.score.fault
    return talk.score.model_copy(
        update={
            "score": whole.score,
            "parts": whole.parts,
            "reason": whole.reason,
            "fault": fault or left,
        }
    )


def _judged(state: RunState, key: ConversationKey) -> dict[int, dict[str, Any]]:
    """Return what is scored in a conversation, by number: what counts in its condition."""
    return judged_items(state.trial_job(key.trial), key.condition)


def _parts(state: RunState, talk: ConversationState) -> tuple[ScorePart, ...]:
    """Return the parts of a conversation that was not scored when it was recorded: of timing and
    assertions what was recorded, and a task part that is not measured.
    """
    listed = [item if isinstance(item, dict) else {} for item in state.job.get("assertions") or []]
    wanted = sum(is_counted(item, talk.key.condition) for item in listed)
    finals = [(check.weight, PASSED[check.status]) for check in talk.final_checks.values()]
    # One assertion that was not checked at the end leaves the part not measured, of any weight but
    # 0: 1 is an example.
    finals += [(1.0, None)] * (wanted - len(finals))
    return (
        composite.timing_part(
            job_number(state.job, "aspirationalAverage", 0.0),
            talk.latencies_ms,
            ended=True,
            answers=talk.blocked_answers,
            agent_failed=talk.ended is not None and talk.ended.fault == "agent",
        ),
        composite.task_part(scores=None, task_count=len(_judged(state, talk.key))),
        composite.assertion_part(finals),
    )


def _no_verdict(talk: ConversationState) -> TranscriptScored:
    assert talk.score is not None
    return TranscriptScored(**place_of(talk.score), judge="people")


def _cleaned(entry: Reviewed) -> Reviewed:
    return entry.model_copy(
        update={
            "author": clean_line(entry.author or "unknown", 80),
            "why": clean(entry.why, 10_000),
        }
    )


def _asked_otherwise(entry: Reviewed, then: RunState | None, now: RunState) -> bool:
    """Return whether a task was scored by other criteria than those that count now, or by unknown
    ones.
    """
    if entry.after is None or entry.task is None or entry.condition is None or entry.trial is None:
        return False
    if then is None:
        return True
    asked, counted = (
        judged_items(state.trial_job(entry.trial), entry.condition).get(entry.task)
        for state in (then, now)
    )
    if asked is None or counted is None:
        return asked is not counted
    before, after = then.trial_job(entry.trial), now.trial_job(entry.trial)
    return judge_question(before, asked, entry.condition) != judge_question(
        after, counted, entry.condition
    )


def _abandoned(entry: Reviewed, state: RunState | None) -> bool:
    if state is None or entry.condition is None or entry.trial is None:
        return False
    talk = state.conversation(entry.condition, entry.trial)
    return talk is None or (entry.attempt or 1) != talk.attempt


def _take(reviews: Reviews, entry: Reviewed) -> None:
    author = entry.author or "unknown"
    key = ConversationKey(entry.condition, entry.trial) if entry.condition and entry.trial else None
    if entry.action == "note":
        reviews.notes.append(entry)
    elif entry.submission is not None:
        if entry.mark is not None:
            reviews.submissions.setdefault(entry.submission, {})[author] = entry
    elif entry.action == "fault":
        if key is not None:
            reviews.faults.setdefault(key, {})[author] = entry
    elif key is not None and entry.task is not None and entry.after is not None:
        task = TaskKey(key, entry.task)
        reviews.tasks.setdefault(task, {})[author] = entry
        if entry.blind:
            reviews.blind.setdefault(task, {})[author] = entry

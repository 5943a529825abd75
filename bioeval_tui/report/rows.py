"""The rows of a trial, as a live screen draws them while it runs and its result holds them at the
end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bioeval_tui.record.cases import (
    assertion_title,
    is_counted,
    judged,
    judged_items,
    name_placeholders,
    task_criteria,
)
from bioeval_tui.record.condition_names import Condition, counts_in
from bioeval_tui.record.conditions import Contrast, job_conditions, job_contrast
from bioeval_tui.record.effect import SharedCriteria, shared_criteria, why_not_compared
from bioeval_tui.record.events import RESULT_REASONS, AssertionChecked, TaskScored, job_number
from bioeval_tui.record.state import ConversationState, MessageState, RunState
from bioeval_tui.report.findings import Shared
from bioeval_tui.statistics.estimates import LatencySummary, summarise

Talks = dict[Condition, ConversationState | None]


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task: its verdict under each condition, and supplied − withheld of one that is judged
    alike in both.
    """

    number: int
    title: str
    criteria: str
    verdicts: dict[Condition, TaskScored | None]
    uplift: float | None
    only: str | None
    """The only condition in which it counts; None for both."""

    def counts_in(self, condition: Condition) -> bool:
        """Return whether it counts in a condition."""
        return counts_in(self.only, condition)


@dataclass(frozen=True, slots=True)
class AssertionRow:
    """One assertion: its checks turn by turn and at the end, under each condition."""

    index: int
    title: str
    weight: float
    timelines: dict[Condition, tuple[AssertionChecked, ...]]
    finals: dict[Condition, AssertionChecked | None]
    only: str | None
    """The only condition in which it counts; None for both."""

    def outcome(self, condition: Condition) -> str:
        """Return its status at the end: `passed`, `failed`, `not_measured`, `elsewhere` (it counts
        in the other condition), or nothing.
        """
        if (final := self.finals[condition]) is not None:
            return final.status
        if counts_in(self.only, condition):
            return ""
        return "elsewhere"

    def held_from_start(self, condition: Condition) -> bool:
        """Return whether it passes at the end and passed before the greeting already."""
        final = self.finals[condition]
        return final is not None and final.from_start


def trial_talks(state: RunState, trial: int) -> Talks:
    """Return the conversations of a trial by condition; None for one that has not started."""
    return {condition: state.conversation(condition, trial) for condition in state.conditions}


def task_verdict(talk: ConversationState | None, number: int) -> TaskScored | None:
    """Return a task's verdict in a conversation that counts as a result."""
    if talk is None or talk.verdict is None or talk.verdict.error:
        return None
    if talk.ended is None or talk.ended.reason not in RESULT_REASONS:
        return None
    return next((task for task in talk.verdict.tasks if task.task == number), None)


def task_evidence(task: TaskScored | None) -> tuple[int, str] | None:
    """Return the number of the first message that the judge quotes for a task, and the quotation;
    None without one.
    """
    if task is None:
        return None
    for item in task.evidence:
        if item.message is not None:
            return item.message, item.quote
    return None


def decided_in(checks: Sequence[AssertionChecked]) -> int | None:
    """Return the turn in which an assertion got its final status; None if it always had it."""
    changed = (
        after.after_turn
        for before, after in pairwise(checks)
        if before.status != after.status and after.after_turn
    )
    return max(changed, default=None)


def slowest(talk: ConversationState) -> MessageState | None:
    """Return the agent's message that took longest."""
    timed = (answer for answer in talk.answers if answer.latency_ms is not None)
    return max(timed, key=lambda m: m.latency_ms or 0.0, default=None)


def job_of_trial(state: RunState, trial: int | None) -> dict[str, Any]:
    """Return the job as it was for a trial, its case filled in; None stands for the job itself."""
    if trial is None:
        return state.job
    return state.trial_job(trial)


def task_titles(
    state: RunState, trial: int | None = None, condition: Condition | None = None
) -> dict[int, str]:
    """Return the titles of what the judge scores, by number from 1: the tasks or the rubric of the
    job, or of a trial with its case filled in; with a condition, only those that count there.
    """
    job = job_of_trial(state, trial)
    titles = {
        number: str(item.get("task", "")) for number, item in judged_items(job, condition).items()
    }
    if trial is not None:
        return titles
    # Only a trial has a case: elsewhere, ‹drug› stands for what it would fill in.
    return {number: name_placeholders(t) for number, t in titles.items()}


def criteria_words(job: Mapping[str, Any], item: Mapping[str, Any]) -> str:
    """Return the criteria of a task of a job's snapshot; a line for each condition where they
    differ.
    """
    words = {
        condition.title: " ".join(task_criteria(job, item, condition.name).split())
        for condition in job_conditions(job)
    }
    if len(set(words.values())) == 1:
        return next(iter(words.values()))
    return "\n".join(f"{title}: {words[title]}" for title in reversed(words))


def task_rows(state: RunState, trial: int) -> list[TaskRow]:
    """Return the tasks of a trial, with their verdicts as far as there are any."""
    both, job = trial_talks(state, trial), state.trial_job(trial)
    shared = shared_criteria(job)
    compared = shared.tasks.numbers
    if why_not_compared(state, trial, shared):
        compared = frozenset()
    found = []
    for number, item in enumerate(judged(job), start=1):
        verdicts = {condition: task_verdict(talk, number) for condition, talk in both.items()}
        title, criteria = str(item.get("task", "")), criteria_words(job, item)
        difference = None
        if number in compared:
            difference = _difference(verdicts, job_contrast(job))
        found.append(TaskRow(number, title, criteria, verdicts, difference, item.get("only")))
    return found


def _difference(
    verdicts: Mapping[Condition, TaskScored | None], both: Contrast | None
) -> float | None:
    if both is None:
        return None
    without, with_facts = (verdicts.get(condition) for condition in both)
    if without is None or with_facts is None or not (without.measured and with_facts.measured):
        return None
    return with_facts.score - without.score


Titles = dict[int, tuple[str, float]]
"""Title and weight of assertions, by index from 0."""


def checked_titles(state: RunState, condition: Condition | None = None) -> Titles:
    """Return title and weight of the assertions that were checked, in a condition or in all."""
    found: Titles = {}
    for talk in state.conversations.values():
        if condition in (None, talk.key.condition):
            for check in talk.latest_checks():
                found.setdefault(check.index, (check.title, check.weight))
    return found


def assertion_titles(
    state: RunState,
    trial: int | None = None,
    condition: Condition | None = None,
    checked: Titles | None = None,
) -> Titles:
    """Return title and weight of the assertions of the job, or of a trial; in a condition, those
    that count there. `checked` are those that were checked, for who asks for many trials: finding
    them looks at every conversation.
    """
    found: Titles = {}
    job = job_of_trial(state, trial)
    for index, item in enumerate(job.get("assertions") or []):
        if not isinstance(item, dict):
            item = {}
        if not is_counted(item, condition):
            continue
        title = assertion_title(item, index)
        if trial is None:
            title = name_placeholders(title)
        found[index] = (title, job_number(item, "weight", 1.0))
    if checked is None:
        checked = checked_titles(state, condition)
    return dict(sorted({**checked, **found}.items()))


def assertion_rows(
    state: RunState, trial: int, checked: Titles | None = None
) -> list[AssertionRow]:
    """Return the assertions of a trial with every check of them so far."""
    both = trial_talks(state, trial)
    only = {
        index: item.get("only")
        for index, item in enumerate(state.trial_job(trial).get("assertions") or ())
        if isinstance(item, dict)
    }
    return [
        AssertionRow(
            index,
            title,
            weight,
            {c: tuple(talk.checks.get(index, ())) if talk else () for c, talk in both.items()},
            {c: talk.final_checks.get(index) if talk else None for c, talk in both.items()},
            only.get(index),
        )
        for index, (title, weight) in assertion_titles(state, trial, checked=checked).items()
    ]


def parting(state: RunState, trial: int) -> int | None:
    """Return the number of the first message that the conversations of a trial do not share; None
    if there is none yet.
    """
    talks = [state.conversation(condition, trial) for condition in state.conditions]
    differences = (first_difference(talks[0], other) for other in talks[1:])
    return min((number for number in differences if number is not None), default=None)


def first_difference(
    first: ConversationState | None, second: ConversationState | None, *, answers: bool = False
) -> int | None:
    """Return the number of the first message, or of the first of the agent's `answers`, that two
    conversations do not share.

    Only messages that are complete on both sides count. None if there is none yet.
    """
    if first is None or second is None:
        return None
    for one, other in zip(first.messages, second.messages, strict=False):
        if not (one.done and other.done):
            return None
        if answers and one.role == other.role == "user":
            continue
        if (one.role, " ".join(one.text.split())) != (other.role, " ".join(other.text.split())):
            return one.message
    return None


def latency(state: RunState, condition: Condition, trial: int) -> LatencySummary:
    """Return the response times of one conversation so far."""
    talk = state.conversation(condition, trial)
    return summarise(
        talk.latencies_ms if talk else [],
        talk.first_tokens_ms if talk else [],
        [state.started.concurrency] if state.started else [],
    )


def target_ms(state: RunState) -> float:
    """Return the job's target for the average response time in ms; 0 if it has none."""
    return job_number(state.job, "aspirationalAverage", 0.0)


def counted_shared(every: Iterable[SharedCriteria]) -> Shared | None:
    """Return how much conditions share, by case; None if that is everything.

    Where the cases, or jobs, share different numbers of tasks and assertions, those of all of them
    are counted.
    """
    every = list(every)
    if all(criteria.is_everything for criteria in every):
        return None
    counts = [
        (len(tasks.numbers), tasks.every, len(checks.numbers), checks.every)
        for tasks, checks in every
    ]
    if len(set(counts)) == 1:
        return Shared(*counts[0])
    tasks, of_tasks, assertions, of_assertions = map(sum, zip(*counts, strict=True))
    return Shared(tasks, of_tasks, assertions, of_assertions)

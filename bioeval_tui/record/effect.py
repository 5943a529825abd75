"""What the facts change: the difference between the conditions of a trial, on what both are scored
by.

Of the conditions, the contrast is between one without and one with the facts. A task with
`withheldCriteria` and whatever has `only` ask for something else in each of the two. Two scores of
different things are no difference, so these are shown in each condition and enter none: the
difference is that of the shared scores, by the formula of the composite and with the weights of
what is shared. Everything that shows a difference of a run takes it from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bioeval_tui.record import score as composite
from bioeval_tui.record.cases import is_counted, judge_question, judged, plain_parts, task_criteria
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.conditions import Contrast, job_contrast
from bioeval_tui.record.events import RunStarted, ScorePart, job_number
from bioeval_tui.record.state import PASSED, ConversationState, RunState
from bioeval_tui.statistics.means import exact_difference, exact_mean

NO_FACTS = "without facts to withhold"
"""Why a case has no difference between the conditions."""
NO_CONTRAST = "without a condition that withholds all facts and one that supplies all"
"""Why a run has none if its job lists other conditions."""
NOTHING_SHARED = "without shared criteria"
"""Why a trial has none if nothing is judged or checked alike in both conditions."""
NOT_RECORDED = "without recorded verdicts"
"""Why a conversation with a score has no shared one: the recording lacks what it would be made of.
"""


class SharedOf(NamedTuple):
    """Which of all that have a weight both conditions share."""

    numbers: frozenset[int]
    every: int

    @property
    def is_everything(self) -> bool:
        """Whether they share all."""
        return len(self.numbers) == self.every


class SharedCriteria(NamedTuple):
    """What both conditions of a trial are scored by: which tasks and assertions.

    `Shared` says how many.
    """

    tasks: SharedOf
    """The tasks, or the items of the rubric, by number from 1."""
    assertions: SharedOf
    """By index from 0."""

    @property
    def is_everything(self) -> bool:
        """Whether the conditions are scored alike, so that their scores can be compared as they
        are.
        """
        return self.tasks.is_everything and self.assertions.is_everything

    @property
    def is_nothing(self) -> bool:
        """Whether each condition has its own criteria, and only response times would be left to
        compare.
        """
        return not (self.is_everything or self.tasks.numbers or self.assertions.numbers)


def shared_criteria(job: Mapping[str, Any]) -> SharedCriteria:
    """Return what both conditions share of a job's snapshot, filled in from its case if it has
    cases.

    What counts in neither of them is not among all that has a weight.
    """
    both = job_contrast(job)
    if both is None:
        return SharedCriteria(SharedOf(frozenset(), 0), SharedOf(frozenset(), 0))
    listed = enumerate(job.get("assertions") or ())
    assertions = {index: item if isinstance(item, dict) else {} for index, item in listed}
    weighed = {
        index: item
        for index, item in assertions.items()
        if job_number(item, "weight", 1.0) and _counts_in_one(item, both)
    }
    listed_tasks = enumerate(judged(dict(job)), start=1)
    tasks = {number: task for number, task in listed_tasks if _counts_in_one(task, both)}
    alike = {number: task for number, task in tasks.items() if _is_judged_alike(job, task, both)}
    # Items that only take points away have no score of their own.
    has_score = any(job_number(task, "points", 1.0) > 0 for task in alike.values())
    return SharedCriteria(
        SharedOf(frozenset(alike) if has_score else frozenset(), len(tasks)),
        SharedOf(
            frozenset(index for index, item in weighed.items() if _counts_in_both(item, both)),
            len(weighed),
        ),
    )


def compares_everything(started: RunStarted) -> bool:
    """Return whether the conditions of every trial are compared on all that is scored.

    If so, the difference of the conditions' means is the mean of the trials' differences.
    """
    jobs = [started.job, *(started.job | plain_parts(case.parts) for case in started.cases)]
    withholds = bool(started.job.get("facts"))
    return all(
        shared_criteria(job).is_everything and (job.get("facts") or not withholds) for job in jobs
    )


def _counts_in_one(item: Mapping[str, Any], both: Contrast) -> bool:
    return any(is_counted(item, condition) for condition in both)


def _counts_in_both(item: Mapping[str, Any], both: Contrast) -> bool:
    return all(is_counted(item, condition) for condition in both)


def _is_judged_alike(job: Mapping[str, Any], task: Mapping[str, Any], both: Contrast) -> bool:
    without, with_facts = (_asked(job, task, condition) for condition in both)
    return _counts_in_both(task, both) and without == with_facts


def _asked(job: Mapping[str, Any], task: Mapping[str, Any], condition: Condition) -> dict[str, Any]:
    """Return what a judge is asked about a task, whatever its white space."""
    criteria = " ".join(task_criteria(job, task, condition).split())
    return {**judge_question(job, task, condition), "criteria": criteria}


def shared_score(talk: ConversationState, criteria: SharedCriteria) -> float | None:
    """Return a conversation's score, from 0 to 1, on what both conditions share.

    It is the conversation's own score if that is everything. None if nothing is shared, if the
    conversation has no score, or if the recording lacks a verdict or a check.
    """
    scored = talk.score
    if scored is None or scored.score is None or criteria.is_everything:
        if scored is None:
            return None
        return scored.score
    if criteria.is_nothing:
        return None
    timing = [part for part in scored.parts if part.name == "timing"]
    parts = [*timing, _task_part(talk, criteria), _assertion_part(talk, criteria)]
    return composite.compose(parts, scored.failures).score


def _task_part(talk: ConversationState, criteria: SharedCriteria) -> ScorePart:
    verdicts = talk.verdict.tasks if talk.verdict is not None and not talk.verdict.error else ()
    shared = criteria.tasks.numbers
    tasks = [task for task in verdicts if task.task in shared]
    return composite.judged_part(tasks if len(tasks) == len(shared) else None, len(shared))


def _assertion_part(talk: ConversationState, criteria: SharedCriteria) -> ScorePart:
    checks = (talk.final_checks.get(index) for index in sorted(criteria.assertions.numbers))
    return composite.assertion_part(
        [(1.0, None) if check is None else (check.weight, PASSED[check.status]) for check in checks]
    )


def why_not_compared(state: RunState, trial: int, shared: SharedCriteria) -> str:
    """Return why the conditions of a trial, which have these criteria in common, have no
    difference, in a few words; empty if they can be compared.

    The second condition of a run that is not known to be clean may have inherited what the first
    left.
    """
    if not state.clean:
        return state.cleanness  # `not clean` or `cleanliness unknown`
    trial_job = state.trial_job(trial)
    if job_contrast(trial_job) is None:
        return NO_CONTRAST
    # The job has facts, but this case has none of them: nothing was withheld from its user.
    case_lacks_facts = bool(state.job.get("facts")) and not trial_job.get("facts")
    if case_lacks_facts:
        return NO_FACTS
    if shared.is_nothing:
        return NOTHING_SHARED
    return ""


def trial_difference(state: RunState, trial: int) -> float | None:
    """Return the shared score with the facts − that without of a trial; None if one is missing or
    they are not compared.
    """
    both = job_contrast(state.job)
    criteria = shared_criteria(state.trial_job(trial))
    if both is None or why_not_compared(state, trial, criteria):
        return None
    talks = (state.conversation(condition, trial) for condition in both)
    without, with_facts = (
        shared_score(talk, criteria) if talk is not None else None for talk in talks
    )
    if without is None or with_facts is None:
        return None
    return exact_difference(with_facts, without)


def run_difference(state: RunState) -> float | None:
    """Return the mean difference over the trials that have one; None without any."""
    trials = {key.trial for key in state.conversations}
    found = [
        value for trial in sorted(trials) if (value := trial_difference(state, trial)) is not None
    ]
    if found:
        return exact_mean(found)
    return None

"""The values of runs for statistics: one per conversation, or the reason why it is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bioeval_tui.record.names import CONDITIONS, Condition
from bioeval_tui.record.state import ConversationState
from bioeval_tui.report.loading import LoadedRun
from bioeval_tui.report.rows import task_of, task_titles
from bioeval_tui.report.statistics.estimates import Proportion, Sample, Tries, proportion
from bioeval_tui.score import rubric_score

ALL_ITEMS = "all items"
"""The tag of all items of a rubric: the rubric's own score, without timing and assertions."""


def talks(
    runs: Sequence[LoadedRun], condition: Condition | None = None
) -> Iterator[tuple[LoadedRun, ConversationState]]:
    """Yield the conversations of one condition, or of both, in the order of runs and trials."""
    for run in runs:
        yield from ((run, talk) for talk in run.talks if condition in (None, talk.key.condition))


def conditions(runs: Sequence[LoadedRun]) -> list[Condition]:
    """Return the conditions that any of the runs has, withheld before supplied."""
    return [name for name in CONDITIONS if any(name in run.started.conditions for run in runs)]


def assertion_share(runs: Sequence[LoadedRun], condition: Condition, index: int) -> tuple[Proportion, int]:
    """Return how often an assertion passed at the end, and in how many conversations it was not measured."""
    finals = [talk.final_checks.get(index) for _, talk in talks(runs, condition)]
    known = [check.status for check in finals if check is not None]
    unknown = known.count("not_measured")
    return proportion(known.count("passed"), len(known) - unknown), unknown


def why_excluded(talk: ConversationState) -> str:
    """Return why a conversation has no score, in one or two words: whose fault, cancelled, or not finished."""
    if talk.ended is None or talk.score is None:
        return "not finished"
    if talk.score.score is not None:
        return ""
    if talk.fault not in (None, "none"):
        return talk.fault
    return "cancelled" if talk.ended.reason == "cancelled" else "not measured"


def score_sample(run: LoadedRun, talk: ConversationState | None) -> Sample | None:
    """Return the composite of a conversation; None if it was not run."""
    if talk is None:
        return None
    value = talk.score.score if talk.score else None
    return Sample(run.started.job_name, value, why_excluded(talk), case_of(talk))


def case_of(talk: ConversationState) -> str:
    """Return the name of the conversation's case; empty if the job has no cases."""
    return talk.case.name if talk.case is not None else ""


def common_case(run: LoadedRun, talk: ConversationState) -> str:
    """Return the unit on which agents are compared: the job, one of its cases, or a case of an imported set, whatever its file name."""
    case = case_of(talk)
    if not case or run.started.source is not None:
        return case or run.started.job_name
    return f"{run.started.job_name} {case}"


def task_sample(run: LoadedRun, talk: ConversationState | None, number: int) -> Sample | None:
    """Return a task's score in a conversation; None if it was not run."""
    if talk is None:
        return None
    task = task_of(talk, number)
    if task is not None:
        return Sample(run.started.job_name, task.score, case=case_of(talk))
    return Sample(run.started.job_name, None, why_excluded(talk) or "judge", case_of(talk))


def condition_title(runs: Sequence[LoadedRun], condition: Condition) -> str:
    """Return what all runs call a condition; `facts withheld` if their jobs name it differently."""
    titles = {run.state.condition_title(condition) for run in runs}
    return titles.pop() if len(titles) == 1 else f"facts {condition}"


def tag_samples(runs: Sequence[LoadedRun], condition: Condition) -> dict[str, list[Sample]]:
    """Return each conversation's scores over the items with each tag, by tag; `ALL_ITEMS` is first."""
    found: dict[str, list[Sample]] = {}
    for run, talk in talks(runs, condition):
        judged = [] if why_excluded(talk) or talk.verdict is None else talk.verdict.tasks
        items = [(item, {ALL_ITEMS, *item.tags}) for item in judged if item.points is not None]
        for tag in {tag for _, tags in items for tag in tags}:
            value = rubric_score([item for item, tags in items if tag in tags])
            if value is not None:  # only what must not be done has this tag here
                found.setdefault(tag, []).append(Sample(run.started.job_name, value, case=case_of(talk)))
    return dict(sorted(found.items(), key=lambda pair: (pair[0] != ALL_ITEMS, pair[0])))


def task_tries(runs: Sequence[LoadedRun], condition: Condition) -> list[Tries]:
    """Return how often each task of each job (and case) was passed (score > `passAbove`) in trials that count.

    A conversation without a composite does not count as a trial, even if its tasks were judged (for example without the graph).
    """
    counts: dict[tuple[str, str, str], list[bool]] = {}
    for run, talk in talks(runs, condition):
        lost = bool(why_excluded(talk))
        case = talk.case.words if talk.case is not None else ""
        for number, title in task_titles(run.state, talk.key.trial).items():
            tries = counts.setdefault((run.started.job_name, case, title), [])
            task = task_of(talk, number)
            if task is not None and not lost:
                tries.append(task.passed)
    return [
        Tries(f"{case}: {title}" if case else title, sum(tries), len(tries))
        for (_, case, title), tries in counts.items()
    ]

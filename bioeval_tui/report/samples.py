"""From folded runs to the values that statistics sum up: one a conversation, or why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bioeval_tui.record.events import RESULT_REASONS, ConditionName, TaskScored, job_number
from bioeval_tui.record.state import ConversationState
from bioeval_tui.report.loading import LoadedRun
from bioeval_tui.report.statistics.passk import Tries
from bioeval_tui.report.statistics.samples import Sample


def talks(
    runs: Sequence[LoadedRun], condition: ConditionName
) -> Iterator[tuple[LoadedRun, ConversationState]]:
    """Yield the conversations of a condition, in the order of runs and trials."""
    for run in runs:
        for trial in run.trials:
            talk = run.state.conversation(condition, trial)
            if talk is not None:
                yield run, talk


def why_excluded(talk: ConversationState) -> str:
    """Return why a conversation has no score, in a word or two: whose fault, cancelled, or not finished."""
    if talk.ended is None or talk.score is None:
        return "not finished"
    if talk.score.score is not None:
        return ""
    for fault in (talk.ended.fault, talk.score.fault):
        if fault != "none":
            return fault
    return "cancelled" if talk.ended.reason == "cancelled" else "not measured"


def score_sample(run: LoadedRun, talk: ConversationState | None) -> Sample | None:
    """Return the composite of a conversation; None when it was not held."""
    if talk is None:
        return None
    value = talk.score.score if talk.score else None
    return Sample(run.started.job_name, value, why_excluded(talk))


def task_of(talk: ConversationState | None, number: int) -> TaskScored | None:
    """Return a task's verdict in a conversation that counts as a result."""
    if talk is None or talk.verdict is None or talk.verdict.error:
        return None
    if talk.ended is None or talk.ended.reason not in RESULT_REASONS:
        return None
    return next((task for task in talk.verdict.tasks if task.task == number), None)


def task_sample(run: LoadedRun, talk: ConversationState | None, number: int) -> Sample | None:
    """Return a task's score in a conversation; None when it was not held."""
    if talk is None:
        return None
    task = task_of(talk, number)
    if task is not None:
        return Sample(run.started.job_name, task.score)
    return Sample(run.started.job_name, None, why_excluded(talk) or "judge")


def task_titles(run: LoadedRun) -> dict[int, str]:
    """Return the job's tasks by number, counting from 1."""
    listed = run.state.job.get("tasks") or []
    return {
        number: str(item.get("task", f"task {number}")) if isinstance(item, dict) else str(item)
        for number, item in enumerate(listed, start=1)
    }


def assertion_titles(run: LoadedRun) -> dict[int, tuple[str, float]]:
    """Return the job's assertions by index (from 0): title and weight, as checked or as the job says."""
    found: dict[int, tuple[str, float]] = {}
    for index, item in enumerate(run.state.job.get("assertions") or []):
        if isinstance(item, dict):
            named = next(
                (item[key] for key in ("name", "expression", "cypher", "medal") if item.get(key)), ""
            )
            found[index] = (str(named or f"assertion {index + 1}"), job_number(item, "weight", 1.0))
    for talk in run.state.conversations.values():
        for check in talk.latest_checks():
            found.setdefault(check.index, (check.title, check.weight))
    return dict(sorted(found.items()))


def task_tries(runs: Sequence[LoadedRun], condition: ConditionName) -> list[Tries]:
    """Return how often each task of each job was passed (score > `passAbove`) in trials that count.

    A conversation without a composite is no trial, even where its tasks could be judged: the graph was away, say.
    """
    counts: dict[tuple[str, str], list[bool]] = {}
    for run, talk in talks(runs, condition):
        lost = bool(why_excluded(talk))
        for number, title in task_titles(run).items():
            tries = counts.setdefault((run.started.job_name, title), [])
            task = task_of(talk, number)
            if task is not None and not lost:
                tries.append(task.passed)
    return [Tries(title, sum(tries), len(tries)) for (_, title), tries in counts.items()]


def run_tries(runs: Sequence[LoadedRun], condition: ConditionName, bar: float) -> list[Tries]:
    """Return per job how often the composite reached the bar, in trials that count."""
    counts: dict[str, list[bool]] = {}
    for run, talk in talks(runs, condition):
        tries = counts.setdefault(run.started.job_name, [])
        if talk.score is not None and talk.score.score is not None:
            tries.append(talk.score.score >= bar)
    return [Tries(job, sum(tries), len(tries)) for job, tries in counts.items()]

"""From what was measured to one conversation's composite, with the fault when there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median

from bioeval_tui import score
from bioeval_tui.evaluate.conversation.transcript import Transcript
from bioeval_tui.evaluate.job.models import EvaluationJob
from bioeval_tui.evaluate.seams import CheckResult, TaskVerdict, Verdict
from bioeval_tui.record.events import EvidenceQuoted, Fault, TaskScored
from bioeval_tui.text import clean, clean_line


def given(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts that were given: those that count."""
    return [verdict for verdict in verdicts if not verdict.error]


def missing(verdicts: Sequence[Verdict]) -> list[str]:
    """Return one sentence for each member of a panel that gave no verdict."""
    of = len(verdicts)
    return [
        f"one of the {of} verdicts is missing, the median is that of the others: {clean_line(verdict.error, 300)}"
        for verdict in verdicts
        if verdict.error
    ]


def unusable(job: EvaluationJob, verdicts: Sequence[Verdict]) -> str | None:
    """Return what is wrong with the verdicts, or None: each must score every task once, in [0, 1]."""
    if not verdicts:
        return "the judge gave no verdict"
    for verdict in verdicts:
        numbers = sorted(task.task for task in verdict.tasks)
        if numbers != list(range(1, len(job.tasks) + 1)):
            return f"the judge scored tasks {numbers}, the job has {len(job.tasks)}"
        if not all(0 <= task.score <= 1 for task in verdict.tasks):
            return "a score is not between 0 and 1"
    return None


def combine_verdicts(job: EvaluationJob, verdicts: Sequence[Verdict]) -> tuple[TaskScored, ...]:
    """Return the median per task over the verdicts, with the reason and evidence nearest to it."""
    combined = []
    for number, task in enumerate(job.tasks, start=1):
        given = [verdict for found in verdicts for verdict in found.tasks if verdict.task == number]
        scores = [verdict.score for verdict in given]
        middle = median(scores)
        nearest = min(given, key=lambda verdict: abs(verdict.score - middle))
        combined.append(
            TaskScored(
                task=number,
                title=task.task,
                score=middle,
                reason=clean(nearest.reason),
                evidence=_evidence(nearest),
                passed=middle > task.pass_above,
                spread=max(scores) - min(scores),
            )
        )
    return tuple(combined)


def score_fields(
    transcript: Transcript,
    tasks: Sequence[TaskScored] | None,
    judge_error: str,
    checks: Mapping[int, CheckResult],
    judge_fault: Fault,
) -> dict[str, object]:
    """Return the fields of `ConversationScored` for a conversation that counts as a result."""
    job = transcript.job
    results = [(assertion.weight, checks[i].passed) for i, assertion in enumerate(job.assertions)]
    not_checked = next((checks[i].error for i in checks if checks[i].passed is None), None)
    parts = (
        score.timing_part(job.aspirational_average, transcript.latencies_ms, ended=True),
        score.task_part(
            [task.score for task in tasks] if tasks is not None else None, len(job.tasks), judge_error
        ),
        score.assertion_part(results, not_checked or ""),
    )
    whole = score.compose(parts, transcript.failures)
    fault: Fault = "none"
    if whole.score is None:
        fault = judge_fault if tasks is None and job.tasks else "infrastructure"
    return {
        "score": whole.score,
        "parts": whole.parts,
        "penalty": whole.penalty,
        "failures": transcript.failures,
        "average_latency_ms": fmean(transcript.latencies_ms) if transcript.latencies_ms else None,
        "reason": whole.reason,
        "fault": fault,
    }


def unscored_fields(transcript: Transcript, reason: str, fault: Fault) -> dict[str, object]:
    """Return the fields of `ConversationScored` for a conversation that is no result."""
    return {
        "score": None,
        "parts": (),
        "penalty": score.penalty_of(transcript.failures),
        "failures": transcript.failures,
        "average_latency_ms": fmean(transcript.latencies_ms) if transcript.latencies_ms else None,
        "reason": reason,
        "fault": fault,
    }


def verdict_dict(verdict: Verdict) -> dict[str, object]:
    """Return a verdict as it is kept in the event, beside the median."""
    return {
        "judge": clean_line(verdict.judge),
        "tone": verdict.tone,
        "tasks": [
            {
                "task": task.task,
                "score": task.score,
                "reason": clean(task.reason),
                "evidence": [
                    {"quote": clean(item.quote, 2_000), "message": item.message} for item in task.evidence
                ],
            }
            for task in verdict.tasks
        ],
    }


def _evidence(verdict: TaskVerdict) -> tuple[EvidenceQuoted, ...]:
    return tuple(
        EvidenceQuoted(quote=clean(item.quote, 2_000), message=item.message) for item in verdict.evidence
    )

"""Several verdicts on one transcript: how many are enough, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from bioeval_tui.protocols import Verdict


@dataclass(frozen=True, slots=True)
class TaskMedian:
    """One task over all verdicts: the median score, and how far apart they are (largest minus smallest)."""

    task: int
    score: float
    spread: float
    scores: tuple[float, ...]


def median_verdict(verdicts: Sequence[Verdict]) -> tuple[TaskMedian, ...]:
    """Return the median and spread per task, in the order of the tasks."""
    scores: dict[int, list[float]] = {}
    for verdict in verdicts:
        for task in verdict.tasks:
            scores.setdefault(task.task, []).append(task.score)
    return tuple(
        TaskMedian(task, median(given), max(given) - min(given), tuple(given))
        for task, given in sorted(scores.items())
    )


def enough(given: int, wanted: int) -> bool:
    """Say whether at least two thirds of the verdicts are there."""
    return given > 0 and given * 3 >= wanted * 2

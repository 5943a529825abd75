"""The figures of a batch's board: means by condition, differences and response times of some
conversations.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from bioeval_tui.statistics.estimates import Estimate, Sample, estimate
from bioeval_tui.statistics.intervals import CHANGE
from bioeval_tui.statistics.means import percentile
from bioeval_tui.tui.runs.batch_view import Glance, Rank

OVER = (Rank.NOT_MEASURED, Rank.AGENT_FAILED, Rank.DONE)
"""The ranks of conversations that have ended."""


def condition_score(group: Sequence[Glance], condition: str) -> Estimate:
    """Return the mean score of a condition."""
    return estimate(_samples(group, condition))


def mean_difference(group: Sequence[Glance]) -> float | None:
    """Return the mean of the trials' differences once all conversations have ended; None without
    any.
    """
    if any(glance.rank not in OVER for glance in group):
        return None
    trials = {
        (glance.key.run_id, glance.key.trial): glance.sample(glance.difference) for glance in group
    }
    return estimate(list(trials.values()), CHANGE, paired=True).mean


def field_score(group: Sequence[Glance], column: str, condition: str, by_job: bool) -> Estimate:
    """Return the score of a job, or of a task, in a condition."""
    there = [glance for glance in group if glance.key.condition == condition]
    if by_job:
        return estimate([glance.sample(glance.value) for glance in there if glance.job == column])
    samples = []
    for glance in there:
        samples += [glance.sample(value) for title, value in glance.tasks if title == column]
    return estimate(samples)


def slow_ms(group: Sequence[Glance]) -> float | None:
    """Return the time within which nine of ten answers came; None without any."""
    return percentile(list(chain.from_iterable(glance.latencies_ms for glance in group)), 0.9)


def _samples(group: Sequence[Glance], condition: str) -> list[Sample]:
    return [
        glance.sample(glance.value)
        for glance in group
        if glance.key.condition == condition and glance.value is not None
    ]

"""The gate `runs compare --fail-on-regression` on pairs of runs whose agents are the same, or differ by a known drop."""

from __future__ import annotations

from random import Random

from bioeval_tui.report.comparison import Comparison, compare
from tests.unit.report.recorded import Recorded, Talk


def compared(random: Random, trials: int, *, passes: bool, drop: float = 0.0) -> Comparison:
    """Return two runs of both conditions, each with three tasks and three assertions, compared.

    Tasks score 0.7 on average in A and `drop` less in B: 0 or 1 if `passes`, else with a standard deviation of 0.1.
    """

    def score(mean: float) -> float:
        if passes:
            return float(random.random() < mean)
        return round(min(1.0, max(0.0, random.gauss(mean, 0.1))), 2)

    def talk(mean: float) -> Talk:
        holds = tuple(random.random() < 0.8 for _ in range(3))
        return Talk(tasks=tuple(score(mean) for _ in range(3)), holds=holds)

    a, b = (
        Recorded(*([talk(mean) for _ in range(trials)] for _ in range(2))).loaded()
        for mean in (0.7, 0.7 - drop)
    )
    return compare(a, b)


def alarms(pairs: int, trials: int, *, passes: bool, drop: float = 0.0) -> float:
    """Return the share of `pairs` of runs in which the gate finds a regression."""
    random = Random(trials)
    found = (compared(random, trials, passes=passes, drop=drop) for _ in range(pairs))
    return sum(bool(one.regressions) for one in found) / pairs

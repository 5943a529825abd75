"""How often a batch that is checked after each trial stops wrongly, and how early it stops
rightly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from random import Random
from statistics import median

from bioeval_tui.statistics.intervals import t_quantile
from bioeval_tui.statistics.planning import ConfidenceSequence

Round = Callable[[Random, float], list[float]]


def scores(random: Random, difference: float) -> list[float]:
    """Return one paired difference of two scores in [0, 1] with a standard deviation of some
    0.3.
    """
    a = min(1.0, max(0.0, random.gauss(0.5 - difference / 2, 0.2)))
    b = min(1.0, max(0.0, random.gauss(0.5 + difference / 2, 0.2)))
    return [b - a]


def passes(random: Random, difference: float) -> list[float]:
    """Return one paired difference of two passes."""
    return [
        float(random.random() < 0.5 + difference / 2)
        - float(random.random() < 0.5 - difference / 2)
    ]


def twelve_cases(random: Random, difference: float) -> list[float]:
    """Return a round of twelve cases, half of which favour one agent by 0.3 and half the other."""
    return [
        min(1.0, max(-1.0, random.gauss(difference + (0.3 if case % 2 else -0.3), 0.2)))
        for case in range(12)
    ]


@dataclass(frozen=True)
class Stops:
    """Of so many batches: the share that the sequence stopped, that the naive test stopped, and
    when.
    """

    sequence: float
    naive: float
    median_rounds: float
    """Of the batches that the sequence stopped."""


def stops(batches: int, rounds: int, draw: Round, difference: float, seed: int = 1) -> Stops:
    """Look after each round, up to `rounds`; the naive test is a t test at 5 % from the fifth round
    on.
    """
    random = Random(seed)
    critical = {n: t_quantile(0.975, n - 1) for n in range(5, rounds + 1)}
    when, naive = [], 0
    for _ in range(batches):
        sequence = ConfidenceSequence(0, low=-1, high=1)
        total = squares = 0.0
        fooled = False
        for n in range(1, rounds + 1):
            values = draw(random, difference)
            if sequence.decision == "undecided" and sequence.observe(values) != "undecided":
                when.append(n)
            mean = sum(values) / len(values)
            total += mean
            squares += mean * mean
            variance = (squares - total * total / n) / (n - 1) if n > 1 else 0.0
            fooled |= n in critical and abs(total) > critical[n] * sqrt(variance * n)
        naive += fooled
    return Stops(len(when) / batches, naive / batches, median(when) if when else float("nan"))


def sharing(correlation: float, cases: int) -> Round:
    """Return how rounds of so many cases are drawn whose differences are correlated, as by a
    judge's mood.
    """
    mood, own = (sqrt(part) * 0.28 for part in (correlation, 1 - correlation))

    def draw(random: Random, difference: float) -> list[float]:
        effect = difference + random.choice((-mood, mood))
        return [min(1.0, max(-1.0, effect + random.gauss(0, own))) for _ in range(cases)]

    return draw

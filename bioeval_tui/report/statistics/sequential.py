"""When to stop: a confidence sequence for a mean of bounded values, valid at every look.

Two gamblers bet, round by round, that the mean is above or below each candidate m; their fortunes are
Π (1 + λ (x − m)) and Π (1 − λ (x − m)). At the true mean a fortune is not expected to grow, so the chance that it
ever reaches 2 / α is at most α / 2 (Ville's inequality): every m at which one does is excluded for good. Source:
Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting (2023).

Each gambler spreads the fortune over three stakes, sqrt(2 log(2 / α) / (σ² h)): the best for about h = 15, 60 and 240
values of variance σ², which is estimated from earlier rounds only. Stakes do not depend on m except for their
limit, so that a fortune falls (or rises) with m and what is left is an interval.

A round has one value of every case, of which the mean is played: values of a round may depend on each other in any way.
Rounds must not: the mean to be expected of a round must be the same whatever came before, so a judge that drifts is not
covered. The interval is for the mean over exactly these cases. For a statement about cases in general, draw them at
random and give one case per round.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from math import exp, log, log1p, sqrt
from statistics import fmean
from typing import Literal

from bioeval_tui.uncertainty import LEVEL, Bounds, Interval

HORIZONS = (15, 60, 240)
"""Number of rounds for which a stake is optimal."""

LIMIT = 0.75
"""A gambler's maximum bet leaves at least a quarter of the fortune after any round."""

Decision = Literal["above", "below", "undecided"]


class ConfidenceSequence:
    """Compares a mean of values in [low, high] with a threshold; you may look, and stop, after any round."""

    def __init__(self, threshold: float, *, low: float = 0.0, high: float = 1.0) -> None:
        """Start without a value.

        Args:
            threshold: the mean that is to be excluded: a pass mark, or 0 for a difference.
            low: the least value there can be; −1 for a difference of scores.
            high: the greatest value there can be.

        Raises:
            ValueError: the threshold does not lie between `low` and `high`.
        """
        if not low < threshold < high:
            raise ValueError(f"a threshold of {threshold} is not between {low} and {high}")
        self.low, self.high = low, high
        self.rounds = 0
        self.decision: Decision = "undecided"
        """The position of the mean relative to the threshold. A decision is final."""

        self._threshold = self._scaled(threshold)
        self._needed = log(2 / (1 - LEVEL))
        self._rounds: list[tuple[float, float]] = []
        self._above, self._below = _Fortune(self._threshold, True), _Fortune(self._threshold, False)
        # A first guess of mean 1/2 and variance 1/4, as one value's worth.
        self._count, self._sum, self._squares = 1, 0.5, 0.25

    def observe(self, values: Sequence[float]) -> Decision:
        """Add one round: one value of every case.

        Raises:
            ValueError: there is no value, or one is not in [low, high].
        """
        if not values or not all(self.low <= value <= self.high for value in values):
            raise ValueError(f"a round must have values from {self.low} to {self.high}, not {list(values)}")
        scaled = self._scaled(fmean(values))
        stake = self._stake()
        self.rounds += 1
        self._rounds.append((stake, scaled))
        above, below = self._above.bet(stake, scaled), self._below.bet(stake, scaled)
        if self.decision == "undecided" and max(above, below) >= self._needed:
            self.decision = "above" if above > below else "below"
        self._count += 1
        self._sum += scaled
        self._squares += (scaled - self._sum / self._count) ** 2
        return self.decision

    def interval(self) -> Interval:
        """Return the interval that no round so far has excluded."""
        scope = f"valid at every look, {self.rounds} rounds"
        low, high = self._end(upwards=True), self._end(upwards=False)
        # In at most 1 − LEVEL of all batches both gamblers exclude what the other kept: what lies between is shown.
        low, high = sorted((low, high))
        return Interval(self._unscaled(low), self._unscaled(high), scope, "betting")

    def _stake(self) -> float:
        """Return the stake for one round; that for h rounds is sqrt(h) times smaller."""
        return sqrt(2 * self._needed * self._count / self._squares)

    def _end(self, *, upwards: bool) -> float:
        """Return the end of the interval: the last m at which the gambler's best fortune is enough."""
        excluded, kept = (0.0, 1.0) if upwards else (1.0, 0.0)
        for _ in range(40):
            middle = (excluded + kept) / 2
            fortune = _Fortune(middle, upwards)
            if any(fortune.bet(stake, value) >= self._needed for stake, value in self._rounds):
                excluded = middle
            else:
                kept = middle
        return excluded

    def _scaled(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def _unscaled(self, value: float) -> float:
        return self.low + value * (self.high - self.low)


class _Fortune:
    """The logarithm of the fortune of a gambler who bets that the mean is above m, or below."""

    def __init__(self, m: float, upwards: bool) -> None:
        self._m = m
        self._sign = 1 if upwards else -1
        self._limit = LIMIT / (m if upwards else 1 - m)
        self._parts = [0.0] * len(HORIZONS)

    def bet(self, stake: float, value: float) -> float:
        """Play one round and return the logarithm of the fortune."""
        gain = self._sign * (value - self._m)
        for place, horizon in enumerate(HORIZONS):
            part = min(stake / sqrt(horizon), self._limit)
            self._parts[place] += log1p(part * gain)
        most = max(self._parts)
        return most + log(sum(exp(part - most) for part in self._parts) / len(self._parts))


def stopped_interval(groups: Iterable[Sequence[float]], bounds: Bounds) -> Interval:
    """Return the interval of the mean of a batch that could stop at any round; a round has a value of each group."""
    low, high = bounds
    sequence = ConfidenceSequence((low + high) / 2, low=low, high=high)
    for values in zip_longest(*groups):
        sequence.observe([min(high, max(low, value)) for value in values if value is not None])
    return sequence.interval()

"""The number of cases and trials to detect a difference, or for an interval of a given width; and
when to stop.

A score is mean + case + trial. The variances between cases and between the trials of a case come
from a one-way analysis of variance with random effects, for unbalanced data (Searle, Casella and
McCulloch, Variance Components, 1992, 3.6). A mean over n cases with m trials each has the variance
(between + within / m) / n; the same holds for a difference of two agents with the components of the
difference (`VarianceComponents.of_difference`, `paired_components`). The tests and intervals are
those of docs/statistics.md: clustered by case, with cases − 1 degrees of freedom; with one case,
over its trials only, which does not apply to other cases.

When to stop is said by a confidence sequence for a mean of bounded values, valid at every look. Two
gamblers bet, round by round, that the mean is above or below each candidate m; their fortunes are Π
(1 + λ (x − m)) and Π (1 − λ (x − m)). At the true mean a fortune is not expected to grow, so the
chance that it ever reaches 2 / α is at most α / 2 (Ville's inequality): every m at which one does
is excluded for good. Source: Waudby-Smith and Ramdas, Estimating means of bounded random variables
by betting (2023).

Each gambler spreads the fortune over three stakes, sqrt(2 log(2 / α) / (σ² h)): the best for about
h = 15, 60 and 240 values of variance σ², which is estimated from earlier rounds only. Stakes do not
depend on m except for their limit, so that a fortune falls (or rises) with m and what is left is an
interval.

A round has one value of every case, of which the mean is played: values of a round may depend on
each other in any way. Rounds must not: the mean to be expected of a round must be the same whatever
came before, so a judge that drifts is not covered. The interval is for the mean over exactly these
cases. For a statement about cases in general, draw them at random and give one case per round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from math import exp, fsum, log, log1p, sqrt
from typing import Literal

from bioeval_tui.statistics.intervals import LEVEL, Bounds, Interval, t_quantile
from bioeval_tui.statistics.means import average


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Variances between cases and within a case (between its trials), and the data of the estimate.

    `cases` and `trials` are 0 for assumed variances.
    """

    between: float
    within: float
    cases: int = 0
    trials: int = 0

    def of_difference(self, correlation: float) -> VarianceComponents:
        """Return the components of the difference between two agents that both have these
        components.

        `correlation` is that of the two agents' case means: 0 for different cases, near 1 when both
        find the same cases hard. Trials of the two never correlate.

        Raises:
            ValueError: the correlation is not in [-1, 1].
        """
        if not -1 <= correlation <= 1:
            raise ValueError(f"a correlation must be from -1 to 1, not {correlation}")
        return VarianceComponents(
            2 * self.between * (1 - correlation), 2 * self.within, self.cases, self.trials
        )


ASSUMED = VarianceComponents(0.03, 0.04)
"""Assumed without a run: standard deviations of 0.17 between cases and 0.20 between trials of a
case.
"""


def variance_components(groups: Mapping[str, Sequence[float]]) -> VarianceComponents | None:
    """Return the components of one agent's scores, given by case; a negative estimate is 0.

    With a single case `between` is 0: nothing is known of other cases. Without a second trial of
    any case everything counts as `between`. None for fewer than two values.
    """
    cases = [values for values in groups.values() if values]
    n = sum(len(values) for values in cases)
    if n < 2:
        return None
    within = _pooled_variance(cases)
    if len(cases) < 2:
        return VarianceComponents(0.0, within or 0.0, 1, n)
    mean = fsum(fsum(values) for values in cases) / n
    squares = fsum(len(values) * (average(values) - mean) ** 2 for values in cases)
    size = (n - fsum(len(values) ** 2 for values in cases) / n) / (len(cases) - 1)
    between = (squares / (len(cases) - 1) - (within or 0.0)) / size
    return VarianceComponents(max(0.0, between), within or 0.0, len(cases), n)


def paired_components(
    a: Mapping[str, Sequence[float]], b: Mapping[str, Sequence[float]]
) -> VarianceComponents | None:
    """Return the components of B − A on the cases that both have, where trials are not paired one
    by one.

    `within` is the variance of one trial of B minus one trial of A; `between` is the variance of
    the difference from case to case. None for fewer than two common cases.
    """
    common = [case for case in a if a[case] and b.get(case)]
    if len(common) < 2:
        return None
    within_a = _pooled_variance(a[case] for case in common) or 0.0
    within_b = _pooled_variance(b[case] for case in common) or 0.0
    gaps = [average(b[case]) - average(a[case]) for case in common]
    mean = average(gaps)
    spread = fsum((gap - mean) ** 2 for gap in gaps) / (len(gaps) - 1)
    noise = average(within_a / len(a[case]) + within_b / len(b[case]) for case in common)
    trials = sum(len(a[case]) + len(b[case]) for case in common)
    return VarianceComponents(max(0.0, spread - noise), within_a + within_b, len(common), trials)


def _pooled_variance(cases: Iterable[Sequence[float]]) -> float | None:
    """Return the pooled variance within cases; None when no case has a second value."""
    squares, degrees = 0.0, 0
    for values in cases:
        mean = average(values)
        squares += fsum((value - mean) ** 2 for value in values)
        degrees += len(values) - 1
    if degrees:
        return squares / degrees
    return None


MOST = 100_000
"""More cases (or trials) than this are not planned."""

TRIALS = (1, 2, 3, 5, 10, 20)
"""The trials per case that the table of alternatives shows."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The calls, cost and time of one conversation; None if unknown.

    `arms` is 2 if both agents must be run.
    """

    calls: float | None = None
    cost: float | None = None
    seconds: float | None = None
    concurrency: int = 1
    arms: int = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """A sufficient design, with its power or width, and its size.

    `reached` is the power, or the expected width of the interval.
    """

    cases: int
    trials: int
    reached: float
    conversations: int
    calls: float | None
    cost: float | None
    hours: float | None


def design_error(components: VarianceComponents, cases: int, trials: int) -> float:
    """Return the standard error of the mean over `cases` with `trials` each.

    With one case, only variation between trials counts.
    """
    between = components.between if cases > 1 else 0.0
    return sqrt((between + components.within / trials) / cases)


def design_power(components: VarianceComponents, effect: float, cases: int, trials: int) -> float:
    """Return the power: the probability that a true difference of `effect` is significant at 5 %,
    two-sided.
    """
    degrees = _degrees(cases, trials)
    if degrees < 1:
        return 0.0
    error = design_error(components, cases, trials)
    if error:
        return t_test_power(round(abs(effect) / error, 9), degrees)
    return 1.0


def design_width(components: VarianceComponents, cases: int, trials: int) -> float | None:
    """Return the expected width of the 95 % interval; None for a single value."""
    degrees = _degrees(cases, trials)
    if degrees < 1:
        return None
    return 2 * t_quantile((1 + LEVEL) / 2, degrees) * design_error(components, cases, trials)


def plans_for_difference(
    components: VarianceComponents,
    effect: float,
    *,
    power: float = 0.8,
    trials: Sequence[int] = TRIALS,
    costs: Costs | None = None,
) -> list[Plan]:
    """Return for each number of trials the smallest number of cases (at least two) that detects
    `effect` with that power.

    `components` are those of the difference. Numbers of trials with which 100,000 cases are not
    enough are left out.

    Raises:
        ValueError: the effect is not above 0, or the power not between 0.05 and 1.
    """
    if effect <= 0 or not 0.05 < power < 1:
        raise ValueError(f"no design detects a difference of {effect} with a power of {power}")
    return _plans(
        trials, costs, lambda n, m: design_power(components, effect, n, m), lambda x: x >= power
    )


def plans_for_width(
    components: VarianceComponents,
    width: float,
    *,
    trials: Sequence[int] = TRIALS,
    costs: Costs | None = None,
) -> list[Plan]:
    """Return for each number of trials the fewest cases whose interval is expected to be at most
    `width` wide.

    Raises:
        ValueError: the width is not above 0.
    """
    if width <= 0:
        raise ValueError(f"an interval cannot be {width} wide")
    return _plans(
        trials, costs, lambda n, m: design_width(components, n, m) or 0.0, lambda x: x <= width
    )


def trials_for_difference(
    components: VarianceComponents, effect: float, cases: int, power: float = 0.8
) -> int | None:
    """Return how many trials of each of these cases detect `effect`; None if no number does.

    More trials do not reduce the variance between cases.
    """
    return _fewest(1, lambda trials: design_power(components, effect, cases, trials) >= power)


def trials_for_width(components: VarianceComponents, width: float, cases: int) -> int | None:
    """Return how many trials of each of these cases give an interval of `width`; None when no
    number does.
    """

    def narrow(trials: int) -> bool:
        reached = design_width(components, cases, trials)
        return reached is not None and reached <= width

    return _fewest(1, narrow)


def _plans(
    trials: Sequence[int],
    costs: Costs | None,
    reached: Callable[[int, int], float],
    enough: Callable[[float], bool],
) -> list[Plan]:
    """Return a plan for each number of trials with which some number of cases is enough.

    `reached` gives what so many cases and trials reach (a power, or a width), `enough` says whether
    that will do.
    """
    plans = []
    for m in trials:
        # From two on: one case tells nothing of how cases differ, and with one trial has no width,
        # which would pass for narrow.
        cases = _fewest(2, lambda n, m=m: enough(reached(n, m)))  # type: ignore[misc]
        if cases is not None:
            plans.append(_plan(cases, m, reached(cases, m), costs or Costs()))
    return plans


def _plan(cases: int, trials: int, reached: float, costs: Costs) -> Plan:
    conversations = cases * trials * costs.arms

    def together(each: float | None) -> float | None:
        return None if each is None else conversations * each

    seconds = together(costs.seconds)
    return Plan(
        cases=cases,
        trials=trials,
        reached=reached,
        conversations=conversations,
        calls=together(costs.calls),
        cost=together(costs.cost),
        hours=None if seconds is None else seconds / costs.concurrency / 3600,
    )


def _fewest(least: int, enough: Callable[[int], bool]) -> int | None:
    """Return the smallest number from `least` to `MOST` that is enough.

    All larger numbers must be enough, too.
    """
    high = least
    while not enough(high):
        if high >= MOST:
            return None
        high = min(MOST, 2 * high)
    low = least
    while low < high:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _degrees(cases: int, trials: int) -> int:
    if cases > 1:
        return cases - 1
    return trials - 1


@lru_cache(maxsize=4096)
def t_test_power(noncentrality: float, degrees: int) -> float:
    """Return the chance that a two-sided t test at 5 % rejects.

    Args:
        noncentrality: the true effect over the standard error of its estimate.
        degrees: degrees of freedom of that standard error.
    """
    from scipy.special import nctdtr  # commands start without it, as for t_quantile

    critical = t_quantile((1 + LEVEL) / 2, degrees)
    below, above = (float(nctdtr(degrees, noncentrality, end)) for end in (-critical, critical))
    return min(1.0, below + 1 - above)


HORIZONS = (15, 60, 240)
"""Number of rounds for which a stake is optimal: of one stake alone, hard cases would stop later
(`validate-statistics stopping` counts the rounds).
"""

LIMIT = 0.75
"""A gambler's maximum bet leaves at least a quarter of the fortune after any round."""

Decision = Literal["above", "below", "undecided"]


class ConfidenceSequence:
    """Compares a mean of values in [low, high] with a threshold; you may look, and stop, after any
    round.
    """

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
        # A fair game brings a fortune of 1 / α ever with a chance of at most α. There are two
        # gamblers, and each has half of 1 − LEVEL. Fortunes are logarithms here.
        self._needed = log(2 / (1 - LEVEL))
        self._played: list[tuple[float, float]] = []
        """The stake and the scaled value of each round."""
        self._above, self._below = _Fortune(self._threshold, True), _Fortune(self._threshold, False)
        # A first guess of mean 1/2 and variance 1/4, as one value's worth: `_squares` is the sum of
        # squared deviations, and / `_count` the variance.
        self._count, self._sum, self._squares = 1, 0.5, 0.25

    def observe(self, values: Sequence[float]) -> Decision:
        """Add one round: one value of every case.

        Raises:
            ValueError: there is no value, or one is not in [low, high].
        """
        if not values or not all(self.low <= value <= self.high for value in values):
            raise ValueError(
                f"a round must have values from {self.low} to {self.high}, not {list(values)}"
            )
        scaled = self._scaled(average(values))
        stake = self._stake()
        self.rounds += 1
        self._played.append((stake, scaled))
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
        # In at most 1 − LEVEL of all batches both gamblers exclude what the other kept: what lies
        # between is shown.
        low, high = sorted((low, high))
        return Interval(self._unscaled(low), self._unscaled(high), scope, "betting")

    def _stake(self) -> float:
        """Return the stake for one round; that for h rounds is sqrt(h) times smaller."""
        return sqrt(2 * self._needed * self._count / self._squares)

    def _end(self, *, upwards: bool) -> float:
        """Return the end of the interval: the last m at which the gambler's best fortune is
        enough.
        """
        excluded, kept = (0.0, 1.0) if upwards else (1.0, 0.0)
        for _ in range(40):
            middle = (excluded + kept) / 2
            fortune = _Fortune(middle, upwards)
            if any(fortune.bet(stake, value) >= self._needed for stake, value in self._played):
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
        if upwards:
            self._sign, self._limit = 1, LIMIT / m
        else:
            self._sign, self._limit = -1, LIMIT / (1 - m)
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
    """Return the interval of the mean of a batch that could stop at any round; a round has a value
    of each group.
    """
    low, high = bounds
    sequence = ConfidenceSequence((low + high) / 2, low=low, high=high)
    for values in zip_longest(*groups):
        sequence.observe([min(high, max(low, value)) for value in values if value is not None])
    return sequence.interval()

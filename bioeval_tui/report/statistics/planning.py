"""The number of cases and trials to detect a difference, or for an interval of a given width.

A score is mean + case + trial. The variances between cases and between the trials of a case come from a one-way
analysis of variance with random effects, for unbalanced data (Searle, Casella and McCulloch, Variance Components,
1992, 3.6). A mean over n cases with m trials each has the variance (between + within / m) / n; the same holds for a
difference of two agents with the components of the difference (`VarianceComponents.of_difference`,
`paired_components`). The tests and intervals are those of docs/statistics.md: clustered by case, with
cases − 1 degrees of freedom; with one case, over its trials only, which does not apply to other cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum, sqrt
from statistics import fmean

from bioeval_tui.uncertainty import LEVEL, t_quantile


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Variances between cases and within a case (between its trials), and the data of the estimate.

    `cases` and `trials` are 0 for assumed variances.
    """

    between: float
    within: float
    cases: int = 0
    trials: int = 0

    def of_difference(self, correlation: float = 0.0) -> VarianceComponents:
        """Return the components of the difference between two agents that both have these components.

        `correlation` is that of the two agents' case means: 0 for different cases, near 1 when both find
        the same cases hard. Trials of the two never correlate.

        Raises:
            ValueError: the correlation is not in [-1, 1].
        """
        if not -1 <= correlation <= 1:
            raise ValueError(f"a correlation must be from -1 to 1, not {correlation}")
        return VarianceComponents(
            2 * self.between * (1 - correlation), 2 * self.within, self.cases, self.trials
        )


ASSUMED = VarianceComponents(0.03, 0.04)
"""Assumed without a run: standard deviations of 0.17 between cases and 0.20 between trials of a case."""


def variance_components(groups: Mapping[str, Sequence[float]]) -> VarianceComponents | None:
    """Return the components of one agent's scores, given by case; a negative estimate is 0.

    With a single case `between` is 0: nothing is known of other cases. Without a second trial of any case
    everything counts as `between`. None for fewer than two values.
    """
    cases = [values for values in groups.values() if values]
    n = sum(len(values) for values in cases)
    if n < 2:
        return None
    within = _within(cases)
    if len(cases) < 2:
        return VarianceComponents(0.0, within or 0.0, 1, n)
    mean = fsum(fsum(values) for values in cases) / n
    squares = fsum(len(values) * (fmean(values) - mean) ** 2 for values in cases)
    size = (n - fsum(len(values) ** 2 for values in cases) / n) / (len(cases) - 1)
    between = (squares / (len(cases) - 1) - (within or 0.0)) / size
    return VarianceComponents(max(0.0, between), within or 0.0, len(cases), n)


def paired_components(
    a: Mapping[str, Sequence[float]], b: Mapping[str, Sequence[float]]
) -> VarianceComponents | None:
    """Return the components of B − A on the cases that both have, where trials are not paired one by one.

    `within` is the variance of one trial of B minus one trial of A; `between` is the variance of the difference from
    case to case. None for fewer than two common cases.
    """
    common = [case for case in a if a[case] and b.get(case)]
    if len(common) < 2:
        return None
    within_a = _within(a[case] for case in common) or 0.0
    within_b = _within(b[case] for case in common) or 0.0
    gaps = [fmean(b[case]) - fmean(a[case]) for case in common]
    mean = fmean(gaps)
    spread = fsum((gap - mean) ** 2 for gap in gaps) / (len(gaps) - 1)
    noise = fmean(within_a / len(a[case]) + within_b / len(b[case]) for case in common)
    trials = sum(len(a[case]) + len(b[case]) for case in common)
    return VarianceComponents(max(0.0, spread - noise), within_a + within_b, len(common), trials)


def _within(cases: Iterable[Sequence[float]]) -> float | None:
    """Return the pooled variance within cases; None when no case has a second value."""
    squares, degrees = 0.0, 0
    for values in cases:
        mean = fmean(values)
        squares += fsum((value - mean) ** 2 for value in values)
        degrees += len(values) - 1
    return squares / degrees if degrees else None


MOST = 100_000
"""More cases (or trials) than this are not planned."""

TRIALS = (1, 2, 3, 5, 10, 20)
"""The trials per case that the table of alternatives shows."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The calls, cost and time of one conversation; None if unknown. `arms` is 2 if both agents must be run."""

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
    """Return the standard error of the mean over `cases` with `trials` each. With one case, only variation between trials counts."""
    between = components.between if cases > 1 else 0.0
    return sqrt((between + components.within / trials) / cases)


def design_power(components: VarianceComponents, effect: float, cases: int, trials: int) -> float:
    """Return the power: the probability that a true difference of `effect` is significant at 5 %, two-sided."""
    degrees = _degrees(cases, trials)
    if degrees < 1:
        return 0.0
    error = design_error(components, cases, trials)
    return t_test_power(round(abs(effect) / error, 9), degrees) if error else 1.0


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
    """Return for each number of trials the smallest number of cases (at least two) that detects `effect` with that power.

    `components` are those of the difference. Numbers of trials with which 100,000 cases are not enough are left out.

    Raises:
        ValueError: the effect is not above 0, or the power not between 0.05 and 1.
    """
    if effect <= 0 or not 0.05 < power < 1:
        raise ValueError(f"no design detects a difference of {effect} with a power of {power}")
    return _plans(trials, costs, lambda n, m: design_power(components, effect, n, m), lambda x: x >= power)


def plans_for_width(
    components: VarianceComponents,
    width: float,
    *,
    trials: Sequence[int] = TRIALS,
    costs: Costs | None = None,
) -> list[Plan]:
    """Return for each number of trials the fewest cases whose interval is expected to be at most `width` wide.

    Raises:
        ValueError: the width is not above 0.
    """
    if width <= 0:
        raise ValueError(f"an interval cannot be {width} wide")
    return _plans(trials, costs, lambda n, m: design_width(components, n, m) or 0.0, lambda x: x <= width)


def trials_for_difference(
    components: VarianceComponents, effect: float, cases: int, power: float = 0.8
) -> int | None:
    """Return how many trials of each of these cases detect `effect`; None if no number does.

    More trials do not reduce the variance between cases.
    """
    return _fewest(1, lambda trials: design_power(components, effect, cases, trials) >= power)


def trials_for_width(components: VarianceComponents, width: float, cases: int) -> int | None:
    """Return how many trials of each of these cases give an interval of `width`; None when no number does."""

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
    plans = []
    for m in trials:
        cases = _fewest(2, lambda n, m=m: enough(reached(n, m)))  # type: ignore[misc]
        if cases is not None:
            plans.append(_plan(cases, m, reached(cases, m), costs or Costs()))
    return plans


def _plan(cases: int, trials: int, reached: float, costs: Costs) -> Plan:
    conversations = cases * trials * costs.arms
    seconds = costs.seconds
    return Plan(
        cases=cases,
        trials=trials,
        reached=reached,
        conversations=conversations,
        calls=None if costs.calls is None else conversations * costs.calls,
        cost=None if costs.cost is None else conversations * costs.cost,
        hours=None if seconds is None else conversations * seconds / costs.concurrency / 3600,
    )


def _fewest(least: int, enough: Callable[[int], bool]) -> int | None:
    """Return the smallest number from `least` to `MOST` that is enough. All larger numbers must be enough, too."""
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
    return cases - 1 if cases > 1 else trials - 1


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

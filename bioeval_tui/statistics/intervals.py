"""How sure a number is: every interval that this program shows is made here.

A caller says what was drawn independently of each other (test rows, or cases with their
conversations), which values are possible, and whether the values are differences of pairs. It gets
an `Interval` that says on what it rests, or None where no method holds. `docs/statistics.md` has
the methods, `docs/validation.md` their coverage in the corners.

Shares and bounded means take Clopper and Pearson's interval for the number of independent yes-or-no
values that would have the same error (Korn and Graubard, Confidence intervals for proportions with
small expected number of positive counts, 1998). statsmodels has this for plain counts only, without
clusters and means. It has a width also where nothing varies, and stays among possible values. Sums
of independent parts are joined by MOVER (Zou and Donner, 2008).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from math import fsum, inf, sqrt
from statistics import NormalDist
from typing import Any, TypeVar

from bioeval_tui.statistics.means import TINY, average, exact_mean

LEVEL = 0.95
"""The level of every interval that this program shows."""

TAIL = (1 - LEVEL) / 2

NORMAL = NormalDist()
Z = NORMAL.inv_cdf(1 - TAIL)
"""The quantile of the standard normal distribution for that level."""

FEWEST = 5
"""Fewest values from which more than the values themselves is said."""
FEWEST_UNITS = 10
"""Fewest independent cases, conversations or rows for an interval; fewer do not represent others.
"""

FEWEST_CURVED = 30
"""The same for AUC, F1, Matthews, kappa, and pass^2 and above of one case, which are no means."""

FEW_PILED = 0.25
"""Of most distributions, as many values lie close to the bound. No more error is added for them."""

_OF_CLUSTERS = 0.6
"""As many clusters are added for each that is piled up where one is not.

`validate-statistics corners` holds it.
"""
_OF_CLUSTERS_FROM = 100
"""Of fewer clusters fewer are added, since their interval is wide anyway."""

_UNSEEN = 0.35
"""Weight of a unit in which everything is otherwise and which was not drawn; found by the same
simulations.
"""
_UNSEEN_FROM = 50
"""Fewer units weigh it less, since their interval is wide anyway."""

Bounds = tuple[float, float]
_Unit = TypeVar("_Unit", bound=Hashable)
UNIT: Bounds = (0.0, 1.0)
CHANGE: Bounds = (-1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval. `scope` says on what it rests, `method` how it was made."""

    low: float
    high: float
    scope: str = ""
    method: str = ""

    @property
    def width(self) -> float:
        """How far the ends are apart; never 0."""
        return self.high - self.low


def kept_interval(fields: Sequence[Any]) -> Interval:
    """Return an interval that was made before, from its fields as they were kept."""
    return Interval(*fields)


def ends(interval: Interval | None) -> list[float] | None:
    """Return an interval's two ends, as JSON has them; None without an interval."""
    if interval is None:
        return None
    return [interval.low, interval.high]


@dataclass(frozen=True, slots=True)
class Measured:
    """A mean over `values` that come from `units` independent draws.

    There is no interval of too few units.
    """

    value: float
    standard_error: float | None
    values: int
    units: int
    degrees: float | None
    """Degrees of freedom of the error."""

    interval: Interval | None = None


def mean_of(
    groups: Mapping[Any, Sequence[float]],
    bounds: Bounds,
    *,
    unit: str = "case",
    within: str = "",
    paired: bool = False,
    fewest: int = FEWEST_UNITS,
) -> Measured | None:
    """Return the mean over all values with its interval; None without a value.

    Args:
        groups: the values of each independent unit: a case, or a conversation.
        bounds: the least and the greatest value there can be; infinite ones give Student's
            interval.
        unit: what the groups are, for the scope.
        within: what the values of one group are, if they are independent draws of a single group;
            never of several.
        paired: the values are differences, whose interval is Student's, as is their test.
        fewest: the least number of units for an interval.
    """
    nonempty = [list(values) for values in groups.values() if values]
    values = list(chain.from_iterable(nonempty))
    if not values:
        return None
    clusters = nonempty if len(nonempty) > 1 else [[value] for value in values]
    mean, size = exact_mean(values), len(clusters)
    if size < 2 or (len(nonempty) == 1 and not within):
        return Measured(mean, None, len(values), len(nonempty), None)
    error = _jackknife(mean, clusters, len(values))
    # As many equal clusters weigh as much as these (Kish 1965).
    degrees = max(1.0, len(values) ** 2 / sum(len(each) ** 2 for each in clusters) - 1)
    measured = Measured(mean, error, len(values), size, degrees)
    if size < fewest:
        return measured
    scope = f"this {unit} only, {size} {within}s"
    if len(nonempty) > 1:
        scope = f"clustered by {unit}, {size} {unit}s"
    interval = _mean_interval(measured, clusters, values, bounds, paired)
    return replace(measured, interval=interval and replace(interval, scope=scope))


def _mean_interval(
    measured: Measured,
    clusters: Sequence[Sequence[float]],
    values: Sequence[float],
    bounds: Bounds,
    paired: bool,
) -> Interval | None:
    mean, error, degrees = measured.value, measured.standard_error, measured.degrees
    assert error is not None
    assert degrees is not None
    low, high = bounds
    if error <= TINY * max(1.0, abs(mean)):
        if inf in (-low, high):
            return None
        return unvaried(mean, bounds, measured.units)
    if paired or inf in (-low, high):
        half = t_quantile(1 - TAIL, degrees) * error
        return Interval(max(low, mean - half), min(high, mean + half), method="Student's t")
    if len(clusters) == len(values) and all(value in bounds for value in values):
        return share_interval((mean - low) / (high - low), len(values), bounds)
    span = high - low
    share = (mean - low) / span
    most = share * (1 - share)  # the variance of as many values that are all at the bounds
    # Clusters cannot make values more certain than independent ones; few clusters may look so by
    # chance.
    alone = fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values)
    variance = max(error**2, alone) / span**2
    piled = _piled([average(each) for each in clusters], _nearer(share, bounds))
    more = piled**2 / (1 - piled)  # in proportion to how few values decide the mean
    # Means of several values pile up less than single ones, of which all but a few may be at the
    # bound.
    if len(clusters) == len(values):
        more *= 3
    else:
        more *= _OF_CLUSTERS * min(1.0, measured.units / _OF_CLUSTERS_FROM)
    variance = padded(variance, most, measured.units, more)
    return bounded(mean, variance * span**2, bounds, degrees)


def left_out(value: float, left: Sequence[float], bounds: Bounds, draws: float) -> Interval:
    """Return the interval of a statistic from its values without one unit each; `draws` is how
    often it was drawn as a whole.

    A unit in which everything is otherwise, such as a conversation that fails as a whole, is rare
    and may not have been drawn: its part in the error is added.
    """
    size = len(left)
    variance = _spread(left, value) ** 2
    if variance < TINY**2:
        return unvaried(value, bounds, draws)
    low, high = bounds
    share = (value - low) / (high - low)
    alone = [size * value - (size - 1) * each for each in left]  # what each unit says by itself
    more = 4 * _piled(alone, _nearer(share, bounds))
    variance = padded(variance / (high - low) ** 2, share * (1 - share), size, more)
    variance += _UNSEEN * min(1.0, size / _UNSEEN_FROM) * (max(share, 1 - share) / draws) ** 2
    return bounded(value, variance * (high - low) ** 2, bounds, size - 1)


def padded(variance: float, most: float, units: int, more: float) -> float:
    """Return the squared error of `units` values as if `more` had a variance of `most`."""
    return ((units - 1) * variance + more * most / units) / (units - 1 + more)


def _nearer(share: float, bounds: Bounds) -> float:
    """Return the bound that a value so far between them is closer to."""
    low, high = bounds
    return high if share >= 0.5 else low


def _piled(values: Sequence[float], bound: float) -> float:
    """Return how far values are piled up at a bound, 0 to 1: closer than a tenth of their mean
    distance.

    What is rarely far from there decides the mean, and may not have been drawn.
    """
    distances = [abs(value - bound) for value in values]
    close = 0.1 * average(distances)
    share = sum(distance <= close for distance in distances) / len(distances)
    return max(0.0, (share - FEW_PILED) / (1 - FEW_PILED))


def _jackknife(mean: float, clusters: Sequence[Sequence[float]], n: int) -> float:
    """Return the standard error of a mean by leaving out one cluster at a time (s / √n if each has
    one value).
    """
    left = [(mean * n - fsum(each)) / (n - len(each)) for each in clusters]
    return _spread(left, mean)


def _spread(left: Sequence[float], value: float) -> float:
    return sqrt((len(left) - 1) / len(left) * fsum((each - value) ** 2 for each in left))


def unvaried(value: float, bounds: Bounds, units: float) -> Interval:
    """Return the exact interval of a mean if all of `units` values are the same.

    All are, with a probability of less than 2.5 %, if a larger share of values would be others, up
    to the bounds.
    """
    others = 1 - TAIL ** (1 / units)
    low, high = bounds
    return Interval(value - others * (value - low), value + others * (high - value), method="exact")


def bounded(value: float, variance: float, bounds: Bounds, degrees: float = inf) -> Interval:
    """Return the interval of a value with such an error: that of the share from the effective
    number of yes and no.
    """
    low, high = bounds
    share = (value - low) / (high - low)
    effective = share * (1 - share) / variance * (high - low) ** 2
    if degrees < inf:
        effective *= (Z / t_quantile(1 - TAIL, degrees)) ** 2
    return share_interval(share, effective, bounds, "Clopper-Pearson, effective number")


def share_interval(
    share: float, n: float, bounds: Bounds = UNIT, method: str = "Clopper-Pearson"
) -> Interval:
    """Return Clopper and Pearson's interval of a share of `n` independent values, moved to
    `bounds`.
    """
    least, most = share_ends(share, n, TAIL)
    low, high = bounds
    return Interval(
        low + float(least) * (high - low), low + float(most) * (high - low), method=method
    )


def share_ends(share: float, n: float, tail: Any) -> tuple[Any, Any]:
    """Return both ends of Clopper and Pearson's interval of a share with `tail` on each side, which
    may be an array.
    """
    yes, no = share * n, n - share * n
    least, most = 0.0 * tail, 1.0 + 0.0 * tail
    if yes > TINY * n:
        least = special().betaincinv(yes, no + 1, tail)
    if no > TINY * n:
        most = special().betaincinv(yes + 1, no, 1 - tail)
    return least, most


def statistic_interval(
    clusters: Sequence[Mapping[_Unit, float]],
    statistic: Callable[[Mapping[_Unit, float]], float | None],
    one_more: Mapping[_Unit, float],
    unit: str,
) -> Interval | None:
    """Return the interval of a statistic of counted units between −1 and 1, such as kappa; None for
    too few clusters.

    The error comes from leaving out one cluster at a time, as if there were one more, `one_more`,
    in which all is wrong: so it is never 0. Leaving out is undefined if the statistic is.
    """
    if len(clusters) < FEWEST_CURVED:
        return None
    whole = merged(clusters)
    more = merged([whole, one_more])
    value, smooth = statistic(whole), statistic(more)
    if value is None or smooth is None:
        return None
    # Many clusters hold the same, and leave the same where they are left out.
    kinds = Counter(frozenset(each.items()) for each in (*clusters, one_more))
    left = []
    for kind, same in kinds.items():
        own = dict(kind)
        part = statistic({unit: count - own.get(unit, 0) for unit, count in more.items()})
        if part is None:
            return None
        left += [part] * same
    share, size = (smooth + 1) / 2, len(clusters)
    effective = share * (1 - share) * 4 / _spread(left, smooth) ** 2
    effective *= (Z / t_quantile(1 - TAIL, size - 1)) ** 2
    interval = share_interval((value + 1) / 2, effective, CHANGE, "jackknife, effective number")
    return replace(interval, scope=f"clustered by {unit}, {size} {unit}s")


def merged(clusters: Sequence[Mapping[_Unit, float]]) -> dict[_Unit, float]:
    """Return the units of all clusters with their counts."""
    units: dict[_Unit, float] = {}
    for cluster in clusters:
        for unit, count in cluster.items():
            units[unit] = units.get(unit, 0) + count
    return units


def joined(
    parts: Sequence[tuple[float, float, Interval]],
    bounds: Bounds,
    scope: str,
    variance: float = 0.0,
) -> Interval:
    """Return the interval of Σ weight · value of independent (weight, value, interval), by MOVER.

    `variance` is that of another, normal part of the sum.
    """
    total = fsum(weight * value for weight, value, _ in parts)
    extra = Z * Z * variance
    down = sqrt(extra + fsum((weight * (value - one.low)) ** 2 for weight, value, one in parts))
    up = sqrt(extra + fsum((weight * (one.high - value)) ** 2 for weight, value, one in parts))
    return Interval(
        max(bounds[0], total - down), min(bounds[1], total + up), scope, "MOVER of Clopper-Pearson"
    )


def percentiles(units: int, skew: float = 0.0) -> tuple[float, float]:
    """Return the shares of resampled values at which an interval ends: BCa's, widened like
    Student's t for few units.
    """
    z = t_quantile(1 - TAIL, units - 1) * sqrt(units / (units - 1))
    low, high = (skew + (skew + side) / (1 - skew * (skew + side)) for side in (-z, z))
    return float(special().ndtr(low)), float(special().ndtr(high))


@lru_cache(maxsize=256)
def t_quantile(share: float, degrees: float) -> float:
    """Return the quantile of Student's t distribution.

    Raises:
        ValueError: `share` is not in (0, 1) or `degrees` is below 1.
    """
    if not 0 < share < 1 or degrees < 1:
        raise ValueError(f"no t quantile for {share} with {degrees} degrees of freedom")
    return float(special().stdtrit(degrees, share))


def special() -> Any:
    """Return `scipy.special`, which `scipy.stats` calls."""
    # commands start without it; scipy.stats takes three times as long to load
    from scipy import (
        special,
    )

    return special

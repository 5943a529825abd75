"""The cluster bootstrap: whole conversations are resampled, with all their ratings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import fsum, sqrt
from random import Random
from statistics import NormalDist, fmean
from typing import TypeVar

from bioeval_tui.report.statistics.estimates import Interval
from bioeval_tui.report.statistics.quantiles import LEVEL, t_quantile

DRAWS = 1000
"""Number of resamples of the clusters."""

FEWEST_CLUSTERS = 10
"""Minimum number of clusters for an interval; fewer do not represent other clusters."""

_Unit = TypeVar("_Unit", bound=Hashable)

_normal = NormalDist()


def bootstrap_interval(
    clusters: Sequence[Mapping[_Unit, int]],
    statistic: Callable[[Mapping[_Unit, int]], float | None],
    *,
    seed: int = 0,
    draws: int = DRAWS,
) -> Interval | None:
    """Return the 95 % BCa interval of a statistic of units, drawing clusters with replacement.

    BCa corrects the percentiles for bias and for an error that depends on the value (Efron 1987), with the acceleration
    from leaving out one cluster at a time; they are then widened like Student's t for that number of clusters
    (Hesterberg 2015), because a bootstrap of few clusters is too narrow.

    Args:
        clusters: for each cluster, how often it contains each unit.
        statistic: the statistic of a multiset of units; draws in which it is None are left out.
        seed: the same seed gives the same interval.
        draws: how many times the clusters are drawn.

    None with fewer than ten clusters, or if the statistic is undefined in more than a tenth of the draws.
    Source: Davison and Hinkley, Bootstrap Methods and their Application (1997), 3.8 and 5.3.
    """
    if len(clusters) < FEWEST_CLUSTERS:
        return None
    whole = _merged(clusters)
    value = statistic(whole)
    random = Random(seed)  # noqa: S311 - resampling, nothing secret
    drawn = (statistic(_merged(random.choices(clusters, k=len(clusters)))) for _ in range(draws))
    found = sorted(each for each in drawn if each is not None)
    if value is None or len(found) < 0.9 * draws:
        return None
    below = sum(each < value for each in found) + sum(each == value for each in found) / 2
    bias = _normal.inv_cdf(min(1 - 0.5 / len(found), max(0.5 / len(found), below / len(found))))
    acceleration = _acceleration(clusters, whole, statistic)
    size = len(clusters)
    z = sqrt(size / (size - 1)) * t_quantile((1 + LEVEL) / 2, size - 1)
    low, high = (_percentile(found, bias, acceleration, side * z) for side in (-1, 1))
    return Interval(low, high, f"{size} clusters, drawn {draws} times")


def _percentile(found: Sequence[float], bias: float, acceleration: float, z: float) -> float:
    share = _normal.cdf(bias + (bias + z) / max(0.1, 1 - acceleration * (bias + z)))
    return found[round(share * (len(found) - 1))]


def _acceleration(
    clusters: Sequence[Mapping[_Unit, int]],
    whole: Mapping[_Unit, int],
    statistic: Callable[[Mapping[_Unit, int]], float | None],
) -> float:
    """Return the skewness of the values without one cluster, over 6; 0 where they are all the same."""
    left = []
    for cluster in clusters:
        value = statistic({unit: count - cluster.get(unit, 0) for unit, count in whole.items()})
        if value is not None:
            left.append(value)
    mean = fmean(left) if left else 0.0
    squares = fsum((mean - value) ** 2 for value in left)
    return fsum((mean - value) ** 3 for value in left) / (6 * squares**1.5) if squares > 1e-18 else 0.0


def _merged(clusters: Sequence[Mapping[_Unit, int]]) -> dict[_Unit, int]:
    units: dict[_Unit, int] = {}
    for cluster in clusters:
        for unit, count in cluster.items():
            units[unit] = units.get(unit, 0) + count
    return units

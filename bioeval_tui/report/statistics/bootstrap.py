"""The cluster bootstrap: whole conversations are drawn again, with everything that was said of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from random import Random
from typing import TypeVar

from bioeval_tui.report.statistics.estimates import Interval
from bioeval_tui.report.statistics.quantiles import LEVEL

DRAWS = 1000
"""How often the clusters are drawn again."""

FEWEST_CLUSTERS = 10
"""From this many clusters on there is an interval; fewer cannot stand for those that were not drawn."""

_Unit = TypeVar("_Unit", bound=Hashable)


def bootstrap_interval(
    clusters: Sequence[Mapping[_Unit, int]],
    statistic: Callable[[Mapping[_Unit, int]], float | None],
    *,
    seed: int = 0,
    draws: int = DRAWS,
) -> Interval | None:
    """Return the 95 % percentile interval of a statistic of units, drawing clusters with replacement.

    Args:
        clusters: for each cluster, how often it holds each unit.
        statistic: the figure of a multiset of units; draws where it is None are left out.
        seed: the same seed gives the same interval.
        draws: how many times the clusters are drawn.

    None with fewer than ten clusters, or where the statistic is undefined in more than a tenth of the draws.
    Source: Davison and Hinkley, Bootstrap Methods and their Application (1997), 3.8.
    """
    if len(clusters) < FEWEST_CLUSTERS:
        return None
    random = Random(seed)  # noqa: S311 - resampling, nothing secret
    found = []
    for _ in range(draws):
        units: dict[_Unit, int] = {}
        for cluster in random.choices(clusters, k=len(clusters)):
            for unit, count in cluster.items():
                units[unit] = units.get(unit, 0) + count
        value = statistic(units)
        if value is not None:
            found.append(value)
    if len(found) < 0.9 * draws:
        return None
    found.sort()
    tail = (1 - LEVEL) / 2
    low, high = found[round(tail * (len(found) - 1))], found[round((1 - tail) * (len(found) - 1))]
    return Interval(low, high, f"{len(clusters)} clusters, drawn {draws} times")

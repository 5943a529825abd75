"""Means with their standard error and interval, as docs/statistics.md describes them.

One job: the t interval over its trials, labelled "this job only". Several jobs: the standard error is
clustered by job, with degrees of freedom = jobs − 1. Fewer than `FEWEST` values: the points and their
range instead of an interval. Proportions: Wilson.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from statistics import fmean
from typing import Any

from bioeval_tui.report.numbers import FEWEST
from bioeval_tui.report.statistics.quantiles import LEVEL, normal_quantile, t_quantile
from bioeval_tui.report.statistics.samples import Counted, Sample, by_cluster, count


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval. `scope` says what it is about."""

    low: float
    high: float
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over conversations that were run. Everything is None without a usable value."""

    mean: float | None
    standard_error: float | None
    interval: Interval | None
    points: tuple[float, ...]
    counted: Counted
    with_excluded_as_zero: float | None
    degrees: int | None = None
    """Degrees of freedom of the interval; None without one."""

    clusters: int = 1
    """The number of jobs or cases by which the error is clustered."""

    unit: str = "job"
    """What they are: `job` or `case`."""

    @property
    def all_equal(self) -> bool:
        """Whether several values are one and the same: an interval of no width would claim too much."""
        return len(self.points) > 1 and max(self.points) - min(self.points) < 1e-12


def estimate(samples: Sequence[Sample], bounds: tuple[float, float] | None = (0.0, 1.0)) -> Estimate:
    """Return the mean over the samples with a value, with its error.

    `bounds` limits the interval to possible values; None does not.
    """
    groups = by_cluster(samples)
    values = [value for group in groups.values() for value in group]
    counted = count(samples)
    if not values:
        return Estimate(None, None, None, (), counted, 0.0 if samples else None)
    mean = fmean(values)
    error = standard_error(groups)
    interval, degrees, clusters = None, None, len(groups)
    unit = "case" if any(case for _, case in groups) else "job"
    if error is not None and len(values) >= FEWEST:
        degrees = clusters - 1 if clusters > 1 else len(values) - 1
        scope = f"clustered by {unit}, {clusters} {unit}s"
        scope = scope if clusters > 1 else f"this {unit} only, {len(values)} trials"
        half = t_quantile((1 + LEVEL) / 2, degrees) * error
        interval = _within(mean - half, mean + half, bounds, scope)
    return Estimate(
        mean, error, interval, tuple(values), counted, fsum(values) / counted.held, degrees, clusters, unit
    )


def standard_error(groups: Mapping[Any, Sequence[float]]) -> float | None:
    """Return the standard error of the mean over all values; None with fewer than two.

    With one group it is s / sqrt(n). With G groups, the square root of G / (G − 1) times the sum over
    the groups of (sum of the group's deviations from the mean)², over n: the cluster-robust error.
    """
    values = [value for group in groups.values() for value in group]
    if len(values) < 2:
        return None
    mean = fmean(values)
    clusters = list(groups.values()) if len(groups) > 1 else [[value] for value in values]
    squares = fsum(fsum(value - mean for value in cluster) ** 2 for cluster in clusters)
    return sqrt(squares * len(clusters) / (len(clusters) - 1)) / len(values)


@dataclass(frozen=True, slots=True)
class Proportion:
    """A share of successes with Wilson's 95 % interval; both None when nothing was counted."""

    successes: int
    total: int
    share: float | None
    interval: Interval | None


def proportion(successes: int, total: int) -> Proportion:
    """Return successes / total with Wilson's score interval (Wilson 1927).

    Raises:
        ValueError: `successes` is negative or more than `total`.
    """
    if not 0 <= successes <= total:
        raise ValueError(f"{successes} successes of {total}")
    if total == 0:
        return Proportion(0, 0, None, None)
    share = successes / total
    low, high = wilson_ends(share, normal_quantile((1 + LEVEL) / 2) ** 2 / total)
    return Proportion(successes, total, share, Interval(low, high))


def wilson_ends(share: float, square: float) -> tuple[float, float]:
    """Return the ends of Wilson's score interval for a share; `square` is the quantile's, over the number of values."""
    centre = (share + square / 2) / (1 + square)
    half = sqrt(square * (share * (1 - share) + square / 4)) / (1 + square)
    # Exactly 0 and 1 are known at the ends; the difference of two roots leaves a last bit there.
    low = 0.0 if share == 0 else max(0.0, centre - half)
    return low, 1.0 if share == 1 else min(1.0, centre + half)


def _within(low: float, high: float, bounds: tuple[float, float] | None, scope: str) -> Interval:
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return Interval(low, high, scope)

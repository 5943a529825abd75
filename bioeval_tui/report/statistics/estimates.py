"""Means, shares and pass^k of conversations, with their errors and intervals, as docs/statistics.md describes them.

One job: the t interval over its trials, labelled "this job only". Several jobs: the standard error is
clustered by job, with degrees of freedom = jobs − 1. Fewer than `FEWEST` values: the points and their
range instead of an interval. Proportions: Wilson.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, fsum, sqrt
from statistics import NormalDist, fmean
from typing import Any, TypeVar

from bioeval_tui.report.numbers import FEWEST

LEVEL = 0.95
"""The level of every interval that this program shows."""

Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
"""The quantile of the standard normal distribution for that level."""


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Sample:
    """One conversation's value; `reason` says why `value` is None.

    Samples are clustered by `job` or, if the job has cases, by `case`.
    """

    job: str
    value: float | None
    reason: str = ""
    case: str = ""
    sides: tuple[float, float] | None = None
    """Of a difference between two independent conversations: their values."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of used and of all conversations, and why the others were excluded."""

    used: int
    held: int
    reasons: tuple[tuple[str, int], ...] = ()

    @property
    def excluded(self) -> int:
        """The number of excluded conversations."""
        return self.held - self.used

    @property
    def excluded_share(self) -> float:
        """The share of excluded conversations; 0 without any conversation."""
        return self.excluded / self.held if self.held else 0.0


def count(samples: Sequence[Sample]) -> Counted:
    """Count the used and the excluded, the commonest reason first."""
    reasons = Counter(sample.reason or "no reason" for sample in samples if sample.value is None)
    used = sum(1 for sample in samples if sample.value is not None)
    return Counted(used, len(samples), tuple(reasons.most_common()))


def by_cluster(samples: Iterable[Sample]) -> dict[tuple[str, str], list[float]]:
    """Return the used values of each job and case."""
    return grouped(
        ((sample.job, sample.case), sample.value) for sample in samples if sample.value is not None
    )


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Return the values of each key, both in the order in which they come."""
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


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
    low, high = wilson_ends(share, Z**2 / total)
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


@dataclass(frozen=True, slots=True)
class ClusteredMean:
    """The mean over all values, and its cluster-robust standard error (None with fewer than two clusters)."""

    mean: float
    standard_error: float | None
    values: int
    clusters: int

    def t_interval(self, low: float, high: float) -> Interval | None:
        """Return mean ± t · standard error with clusters − 1 degrees of freedom, cut to [low, high]."""
        if self.standard_error is None:
            return None
        half = t_quantile((1 + LEVEL) / 2, self.clusters - 1) * self.standard_error
        return Interval(max(low, self.mean - half), min(high, self.mean + half), self._scope)

    def wilson_interval(self) -> Interval | None:
        """Return Wilson's interval with the effective number of values, for values in [0, 1].

        The effective number is mean · (1 − mean) / standard error² (Kish 1965), the normal quantile is
        replaced by Student's with clusters − 1 degrees of freedom (Dean and Pagano 2015). Values that are
        all 0 or all 1 count once per cluster.
        """
        if self.standard_error is None:
            return None
        mean = min(1.0, max(0.0, self.mean))
        # Sums of 0.1 leave a rest of 1e-17 where the values are all equal.
        varies = self.standard_error > 1e-12 and 0 < mean < 1
        effective = mean * (1 - mean) / self.standard_error**2 if varies else float(self.clusters)
        square = t_quantile((1 + LEVEL) / 2, self.clusters - 1) ** 2 / effective
        return Interval(*wilson_ends(mean, square), self._scope)

    @property
    def _scope(self) -> str:
        return f"{self.values} values in {self.clusters} clusters"


def clustered_mean(groups: Mapping[str, Sequence[float]]) -> ClusteredMean | None:
    """Return the mean over the values of all clusters, with its cluster-robust error; None without a value.

    Source of the error: Liang and Zeger (1986); see `standard_error`.
    """
    clusters = {name: values for name, values in groups.items() if values}
    values = [value for cluster in clusters.values() for value in cluster]
    if not values:
        return None
    error = standard_error(clusters) if len(clusters) > 1 else None
    return ClusteredMean(fmean(values), error, len(values), len(clusters))


@dataclass(frozen=True, slots=True)
class Tries:
    """Successes and trials of one task (or a whole run). Trials lost to the infrastructure don't count."""

    name: str
    successes: int
    trials: int


@dataclass(frozen=True, slots=True)
class PassK:
    """pass^k over tasks. `value` is None if no task has k trials; `undefined` names those that lack them.

    `interval` is clustered by task; None for fewer than five.
    """

    k: int
    value: float | None
    tasks: int
    undefined: tuple[str, ...] = ()
    interval: Interval | None = None


def pass_hat(successes: int, trials: int, k: int) -> float | None:
    """Return C(successes, k) / C(trials, k), the unbiased estimate for one task; None for trials < k.

    Source: Yao et al. (2024), tau-bench.

    Raises:
        ValueError: `k` is below 1 or there are more successes than trials.
    """
    if k < 1 or not 0 <= successes <= trials:
        raise ValueError(f"no pass^{k} for {successes} successes in {trials} trials")
    return comb(successes, k) / comb(trials, k) if trials >= k else None


def pass_k(tasks: Iterable[Tries], k: int) -> PassK:
    """Return the mean over the tasks that have at least k trials, and name the others."""
    tries = list(tasks)
    values = [(task.name, pass_hat(task.successes, task.trials, k)) for task in tries]
    known = [value for _, value in values if value is not None]
    undefined = tuple(name for name, value in values if value is None)
    return PassK(k, fmean(known) if known else None, len(known), undefined, pass_k_interval(tries, k))


def pass_series(tasks: Sequence[Tries]) -> tuple[PassK, ...]:
    """Return pass^1 … pass^N, N being the most trials that every task has; empty without tasks or trials."""
    most = min((task.trials for task in tasks), default=0)
    return tuple(pass_k(tasks, k) for k in range(1, most + 1))


def pass_k_interval(tasks: Sequence[Tries], k: int) -> Interval | None:
    """Return the 95 % interval of pass^k over tasks that have at least k trials; None for fewer than five.

    Each task gives one value, C(successes, k) / C(trials, k), so its trials are one cluster. Wilson's
    interval with the effective number of tasks stays in [0, 1] near both ends.
    """
    known = {
        str(place): [value]
        for place, task in enumerate(tasks)
        if (value := pass_hat(task.successes, task.trials, k)) is not None
    }
    found = clustered_mean(known)
    interval = found.wilson_interval() if found and found.clusters >= FEWEST else None
    return (
        Interval(interval.low, interval.high, f"clustered by task, {len(known)} tasks") if interval else None
    )


@lru_cache(maxsize=256)
def t_quantile(share: float, degrees: int) -> float:
    """Return the quantile of Student's t distribution.

    Raises:
        ValueError: `share` is not in (0, 1) or `degrees` is below 1.
    """
    # What scipy.stats.t calls; scipy.stats itself takes three times as long to load. Commands start without both.
    from scipy.special import stdtrit

    if not 0 < share < 1 or degrees < 1:
        raise ValueError(f"no t quantile for {share} with {degrees} degrees of freedom")
    return float(stdtrit(degrees, share))

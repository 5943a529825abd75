"""Means and shares of values that come in clusters: verdicts of one conversation, trials of one case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt

from bioeval_tui.report.statistics.estimates import Interval
from bioeval_tui.report.statistics.quantiles import LEVEL, t_quantile


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
        centre = (mean + square / 2) / (1 + square)
        half = sqrt(square * (mean * (1 - mean) + square / 4)) / (1 + square)
        low = 0.0 if mean == 0 else max(0.0, centre - half)
        high = 1.0 if mean == 1 else min(1.0, centre + half)
        return Interval(low, high, self._scope)

    @property
    def _scope(self) -> str:
        return f"{self.values} values in {self.clusters} clusters"


def clustered_mean(groups: Mapping[str, Sequence[float]]) -> ClusteredMean | None:
    """Return the mean over the values of all clusters; None without a value.

    The standard error is the square root of G / (G − 1) · Σ over clusters (Σ of the cluster's deviations)²,
    over the number of values, for G clusters (Liang and Zeger 1986).
    """
    clusters = [values for values in groups.values() if values]
    total = sum(len(values) for values in clusters)
    if not total:
        return None
    mean = fsum(fsum(values) for values in clusters) / total
    if len(clusters) < 2:
        return ClusteredMean(mean, None, total, len(clusters))
    squares = fsum(fsum(value - mean for value in values) ** 2 for values in clusters)
    error = sqrt(squares * len(clusters) / (len(clusters) - 1)) / total
    return ClusteredMean(mean, error, total, len(clusters))

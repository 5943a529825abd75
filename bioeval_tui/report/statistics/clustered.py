"""Means and shares of values that come in clusters: verdicts of one conversation, trials of one case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from bioeval_tui.report.statistics.estimates import Interval, standard_error, wilson_ends
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

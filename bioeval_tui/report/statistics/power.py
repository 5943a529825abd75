"""The power of Student's t test, from the noncentral t distribution."""

from __future__ import annotations

from functools import lru_cache

from scipy.special import nctdtr

from bioeval_tui.report.statistics.quantiles import LEVEL, t_quantile


@lru_cache(maxsize=4096)
def t_test_power(noncentrality: float, degrees: int) -> float:
    """Return the chance that a two-sided t test at 5 % rejects.

    Args:
        noncentrality: the true effect over the standard error of its estimate.
        degrees: degrees of freedom of that standard error.
    """
    critical = t_quantile((1 + LEVEL) / 2, degrees)
    below, above = (float(nctdtr(degrees, noncentrality, end)) for end in (-critical, critical))
    return min(1.0, below + 1 - above)

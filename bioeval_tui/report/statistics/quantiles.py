"""The distributions that intervals and tests need; SciPy is loaded when the first one is asked for."""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist

LEVEL = 0.95
"""The level of every interval that this program shows."""


def normal_quantile(share: float) -> float:
    """Return the quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(share)


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


def t_test_p(t: float, degrees: int) -> float:
    """Return the two-sided p-value of Student's t test."""
    from scipy.special import stdtr

    return 2 * float(stdtr(degrees, -abs(t)))


@lru_cache(maxsize=4096)
def t_test_power(noncentrality: float, degrees: int) -> float:
    """Return the chance that a two-sided t test at 5 % rejects.

    Args:
        noncentrality: the true effect over the standard error of its estimate.
        degrees: degrees of freedom of that standard error.
    """
    from scipy.special import nctdtr

    critical = t_quantile((1 + LEVEL) / 2, degrees)
    below, above = (float(nctdtr(degrees, noncentrality, end)) for end in (-critical, critical))
    return min(1.0, below + 1 - above)

"""The power of Student's t test, by integrating over the estimated standard deviation."""

from __future__ import annotations

from functools import lru_cache
from math import erf, exp, inf, lgamma, log, sqrt

from bioeval_tui.report.statistics.quantiles import LEVEL, t_quantile

_STEPS = 200


@lru_cache(maxsize=4096)
def t_test_power(noncentrality: float, degrees: int, level: float = LEVEL) -> float:
    """Return the chance that a two-sided t test at 1 − `level` rejects.

    Args:
        noncentrality: the true effect over the standard error of its estimate.
        degrees: degrees of freedom of that standard error.
        level: 0.95 tests at 5 %.

    With s = sqrt(chi² / degrees), the chance is the mean of Φ(δ − t · s) + Φ(−δ − t · s) over s (Simpson's
    rule over ten standard deviations of s).
    """
    critical = t_quantile((1 + level) / 2, degrees)
    spread = 10 / sqrt(2 * degrees)
    low, high = max(0.0, 1 - spread), 1 + spread
    step = (high - low) / _STEPS
    total = 0.0
    for place in range(_STEPS + 1):
        s = low + place * step
        weight = 1 if place in (0, _STEPS) else 4 if place % 2 else 2
        rejected = _normal(noncentrality - critical * s) + _normal(-noncentrality - critical * s)
        total += weight * rejected * _chi_density(s, degrees)
    return min(1.0, total * step / 3)


def _normal(x: float) -> float:
    return (1 + erf(x / sqrt(2))) / 2


def _chi_density(s: float, degrees: int) -> float:
    """Return the density of sqrt(chi² / degrees) at s."""
    if s <= 0:
        return sqrt(2 / 3.141592653589793) if degrees == 1 else 0.0
    half = degrees / 2
    exponent = log(2) + half * log(half) - lgamma(half) + (degrees - 1) * log(s) - half * s * s
    return exp(exponent) if exponent > -inf else 0.0

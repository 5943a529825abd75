"""Quantiles that intervals need, without a heavy import."""

from __future__ import annotations

from functools import lru_cache
from math import atan, cos, pi, sin, sqrt, tan
from statistics import NormalDist

LEVEL = 0.95
"""The level of every interval that this program shows."""


def normal_quantile(share: float) -> float:
    """Return the quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(share)


@lru_cache(maxsize=256)
def t_quantile(share: float, degrees: int) -> float:
    """Return the quantile of Student's t distribution for a whole number of degrees of freedom.

    Raises:
        ValueError: `share` is not in (0, 1) or `degrees` is below 1.
    """
    if not 0 < share < 1 or degrees < 1:
        raise ValueError(f"no t quantile for {share} with {degrees} degrees of freedom")
    if share < 0.5:
        return -t_quantile(1 - share, degrees)
    if degrees > 1000:  # Abramowitz and Stegun (1964), 26.7.5: exact to 1e-10 here, where the series is long
        z = normal_quantile(share)
        return (
            z
            + (z**3 + z) / (4 * degrees)
            + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3)
        )
    low, high = 0.0, pi / 2  # bisect over the angle atan(t / sqrt(degrees)), which is bounded
    for _ in range(200):
        middle = (low + high) / 2
        if 0.5 + _central_share(middle, degrees) / 2 < share:
            low = middle
        else:
            high = middle
    return sqrt(degrees) * tan((low + high) / 2)


def t_central_share(t: float, degrees: int) -> float:
    """Return P(|T| < t), for a whole number of degrees of freedom."""
    return _central_share(atan(abs(t) / sqrt(degrees)), degrees)


def _central_share(angle: float, degrees: int) -> float:
    """Return P(|T| < sqrt(degrees) · tan(angle)); Abramowitz and Stegun (1964), 26.7.3 and 26.7.4."""
    square = cos(angle) ** 2
    if degrees == 1:
        return 2 * angle / pi
    # Both are finite series; the terms differ in where they begin.
    odd = degrees % 2 == 1
    term = cos(angle) if odd else 1.0
    total = term
    for step in range(3 if odd else 2, degrees - 1, 2):
        term *= square * (step - 1) / step
        total += term
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total

"""The one place of means, medians, percentiles, differences and thresholds.

Scores are added as they are written: sums of binary fractions make 0.15000000000000002 the mean of
0.1 and 0.2, which looks odd in JSON and lies above 0.15.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from math import ceil
from typing import Any

TINY = 1e-12
"""Numbers that differ by no more are equal."""
_DECIMAL = Context(prec=50)
"""As many digits as the sum of 100,000 scores needs, and more."""


def exact_mean(values: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """Return the mean, by the `weights` if given, not rounded: of 0.1 and 0.2, it is 0.15.

    Raises:
        ValueError: there are no values, or not as many weights.
    """
    if not values:
        raise ValueError("the mean of no values")
    total, whole = Decimal(0), Decimal(len(values))
    if weights is None:
        for value in values:
            total = _DECIMAL.add(total, _decimal(value))
        return float(_DECIMAL.divide(total, whole))
    whole = Decimal(0)
    for value, weight in zip(values, map(_decimal, weights), strict=True):
        total = _DECIMAL.fma(_decimal(value), weight, total)
        whole = _DECIMAL.add(whole, weight)
    return float(_DECIMAL.divide(total, whole))


def exact_difference(value: float, other: float) -> float:
    """Return `value` − `other`: of 0.3 and 0.1, it is 0.2."""
    return float(_DECIMAL.subtract(_decimal(value), _decimal(other)))


def reaches(value: float, threshold: float) -> bool:
    """Return whether a value, not rounded, is at least the threshold: 0.2673 does not reach
    0.27.
    """
    return value >= threshold - TINY


def _decimal(value: float) -> Decimal:
    return Decimal(repr(float(value)))


def average(values: Iterable[float]) -> float:
    """Return the mean of measured values, such as times, and of what is worked out from scores.

    Raises:
        ValueError: there are no values.
    """
    return statistics.fmean(values)


def average_if_any(values: Sequence[float]) -> float | None:
    """Return the mean of measured values; None without any."""
    if values:
        return statistics.fmean(values)
    return None


def median(values: Iterable[float]) -> float:
    """Return the middle value, or the mean of the two in the middle.

    Raises:
        ValueError: there are no values.
    """
    return statistics.median(values)


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the smallest value that at least `share` of the values do not exceed (nearest
    rank).
    """
    if not values:
        return None
    ranked = sorted(values)
    return ranked[max(0, ceil(share * len(ranked) - 1e-9) - 1)]


def quantiles(values: Any, shares: Any) -> Any:
    """Return an array of the values' quantiles, interpolated linearly, in the order of the
    `shares`, from 0 to 1.
    """
    import numpy as np  # commands that draw no values start without it

    return np.quantile(values, shares)

"""Rounding as in the published grading: the result depends on the number's type."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any


def numpy_round(value: float, decimals: int) -> float:
    """Return `value` rounded by numpy's rule, rint(x·10ᵈ)/10ᵈ, which makes 0.15 to 0.2 where Python says 0.1."""
    factor = 10.0**decimals
    product = value * factor
    return math.copysign(round(product), product) / factor if math.isfinite(product) else product


def to_score(value: Any, decimals: int = 5) -> float:
    """Return a grader's result as a score with five decimals.

    A Python float rounds correctly (half-even on its exact value), a numpy number by numpy's rule, as
    `round()` does for each.

    Raises:
        TypeError: `value` is not one number.
    """
    import numpy as np  # graders bring it; a batch's own process never does

    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    if isinstance(value, np.generic) and isinstance(value, (np.floating, np.integer, np.bool_)):
        return numpy_round(float(value), decimals)
    if isinstance(value, (bool, Integral)):
        return float(value)
    if isinstance(value, Real):
        return round(float(value), decimals)
    raise TypeError(f"the grader returned {type(value).__name__} where a number was expected")

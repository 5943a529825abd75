"""The numbers of a report: how scores are rounded, as published, and how they are said.

`grade.py`, `leaderboard.py` and `batch/output.py` round with these; the words are for everything
that shows a score, so that it is said in one way.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from bioeval_tui.base.units import SCORE_DECIMALS


def to_score(value: Any) -> float:
    """Return a grader's result as a score with five decimals.

    A Python float rounds correctly (half-even on its exact value), a numpy number by numpy's rule,
    as `round()` does for each.

    Raises:
        TypeError: `value` is not one number.
    """
    import numpy as np  # graders bring it; a batch's own process never does

    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    if isinstance(value, np.generic) and isinstance(value, (np.floating, np.integer, np.bool_)):
        return numpy_round(float(value), SCORE_DECIMALS)
    if isinstance(value, (bool, Integral)):
        return float(value)
    if isinstance(value, Real):
        return round(float(value), SCORE_DECIMALS)
    raise TypeError(f"the grader returned {type(value).__name__} where a number was expected")


def numpy_round(value: float, decimals: int) -> float:
    """Return `value` rounded by numpy's rule, rint(x·10ᵈ)/10ᵈ, which makes 0.15 to 0.2 where Python
    says 0.1.
    """
    factor = 10.0**decimals
    product = value * factor
    if math.isfinite(product):
        return math.copysign(round(product), product) / factor
    return product


def score_that_reaches(threshold: float, is_lower_better: bool) -> float:
    """Return the worst score that reaches a threshold: five decimals, as every score has, rounded
    towards better.

    Rounded to the nearest, a threshold could be shown as a score that does not reach it.
    """
    steps = threshold * 100_000
    if not math.isfinite(steps):
        return threshold
    # what a binary fraction is off by, such as 0.29 * 100_000, makes no further step
    if is_lower_better:
        return math.floor(steps + 1e-6) / 100_000
    return math.ceil(steps - 1e-6) / 100_000


ROUNDING = "rounding alone decides: "
"""What the sentence begins with that says so of a medal."""


def rounding_words(with_all_decimals: str | None, ranked: str | None) -> str:
    """Return the sentence on a score whose medal with all decimals is another than that of the
    rounded score; empty if it is the same.
    """
    if with_all_decimals == ranked:
        return ""
    return (
        f"{ROUNDING}scores are ranked with 5 decimals; with all of them this one would earn"
        f" {with_all_decimals or 'no medal'}"
    )


def exact_percentile(rounded: float | None, size: int | None, beaten: int | None) -> float | None:
    """Return a percentile (0 to 100) before it was rounded to one decimal; None without one.

    A mean of rounded percentiles may differ in its own decimal from the mean.

    Args:
        rounded: the percentile as reports have it.
        size: the number of entries of the leaderboard; None if unknown.
        beaten: how many of them are worse. Reports of other programs do not say; then it is the
            number that comes nearest, of up to 1,000 entries the only one.
    """
    if rounded is None or not size:
        return rounded
    if beaten is None:
        beaten = round(rounded / 100 * size)
    exact = beaten / size * 100
    if abs(exact - rounded) > _MOST_ROUNDED:
        return rounded  # a report whose numbers contradict each other
    return exact


_MOST_ROUNDED = 0.0501
"""By how much a percentile differs from its rounded one at most, and a rest of binary fractions."""


def better_words(is_lower_better: bool) -> str:
    """Return which scores are better, as the rest of a sentence."""
    if is_lower_better:
        return "lower is better"
    return "higher is better"


def rows_words(scored: int, expected: int) -> str:
    """Return such as `scored on 2 of 2,000 rows`, or `scored on all 171 rows`."""
    if scored < expected:
        return f"scored on {scored:,} of {expected:,} rows"
    return f"scored on all {expected:,} rows"

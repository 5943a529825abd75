"""How far raters agree: Cohen's kappa, weighted kappa, Krippendorff's alpha, mean absolute difference.

Scores are in [0, 1]. Kappa uses passed or not passed (Cohen 1960); weighted kappa at the scores rounded to
tenths, with quadratic weights (Cohen 1968; Fleiss and Cohen 1973); alpha at the scores themselves, on an interval
scale, with any number of raters and with gaps (Krippendorff 2011). A value is None if the formula divides by
zero: too few ratings, or no variation.

The formulas are implemented here, so that reports and screens need no scikit-learn; PyPI's `krippendorff` is under
the GPL, unlike this program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import fmean
from typing import Any, Literal

GRADES = 10
"""Weighted kappa has this many steps from 0 to 1."""

Level = Literal["nominal", "interval"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two raters on the `n` units that both rated. `bias` is the mean of a − b: above 0, a is more lenient."""

    n: int
    kappa: float | None
    weighted_kappa: float | None
    alpha: float | None
    mean_absolute_difference: float | None
    bias: float | None


def agreement(a: Sequence[tuple[float, bool]], b: Sequence[tuple[float, bool]]) -> Agreement:
    """Return how far two raters agree on the same units, given in the same order as (score, passed).

    Raises:
        ValueError: the raters did not rate the same number of units.
    """
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} ratings cannot be paired")
    first, second = [score for score, _ in a], [score for score, _ in b]
    gaps = [x - y for x, y in zip(first, second, strict=True)]
    return Agreement(
        n=len(a),
        kappa=cohen_kappa([passed for _, passed in a], [passed for _, passed in b]),
        weighted_kappa=cohen_kappa([_grade(x) for x in first], [_grade(y) for y in second], quadratic=True),
        alpha=krippendorff_alpha({"a": dict(enumerate(first)), "b": dict(enumerate(second))}),
        mean_absolute_difference=fmean(map(abs, gaps)) if gaps else None,
        bias=fmean(gaps) if gaps else None,
    )


def cohen_kappa(a: Sequence[int], b: Sequence[int], *, quadratic: bool = False) -> float | None:
    """Return Cohen's kappa of two raters' categories; None when both only ever use the same one.

    1 − observed / expected disagreement (Cohen 1968, formula 4). Expected is the mean over every rating of the first
    with every rating of the second, whatever the unit.

    Args:
        a: the first rater's categories, as integers; with `quadratic` their distances count.
        b: the second rater's, of the same units.
        quadratic: weigh a disagreement by the square of its distance.
    """
    if len(a) < 2 or len({*a, *b}) < 2:
        return None

    def weight(x: int, y: int) -> int:
        return (x - y) ** 2 if quadratic else int(x != y)

    observed = sum(map(weight, a, b)) / len(a)
    counted_a, counted_b = Counter(a), Counter(b)
    expected = sum(weight(x, y) * m * n for x, m in counted_a.items() for y, n in counted_b.items())
    return 1 - observed * len(a) ** 2 / expected


def krippendorff_alpha(ratings: Mapping[str, Mapping[Any, float]], level: Level = "interval") -> float | None:
    """Return Krippendorff's alpha over all raters; units with fewer than two ratings don't count.

    1 − observed / expected disagreement (Krippendorff 2011, section E): within each unit its m values are compared
    pair by pair and count 1 / (m − 1) each; expected compares all n values of shared units, whatever the unit.

    Args:
        ratings: rater to unit to value; a unit that a rater left out is simply missing.
        level: `interval` weighs by the squared difference, `nominal` only distinguishes equal and unequal.
    """
    by_unit: dict[Hashable, list[float]] = {}
    for rated in ratings.values():
        for unit, value in rated.items():
            by_unit.setdefault(unit, []).append(value)
    shared = [values for values in by_unit.values() if len(values) > 1]
    everything = [value for values in shared for value in values]
    if len(shared) < 2 or len(set(everything)) < 2:
        return None
    observed = fsum(_disagreement(values, level) / (len(values) - 1) for values in shared)
    return 1 - (len(everything) - 1) * observed / _disagreement(everything, level)


def _disagreement(values: Sequence[float], level: Level) -> float:
    """Return the sum of the distances over all ordered pairs of values, without forming the pairs."""
    n = len(values)
    if level == "nominal":
        return n**2 - sum(count**2 for count in Counter(values).values())
    mean = fmean(values)
    return 2 * n * fsum((value - mean) ** 2 for value in values)


def _grade(score: float) -> int:
    return round(score * GRADES)

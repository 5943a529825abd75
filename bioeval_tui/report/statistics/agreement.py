"""How far raters agree: Cohen's kappa, weighted kappa, Krippendorff's alpha, mean absolute difference.

Scores lie in [0, 1]. Kappa looks at passed or not passed (Cohen 1960); weighted kappa at the scores rounded to
tenths, with quadratic weights (Cohen 1968; Fleiss and Cohen 1973); alpha at the scores themselves, on an interval
scale, with any number of raters and with gaps (Krippendorff 2011). A value is None where the formula divides by
zero: too few ratings, or nobody ever says anything else. scikit-learn and NLTK do the sums; both load late.
(PyPI's `krippendorff` is under the GPL, which this program is not.)
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

GRADES = 10
"""Weighted kappa has this many steps from 0 to 1."""

Level = Literal["nominal", "interval"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two raters on the `n` units that both rated. `bias` is the mean of a − b: above 0, a is the milder one."""

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
        weighted_kappa=cohen_kappa(
            [_grade(x) for x in first], [_grade(y) for y in second], quadratic=True, categories=GRADES + 1
        ),
        alpha=krippendorff_alpha({"a": dict(enumerate(first)), "b": dict(enumerate(second))}),
        mean_absolute_difference=fmean(map(abs, gaps)) if gaps else None,
        bias=fmean(gaps) if gaps else None,
    )


def cohen_kappa(
    a: Sequence[int], b: Sequence[int], *, quadratic: bool = False, categories: int | None = None
) -> float | None:
    """Return Cohen's kappa of two raters' categories; None when both only ever use the same one.

    Args:
        a: the first rater's categories, as integers; with `quadratic` their distances count.
        b: the second rater's, of the same units.
        quadratic: weigh a disagreement by the square of its distance.
        categories: how many there are, from 0, used or not; those that occur by default.
    """
    if len(a) < 2 or len({*a, *b}) < 2:
        return None
    from sklearn.metrics import cohen_kappa_score

    labels = list(range(categories)) if categories else sorted({int(x) for x in (*a, *b)})
    value = cohen_kappa_score(
        [int(x) for x in a], [int(x) for x in b], labels=labels, weights="quadratic" if quadratic else None
    )
    return float(value)


def krippendorff_alpha(ratings: Mapping[str, Mapping[Any, float]], level: Level = "interval") -> float | None:
    """Return Krippendorff's alpha over all raters; units that fewer than two rated say nothing.

    Args:
        ratings: rater to unit to value; a unit that a rater left out is simply missing.
        level: `interval` weighs by the squared difference, `nominal` only tells equal from unequal.
    """
    by_unit: dict[Hashable, list[float]] = {}
    for rated in ratings.values():
        for unit, value in rated.items():
            by_unit.setdefault(unit, []).append(value)
    shared = {unit for unit, values in by_unit.items() if len(values) > 1}
    if len(shared) < 2 or len({value for unit in shared for value in by_unit[unit]}) < 2:
        return None
    from nltk.metrics.agreement import AnnotationTask
    from nltk.metrics.distance import binary_distance, interval_distance

    data = [
        (rater, unit, value)
        for rater, rated in ratings.items()
        for unit, value in rated.items()
        if unit in shared
    ]
    task = AnnotationTask(data, distance=interval_distance if level == "interval" else binary_distance)
    return float(task.alpha())


def _grade(score: float) -> int:
    return round(score * GRADES)

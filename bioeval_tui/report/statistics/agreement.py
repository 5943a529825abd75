"""How far two raters agree: Cohen's kappa, weighted kappa, Krippendorff's alpha, mean absolute difference.

Scores are in [0, 1]. Kappa uses passed or not passed (Cohen 1960); weighted kappa the scores rounded to tenths, with
quadratic weights (Cohen 1968; Fleiss and Cohen 1973); alpha the scores themselves, on an interval scale (Krippendorff
2011). A value is None if the formula divides by zero: too few ratings, or no variation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from bioeval_tui.report.statistics.alpha import krippendorff_alpha
from bioeval_tui.report.statistics.kappa import weighted_kappa

GRADES = 10
"""Weighted kappa has this many steps from 0 to 1."""


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
    pairs = [(x, y) for (x, _), (y, _) in zip(a, b, strict=True)]
    gaps = [x - y for x, y in pairs]
    return Agreement(
        n=len(a),
        kappa=weighted_kappa(Counter((x, y) for (_, x), (_, y) in zip(a, b, strict=True))),
        weighted_kappa=weighted_kappa(Counter((grade(x), grade(y)) for x, y in pairs), "quadratic"),
        alpha=krippendorff_alpha(Counter(pairs)),
        mean_absolute_difference=fmean(map(abs, gaps)) if gaps else None,
        bias=fmean(gaps) if gaps else None,
    )


def grade(score: float) -> int:
    """Return the sum of the distances over all ordered pairs of values, without forming the pairs."""
    return round(score * GRADES)

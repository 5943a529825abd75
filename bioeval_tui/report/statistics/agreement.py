"""How far raters agree: kappa, alpha and mean differences of any raters, and a judge against people with intervals.

Scores are in [0, 1]. Kappa uses passed or not passed (Cohen 1960); weighted kappa the scores rounded to tenths, with
quadratic weights (Cohen 1968; Fleiss and Cohen 1973); alpha the scores themselves (Krippendorff, Computing
Krippendorff's Alpha-Reliability, 2011). A value is None if the formula divides by zero: too few ratings, or no
variation. Both take counts of equal units, so that leaving out each conversation is fast, and stand here because
scikit-learn's kappa takes twenty times as long, and PyPI's `krippendorff` is under the GPL, unlike this program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum
from statistics import fmean
from typing import Any, Literal

from bioeval_tui.report.statistics.estimates import grouped
from bioeval_tui.uncertainty import UNIT, Interval, mean_of, merged, statistic_of

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
        weighted_kappa=weighted_kappa(Counter((_tenths(x), _tenths(y)) for x, y in pairs), "quadratic"),
        alpha=krippendorff_alpha(Counter(pairs)),
        mean_absolute_difference=fmean(map(abs, gaps)) if gaps else None,
        bias=fmean(gaps) if gaps else None,
    )


def _tenths(score: float) -> int:
    """Return the category of a score for weighted kappa."""
    return round(score * GRADES)


Weights = Literal["none", "quadratic"]

Pairs = Mapping[tuple[float, ...], Any]
"""How often the first rater said a and the second b, by (a, b); fractions are allowed. Distances of the numbers count where
weighted."""


def weighted_kappa(pairs: Pairs, weights: Weights = "none") -> float | None:
    """Return 1 − observed / expected disagreement; None for fewer than two units or a single category.

    A disagreement of a and b weighs 1 without weights, and (a − b)² with quadratic ones.
    """
    n = sum(pairs.values())
    first: Counter[float] = Counter()
    second: Counter[float] = Counter()
    for (a, b), count in pairs.items():
        first[a] += count
        second[b] += count
    if n < 2 or len({a for a in first if first[a]} | {b for b in second if second[b]}) < 2:
        return None
    observed = fsum(count * _distance(a, b, weights) for (a, b), count in pairs.items())
    expected = fsum(
        count * other * _distance(a, b, weights) for a, count in first.items() for b, other in second.items()
    )
    return 1 - n * observed / expected if expected else None


def _distance(a: float, b: float, weights: Weights) -> float:
    return float(a != b) if weights == "none" else (a - b) ** 2


Units = Mapping[tuple[float, ...], Any]
"""The number of units with these values. A unit's values are in any order, without missing ones."""


def units_of(ratings: Mapping[str, Mapping[Any, float]]) -> Counter[tuple[float, ...]]:
    """Return the units of a table from rater to unit to value."""
    by_unit = grouped(pair for rated in ratings.values() for pair in rated.items())
    return Counter(tuple(sorted(values)) for values in by_unit.values())


def krippendorff_alpha(units: Units) -> float | None:
    """Return alpha on an interval scale: 1 is perfect agreement, 0 agreement by chance.

    Units with fewer than two values don't count. None when fewer than two units are left, or when all values are the
    same.
    """
    pairable = {values: count for values, count in units.items() if len(values) > 1 and count}
    counts: Counter[float] = Counter()
    for values, count in pairable.items():
        for value in values:
            counts[value] += count
    if sum(pairable.values()) < 2 or len(counts) < 2:
        return None
    mean = fsum(count * value for value, count in counts.items()) / counts.total()
    observed = fsum(
        count * _squares([(value - mean, 1) for value in values]) / (len(values) - 1)
        for values, count in pairable.items()
    )
    expected = _squares([(value - mean, count) for value, count in counts.items()])
    return 1 - (counts.total() - 1) * observed / expected


def _squares(counted: Sequence[tuple[float, int]]) -> float:
    """Return the sum of squared differences over all ordered pairs of values, each given with its count."""
    total = sum(count for _, count in counted)
    first = fsum(count * value for value, count in counted)
    second = fsum(count * value * value for value, count in counted)
    return 2 * (total * second - first * first)


@dataclass(frozen=True, slots=True)
class RatedTwice:
    """One unit that the judge and people rated. `cluster` is its conversation; scores lie in [0, 1]."""

    cluster: str
    judge_score: float
    judge_passed: bool
    people_score: float
    people_passed: bool


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its 95 % interval. Each is None where it is undefined or too little is known."""

    value: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often judge and people said passed or not passed; the people's verdicts count as correct."""

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """A judge against people."""

    confusion: Confusion
    clusters: int
    sensitivity: Figure
    specificity: Figure
    kappa: Figure
    kappa_quadratic: Figure
    alpha: Figure


def judge_agreement(units: Sequence[RatedTwice]) -> JudgeAgreement:
    """Return how far the judge agrees with people, with intervals that are clustered by conversation."""
    passed = _Paired(units, lambda unit: (float(unit.judge_passed), float(unit.people_passed)))
    grades = _Paired(units, lambda unit: (_tenths(unit.judge_score), _tenths(unit.people_score)))
    scores = _Paired(units, lambda unit: (unit.judge_score, unit.people_score))
    counts = Counter((unit.judge_passed, unit.people_passed) for unit in units)
    return JudgeAgreement(
        confusion=Confusion(
            counts[True, True], counts[True, False], counts[False, True], counts[False, False]
        ),
        clusters=len({unit.cluster for unit in units}),
        sensitivity=_share((unit.cluster, unit.judge_passed) for unit in units if unit.people_passed),
        specificity=_share((unit.cluster, not unit.judge_passed) for unit in units if not unit.people_passed),
        kappa=passed.figure(weighted_kappa),
        kappa_quadratic=grades.figure(partial(weighted_kappa, weights="quadratic")),
        alpha=scores.figure(krippendorff_alpha),
    )


class _Paired:
    """The two ratings of each unit, by cluster, and figures of them."""

    def __init__(
        self, units: Sequence[RatedTwice], ratings: Callable[[RatedTwice], tuple[float, float]]
    ) -> None:
        clusters: dict[str, Counter[tuple[float, ...]]] = {}
        for unit in units:
            clusters.setdefault(unit.cluster, Counter())[ratings(unit)] += 1
        self._clusters: list[Pairs] = list(clusters.values())

    def figure(self, statistic: Callable[[Pairs], float | None]) -> Figure:
        value = statistic(merged(self._clusters))
        if value is None:
            return Figure(None, None)
        return Figure(value, statistic_of(self._clusters, statistic, self._disagreement(), "conversation"))

    def _disagreement(self) -> dict[tuple[float, ...], float]:
        """Return a cluster of the usual size in which the raters agree on nothing, each with its usual ratings."""
        whole: Pairs = merged(self._clusters)
        first, second = Counter[float](), Counter[float]()
        for (a, b), count in whole.items():
            first[a] += count
            second[b] += count
        apart = {(a, b): n * m for a, n in first.items() for b, m in second.items() if a != b}
        size = sum(whole.values()) / len(self._clusters) / sum(apart.values())
        return {pair: count * size for pair, count in apart.items()}


def _share(right: Iterable[tuple[str, bool]]) -> Figure:
    groups = grouped((cluster, float(yes)) for cluster, yes in right)
    measured = mean_of(groups, UNIT, unit="conversation")
    return Figure(measured.value, measured.interval) if measured else Figure(None, None)

"""How far a judge is from people: confusion table, sensitivity, specificity, kappa and alpha, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from bioeval_tui.report.statistics.agreement import grade
from bioeval_tui.report.statistics.alpha import krippendorff_alpha
from bioeval_tui.report.statistics.bootstrap import DRAWS, bootstrap_interval
from bioeval_tui.report.statistics.clustered import clustered_mean
from bioeval_tui.report.statistics.estimates import Interval, proportion
from bioeval_tui.report.statistics.kappa import weighted_kappa
from bioeval_tui.report.statistics.samples import grouped


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

    @property
    def total(self) -> int:
        """How many units both rated."""
        return self.true_positives + self.false_positives + self.false_negatives + self.true_negatives


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """A judge against people. `alpha` is on an interval scale, `alpha_ordinal` uses only the order of scores."""

    confusion: Confusion
    clusters: int
    sensitivity: Figure
    specificity: Figure
    kappa: Figure
    kappa_linear: Figure
    kappa_quadratic: Figure
    alpha: Figure
    alpha_ordinal: Figure


def judge_agreement(units: Sequence[RatedTwice], seed: int = 0, draws: int = DRAWS) -> JudgeAgreement:
    """Return how far the judge agrees with people.

    Sensitivity and specificity have Wilson intervals with the effective number of units; kappa and alpha
    have bootstrap intervals that draw whole conversations (see `bootstrap_interval`).
    """
    passed = _Paired(units, seed, draws, lambda unit: (float(unit.judge_passed), float(unit.people_passed)))
    grades = _Paired(units, seed, draws, lambda unit: (grade(unit.judge_score), grade(unit.people_score)))
    scores = _Paired(units, seed, draws, lambda unit: (unit.judge_score, unit.people_score))
    return JudgeAgreement(
        confusion=confusion((unit.judge_passed, unit.people_passed) for unit in units),
        clusters=len({unit.cluster for unit in units}),
        sensitivity=_share((unit.cluster, unit.judge_passed) for unit in units if unit.people_passed),
        specificity=_share((unit.cluster, not unit.judge_passed) for unit in units if not unit.people_passed),
        kappa=passed.figure(weighted_kappa),
        kappa_linear=grades.figure(partial(weighted_kappa, weights="linear")),
        kappa_quadratic=grades.figure(partial(weighted_kappa, weights="quadratic")),
        alpha=scores.figure(krippendorff_alpha),
        alpha_ordinal=scores.figure(partial(krippendorff_alpha, scale="ordinal")),
    )


def confusion(pairs: Iterable[tuple[bool, bool]]) -> Confusion:
    """Count (judge passed, people passed)."""
    counts = Counter(pairs)
    return Confusion(counts[True, True], counts[True, False], counts[False, True], counts[False, False])


class _Paired:
    """The two ratings of each unit, by cluster, and figures of them."""

    def __init__(
        self,
        units: Sequence[RatedTwice],
        seed: int,
        draws: int,
        ratings: Callable[[RatedTwice], tuple[float, float]],
    ) -> None:
        clusters: dict[str, Counter[tuple[float, ...]]] = {}
        for unit in units:
            clusters.setdefault(unit.cluster, Counter())[ratings(unit)] += 1
        self._clusters = list(clusters.values())
        self._seed, self._draws = seed, draws

    def figure(self, statistic: Callable[[Mapping[tuple[float, ...], int]], float | None]) -> Figure:
        value = statistic(sum(self._clusters, Counter()))
        if value is None:
            return Figure(None, None)
        return Figure(
            value, bootstrap_interval(self._clusters, statistic, seed=self._seed, draws=self._draws)
        )


def _share(right: Iterable[tuple[str, bool]]) -> Figure:
    found = clustered_mean(grouped((cluster, float(yes)) for cluster, yes in right))
    if found is None:
        return Figure(None, None)
    if found.clusters == found.values:  # nothing is clustered: the plain interval
        return Figure(found.mean, proportion(round(found.mean * found.values), found.values).interval)
    return Figure(found.mean, found.wilson_interval())

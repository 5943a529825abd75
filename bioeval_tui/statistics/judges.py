"""Judges beside people: how far raters agree, and what people would say about all verdicts.

Agreement is kappa, alpha and mean differences of any raters, and a judge against people with
intervals. Scores are in [0, 1]. Kappa uses passed or not passed (Cohen 1960); weighted kappa the
scores rounded to tenths, with quadratic weights (Cohen 1968; Fleiss and Cohen 1973); alpha the
scores themselves (Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011). A value is None
if the formula divides by zero: too few ratings, or no variation. Both take counts of equal units,
so that leaving out each conversation is fast, and stand here because scikit-learn's kappa takes
twenty times as long, and PyPI's `krippendorff` is under the GPL, unlike this program.

What people would say is estimated from a judge's verdicts and some blind reviews. The estimate is
that of prediction-powered inference with power tuning, PPI++ (Angelopoulos, Duchi and Zrnic 2023):
λ · (the judge's mean over what nobody reviewed) + the mean of (people − λ · judge) over what was
reviewed. λ is chosen for the smallest variance: 0 ignores the judge, 1 trusts it fully.

Its own interval fails where people and judge agree on nearly everything, so the interval is
another: items are divided by the judge's score, people's mean in each part has Clopper and
Pearson's interval, and the parts are joined. That holds for any judge, because reviews are a random
sample in each part: a poor judge only makes it wider.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from math import fsum
from random import Random
from typing import Any, Literal

from bioeval_tui.statistics.estimates import grouped
from bioeval_tui.statistics.intervals import (
    UNIT,
    Interval,
    Z,
    joined,
    mean_of,
    merged,
    share_interval,
    statistic_interval,
    t_quantile,
)
from bioeval_tui.statistics.means import average, average_if_any

GRADES = 10
"""Weighted kappa has this many steps from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two raters on the `n` units that both rated.

    `bias` is the mean of a − b: above 0, a is more lenient.
    """

    n: int
    kappa: float | None
    weighted_kappa: float | None
    alpha: float | None
    mean_absolute_difference: float | None
    bias: float | None


def agreement(a: Sequence[tuple[float, bool]], b: Sequence[tuple[float, bool]]) -> Agreement:
    """Return how far two raters agree on the same units, given in the same order as (score,
    passed).

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
        weighted_kappa=weighted_kappa(
            Counter((_tenths(x), _tenths(y)) for x, y in pairs), "quadratic"
        ),
        alpha=krippendorff_alpha(Counter(pairs)),
        mean_absolute_difference=average_if_any(list(map(abs, gaps))),
        bias=average_if_any(gaps),
    )


def _tenths(score: float) -> int:
    """Return the category of a score for weighted kappa."""
    return round(score * GRADES)


Weights = Literal["none", "quadratic"]

Pairs = Mapping[tuple[float, ...], Any]
"""How often the first rater said a and the second b, by (a, b); fractions are allowed.

Distances of the numbers count where weighted.
"""


def weighted_kappa(pairs: Pairs, weights: Weights = "none") -> float | None:
    """Return 1 − observed / expected disagreement; None for fewer than two units or a single
    category.

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
        count * other * _distance(a, b, weights)
        for (a, count), (b, other) in product(first.items(), second.items())
    )
    if expected:
        return 1 - n * observed / expected
    return None


def _distance(a: float, b: float, weights: Weights) -> float:
    if weights == "none":
        return float(a != b)
    return (a - b) ** 2


Units = Mapping[tuple[float, ...], Any]
"""The number of units with these values. A unit's values are in any order, without missing ones."""


def rated_units(ratings: Mapping[str, Mapping[Any, float]]) -> Counter[tuple[float, ...]]:
    """Return the units of a table from rater to unit to value."""
    by_unit = grouped(chain.from_iterable(rated.items() for rated in ratings.values()))
    return Counter(tuple(sorted(values)) for values in by_unit.values())


def krippendorff_alpha(units: Units) -> float | None:
    """Return alpha on an interval scale: 1 is perfect agreement, 0 agreement by chance.

    Units with fewer than two values don't count. None when fewer than two units are left, or when
    all values are the same.
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
    """Return the sum of squared differences over all ordered pairs of values, each given with its
    count.
    """
    total = sum(count for _, count in counted)
    first = fsum(count * value for value, count in counted)
    second = fsum(count * value * value for value, count in counted)
    return 2 * (total * second - first * first)


@dataclass(frozen=True, slots=True)
class RatedTwice:
    """One unit that the judge and people rated.

    `cluster` is its conversation; scores lie in [0, 1].
    """

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
    """How often judge and people said passed or not passed; the people's verdicts count as
    correct.
    """

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
    """Return how far the judge agrees with people, with intervals that are clustered by
    conversation.
    """
    passed = _Paired(units, lambda unit: (float(unit.judge_passed), float(unit.people_passed)))
    grades = _Paired(units, lambda unit: (_tenths(unit.judge_score), _tenths(unit.people_score)))
    scores = _Paired(units, lambda unit: (unit.judge_score, unit.people_score))
    counts = Counter((unit.judge_passed, unit.people_passed) for unit in units)
    return JudgeAgreement(
        confusion=Confusion(
            counts[True, True], counts[True, False], counts[False, True], counts[False, False]
        ),
        clusters=len({unit.cluster for unit in units}),
        sensitivity=_share(
            (unit.cluster, unit.judge_passed) for unit in units if unit.people_passed
        ),
        specificity=_share(
            (unit.cluster, not unit.judge_passed) for unit in units if not unit.people_passed
        ),
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
        return Figure(
            value,
            statistic_interval(self._clusters, statistic, self._disagreement(), "conversation"),
        )

    def _disagreement(self) -> dict[tuple[float, ...], float]:
        """Return a cluster of the usual size in which the raters agree on nothing, each with its
        usual ratings.
        """
        whole: Pairs = merged(self._clusters)
        first, second = Counter[float](), Counter[float]()
        for (a, b), count in whole.items():
            first[a] += count
            second[b] += count
        pairs = product(first.items(), second.items())
        apart = {(a, b): n * m for (a, n), (b, m) in pairs if a != b}
        size = sum(whole.values()) / len(self._clusters) / sum(apart.values())
        return {pair: count * size for pair, count in apart.items()}


def _share(right: Iterable[tuple[str, bool]]) -> Figure:
    groups = grouped((cluster, float(yes)) for cluster, yes in right)
    measured = mean_of(groups, UNIT, unit="conversation")
    if measured:
        return Figure(measured.value, measured.interval)
    return Figure(None, None)


FEWEST_REVIEWS = 30
"""With fewer reviews there is no correction."""

FEWEST_REVIEWED_CLUSTERS = 10
"""Where verdicts are clustered, the reviews must come from at least as many clusters."""

FEWEST_TUNED_CLUSTERS = 20
"""With fewer reviewed clusters λ is 0, and items are not divided by the judge's score: the judge is
ignored. `validate-statistics correction` has the coverage on both sides, for 12 and 20.
"""

FEWEST_PER_STRATUM = 5
"""Each stratum needs at least as many reviews."""

EXPECTED_IN_PART = 8
"""A part of the judge's scores must be so large that as many of its items may be expected among the
reviews.
"""

MOST_PARTS = 4
"""In so many parts the judge's scores are divided at most."""

Sampling = Literal["random", "stratified"]
"""How the reviewed verdicts (or whole conversations) were drawn: at random from all, or within each
stratum.
"""


class NotCorrectable(ValueError):
    """The reviews do not allow a corrected score; the message says why and what would."""


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """One verdict of the judge, in [0, 1], and what people said (None: not reviewed).

    Items of one `cluster` (a case or conversation) are not independent. Without a cluster an item
    is its own.
    """

    judge: float
    people: float | None = None
    cluster: str = ""
    stratum: str = ""


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """What people would say on average. `judge` is the judge's own mean over all items."""

    judge: float
    estimate: float
    interval: Interval
    reviews_only: Interval
    """The interval without the judge's help."""

    power_tuning: float
    """λ; with strata the mean over items."""

    reviews: int
    items: int
    clusters: int | None
    """How many clusters have reviews; None when no cluster has more than one item."""

    width_after_ten_more: float
    """The interval's expected width after ten more reviews drawn in the same way."""


def corrected_mean(items: Sequence[JudgedItem], sampling: Sampling) -> CorrectedMean:
    """Return the estimated mean of people's scores over all items, with a 95 % interval.

    With strata each is estimated on its own, with its own λ, and weighted by its number of items.
    Where verdicts or whole conversations are clustered, reviews count as many as there would be
    with the same error.

    Raises:
        NotCorrectable: the reviews are fewer than 30 or (in a stratum) 5, leave nothing unreviewed,
            lie in fewer than 10 of the clusters that the items come in, or a cluster lies in
            several strata.
    """
    reviewed = [item for item in items if item.people is not None]
    reviews = len(reviewed)
    if reviews < FEWEST_REVIEWS:
        raise NotCorrectable(_too_few(reviews, "", FEWEST_REVIEWS))
    strata: Mapping[str, list[JudgedItem]] = {"": list(items)}
    if sampling == "stratified":
        strata = _strata(items)
    clusters = None
    for name, stratum in strata.items():
        found = _reviewed_clusters(name, stratum)
        if found is not None:
            clusters = (clusters or 0) + found
    tuned = [(len(stratum) / len(items), *_tuned(stratum, clusters)) for stratum in strata.values()]
    estimate = fsum(weight * one for weight, one, _ in tuned)
    # If people always say the same, dividing their reviews would only make each part's interval
    # wider.
    ignored = (clusters or FEWEST_TUNED_CLUSTERS) < FEWEST_TUNED_CLUSTERS or len(
        {item.people for item in reviewed}
    ) == 1
    parts = undivided = list(strata.values())
    if not ignored:
        parts = list(chain.from_iterable(map(_judge_parts, undivided)))
    whole, plain = _Parted(parts, items, clusters), _Parted(undivided, items, clusters)
    interval = whole.interval(1.0)
    return CorrectedMean(
        judge=average(item.judge for item in items),
        estimate=min(interval.high, max(interval.low, estimate)),
        interval=interval,
        reviews_only=plain.interval(1.0),
        power_tuning=fsum(weight * tuning for weight, _, tuning in tuned),
        reviews=reviews,
        items=len(items),
        clusters=clusters,
        width_after_ten_more=whole.interval((reviews + 10) / reviews).width,
    )


def _reviewed_clusters(name: str, items: Sequence[JudgedItem]) -> int | None:
    """Return how many clusters of a stratum have reviews; None if no cluster has two items.

    Raises:
        NotCorrectable: there are too few reviews or reviewed clusters, or nothing is left.
    """
    where = f" in stratum {name!r}" if name else ""
    reviewed = [item for item in items if item.people is not None]
    if len(reviewed) < FEWEST_PER_STRATUM:
        raise NotCorrectable(_too_few(len(reviewed), where, FEWEST_PER_STRATUM))
    if len(items) - len(reviewed) < 2:
        raise NotCorrectable(f"everything{where} was reviewed, so there is nothing to estimate")
    named = [item.cluster for item in items if item.cluster]
    if len(set(named)) == len(named):
        return None
    clusters = len(
        {item.cluster or place for place, item in enumerate(items) if item.people is not None}
    )
    if clusters < FEWEST_REVIEWED_CLUSTERS:
        raise NotCorrectable(
            f"the reviews{where} are of {clusters} clusters, such as conversations or cases: that"
            f" is too few, at least {FEWEST_REVIEWED_CLUSTERS} are needed"
        )
    return clusters


def _judge_parts(items: Sequence[JudgedItem]) -> list[list[JudgedItem]]:
    """Divide items by the judge's score, in parts that are large enough.

    It depends on no review.
    """
    share = sum(item.people is not None for item in items) / len(items)
    smallest = max(EXPECTED_IN_PART / share, len(items) / MOST_PARTS)
    by_score = sorted(grouped((item.judge, item) for item in items).items())
    parts: list[list[JudgedItem]] = [[]]
    for _, same in by_score:
        if len(parts[-1]) >= smallest or (len(by_score) == 2 and parts[-1]):
            parts.append([])
        parts[-1] += same
    smallest = EXPECTED_IN_PART / share
    while len(parts) > 1 and (small := min(parts, key=len)) and len(small) < smallest:
        place = parts.index(small)
        other = place - 1 if place else 1
        parts[other] += small
        del parts[place]
    # Which items were reviewed is chance; a part without enough of them joins the largest.
    known = [part for part in parts if sum(item.people is not None for item in part) >= 2]
    rest = list(chain.from_iterable(part for part in parts if part not in known))
    if rest and known:
        max(known, key=len).extend(rest)
    return known or [list(items)]


class _Parted:
    """People's mean in each part of the items, joined by the parts' shares of all items."""

    def __init__(
        self,
        parts: Sequence[Sequence[JudgedItem]],
        items: Sequence[JudgedItem],
        clusters: int | None,
    ) -> None:
        self._shares = [len(part) / len(items) for part in parts]
        self._scores = [[item.people for item in part if item.people is not None] for part in parts]
        self._means = [average(scores) for scores in self._scores]
        self._reviews, self._items, self._clusters = (
            sum(map(len, self._scores)),
            len(items),
            clusters,
        )
        mean = fsum(w * m for w, m in zip(self._shares, self._means, strict=True))
        sums: dict[object, float] = {}
        alone = 0.0
        for share, scores, people, part in zip(
            self._shares, self._scores, self._means, parts, strict=True
        ):
            for item in part:
                error = (people - mean) / len(items)
                if item.people is not None:
                    error += share * (item.people - people) / len(scores)
                alone += error * error
                cluster: object = item.cluster or id(item)
                sums[cluster] = sums.get(cluster, 0.0) + error
        together = fsum(error * error for error in sums.values())
        self._effect = 1.0
        if clusters is not None:
            corrected = clusters / (clusters - 1) * (t_quantile(0.975, clusters - 1) / Z) ** 2
            effect = self._reviews / clusters  # where nothing varies, a cluster counts once
            if alone > 1e-18:
                effect = max(1.0, together / alone)
            self._effect = corrected * effect
        self._of_shares = (
            fsum(w * m * m for w, m in zip(self._shares, self._means, strict=True)) - mean * mean
        ) / len(items)

    def interval(self, more: float) -> Interval:
        """Return the interval for `more` times as many reviews that say the same."""
        parts = []
        for share, scores, people in zip(self._shares, self._scores, self._means, strict=True):
            n = more * len(scores) / self._effect
            if people * (1 - people) > 1e-12 and any(value not in UNIT for value in scores):
                spread = fsum((value - people) ** 2 for value in scores) / (len(scores) - 1)
                # As one more value that varies as much as values can: the error is never 0.
                most = people * (1 - people)
                n *= most / ((spread * len(scores) + most) / (len(scores) + 1))
            parts.append((share, people, share_interval(people, n)))
        scope = f"{self._reviews} reviews of {self._items}"
        return joined(parts, UNIT, scope, max(0.0, self._of_shares) * self._effect)


def _tuned(items: Sequence[JudgedItem], clusters: int | None) -> tuple[float, float]:
    """Return the paper's estimate for one stratum, and its λ in [0, 1]: 0 with few reviewed
    clusters.
    """
    reviewed = [(item.people, item.judge) for item in items if item.people is not None]
    unreviewed = [item.judge for item in items if item.people is None]
    judge, people, known = (
        average(each)
        for each in (
            [item.judge for item in items],
            [y for y, _ in reviewed],
            [f for _, f in reviewed],
        )
    )
    n, tuning = len(reviewed), 0.0
    variance = fsum((item.judge - judge) ** 2 for item in items) / (len(items) - 1)
    if variance and (clusters is None or clusters >= FEWEST_TUNED_CLUSTERS):
        covariance = fsum((y - people) * (f - known) for y, f in reviewed) / n
        tuning = min(1.0, max(0.0, covariance / ((1 + n / len(unreviewed)) * variance)))
    return tuning * average(unreviewed) + people - tuning * known, tuning


def _strata(items: Sequence[JudgedItem]) -> Mapping[str, list[JudgedItem]]:
    strata = grouped((item.stratum, item) for item in items)
    stratum_of: dict[str, str] = {}
    for item in items:
        if item.cluster and stratum_of.setdefault(item.cluster, item.stratum) != item.stratum:
            raise NotCorrectable(
                f"cluster {item.cluster!r} is in several strata: stratify whole clusters"
            )
    return strata


def draw_reviews(strata: Mapping[str, str], n: int, seed: int) -> list[str]:
    """Return n item ids in the order to review them, drawn without replacement.

    Args:
        strata: item id to its stratum; one stratum for all is a plain random sample. Every stratum
            gives a share of its size (largest remainders), so that the whole is proportional.
        n: how many to draw; all when there are fewer.
        seed: the same ids and seed give the same draw, in whatever order the ids come.

    Raises:
        ValueError: `n` is below 1.
    """
    if n < 1:
        raise ValueError(f"{n} reviews cannot be drawn")
    random = Random(seed)  # noqa: S311 - sampling, nothing secret
    by_stratum = grouped((strata[item], item) for item in sorted(strata))
    drawn = []
    for stratum, size in sorted(
        _allocation({s: len(ids) for s, ids in by_stratum.items()}, n).items()
    ):
        drawn += random.sample(by_stratum[stratum], size)
    random.shuffle(drawn)
    return drawn


def _allocation(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    total = sum(sizes.values())
    n = min(n, total)
    exact = {stratum: n * size / total for stratum, size in sizes.items()}
    given = {stratum: int(share) for stratum, share in exact.items()}
    by_remainder = sorted(sizes, key=lambda stratum: (given[stratum] - exact[stratum], stratum))
    for stratum in by_remainder[: n - sum(given.values())]:
        given[stratum] += 1
    return given


def _too_few(count: int, where: str, needed: int) -> str:
    reviews = "1 review" if count == 1 else f"{count} reviews"
    is_or_are = "is" if count == 1 else "are"
    return f"{reviews}{where} {is_or_are} too few: at least {needed} are needed"

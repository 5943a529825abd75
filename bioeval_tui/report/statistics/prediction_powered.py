"""Estimates what people would say about all verdicts, from a judge's verdicts and some blind reviews.

The estimate is that of prediction-powered inference with power tuning, PPI++ (Angelopoulos, Duchi and Zrnic 2023):
λ · (the judge's mean over what nobody reviewed) + the mean of (people − λ · judge) over what was reviewed. λ is chosen
for the smallest variance: 0 ignores the judge, 1 trusts it fully.

Its own interval fails where people and judge agree on nearly everything, so the interval is another: items are divided
by the judge's score, people's mean in each part has Clopper and Pearson's interval, and the parts are joined. That holds
for any judge, because reviews are a random sample in each part: a poor judge only makes it wider.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from random import Random
from statistics import fmean
from typing import Literal

from bioeval_tui.report.statistics.estimates import grouped
from bioeval_tui.uncertainty import UNIT, Interval, Z, joined, share_interval, t_quantile

FEWEST_REVIEWS = 30
"""With fewer reviews there is no correction."""

FEWEST_REVIEWED_CLUSTERS = 10
"""Where verdicts are clustered, the reviews must come from at least as many clusters."""

FEWEST_TUNED_CLUSTERS = 20
"""With fewer reviewed clusters λ is 0, and items are not divided by the judge's score: the judge is ignored."""

FEWEST_PER_STRATUM = 5
"""Each stratum needs at least as many reviews."""

EXPECTED_IN_PART = 8
"""A part of the judge's scores must be so large that as many of its items may be expected among the reviews."""

MOST_PARTS = 4
"""In so many parts the judge's scores are divided at most."""

Sampling = Literal["random", "stratified"]
"""How the reviewed verdicts (or whole conversations) were drawn: at random from all, or within each stratum."""


class NotCorrectable(ValueError):
    """The reviews do not allow a corrected score; the message says why and what would."""


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """One verdict of the judge, in [0, 1], and what people said (None: not reviewed).

    Items of one `cluster` (a case or conversation) are not independent. Without a cluster an item is its own.
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

    With strata each is estimated on its own, with its own λ, and weighted by its number of items. Where verdicts or
    whole conversations are clustered, reviews count as many as there would be with the same error.

    Raises:
        NotCorrectable: the reviews are fewer than 30 or (in a stratum) 5, leave nothing
            unreviewed, lie in fewer than 10 of the clusters that the items come in, or a cluster lies in
            several strata.
    """
    reviewed = [item for item in items if item.people is not None]
    reviews = len(reviewed)
    if reviews < FEWEST_REVIEWS:
        raise NotCorrectable(f"{reviews} reviews: at least {FEWEST_REVIEWS} are required")
    strata = _strata(items) if sampling == "stratified" else {"": list(items)}
    clusters = None
    for name, stratum in strata.items():
        found = _reviewed_clusters(name, stratum)
        clusters = clusters if found is None else (clusters or 0) + found
    tuned = [(len(stratum) / len(items), *_tuned(stratum, clusters)) for stratum in strata.values()]
    estimate = fsum(weight * one for weight, one, _ in tuned)
    # If people always say the same, dividing their reviews would only make each part's interval wider.
    ignored = (clusters or FEWEST_TUNED_CLUSTERS) < FEWEST_TUNED_CLUSTERS or len(
        {item.people for item in reviewed}
    ) == 1
    parts = [part for stratum in strata.values() for part in ([stratum] if ignored else _by_judge(stratum))]
    whole, plain = _Parted(parts, items, clusters), _Parted(list(strata.values()), items, clusters)
    interval = whole.interval(1.0)
    return CorrectedMean(
        judge=fmean(item.judge for item in items),
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
        raise NotCorrectable(f"{len(reviewed)} reviews{where}: at least {FEWEST_PER_STRATUM} are required")
    if len(items) - len(reviewed) < 2:
        raise NotCorrectable(f"everything{where} was reviewed, so there is nothing to estimate")
    named = [item.cluster for item in items if item.cluster]
    if len(set(named)) == len(named):
        return None
    clusters = len({item.cluster or place for place, item in enumerate(items) if item.people is not None})
    if clusters < FEWEST_REVIEWED_CLUSTERS:
        raise NotCorrectable(
            f"the reviews{where} are in {clusters} clusters: at least {FEWEST_REVIEWED_CLUSTERS} are required"
        )
    return clusters


def _by_judge(items: Sequence[JudgedItem]) -> list[list[JudgedItem]]:
    """Divide items by the judge's score, in parts that are large enough. It depends on no review."""
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
    rest = [item for part in parts if part not in known for item in part]
    if rest and known:
        max(known, key=len).extend(rest)
    return known or [list(items)]


class _Parted:
    """People's mean in each part of the items, joined by the parts' shares of all items."""

    def __init__(
        self, parts: Sequence[Sequence[JudgedItem]], items: Sequence[JudgedItem], clusters: int | None
    ) -> None:
        self._shares = [len(part) / len(items) for part in parts]
        self._scores = [[item.people for item in part if item.people is not None] for part in parts]
        self._means = [fmean(scores) for scores in self._scores]
        self._reviews, self._items, self._clusters = sum(map(len, self._scores)), len(items), clusters
        mean = fsum(w * m for w, m in zip(self._shares, self._means, strict=True))
        sums: dict[object, float] = {}
        alone = 0.0
        for share, scores, people, part in zip(self._shares, self._scores, self._means, parts, strict=True):
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
            as_clusters = self._reviews / clusters  # where nothing varies, a cluster counts once
            self._effect = corrected * (max(1.0, together / alone) if alone > 1e-18 else as_clusters)
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
    """Return the paper's estimate for one stratum, and its λ in [0, 1]: 0 with few reviewed clusters."""
    reviewed = [(item.people, item.judge) for item in items if item.people is not None]
    unreviewed = [item.judge for item in items if item.people is None]
    judge, people, known = (
        fmean(each)
        for each in ([item.judge for item in items], [y for y, _ in reviewed], [f for _, f in reviewed])
    )
    n, tuning = len(reviewed), 0.0
    variance = fsum((item.judge - judge) ** 2 for item in items) / (len(items) - 1)
    if variance and (clusters is None or clusters >= FEWEST_TUNED_CLUSTERS):
        covariance = fsum((y - people) * (f - known) for y, f in reviewed) / n
        tuning = min(1.0, max(0.0, covariance / ((1 + n / len(unreviewed)) * variance)))
    return tuning * fmean(unreviewed) + people - tuning * known, tuning


def _strata(items: Sequence[JudgedItem]) -> Mapping[str, list[JudgedItem]]:
    strata = grouped((item.stratum, item) for item in items)
    stratum_of: dict[str, str] = {}
    for item in items:
        if item.cluster and stratum_of.setdefault(item.cluster, item.stratum) != item.stratum:
            raise NotCorrectable(f"cluster {item.cluster!r} is in several strata: stratify whole clusters")
    return strata


def draw_reviews(strata: Mapping[str, str], n: int, seed: int) -> list[str]:
    """Return n item ids in the order to review them, drawn without replacement.

    Args:
        strata: item id to its stratum; one stratum for all is a plain random sample. Every stratum gives a
            share of its size (largest remainders), so that the whole is proportional.
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
    for stratum, size in sorted(_allocation({s: len(ids) for s, ids in by_stratum.items()}, n).items()):
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

"""Estimates what people would say about all verdicts, from a judge's verdicts and some blind reviews.

Prediction-powered inference with power tuning, PPI++ (Angelopoulos, Duchi and Zrnic 2023), for a mean. The
estimate is λ · (the judge's mean over what nobody reviewed) + the mean of (people − λ · judge) over what was
reviewed. λ is chosen for the smallest variance: 0 ignores the judge, 1 trusts it fully. The interval is valid
for any bias of the judge, as long as the reviews are a random sample, which `draw_reviews` draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from random import Random
from statistics import fmean
from typing import Literal

from bioeval_tui.report.statistics.estimates import LEVEL, Interval, Z, grouped, t_quantile

FEWEST_REVIEWS = 30
"""With fewer reviews, the normal approximation is invalid and there is no correction."""

FEWEST_REVIEWED_CLUSTERS = 10
"""Where verdicts are clustered, the reviews must come from at least as many clusters."""

FEWEST_TUNED_CLUSTERS = 20
"""With fewer reviewed clusters λ is 0: a λ fitted to them makes the interval too narrow."""

FEWEST_PER_STRATUM = 5
"""Each stratum needs at least as many reviews."""

Sampling = Literal["random", "stratified", "chosen"]
"""How the reviewed verdicts (or whole conversations) were drawn: at random from all, at random within each
stratum, or chosen by somebody, which cannot be corrected."""


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
    standard_error: float
    interval: Interval
    reviews_only: Interval
    """The interval without the judge's help (λ = 0)."""

    power_tuning: float
    """λ; with strata the mean over items."""

    reviews: int
    items: int
    clusters: int | None
    """How many clusters have reviews; None when no cluster has more than one item."""

    width_after_ten_more: float
    """The interval's expected width after ten more reviews drawn in the same way."""

    @property
    def width(self) -> float:
        """The interval's width now."""
        return self.interval.high - self.interval.low


def corrected_mean(items: Sequence[JudgedItem], sampling: Sampling) -> CorrectedMean:
    """Return the estimated mean of people's scores over all items, with a 95 % interval.

    The independent case (no cluster has two items) is that of the paper, with the normal quantile. With
    clusters (verdicts or whole conversations drawn) the variance is cluster-robust and the quantile
    Student's, with reviewed clusters − 1 degrees of freedom; each cluster's error is taken with the λ that the
    other clusters give, and below 20 reviewed clusters λ is 0. With strata each is estimated on its own, with its own λ, and weighted by its number of items.

    Raises:
        NotCorrectable: the reviews were chosen, are fewer than 30 or (in a stratum) 5, leave nothing
            unreviewed, lie in fewer than 10 of the clusters that the items come in, or a cluster lies in
            several strata.
    """
    reviews = sum(item.people is not None for item in items)
    if sampling == "chosen":
        raise NotCorrectable("the reviewed items are not a random sample, so they may differ from the others")
    if reviews < FEWEST_REVIEWS:
        raise NotCorrectable(f"{reviews} reviews: at least {FEWEST_REVIEWS} are required")
    strata = _strata(items) if sampling == "stratified" else {"": list(items)}
    parts = [_Part.of(name, stratum) for name, stratum in strata.items()]
    weights = [(part.moments.n + part.moments.rest) / len(items) for part in parts]
    clustered = [part for part in parts if part.clusters is not None]
    quantile = _quantile(clustered)
    estimate = fsum(w * part.estimate for w, part in zip(weights, parts, strict=True))
    plain = fsum(w * part.moments.people for w, part in zip(weights, parts, strict=True))
    error = _error(weights, [part.variance for part in parts])
    plain_error = _error(weights, [part.plain_variance for part in parts])
    later = _error(weights, [part.variance_after(10 * w) for w, part in zip(weights, parts, strict=True)])
    return CorrectedMean(
        judge=fmean(item.judge for item in items),
        estimate=estimate,
        standard_error=error,
        interval=_interval(estimate, quantile * error, reviews, len(items)),
        reviews_only=_interval(plain, quantile * plain_error, reviews, len(items)),
        power_tuning=fsum(w * part.tuning for w, part in zip(weights, parts, strict=True)),
        reviews=reviews,
        items=len(items),
        clusters=sum(part.clusters or part.moments.n for part in parts) if clustered else None,
        width_after_ten_more=2 * quantile * later,
    )


@dataclass(frozen=True, slots=True)
class _Moments:
    """Means and variances of the reviewed (n) and the unreviewed (rest) items of one stratum."""

    people: float
    judge_reviewed: float
    judge_unreviewed: float
    people_variance: float
    covariance: float
    judge_reviewed_variance: float
    judge_unreviewed_variance: float
    judge_variance: float
    """Of the reviewed and the unreviewed together, as power tuning uses it."""

    n: int
    rest: int

    @classmethod
    def of(cls, items: Sequence[JudgedItem]) -> _Moments:
        reviewed = [(item.people, item.judge) for item in items if item.people is not None]
        unreviewed = [item.judge for item in items if item.people is None]
        people, judge_unreviewed = fmean(y for y, _ in reviewed), fmean(unreviewed)
        judge_reviewed = fmean(f for _, f in reviewed)
        covariance = fsum((y - people) * (f - judge_reviewed) for y, f in reviewed) / len(reviewed)
        return cls(
            people=people,
            judge_reviewed=judge_reviewed,
            judge_unreviewed=judge_unreviewed,
            people_variance=_variance([y for y, _ in reviewed], people),
            covariance=covariance,
            judge_reviewed_variance=_variance([f for _, f in reviewed], judge_reviewed),
            judge_unreviewed_variance=_variance(unreviewed, judge_unreviewed),
            judge_variance=_variance([item.judge for item in items], None) * len(items) / (len(items) - 1),
            n=len(reviewed),
            rest=len(unreviewed),
        )

    def estimate(self, tuning: float) -> float:
        return tuning * self.judge_unreviewed + self.people - tuning * self.judge_reviewed

    def tuning(self, n: float, rest: float) -> float:
        """Return the paper's λ for n reviews, in [0, 1]."""
        if not self.judge_variance:
            return 0.0
        return min(1.0, max(0.0, self.covariance / ((1 + n / rest) * self.judge_variance)))

    def variance(self, tuning: float, n: float, rest: float) -> float:
        """Return the variance of the estimate from n reviews of independent items."""
        rectifier = (
            self.people_variance - 2 * tuning * self.covariance + tuning**2 * self.judge_reviewed_variance
        )
        return max(0.0, rectifier) / n + tuning**2 * self.judge_unreviewed_variance / rest


@dataclass(frozen=True, slots=True)
class _Part:
    """One stratum: its moments, λ and the variances of the estimate with it and without (λ = 0)."""

    moments: _Moments
    tuning: float
    variance: float
    plain_variance: float
    clusters: int | None

    @classmethod
    def of(cls, name: str, items: Sequence[JudgedItem]) -> _Part:
        where = f" in stratum {name!r}" if name else ""
        n = sum(item.people is not None for item in items)
        if n < FEWEST_PER_STRATUM:
            raise NotCorrectable(f"{n} reviews{where}: at least {FEWEST_PER_STRATUM} are required")
        if len(items) - n < 2:
            raise NotCorrectable(f"everything{where} was reviewed, so there is nothing to estimate")
        moments = _Moments.of(items)
        named = [item.cluster for item in items if item.cluster]
        if len(set(named)) < len(named):
            return cls._clustered(moments, items, where)
        tuning = moments.tuning(moments.n, moments.rest)
        variances = [moments.variance(each, moments.n, moments.rest) for each in (tuning, 0.0)]
        return cls(moments, tuning, variances[0], variances[1], None)

    @classmethod
    def _clustered(cls, moments: _Moments, items: Sequence[JudgedItem], where: str) -> _Part:
        sums, clusters = _cluster_sums(moments, items)
        if clusters < FEWEST_REVIEWED_CLUSTERS:
            raise NotCorrectable(
                f"the reviews{where} are in {clusters} clusters: at least {FEWEST_REVIEWED_CLUSTERS} are required"
            )
        plain = fsum(a * a for a, _ in sums) * clusters / (clusters - 1)
        if clusters < FEWEST_TUNED_CLUSTERS:
            return cls(moments, 0.0, plain, plain, clusters)
        cross, square = fsum(a * b for a, b in sums), fsum(b * b for _, b in sums)
        # Each cluster's error is taken with the λ that the others give: a λ fitted to few clusters would
        # look better than it is.
        others = [(a, b, _ratio(cross - a * b, square - b * b)) for a, b in sums]
        left_out = fsum((a + tuning * b) ** 2 for a, b, tuning in others)
        return cls(moments, _ratio(cross, square), left_out * clusters / (clusters - 2), plain, clusters)

    @property
    def estimate(self) -> float:
        return self.moments.estimate(self.tuning)

    def variance_after(self, more: float) -> float:
        """Return the variance to be expected after `more` reviews, at the current design effect."""
        moments = self.moments
        n = min(moments.n + more, moments.n + moments.rest - 1)
        rest = moments.n + moments.rest - n
        now = moments.variance(self.tuning, moments.n, moments.rest)
        tuning = moments.tuning(n, rest) if self.clusters is None else self.tuning
        return (self.variance / now if now else 1.0) * moments.variance(tuning, n, rest)


def _cluster_sums(moments: _Moments, items: Sequence[JudgedItem]) -> tuple[list[tuple[float, float]], int]:
    """Return for each cluster (a, b), and how many clusters have reviews.

    A cluster adds a + λ · b to the error of the estimate: a from what people said, b from the judge's verdicts on
    reviewed and unreviewed items of the same cluster.
    """
    sums: dict[object, list[float]] = {}
    reviewed: set[object] = set()
    for place, item in enumerate(items):
        cluster: object = item.cluster or place
        parts = sums.setdefault(cluster, [0.0, 0.0])
        if item.people is None:
            parts[1] += (item.judge - moments.judge_unreviewed) / moments.rest
        else:
            reviewed.add(cluster)
            parts[0] += (item.people - moments.people) / moments.n
            parts[1] -= (item.judge - moments.judge_reviewed) / moments.n
    return [(a, b) for a, b in sums.values()], len(reviewed)


def _ratio(cross: float, square: float) -> float:
    """Return the λ in [0, 1] for which the sum of (a + λ · b)² is smallest."""
    return min(1.0, max(0.0, -cross / square)) if square > 0 else 0.0


def _variance(values: Sequence[float], mean: float | None) -> float:
    """Return the variance over n; `statistics.pvariance` is exact, and far too slow for 30,000 values."""
    centre = fmean(values) if mean is None else mean
    return fsum((value - centre) ** 2 for value in values) / len(values)


def _strata(items: Sequence[JudgedItem]) -> Mapping[str, list[JudgedItem]]:
    found = grouped((item.stratum, item) for item in items)
    stratum_of: dict[str, str] = {}
    for item in items:
        if item.cluster and stratum_of.setdefault(item.cluster, item.stratum) != item.stratum:
            raise NotCorrectable(f"cluster {item.cluster!r} is in several strata: stratify whole clusters")
    return found


def _quantile(clustered: Sequence[_Part]) -> float:
    share = (1 + LEVEL) / 2
    if not clustered:
        return Z
    clusters = sum(part.clusters or 0 for part in clustered)
    return t_quantile(share, max(1, clusters - len(clustered)))


def _error(weights: Sequence[float], variances: Sequence[float]) -> float:
    return sqrt(fsum(w * w * v for w, v in zip(weights, variances, strict=True)))


def _interval(centre: float, half: float, reviews: int, items: int) -> Interval:
    scope = f"{reviews} reviews of {items}"
    return Interval(max(0.0, centre - half), min(1.0, centre + half), scope)


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

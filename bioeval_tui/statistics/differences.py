"""Paired differences, many of them with Holm's correction, the ranks that follow from all of them
together, and the tests for both; beside these the signed-rank and the binomial test, which the
checks of judges use.

A difference is supplied − withheld, or run B − run A, of one trial.

Ranks come with intervals: "rank 2–7". Agents are compared on the same cases. All pairwise
differences are tested at once (a studentised wild bootstrap that flips the signs of whole cases,
stepped down as Romano and Wolf 2005); an agent's best rank is one more than the number of agents
that are significantly better, its worst excludes those that are significantly worse (Mogstad,
Romano, Shaikh and Wilhelm, Inference for Ranks, 2024). With a probability of at least 95 %, all
true ranks are in their intervals. Two agents whose intervals overlap may be tied.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from math import ceil, comb, floor, inf, sqrt
from typing import Any, Literal, TypeVar

from bioeval_tui.statistics.estimates import Estimate, Sample, estimate
from bioeval_tui.statistics.intervals import CHANGE, FEWEST, FEWEST_UNITS, LEVEL, NORMAL, special
from bioeval_tui.statistics.means import TINY, exact_difference, exact_mean

Verdict = Literal["better", "worse", "same", "not distinguishable", "too few", "not measured"]
Name = TypeVar("Name", bound=Hashable)
FOUND_AT = 1 - LEVEL
"""The largest p-value at which two runs are said to differ."""
BESIDE = 0.2
"""The share of these 5 % for tests beside the most important ones."""


def differences(
    pairs: Iterable[tuple[Sample | None, Sample | None]], *, independent: bool = True
) -> list[Sample]:
    """Return second − first of each pair; a pair without both values keeps the reason.

    `independent` says that a pair are two conversations, not two readings of one.
    """
    samples = []
    for first, second in pairs:
        if first is None or second is None:
            one = first or second or Sample("", None)
            samples.append(Sample(one.job, None, "not run on both sides", one.case))
        elif first.value is None:
            samples.append(Sample(first.job, None, first.reason, first.case))
        elif second.value is None:
            samples.append(Sample(first.job, None, second.reason, first.case))
        else:
            sides = (first.value, second.value) if independent else None
            stopped = first.stopped or second.stopped
            value = exact_difference(second.value, first.value)
            samples.append(Sample(first.job, value, case=first.case, sides=sides, stopped=stopped))
    return samples


@dataclass(frozen=True, slots=True)
class Difference:
    """A paired difference and its conclusion."""

    estimate: Estimate
    p: float | None = None
    """Two-sided, corrected for the `tests` made together; None if there are too few pairs, or no
    pair differs.
    """
    of_trials: bool = False
    """Whether the pairs are of independent trials, else of cases or of two readings of one
    conversation.
    """
    tests: float = 1
    """How many tests share the 5 %, and more if they have only a share of it."""
    higher_is_better: bool = True

    @property
    def mean(self) -> float | None:
        """The mean of the paired differences."""
        return self.estimate.mean

    @property
    def units(self) -> int:
        """The number of independent pairs: of jobs or cases if there are several, else of
        trials.
        """
        if self.estimate.clusters > 1:
            return self.estimate.clusters
        return len(self.estimate.points)

    @property
    def unit(self) -> str:
        """What an independent pair is of: `trial`, `case` or `job`."""
        if self.estimate.clusters == 1:
            return "trial"
        return self.estimate.unit

    @property
    def needed(self) -> int:
        """The least number of independent pairs with which a difference could be told from
        chance.
        """
        return next(
            n
            for n in count(FEWEST)
            if _least_p(n, of_trials=self.of_trials) * self.tests <= FOUND_AT
        )

    @property
    def verdict(self) -> Verdict:
        """What can be said: `better` and `worse` only if chance alone would rarely do it."""
        if self.mean is None:
            return "not measured"
        if self.units < FEWEST:
            return "too few"
        if self.p is None:
            return "same"
        if self.units < self.needed:
            return "too few"
        if self.p > FOUND_AT:
            return "not distinguishable"
        if (self.mean > 0) == self.higher_is_better:
            return "better"
        return "worse"

    @property
    def beyond_interval(self) -> bool:
        """Whether the interval leaves out 0 although the corrected p-value does not allow a
        verdict.
        """
        interval = self.estimate.interval
        if self.p is None or interval is None:
            return False
        return self.p > FOUND_AT and not interval.low <= 0 <= interval.high


def difference(
    samples: Sequence[Sample], *, higher_is_better: bool = True, unit: bool = True
) -> Difference:
    """Sum up paired differences.

    `unit` says that the values lie in [0, 1], their differences in [−1, 1].
    """
    estimated = estimate(samples, CHANGE if unit else (-inf, inf), paired=True)
    sides = [sample.sides for sample in samples if sample.value is not None]
    known = [side for side in sides if side is not None]
    of_trials = estimated.clusters == 1 and len(known) == len(sides)
    tested = Difference(estimated, of_trials=of_trials, higher_is_better=higher_is_better)
    if tested.units < FEWEST or not any(abs(x) > TINY for x in estimated.points):
        return tested
    if any(sample.stopped for sample in samples):
        # Chance stops a batch where it looks like a difference; its interval says whether there is
        # one.
        interval = estimated.interval
        if interval is None or interval.low <= 0 <= interval.high:
            return replace(tested, p=1.0)
        return replace(tested, p=FOUND_AT)
    if not of_trials:
        known = []
    return replace(tested, p=_p_value(tested, known))


def corrected(
    first: Mapping[Name, Difference], beside: Mapping[Name, Difference]
) -> dict[Name, Difference]:
    """Return differences that are looked at together, with p-values corrected by Holm's method.

    So the chance of any false verdict is at most 5 %: 1 % for what stands `beside` the first and 4
    % for these, or all of it if nothing beside them has enough pairs for a verdict.
    """
    rest = _corrected(beside, BESIDE)
    if any(one.p is not None and one.units >= one.needed for one in rest.values()):
        return _corrected(first, 1 - BESIDE) | rest
    return _corrected(first, 1.0) | rest


def _corrected(named: Mapping[Name, Difference], share: float) -> dict[Name, Difference]:
    """Return differences with p-values for so large a share of the 5 %.

    A difference of 0 in every pair is no test: no assignment of its values to the two sides shows
    anything.
    """
    p_values = {name: one.p for name, one in named.items() if one.p is not None}
    adjusted = holm(p_values)
    found = {}
    for name, one in named.items():
        if one.p is None:
            # Any that have too few pairs yet may become a test with more.
            found[name] = replace(one, tests=len(named) / share)
        else:
            p = min(1.0, adjusted[name] / share)
            found[name] = replace(one, p=p, tests=len(p_values) / share)
    return found


def _p_value(difference: Difference, sides: Sequence[tuple[float, float]]) -> float:
    """Return the p-value of the t test, or that of the strongest result of so many pairs in an
    exact test if it is larger.

    With few pairs, or equal differences, the t test claims more than so few can show.
    """
    estimated, units = difference.estimate, difference.units
    assert estimated.mean is not None
    assert estimated.standard_error is not None
    assert estimated.degrees is not None
    spread = estimated.standard_error > TINY
    if not spread and abs(estimated.mean) <= TINY:
        return 1.0
    by_t = 0.0
    if spread:
        by_t = t_test_p(estimated.mean / estimated.standard_error, estimated.degrees)
    least = _least_p(units, of_trials=False)
    if not sides:
        return max(by_t, least)
    first, second = ({round(side[which], 12) for side in sides} for which in (0, 1))
    if len(first) == len(second) == 1:
        return _least_p(units, of_trials=True)
    apart = max(first) < min(second) or max(second) < min(first)
    if apart or spread:
        # Of 2n values in random order, n and n are wholly apart with this probability.
        least = 2 / comb(2 * units, units)
    return max(by_t, least)


def _least_p(pairs: int, *, of_trials: bool) -> float:
    """Return the smallest p-value that so many pairs can give, whatever the distribution.

    Of 2n independent trials, the first n are all equal and the others all equal to something else
    with a probability of 2 / 4ⁿ at most. Signs of n paired differences are all the same with 2 /
    2ⁿ.
    """
    # A negative power: from 1,024 pairs on, the chance is below the smallest float, and its inverse
    # above the largest.
    assignments = 4.0 if of_trials else 2.0
    return 2.0 * assignments**-pairs


def holm(p_values: Mapping[Name, float]) -> dict[Name, float]:
    """Return each test's p-value adjusted by Holm's method, in the order given.

    Rejecting every test whose adjusted p-value is at most α keeps the chance of even one false
    rejection (the family-wise error rate) at α or below, however the tests depend on each other.

    Raises:
        ValueError: a p-value is not in [0, 1].
    """
    for name, p in p_values.items():
        if not 0 <= p <= 1:
            raise ValueError(f"the p-value of {name} is {p}, not in [0, 1]")
    adjusted: dict[Name, float] = {}
    largest = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, p * (len(p_values) - rank)))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}


def t_test_p(t: float, degrees: float) -> float:
    """Return the two-sided p-value of Student's t test."""
    return 2 * float(special().stdtr(degrees, -abs(t)))


DRAWS = 1000
"""Number of draws of signs."""


MOST_EXACT = 100
"""With more differences than this the signed-rank test uses the normal approximation."""


def signed_rank_p(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of the signed-rank test (Wilcoxon 1945): how probable ranks at
    least as one-sided are if the differences lie symmetrically about 0. Zeros are left out; without
    any other difference it is 1.

    Up to 100 differences the distribution over all 2ⁿ signs is exact, also where ranks are tied,
    which `scipy.stats.wilcoxon` is not. Values before and after a meaningless change are
    exchangeable, so their differences are symmetric whatever their distribution.
    """
    import numpy as np  # with SciPy a second that only this test waits for
    from scipy.stats import rankdata

    # What only rounding keeps apart is tied, and what only rounding keeps from 0 is 0.
    known = np.array([round(x, 12) for x in differences if abs(x) > 1e-12])
    ranks = (2 * rankdata(np.abs(known))).astype(int)  # mid-ranks, doubled: whole numbers
    total = int(ranks.sum())
    positive = int(ranks[known > 0].sum())
    larger = max(positive, total - positive)
    if len(known) > MOST_EXACT:
        z = (larger - total / 2) / (sqrt((ranks**2).sum()) / 2)
        return min(1.0, 2 * NORMAL.cdf(-z))
    chances = np.ones(1)  # of each sum of the positive ranks
    for rank in ranks:
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    return min(1.0, 2 * float(chances[larger:].sum()))


def binomial_p(share: float, n: int, tolerated: float) -> float:
    """Return the one-sided p-value of a share of `n` (rounded down to whole ones) where `tolerated`
    would be right.
    """
    return float(special().bdtrc(floor(share * n + 1e-9) - 1, n, tolerated))


@dataclass(frozen=True, slots=True)
class AgentRank:
    """An agent's mean over the common cases, its place by that mean, and the ranks it may truly
    have.
    """

    name: str
    mean: float
    place: int
    best: int
    worst: int


@dataclass(frozen=True, slots=True)
class AgentRanking:
    """All agents, the best mean first; `cases` were used, `left_out` were not common to all."""

    ranks: tuple[AgentRank, ...]
    cases: int
    left_out: int


def rank(
    scores: Mapping[str, Mapping[str, Sequence[float]]], *, draws: int = DRAWS
) -> AgentRanking:
    """Return the agents' ranks, the highest mean first, with simultaneous 95 % intervals.

    Deterministic for given scores.

    Args:
        scores: agent to case to its values, such as one per trial and judge: a case is one cluster.
            Cases that an agent lacks are left out for all.
        draws: how many times signs are drawn.
    """
    names = list(scores)
    everywhere = set(chain.from_iterable(scores.values()))
    common = sorted(case for case in everywhere if all(scores[name].get(case) for name in names))
    means = {name: [exact_mean(scores[name][case]) for case in common] for name in names}
    better: set[tuple[str, str]] = set()
    if len(common) >= FEWEST_UNITS:
        better = _better_beyond_doubt(means, draws)
    overall = {name: exact_mean(values) if values else 0.0 for name, values in means.items()}
    places = {name: 1 + sum(other > overall[name] for other in overall.values()) for name in names}
    ranks = [
        AgentRank(
            name=name,
            mean=overall[name],
            place=places[name],
            best=1 + sum(worse == name for _, worse in better),
            worst=len(names) - sum(winner == name for winner, _ in better),
        )
        for name in sorted(names, key=lambda name: places[name])
    ]
    return AgentRanking(tuple(ranks), len(common), len(everywhere) - len(common))


def _better_beyond_doubt(means: Mapping[str, Sequence[float]], draws: int) -> set[tuple[str, str]]:
    """Return the (better, worse) pairs; the chance that even one is wrong is at most 5 %."""
    import numpy as np  # commands start without it; it comes with the first interval

    names, values = list(means), np.array(list(means.values()))
    cases = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    gaps = np.subtract.outer(values.mean(axis=1), values.mean(axis=1))
    spread = np.array([np.sqrt(((each - centred) ** 2).sum(axis=1)) for each in centred])
    varies = spread > 1e-12
    # Differences that are the same in every case leave no doubt, except for a rest of rounding.
    statistics = np.where(gaps > 1e-9, inf, 0.0)
    statistics[varies] = gaps[varies] / spread[varies] * sqrt(cases * (cases - 1))
    noise = np.random.default_rng(0).choice((-1.0, 1.0), (draws, cases)) @ centred.T
    open_pairs = ~np.eye(len(names), dtype=bool)
    better: set[tuple[str, str]] = set()
    while True:
        new = open_pairs & (statistics > _critical(noise, spread, open_pairs & varies, cases))
        if not new.any():
            return better
        better |= {(names[a], names[b]) for a, b in zip(*np.nonzero(new), strict=True)}
        open_pairs &= ~new


def _critical(noise: Any, spread: Any, pairs: Any, cases: int) -> float:
    """Return the critical value of the largest statistic of these pairs, from noise of shape
    (draws, agents).
    """
    largest = [
        ((noise[:, [a]] - noise[:, with_b]) / spread[a, with_b]).max(axis=1)
        for a, with_b in enumerate(pairs)
        if with_b.any()
    ]
    if not largest:
        return 0.0
    ascending = sorted(map(max, zip(*largest, strict=True)))
    # The quantile's own 99 % limit: a thousand draws know it only so far, and must not narrow
    # anything.
    upper = LEVEL * len(ascending) + 2.326 * sqrt(LEVEL * (1 - LEVEL) * len(ascending))
    z = float(ascending[min(len(ascending) - 1, ceil(upper))])
    # The statistic's error is estimated again after the flips; flips keep the sum of squares, so t
    # grows with z.
    return z * sqrt((cases - 1) / cases) / sqrt(max(1e-12, 1 - z * z / cases))

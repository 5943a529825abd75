"""Paired differences: whether B is better than A, or knowing the facts helps, beyond chance; and
many of them looked at together, with Holm's correction.

A difference is supplied − withheld, or run B − run A, of one trial. `difference` sums up those of
one comparison and tests them; `Difference.direction` says what can be said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import comb, inf
from typing import Literal

from bioeval_tui.statistics.estimates import Estimate, Sample, estimate
from bioeval_tui.statistics.intervals import CHANGE, FEWEST, LEVEL
from bioeval_tui.statistics.means import TINY, exact_difference
from bioeval_tui.statistics.p_values import Name, holm, t_test_p

Direction = Literal["better", "worse", "same", "not distinguishable", "too few", "not measured"]
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
    def direction(self) -> Direction:
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
    def is_beyond_chance(self) -> bool:
        """Whether chance alone would rarely make it."""
        return self.direction in ("better", "worse")

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

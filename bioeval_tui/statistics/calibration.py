"""A judge's share of passes, corrected by how often it was right about other verdicts that people
reviewed.

The judge's errors are known from a reviewed sample: its sensitivity (of what people passed, the
share that it passed) and its specificity (of what they failed, the share that it failed). If they
hold here, too, the share that people would pass is (passes + specificity − 1) / (sensitivity +
specificity − 1): Rogan and Gladen, Estimating prevalence from the results of a screening test,
1978. It does not matter how many passes there were among the reviews.

The interval has every share for which the judge's passes are what these errors would give: the
right ones that it finds and the wrong ones that it lets through (Fieller's way, which allows for a
judge that may be hardly better than chance). Each of the three shares has its own interval,
clustered by case or conversation; they are joined by MOVER.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot

from bioeval_tui.statistics.estimates import grouped
from bioeval_tui.statistics.intervals import (
    FEWEST_UNITS,
    UNIT,
    Interval,
    Measured,
    joined,
    mean_of,
)
from bioeval_tui.statistics.judges import NotCorrectable

STEPS = 40
"""How often the distance to an end of an interval is halved."""


@dataclass(frozen=True, slots=True)
class ReviewedVerdict:
    """What the judge and people said about the same, and its case or conversation."""

    cluster: str
    judge_passed: bool
    people_passed: bool


@dataclass(frozen=True, slots=True)
class CalibratedShare:
    """The share that people would pass, in [0, 1]; `judge` is the share that the judge passed."""

    judge: float
    estimate: float
    interval: Interval
    sensitivity: float
    specificity: float
    reviews: int


def calibrated_share(
    passes: Mapping[str, Sequence[bool]], reviewed: Sequence[ReviewedVerdict]
) -> CalibratedShare:
    """Return the share that people would pass, with a 95 % interval.

    Args:
        passes: the judge's verdicts that nobody reviewed, by case or conversation.
        reviewed: a random sample of other verdicts of the same judge.

    Raises:
        NotCorrectable: there are too few reviews of what people passed or of what they failed, too
            few conversations here, or the judge tells too little.
    """
    sensitivity = _share(
        "passed", ((one.cluster, one.judge_passed) for one in reviewed if one.people_passed)
    )
    specificity = _share(
        "failed", ((one.cluster, not one.judge_passed) for one in reviewed if not one.people_passed)
    )
    share = mean_of(
        {cluster: [float(one) for one in many] for cluster, many in passes.items()}, UNIT
    )
    if share is None or share.interval is None:
        units = share.units if share else 0
        raise NotCorrectable(
            f"{units} judged conversations or cases here: at least {FEWEST_UNITS} are required"
        )
    judge = _Judge(share.value, share.interval, sensitivity, specificity)
    # Where it may be 0, any share could be right.
    if judge.informative <= judge.uncertainty:
        raise NotCorrectable("by these reviews, the judge may be no better than chance")
    estimate = _within((share.value + specificity.value - 1) / judge.informative)
    if not judge.allows(estimate):
        raise NotCorrectable(
            "its passes here are fewer, or more, than its errors in the reviews would give,"
            " whatever is right: its errors are others here"
        )
    interval = Interval(
        judge.end(estimate, 0.0), judge.end(estimate, 1.0), share.interval.scope, "Rogan-Gladen"
    )
    return CalibratedShare(
        share.value, estimate, interval, sensitivity.value, specificity.value, len(reviewed)
    )


class _Judge:
    """The three shares, and which share of passes by people they allow."""

    def __init__(
        self, passes: float, interval: Interval, sensitivity: Measured, specificity: Measured
    ) -> None:
        found, refused = _ends(sensitivity), _ends(specificity)
        self._passes = (1.0, passes, interval)
        self._missed = (1 - sensitivity.value, Interval(1 - found.high, 1 - found.low))
        self._refused = (specificity.value, refused)
        self.informative = sensitivity.value + specificity.value - 1
        """0 of a judge that tells nothing, 1 of one that is always right."""
        self.uncertainty = hypot(sensitivity.value - found.low, specificity.value - refused.low)
        """How much less that may be."""

    def allows(self, share: float) -> bool:
        """Return whether the judge's passes may be what its errors give if people pass this
        share.
        """
        balance = joined(
            [self._passes, (share, *self._missed), (1 - share, *self._refused)], (0.0, 3.0), ""
        )
        return balance.low <= 1 <= balance.high

    def end(self, within: float, bound: float) -> float:
        """Return the last share that is allowed on the way from one that is to a bound."""
        if self.allows(bound):
            return bound
        beyond = bound
        for _ in range(STEPS):
            middle = (within + beyond) / 2
            if self.allows(middle):
                within = middle
            else:
                beyond = middle
        return within


def _within(value: float) -> float:
    return min(1.0, max(0.0, value))


def _share(people: str, right: Iterable[tuple[str, bool]]) -> Measured:
    """Return how often the judge was right about what people `passed` or `failed`.

    Raises:
        NotCorrectable: that was too rare, or in too few conversations.
    """
    groups = grouped((cluster, float(yes)) for cluster, yes in right)
    measured = mean_of(groups, UNIT, unit="conversation")
    if measured is None or measured.interval is None:
        found, units = (measured.values, measured.units) if measured else (0, 0)
        raise NotCorrectable(
            f"people {people} {found} of the reviewed verdicts, in {units} conversations or cases:"
            f" at least {FEWEST_UNITS} are required"
        )
    return measured


def _ends(measured: Measured) -> Interval:
    assert measured.interval is not None
    return measured.interval

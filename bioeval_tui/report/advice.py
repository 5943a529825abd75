"""What a difference between two runs leaves open, how many trials would tell, and what so many may be expected to show."""

from __future__ import annotations

from itertools import count
from math import sqrt

from bioeval_tui.report import findings as of
from bioeval_tui.report.findings import Advice
from bioeval_tui.report.statistics.differences import Difference
from bioeval_tui.report.statistics.planning import ASSUMED, VarianceComponents, trials_for_difference
from bioeval_tui.uncertainty import FEWEST, FEWEST_UNITS, LEVEL, share_interval, t_quantile

EFFECTS = (0.1, 0.05, 0.02, 0.01)
"""The differences to plan for: the first one that the pairs so far cannot be expected to show."""
POWER = 0.8
RARE = 0.1
"""The share of trials in which a difference may be missed, to plan for."""


def advice(found: Difference) -> Advice | None:
    """Return what cannot be concluded from a difference yet; None if it is beyond chance."""
    estimate, pairs = found.estimate, found.units
    if not estimate.points:
        return of.NothingPaired()
    if pairs < FEWEST and estimate.clusters == 1:
        return of.PairsWithoutInterval(len(estimate.points))
    if found.verdict == "too few":
        return of.PairsWithinChance(of.Units(pairs, found.unit), found.needed)
    if found.verdict in ("better", "worse"):
        return None
    of_cases = estimate.clusters > 1
    if found.verdict == "same":
        enough = next(n for n in count(pairs) if _unseen(n) < RARE)
        return of.UnseenDifference(_unseen(pairs), RARE, enough if enough > pairs else None, of_cases)
    for effect in EFFECTS:
        wanted = needed(found, effect)
        if wanted and wanted > found.units:
            return of.OpenDifference(estimate.interval, wanted, effect, POWER, of_cases)
    return of.OpenDifference(estimate.interval, None, 0.0, POWER, of_cases)


def needed(found: Difference, effect: float) -> int | None:
    """Return how many trials, or cases, show a true difference of `effect` if they vary as much as these; None if no number."""
    error = found.estimate.standard_error
    assert error is not None
    return trials_for_difference(VarianceComponents(0.0, error**2 * found.units), effect, 1, POWER)


def expected_interval(trials: int) -> of.IntervalExpected:
    """Return whether so many trials give an interval, and how wide it is to be expected."""
    enough = max(trials, FEWEST_UNITS)
    deviation = sqrt(ASSUMED.within)
    half = t_quantile((1 + LEVEL) / 2, enough - 1) * deviation / sqrt(enough)
    return of.IntervalExpected(trials, FEWEST_UNITS, half, deviation)


def _unseen(pairs: int) -> float:
    """Return the upper end of the interval of a share of which none were seen."""
    return share_interval(0.0, pairs).high

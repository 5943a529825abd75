"""What a difference between two runs leaves open, and how many trials would tell: one sentence, made by rules."""

from __future__ import annotations

from itertools import count
from math import sqrt

from bioeval_tui.report.numbers import FEWEST
from bioeval_tui.report.statistics.differences import Difference
from bioeval_tui.report.statistics.estimates import LEVEL, proportion, t_quantile
from bioeval_tui.report.statistics.planning import ASSUMED, VarianceComponents, trials_for_difference
from bioeval_tui.text import plural

EFFECTS = (0.1, 0.05, 0.02, 0.01)
"""The differences to plan for: the first one that the pairs so far cannot be expected to show."""
POWER = 0.8
RARE = 0.1
"""The share of trials in which a difference may be missed, to plan for."""


def advice(found: Difference) -> str:
    """Return what cannot be concluded from a difference yet; empty if it is beyond chance."""
    estimate, pairs = found.estimate, found.units
    if not estimate.points:
        return "Nothing can be concluded: no pair of conversations has both scores."
    if estimate.interval is None:
        seen = "One pair shows" if len(estimate.points) == 1 else f"{len(estimate.points)} pairs show"
        return (
            f"{seen} what happened, not what to expect: {FEWEST} trials of each run would give an interval."
        )
    if found.verdict == "too few":
        return f"{plural(pairs, found.unit)} cannot tell a difference from chance: {found.needed} would do."
    if found.verdict in ("better", "worse"):
        return ""
    units = "cases" if estimate.clusters > 1 else "trials of each run"
    if found.verdict == "same":
        enough = next(n for n in count(pairs) if _unseen(n) < RARE)
        more = (
            f"; {enough} {units} without one would leave less than {RARE * 100:.0f} %"
            if enough > pairs
            else ""
        )
        return f"A difference in up to {_unseen(pairs) * 100:.0f} % of trials could have been missed{more}."
    wanted = ((needed(found, effect), effect) for effect in EFFECTS)
    trials, effect = next(((n, effect) for n, effect in wanted if n and n > found.units), (0, 0.0))
    more = (
        f"; about {trials:,} {units} would show one of {effect:g} ({POWER * 100:.0f} % power)"
        if trials
        else ""
    )
    return f"A difference from {estimate.interval.words} remains possible{more}."


def needed(found: Difference, effect: float) -> int | None:
    """Return how many trials, or cases, show a true difference of `effect` if they vary as much as these; None if no number."""
    error = found.estimate.standard_error
    assert error is not None
    return trials_for_difference(VarianceComponents(0.0, error**2 * found.units), effect, 1, POWER)


def trials_words(trials: int) -> str:
    """Return whether so many trials give an interval, and how wide it is to be expected."""
    enough = max(trials, FEWEST)
    deviation = sqrt(ASSUMED.within)
    half = t_quantile((1 + LEVEL) / 2, enough - 1) * deviation / sqrt(enough)
    about = f"an interval of about ±{half:.2f}, if trials vary by {deviation:.2f}"
    if trials >= FEWEST:
        return f"{trials} trials give {about}"
    return f"{plural(trials, 'trial')}: no interval; {FEWEST} give {about}"


def _unseen(pairs: int) -> float:
    """Return the upper end of the interval of a share of which none were seen."""
    interval = proportion(0, pairs).interval
    assert interval is not None
    return interval.high

"""Means, differences and shares as JSON objects, each with its interval: the parts that the JSON of
a report (`json_report.py`) and of a comparison (`json_comparison.py`) have in common.

The classes are the objects' shapes, from which the printed schemas are made (`cli/schemas.py`).
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from typing_extensions import TypedDict

from bioeval_tui.base.printed import Fields
from bioeval_tui.report.sentences import difference_words, spread_words
from bioeval_tui.statistics.estimates import Estimate, Proportion
from bioeval_tui.statistics.intervals import LEVEL, Interval
from bioeval_tui.statistics.paired_differences import Difference, Direction


class PrintedInterval(TypedDict):
    """An interval, its level, and what it rests on."""

    low: float
    high: float
    level: float
    scope: str


class PrintedMean(TypedDict):
    """A mean with its interval. `held` conversations were run, `used` have a score.

    `held_again` of them broke by their connection to the agent and were repeated.
    """

    mean: float | None
    standard_error: float | None
    interval: PrintedInterval | None
    points: list[float]
    range: list[float] | None
    used: int
    held: int
    held_again: int
    excluded: dict[str, int]
    mean_with_excluded_as_0: float | None
    words: str


class PrintedDifference(PrintedMean):
    """A paired difference, B − A or supplied − withheld."""

    verdict: Direction


PROPORTION = Fields(
    Proportion,
    called="PrintedProportion",
    about="A share with its interval.",
    interval=PrintedInterval | None,
)
PrintedProportion = Annotated[dict[str, Any], PROPORTION]


def estimate_dict(estimate: Estimate | None) -> PrintedMean | None:
    """Return an estimate: mean, error, interval with its scope, and the number of used and run
    conversations.
    """
    if estimate is None:
        return None
    return given_estimate_dict(estimate)


def given_estimate_dict(estimate: Estimate) -> PrintedMean:
    """Return an estimate that there is."""
    return {
        "mean": estimate.mean,
        "standard_error": estimate.standard_error,
        "interval": _interval(estimate.interval),
        "points": list(estimate.points),
        "range": [min(estimate.points), max(estimate.points)] if estimate.points else None,
        "used": estimate.counted.used,
        "held": estimate.counted.held,
        "held_again": estimate.counted.again,
        "excluded": dict(estimate.counted.reasons),
        "mean_with_excluded_as_0": estimate.with_excluded_as_zero,
        "words": spread_words(estimate),
    }


def difference_dict(difference: Difference | None) -> PrintedDifference | None:
    """Return a paired difference with its verdict and text."""
    if difference is None:
        return None
    return given_difference_dict(difference)


def given_difference_dict(difference: Difference) -> PrintedDifference:
    """Return a difference that there is."""
    return {
        **given_estimate_dict(difference.estimate),
        "verdict": difference.direction,
        "words": difference_words(difference),
    }


def proportion_dict(proportion: Proportion | None) -> PrintedProportion | None:
    """Return a share with its interval."""
    if proportion is None:
        return None
    return PROPORTION.of(proportion, interval=_interval(proportion.interval))


def _interval(interval: Interval | None) -> PrintedInterval | None:
    if interval is None:
        return None
    return {"low": interval.low, "high": interval.high, "level": LEVEL, "scope": interval.scope}


def json_text(data: Any) -> str:
    """Return an object or a list as the text of a file."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"

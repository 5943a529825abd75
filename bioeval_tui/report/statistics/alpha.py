"""Krippendorff's alpha for any number of raters, with gaps: nominal, ordinal and interval scales.

Source: Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), written out because PyPI's `krippendorff` is under
the GPL, unlike this program. Every metric is computed in linear time: the ordinal distance of two values is the difference of their mid-ranks, and sums of squared
differences follow from sums and sums of squares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any, Literal

from bioeval_tui.report.statistics.samples import grouped

Scale = Literal["nominal", "ordinal", "interval"]

Units = Mapping[tuple[float, ...], int]
"""The number of units with these values. A unit's values are in any order, without missing ones."""


def units_of(ratings: Mapping[str, Mapping[Any, float]]) -> Counter[tuple[float, ...]]:
    """Return the units of a table from rater to unit to value."""
    by_unit = grouped(pair for rated in ratings.values() for pair in rated.items())
    return Counter(tuple(sorted(values)) for values in by_unit.values())


def krippendorff_alpha(units: Units, scale: Scale = "interval") -> float | None:
    """Return alpha: 1 is perfect agreement, 0 agreement by chance.

    Units with fewer than two values don't count. None when fewer than two units are left, or when all values are the
    same.
    """
    pairable = {values: count for values, count in units.items() if len(values) > 1 and count}
    counts: Counter[float] = Counter()
    for values, count in pairable.items():
        for value in values:
            counts[value] += count
    if sum(pairable.values()) < 2 or len(counts) < 2:
        return None
    if scale == "nominal":
        observed = fsum(
            count * _unequal(Counter(values)) / (len(values) - 1) for values, count in pairable.items()
        )
        expected = float(_unequal(counts))
    else:
        place = _mid_ranks(counts) if scale == "ordinal" else _centred(counts)
        observed = fsum(
            count * _squares([(place[value], 1) for value in values]) / (len(values) - 1)
            for values, count in pairable.items()
        )
        expected = _squares([(place[value], count) for value, count in counts.items()])
    return 1 - (counts.total() - 1) * observed / expected


def _unequal(counts: Counter[float]) -> int:
    """Return how many ordered pairs of values are unequal."""
    total = counts.total()
    return sum(count * (total - count) for count in counts.values())


def _squares(counted: Sequence[tuple[float, int]]) -> float:
    """Return the sum of squared differences over all ordered pairs of values, each given with its count."""
    total = sum(count for _, count in counted)
    first = fsum(count * value for value, count in counted)
    second = fsum(count * value * value for value, count in counted)
    return 2 * (total * second - first * first)


def _centred(counts: Counter[float]) -> dict[float, float]:
    mean = fsum(count * value for value, count in counts.items()) / counts.total()
    return {value: value - mean for value in counts}


def _mid_ranks(counts: Counter[float]) -> dict[float, float]:
    """Return the mean rank of each value, centred; their differences are the ordinal metric's distances."""
    below, found = 0, {}
    for value in sorted(counts):
        found[value] = below + (counts[value] - counts.total()) / 2
        below += counts[value]
    return found

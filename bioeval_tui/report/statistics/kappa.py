"""Cohen's kappa, plain (1960) and weighted (1968), of two raters' categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import fsum
from typing import Literal

Weights = Literal["none", "linear", "quadratic"]

Pairs = Mapping[tuple[float, ...], int]
"""How often the first rater said a and the second b, by (a, b). Categories are numbers; their distances count where weighted."""


def weighted_kappa(pairs: Pairs, weights: Weights = "none") -> float | None:
    """Return 1 − observed / expected disagreement; None for fewer than two units or a single category.

    A disagreement of a and b weighs 1 without weights, |a − b| with linear and (a − b)² with quadratic ones.
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
        count * other * _distance(a, b, weights) for a, count in first.items() for b, other in second.items()
    )
    return 1 - n * observed / expected if expected else None


def _distance(a: float, b: float, weights: Weights) -> float:
    if weights == "none":
        return float(a != b)
    return abs(a - b) if weights == "linear" else (a - b) ** 2

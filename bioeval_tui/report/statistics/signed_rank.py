"""Wilcoxon's signed-rank test (Wilcoxon 1945), exact with ties and zeros."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import fsum, sqrt
from statistics import NormalDist

MOST_EXACT = 100
"""With more differences than this the normal approximation is used."""


def signed_rank_p(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of "the differences lie symmetrically about 0"; zeros are left out.

    Up to 100 differences the distribution over all 2ⁿ signs is exact, also where ranks are tied. Values before and
    after a meaningless change are exchangeable, so their differences are symmetric whatever their distribution.
    """
    known = [round(x, 12) for x in differences if abs(x) > 1e-12]
    if not known:
        return 1.0
    ranks = _doubled_ranks([abs(x) for x in known])
    total = sum(ranks)
    positive = sum(rank for rank, x in zip(ranks, known, strict=True) if x > 0)
    larger = max(positive, total - positive)
    if len(known) > MOST_EXACT:
        z = (larger - total / 2) / (sqrt(fsum(rank * rank for rank in ranks)) / 2)
        return min(1.0, 2 * NormalDist().cdf(-z))
    # One integer stores how many of the 2ⁿ signs give each sum, in digits of n + 1 bits; adding a rank is a shift.
    bits = len(known) + 1
    ways = 1
    for rank in ranks:
        ways += ways << (rank * bits)
    tail = (ways >> (larger * bits)) % ((1 << bits) - 1)  # the sum of the digits from `larger` on
    return min(1.0, 2 * tail / (1 << len(known)))


def _doubled_ranks(sizes: Sequence[float]) -> list[int]:
    """Return twice the mid-ranks, which are whole numbers."""
    counts = Counter(sizes)
    below, doubled = 0, {}
    for size in sorted(counts):
        doubled[size] = 2 * below + counts[size] + 1
        below += counts[size]
    return [doubled[size] for size in sizes]

"""Wilcoxon's signed-rank test (Wilcoxon 1945), exact with ties and zeros."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist

MOST_EXACT = 100
"""With more differences than this the normal approximation is used."""


def signed_rank_p(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of "the differences lie symmetrically about 0"; zeros are left out.

    Up to 100 differences the distribution over all 2ⁿ signs is exact, also where ranks are tied, which
    `scipy.stats.wilcoxon` is not. Values before and after a meaningless change are exchangeable, so their differences
    are symmetric whatever their distribution.
    """
    import numpy as np  # with SciPy a second that only this test waits for
    from scipy.stats import rankdata

    known = np.array([round(x, 12) for x in differences if abs(x) > 1e-12])
    ranks = (2 * rankdata(np.abs(known))).astype(int)  # mid-ranks, doubled: whole numbers
    total = int(ranks.sum())
    positive = int(ranks[known > 0].sum())
    larger = max(positive, total - positive)
    if len(known) > MOST_EXACT:
        z = (larger - total / 2) / (sqrt((ranks**2).sum()) / 2)
        return min(1.0, 2 * NormalDist().cdf(-z))
    chances = np.ones(1)  # of each sum of the positive ranks
    for rank in ranks:
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    return min(1.0, 2 * float(chances[larger:].sum()))

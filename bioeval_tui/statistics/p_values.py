"""The tests: p-values of Student's t, the signed-rank and the binomial test, and Holm's correction
of many. Paired differences and the checks of judges use them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import floor, sqrt
from typing import TypeVar

from bioeval_tui.statistics.intervals import NORMAL, special

Name = TypeVar("Name", bound=Hashable)
MOST_EXACT = 100
"""With more differences than this the signed-rank test uses the normal approximation."""


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


def signed_rank_p(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of the signed-rank test (Wilcoxon 1945): how probable ranks at
    least as one-sided are if the differences lie symmetrically about 0. Zeros are left out; without
    any other difference it is 1.

    Up to 100 differences the distribution over all 2ⁿ signs is exact, also where ranks are tied,
    which `scipy.stats.wilcoxon` is not. If a change means nothing, the values before and after it
    could as well be the other way round, so that differences are symmetric about 0 whatever the
    distribution of the values.

    With more, a normal distribution is used. The usual continuity correction is left out, as it
    would move z by at most 0.002: half a rank, where the sum's standard deviation is over 250.
    """
    import numpy as np  # commands start without it, as for t_quantile

    # What only rounding keeps apart is tied, and what only rounding keeps from 0 is 0.
    known = np.array([round(x, 12) for x in differences if abs(x) > 1e-12])
    _, tie, sizes = np.unique(np.abs(known), return_inverse=True, return_counts=True)
    # Mid-ranks, doubled: whole numbers. scipy.stats.rankdata would load scipy.stats for them.
    ranks = (2 * np.cumsum(sizes) - sizes + 1)[tie]
    total = int(ranks.sum())
    positive = int(ranks[known > 0].sum())
    larger = max(positive, total - positive)
    if len(known) > MOST_EXACT:
        z = (larger - total / 2) / (sqrt((ranks**2).sum()) / 2)
        return min(1.0, 2 * NORMAL.cdf(-z))
    chances = np.ones(1)  # of each sum of the positive ranks
    for rank in ranks:
        # With a chance of a half each, the rank is negative and the sum stays, or it is added.
        stays, rises = np.pad(chances, (0, rank)), np.pad(chances, (rank, 0))
        chances = (stays + rises) / 2
    return min(1.0, 2 * float(chances[larger:].sum()))


def binomial_p(share: float, n: int, tolerated: float) -> float:
    """Return the one-sided p-value of a share of `n` (rounded down to whole ones) where `tolerated`
    would be right.
    """
    return float(special().bdtrc(floor(share * n + 1e-9) - 1, n, tolerated))

"""Samples items for review: simple or stratified, reproducible by its seed."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from bioeval_tui.report.statistics.samples import grouped


def draw_reviews(strata: Mapping[str, str], n: int, seed: int) -> list[str]:
    """Return n item ids in the order to review them, drawn without replacement.

    Args:
        strata: item id to its stratum; one stratum for all is a plain random sample. Every stratum gives a
            share of its size (largest remainders), so that the whole is proportional.
        n: how many to draw; all when there are fewer.
        seed: the same ids and seed give the same draw, in whatever order the ids come.

    Raises:
        ValueError: `n` is below 1.
    """
    if n < 1:
        raise ValueError(f"{n} reviews cannot be drawn")
    random = Random(seed)  # noqa: S311 - sampling, nothing secret
    by_stratum = grouped((strata[item], item) for item in sorted(strata))
    drawn = []
    for stratum, size in sorted(_allocation({s: len(ids) for s, ids in by_stratum.items()}, n).items()):
        drawn += random.sample(by_stratum[stratum], size)
    random.shuffle(drawn)
    return drawn


def _allocation(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    total = sum(sizes.values())
    n = min(n, total)
    exact = {stratum: n * size / total for stratum, size in sizes.items()}
    given = {stratum: int(share) for stratum, share in exact.items()}
    by_remainder = sorted(sizes, key=lambda stratum: (given[stratum] - exact[stratum], stratum))
    for stratum in by_remainder[: n - sum(given.values())]:
        given[stratum] += 1
    return given

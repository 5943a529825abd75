"""The medal rule of Kaggle's progression system, as BioML-bench applies it: which places earn a medal.

`leaderboard.rank` applies it to a score.
"""

from __future__ import annotations

from typing import NamedTuple


class MedalPlaces(NamedTuple):
    """The last place, counting from 1, that still earns each medal."""

    gold: int
    silver: int
    bronze: int


def medal_places(entries: int) -> MedalPlaces:
    """Return the last place of each medal on a leaderboard with `entries` rows.

    Places are not disjoint: on small boards gold, silver and bronze may share one place, and the
    better medal wins.

    Raises:
        ValueError: `entries` is below 1.
    Source: https://www.kaggle.com/progression
    """
    if entries < 1:
        raise ValueError("a leaderboard needs at least one entry")
    if entries < 100:
        return MedalPlaces(max(1, int(0.1 * entries)), max(1, int(0.2 * entries)), max(1, int(0.4 * entries)))
    if entries < 250:
        return MedalPlaces(10, int(0.2 * entries), int(0.4 * entries))
    gold = 10 + int(0.002 * entries)
    if entries < 1000:
        return MedalPlaces(gold, 50, 100)
    return MedalPlaces(gold, int(0.05 * entries), int(0.1 * entries))

"""The ranks of several agents on the same cases, with intervals: "rank 2–7".

All pairwise differences are tested at once (a studentised wild bootstrap that flips the signs of
whole cases, stepped down as Romano and Wolf 2005); an agent's best rank is one more than the number
of agents that are significantly better, its worst excludes those that are significantly worse
(Mogstad, Romano, Shaikh and Wilhelm, Inference for Ranks, 2024). With a probability of at least
95 %, all true ranks are in their intervals. Two agents whose intervals overlap may be tied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil, inf, sqrt
from typing import Any

from bioeval_tui.statistics.intervals import FEWEST_UNITS, LEVEL
from bioeval_tui.statistics.means import exact_mean

DRAWS = 1000
"""Number of draws of signs."""


@dataclass(frozen=True, slots=True)
class AgentRank:
    """An agent's mean over the common cases, its place by that mean, and the ranks it may truly
    have.
    """

    name: str
    mean: float
    place: int
    best: int
    worst: int


@dataclass(frozen=True, slots=True)
class AgentRanking:
    """All agents, the best mean first; `cases` were used, `left_out` were not common to all."""

    ranks: tuple[AgentRank, ...]
    cases: int
    left_out: int


def rank(
    scores: Mapping[str, Mapping[str, Sequence[float]]], *, draws: int = DRAWS
) -> AgentRanking:
    """Return the agents' ranks, the highest mean first, with simultaneous 95 % intervals.

    Deterministic for given scores.

    Args:
        scores: agent to case to its values, such as one per trial and judge: a case is one cluster.
            Cases that an agent lacks are left out for all.
        draws: how many times signs are drawn.
    """
    names = list(scores)
    everywhere = set(chain.from_iterable(scores.values()))
    common = sorted(case for case in everywhere if all(scores[name].get(case) for name in names))
    means = {name: [exact_mean(scores[name][case]) for case in common] for name in names}
    better: set[tuple[str, str]] = set()
    if len(common) >= FEWEST_UNITS:
        better = _better_beyond_doubt(means, draws)
    overall = {name: exact_mean(values) if values else 0.0 for name, values in means.items()}
    places = {name: 1 + sum(other > overall[name] for other in overall.values()) for name in names}
    ranks = [
        AgentRank(
            name=name,
            mean=overall[name],
            place=places[name],
            best=1 + sum(worse == name for _, worse in better),
            worst=len(names) - sum(winner == name for winner, _ in better),
        )
        for name in sorted(names, key=lambda name: places[name])
    ]
    return AgentRanking(tuple(ranks), len(common), len(everywhere) - len(common))


def _better_beyond_doubt(means: Mapping[str, Sequence[float]], draws: int) -> set[tuple[str, str]]:
    """Return the (better, worse) pairs; the chance that even one is wrong is at most 5 %."""
    import numpy as np  # commands start without it; it comes with the first interval

    names, values = list(means), np.array(list(means.values()))
    cases = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    gaps = np.subtract.outer(values.mean(axis=1), values.mean(axis=1))
    spread = np.array([np.sqrt(((each - centred) ** 2).sum(axis=1)) for each in centred])
    varies = spread > 1e-12
    # Differences that are the same in every case leave no doubt, except for a rest of rounding.
    statistics = np.where(gaps > 1e-9, inf, 0.0)
    statistics[varies] = gaps[varies] / spread[varies] * sqrt(cases * (cases - 1))
    noise = np.random.default_rng(0).choice((-1.0, 1.0), (draws, cases)) @ centred.T
    open_pairs = ~np.eye(len(names), dtype=bool)
    better: set[tuple[str, str]] = set()
    while True:
        new = open_pairs & (statistics > _critical(noise, spread, open_pairs & varies, cases))
        if not new.any():
            return better
        better |= {(names[a], names[b]) for a, b in zip(*np.nonzero(new), strict=True)}
        open_pairs &= ~new


def _critical(noise: Any, spread: Any, pairs: Any, cases: int) -> float:
    """Return the critical value of the largest statistic of these pairs, from noise of shape
    (draws, agents).
    """
    largest = [
        ((noise[:, [a]] - noise[:, with_b]) / spread[a, with_b]).max(axis=1)
        for a, with_b in enumerate(pairs)
        if with_b.any()
    ]
    if not largest:
        return 0.0
    ascending = sorted(map(max, zip(*largest, strict=True)))
    # The quantile's own 99 % limit: a thousand draws know it only so far, and must not narrow
    # anything.
    upper = LEVEL * len(ascending) + 2.326 * sqrt(LEVEL * (1 - LEVEL) * len(ascending))
    z = float(ascending[min(len(ascending) - 1, ceil(upper))])
    # The statistic's error is estimated again after the flips; flips keep the sum of squares, so t
    # grows with z.
    return z * sqrt((cases - 1) / cases) / sqrt(max(1e-12, 1 - z * z / cases))

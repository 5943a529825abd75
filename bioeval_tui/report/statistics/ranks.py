"""Ranks with intervals: "rank 2–7", for all agents together.

Agents are compared on the same cases. All pairwise differences are tested at once (a studentised wild
bootstrap that flips the signs of whole cases, stepped down as Romano and Wolf 2005); an agent's best rank is one more than the number of
agents that are significantly better, its worst excludes those that are significantly worse (Mogstad,
Romano, Shaikh and Wilhelm, Inference for Ranks, 2024). With a probability of at least 95 %, all true ranks are in
their intervals. Two agents whose intervals overlap may be tied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import ceil, fsum, inf, sqrt
from operator import mul
from random import Random
from statistics import fmean

from bioeval_tui.uncertainty import LEVEL

DRAWS = 1000
"""Number of draws of signs."""

FEWEST_CASES = 10
"""With fewer common cases, every agent's ranks are 1 to the number of agents."""


@dataclass(frozen=True, slots=True)
class AgentRank:
    """An agent's mean over the common cases, its place by that mean, and the ranks it may truly have."""

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


def rank(scores: Mapping[str, Mapping[str, Sequence[float]]], *, draws: int = DRAWS) -> AgentRanking:
    """Return the agents' ranks, the highest mean first, with simultaneous 95 % intervals. Deterministic for given scores.

    Args:
        scores: agent to case to its values, such as one per trial and judge: a case is one cluster. Cases that
            an agent lacks are left out for all.
        draws: how many times signs are drawn.
    """
    names = list(scores)
    everywhere = {case for cases in scores.values() for case in cases}
    common = sorted(case for case in everywhere if all(scores[name].get(case) for name in names))
    means = {name: [fmean(scores[name][case]) for case in common] for name in names}
    better = _better_beyond_doubt(means, draws) if len(common) >= FEWEST_CASES else set()
    overall = {name: fmean(values) if values else 0.0 for name, values in means.items()}
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
    cases = len(next(iter(means.values()), ()))
    centred = {name: [value - fmean(values) for value in values] for name, values in means.items()}
    pairs, statistics, errors = [], {}, {}
    for a, b in permutations(means, 2):
        squares = fsum((x - y) ** 2 for x, y in zip(centred[a], centred[b], strict=True))
        gap = fmean(means[a]) - fmean(means[b])
        pairs.append((a, b))
        errors[a, b] = sqrt(squares)
        error = sqrt(squares / (cases - 1) / cases)
        # Differences that are the same in every case leave no doubt, except for a rest of rounding.
        statistics[a, b] = gap / error if error > 1e-12 else (inf if gap > 1e-9 else 0.0)
    noise = [
        {name: sum(map(mul, signs, values)) for name, values in centred.items()}
        for signs in _signs(cases, draws)
    ]
    rejected: set[tuple[str, str]] = set()
    while True:
        left = [pair for pair in pairs if pair not in rejected]
        critical = _critical([pair for pair in left if errors[pair] > 1e-12], noise, errors, cases)
        new = {pair for pair in left if statistics[pair] > critical}
        if not new:
            return rejected
        rejected |= new


def _critical(
    pairs: Sequence[tuple[str, str]],
    noise: Sequence[Mapping[str, float]],
    errors: Mapping[tuple[str, str], float],
    cases: int,
) -> float:
    """Return the critical value of the largest of these statistics."""
    if not pairs:
        return 0.0
    scaled = [(a, b, 1 / errors[a, b]) for a, b in pairs]
    largest = sorted(max((drawn[a] - drawn[b]) * scale for a, b, scale in scaled) for drawn in noise)
    # The quantile's own 99 % limit: a thousand draws know it only so far, and must not narrow anything.
    upper = LEVEL * len(noise) + 2.326 * sqrt(LEVEL * (1 - LEVEL) * len(noise))
    z = largest[min(len(largest) - 1, ceil(upper))]
    # The statistic's error is estimated again after the flips; flips keep the sum of squares, so t grows with z.
    return z * sqrt((cases - 1) / cases) / sqrt(max(1e-12, 1 - z * z / cases))


@lru_cache(maxsize=8)
def _signs(cases: int, draws: int) -> tuple[tuple[float, ...], ...]:
    random = Random(0)  # noqa: S311 - resampling, nothing secret
    return tuple(tuple(random.choices((-1.0, 1.0), k=cases)) for _ in range(draws))

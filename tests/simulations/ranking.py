"""How often all rank intervals together contain the true ranks: 7 agents, 50 tasks, 2 judges."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from statistics import fmean

from bioeval_tui.statistics.ranks import rank

AGENTS = {"A": 0.80, "B": 0.80, "C": 0.60, "D": 0.60, "E": 0.60, "F": 0.58, "G": 0.40}
"""True means: two leaders that are tied, a middle that is tied or nearly so, one that is last."""


@dataclass(frozen=True)
class RankCoverage:
    """Shares of simulated tables."""

    covered: float
    """All true ranks lie in their intervals, whichever way ties are counted."""

    leaders_told: float
    """Both leaders' worst rank is 2, and no one else's best rank is below 3."""

    ties_told_apart: float
    """Some agent of two that are tied is called better than the other."""

    width: float
    """The mean number of ranks in an interval."""


def scores_of(
    means: dict[str, float], random: Random, tasks: int = 50, judges: int = 2
) -> dict[str, dict[str, list[float]]]:
    """Return a table: tasks are easy or hard for all, agents have luck with a task, judges err on
    their own.
    """
    hard = [random.gauss(0, 0.2) for _ in range(tasks)]
    table: dict[str, dict[str, list[float]]] = {}
    for name, mean in means.items():
        table[name] = {}
        for task in range(tasks):
            level = mean + hard[task] + random.gauss(0, 0.15)
            table[name][f"t{task}"] = [level + random.gauss(0, 0.08) for _ in range(judges)]
    return table


def rank_coverage(
    tables: int, means: dict[str, float] = AGENTS, tasks: int = 50, seed: int = 1, draws: int = 500
) -> RankCoverage:
    """Rank simulated tables."""
    random = Random(seed)
    best = {a: 1 + sum(other > mean for other in means.values()) for a, mean in means.items()}
    worst = {a: sum(other >= mean for other in means.values()) for a, mean in means.items()}
    leaders = {a for a in means if best[a] == 1}
    covered, told, apart, widths = 0, 0, 0, []
    for _ in range(tables):
        ranks = {one.name: one for one in rank(scores_of(means, random, tasks), draws=draws).ranks}
        covered += all(one.best <= best[a] and worst[a] <= one.worst for a, one in ranks.items())
        told += all(
            (one.worst <= len(leaders)) if a in leaders else (one.best > len(leaders))
            for a, one in ranks.items()
        )
        apart += any(
            ranks[a].best > ranks[b].worst for a in means for b in means if means[a] == means[b]
        )
        widths += [one.worst - one.best + 1 for one in ranks.values()]
    return RankCoverage(covered / tables, told / tables, apart / tables, fmean(widths))

"""Whether plans keep their promise: how often the design detects the difference, and how wide
intervals are.
"""

from __future__ import annotations

from math import sqrt
from random import Random
from statistics import fmean

from bioeval_tui.statistics.intervals import t_quantile
from bioeval_tui.statistics.planning import VarianceComponents


def realised(
    components: VarianceComponents,
    effect: float,
    cases: int,
    trials: int,
    batches: int,
    seed: int = 1,
) -> tuple[float, float]:
    """Return (share of batches whose interval leaves out 0, mean width of the interval)."""
    random = Random(seed)
    critical = t_quantile(0.975, cases - 1)
    between, within = sqrt(components.between), sqrt(components.within / trials)
    told, widths = 0, []
    for _ in range(batches):
        means = [
            effect + between * random.gauss(0, 1) + within * random.gauss(0, 1)
            for _ in range(cases)
        ]
        mean = fmean(means)
        half = critical * sqrt(sum((x - mean) ** 2 for x in means) / (cases - 1) / cases)
        told += abs(mean) > half
        widths.append(2 * half)
    return told / batches, fmean(widths)


def unbalanced(
    components: VarianceComponents, cases: int, random: Random, most: int = 6
) -> dict[str, list[float]]:
    """Return scores by case, with one to `most` trials each."""
    found = {}
    for case in range(cases):
        level = random.gauss(0.5, sqrt(components.between))
        trials = random.randint(1, most)
        found[f"c{case}"] = [random.gauss(level, sqrt(components.within)) for _ in range(trials)]
    return found

"""How often the interval of a score contains the score on endless test rows, for predictions with
known truth.
"""

from __future__ import annotations

from collections.abc import Callable
from math import asin, pi, sqrt
from statistics import NormalDist

import numpy as np

from bioeval_tui.grade.resampling import draws
from bioeval_tui.grading.metrics import METRICS

Drawn = tuple[np.ndarray, np.ndarray]


def _errors(random: np.random.Generator, rows: int) -> Drawn:
    true = random.normal(size=rows)
    return true, true + random.normal(size=rows)


def _classes(random: np.random.Generator, rows: int) -> Drawn:
    true = (random.random(rows) < 0.4).astype(float)
    return true, true * 1.2 + random.normal(size=rows)


def _related(random: np.random.Generator, rows: int) -> Drawn:
    true = random.normal(size=rows)
    return true, 0.6 * true + 0.8 * random.normal(size=rows)


def _labels(random: np.random.Generator, rows: int) -> Drawn:
    true = random.integers(0, 3, rows)
    return true, np.where(random.random(rows) < 0.7, true, (true + 1) % 3)


CASES: dict[str, tuple[Callable[[np.random.Generator, int], Drawn], float]] = {
    "mean_absolute_error": (_errors, sqrt(2 / pi)),
    "roc_auc": (_classes, NormalDist().cdf(1.2 / sqrt(2))),
    "spearman": (_related, 6 / pi * asin(0.6 / 2)),
    "balanced_accuracy": (_labels, 0.7),
}
"""Metric to how rows are drawn, and the score on endless rows."""


def coverage(name: str, tests: int, rows: int) -> float:
    """Return the share of so many test sets whose 95 % interval holds the true score."""
    draw, truth = CASES[name]
    random = np.random.default_rng(len(name) + rows)
    held = 0
    for _ in range(tests):
        low, high = draws(METRICS[name], [draw(random, rows)]).ends
        held += bool(low <= truth <= high)
    return held / tests

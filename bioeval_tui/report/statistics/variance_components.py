"""Where a score's variance comes from: between cases, and between trials of one case.

One-way random effects by the analysis of variance, for unbalanced data (Searle, Casella and McCulloch,
Variance Components, 1992, 3.6): x = mean + case + trial.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import fmean


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Variances between cases and within a case (between its trials), and the data of the estimate.

    `cases` and `trials` are 0 for assumed variances.
    """

    between: float
    within: float
    cases: int = 0
    trials: int = 0

    def of_difference(self, correlation: float = 0.0) -> VarianceComponents:
        """Return the components of the difference between two agents that both have these components.

        `correlation` is that of the two agents' case means: 0 for different cases, near 1 when both find
        the same cases hard. Trials of the two never correlate.

        Raises:
            ValueError: the correlation is not in [-1, 1].
        """
        if not -1 <= correlation <= 1:
            raise ValueError(f"a correlation must be from -1 to 1, not {correlation}")
        return VarianceComponents(
            2 * self.between * (1 - correlation), 2 * self.within, self.cases, self.trials
        )


ASSUMED = VarianceComponents(0.03, 0.04)
"""Assumed without a run: standard deviations of 0.17 between cases and 0.20 between trials of a case."""


def variance_components(groups: Mapping[str, Sequence[float]]) -> VarianceComponents | None:
    """Return the components of one agent's scores, given by case; a negative estimate is 0.

    With a single case `between` is 0: nothing is known of other cases. Without a second trial of any case
    everything counts as `between`. None for fewer than two values.
    """
    cases = [values for values in groups.values() if values]
    n = sum(len(values) for values in cases)
    if n < 2:
        return None
    within = _within(cases)
    if len(cases) < 2:
        return VarianceComponents(0.0, within or 0.0, 1, n)
    mean = fsum(fsum(values) for values in cases) / n
    squares = fsum(len(values) * (fmean(values) - mean) ** 2 for values in cases)
    size = (n - fsum(len(values) ** 2 for values in cases) / n) / (len(cases) - 1)
    between = (squares / (len(cases) - 1) - (within or 0.0)) / size
    return VarianceComponents(max(0.0, between), within or 0.0, len(cases), n)


def paired_components(
    a: Mapping[str, Sequence[float]], b: Mapping[str, Sequence[float]]
) -> VarianceComponents | None:
    """Return the components of B − A on the cases that both have, where trials are not paired one by one.

    `within` is the variance of one trial of B minus one trial of A; `between` is the variance of the difference from
    case to case. None for fewer than two common cases.
    """
    common = [case for case in a if a[case] and b.get(case)]
    if len(common) < 2:
        return None
    within_a = _within(a[case] for case in common) or 0.0
    within_b = _within(b[case] for case in common) or 0.0
    gaps = [fmean(b[case]) - fmean(a[case]) for case in common]
    mean = fmean(gaps)
    spread = fsum((gap - mean) ** 2 for gap in gaps) / (len(gaps) - 1)
    noise = fmean(within_a / len(a[case]) + within_b / len(b[case]) for case in common)
    trials = sum(len(a[case]) + len(b[case]) for case in common)
    return VarianceComponents(max(0.0, spread - noise), within_a + within_b, len(common), trials)


def _within(cases: Iterable[Sequence[float]]) -> float | None:
    """Return the pooled variance within cases; None when no case has a second value."""
    squares, degrees = 0.0, 0
    for values in cases:
        mean = fmean(values)
        squares += fsum((value - mean) ** 2 for value in values)
        degrees += len(values) - 1
    return squares / degrees if degrees else None

"""pass^k: the chance that k trials of a task all succeed, averaged over tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb
from statistics import fmean


@dataclass(frozen=True, slots=True)
class Tries:
    """How often one task (or a whole run) succeeded in how many trials. Trials lost to infrastructure are none."""

    name: str
    successes: int
    trials: int


@dataclass(frozen=True, slots=True)
class PassK:
    """pass^k over tasks. `value` is None when no task has k trials; `undefined` names those that lack them."""

    k: int
    value: float | None
    tasks: int
    undefined: tuple[str, ...] = ()


def pass_hat(successes: int, trials: int, k: int) -> float | None:
    """Return C(successes, k) / C(trials, k), the unbiased estimate for one task; None for trials < k.

    Source: Yao et al. (2024), tau-bench.

    Raises:
        ValueError: `k` is below 1 or there are more successes than trials.
    """
    if k < 1 or not 0 <= successes <= trials:
        raise ValueError(f"no pass^{k} for {successes} successes in {trials} trials")
    return comb(successes, k) / comb(trials, k) if trials >= k else None


def pass_k(tasks: Iterable[Tries], k: int) -> PassK:
    """Return the mean over the tasks that have at least k trials, and name the others."""
    tries = list(tasks)
    values = [(task.name, pass_hat(task.successes, task.trials, k)) for task in tries]
    known = [value for _, value in values if value is not None]
    undefined = tuple(name for name, value in values if value is None)
    return PassK(k, fmean(known) if known else None, len(known), undefined)


def pass_series(tasks: Sequence[Tries]) -> tuple[PassK, ...]:
    """Return pass^1 … pass^N, N being the most trials that every task has; empty without tasks or trials."""
    most = min((task.trials for task in tasks), default=0)
    return tuple(pass_k(tasks, k) for k in range(1, most + 1))

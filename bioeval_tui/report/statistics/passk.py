"""pass^k: the probability that k trials of a task all succeed, averaged over tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb
from statistics import fmean

from bioeval_tui.report.numbers import FEWEST
from bioeval_tui.report.statistics.clustered import clustered_mean
from bioeval_tui.report.statistics.estimates import Interval


@dataclass(frozen=True, slots=True)
class Tries:
    """Successes and trials of one task (or a whole run). Trials lost to the infrastructure don't count."""

    name: str
    successes: int
    trials: int


@dataclass(frozen=True, slots=True)
class PassK:
    """pass^k over tasks. `value` is None if no task has k trials; `undefined` names those that lack them.

    `interval` is clustered by task; None for fewer than five.
    """

    k: int
    value: float | None
    tasks: int
    undefined: tuple[str, ...] = ()
    interval: Interval | None = None


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
    return PassK(k, fmean(known) if known else None, len(known), undefined, pass_k_interval(tries, k))


def pass_series(tasks: Sequence[Tries]) -> tuple[PassK, ...]:
    """Return pass^1 … pass^N, N being the most trials that every task has; empty without tasks or trials."""
    most = min((task.trials for task in tasks), default=0)
    return tuple(pass_k(tasks, k) for k in range(1, most + 1))


def pass_k_interval(tasks: Sequence[Tries], k: int) -> Interval | None:
    """Return the 95 % interval of pass^k over tasks that have at least k trials; None for fewer than five.

    Each task gives one value, C(successes, k) / C(trials, k), so its trials are one cluster. Wilson's
    interval with the effective number of tasks stays in [0, 1] near both ends.
    """
    known = {
        str(place): [value]
        for place, task in enumerate(tasks)
        if (value := pass_hat(task.successes, task.trials, k)) is not None
    }
    found = clustered_mean(known)
    interval = found.wilson_interval() if found and found.clusters >= FEWEST else None
    return (
        Interval(interval.low, interval.high, f"clustered by task, {len(known)} tasks") if interval else None
    )

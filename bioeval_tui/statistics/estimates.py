"""Means, shares, pass^k and latencies of conversations, with their errors and intervals, as
docs/statistics.md describes.

`bioeval_tui.statistics.intervals` makes the intervals. The independent units are jobs or cases if
there are several, else the trials of the one; with fewer than ten there are the points and their
range instead of an interval. Latencies always come with the concurrency, because a busy agent
answers later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from math import comb, fsum, inf
from typing import TypeVar

from bioeval_tui.statistics.intervals import (
    FEWEST_CURVED,
    FEWEST_UNITS,
    UNIT,
    Bounds,
    Interval,
    left_out,
    mean_of,
)
from bioeval_tui.statistics.means import average, average_if_any, exact_mean, percentile
from bioeval_tui.statistics.planning import stopped_interval

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Sample:
    """One conversation's value; `reason` says why `value` is None.

    Samples are clustered by `job` or, if the job has cases, by `case`.
    """

    job: str
    value: float | None
    reason: str = ""
    case: str = ""
    sides: tuple[float, float] | None = None
    """Of a difference between two independent conversations: their values."""
    stopped: bool = False
    """Whether its batch could stop before its last trial, as soon as the results said enough."""
    again: bool = False
    """Whether it was held again, because the connection to the agent broke the first time."""
    excused: bool = True
    """Whether a gate may allow for it if `value` is None: not if the agent, or a defect of this
    program, may be behind it.
    """
    cause: str = ""
    """What happened, as a sentence, if `value` is None."""
    least: float | None = None
    """The least that `value` can be; None if it is known."""

    @property
    def lowest(self) -> float | None:
        """The least that its value can be; None without a value."""
        return self.value if self.least is None else self.least


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of used and of all conversations, and why the others were excluded."""

    used: int
    held: int
    reasons: tuple[tuple[str, int], ...] = ()
    again: int = 0
    """How many were held again, because the connection to the agent broke the first time."""
    unexcused: int = 0
    """How many of the excluded no gate may allow for."""
    causes: tuple[tuple[str, str], ...] = ()
    """For each reason, what happened in the first conversation that it excluded, as a sentence."""

    @property
    def excluded(self) -> int:
        """The number of excluded conversations."""
        return self.held - self.used

    @property
    def excluded_share(self) -> float:
        """The share of excluded conversations; 0 without any conversation."""
        if self.held:
            return self.excluded / self.held
        return 0.0


def count(samples: Sequence[Sample]) -> Counted:
    """Count the used and the excluded, the commonest reason first."""
    reasons = Counter(sample.reason or "no reason" for sample in samples if sample.value is None)
    used = sum(1 for sample in samples if sample.value is not None)
    again = sum(sample.again for sample in samples)
    left_out = [sample for sample in samples if sample.value is None]
    unexcused = sum(not sample.excused for sample in left_out)
    causes = {
        sample.reason or "no reason": sample.cause for sample in reversed(left_out) if sample.cause
    }
    listed = tuple(
        (reason, causes[reason]) for reason, _ in reasons.most_common() if reason in causes
    )
    return Counted(used, len(samples), tuple(reasons.most_common()), again, unexcused, listed)


def values_by_cluster(samples: Iterable[Sample]) -> dict[tuple[str, str], list[float]]:
    """Return the used values of each job and case."""
    return grouped(
        ((sample.job, sample.case), sample.value) for sample in samples if sample.value is not None
    )


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Return the values of each key, both in the order in which they come."""
    groups: dict[Key, list[Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over conversations that were run. Everything is None without a usable value."""

    mean: float | None
    standard_error: float | None
    interval: Interval | None
    points: tuple[float, ...]
    counted: Counted
    with_excluded_as_zero: float | None
    degrees: float | None = None
    """Degrees of freedom of the error; None without one."""

    clusters: int = 1
    """The number of jobs or cases by which the error is clustered."""

    unit: str = "job"
    """What they are: `job` or `case`."""

    @property
    def cases(self) -> int:
        """The number of cases by which the error is clustered; 0 if it is of jobs or trials."""
        if self.unit == "case":
            return self.clusters
        return 0

    @property
    def all_equal(self) -> bool:
        """Whether several values are one and the same: an interval of no width would claim too
        much.
        """
        return len(self.points) > 1 and max(self.points) - min(self.points) < 1e-12


def estimate(samples: Sequence[Sample], bounds: Bounds = UNIT, *, paired: bool = False) -> Estimate:
    """Return the mean over the samples with a value, with its error.

    `bounds` are the least and the greatest value that is possible. `paired` says that values are
    differences.
    """
    groups = values_by_cluster(samples)
    values = list(chain.from_iterable(groups.values()))
    counted = count(samples)
    unit = "case" if any(case for _, case in groups) else "job"
    measured = mean_of(groups, bounds, unit=unit, within="trial", paired=paired)
    if measured is None:
        return Estimate(None, None, None, (), counted, 0.0 if samples else None)
    interval = measured.interval
    if inf not in bounds and any(sample.stopped for sample in samples):
        interval = stopped_interval(groups.values(), bounds)
    return Estimate(
        measured.value,
        measured.standard_error,
        interval,
        tuple(values),
        counted,
        exact_mean([*values, *[0.0] * counted.excluded]),
        measured.degrees,
        len(groups),
        unit,
    )


@dataclass(frozen=True, slots=True)
class Proportion:
    """A share of successes with its 95 % interval; None when nothing was counted, or too little for
    an interval.
    """

    successes: int
    total: int
    share: float | None
    interval: Interval | None


def proportion(
    outcomes: Iterable[tuple[Hashable, bool]], *, unit: str = "case", stopped: bool = False
) -> Proportion:
    """Return the share of successes; each is given with the case (or conversation) that it belongs
    to, and `stopped` as of a sample.
    """
    groups = grouped((where, float(yes)) for where, yes in outcomes)
    measured = mean_of(groups, UNIT, unit=unit, within="trial")
    if measured is None:
        return Proportion(0, 0, None, None)
    successes = round(fsum(chain.from_iterable(groups.values())))
    interval = measured.interval
    if stopped:
        interval = stopped_interval(groups.values(), UNIT)
    return Proportion(successes, measured.values, measured.value, interval)


@dataclass(frozen=True, slots=True)
class Tries:
    """The trials of one task (or a whole run): which passed.

    Trials lost to the infrastructure don't count.

    Tasks of one `case` share its conversations: the trials with the same number. Without a case a
    task is its own.
    """

    name: str
    passed: Mapping[int, bool]
    case: str = ""

    @property
    def successes(self) -> int:
        """How many trials passed."""
        return sum(self.passed.values())

    @property
    def trials(self) -> int:
        """How many trials count."""
        return len(self.passed)


@dataclass(frozen=True, slots=True)
class PassK:
    """pass^k over tasks.

    `value` is None if no task has k trials; `undefined` names those that lack them.

    `interval` is clustered by case, from ten; of one case by conversation, from ten for k = 1, else
    from thirty.
    """

    k: int
    value: float | None
    tasks: int
    undefined: tuple[str, ...] = ()
    interval: Interval | None = None


def pass_hat(successes: int, trials: int, k: int) -> float | None:
    """Return C(successes, k) / C(trials, k), the unbiased estimate for one task; None for trials <
    k.

    Source: Yao et al. (2024), tau-bench.

    Raises:
        ValueError: `k` is below 1 or there are more successes than trials.
    """
    if k < 1 or not 0 <= successes <= trials:
        raise ValueError(f"no pass^{k} for {successes} successes in {trials} trials")
    if trials >= k:
        return comb(successes, k) / comb(trials, k)
    return None


Outcomes = Mapping[tuple[bool | None, ...], int]
"""How many conversations passed the same tasks: by whether each was passed, None if it was not
judged.
"""


def outcomes(tasks: Sequence[Tries]) -> Outcomes:
    """Return them; of thousands of conversations, most are alike."""
    talks = set(chain.from_iterable(task.passed for task in tasks))
    return Counter(tuple(task.passed.get(talk) for task in tasks) for talk in talks)


def pass_k(tasks: Iterable[Tries], k: int, alike: Outcomes | None = None) -> PassK:
    """Return the mean over the tasks that have at least k trials, and name the others; `alike` are
    the outcomes of all tasks of one case, if they are known.
    """
    tries = list(tasks)
    known = [task for task in tries if task.trials >= k]
    undefined = tuple(task.name for task in tries if task.trials < k)
    if not known:
        return PassK(k, None, 0, undefined)
    # Shares such as 1/3 are no decimal numbers, so their mean is exact only as a fraction.
    values = [Fraction(comb(task.successes, k), comb(task.trials, k)) for task in known]
    value = float(sum(values) / len(values))
    return PassK(k, value, len(known), undefined, pass_k_interval(tries, k, alike))


MOST_K = 200
"""Of thousands of trials, no more are listed one by one: each takes as long as all trials."""


def pass_series(tasks: Sequence[Tries]) -> tuple[PassK, ...]:
    """Return pass^1 … pass^N, N being the most trials that every task has; of more than `MOST_K`,
    the first ones and pass^N. Empty without tasks or trials.
    """
    most = min((task.trials for task in tasks), default=0)
    listed = [*range(1, min(most, MOST_K) + 1)]
    if most > MOST_K:
        listed.append(most)
    # Of several cases none are needed, and they would take the square of the cases.
    is_one_case = len({task.case or task.name for task in tasks}) == 1
    alike = outcomes(tasks) if is_one_case else None
    return tuple(pass_k(tasks, k, alike) for k in listed)


def pass_k_interval(
    tasks: Sequence[Tries], k: int, alike: Outcomes | None = None
) -> Interval | None:
    """Return the 95 % interval of pass^k over the tasks that have at least k trials; `alike` are
    the outcomes of all tasks of one case, if they are known.

    With several cases it is for cases like these. With one it is for exactly these tasks, whose
    conversations are left out one at a time.
    """
    known = [task for task in tasks if task.trials >= k]
    cases = grouped((task.case or task.name, task) for task in known)
    if len(cases) != 1:
        values = {
            name: [comb(task.successes, k) / comb(task.trials, k) for task in tries]
            for name, tries in cases.items()
        }
        measured = mean_of(values, UNIT)
        if measured:
            return measured.interval
        return None
    if alike is None or len(known) < len(tasks):
        alike = outcomes(known)
    whole = average(comb(task.successes, k) / comb(task.trials, k) for task in known)
    without = [
        {
            one: pass_hat(task.successes - bool(one), task.trials - (one is not None), k)
            for one in {*task.passed.values(), None}
        }
        for task in known
    ]
    size = sum(alike.values())
    if size < (FEWEST_UNITS if k == 1 else FEWEST_CURVED):
        return None
    means = []
    for passed, same in alike.items():
        left = [each[one] for one, each in zip(passed, without, strict=True)]
        defined = [share for share in left if share is not None]
        if len(defined) < len(left):
            return None
        means += [average(defined)] * same
    one = left_out(whole, means, UNIT, size / k)  # k trials are one draw of "all succeed"
    return replace(one, scope=f"these tasks only, {size} conversations")


@dataclass(frozen=True, slots=True)
class LatencySummary:
    """All times in ms, over the answers of successful attempts; None without answers."""

    answers: int
    average_ms: float | None
    p50_ms: float | None
    p90_ms: float | None
    p95_ms: float | None
    max_ms: float | None
    first_token_ms: float | None
    """The median time to the first token, over the answers that were streamed."""

    streamed: int
    concurrency: tuple[int, ...]


def summarise(
    latencies_ms: Sequence[float], first_tokens_ms: Sequence[float], concurrency: Sequence[int]
) -> LatencySummary:
    """Sum up the answers' latencies and first tokens (ms), measured at these numbers of
    conversations at once.
    """
    return LatencySummary(
        answers=len(latencies_ms),
        average_ms=average_if_any(latencies_ms),
        p50_ms=percentile(latencies_ms, 0.5),
        p90_ms=percentile(latencies_ms, 0.9),
        p95_ms=percentile(latencies_ms, 0.95),
        max_ms=max(latencies_ms, default=None),
        first_token_ms=percentile(first_tokens_ms, 0.5),
        streamed=len(first_tokens_ms),
        concurrency=tuple(sorted(set(concurrency))),
    )

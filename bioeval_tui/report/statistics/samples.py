"""The input of summaries: one value per conversation, or the reason why it is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

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


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of used and of all conversations, and why the others were excluded."""

    used: int
    held: int
    reasons: tuple[tuple[str, int], ...] = ()

    @property
    def excluded(self) -> int:
        """The number of excluded conversations."""
        return self.held - self.used

    @property
    def excluded_share(self) -> float:
        """The share of excluded conversations; 0 without any conversation."""
        return self.excluded / self.held if self.held else 0.0


def count(samples: Sequence[Sample]) -> Counted:
    """Count the used and the excluded, the commonest reason first."""
    reasons = Counter(sample.reason or "no reason" for sample in samples if sample.value is None)
    used = sum(1 for sample in samples if sample.value is not None)
    return Counted(used, len(samples), tuple(reasons.most_common()))


def by_cluster(samples: Iterable[Sample]) -> dict[tuple[str, str], list[float]]:
    """Return the used values of each job and case."""
    return grouped(
        ((sample.job, sample.case), sample.value) for sample in samples if sample.value is not None
    )


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Return the values of each key, both in the order in which they come."""
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found

"""The input of summaries: one value per conversation, or the reason why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """One held conversation's value; `reason` says why `value` is None.

    Samples are clustered by `job`, and where the job has a set of cases, by `case`.
    """

    job: str
    value: float | None
    reason: str = ""
    case: str = ""


@dataclass(frozen=True, slots=True)
class Counted:
    """How many were used of how many held, and why the rest were not."""

    used: int
    held: int
    reasons: tuple[tuple[str, int], ...] = ()

    @property
    def excluded(self) -> int:
        """How many were held and are not in the figure."""
        return self.held - self.used

    @property
    def excluded_share(self) -> float:
        """The share of the held ones that is not in the figure; 0 when none was held."""
        return self.excluded / self.held if self.held else 0.0

    @property
    def words(self) -> str:
        """Such as `9 of 10 used (1 judge)`."""
        why = ", ".join(f"{count} {reason}" for reason, count in self.reasons)
        return f"{self.used} of {self.held} used" + (f" ({why})" if why else "")


def count(samples: Sequence[Sample]) -> Counted:
    """Count the used and the excluded, the commonest reason first."""
    reasons = Counter(sample.reason or "no reason" for sample in samples if sample.value is None)
    used = sum(1 for sample in samples if sample.value is not None)
    return Counted(used, len(samples), tuple(reasons.most_common()))


def by_cluster(samples: Iterable[Sample]) -> dict[tuple[str, str], list[float]]:
    """Return the used values of each job and case."""
    found: dict[tuple[str, str], list[float]] = {}
    for sample in samples:
        if sample.value is not None:
            found.setdefault((sample.job, sample.case), []).append(sample.value)
    return found

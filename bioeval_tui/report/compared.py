"""The values of a comparison of two runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bioeval_tui.report.run_summary import RunSummary

Change = Literal["fixed", "broken", "changed", "same", "not comparable"]
"""What became of an assertion from A to B."""
Verdict = Literal["better", "worse", "same", "not distinguishable", "too few", "not measured"]


@dataclass(frozen=True, slots=True)
class Compared:
    """A value in run A and in run B, and a verdict on the difference."""

    name: str
    a: float | None
    b: float | None
    words: str = ""
    verdict: Verdict = "not measured"
    interval: tuple[float, float] | None = None
    """The 95 % interval of the difference; None for too few pairs."""

    @property
    def change(self) -> float | None:
        """B − A; None when a value is missing."""
        return None if self.a is None or self.b is None else self.b - self.a


@dataclass(frozen=True, slots=True)
class ComparedCheck:
    """An assertion: the share of trials in which it passed at the end, in A and in B."""

    title: str
    weight: float
    a: float | None
    b: float | None
    change: Change
    verdict: Verdict = "not measured"


@dataclass(frozen=True, slots=True)
class ComparedCondition:
    """One condition of both runs. `latency` is the average answer in ms; None when timing is not comparable."""

    condition: str
    title: str
    """What both jobs call it, else `facts withheld`."""
    sentence: str
    score: Compared
    parts: tuple[Compared, ...]
    """What each part adds to the score; the penalty is negative."""
    tasks: tuple[Compared, ...]
    assertions: tuple[ComparedCheck, ...]
    latency: Compared | None


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Run B against run A; `notes` say how the runs differ in setup."""

    a: RunSummary
    b: RunSummary
    conditions: tuple[ComparedCondition, ...]
    advice: tuple[str, ...] = ()
    """What the differences leave open."""
    notes: tuple[str, ...] = ()

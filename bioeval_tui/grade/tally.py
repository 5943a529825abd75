"""What submissions came to: the standing of each, and their counts and mean percentiles.

The answer of `medals`, the medals screen and its pages take their numbers from a `Tally`, so that
no two of them count differently. The published aggregate, whose counts are fixed, is in
`published_totals.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Literal, Self, cast, get_args

from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.statistics.means import average_if_any

Standing = Literal["gold", "silver", "bronze", "none", "invalid", "not_graded"]
"""A submission's medal, or why it has none."""

STANDINGS: tuple[Standing, ...] = get_args(Standing)


def standing_of(report: TaskReport | None) -> Standing:
    """Return the medal of a submission, or why it has none; `report` is None if it was not
    graded.
    """
    if report is None:
        return "not_graded"
    if not report.valid_submission:
        return "invalid"
    return cast("Standing", report.medal or "none")


@dataclass(slots=True)
class Tally:
    """What submissions came to, added one at a time: the one place of their counts and mean
    percentiles.
    """

    by: dict[Standing, int] = field(default_factory=lambda: dict.fromkeys(STANDINGS, 0))
    submissions: int = 0
    above_median: int = 0
    beats_human: int = 0
    partial: int = 0
    """How many were scored on only a part of the rows."""
    in_doubt: int = 0
    """How many have a score that is in doubt."""
    percentiles: list[float] = field(default_factory=list)
    """Of the valid ones on a task with a leaderboard, before their published rounding."""

    @classmethod
    def of(cls, reports: Iterable[TaskReport | None], not_graded: int = 0) -> Self:
        """Return the tally of these reports, None for one that was not graded, and of so many more
        of those.
        """
        tally = cls()
        for report in reports:
            tally.add(report)
        for _ in range(not_graded):
            tally.add(None)
        return tally

    def add(self, report: TaskReport | None) -> None:
        """Count a submission; `report` is None if it was not graded."""
        self.submissions += 1
        self.by[standing_of(report)] += 1
        if report is None or not report.valid_submission:
            return
        self.partial += report.rows_missing > 0
        self.in_doubt += bool(report.doubts)
        self.above_median += report.above_median
        self.beats_human += bool(report.beats_human)
        if report.percentile is not None:
            self.percentiles.append(report.percentile)

    @property
    def invalid(self) -> int:
        """The number of files that cannot be scored."""
        return self.by["invalid"]

    @property
    def not_graded(self) -> int:
        """The number of submissions that were not graded, through no fault of theirs."""
        return self.by["not_graded"]

    @property
    def valid(self) -> int:
        """The number of graded, valid submissions."""
        return self.submissions - self.invalid - self.not_graded

    @property
    def percentile(self) -> float | None:
        """The mean percentile of the valid submissions that have one; None without any."""
        return average_if_any(self.percentiles)

    @property
    def percentile_words(self) -> str:
        """What the mean percentile is over: `over 5 valid`, `over 5 of 6 valid`, or that none is
        known.
        """
        known = len(self.percentiles)
        if not known:
            if self.valid:
                return f"percentile unknown for all {self.valid:,} valid"
            return "no percentile yet"
        if known == self.valid:
            return f"over {known:,} valid"
        return f"over {known:,} of {self.valid:,} valid"

    @property
    def percentile_with_zeros(self) -> float | None:
        """The mean percentile with invalid and not graded submissions as 0; None if there are none
        at all.
        """
        return percentile_with_zeros(self.percentiles, self.invalid + self.not_graded)

    @property
    def others_words(self) -> str:
        """What a mean over valid submissions excludes, such as `3 invalid`, or `5 without a score`
        if some of them were not graded; empty if nothing.
        """
        if self.invalid and self.not_graded:
            return f"{self.invalid + self.not_graded:,} without a score"
        counts = {"invalid": self.invalid, "not graded": self.not_graded}
        return next((f"{count:,} {what}" for what, count in counts.items() if count), "")


def percentile_with_zeros(percentiles: Sequence[float], others: int) -> float | None:
    """Return the mean of the percentiles and of so many others, which count as 0; None without
    any.
    """
    if percentiles or others:
        return fsum(percentiles) / (len(percentiles) + others)
    return None

"""The outcome of grading one submission: a report, an invalid file with reasons, or not graded; and
their sums.

Reports are summed up as BioML-bench does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Any, Literal, Self, cast

from bioeval_tui.base.errors import NotMeasuredError, Problem
from bioeval_tui.base.text import plural
from bioeval_tui.grade.submissions import agent_in
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.statistics.means import average_if_any


class NotGradedError(NotMeasuredError, ValueError):
    """A submission could not be graded, through no fault of its file; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """The file's fault: it has no score.

    `report` is its published report; `problems` are the findings.
    """

    report: TaskReport
    reason: str
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class NotGraded:
    """Not the submission's fault: the grader crashed or hung, the task is unknown or unprepared, or
    a leaderboard is missing.

    `final` is true where trying again cannot help (an unknown task). `elsewhere` is true where the
    grader needs packages that its Python does not have, so that the Python of
    `BIOEVAL_WORKER_PYTHON` may be able to run it.
    """

    task_id: str
    submission_path: str
    reason: str
    attempts: int = 1
    final: bool = field(default=False, compare=False)
    agent: str | None = None
    elsewhere: bool = field(default=False, compare=False)

    @property
    def known_agent(self) -> str | None:
        """The agent that handed it in: given, or named by its path; None without either."""
        return self.agent or agent_in(self.submission_path)

    def to_dict(self) -> dict[str, Any]:
        """Return the entry under `not_graded` in a grading report, with `agent` if known."""
        entry: dict[str, Any] = {
            "task_id": self.task_id,
            "submission_path": self.submission_path,
            "reason": self.reason,
            "attempts": self.attempts,
        }
        if self.agent is not None:
            entry["agent"] = self.agent
        return entry

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build from an entry under `not_graded` in a grading report.

        Raises:
            ValueError: it is not of that form.
        """
        try:
            task_id, path, reason = (
                data["task_id"],
                data.get("submission_path") or "",
                data["reason"],
            )
            agent, attempts = data.get("agent"), data.get("attempts", 1)
        except (KeyError, AttributeError, TypeError):
            raise ValueError("an entry of `not_graded` needs `task_id` and `reason`") from None
        if not all(isinstance(text, str) for text in (task_id, path, reason, agent or "")):
            raise ValueError("an entry of `not_graded` has a value that is not text")
        if not isinstance(attempts, int):
            raise ValueError("`attempts` of an entry of `not_graded` must be a whole number")
        return cls(task_id, path, reason, attempts, agent=agent)


Outcome = TaskReport | Invalid | NotGraded
"""A TaskReport is a graded, valid submission."""


def reported(outcome: Outcome) -> TaskReport | NotGraded:
    """Return what a grading report says of an outcome: of an invalid file its report alone."""
    if isinstance(outcome, Invalid):
        return outcome.report
    return outcome


Diagnosis = Literal["valid", "invalid", "not_graded"]


@dataclass(frozen=True, slots=True)
class Validation:
    """What validation says of a file: `valid`, `invalid` or `not_graded`, in words, and the
    findings.

    `missing` is how many rows of the answers a valid file lacks. `in_doubt`: its score may not be
    what it deserves.
    """

    status: Diagnosis
    findings: tuple[str, ...] = ()
    missing: int = 0
    in_doubt: bool = False

    @property
    def words(self) -> str:
        """Such as `invalid`, or `valid for the published grader; 1,998 rows are missing`."""
        notes = []
        if self.missing:
            notes.append(f"{plural(self.missing, 'row is', 'rows are')} missing")
        if self.in_doubt:
            notes.append("its score is in doubt")
        if not notes:
            return self.status.replace("_", " ")
        return f"valid for the published grader; {'; '.join(notes)}"

    @property
    def is_only_for_grader(self) -> bool:
        """Whether the published grader takes the file, but something about it is wrong."""
        return bool(self.missing or self.in_doubt)


def validation_of(outcome: Outcome, findings: Iterable[Problem]) -> Validation:
    """Return what validation says of a file, from how it is graded and what is wrong with it."""
    messages = [item.message for item in findings]
    if isinstance(outcome, NotGraded):
        return Validation("not_graded", (*messages, outcome.reason))
    if isinstance(outcome, Invalid):
        own = [item.message for item in outcome.problems] or [outcome.reason]
        return Validation("invalid", tuple(dict.fromkeys([*own, *messages])))
    return Validation("valid", tuple(messages), outcome.rows_missing, bool(outcome.doubts))


def outcome_to_dict(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as a JSON-ready object, whose single key is its kind."""
    match outcome:
        case Invalid():
            problems = [problem_to_dict(item) for item in outcome.problems]
            report = outcome.report.to_dict()
            return {"invalid": {"reason": outcome.reason, "problems": problems, "report": report}}
        case NotGraded():
            return {
                "not_graded": {
                    **outcome.to_dict(),
                    "elsewhere": outcome.elsewhere,
                    "final": outcome.final,
                }
            }
        case _:
            return {"report": outcome.to_dict()}


def to_text(answer: dict[str, Any]) -> str:
    """Return `outcome_to_dict`'s result as JSON on one line.

    A carriage return follows each comma between values, and occurs nowhere else (JSON escapes those
    in text), so replacing it gives one line per value.
    """
    return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",\r", ": "))


def report_text(outcome_text: str) -> str:
    """Return the report's part of the text of a graded or invalid outcome, without parsing it."""
    # Quotes in text are escaped, so this can only be the key; the report is the last value.
    start = outcome_text.index('"report": ') + len('"report": ')
    return outcome_text[start : -1 if outcome_text.startswith('{"report"') else -2]


def is_not_graded(outcome_text: str) -> bool:
    """Whether the text is that of a submission that was not graded, without parsing it."""
    return outcome_text.startswith('{"not_graded"')


def outcome_from_dict(data: dict[str, Any]) -> Outcome:
    """Return the outcome that `outcome_to_dict` wrote.

    Raises:
        ValueError, KeyError, TypeError: `data` does not have that form.
    """
    if "report" in data:
        return TaskReport.from_dict(data["report"])
    if "not_graded" in data:
        value = data["not_graded"]
        return replace(
            NotGraded.from_dict(value), final=value["final"], elsewhere=value["elsewhere"]
        )
    value = data["invalid"]
    problems = tuple(problem_from_dict(item) for item in value["problems"])
    return Invalid(TaskReport.from_dict(value["report"]), value["reason"], problems)


def problem_to_dict(problem: Problem) -> dict[str, Any]:
    """Return a finding about a submission, ready for JSON."""
    return {"message": problem.message, "line": problem.line, "field": problem.field}


def problem_from_dict(data: dict[str, Any]) -> Problem:
    """Return the finding that `problem_to_dict` wrote."""
    return Problem(data["message"], line=data["line"], field=data["field"])


Standing = Literal["gold", "silver", "bronze", "none", "invalid", "not_graded"]
"""A submission's medal, or why it has none."""
STANDINGS: tuple[Standing, ...] = ("gold", "silver", "bronze", "none", "invalid", "not_graded")


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
    """Of the valid ones on a task with a leaderboard."""

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
        if report.leaderboard_percentile is not None:
            self.percentiles.append(report.leaderboard_percentile)

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


class ReportTotals:
    """The published aggregate.

    Counts can be added in any order; percentiles must come in the reports' order.
    """

    def __init__(self) -> None:
        self._counts = dict.fromkeys(_COUNTS, 0)

    @property
    def runs(self) -> int:
        """The number of counted reports."""
        return self._counts["total_runs"]

    @property
    def valid(self) -> int:
        """The number of valid reports."""
        return self._counts["total_valid_submissions"]

    def count(self, report: Mapping[str, Any]) -> None:
        """Count one report, in the form of `TaskReport.to_dict`."""
        counts = self._counts
        counts["total_runs"] += 1
        counts["total_runs_with_submissions"] += report["submission_exists"]
        counts["total_valid_submissions"] += report["valid_submission"]
        counts["total_medals"] += (
            report["gold_medal"] + report["silver_medal"] + report["bronze_medal"]
        )
        counts["total_gold_medals"] += report["gold_medal"]
        counts["total_silver_medals"] += report["silver_medal"]
        counts["total_bronze_medals"] += report["bronze_medal"]
        counts["total_above_median"] += report["above_median"]
        counts["total_beats_human"] += bool(report["beats_human"])

    def to_dict(
        self, percentiles: Sequence[float], round_to: Callable[[float, int], float] = round
    ) -> dict[str, Any]:
        """Return the published keys without `task_reports`.

        Args:
            percentiles: of the valid submissions, in the reports' order: the mean is a plain sum
                from left to right, which the order changes in its last bit.
            round_to: rounds a number to so many decimals. As published, it is numpy's rule for
                numbers that were just graded, Python's for those read back from JSON.
        """
        average = best = worst = None
        if percentiles:
            total = 0.0
            for percentile in percentiles:
                total += percentile
            average = float(round_to(total / len(percentiles), 1))
            best, worst = float(round_to(max(percentiles), 1)), float(round_to(min(percentiles), 1))
        return {
            **self._counts,
            "avg_leaderboard_percentile": average,
            "best_leaderboard_percentile": best,
            "worst_leaderboard_percentile": worst,
        }


_COUNTS = (
    "total_runs",
    "total_runs_with_submissions",
    "total_valid_submissions",
    "total_medals",
    "total_gold_medals",
    "total_silver_medals",
    "total_bronze_medals",
    "total_above_median",
    "total_beats_human",
)


def aggregate_reports(task_reports: Iterable[TaskReport]) -> dict[str, Any]:
    """Return the published summary of reports: counts, percentiles (0 to 100), and the reports
    themselves.
    """
    totals = ReportTotals()
    listed, percentiles = [], []
    for report in task_reports:
        values = report.to_dict()
        totals.count(values)
        listed.append(values)
        if report.leaderboard_percentile is not None:
            percentiles.append(report.leaderboard_percentile)
    return {**totals.to_dict(percentiles), "task_reports": listed}

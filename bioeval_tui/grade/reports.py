"""Aggregates reports, and loads those of this program, BioML-bench or MLE-bench."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bioeval_tui.errors import InputError
from bioeval_tui.grade.outcomes import NotGraded
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.text import clean_line, clean_value, json_problem

Outcome = TypeVar("Outcome", TaskReport, NotGraded)


class ReportTotals:
    """The published aggregate. Counts can be added in any order; percentiles must come in the reports' order."""

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
        counts["total_medals"] += report["gold_medal"] + report["silver_medal"] + report["bronze_medal"]
        counts["total_gold_medals"] += report["gold_medal"]
        counts["total_silver_medals"] += report["silver_medal"]
        counts["total_bronze_medals"] += report["bronze_medal"]
        counts["total_above_median"] += report["above_median"]
        counts["total_beats_human"] += bool(report["beats_human"])

    def to_dict(
        self, percentiles: Sequence[float], rounded: Callable[[float, int], float] = round
    ) -> dict[str, Any]:
        """Return the published keys without `task_reports`.

        Args:
            percentiles: of the valid submissions, in the reports' order: the mean is a plain sum from left
                to right, which the order changes in its last bit.
            rounded: as published, numpy's rule for numbers that were just graded, Python's for those read back
                from JSON.
        """
        average = best = worst = None
        if percentiles:
            total = 0.0
            for percentile in percentiles:
                total += percentile
            average = float(rounded(total / len(percentiles), 1))
            best, worst = float(rounded(max(percentiles), 1)), float(rounded(min(percentiles), 1))
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
    """Return the published summary of reports: counts, percentiles (0 to 100), and the reports themselves."""
    totals = ReportTotals()
    listed, percentiles = [], []
    for report in task_reports:
        values = report.to_dict()
        totals.count(values)
        listed.append(values)
        if report.leaderboard_percentile is not None:
            percentiles.append(report.leaderboard_percentile)
    return {**totals.to_dict(percentiles), "task_reports": listed}


@dataclass(frozen=True, slots=True)
class Loaded:
    """The results of graded submissions: reports, and submissions that could not be graded."""

    reports: tuple[TaskReport, ...]
    not_graded: tuple[NotGraded, ...] = ()


def load_reports(path: Path) -> list[TaskReport]:
    """Load every report at `path`: a grading report, one task's report, a running batch's journal, or a folder.

    Reports of BioML-bench and MLE-bench load, too. All text in them is cleaned. What could not be graded has no
    report: `load_outcomes` returns it as well.

    Raises:
        InputError: nothing there is a report, or a file cannot be read; file and line are named.
    """
    return list(load_outcomes(path).reports)


def load_outcomes(path: Path) -> Loaded:
    """Load every report at `path`, as `load_reports` does, and the submissions that could not be graded.

    Raises:
        InputError: as `load_reports`.
    """
    outcomes = list(_outcomes(Path(path)))
    return Loaded(
        tuple(item for item in outcomes if isinstance(item, TaskReport)),
        tuple(item for item in outcomes if isinstance(item, NotGraded)),
    )


def _outcomes(path: Path) -> Iterator[TaskReport | NotGraded]:
    shown = clean_line(str(path), 300)
    if path.is_dir():
        whole = sorted(path.glob("*_grading_report.json"))
        journals = sorted(item for item in path.glob("*_grading.jsonl") if not _finished(item))
        files = [*whole, *journals] or sorted(path.glob("*.json"))
        if not files:
            raise InputError(f"no grading reports in {shown}")
        for file in files:
            yield from _outcomes(file)
        return
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise InputError(f"{shown} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{shown} cannot be read: {clean_line(str(error), 120)}") from None
    if path.suffix == ".jsonl":
        yield from _journal(path, text)
        return
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{shown}: {json_problem(error)}") from None
    if not isinstance(data, dict):
        raise InputError(f"{shown} is not a grading report: an object is expected")
    listed = data.get("task_reports", data.get("competition_reports"))
    for item in listed if isinstance(listed, list) else [data]:
        yield _read(TaskReport, item, path)
    failed = data.get("not_graded")
    for item in failed if isinstance(failed, list) and isinstance(listed, list) else []:
        yield _read(NotGraded, item, path)


def _finished(journal: Path) -> bool:
    name = journal.name.removesuffix("_grading.jsonl")
    return journal.with_name(f"{name}_grading_report.json").exists()


def _journal(path: Path, text: str) -> Iterator[TaskReport]:
    for line in text.split("\n"):
        try:
            data = json.loads(line)
        except ValueError:
            continue  # a line that is being written, or was when the program died
        outcome = data.get("outcome", {}) if isinstance(data, dict) else {}
        report = outcome.get("report") or outcome.get("invalid", {}).get("report")
        if report:
            yield _read(TaskReport, report, path)


def _read(kind: type[Outcome], data: Any, path: Path) -> Outcome:
    try:
        if not isinstance(data, dict):
            raise ValueError("an object is expected")
        return kind.from_dict(clean_value(data, 10_000))
    except ValueError as error:
        shown = clean_line(str(path), 300)
        raise InputError(f"{shown} is not a grading report: {clean_line(str(error), 200)}") from None

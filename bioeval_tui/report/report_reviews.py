"""People's marks of graded submissions: `reviews.overlay.jsonl` in the folder of the grading report."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.record import reviews
from bioeval_tui.record.overlay import read_overlay
from bioeval_tui.record.paths import overlay_path

REPORT_REVIEWS = "reviews"
"""The overlay of a folder of grading reports is called this, with the overlay's ending."""


def reports_folder(path: Path) -> Path:
    """Return the folder of a batch's report, given the report, one task's report or the folder itself."""
    folder = path if path.is_dir() else path.absolute().parent
    return folder.parent if folder.name.endswith("_individual_reports") else folder


def report_reviews(folder: Path) -> reviews.Reviews:
    """Return the reviews of the submissions whose grading report is in this folder.

    Raises:
        RecordingError: the file is there and cannot be read.
    """
    place = folder / REPORT_REVIEWS
    if not overlay_path(place).is_file():
        return reviews.Reviews()
    return reviews.fold_reviews(read_overlay(place).events)


def submission_key(report: TaskReport) -> str:
    """Return the key of a graded submission in the reviews: task, file and time of grading."""
    return f"{report.task_id} {report.submission_path} {report.created_at.isoformat()}"


def marks_at(path: Path, found: Iterable[TaskReport]) -> list[str]:
    """Return the reviews of each report loaded from `path`, a file or a folder; empty without any."""
    said = report_reviews(reports_folder(path)).submissions
    return [reviews.mark_words(said.get(submission_key(report), {})) for report in found]

"""People's reviews, as documents list them: of conversations beside a recording, of submissions beside a
grading report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.record import reviews
from bioeval_tui.record.events import ConversationScored, Reviewed, RunEvent, TranscriptScored
from bioeval_tui.record.overlay import Overlay, read_overlay
from bioeval_tui.record.paths import overlay_path


@dataclass(frozen=True, slots=True)
class Review:
    """One entry: a person's review of a conversation or task. `before` and `after` are scores in [0, 1]."""

    kind: str
    author: str
    at: str
    condition: str | None = None
    trial: int | None = None
    task: int | None = None
    before: float | None = None
    after: float | None = None
    why: str = ""

    @property
    def about(self) -> str:
        """Such as `withheld, trial 1, task 2`."""
        parts = [
            self.condition or "",
            f"trial {self.trial}" if self.trial else "",
            f"task {self.task}" if self.task else "",
        ]
        return ", ".join(part for part in parts if part) or "the run"


def reviews_of(overlay: Overlay) -> tuple[Review, ...]:
    """Return the entries of an overlay in order, without later verdicts, which `judged_again` has."""
    verdicts = (TranscriptScored, ConversationScored)
    return tuple(_review(event) for event in overlay.events if not isinstance(event, verdicts))


def _review(event: RunEvent) -> Review:
    who, at = event.author or "unknown", event.at.isoformat()
    if not isinstance(event, Reviewed):
        return Review(event.kind.replace("_", " "), who, at, event.condition, event.trial)
    said = " ".join(filter(None, (event.action, event.fault, event.mark)))
    kind = f"{said}, blind" if event.blind else said
    return Review(
        kind, who, at, event.condition, event.trial, event.task, event.before, event.after, event.why
    )


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

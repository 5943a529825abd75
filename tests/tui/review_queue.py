"""The scripted run and graded submissions as a queue of reviews, folded by the real code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from medal_rows import sample_rows
from run_script import scripted_run

from bioeval_tui.record.events import Reviewed, RunEvent
from bioeval_tui.record.overlay import Overlay
from bioeval_tui.record.reviews import fold_reviews
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.tui.data.reviews import run_items
from bioeval_tui.tui.grading_items import MedalRow
from bioeval_tui.tui.review_items import ItemId, ReviewItem


def task_queue(events: Sequence[RunEvent] | None = None) -> Any:
    """Return what gives the run's tasks over what was said; the conversations stay the same
    objects.
    """
    state = apply_all(RunState(), events or scripted_run())
    return lambda entries: run_items("7f3a2c91", state, Overlay(tuple(entries)))


def kept_rows() -> list[MedalRow]:
    """Return graded submissions whose report is a file."""
    return [replace(row, folder=Path("results")) for row in sample_rows()]


def submission_queue(rows: Sequence[MedalRow]) -> Any:
    """Return what gives these submissions over what was said."""

    def items(entries: Sequence[Reviewed]) -> list[ReviewItem]:
        said = fold_reviews(entries).submissions
        return [
            ReviewItem(
                ItemId("results", None, None, row.file),
                row.task_id,
                row.task_id,
                row=row,
                opinions=said.get(row.file, {}),
                graded="valid" if row.report and row.report.valid_submission else "invalid",
            )
            for row in rows
            if row.report is not None
        ]

    return items

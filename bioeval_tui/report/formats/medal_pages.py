"""Graded reports as one HTML file, Markdown, CSV or JSON. The published keys stay as they are in JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from bioeval_tui import __version__
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.report.formats.html import environment, policy
from bioeval_tui.report.formats.markdown import escape, table
from bioeval_tui.report.formats.tables import cell
from bioeval_tui.report.words import DASH, medal_word, next_words

COLUMNS = (
    "task_id", "agent", "medal", "score", "lower_is_better", "leaderboard_percentile", "place", "leaderboard_size",
    "above_median", "beats_human", "next_medal", "score_needed", "valid", "error", "submission_path", "created_at",
    "review",
)  # fmt: skip
MOST_CARDS = 500
"""With more reports than this the HTML file has the table alone."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many of what. `percentile` is over the valid ones, `with_invalid` counts the others as 0."""

    reports: int
    gold: int
    silver: int
    bronze: int
    above_median: int
    invalid: int
    percentile: float | None
    with_invalid: float | None

    @property
    def words(self) -> str:
        """Such as `48 reports: 5 gold, 7 silver, 9 bronze; 27 above the median; 3 invalid`."""
        counts = f"{self.gold} gold, {self.silver} silver, {self.bronze} bronze"
        found = f"{counts}; {self.above_median} above the median; {self.invalid} invalid"
        if self.percentile is None:
            return found
        beside = f" ({self.with_invalid:.1f} with invalid as 0)" if self.invalid else ""
        return f"{found}; average percentile {self.percentile:.1f}{beside}"


def tally(reports: Sequence[TaskReport]) -> Tally:
    """Count medals and the like."""
    known = [r.leaderboard_percentile for r in reports if r.leaderboard_percentile is not None]
    invalid = sum(not report.valid_submission for report in reports)
    return Tally(
        len(reports),
        sum(report.gold_medal for report in reports),
        sum(report.silver_medal for report in reports),
        sum(report.bronze_medal for report in reports),
        sum(report.above_median for report in reports),
        invalid,
        fmean(known) if known else None,
        sum(known) / (len(known) + invalid) if known else None,
    )


def medals_html(reports: Sequence[TaskReport], reviews: Sequence[str] = ()) -> str:
    """Return one self-contained HTML file: the tally, a table, and a card with its scale for each report."""
    return (
        environment()
        .get_template("medals.html.jinja")
        .render(
            policy=policy(),
            program_version=__version__,
            reports=reports,
            reviews=reviews or [""] * len(reports),
            tally=tally(reports),
            cards=len(reports) <= MOST_CARDS,
        )
    )


def medals_markdown(reports: Sequence[TaskReport], reviews: Sequence[str] = ()) -> str:
    """Return a heading, the tally and a table."""
    reviews = reviews or [""] * len(reports)
    rows = [
        [
            escape(report.task_id),
            escape(_agent(report) or DASH),
            medal_word(report),
            DASH if report.score is None else f"{report.score:g}",
            DASH if report.leaderboard_percentile is None else f"{report.leaderboard_percentile:.1f}",
            _yes(report.above_median if report.valid_submission else None),
            _yes(report.beats_human),
            escape(next_words(report)),
            *([escape(said)] if any(reviews) else []),
        ]
        for report, said in zip(reports, reviews, strict=True)
    ]
    head = ["task", "agent", "medal", "score", "percentile", "above median", "beats human", ""]
    head += ["reviewed"] if any(reviews) else []
    return "\n".join(["# Medals", "", f"{tally(reports).words}.", "", *table(head, rows), ""])


def medals_csv(reports: Sequence[TaskReport], reviews: Sequence[str] = ()) -> str:
    """Return a row for each report; what a spreadsheet would take for a formula gets an apostrophe in front."""
    reviews = reviews or [""] * len(reports)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for report, said in zip(reports, reviews, strict=True):
        extra = report.extra
        values: list[object] = [
            report.task_id, _agent(report), report.medal, _number(report.score), report.is_lower_better,
            _number(report.leaderboard_percentile), extra.leaderboard_position if extra else None,
            report.leaderboard_size, report.above_median, report.beats_human, extra.next_medal if extra else None,
            _number(extra.score_needed if extra else None), report.valid_submission,
            extra.error if extra else None, report.submission_path, report.created_at.isoformat(),
            said,
        ]  # fmt: skip
        writer.writerow([cell(value) for value in values])
    return file.getvalue()


def medals_json(reports: Sequence[TaskReport], reviews: Sequence[str] = ()) -> str:
    """Return a list of the reports as they were published, without what reviewers say."""
    return json.dumps([report.to_dict() for report in reports], indent=2, ensure_ascii=False) + "\n"


def _agent(report: TaskReport) -> str | None:
    return report.extra.agent if report.extra else None


def _yes(value: bool | None) -> str:
    return DASH if value is None else "✓" if value else "✗"


def _number(value: float | None) -> str | None:
    """Return a score with all its digits: CSV cells of times are rounded, scores never."""
    return None if value is None else repr(float(value))

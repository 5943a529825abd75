"""The medal table's columns, cells and totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from bioeval_tui.text import plural
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.copying import Copied, tabbed
from bioeval_tui.tui.shared.listing_view import Column

if TYPE_CHECKING:
    from bioeval_tui.grade.task_report import TaskReport
    from bioeval_tui.record.events import Mark
    from bioeval_tui.tui.items import MedalRow

Standing = Literal["gold", "silver", "bronze", "none", "invalid", "not_graded"]

MEDALS: dict[Standing, Cell] = {
    "gold": Cell("● gold", "gold"),
    "silver": Cell("◐ silver", "silver"),
    "bronze": Cell("◔ bronze", "bronze"),
    "none": Cell("– none", "quiet"),
    "invalid": Cell("! invalid", "bad"),
    "not_graded": Cell("? not graded", "warn"),
}


COLUMNS: tuple[Column, ...] = (
    Column("task", 0),
    Column("agent", 10),
    Column("medal", 12),
    Column("score", 10, True),
    Column("95 % interval", 16, True, 5),
    Column("pctl", 5, True, 1),
    Column("> median", 9, True, 3),
    Column("> human", 8, True, 4),
    Column("next medal", 17, False, 2),
    Column("domain", 16, False, 6),
    Column("file", 24, False, 7),
)
HIDDEN_AT_FIRST = frozenset({"domain", "file"})
"""Columns that are hidden by default."""
MIN_TASK = 18
"""Minimum width of the first column, in cells."""


def standing(row: MedalRow) -> Standing:
    """Return the medal, or why the submission has none."""
    if row.report is None:
        return "not_graded"
    if not row.report.valid_submission:
        return "invalid"
    medal = row.report.medal
    return medal if medal in ("gold", "silver", "bronze") else "none"  # type: ignore[return-value]


def graded_as(row: MedalRow) -> Mark:
    """Return the state of the file in the reviewers' terms."""
    return "valid" if row.report is not None and row.report.valid_submission else "invalid"


def number(value: float | None) -> str:
    """Return a score with up to five decimals, at least four; a dash for None."""
    if value is None:
        return "–"
    text = f"{value + 0.0:.5f}"  # no -0.0
    return text[:-1] if text.endswith("0") else text


def column_number(value: float | None) -> str:
    """Return a score for a column, with aligned decimal points."""
    text = number(value)
    return text if "." not in text else text + " " * (5 - len(text.partition(".")[2]))


def next_medal(row: MedalRow) -> Cell:
    """Return the next better medal and its distance, or why the submission has none."""
    report = row.report
    if report is None:
        return Cell(row.not_graded or "not graded", "warn")
    extra = report.extra
    if not report.valid_submission:
        return Cell((extra.error if extra else None) or "invalid", "bad")
    if extra is None or extra.score_needed is None or extra.next_medal is None or report.score is None:
        return Cell("–", "quiet")
    away = extra.score_needed - report.score
    return Cell(f"{extra.next_medal} {'+' if away >= 0 else '−'}{number(abs(away))}")


def row_cells(row: MedalRow) -> dict[str, Cell]:
    """Return a row's cells by the names of the columns."""
    report, place = row.report, standing(row)
    fine = report is not None and place != "invalid"
    percentile = report.leaderboard_percentile if report and fine else None
    return {
        "task": Cell(row.task_id),
        "agent": Cell(row.agent),
        "medal": MEDALS[place],
        "score": Cell(
            column_number(report.score if report and fine else None), "strong" if fine else "quiet"
        ),
        "95 % interval": _interval(report if fine else None),
        "pctl": Cell("–" if percentile is None else f"{percentile:.1f}", "plain" if fine else "quiet"),
        "> median": _yes(report.above_median if report and fine else None),
        "> human": _yes(report.beats_human if report and fine else None),
        "next medal": next_medal(row),
        "domain": Cell(row.domain or "–", "plain" if row.domain else "quiet"),
        "file": Cell(row.file, "quiet"),
    }


def _interval(report: TaskReport | None) -> Cell:
    found = report.uncertainty if report else None
    return Cell("–", "quiet") if found is None or found.low is None else Cell(found.interval_words, "quiet")


EXPORTED = (
    "task",
    "domain",
    "agent",
    "medal",
    "score",
    "percentile",
    "place",
    "leaderboard_size",
    "above_median",
    "beats_human",
    "next_medal",
    "score_needed",
    "why",
    "file",
    "low",
    "high",
    "p_gold",
    "p_silver",
    "p_bronze",
    "place_best",
    "place_worst",
)


def exported(row: MedalRow) -> tuple[str | float | None, ...]:
    """Return a row's values for other programs, in the order of `EXPORTED`; numbers unrounded."""
    report, place = row.report, standing(row)
    extra = report.extra if report else None
    fine = report is not None and place != "invalid"
    sure = report.uncertainty if report else None
    return (
        row.task_id,
        row.domain,
        row.agent,
        place,
        report.score if report and fine else None,
        report.leaderboard_percentile if report and fine else None,
        extra.leaderboard_position if extra else None,
        report.leaderboard_size if report else None,
        _word(report.above_median if report and fine else None),
        _word(report.beats_human if report and fine else None),
        extra.next_medal if extra else None,
        extra.score_needed if extra else None,
        row.not_graded or (extra.error if extra and place == "invalid" else None),
        row.file,
        *((sure.low, sure.high, sure.gold, sure.silver, sure.bronze) if sure else (None,) * 5),
        *((sure.place_best, sure.place_worst) if sure else (None, None)),
    )


def copied(row: MedalRow) -> Copied:
    """Return a submission's values as a row for a spreadsheet."""
    return Copied("this submission, separated by tabs", lambda: tabbed([exported(row)]))


def _word(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"


def _yes(value: bool | None) -> Cell:
    if value is None:
        return Cell("–   ", "quiet")
    return Cell("✓   ", "good") if value else Cell("✗   ", "quiet")


class Totals(NamedTuple):
    """Counts over rows, and the average percentile over valid ones and with the others as 0."""

    rows: int
    by: dict[Standing, int]
    above_median: int
    beats_human: int
    valid: int
    average: float | None
    average_with_zeros: float | None
    agents: int


def totals_lines(totals: Totals, width: int = 200) -> list[list[Cell]]:
    """Return the lines under the table: two, or three where two would not fit into `width` cells."""
    by = totals.by
    counts = [Cell(f"{plural(totals.rows, 'report')}   ", "strong")]
    for name in ("gold", "silver", "bronze"):
        counts += [MEDALS[name], Cell(f" {by[name]:,}   ")]
    counts.append(Cell(f"invalid {by['invalid']:,}", "bad" if by["invalid"] else "quiet"))
    counts.append(Cell(f"   not graded {by['not_graded']:,}", "warn" if by["not_graded"] else "quiet"))
    above = [Cell(f"above median {totals.above_median:,}")]
    if totals.beats_human:
        above.append(Cell(f"   above human {totals.beats_human:,}"))
    if totals.average is None or totals.average_with_zeros is None:
        average = [Cell("no percentile yet", "quiet")]
    else:
        average = [
            Cell("average percentile "),
            Cell(f"{totals.average:.1f}", "strong"),
            Cell(f" over {totals.valid:,} valid of {totals.rows:,}", "quiet"),
        ]
        if totals.valid < totals.rows:
            average.append(Cell(f", {totals.average_with_zeros:.1f} if the others count as 0", "quiet"))
    together = [*average, Cell("   "), *above]
    if sum(len(cell.text) for cell in together) <= width:
        return [counts, together]
    return [counts, average, above]

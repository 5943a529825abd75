"""What the medal card says about one submission."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bioeval_tui.tui.medals import medal_scale_view
from bioeval_tui.tui.medals.medals_view import MEDALS, column_number, number, standing
from bioeval_tui.tui.shared.cells_view import Cell

if TYPE_CHECKING:
    from bioeval_tui.grade.task_report import TaskReport
    from bioeval_tui.tui.items import MedalRow

Line = list[Cell]
AROUND = 2
UNKNOWN = "unknown"
"""Stands in a report for an agent that has no name; a card leaves it out."""


def card(row: MedalRow, width: int) -> list[Line]:
    """Return the card's lines for `width` cells."""
    place = standing(row)
    name = row.task_id if row.agent == UNKNOWN else f"{row.task_id} · {row.agent}"
    lines: list[Line] = [[MEDALS[place]], [Cell(name, "strong")], []]
    report = row.report
    if report is None:
        lines.append([Cell("not graded: ", "warn"), Cell(row.not_graded or "no reason is known")])
        return [*lines, [], [Cell("its data can be prepared from here", "busy")]] if row.lacks_data else lines
    extra = report.extra
    if place == "invalid":
        why = (extra.error if extra else None) or _why_invalid(report)
        return [*lines, [Cell("invalid: ", "bad"), Cell(why)], [], [Cell(row.file, "quiet")]]
    lines += _standing_lines(report)
    scale = medal_scale_view.scale_of(row)
    if scale is not None:
        lines += _scale_lines(scale, width)
    lines += _next_lines(report)
    lines += _warning_lines(report)
    lines += _board_lines(row, report)
    return lines


def _why_invalid(report: TaskReport) -> str:
    return "the file is not valid" if report.submission_exists else "no file was handed in"


def position(report: TaskReport) -> str:
    """Return `would place 17 of 1,044`, this submission counted."""
    return f"would place {report.place_words}" if report.place_words else "place not known"


def _standing_lines(report: TaskReport) -> list[Line]:
    better = "lower is better" if report.is_lower_better else "higher is better"
    lines = [
        [Cell(position(report), "strong")],
        [Cell(f"score {number(report.score)}"), Cell(f"  {better}", "quiet")],
    ]
    lines += _sure_lines(report)
    if report.leaderboard_percentile is not None:
        lines.append([Cell(f"percentile {report.leaderboard_percentile:.1f}")])
    if report.extra and report.extra.ladder_score is not None:
        lines.append([Cell(f"Ladder score {number(report.extra.ladder_score)}")])
    if report.looks_words:
        lines.append([Cell(report.looks_words, "quiet" if report.looks_words == "graded once" else "warn")])
    if report.beats_human is not None:
        words = "above the human median" if report.beats_human else "not above the human median"
        share = "" if report.human_percentile is None else f", human percentile {report.human_percentile:.1f}"
        lines.append([Cell(words + share)])
    return [*lines, []]


def _sure_lines(report: TaskReport) -> list[Line]:
    found = report.uncertainty
    if found is None:
        return []
    if found.low is None:
        return [[Cell(found.interval_words, "quiet")]]
    rows = f"{found.rows or 0:,} test rows"
    places = f"place {found.place_words}, {rows}" if found.place_words else rows
    return [
        [Cell(f"95 % interval {found.interval_words}")],
        [Cell(f"  {places}", "quiet")],
        [Cell("  on other rows like these: ", "quiet")],
        [Cell(f"  {found.medal_words}")],
    ]


def _scale_lines(scale: medal_scale_view.Scale, width: int) -> list[Line]:
    start = f"{'◂ ' if scale.cut else ''}{number(scale.worst)}"
    end = number(scale.best)
    ends = " " * max(1, width - len(start) - len(end))
    words = " " * max(1, width - len("worse") - len("better"))
    return [
        [Cell(f"worse{words}better", "quiet")],
        medal_scale_view.axis(scale, width),
        *medal_scale_view.labels(scale, width),
        [Cell(start + ends + end, "quiet")],
        [],
    ]


def _next_lines(report: TaskReport) -> list[Line]:
    extra = report.extra
    if extra is None or extra.score_needed is None or extra.next_medal is None or report.score is None:
        return []
    away = extra.score_needed - report.score
    distance = f"{'+' if away >= 0 else '−'}{number(abs(away))}"
    return [
        [Cell(report.needed_words), Cell(f"  {distance}", "busy")],
        [],
    ]


def _warning_lines(report: TaskReport) -> list[Line]:
    extra = report.extra
    if extra is None:
        return []
    lines: list[Line] = []
    if extra.self_trained_leaderboard and not any("self-trained" in warning for warning in extra.warnings):
        lines.append(
            [Cell("! self-trained leaderboard: models trained for this program, not people", "warn")]
        )
    lines += [[Cell(f"! {warning}", "warn")] for warning in extra.warnings]
    if extra.leaderboard:
        lines.append([Cell(f"leaderboard: {extra.leaderboard}", "quiet")])
    return [*lines, []] if lines else []


def _board_lines(row: MedalRow, report: TaskReport) -> list[Line]:
    """Return the entries around the place that the score would take."""
    place = report.extra.leaderboard_position if report.extra else None
    if place is None or not row.leaderboard or report.score is None:
        return []
    board = row.leaderboard
    lines: list[Line] = [[Cell("leaderboard around it", "quiet")]]
    width = len(f"#{len(board):,}")
    first = max(1, place - AROUND)
    if first > 1:
        lines.append([Cell(f"  {'#1':>{width}}  {column_number(board[0])}", "quiet")])
        if first > 2:
            lines.append([Cell(f"  {'…':>{width}}", "quiet")])
    for rank in range(first, place):
        lines.append([Cell(f"  {f'#{rank:,}':>{width}}  {column_number(board[rank - 1])}", "quiet")])
    lines.append(
        [
            Cell(f"▶ {f'#{place:,}':>{width}}  {column_number(report.score)}", "strong"),
            Cell(" this one", "quiet"),
        ]
    )
    for rank in range(place, min(len(board), place + AROUND - 1) + 1):
        lines.append([Cell(f"  {f'#{rank + 1:,}':>{width}}  {column_number(board[rank - 1])}", "quiet")])
    return lines

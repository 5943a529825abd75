"""The lines of the medal card."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bioeval_tui.grade.uncertainty import percent
from bioeval_tui.report.conclusion import conclude_grading
from bioeval_tui.tui.medals import medal_scale_view
from bioeval_tui.tui.medals.medals_view import MEDALS, column_number, number, standing
from bioeval_tui.tui.shared.cells_view import Cell, Tone, joined

if TYPE_CHECKING:
    from bioeval_tui.grade.task_report import TaskReport
    from bioeval_tui.tui.items import MedalRow

Line = list[Cell]
AROUND = 2
EIGHTHS, EIGHTHS_ACROSS = " ▁▂▃▄▅▆▇█", " ▏▎▍▌▋▊▉"
CHANCE = 24
"""Width of the bar of a chance of 1."""
_CHANCES: dict[str, Tone] = {"gold": "gold", "silver": "silver", "bronze": "bronze"}
FEWEST_FOR_COLUMNS = 8
LOW, TALL, WIDE = 4, 9, 80
"""Height of the columns: beside the table, and at larger widths."""
UNKNOWN = "unknown"
"""The report's placeholder for an agent without a name, which cards leave out."""


def card(row: MedalRow, width: int, *, tall: bool = True) -> list[Line]:
    """Return the card's lines for `width` cells; with the board as columns only where there is room, `tall`."""
    place = standing(row)
    name = row.task_id if row.agent == UNKNOWN else f"{row.task_id} · {row.agent}"
    lines: list[Line] = [[MEDALS[place]], [Cell(name, "strong")], []]
    report = row.report
    if report is not None:
        lines += [[Cell(conclude_grading(report).sentence, "strong")], []]
    if report is None:
        lines.append([Cell("not graded: ", "warn"), Cell(row.not_graded or "no reason given")])
        return [*lines, [], [Cell("you can prepare its data here", "busy")]] if row.lacks_data else lines
    extra = report.extra
    if place == "invalid":
        why = (extra.error if extra else None) or _why_invalid(report)
        return [*lines, [Cell("invalid: ", "bad"), Cell(why)], [], [Cell(row.file, "quiet")]]
    lines += _standing_lines(report)
    lines += _warning_lines(report)
    scale = medal_scale_view.scale_of(row)
    if scale is not None:
        lines += _scale_lines(row, scale, width, tall=tall)
    lines += _next_lines(report)
    lines += _board_lines(row, report)
    return lines


def _why_invalid(report: TaskReport) -> str:
    return "the file is not valid" if report.submission_exists else "no file was submitted"


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
        [],
        [Cell("chance of each medal, on similar test rows", "quiet")],
        *(_chance_line(name, share) for name, share in found.medals),
        [],
    ]


def _chance_line(name: str, share: float) -> Line:
    """Return a medal's chance as a bar of its colour and in figures."""
    tone = _CHANCES.get(name, "quiet")
    eighths = round(share * CHANCE * 8)
    bar = "█" * (eighths // 8) + EIGHTHS_ACROSS[eighths % 8]
    return [
        Cell(f"{name:<9}", tone),
        Cell(f"{bar.rstrip():<{CHANCE}}", tone),
        Cell(f"{percent(share):>7}", "plain" if share else "quiet"),
    ]


def _scale_lines(row: MedalRow, scale: medal_scale_view.Scale, width: int, *, tall: bool) -> list[Line]:
    """Return the leaderboard as columns in medal colours, the axis, the score's position, and the medals enlarged."""
    start = f"{'◂ ' if scale.cut else ''}{number(scale.worst)}"
    end = number(scale.best)
    score = number(row.report.score if row.report else None)
    closely = medal_scale_view.zoomed(scale) if medal_scale_view.crowded(scale, width) else None
    names = [mark for mark in scale.marks if not (closely and mark.name in medal_scale_view.MEDAL_NAMES)]
    lines = [
        *(_columns(row, scale, width) if tall else []),
        medal_scale_view.axis(scale, width),
        medal_scale_view.pointer(scale, width, f"this {score}"),
        *medal_scale_view.labels(replace(scale, marks=tuple(names)), width),
        [Cell(f"{start} worse{' ' * max(1, width - len(start) - len(end) - 13)}better {end}", "quiet")],
        [],
    ]
    if closely is not None:
        lines += [
            [Cell("the medals, enlarged", "quiet")],
            medal_scale_view.axis(closely, width),
            *medal_scale_view.labels(closely, width),
            medal_scale_view.pointer(closely, width, f"this {score}"),
            [],
        ]
    return lines


def _columns(row: MedalRow, scale: medal_scale_view.Scale, width: int) -> list[Line]:
    """Return the leaderboard as columns from worst to best, each in the colour of the medal that begins at or below it."""
    if len(row.leaderboard) < FEWEST_FOR_COLUMNS or row.report is None:
        return []
    span = scale.best - scale.worst or 1.0
    counts = [0] * width
    for score in row.leaderboard:
        at = (score - scale.worst) / span
        if at >= 0:
            counts[min(width - 1, round(at * (width - 1)))] += 1
    reach = max(1, width // 40)  # a cell is narrower than scores lie apart
    counts = [sum(counts[max(0, x - reach) : x + reach + 1]) for x in range(width)]
    most, height = max(counts) or 1, TALL if width >= WIDE else LOW
    medals = [mark for mark in scale.marks if mark.name in medal_scale_view.MEDAL_NAMES]
    tones: list[Tone] = []
    for x in range(width):
        reached = [mark for mark in medals if mark.at <= (x + 0.5) / max(1, width - 1)]
        tones.append(max(reached, key=lambda mark: mark.at).tone if reached else "quiet")
    lines: list[Line] = []
    for level in reversed(range(height)):
        signs = (EIGHTHS[max(0, min(8, _eighths(count, most, height) - 8 * level))] for count in counts)
        lines.append(joined(zip(signs, tones, strict=True)))
    return lines


def _eighths(count: int, most: int, height: int) -> int:
    return max(1, round(count / most * height * 8)) if count else 0


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
        lines.append([Cell("! leaderboard of models trained for bioeval-tui, not of people", "warn")])
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

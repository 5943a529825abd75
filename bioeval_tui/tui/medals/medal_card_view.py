"""The lines of the medal card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bioeval_tui.grade.ledger import ordinal
from bioeval_tui.grade.uncertainty import percent
from bioeval_tui.report.conclusion import conclude_grading
from bioeval_tui.tui.medals.medals_view import MEDALS, column_number, standing
from bioeval_tui.tui.shared import histogram_view
from bioeval_tui.tui.shared.cells_view import Cell, Tone

if TYPE_CHECKING:
    from bioeval_tui.grade.task_report import TaskReport
    from bioeval_tui.grade.uncertainty import Uncertainty
    from bioeval_tui.tui.items import MedalRow

Line = list[Cell]
AROUND = 2
_CHANCES: dict[str, tuple[str, Tone]] = {
    "gold": ("█", "gold"),
    "silver": ("▓", "silver"),
    "bronze": ("▒", "bronze"),
    "no medal": ("░", "entries"),
}
UNKNOWN = "unknown"
"""The report's placeholder for an agent without a name, which cards leave out."""


def head(row: MedalRow, width: int) -> list[Line]:
    """Return the medal, the task and the agent, and the conclusion."""
    medal = MEDALS[standing(row)]
    name = Cell(row.task_id if row.agent == UNKNOWN else f"{row.task_id} · {row.agent}", "strong")
    fits = len(medal.text) + 3 + len(name.text) <= width
    lines: list[Line] = [[medal, Cell("   "), name]] if fits else [[medal], [name]]
    if row.report is not None and standing(row) != "invalid":
        lines += [[Cell(conclude_grading(row.report).sentence, "strong")]]
    return lines


def card(row: MedalRow, width: int, height: int) -> list[Line]:
    """Return the lines below the head for `width` cells; the leaderboard's columns are `height` lines high."""
    report = row.report
    if report is None:
        lines: list[Line] = [[Cell("not graded: ", "warn"), Cell(row.not_graded or "no reason given")]]
        return [*lines, [], [Cell("you can prepare its data here", "busy")]] if row.lacks_data else lines
    if standing(row) == "invalid":
        return [[Cell("invalid: ", "bad"), Cell(_why_invalid(report))], [], [Cell(row.file, "quiet")]]
    return [
        *_warning_lines(report),
        *_standing_lines(report, width),
        *(_chance_lines(report.uncertainty, width) if report.uncertainty else []),
        *_scale_lines(row, report, width, height),
        *_board_lines(row, report),
        *(
            [[], [Cell(f"leaderboard: {report.extra.leaderboard}", "quiet")]]
            if report.extra and report.extra.leaderboard
            else []
        ),
    ]


def _why_invalid(report: TaskReport) -> str:
    if report.extra and report.extra.error:
        return report.extra.error
    return "the file is not valid" if report.submission_exists else "no file was submitted"


def _warning_lines(report: TaskReport) -> list[Line]:
    extra = report.extra
    if extra is None:
        return []
    warnings = list(extra.warnings)
    if extra.self_trained_leaderboard and not any("self-trained" in warning for warning in warnings):
        warnings.append("leaderboard of models trained for bioeval-tui, not of people")
    return [*([Cell(f"! {warning}", "warn")] for warning in warnings), *([[]] if warnings else [])]


def _standing_lines(report: TaskReport, width: int) -> list[Line]:
    facts = [
        Cell(report.score_words, "strong"),
        Cell("lower is better" if report.is_lower_better else "higher is better", "quiet"),
        Cell(f"would place {report.place_words}" if report.place_words else "place not known"),
    ]
    if report.leaderboard_percentile is not None:
        facts.append(Cell(f"percentile {report.leaderboard_percentile:.1f}"))
    lines = _flowing(facts, width)
    if report.uncertainty is not None:
        lines += _flowing(_interval(report.uncertainty), width)
    lines += _tries(report)
    if report.beats_human is not None:
        words = "above the human median" if report.beats_human else "not above the human median"
        share = "" if report.human_percentile is None else f", human percentile {report.human_percentile:.1f}"
        lines.append([Cell(words + share)])
    return [*lines, []]


def _tries(report: TaskReport) -> list[Line]:
    extra = report.extra
    own = (extra.agent_looks or extra.looks or 0) if extra else 0
    if own < 2:
        return []
    words = f"{ordinal(own)} try of this agent on these answers: the best of many tries is partly luck"
    return [[Cell(words, "warn")]]


def _interval(found: Uncertainty) -> list[Cell]:
    if found.low is None:
        return [Cell(found.interval_words, "quiet")]
    places = [Cell(f"place {found.place_words}", "quiet")] if found.place_words else []
    rows = Cell(f"{found.rows or 0:,} test rows", "quiet")
    return [Cell(f"95 % interval {found.interval_words}"), *places, rows]


def _chance_lines(found: Uncertainty, width: int) -> list[Line]:
    """Return the chance of each medal as the parts of one bar, named in figures below it."""
    if not found.medals:
        return []
    bar: Line = []
    figures: list[Cell] = []
    done, at = 0.0, 0
    for name, share in found.medals:
        sign, tone = _CHANCES[name]
        done += share
        bar.append(Cell(sign * (round(done * width) - at), tone))
        at = round(done * width)
        figures.append(Cell(f"{sign} {name} {percent(share)}", tone))
    head: Line = [Cell(f"on {found.rows or 0:,} other rows like these, it would win", "quiet")]
    return [head, bar, *_flowing(figures, width, "  "), []]


def _flowing(facts: list[Cell], width: int, between: str = " · ") -> list[Line]:
    """Return facts beside each other; one that does not fit into `width` begins the next line."""
    lines: list[Line] = []
    room = 0
    for fact in facts:
        room -= len(between) + len(fact.text)
        if room >= 0:
            lines[-1] += [Cell(between, "quiet"), fact]
        else:
            lines.append([fact])
            room = width - len(fact.text)
    return lines


def _scale_lines(row: MedalRow, report: TaskReport, width: int, height: int) -> list[Line]:
    if report.score is None:
        return []
    marks = {
        "median": report.median_threshold,
        "bronze": report.bronze_threshold,
        "silver": report.silver_threshold,
        "gold": report.gold_threshold,
        **({"human": row.human} if row.human is not None else {}),
    }
    found = histogram_view.histogram(
        row.leaderboard, marks, lower_is_better=report.is_lower_better, own=report.score
    )
    return [*histogram_view.lines(found, width, height), []]


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

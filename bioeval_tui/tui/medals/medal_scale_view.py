"""The medal scale: the worst score on the left, the best on the right, whether higher or lower is better."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from bioeval_tui.tui.shared.cells_view import Cell, Tone

if TYPE_CHECKING:
    from bioeval_tui.grade.task_report import TaskReport
    from bioeval_tui.tui.items import MedalRow

MEDAL_NAMES = ("bronze", "silver", "gold")
CLOSE = 8
"""Medals closer than this many cells are also shown enlarged."""
FAR_OUT = 3.0
"""The axis begins no further below the median than this many times the median's distance from the best."""


class ScaleMark(NamedTuple):
    """A named place on the scale; `at` in [0, 1] from worst to best."""

    name: str
    at: float
    tone: Tone


@dataclass(frozen=True, slots=True)
class Scale:
    """Marks from worst to best, the score's own place, and the scores at both ends."""

    marks: tuple[ScaleMark, ...]
    own: float
    worst: float
    best: float
    cut: bool
    """Whether the axis cuts off the worst entries."""


def scale_of(row: MedalRow) -> Scale | None:
    """Return the scale of a valid report; None without a score."""
    report = row.report
    if report is None or report.score is None:
        return None
    sign = -1.0 if report.is_lower_better else 1.0
    named = [(name, value, tone) for name, value, tone in _named(report, row.human) if value is not None]
    values = [sign * value for _, value, _ in named] + [sign * report.score]
    board = [sign * value for value in row.leaderboard] or values
    best = max([*board, *values])
    worst = min([*board, *values])
    median = sign * report.median_threshold
    # A few hopeless entries must not press everything else against the right edge.
    start = max(worst, min([median - FAR_OUT * max(best - median, 1e-12), *values]))
    span = best - start or 1.0

    def place(value: float) -> float:
        return min(1.0, max(0.0, (sign * value - start) / span))

    marks = sorted(
        (ScaleMark(name, place(value), tone) for name, value, tone in named), key=lambda mark: mark.at
    )
    return Scale(tuple(marks), place(report.score), sign * start, sign * best, start > worst)


def _named(report: TaskReport, human: float | None) -> list[tuple[str, float | None, Tone]]:
    return [
        ("median", report.median_threshold, "plain"),
        ("bronze", report.bronze_threshold, "bronze"),
        ("silver", report.silver_threshold, "silver"),
        ("gold", report.gold_threshold, "gold"),
        ("human", human, "busy"),
    ]


def axis(scale: Scale, width: int) -> list[Cell]:
    """Return the axis as one line, `┼` at each mark. The score has its own line, so it hides no mark."""
    cells: list[Cell] = [Cell("─", "quiet")] * max(1, width)
    if scale.cut:
        cells[0] = Cell("┄", "quiet")
    for mark in scale.marks:
        cells[_column(mark.at, width)] = Cell("┼", mark.tone)
    return cells


def pointer(scale: Scale, width: int, words: str) -> list[Cell]:
    """Return the line under an axis with `▲` at the score, and words beside it."""
    at = _column(scale.own, width)
    label = f"▲ {words}"
    if at + len(label) > width:
        label = f"{words} ▲"
        return [Cell(" " * max(0, at + 1 - len(label))), Cell(label, "strong")]
    return [Cell(" " * at), Cell(label, "strong")]


def crowded(scale: Scale, width: int) -> bool:
    """Return whether medals are too close on the axis for their names to fit below them."""
    places = [_column(mark.at, width) for mark in scale.marks if mark.name in MEDAL_NAMES]
    return any(later - before < CLOSE for before, later in pairwise(places))


def zoomed(scale: Scale) -> Scale | None:
    """Return the part of the scale from bronze on; None where the score lies far below it."""
    medals = [mark for mark in scale.marks if mark.name in MEDAL_NAMES]
    if len(medals) < 2:
        return None
    low, high = min(mark.at for mark in medals), max(mark.at for mark in medals)
    reach = high - low
    if reach <= 0 or scale.own < low - reach:
        return None
    start, end = min(low, scale.own), max(high, scale.own)
    start, end = start - 0.05 * (end - start), end + 0.05 * (end - start)

    def place(at: float) -> float:
        return min(1.0, max(0.0, (at - start) / (end - start)))

    span = scale.best - scale.worst
    shown = tuple(
        ScaleMark(mark.name, place(mark.at), mark.tone) for mark in scale.marks if start <= mark.at <= end
    )
    return Scale(shown, place(scale.own), scale.worst + start * span, scale.worst + end * span, True)


def labels(scale: Scale, width: int) -> list[list[Cell]]:
    """Return lines of labels under the axis, each as close to its mark as possible without touching another.

    The best mark's label comes first, on the first line; what does not fit beside it goes to the next line.
    """
    lines: list[list[tuple[int, ScaleMark]]] = []
    for mark in reversed(scale.marks):
        start = min(max(0, _column(mark.at, width) - len(mark.name) // 2), max(0, width - len(mark.name)))
        for line in lines:
            if all(start + len(mark.name) < other or start > other + len(m.name) for other, m in line):
                line.append((start, mark))
                break
        else:
            lines.append([(start, mark)])
    return [_line(sorted(line)) for line in lines]


def _line(placed: list[tuple[int, ScaleMark]]) -> list[Cell]:
    cells: list[Cell] = []
    at = 0
    for start, mark in placed:
        cells += [Cell(" " * (start - at)), Cell(mark.name, mark.tone)]
        at = start + len(mark.name)
    return cells


def _column(at: float, width: int) -> int:
    return min(max(0, width - 1), round(at * (width - 1)))

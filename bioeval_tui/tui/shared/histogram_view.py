"""A leaderboard's distribution: columns from worst to best, its thresholds and people marked below."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from bioeval_tui.tui.items import Board
from bioeval_tui.tui.medals import medal_scale_view
from bioeval_tui.tui.medals.medal_scale_view import Scale, ScaleMark
from bioeval_tui.tui.medals.medals_view import number
from bioeval_tui.tui.shared.cells_view import Cell, Tone

Line = list[Cell]
EIGHTHS = " ▁▂▃▄▅▆▇█"
HEIGHT = 6
MARKS: tuple[tuple[str, Tone], ...] = (
    ("median", "plain"),
    ("bronze", "bronze"),
    ("silver", "silver"),
    ("gold", "gold"),
    ("human", "busy"),
)


@dataclass(frozen=True, slots=True)
class Histogram:
    """The number of entries in each of equal steps from `worst` to `best`, and the positions of the marks.

    `below` counts entries worse than the axis shows; they are not in `counts`.
    """

    counts: tuple[int, ...]
    marks: tuple[ScaleMark, ...]
    worst: float
    best: float
    below: int


def thresholds(board: Board) -> dict[str, float]:
    """Return the marks' scores by name; `human` is the median of the human baselines, if there are any."""
    found = {"median": board.median, "bronze": board.bronze, "silver": board.silver, "gold": board.gold}
    if board.humans:
        found["human"] = median(board.humans)
    return found


def histogram(board: Board, bins: int) -> Histogram:
    """Return the distribution over `bins` steps. Far outliers are cut off, so that they do not squeeze the rest into a few bins."""
    sign = -1.0 if board.lower_is_better else 1.0
    values = [sign * score for score in board.scores]
    named = {name: sign * score for name, score in thresholds(board).items()}
    best = max([*values, *named.values()])
    worst = min([*values, *named.values()])
    middle = named["median"]
    start = max(worst, min([middle - medal_scale_view.FAR_OUT * max(best - middle, 1e-12), *named.values()]))
    span = best - start or 1.0
    counts = [0] * max(1, bins)
    below = 0
    for value in values:
        if value < start:
            below += 1
        else:
            counts[min(len(counts) - 1, int((value - start) / span * len(counts)))] += 1
    tones = dict(MARKS)
    marks = [ScaleMark(name, (value - start) / span, tones[name]) for name, value in named.items()]
    marks.sort(key=lambda mark: mark.at)
    return Histogram(tuple(counts), tuple(marks), sign * start, sign * best, below)


def steps(entries: int, width: int) -> tuple[int, int]:
    """Return the number of steps for that many entries, and the cells for each: few entries have wide steps."""
    wanted = max(6, min(width, round(2 * entries**0.5)))
    each = max(1, width // wanted)
    return (width // each if each == 1 else wanted), each


def lines(board: Board, width: int, height: int = HEIGHT) -> list[Line]:
    """Return the histogram for `width` cells: columns, axis, labels, and the scores at both ends."""
    bins, each = steps(len(board.scores), max(8, width))
    found = histogram(board, bins)
    width = bins * each
    most = max(found.counts)
    levels = [_eighths(count, most, height) for count in found.counts]
    shown: list[Line] = [[Cell(f"tallest column: {most:,} of {len(board.scores):,}", "quiet")]]
    thick = each - 1 if each > 2 else each
    for row in reversed(range(height)):
        signs = (EIGHTHS[max(0, min(8, level - 8 * row))] for level in levels)
        shown.append([Cell("".join(f"{sign * thick:<{each}}" for sign in signs), "busy")])
    shown.append(_axis(found, width))
    scale = Scale(found.marks, 0.0, found.worst, found.best, bool(found.below))
    shown += medal_scale_view.labels(scale, width)
    start, end = f"{'◂ ' if found.below else ''}{number(found.worst)}", number(found.best)
    left, right = f"{start} worse", f"better {end}"
    shown.append([Cell(left + " " * max(1, width - len(left) - len(right)) + right, "quiet")])
    if found.below:
        noun = "entry" if found.below == 1 else "entries"
        shown.append([Cell(f"◂ {found.below:,} {noun} lie further out", "quiet")])
    return shown


def _eighths(count: int, most: int, height: int) -> int:
    """Return a column's height in eighths of a cell; at least one if it is not empty."""
    return max(1, round(count / most * height * 8)) if count else 0


def _axis(found: Histogram, width: int) -> Line:
    cells: Line = [Cell("─", "quiet")] * width
    for mark in found.marks:
        cells[min(width - 1, max(0, round(mark.at * (width - 1))))] = Cell("┼", mark.tone)
    return cells

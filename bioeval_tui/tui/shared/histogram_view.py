"""A leaderboard as columns from worst to best in the medals' colours, with the thresholds and one score marked below.

Drawn here rather than by a plotting package: see "Plots" in docs/architecture.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bioeval_tui.text import plural
from bioeval_tui.tui.medals.medals_view import number
from bioeval_tui.tui.shared.cells_view import Cell, Tone, joined

Line = list[Cell]
EIGHTHS = " ▁▂▃▄▅▆▇█"
MEDALS = ("bronze", "silver", "gold")
TONES: dict[str, Tone] = {
    "median": "plain",
    "bronze": "bronze",
    "silver": "silver",
    "gold": "gold",
    "human": "busy",
}
"""The marks that a leaderboard can have, and their tones."""
CLOSE = 7
"""Medals closer than this many cells are also shown enlarged."""
FAR_OUT = 3.0
"""The axis begins no further below the median than this many times the median's distance from the best."""


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis between two scores; the better one may be the lower one."""

    worst: float
    best: float

    def at(self, score: float) -> float:
        """Return a score's place: 0 for the worst, 1 for the best, outside of them beyond the axis."""
        span = self.best - self.worst
        return (score - self.worst) / span if span else 1.0

    def column(self, score: float, width: int) -> int:
        """Return a score's cell of `width`; a score beyond the axis is in its first or last cell."""
        return min(width - 1, int(min(1.0, max(0.0, self.at(score))) * width))


@dataclass(frozen=True, slots=True)
class Histogram:
    """Scores, marks by name, and possibly one score of its own, on one scale."""

    scores: Sequence[float]
    marks: Mapping[str, float]
    scale: Scale
    own: float | None = None

    @property
    def below(self) -> int:
        """The number of entries worse than the axis shows."""
        return sum(1 for score in self.scores if self.scale.at(score) < 0)

    def counts(self, bins: int, each: int) -> list[int]:
        """Return the number of entries in each of `bins` columns, `each` cells wide; those beyond the axis are left out."""
        counts = [0] * bins
        for score in self.scores:
            if 0 <= self.scale.at(score) <= 1:
                counts[self.scale.column(score, bins * each) // each] += 1
        return counts


def histogram(
    scores: Sequence[float],
    marks: Mapping[str, float],
    *,
    lower_is_better: bool,
    own: float | None = None,
) -> Histogram:
    """Return the histogram on a scale that contains the marks. Far outliers, `own` too, lie beyond its worse end."""
    sign = -1.0 if lower_is_better else 1.0
    marks = {name: score for name, score in marks.items() if math.isfinite(score)}
    values = [sign * score for score in (*scores, *marks.values(), *(() if own is None else (own,)))]
    worst, best = min(values), max(values)
    median = sign * marks.get("median", sign * best)
    if best > median:
        # A few hopeless entries must not press everything else against the right edge.
        lowest = min(sign * score for score in marks.values())
        worst = max(worst, min(lowest, median - FAR_OUT * (best - median)))
    return Histogram(scores, marks, Scale(sign * worst, sign * best), own)


def steps(entries: int, width: int) -> tuple[int, int]:
    """Return the number of columns for that many entries, and the cells for each: few entries have wide columns."""
    each = min(8, max(1, width // max(10, round(2 * entries**0.5))))
    return width // each, each


def lines(found: Histogram, width: int, height: int) -> list[Line]:
    """Return the histogram for `width` cells; where its medals are too close together, also that part enlarged."""
    bins, each = steps(len(found.scores), max(8, width))
    width = bins * each
    closely = _enlarged(found) if _crowded(found, width) else None
    named = {name: name for name in found.marks if closely is None or name not in MEDALS}
    start, end = f"{number(found.scale.worst)} worse", f"better {number(found.scale.best)}"
    most = max(found.counts(bins, each), default=0)
    middle = (
        f"up to {most:,} of {plural(len(found.scores), 'entry', 'entries')} a column" if found.scores else ""
    )
    if len(start) + len(middle) + len(end) + 4 > width:
        middle = ""
    shown = [
        *_picture(found, bins, each, height, named),
        [Cell(f"{start}{middle:^{max(1, width - len(start) - len(end))}}{end}", "quiet")],
    ]
    if found.below:
        shown.append([Cell(f"◂ {plural(found.below, 'entry', 'entries')} further out", "quiet")])
    if closely is not None:
        names = {name: f"{name} {number(score)}" for name, score in closely.marks.items()}
        shown += [
            [],
            [Cell("the medals, enlarged", "quiet")],
            *_picture(closely, bins, each, height // 2, names),
        ]
    return shown


def _enlarged(found: Histogram) -> Histogram | None:
    """Return the part from bronze to gold, with the own score if it is near; None if all medals begin at one score."""
    medals = {name: found.marks[name] for name in MEDALS if name in found.marks}
    near = Scale(medals["bronze"], medals["gold"]) if {"bronze", "gold"} <= medals.keys() else None
    if near is None or near.worst == near.best:
        return None
    start, end = 0.0, 1.0
    if found.own is not None and -1 <= near.at(found.own) <= 2:
        start, end = min(start, near.at(found.own)), max(end, near.at(found.own))
    edge, span = 0.05 * (end - start), near.best - near.worst
    scale = Scale(near.worst + (start - edge) * span, near.worst + (end + edge) * span)
    return Histogram(found.scores, medals, scale, found.own)


def _crowded(found: Histogram, width: int) -> bool:
    """Return whether medals are too close on the axis for their names to fit below them."""
    places = [found.scale.column(found.marks[name], width) for name in MEDALS if name in found.marks]
    return any(later - before < CLOSE for before, later in pairwise(places))


def _picture(found: Histogram, bins: int, each: int, height: int, names: Mapping[str, str]) -> list[Line]:
    """Return the own score above columns and axis, and the marks' names below them."""
    width = bins * each
    places = {name: found.scale.column(score, width) for name, score in found.marks.items()}
    own = found.own
    pointed = found.scale.column(own, width) if own is not None and 0 <= found.scale.at(own) <= 1 else None
    return [
        *([_pointer(found.scale, own, width)] if own is not None else []),
        *_columns(found.counts(bins, each), each, height, places, pointed),
        _axis(places, width, cut=found.below > 0),
        *_labels({name: places[name] for name in names}, names, width),
    ]


def _columns(
    counts: Sequence[int], each: int, height: int, places: Mapping[str, int], pointed: int | None
) -> list[Line]:
    """Return the columns; each cell has the colour of the best medal that begins at it or left of it.

    A dotted line leads from above to the column at the cell `pointed`.
    """
    most = max(counts)
    if not most or height < 1:
        return []
    levels = [max(1, round(count / most * height * 8)) if count else 0 for count in counts]
    width, thick = len(counts) * each, each - 1 if each > 2 else each
    tones: list[Tone] = ["entries"] * width
    for name in MEDALS:
        if name in places:
            tones[places[name] :] = [TONES[name]] * (width - places[name])
    lines: list[Line] = []
    for row in reversed(range(height)):
        signs = "".join(f"{EIGHTHS[max(0, min(8, level - 8 * row))] * thick:>{each}}" for level in levels)
        cells = list(zip(signs, tones, strict=True))
        if pointed is not None and signs[pointed] == " ":
            cells[pointed] = ("┊", "strong")
        lines.append(joined(cells))
    return lines


def _axis(places: Mapping[str, int], width: int, *, cut: bool) -> Line:
    cells: list[tuple[str, Tone]] = [("─", "quiet")] * width
    if cut:
        cells[0] = ("┄", "quiet")
    for name, place in places.items():
        cells[place] = ("┼", TONES[name])
    return joined(cells)


def _pointer(scale: Scale, own: float, width: int) -> Line:
    """Return the line with `▼` at the own score and its number beside it; an arrow at the edge if it lies beyond."""
    at, words = scale.column(own, width), f"this {number(own)}"
    sign = "◂" if scale.at(own) < 0 else "▸" if scale.at(own) > 1 else "▼"
    if at + len(words) + 2 <= width:
        return [Cell(" " * at), Cell(f"{sign} {words}", "strong")]
    return [Cell(" " * max(0, at - len(words) - 1)), Cell(f"{words} {sign}", "strong")]


def _labels(places: Mapping[str, int], names: Mapping[str, str], width: int) -> list[Line]:
    """Return lines of names, each as close to its mark as possible without touching another.

    The best mark's name comes first, on the first line; what does not fit beside it goes to the next line.
    """
    rows: list[list[tuple[int, str]]] = []
    for name, place in sorted(places.items(), key=lambda item: item[1])[::-1]:
        size = len(names[name])
        start = min(max(0, place - size // 2), max(0, width - size))
        for row in rows:
            if start + size < row[-1][0]:
                row.append((start, name))
                break
        else:
            rows.append([(start, name)])
    return [_label_line(row[::-1], names) for row in rows]


def _label_line(row: Sequence[tuple[int, str]], names: Mapping[str, str]) -> Line:
    cells: Line = []
    at = 0
    for start, name in row:
        cells += [Cell(" " * (start - at)), Cell(names[name], TONES[name])]
        at = start + len(names[name])
    return cells

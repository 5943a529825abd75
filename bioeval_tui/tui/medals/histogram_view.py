"""A leaderboard as columns from worst to best in the medals' colours, with the thresholds and one
score marked below.

Drawn here rather than by a plotting package: see "Masking, browser, plots" in docs/architecture.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from bioeval_tui.base.text import plural
from bioeval_tui.base.widths import padded
from bioeval_tui.tui.medals.medals_view import number
from bioeval_tui.tui.shared.cells import Cell, Line, Tone, eighth, joined

MEDALS = ("bronze", "silver", "gold")
TONES: dict[str, Tone] = {
    "median": "plain",
    "bronze": "bronze",
    "silver": "silver",
    "gold": "gold",
    "human": "busy",
}
"""The marks that a leaderboard can have, and their tones."""
SIGNS = {"median": "│", "bronze": "B", "silver": "S", "gold": "G", "human": "H"}
"""The marks on a strip."""
CLOSE = 7
"""Medals closer than this many cells are also shown enlarged."""
FEWEST_BINS, MOST_BINS, BINS_PER_ROOT = 10, 40, 2
"""The number of columns grows with the square root of the number of scores, within bounds."""
FEWEST_SCORES, MOST_ON_A_STRIP = 3, 30
"""Fewer scores have no picture, and up to so many are one strip instead of columns."""
FAR_OUT = 3.0
"""The axis begins no further below the median than this many times the median's distance from the
best.
"""


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis between two scores; the better one may be the lower one."""

    worst: float
    best: float

    def at(self, score: float) -> float:
        """Return a score's place: 0 for the worst, 1 for the best, outside of them beyond the
        axis.
        """
        span = self.best - self.worst
        if span:
            return (score - self.worst) / span
        return 1.0


@dataclass(frozen=True, slots=True)
class Histogram:
    """Scores in columns, marks by name, and possibly one score of its own, on one scale."""

    scores: Sequence[float]
    marks: Mapping[str, float]
    scale: Scale
    bins: int
    own: float | None

    @property
    def below(self) -> int:
        """The number of entries worse than the axis shows."""
        return sum(1 for score in self.scores if self.scale.at(score) < 0)

    @property
    def columns(self) -> list[list[float]]:
        """The scores in each column, the worst first; those beyond the axis are left out."""
        columns: list[list[float]] = [[] for _ in range(self.bins)]
        for score in sorted(self.scores, key=self.scale.at):
            if 0 <= self.scale.at(score) <= 1:
                columns[self._bin(score)].append(score)
        return columns

    def tones(self, column: Sequence[float], lines: int) -> list[Tone]:
        """Return a tone for each line of a column from the bottom up: those of its entries'
        medals.
        """
        if column:
            return [self._tone(column[at * len(column) // lines]) for at in range(lines)]
        return []

    def _tone(self, score: float) -> Tone:
        places = {
            name: self.scale.at(self.marks[name]) for name in reversed(MEDALS) if name in self.marks
        }
        return next(
            (TONES[name] for name, at in places.items() if self.scale.at(score) >= at), "entries"
        )

    def cell(self, score: float, width: int) -> int:
        """Return a score's cell of `width`, one of its column's; for a score beyond the axis, the
        first or last one.
        """
        begins, ends = (self.begin(self._bin(score) + further, width) for further in (0, 1))
        return max(begins, min(ends - 1, int(self._clamped(score) * width)))

    def begin(self, number: int, width: int) -> int:
        """Return the first cell of a column."""
        return -(-number * width // self.bins)

    def _bin(self, score: float) -> int:
        return min(self.bins - 1, int(self._clamped(score) * self.bins))

    def _clamped(self, score: float) -> float:
        return min(1.0, max(0.0, self.scale.at(score)))


def histogram(
    scores: Sequence[float],
    marks: Mapping[str, float],
    *,
    lower_is_better: bool,
    own: float | None = None,
) -> Histogram:
    """Return the histogram on a scale that contains the marks.

    Far outliers, `own` too, lie beyond its worse end.
    """
    sign = -1.0 if lower_is_better else 1.0
    marks = {name: score for name, score in marks.items() if math.isfinite(score)}
    values = [sign * score for score in (*scores, *marks.values())]
    if own is not None:
        values.append(sign * own)
    worst, best = min(values), max(values)
    median = sign * marks["median"] if "median" in marks else best
    if best > median:
        # A few hopeless entries must not press everything else against the right edge.
        lowest = min(sign * score for score in marks.values())
        worst = max(worst, min(lowest, median - FAR_OUT * (best - median)))
    # Not as many as the terminal has room for: a leaderboard has the same columns everywhere.
    bins = max(FEWEST_BINS, min(MOST_BINS, round(BINS_PER_ROOT * len(scores) ** 0.5)))
    return Histogram(scores, marks, Scale(sign * worst, sign * best), bins, own)


def lines(histogram: Histogram, width: int, height: int) -> list[Line]:
    """Return the histogram for `width` cells; where its medals are too close together, also that
    part enlarged.

    Few scores are one strip; fewer than three are no picture: the numbers say it.
    """
    if len(histogram.scores) < FEWEST_SCORES:
        return []
    if len(histogram.scores) <= MOST_ON_A_STRIP:
        return _strip(histogram, width)
    histogram = replace(histogram, bins=min(histogram.bins, width))
    closely, marks = None, histogram.marks
    if _is_crowded(histogram, width):
        closely = _medal_part(histogram)
    if closely is not None:
        marks = {name: score for name, score in marks.items() if name not in MEDALS}
    most = max(map(len, histogram.columns))
    scale = ""
    if most:
        entries = plural(len(histogram.scores), "entry", "entries")
        scale = f"up to {most:,} of {entries} a column"
    shown = [
        *_picture(histogram, width, height, _mark_words(marks)),
        _ends(histogram, width, scale),
        *_further_out(histogram),
    ]
    if closely is not None:
        shown += [
            [],
            [Cell("the medals, enlarged", "quiet")],
            *_picture(closely, width, height // 2, _numbered_marks(closely.marks)),
        ]
    return shown


def _strip(histogram: Histogram, width: int) -> list[Line]:
    """Return few scores as points on the axis, or as their number in one cell; the limits' initials
    are on it, too.

    The own score stands above it, and the limits' names below.
    """
    histogram = replace(histogram, bins=width)
    places = {name: histogram.cell(score, width) for name, score in histogram.marks.items()}
    cells: list[tuple[str, Tone]] = [("·", "quiet")] * width
    for at, column in enumerate(histogram.columns):
        if column:
            sign = "●" if len(column) == 1 else f"{min(9, len(column))}"
            cells[at] = (sign, histogram.tones(column, 1)[0])
    for name, place in places.items():  # over the scores: a limit is mostly an entry's own
        cells[place] = (SIGNS[name], TONES[name])
    names = _numbered_marks(histogram.marks)
    return [
        *_pointer(histogram, width),
        joined(cells),
        *_labels({name: places[name] for name in names}, names, width),
        _ends(histogram, width),
        *_further_out(histogram),
    ]


def _ends(histogram: Histogram, width: int, middle: str = "") -> Line:
    """Return the scores at both ends of the axis, and between them a text that has room there."""
    start, end = f"{number(histogram.scale.worst)} worse", f"better {number(histogram.scale.best)}"
    room = width - len(start) - len(end)
    if len(middle) + 4 > room:
        middle = ""
    return [Cell(f"{start}{padded(middle, max(1, room), 'middle')}{end}", "quiet")]


def _further_out(histogram: Histogram) -> list[Line]:
    """Return a line with the number of entries that the axis leaves out; none without any."""
    if not histogram.below:
        return []
    return [[Cell(f"◂ {plural(histogram.below, 'entry', 'entries')} further out", "quiet")]]


def _numbered_marks(marks: Mapping[str, float]) -> dict[str, str]:
    """Return the words below each mark with its score."""
    return {name: f"{words} {number(marks[name])}" for name, words in _mark_words(marks).items()}


def _mark_words(marks: Mapping[str, float]) -> dict[str, str]:
    """Return the words below each mark; marks of one score share those of the last."""
    by_score: dict[float, list[str]] = {}
    for name, score in marks.items():
        by_score.setdefault(score, []).append(name)
    return {names[-1]: ", ".join(names) for names in by_score.values()}


def _medal_part(histogram: Histogram) -> Histogram | None:
    """Return the part from bronze to gold, with the own score if it is near; None if all medals
    begin at one score.
    """
    medals = {name: histogram.marks[name] for name in MEDALS if name in histogram.marks}
    if not {"bronze", "gold"} <= medals.keys():
        return None
    near = Scale(medals["bronze"], medals["gold"])
    if near.worst == near.best:
        return None
    start, end = 0.0, 1.0
    if histogram.own is not None and -1 <= near.at(histogram.own) <= 2:
        start, end = min(start, near.at(histogram.own)), max(end, near.at(histogram.own))
    edge, span = 0.05 * (end - start), near.best - near.worst
    scale = Scale(near.worst + (start - edge) * span, near.worst + (end + edge) * span)
    return replace(histogram, marks=medals, scale=scale)


def _is_crowded(histogram: Histogram, width: int) -> bool:
    """Return whether medals are too close on the axis for their names to fit below them."""
    places = [
        histogram.cell(histogram.marks[name], width) for name in MEDALS if name in histogram.marks
    ]
    return any(later - before < CLOSE for before, later in pairwise(places))


def _picture(histogram: Histogram, width: int, height: int, names: Mapping[str, str]) -> list[Line]:
    """Return the own score above columns and axis, and the marks' names below them."""
    places = {name: histogram.cell(score, width) for name, score in histogram.marks.items()}
    return [
        *_pointer(histogram, width),
        *_columns(histogram, width, height),
        _axis(places, width, cut=histogram.below > 0),
        *_labels({name: places[name] for name in names}, names, width),
    ]


def _columns(histogram: Histogram, width: int, height: int) -> list[Line]:
    """Return the columns; from the bottom up, each has the colours of its entries' medals, the
    worst first.

    A dotted line leads from above to the own score's column.
    """
    columns = histogram.columns
    most = max(map(len, columns))
    if not most or height < 1:
        return []
    gap = 1 if width >= 4 * histogram.bins else 0
    levels = [0] * width
    ranges: list[Sequence[Tone]] = [()] * width
    for at, column in enumerate(columns):
        if not column:
            continue
        begins, ends = histogram.begin(at, width), histogram.begin(at + 1, width)
        level = max(1, round(len(column) / most * height * 8))
        levels[begins + gap : ends] = [level] * (ends - begins - gap)
        ranges[begins + gap : ends] = [histogram.tones(column, -(-level // 8))] * (
            ends - begins - gap
        )
    own, pointed = histogram.own, None
    if own is not None and 0 <= histogram.scale.at(own) <= 1:
        pointed = histogram.cell(own, width)
    lines: list[Line] = []
    for row in reversed(range(height)):
        cells = [
            (eighth(level, row), tones[row] if row < len(tones) else "entries")
            for level, tones in zip(levels, ranges, strict=True)
        ]
        if pointed is not None and cells[pointed][0] == " ":
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


def _pointer(histogram: Histogram, width: int) -> list[Line]:
    """Return a line with `▼` at the own score and its number beside it, an arrow at the edge if it
    lies beyond; none without an own score.
    """
    own = histogram.own
    if own is None:
        return []
    at, words = histogram.cell(own, width), f"this {number(own)}"
    share, sign = histogram.scale.at(own), "▼"
    if share < 0:
        sign = "◂"
    elif share > 1:
        sign = "▸"
    if at + len(words) + 2 <= width:
        return [[Cell(" " * at), Cell(f"{sign} {words}", "strong")]]
    return [[Cell(" " * max(0, at - len(words) - 1)), Cell(f"{words} {sign}", "strong")]]


def _labels(places: Mapping[str, int], names: Mapping[str, str], width: int) -> list[Line]:
    """Return lines of names, each as close to its mark as possible without touching another.

    The best mark's name comes first, on the first line; what does not fit beside it goes to the
    next line, with a line up to its mark where no name is in the way.
    """
    rows: list[dict[int, str]] = []
    for name, place in sorted(places.items(), key=lambda item: item[1])[::-1]:
        size = len(names[name])
        start = min(max(0, place - size // 2), max(0, width - size))
        row = next((row for row in rows if start + size < min(row)), None)
        if row is None:
            rows.append({start: name})
        else:
            row[start] = name
    lines = []
    for index, row in enumerate(rows):
        texts = {start: (names[name], TONES[name]) for start, name in row.items()}
        taken: set[int] = set()
        for start, name in row.items():
            taken.update(range(start, start + len(names[name])))
        for name in chain.from_iterable(later.values() for later in rows[index + 1 :]):
            if places[name] not in taken:
                texts[places[name]] = ("│", TONES[name])
        lines.append(_label_line(texts))
    return lines


def _label_line(row: Mapping[int, tuple[str, Tone]]) -> Line:
    cells: Line = []
    at = 0
    for start, (text, tone) in sorted(row.items()):
        cells += [Cell(" " * (start - at)), Cell(text, tone)]
        at = start + len(text)
    return cells

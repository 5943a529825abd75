"""Lines of text that are laid out for the width at hand: wrapped below their label, or drawn by a
function that is given the width.

Cards, dialogs and the parts beside tables are made of them; what has a cursor is a `RowList`
(`rows_widget.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from bioeval_tui.tui.shared.cells import Cell, paint, wrapped


class Labelled(Widget):
    """Lines, as high as they need. A first cell that ends with a space is a label."""

    DEFAULT_CSS = """
    Labelled { height: auto; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._shown: Sequence[Sequence[Cell]] = ()
        self._wrapped: tuple[int, list[Content]] | None = None
        """The wrapped lines, and their width."""

    def show(self, lines: Sequence[Sequence[Cell]]) -> None:
        """Show these lines."""
        if lines != self._shown:
            self._shown, self._wrapped = lines, None
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of wrapped lines."""
        return len(self._lines(width))

    def render(self) -> Content:
        """Draw; where the style sheet leaves no room for all lines, an ellipsis says so."""
        width = self.size.width
        lines = self._lines(width)
        for limit in (self.styles.max_height, self.styles.height):
            if limit is not None and limit.is_cells and len(lines) > limit.value:
                lines = self._first_lines(int(limit.value), width)
        return Content("\n").join(lines)

    def _first_lines(self, most: int, width: int) -> list[Content]:
        lines: list[Content] = []
        for line in self._shown:
            if len(lines) < most:
                lines += clipped(self._wrap(line, width), most - len(lines), width)
        return lines

    def _lines(self, width: int) -> list[Content]:
        if self._wrapped is None or self._wrapped[0] != width:
            parts = chain.from_iterable(self._wrap(line, width) for line in self._shown)
            self._wrapped = (width, list(parts))
        return self._wrapped[1]

    def _wrap(self, line: Sequence[Cell], width: int) -> list[Content]:
        """Return the lines that a line takes at this width."""
        return hanging(line, width)


LEAST = 20
"""Narrower than this, a text continues at the edge."""


def hanging(line: Sequence[Cell], width: int) -> list[Content]:
    """Return a line wrapped at `width` cells; if its first cell ends with a space, the rest wraps
    below itself.
    """
    whole = paint(*line)
    if whole.cell_length <= width:
        return [whole]
    label, text = paint(*line[:1]), paint(*line[1:])
    indent = label.cell_length if label.plain.endswith(" ") else 0
    if not indent or not text or width - indent < LEAST:
        return whole.wrap(max(1, width))
    first, *more = text.wrap(width - indent)
    return [Content.assemble(label, first), *(part.pad_left(indent) for part in more)]


def clipped(lines: Sequence[Content], most: int, width: int) -> list[Content]:
    """Return the first `most` lines; if there are more, the last of them has as much of the rest as
    fits, and an ellipsis after a word.
    """
    if len(lines) <= most or most < 1:
        return list(lines)
    first, *others = lines[most - 1 :]
    rest = Content(" ").join([first.rstrip(), *(_lstrip(line) for line in others)])
    shown = rest.truncate(max(1, width - 1)).plain
    space = len(shown)
    if rest.plain[space : space + 1] not in ("", " "):
        space = shown.rfind(" ")
    if space > len(shown) // 2:
        rest = rest[:space]
    return [*lines[: most - 1], Content.assemble(rest.truncate(width - 1).rstrip(), "…")]


def _lstrip(line: Content) -> Content:
    return line[len(line.plain) - len(line.plain.lstrip()) :]


def title_lines(title: str, room: int, under: int) -> list[str]:
    """Return the title wrapped: the first line at `room` cells, the lines below it at `under`."""
    title = title.replace("\n", " ")
    first = wrapped(title, max(1, room), keeps_spaces=True)[0]
    rest = title[len(first) :].strip()
    if not rest:
        return [first]
    return [first, *wrapped(rest, max(1, under), keeps_spaces=True)]


LinePainter = Callable[[int], Content]
"""Called with the width in cells; returns the line, or lines."""


class DrawnPanel(Widget):
    """Lines drawn for the available width."""

    DEFAULT_CSS = """
    DrawnPanel { height: 1; }
    """

    def __init__(self, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._painter: LinePainter | None = None

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines, for a panel that is as high as they are."""
        if self._painter:
            return self._painter(width).plain.count("\n") + 1
        return 0

    def draw(self, painter: LinePainter) -> None:
        """Draw with `painter` from now on."""
        self._painter = painter
        self.refresh(layout=self.styles.is_auto_height)

    def render(self) -> Content:
        """Draw."""
        if self._painter:
            return self._painter(self.size.width)
        return Content("")

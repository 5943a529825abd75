"""A lower panel of the live screen: a heading, rows, and summary lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget

from bioeval_tui.tui.shared.rows_widget import RowList, RowPainter
from bioeval_tui.tui.shared.tones import left

LinePainter = Callable[[int], Content]
"""Called with the width in cells; returns the line, or lines."""


def wrapped(title: str, room: int) -> list[str]:
    """Return the lines of a title in a column of `room` cells, of which the last stays empty."""
    return [line.plain for line in Content(title).wrap(max(1, room - 1))]


def most_lines(titles: Iterable[str], room: int) -> int:
    """Return how many lines the longest of the titles needs."""
    return max((len(wrapped(title, room)) for title in titles), default=1)


class DrawnPanel(Widget):
    """Lines drawn for the available width."""

    DEFAULT_CSS = """
    DrawnPanel { height: 1; }
    """

    def __init__(self, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._painter: LinePainter | None = None

    def draw(self, painter: LinePainter) -> None:
        """Draw with `painter` from now on."""
        self._painter = painter
        self.refresh()

    def render(self) -> Content:
        """Draw."""
        return self._painter(self.size.width) if self._painter else Content("")


class Panel(Vertical):
    """Heading, rows on demand, summary."""

    DEFAULT_CSS = """
    Panel {
        padding: 0 1;
        & > RowList { height: 1fr; }
    }
    """

    def __init__(self, name: str, *, id: str) -> None:
        super().__init__(id=id)
        self.border_title = name
        self.rows = RowList()
        self._head = DrawnPanel(classes="panel--head")
        self._foot = DrawnPanel(classes="panel--foot")

    def compose(self) -> ComposeResult:
        """Lay out the three parts."""
        yield self._head
        yield self.rows
        yield self._foot

    def set_panel(
        self,
        head: LinePainter,
        count: int,
        painter: RowPainter,
        foot: LinePainter,
        foot_lines: int = 1,
        lines: Callable[[int], int] | None = None,
    ) -> None:
        """Show rows; `head` draws the text to the right of the panel's name. `lines` is that of `RowList.set_rows`."""

        def heading(width: int) -> Content:
            end = head(width)
            return Content.assemble(left("", width - end.cell_length), end)

        self._head.draw(heading)
        self._foot.styles.height = foot_lines
        self._foot.draw(foot)
        self.rows.set_rows(count, painter, lines)

    def titled(self, start: Content, title: str, end: Content, width: int) -> Content:
        """Return a row with its title between `start` and `end`, on as many lines as rows have."""
        room = width - start.cell_length - end.cell_length
        words = wrapped(title, room)
        height = self.rows.row_height
        if len(words) > height:
            words = [*words[: height - 1], " ".join(words[height - 1 :])]
        first, *others = words
        indent = " " * start.cell_length
        return Content("\n").join(
            [
                Content.assemble(start, left(first, room), end),
                *(Content.assemble(indent, left(w, room)) for w in others),
            ]
        )

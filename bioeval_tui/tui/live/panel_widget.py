"""A lower panel of the live screen: a heading, rows, and summary lines."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget

from bioeval_tui.tui.shared.rows_widget import RowList, RowPainter
from bioeval_tui.tui.shared.tones import left

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

    def lines_below(self, rows: int) -> int:
        """Return the number of lines below the rows, where truncated titles are shown in full."""
        return max(1, min(6, self.size.height - rows - 2))

    def set_panel(
        self, head: LinePainter, count: int, painter: RowPainter, foot: LinePainter, foot_lines: int = 1
    ) -> None:
        """Show rows; `head` draws the text to the right of the panel's name."""

        def heading(width: int) -> Content:
            end = head(width)
            return Content.assemble(left("", width - end.cell_length), end)

        self._head.draw(heading)
        self._foot.styles.height = foot_lines
        self._foot.draw(foot)
        self.rows.set_rows(count, painter)

"""Labels on the left and their texts on the right; long texts wrap within their column."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from bioeval_tui.tui.shared.cells_view import Cell, Tone
from bioeval_tui.tui.shared.tones import paint

LEAST = 20
"""Narrower than this, a text begins at the edge."""
Row = tuple[str, Sequence[Cell]]
"""A label, empty for a line of its own from the edge on, and the text."""


class Labelled(Widget):
    """Rows of label and text, as high as they need."""

    DEFAULT_CSS = """
    Labelled { height: auto; }
    """

    def __init__(self, *, id: str | None = None, tone: Tone = "quiet") -> None:
        """`tone` is that of the labels."""
        super().__init__(id=id)
        self._tone: Tone = tone
        self._rows: tuple[Row, ...] = ()
        self._column = 0
        self._wrapped: tuple[int, list[Content]] | None = None
        """The lines, and the width for which they were wrapped."""

    def show(self, rows: Sequence[Row], column: int) -> None:
        """Show these rows; texts begin after `column` cells."""
        if (tuple(rows), column) != (self._rows, self._column):
            self._rows, self._column, self._wrapped = tuple(rows), column, None
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return how many lines the rows take."""
        return len(self._lines(width))

    def render(self) -> Content:
        """Draw."""
        return Content("\n").join(self._lines(self.size.width))

    def _lines(self, width: int) -> list[Content]:
        if self._wrapped is None or self._wrapped[0] != width:
            self._wrapped = width, self._wrap(width)
        return self._wrapped[1]

    def _wrap(self, width: int) -> list[Content]:
        lines: list[Content] = []
        for label, cells in self._rows:
            text = paint(*cells)
            indent = self._column if label and width - self._column >= LEAST else 0
            head = paint(Cell(label.ljust(self._column), self._tone)) if label else Content("")
            if not indent:
                text, head = Content.assemble(head, text), Content("")
            for wrapped in text.wrap(max(1, width - indent)) or [text]:
                lines.append(Content.assemble(head if head else " " * indent, wrapped))
                head = Content("")
        return lines

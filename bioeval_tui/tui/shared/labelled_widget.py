"""Lines of cells in which a long text wraps below itself, not below its label."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.tones import paint

LEAST = 20
"""Narrower than this, a text continues at the edge."""


def hanging(line: Sequence[Cell], width: int) -> list[Content]:
    """Return a line wrapped at `width` cells; if its first cell ends with a space, the rest wraps below itself."""
    whole = paint(*line)
    if whole.cell_length <= width:
        return [whole]
    label, text = paint(*line[:1]), paint(*line[1:])
    indent = label.cell_length if label.plain.endswith(" ") else 0
    if not indent or not text or width - indent < LEAST:
        return whole.wrap(max(1, width))
    first, *more = text.wrap(width - indent)
    return [Content.assemble(label, first), *(part.pad_left(indent) for part in more)]


class Labelled(Widget):
    """Lines, as high as they need. A first cell that ends with a space is a label."""

    DEFAULT_CSS = """
    Labelled { height: auto; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
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
        """Draw."""
        return Content("\n").join(self._lines(self.size.width))

    def _lines(self, width: int) -> list[Content]:
        if self._wrapped is None or self._wrapped[0] != width:
            self._wrapped = width, [part for line in self._shown for part in hanging(line, width)]
        return self._wrapped[1]

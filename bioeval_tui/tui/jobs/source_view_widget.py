"""A file, literally: numbered lines drawn on demand, each problem under its line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from bioeval_tui.errors import Problem
from bioeval_tui.tui.jobs.source_view import Source, SourceRow
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.tones import paint


class SourceView(ScrollView, can_focus=True):
    """Shows one text at a time and keeps its position when the file changes."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"source--error", "source--warning"}
    DEFAULT_CSS = """
    SourceView {
        background: transparent;
        overflow-x: hidden;
        padding: 0 1;
        scrollbar-gutter: stable;
        & > .source--error { background: $error-muted; }
        & > .source--warning { background: $warning-muted; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("~source")

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: object = None
        self._source = Source("")
        self._lines: list[SourceRow] = []
        self._for_width = -1
        self._gutter = 3

    def show(self, name: object, text: str, problems: Sequence[Problem]) -> None:
        """Show a text; another `name` begins at its top, or at its first problem."""
        source = Source(text, tuple(problems))
        if source == self._source and name == self._shown:
            return
        other = name != self._shown
        self._source, self._shown = source, name
        self._for_width = -1
        self._lay_out()
        if other:
            self.scroll_to(y=self._first_place(), animate=False, immediate=True)

    def _first_place(self) -> int:
        """Return the row to start at: a few above the first problem, else the top."""
        problem = self._source.first_problem
        if problem is None or not problem.line:
            return 0
        at = next((y for y, row in enumerate(self._lines) if row.number == problem.line), 0)
        return max(0, at - 3) if at >= self.size.height - 2 else 0

    def on_resize(self) -> None:
        """Wrap the lines again."""
        self._lay_out()

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        if width <= 0 or width == self._for_width:
            return
        self._for_width = width
        self._gutter = len(str(self._source.text.count("\n") + 1)) + 2
        self._lines = self._source.rows(max(8, width - self._gutter))
        self.virtual_size = Size(width, len(self._lines))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw one visible line."""
        width = self.scrollable_content_region.width
        at = y + self.scroll_offset.y
        if at >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        row = self._lines[at]
        number = "" if row.number is None else str(row.number)
        line = Content.assemble(paint(Cell(f"{number:>{self._gutter - 2}}  ", "quiet")), paint(*row.cells))
        style = self.visual_style
        if row.kind != "text":
            style = style + self.get_visual_style(f"source--{row.kind}")
        return Visual.to_strips(self, line.truncate(width, pad=True), width, 1, style, pad=True)[0]

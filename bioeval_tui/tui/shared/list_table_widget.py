"""A table: a heading that sorts, and rows drawn on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.listing_view import Sorting, fit
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.tones import left, right

if TYPE_CHECKING:
    from bioeval_tui.tui.shared.listing_view import Column

CellsOf = Callable[[int, int], Mapping[str, Cell | Content]]
"""Called with a row's index and the first column's width; returns its cells by column name."""


def line_of(columns: Sequence[Column], cells: Mapping[str, Cell | Content]) -> Content:
    """Return a row: text on the left, numbers on the right of their columns."""
    parts = []
    for column in columns:
        cell = cells.get(column.name, Cell(""))
        parts.append(right(cell, column.width) if column.numeric else left(cell, column.width))
    return Content(" ").join(parts)


class TableHead(Widget):
    """The names of the columns; the sorted one carries a sign. A click sorts."""

    DEFAULT_CSS = """
    TableHead { height: 1; }
    """

    class Picked(Message):
        """A column's name was clicked."""

        def __init__(self, column: int) -> None:
            super().__init__()
            self.column = column

    def __init__(self, columns: Sequence[Column], least: int) -> None:
        super().__init__()
        self._columns = tuple(columns)
        self._least = least
        self._sorting = Sorting(0)

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Show other columns."""
        self._columns = tuple(columns)
        self.refresh()

    def show(self, sorting: Sorting) -> None:
        """Mark the column that is sorted by."""
        if sorting != self._sorting:
            self._sorting = sorting
            self.refresh()

    def render(self) -> Content:
        """Draw the names."""
        names: dict[str, Cell] = {}
        for at, column in enumerate(self._columns):
            chosen = at == self._sorting.column
            sign = ("▴" if self._sorting.reverse else "▾") if chosen else ""
            names[column.name] = Cell(column.name + sign, "strong" if chosen else "quiet")
        # One cell less than the rows have, because of their scrollbar.
        return line_of(fit(self._columns, self.size.width - 1, self._least), names)

    def on_click(self, event: events.Click) -> None:
        """Report the clicked column."""
        at = 0
        for column in fit(self._columns, self.size.width - 1, self._least):
            if at <= event.x <= at + column.width:
                index = next(i for i, known in enumerate(self._columns) if known.name == column.name)
                self.post_message(self.Picked(index))
                return
            at += column.width + 1


class ListTable(Vertical):
    """Heading and rows. The rows are given, so that a screen can name what enter does."""

    DEFAULT_CSS = """
    ListTable { width: 1fr; padding: 0 1; & RowList { height: 1fr; scrollbar-gutter: stable; } }
    """

    def __init__(self, rows: RowList, columns: Sequence[Column], least: int = 16) -> None:
        super().__init__()
        self.rows = rows
        self._columns = tuple(columns)
        self._least = least
        self._head = TableHead(columns, least)
        rows.show_blurred_cursor()

    @property
    def least_width(self) -> int:
        """The width at which every column is shown, with the padding and the scrollbar."""
        return self._least + sum(column.width + 1 for column in self._columns[1:]) + 3

    def compose(self) -> ComposeResult:
        """Heading above rows."""
        yield self._head
        yield self.rows

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Show other columns; the rows follow with the next `show`."""
        self._columns = tuple(columns)
        self._head.set_columns(columns)

    def show(self, count: int, cells: CellsOf, sorting: Sorting) -> None:
        """Show `count` rows."""

        def painter(index: int, width: int) -> Content:
            columns = fit(self._columns, width, self._least)
            return line_of(columns, cells(index, columns[0].width))

        self._head.show(sorting)
        self.rows.set_rows(count, painter)

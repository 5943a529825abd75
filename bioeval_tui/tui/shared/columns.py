"""Which columns a table shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget

from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.dialog import Dialog
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.tones import paint


class ColumnRows(RowList):
    """The columns; enter shows or hides one."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~column-rows")


class ColumnsDialog(Dialog[frozenset[str]]):
    """Returns the names of the hidden columns; None if nothing changed.

    The first column always stays.
    """

    NAME: ClassVar[str] = "Columns"
    ABOUT: ClassVar[str] = (
        "Choose the columns of the table. A narrow terminal leaves some out. Your choice is saved."
    )
    HEADING: ClassVar[str] = "Columns"
    BINDINGS: ClassVar[list[BindingType]] = bindings("columns")
    DEFAULT_CSS = """
    ColumnsDialog { & > .dialog--box { width: 60; } & ColumnRows { height: auto; max-height: 16; } }
    """

    def __init__(self, names: Sequence[str], hidden: Collection[str]) -> None:
        super().__init__()
        self._names = list(names)[1:]
        self._hidden = set(hidden) & set(self._names)
        self._rows = ColumnRows()

    def compose_body(self) -> Iterable[Widget]:
        """One row a column."""
        yield self._rows

    def on_mount(self) -> None:
        """Draw."""
        self._rows.set_rows(len(self._names), self._row)
        self._rows.focus()

    def _row(self, index: int, width: int) -> Content:
        name = self._names[index]
        hidden = name in self._hidden
        sign = Cell("· hidden  ", "quiet") if hidden else Cell("✓ shown   ", "good")
        return paint(sign, Cell(name, "quiet" if hidden else "plain"))

    @on(RowList.Chosen)
    def _turn(self) -> None:
        """Show or hide the column under the cursor."""
        self._hidden.symmetric_difference_update({self._names[self._rows.cursor]})
        self._rows.refresh()

    def action_keep(self) -> None:
        """Close with the chosen columns."""
        self.dismiss(frozenset(self._hidden))

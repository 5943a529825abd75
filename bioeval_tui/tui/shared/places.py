"""The list of screens, for mouse users."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from textual import on
from textual.binding import BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.dialog import Dialog
from bioeval_tui.tui.shared.keys_footer_widget import hints
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.tones import paint


class PlaceRows(RowList):
    """The screens; enter goes to one."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~place-rows")


class PlacesDialog(Dialog[str]):
    """The result is the action that goes to the chosen screen, or None if the dialog was closed."""

    NAME: ClassVar[str] = "Screens"
    ABOUT: ClassVar[str] = "The screens of the application. Their keys work everywhere."
    HEADING: ClassVar[str] = "Screens"
    DEFAULT_CSS = """
    PlacesDialog > .dialog--box { width: 60; }
    PlacesDialog RowList { height: auto; }
    """

    def __init__(self, below: Screen[Any]) -> None:
        super().__init__()
        self._places = [hint for hint in hints(below, hidden=True) if hint.action.startswith("go(")]
        self._rows = PlaceRows()

    def compose_body(self) -> Iterable[Widget]:
        """One row a screen."""
        yield self._rows

    def on_mount(self) -> None:
        """Draw."""
        self._rows.set_rows(len(self._places), self._row)
        self._rows.focus()

    def _row(self, index: int, width: int) -> Content:
        place = self._places[index]
        return paint(Cell(f"{place.key:<4}", "busy"), f"{place.words:<14}", Cell(place.tooltip, "quiet"))

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        self.dismiss(self._places[event.index].action)

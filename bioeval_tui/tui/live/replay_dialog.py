"""The dialog that asks for a replay's speed."""

from __future__ import annotations

from collections.abc import Iterable
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

SPEEDS: tuple[float, ...] = (0.5, 1, 2, 4, 8, 16, 32)
WORDS = {0.5: "half as fast", 1: "as recorded"}


class SpeedRows(RowList):
    """The speeds; enter plays."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~speed-rows")


class ReplayDialog(Dialog[float]):
    """The result is the chosen speed, or None if the dialog was closed."""

    NAME: ClassVar[str] = "Replay"
    ABOUT: ClassVar[str] = "Replays a recording on the live screen, at the recorded speed, slower or faster."
    DEFAULT_CSS = """
    ReplayDialog > .dialog--box { width: 60; }
    ReplayDialog RowList { height: 7; }
    """

    def __init__(self, job: str, speed: float) -> None:
        super().__init__()
        self._job = job
        self._at = SPEEDS.index(speed) if speed in SPEEDS else 1

    @property
    def heading(self) -> str:
        """What is replayed."""
        return f"Replay {self._job}"

    def compose_body(self) -> Iterable[Widget]:
        """The speeds."""
        yield SpeedRows()

    def on_mount(self) -> None:
        """Select the speed of the last time."""
        rows = self.query_one(RowList)
        rows.set_rows(len(SPEEDS), self._row)
        rows.move_to(self._at)
        rows.focus()

    def _row(self, index: int, width: int) -> Content:
        speed = SPEEDS[index]
        return paint(Cell(f"{speed:g}×".rjust(5)), Cell(f"  {WORDS.get(speed, '')}", "quiet"))

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        self.dismiss(float(SPEEDS[event.index]))

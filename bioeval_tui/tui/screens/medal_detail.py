"""The medal card as a dialog, for terminals too narrow to have it beside the table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual.widget import Widget

from bioeval_tui.tui.screens.dialog import Dialog
from bioeval_tui.tui.widgets.medal_card import MedalCard

if TYPE_CHECKING:
    from bioeval_tui.reviews import Opinions
    from bioeval_tui.tui.services import MedalRow


class MedalDetail(Dialog[None]):
    """One submission, closely."""

    NAME = "Medal card"
    DEFAULT_CSS = """
    MedalDetail MedalCard { height: auto; max-height: 100%; padding: 0; }
    MedalDetail.-narrow MedalCard { height: 1fr; }
    """

    def __init__(self, row: MedalRow, reviews: Opinions | None = None) -> None:
        super().__init__()
        self._row = row
        self._reviews = reviews

    def compose_body(self) -> Iterable[Widget]:
        """The card."""
        yield MedalCard(self._row, self._reviews)

"""The medal card: where one submission stands on its leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from bioeval_tui.tui.tones import paint
from bioeval_tui.tui.view import medal_card

if TYPE_CHECKING:
    from bioeval_tui.tui.services import MedalRow


class MedalCard(VerticalScroll, can_focus=False):
    """Follows the row that it is shown."""

    DEFAULT_CSS = """
    MedalCard { padding: 0 2; & > Static { height: auto; } }
    """

    def __init__(self, row: MedalRow | None = None) -> None:
        super().__init__()
        self._row = row
        self._drawn: tuple[MedalRow | None, int] | None = None

    def compose(self) -> ComposeResult:
        """One text."""
        yield Static(markup=False)

    def show(self, row: MedalRow | None) -> None:
        """Show another row."""
        self._row = row
        self._draw()
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        """Draw for the new width."""
        self._draw()

    def _draw(self) -> None:
        width = self.scrollable_content_region.width
        if not self.is_mounted or width < 1 or self._drawn == (self._row, width):
            return
        self._drawn = (self._row, width)
        lines = medal_card.card(self._row, width) if self._row else []
        self.query_one(Static).update(Content("\n").join([paint(*line) for line in lines]))

"""The medal card: the place of one submission on its leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from bioeval_tui.tui.medals import medal_card_view
from bioeval_tui.tui.review import review_view
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.labelled_widget import Labelled

if TYPE_CHECKING:
    from bioeval_tui.record.reviews import Opinions
    from bioeval_tui.tui.items import MedalRow


class MedalCard(VerticalScroll, can_focus=False):
    """Shows one row at a time."""

    DEFAULT_CSS = """
    MedalCard { padding: 0 2; }
    """

    def __init__(self, row: MedalRow | None = None, reviews: Opinions | None = None) -> None:
        super().__init__()
        self._row = row
        self._reviews: Opinions = reviews or {}
        self._drawn: tuple[MedalRow | None, int, Opinions] | None = None

    def compose(self) -> ComposeResult:
        """One text."""
        yield Labelled()

    def on_mount(self) -> None:
        """Draw again when the scrollbar comes or goes: it takes of the width that the scale is drawn for."""
        self.watch(self, "show_vertical_scrollbar", self._draw_soon)

    def _draw_soon(self) -> None:
        self.call_after_refresh(self._draw)

    def show(self, row: MedalRow | None, reviews: Opinions | None = None) -> None:
        """Show another row and its reviews."""
        self._row = row
        self._reviews = reviews or {}
        self._draw()
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        """Draw for the new width."""
        self._draw()

    def _draw(self) -> None:
        width = self.scrollable_content_region.width
        if not self.is_mounted or width < 1 or self._drawn == (self._row, width, self._reviews):
            return
        self._drawn = (self._row, width, self._reviews)
        lines: list[list[Cell]] = []
        if self._row is not None:
            lines += [*medal_card_view.head(self._row, width), [], *review_view.mark_lines(self._reviews)]
            lines += medal_card_view.card(self._row, width, self.app.size.height // 6 - 1)
        self.query_one(Labelled).show(lines)

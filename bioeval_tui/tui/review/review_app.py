"""The application opened to review: the queue first, the history of runs behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.review.review import ReviewScreen

if TYPE_CHECKING:
    from bioeval_tui.tui.data.services import AppServices
    from bioeval_tui.tui.items import ReviewSource


class ReviewApp(BioevalApp):
    """Opens on the review screen."""

    def __init__(self, services: AppServices, source: ReviewSource, *, blind: bool = False) -> None:
        super().__init__(services, "runs", on_quit="leave")
        self._source = source
        self._blind = blind

    def on_mount(self) -> None:
        """Open the queue over the history, once that is there."""
        self.call_after_refresh(self._open_queue)

    def _open_queue(self) -> None:
        self.push_screen(ReviewScreen(self._source, blind=self._blind))

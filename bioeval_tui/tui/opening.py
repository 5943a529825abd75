"""What the program shows first, while the screen that it opens with is loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.tui.keys import ScreenEntry
from bioeval_tui.tui.shared.base import RefreshedScreen
from bioeval_tui.tui.shared.cells import Cell

OPENING = "opening"
"""The name of the screen."""


class OpeningScreen(RefreshedScreen):
    """The title of the screen that comes, `lines` where its notice will be, and the keys that work
    everywhere.

    It is painted before that screen is loaded, and calls `loaded` once it is, unless something
    stands over this screen; then when that is closed.
    """

    NAME = "Opening"
    ABOUT = "The screen that you asked for is being loaded."

    def __init__(
        self, entry: ScreenEntry, lines: Sequence[Cell], loaded: Callable[[], object]
    ) -> None:
        super().__init__()
        self._entry = entry
        self._lines = lines
        self._loaded = loaded
        self._is_loaded = False

    def compose_body(self) -> Iterable[Widget]:
        """Where the notice of the screen will be."""
        yield Static(id="notice", markup=False)

    def on_mount(self) -> None:
        """Say what comes, and load it once that is painted."""
        self.title_bar.say((self._entry.title,))
        self.show_notice(self._lines)
        self.refresh_items()

    async def load_items(self) -> None:
        """Load the screen in a thread: until then, keys are heard."""
        await asyncio.to_thread(self._entry.load)
        self._is_loaded = True
        self._go_on()

    def on_screen_resume(self) -> None:
        """Go on, if what stood over this screen is closed."""
        self._go_on()

    def _go_on(self) -> None:
        if self._is_loaded and self.is_active:
            self.app.call_later(self._loaded)

"""A line of tabs whose labels carry state, drawn as one widget."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget


class TabLine(Widget):
    """Tabs on one line; posts `Picked` when one is clicked. The owner decides what that means."""

    DEFAULT_CSS = """
    TabLine { height: 1; background: $surface; }
    """

    class Picked(Message):
        """A tab was clicked."""

        def __init__(self, tabs: TabLine, name: str) -> None:
            super().__init__()
            self.tabs = tabs
            self.name = name

        @property
        def control(self) -> TabLine:
            """The line that posted it."""
            return self.tabs

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tabs: list[tuple[str, Content]] = []
        self._active = ""
        self._places: list[tuple[int, int, str]] = []

    def set_tabs(self, tabs: Sequence[tuple[str, Content]], active: str) -> None:
        """Show tabs as (name, label), the active one marked by more than colour."""
        if (list(tabs), active) != (self._tabs, self._active):
            self._tabs, self._active = list(tabs), active
            self.refresh()

    def render(self) -> Content:
        """Draw the tabs and remember the position of each."""
        self._places = []
        pieces: list[Content] = []
        at = 0
        for name, label in self._tabs:
            if name == self._active:
                piece = Content.assemble(("▌", "$accent"), label.stylize("bold"), " ").stylize("on $boost")
            else:
                piece = Content.assemble(" ", label.stylize_before("$quiet"), " ")
            self._places.append((at, at + piece.cell_length, name))
            at += piece.cell_length + 1
            pieces.append(piece)
        return Content(" ").join(pieces).truncate(self.size.width, ellipsis=True)

    def on_click(self, event: events.Click) -> None:
        """Report the clicked tab."""
        for start, end, name in self._places:
            if start <= event.x < end:
                self.post_message(self.Picked(self, name))
                return

"""The line above a conversation: condition, state, elapsed, and the score as the number that stands out."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from bioeval_tui.tui.live.heads_view import Head
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.tones import paint, spread


class TalkHead(Widget):
    """One line above a transcript."""

    DEFAULT_CSS = """
    TalkHead { height: 1; padding: 0 1; background: $surface; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown: Head | None = None
        self._active = False

    def show(self, head: Head, active: bool) -> None:
        """Show a conversation's head; `active` marks the one that keys act on."""
        if (head, active) != (self._shown, self._active):
            self._shown, self._active = head, active
            self.refresh()

    def render(self) -> Content:
        """Draw the line."""
        head = self._shown
        if head is None:
            return Content("")
        mark = Cell("▌" if self._active else " ", "busy")
        name = Cell(f"FACTS {head.condition.upper()}", "strong" if self._active else "plain")
        start = paint(mark, name, "   ", head.state)
        end = paint(head.score)
        timed = paint(Cell(f"{head.elapsed}   ", "quiet"), head.score)
        fits = start.cell_length + timed.cell_length + 2 <= self.size.width
        return spread(start, timed if fits else end, self.size.width)

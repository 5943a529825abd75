"""The bar under a replay: a click goes to a turn; with the focus, arrows, home and end do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from bioeval_tui.evaluate.engine.turn_mark import TurnMark
from bioeval_tui.tui.live import timeline_view
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.tones import paint


class Scrubber(Widget, can_focus=True):
    """Shows how far a replay is; posts `Sought` with the place to go to."""

    DEFAULT_CSS = """
    Scrubber { height: 1; padding: 0 1; background: $surface; display: none; }
    Scrubber:focus { background: $boost; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "turn(-1)", "turn back", show=False, tooltip="To the turn before"),
        Binding("right,l", "turn(1)", "next turn", show=False, tooltip="To the next turn"),
        Binding("home", "edge(0)", "beginning", show=False, tooltip="To the beginning"),
        Binding("end", "edge(-1)", "end", show=False, tooltip="To the end"),
    ]

    class Sought(Message):
        """Somebody wants to see the run as it was at `mark`."""

        def __init__(self, scrubber: Scrubber, mark: TurnMark) -> None:
            super().__init__()
            self.scrubber = scrubber
            self.mark = mark

        @property
        def control(self) -> Scrubber:
            """The bar that posted it."""
            return self.scrubber

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: tuple[tuple[TurnMark, ...], int, float] = ((), 0, 0.0)

    def show(self, marks: Sequence[TurnMark], given: int, now_s: float) -> None:
        """Show the places, how many events were given, and the moment in recorded seconds."""
        shown = (tuple(marks), given, round(now_s, 1))
        self.display = bool(marks)
        if shown != self._shown:
            self._shown = shown
            self.refresh()

    def render(self) -> Content:
        """Draw the bar, and where it stands."""
        marks, given, now_s = self._shown
        width = self.size.width
        words = timeline_view.label(marks, given, now_s, width)
        cells = timeline_view.bar(marks, given, now_s, self._bar_width(words))
        return paint(*cells, Cell(f"  {words}", "quiet"))

    def _bar_width(self, words: str) -> int:
        return max(0, self.size.width - len(words) - 2)

    def on_click(self, event: events.Click) -> None:
        """Go to the turn nearest to the pointer."""
        marks, given, now_s = self._shown
        width = self._bar_width(timeline_view.label(marks, given, now_s, self.size.width))
        x = event.x - self.gutter.left
        mark = timeline_view.nearest(marks, x / (width - 1)) if width > 1 and x < width else None
        if mark is not None:
            self.post_message(self.Sought(self, mark))

    def action_turn(self, by: int) -> None:
        """Go to the turn before or after."""
        marks, given, _ = self._shown
        if (mark := timeline_view.step(marks, given, by)) is not None:
            self.post_message(self.Sought(self, mark))

    def action_edge(self, place: int) -> None:
        """Go to the beginning (0) or the end (-1)."""
        if self._shown[0]:
            self.post_message(self.Sought(self, self._shown[0][place]))

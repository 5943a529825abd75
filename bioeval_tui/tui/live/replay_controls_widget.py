"""The controls of a replay, and its bar: a click goes to a turn, as do arrows, home and end when focused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from bioeval_tui.record.turn_mark import TurnMark
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.live import timeline_view
from bioeval_tui.tui.live.replay_dialog import SPEEDS
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.tones import paint

if TYPE_CHECKING:
    from bioeval_tui.tui.live.watched import Watched
    from bioeval_tui.tui.shared.base import BaseScreen
    from bioeval_tui.tui.shared.program import Program

ASSERTION_ROWS, ROOMY = 2, 32
"""Number of lines for the assertions, and the minimum terminal height at which they are drawn."""


class ReplayControls(Widget, can_focus=True):
    """Shows the position of a replay and changes it; posts `Moved`."""

    KEYS: ClassVar[str] = "live/replay"
    BINDINGS: ClassVar[list[BindingType]] = bindings("~bar")
    DEFAULT_CSS = """
    ReplayControls { height: 1; padding: 0 1; background: $surface; display: none; }
    ReplayControls:focus { background: $boost; }
    """

    class Moved(Message):
        """The replay's position changed, or it paused or continued.

        `mark` is the turn to show. With `back`, the run must be shown again from its start to the new
        position, because events cannot be unfolded.
        """

        def __init__(self, mark: TurnMark | None = None, *, back: bool = False) -> None:
            super().__init__()
            self.mark = mark
            self.back = back

    def __init__(self, watched: Watched) -> None:
        super().__init__()
        self.watched = watched
        self._shown: tuple[tuple[TurnMark, ...], int, float] = ((), 0, 0.0)

    # The bar

    def show(self) -> None:
        """Update the bar; a live run has no bar."""
        playback = self.watched.playback
        if playback is None:
            if self.watched.link.status != "waiting":  # a replay that goes back is opened anew: the bar stays
                self.display = False
            return
        shown = (tuple(playback.marks), playback.given, round(playback.now_s, 1))
        self.display = bool(playback.marks)
        if shown != self._shown:
            grows = len(self._assertions(shown[0], 0.0, 80)) != len(self._assertions(self._shown[0], 0.0, 80))
            self._shown = shown
            self.refresh(layout=grows)

    def render(self) -> Content:
        """Draw the bar, its position and what its signs mean, and above it how many assertions held."""
        marks, given, now_s = self._shown
        words = self._label()
        room = self._bar_width(words)
        cells = timeline_view.bar(marks, given, now_s, room, demo=self._demo)
        beside = ("assertions that hold", timeline_view.legend(cells))
        lines = [
            paint(*row, Cell(f"  {said}", "quiet")).truncate(self.size.width)
            for row, said in zip(self._assertions(marks, now_s, room), beside, strict=False)
        ]
        return Content("\n").join([*lines, paint(*cells, Cell(f"  {words}", "quiet"))])

    def _label(self) -> str:
        return timeline_view.label(*self._shown, self.size.width, self.watched.state, demo=self._demo)

    @property
    def _demo(self) -> bool:
        """Whether the run is told as if it were live, so that the bar gives nothing away."""
        return cast("Program", self.app).captions

    def _assertions(self, marks: Sequence[TurnMark], now_s: float, width: int) -> list[list[Cell]]:
        """Return the share of assertions that held, if there is room; a click on it also goes to the turn."""
        high = self.app.size.height >= ROOMY
        drawn = timeline_view.assertions(marks, now_s, width, ASSERTION_ROWS, demo=self._demo)
        return drawn if high else []

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """One line, and those of the assertions."""
        return 1 + len(self._assertions(self._shown[0], 0.0, max(1, width - 1)))

    def _bar_width(self, words: str) -> int:
        return max(0, self.size.width - len(words) - 2)

    def on_click(self, event: events.Click) -> None:
        """Go to the turn nearest to the pointer."""
        marks, width = self._shown[0], self._bar_width(self._label())
        x = event.x - self.gutter.left
        mark = timeline_view.nearest(marks, x / (width - 1)) if width > 1 and x < width else None
        if mark is not None:
            self.seek(mark)

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide actions that a live run, or the position of a replay, does not allow."""
        playback, state = self.watched.playback, self.watched.state
        if playback is None:
            return False
        match action:
            case "turn":
                by = cast("int", parameters[0])
                return timeline_view.step(playback.marks, playback.heading, by) is not None
            case "edge":
                return bool(playback.marks)
            case "play_back":
                return state is None or any(
                    conversation.messages for conversation in state.conversations.values()
                )
            case "play" if state is not None and state.ended is not None:
                return True
            case _ if state is not None and state.ended is not None:
                return False
            case "hold" | "play":
                return playback.paused == (action == "play")
        return True

    def seek(self, mark: TurnMark) -> None:
        """Show the run as it was at a turn, and pause there."""
        if self.watched.playback is not None:
            back = not self.watched.playback.seek(mark.given)
            self.post_message(self.Moved(mark, back=back))

    def action_turn(self, by: int) -> None:
        """Go to the previous or next turn."""
        playback = self.watched.playback
        if playback is not None:
            # Relative to the last requested position, which it may not have reached yet.
            mark = timeline_view.step(playback.marks, playback.heading, by)
            if mark is not None:
                self.seek(mark)

    def action_edge(self, place: int) -> None:
        """Go to the beginning (0) or the end (-1)."""
        marks: Sequence[TurnMark] = self.watched.playback.marks if self.watched.playback else ()
        if marks:
            self.seek(marks[place])

    def action_hold(self) -> None:
        """Pause."""
        self._set_paused(True)

    def action_play(self) -> None:
        """Continue; at the end, play once more from the beginning."""
        playback, state = self.watched.playback, self.watched.state
        if playback is not None and state is not None and state.ended is not None:
            playback.set_speed(playback.speed or 1.0)
            self.action_edge(0)
            playback.set_paused(False)
            return
        self._set_paused(False)

    def _set_paused(self, paused: bool) -> None:
        if self.watched.playback is not None:
            self.watched.playback.set_paused(paused)
            self.post_message(self.Moved())

    def action_play_step(self) -> None:
        """Play one message."""
        if self.watched.playback is not None and not self.watched.playback.step():
            key = cast("BaseScreen", self.screen).key("play")
            self._tell(f"No more messages; {key} plays to the end.")
        self.post_message(self.Moved())

    def action_play_back(self) -> None:
        """Go one message back."""
        if self.watched.playback is not None:
            self.watched.playback.begin_before_last()
            self.post_message(self.Moved(back=True))

    def action_next_failure(self) -> None:
        """Play to the next assertion that fails."""
        if self.watched.playback is not None and not self.watched.playback.to_next_failure():
            self._tell("No more failed assertions.")
        self.post_message(self.Moved())

    def action_speed(self, by: int) -> None:
        """Play faster or slower."""
        playback = self.watched.playback
        if playback is not None:
            now = playback.speed or SPEEDS[-1]
            at = min(range(len(SPEEDS)), key=lambda index: abs(SPEEDS[index] - now))
            playback.set_speed(SPEEDS[max(0, min(len(SPEEDS) - 1, at + by))])
            self._tell(f"{playback.speed:g}× the recorded speed")
            self.post_message(self.Moved())

    def _tell(self, sentence: str) -> None:
        self.app.notify(sentence, markup=False)

"""The live screen's keys while a recording is played again: pause, speed, step, turns, next failed assertion."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual import on
from textual.binding import Binding, BindingType

from bioeval_tui.tui.live import timeline_view
from bioeval_tui.tui.live.scrubber_widget import Scrubber
from bioeval_tui.tui.shared.base import BaseScreen

if TYPE_CHECKING:
    from bioeval_tui.evaluate.engine.run_view import Playback, RunView
    from bioeval_tui.evaluate.engine.turn_mark import TurnMark
    from bioeval_tui.tui.live.live import LiveScreen

SPEEDS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
REPLAY_KEYS: list[BindingType] = [
    Binding("space", "hold", "pause", tooltip="The replay waits here"),
    Binding("space", "play", "play", tooltip="The replay goes on"),
    Binding("n", "play_step", "step", tooltip="To the end of the next message, then wait"),
    Binding("b", "play_back", "back", tooltip="One message back, then wait"),
    Binding(
        "left_square_bracket", "turn(-1)", "turn", key_display="[ ]", tooltip="To the turn before, then wait"
    ),
    Binding(
        "right_square_bracket", "turn(1)", "next turn", show=False, tooltip="To the next turn, then wait"
    ),
    Binding("B", "edge(0)", "beginning", show=False, tooltip="To the beginning of the recording"),
    Binding("E", "edge(-1)", "end", show=False, tooltip="To the end of the recording"),
    Binding("comma", "speed(-1)", "speed", key_display=", .", tooltip="Slower, down to 0.5×"),
    Binding("full_stop", "speed(1)", "faster", show=False, tooltip="Faster, up to 32×"),
    Binding("x", "next_failure", "next failure", tooltip="To the next assertion that fails, then wait"),
    Binding("left_curly_bracket", "replayed_trial(-1)", "trial", key_display="{ }", tooltip="Another trial"),
    Binding("right_curly_bracket", "replayed_trial(1)", "next trial", show=False, tooltip="Another trial"),
]
REPLAY_ACTIONS = frozenset(
    {"hold", "play", "play_step", "play_back", "turn", "edge", "speed", "next_failure", "replayed_trial"}
)


class LiveReplay(BaseScreen):
    """Actions of a replay."""

    @property
    def _replayed(self) -> LiveScreen:
        return cast("LiveScreen", self)

    @property
    def playback(self) -> Playback | None:
        """The replay's controls; None for a live run."""
        return self._replayed.link.playback

    def replay_applies(self, action: str) -> bool:
        """Return whether a key of the replay makes sense now."""
        playback, state = self.playback, self._replayed.state
        if playback is None or state is None:
            return False
        if action == "play_back":
            return any(talk.messages for talk in state.conversations.values())
        if action in ("turn", "edge"):
            return bool(playback.marks)
        if action == "replayed_trial":
            return bool(state.started and state.started.trials > 1)
        if state.ended is not None:
            return False
        if action in ("hold", "play"):
            return playback.paused == (action == "play")
        return True

    def _told(self) -> None:
        self._replayed._show_all()
        self.refresh_bindings()

    def action_hold(self) -> None:
        """Wait."""
        self._set_paused(True)

    def action_play(self) -> None:
        """Go on."""
        self._set_paused(False)

    def _set_paused(self, paused: bool) -> None:
        if self.playback is not None:
            self.playback.set_paused(paused)
            self._told()

    def action_play_step(self) -> None:
        """Play one message."""
        if self.playback is not None and not self.playback.step():
            self.tell(f"There is no further message; {self.key('play')} plays to the end.")
        self._told()

    def action_next_failure(self) -> None:
        """Play to the next assertion that fails."""
        if self.playback is not None and not self.playback.to_next_failure():
            self.tell("No further assertion fails.")
        self._told()

    def action_speed(self, by: int) -> None:
        """Play faster or slower."""
        if self.playback is not None:
            now = self.playback.speed or SPEEDS[-1]
            at = min(range(len(SPEEDS)), key=lambda index: abs(SPEEDS[index] - now))
            self.playback.set_speed(SPEEDS[max(0, min(len(SPEEDS) - 1, at + by))])
            self.tell(f"{self.playback.speed:g}× the recorded speed")
            self._told()

    async def action_play_back(self) -> None:
        """Go one message back."""
        if self.playback is not None:
            self.playback.begin_before_last()
            await self._play_again()

    # Scrubbing

    async def action_turn(self, by: int) -> None:
        """Go to the turn before or after."""
        playback = self.playback
        mark = timeline_view.step(playback.marks, playback.given, by) if playback is not None else None
        if mark is not None:
            await self.seek(mark)

    async def action_edge(self, place: int) -> None:
        """Go to the beginning (0) or the end (-1)."""
        if self.playback is not None and self.playback.marks:
            await self.seek(self.playback.marks[place])

    @on(Scrubber.Sought)
    async def _sought(self, event: Scrubber.Sought) -> None:
        await self.seek(event.mark)

    async def seek(self, mark: TurnMark) -> None:
        """Show the run as it was at a turn, and wait there."""
        playback, live = self.playback, self._replayed
        if playback is None:
            return
        if not playback.seek(mark.given):
            await self._play_again()
        if mark.condition is not None:
            live.show_talks_of(mark.trial, mark.condition)
        self._told()

    async def _play_again(self) -> None:
        """Play from the beginning to where the replay was sent: what has been folded cannot be unfolded."""
        live = self._replayed
        view = live.link.view
        if view is None:
            return
        kept, active, trial, steered = live.opener, live.active, live.trial, live.steered

        async def same() -> RunView:
            return view

        await live.open(same)
        live.opener, live.active, live.trial, live.steered = kept, active, trial, steered

    def show_scrubber(self) -> None:
        """Bring the bar into step with the replay; a live run has none."""
        playback, bar = self.playback, self.query_one(Scrubber)
        if playback is not None:
            bar.show(playback.marks, playback.given, playback.now_s)
        elif self._replayed.link.status != "waiting":  # a replay that goes back is opened anew: the bar stays
            bar.display = False

    def action_replayed_trial(self, by: int) -> None:
        """Look at another trial."""
        self._replayed.action_other_trial(by)

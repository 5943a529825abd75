"""The live screen's keys while a recording is played again: pause, speed, step, back, next failed assertion."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.binding import Binding, BindingType

from bioeval_tui.tui.screens.base import BaseScreen

if TYPE_CHECKING:
    from bioeval_tui.tui.screens.live import LiveScreen
    from bioeval_tui.tui.services import Playback, RunView

SPEEDS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
REPLAY_KEYS: list[BindingType] = [
    Binding("space", "hold", "pause", tooltip="The replay waits here"),
    Binding("space", "play", "play", tooltip="The replay goes on"),
    Binding("n", "play_step", "step", tooltip="To the end of the next message, then wait"),
    Binding("b", "play_back", "back", tooltip="One message back, then wait"),
    Binding("comma", "speed(-1)", "speed", key_display=", .", tooltip="Slower, down to 0.5×"),
    Binding("full_stop", "speed(1)", "faster", show=False, tooltip="Faster, up to 32×"),
    Binding("x", "next_failure", "next failure", tooltip="To the next assertion that fails, then wait"),
]
REPLAY_ACTIONS = frozenset({"hold", "play", "play_step", "play_back", "speed", "next_failure"})


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
            self.tell("There is no further message; space plays to the end.")
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
        """Go one message back: what has been folded cannot be unfolded, so it is played again up to there."""
        playback, live = self.playback, self._replayed
        view = live.link.view
        if playback is None or view is None:
            return
        playback.begin_before_last()
        kept, active, trial, steered = live.opener, live.active, live.trial, live.steered

        async def same() -> RunView:
            return view

        await live.open(same)
        live.opener, live.active, live.trial, live.steered = kept, active, trial, steered

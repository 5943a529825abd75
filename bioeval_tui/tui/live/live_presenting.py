"""Presentation mode of the live screen: the conversation, the score and one chart, with room around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.binding import Binding

from bioeval_tui.tui.live.live_replay import LiveReplay
from bioeval_tui.tui.live.stage_widget import Stage

if TYPE_CHECKING:
    from bioeval_tui.tui.live.live import LiveScreen

PRESENT = Binding(
    "p", "present", "present", tooltip="Only the conversation, the score and one chart, for an audience"
)
STOP_PRESENTING = Binding(
    "p",
    "stop_presenting",
    "end presentation",
    tooltip="Back to the whole screen; esc does the same",
    id="live.present",
)
KEPT = frozenset(
    {
        *("pause", "resume", "step", "switch_condition", "other_trial", "follow", "stay", "leave"),
        *(
            "hold",
            "play",
            "play_step",
            "play_back",
            "turn",
            "edge",
            "speed",
            "next_failure",
            "replayed_trial",
        ),
    }
)
"""What can be done while presenting; everything else waits."""


class LivePresenting(LiveReplay):
    """Actions of somebody who shows a run to others."""

    presenting = False

    @property
    def _presented(self) -> LiveScreen:
        return cast("LiveScreen", self)

    def presenting_applies(self, action: str) -> bool | None:
        """Say whether an action applies because of the presentation; None leaves it to the others."""
        if action in ("present", "stop_presenting"):
            begun = self._presented.state is not None and bool(self._presented.state.conversations)
            return self.presenting == (action == "stop_presenting") and begun
        if self.presenting and action not in KEPT and action in self._presented.CONDITIONAL | {"medals"}:
            return False
        return None

    def action_present(self) -> None:
        """Show only what an audience looks at."""
        self._present(True)

    def action_stop_presenting(self) -> None:
        """Show the whole screen again."""
        self._present(False)

    def _present(self, presenting: bool) -> None:
        live = self._presented
        self.presenting = presenting
        self.set_class(presenting, "-presenting")
        kept = self.bioeval.services.preferences
        for talk in live.talks.values():
            shown = not presenting and kept.get("live.events") is not False
            talk.transcript.set_choices(show_events=shown, roomy=presenting)
        live._show_all()
        self.call_after_refresh(live.focus_talk)

    def show_stage(self) -> None:
        """Bring the scores and the chart into step with the run."""
        live = self._presented
        if self.presenting and live.state is not None:
            self.query_one(Stage).show(live.state, live.trial, live.active, live.link.now)

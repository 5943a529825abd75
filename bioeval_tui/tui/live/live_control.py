"""The live screen's keys that control the run. Each is an intent, and an event when it was taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual import on
from textual.binding import Binding, BindingType

from bioeval_tui.evaluate.engine.run_view import IntentKind
from bioeval_tui.tui.live import heads_view
from bioeval_tui.tui.shared.ask_line_widget import AskLine
from bioeval_tui.tui.shared.base import BaseScreen

if TYPE_CHECKING:
    from bioeval_tui.record.events import ConditionName
    from bioeval_tui.tui.live.live import LiveScreen

CONTROL_KEYS: list[BindingType] = [
    Binding("space", "pause", "pause", tooltip="Both conversations wait before the next message"),
    Binding("space", "resume", "go on", tooltip="Go on after a pause"),
    Binding("n", "step", "step", tooltip="One message, then wait again"),
    Binding("t", "take_over", "take over", tooltip="You type the user's next message; marked as operator"),
    Binding("t", "say", "type", tooltip="To the line for the user's message"),
    Binding("g", "give_back", "give back", tooltip="The evaluator plays the user again"),
]
CANCEL_KEYS: list[BindingType] = [
    Binding("c", "cancel", "cancel", tooltip="End this conversation"),
    Binding("C", "cancel_all", "cancel all", tooltip="End the whole run"),
]


class LiveControl(BaseScreen):
    """Actions of somebody who controls a run."""

    @property
    def _controlled(self) -> LiveScreen:
        return cast("LiveScreen", self)

    def _intend(self, kind: IntentKind, condition: ConditionName | None = None, text: str = "") -> None:
        self.run_worker(self._send(kind, condition, text), group="intents", exit_on_error=False)

    async def _send(self, kind: IntentKind, condition: ConditionName | None, text: str) -> None:
        refused = await self._controlled.link.send(kind, condition, text)
        if refused:
            self.tell(refused, bad=True)

    def action_pause(self) -> None:
        """Ask both conversations to wait."""
        self._intend("pause")

    def action_resume(self) -> None:
        """Go on."""
        self._intend("resume")

    def action_step(self) -> None:
        """Let one message through."""
        self._intend("step")

    def action_take_over(self) -> None:
        """Play the user in the active condition."""
        self._controlled.taken.add(self._controlled.active)
        self._intend("take_over", self._controlled.active)

    def action_say(self) -> None:
        """Get the line for the user's message back."""
        self.query_one("#say", AskLine).open()

    def action_give_back(self) -> None:
        """Let the evaluator play the user again."""
        self._controlled.taken.discard(self._controlled.active)
        self._intend("give_back", self._controlled.active)

    def action_cancel(self) -> None:
        """End the active conversation."""
        self._intend("cancel", self._controlled.active)

    def action_cancel_all(self) -> None:
        """End the run."""
        self._intend("cancel")

    def show_say_line(self) -> None:
        """Open the line for the user's words when this viewer begins to play the user; close it at the end.

        Where somebody took over in another terminal, whoever only watches is not made to type.
        """
        live = self._controlled
        line = self.query_one("#say", AskLine)
        wanted = live.state is not None and heads_view.operator_has(live.state, live.active)
        wanted = wanted and self.check_action("give_back", ()) is True
        mine = live.active in live.taken or (
            live.state is not None and heads_view.played_by_hand(live.state, live.active)
        )
        if wanted and mine and not live.typing:
            line.open("")
        elif line.is_open and not wanted:
            line.close()
            live.focus_talk()
        live.typing = wanted

    @on(AskLine.Entered, "#say")
    def _said(self, event: AskLine.Entered) -> None:
        if event.text.strip():
            self._intend("say", self._controlled.active, event.text.strip())
            event.line.clear()

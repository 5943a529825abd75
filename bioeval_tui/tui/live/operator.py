"""The operator's controls: pause, step, cancel, and playing the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.message import Message

from bioeval_tui.tui.live import heads_view
from bioeval_tui.tui.live.heads_view import LinkState, operator_has
from bioeval_tui.tui.shared.line_widgets import AskLine

if TYPE_CHECKING:
    from bioeval_tui.record.condition_names import Condition
    from bioeval_tui.record.events import IntentKind
    from bioeval_tui.record.state import RunState
    from bioeval_tui.tui.live.feed import Watched

CONTROL = frozenset(
    {"pause", "resume", "step", "take_over", "say", "give_back", "cancel", "cancel_all"}
)


def applies(
    action: str, state: RunState, link: LinkState, condition: Condition, trial: int
) -> bool:
    """Return whether `action` applies in this state, for the active conversation."""
    if action in CONTROL:
        return _can_control(action, state, link, condition, trial)
    match action:
        case "score_card":
            return any(
                conversation.score or conversation.ended
                for conversation in state.conversations.values()
            )
        case "again":
            return link in ("failed", "interrupted") or state.ended is not None
        case _:
            return True


def _can_control(
    action: str, state: RunState, link: LinkState, condition: Condition, trial: int
) -> bool:
    if link != "live" or state.ended is not None or state.started is None:
        return False
    conversation = state.conversation(condition, trial)
    is_running = conversation is not None and conversation.ended is None
    match action:
        case "pause":
            return not state.paused
        case "resume" | "step":
            return bool(state.paused)
        case "take_over":
            return is_running and not operator_has(state, condition)
        case "say" | "give_back":
            return is_running and operator_has(state, condition)
        case "cancel":
            return is_running
        case _:
            return True


class Operator(AskLine):
    """Each key sends an intent to the engine; its effect shows once the engine has accepted it."""

    KEYS: ClassVar[str] = "live/operator"

    class Done(Message):
        """Posted when the input is closed because no person plays the user any more."""

    def __init__(self, watched: Watched) -> None:
        super().__init__(
            "you, as the user",
            "the user's next message",
            id="say",
            enter="send",
            escape="leave the input",
        )
        self.watched = watched
        self.taken: set[Condition] = set()
        """The conditions that this viewer has taken over."""
        self._plays = False
        """Whether the input was opened for the current operator."""

    def forget(self) -> None:
        """Reset the conditions that were taken over in the previous run."""
        self.taken = set()

    def put_away(self) -> None:
        """Close the input: another conversation is active."""
        self.close()
        self._plays = False

    def show(self) -> None:
        """Open the input when this viewer starts to play the user; close it at the end.

        If somebody took over in another terminal, viewers here are not asked to type.
        """
        state, active = self.watched.state, self.watched.condition
        has = state is not None and heads_view.operator_has(state, active)
        wanted = has and self.check_action("give_back", ()) is True
        mine = active in self.taken or (
            state is not None and heads_view.played_by_hand(state, active)
        )
        if wanted and mine and not self._plays:
            self.open("")
        elif self.is_open and not wanted:
            self.close()
            self.post_message(self.Done())
        self._plays = wanted

    @on(AskLine.Entered)
    def _send_typed(self, event: AskLine.Entered) -> None:
        event.stop()
        if event.text.strip():
            self._send("say", self.watched.condition, event.text.strip())
            self.clear()

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide actions that the run or the active conversation does not allow now."""
        if action not in CONTROL:
            return True
        state, watched = self.watched.state, self.watched
        if state is None or watched.waits_for_presentation(action):
            return False
        return applies(action, state, watched.link.status, watched.condition, watched.trial)

    @work(group="intents")
    async def _send(
        self, kind: IntentKind, condition: Condition | None = None, text: str = ""
    ) -> None:
        refused = await self.watched.link.send(kind, condition, text)
        if refused:
            self.app.notify(refused, severity="warning", markup=False)

    def action_pause(self) -> None:
        """Pause both conversations."""
        self._send("pause")

    def action_resume(self) -> None:
        """Continue."""
        self._send("resume")

    def action_step(self) -> None:
        """Step: allow one message."""
        self._send("step")

    def action_take_over(self) -> None:
        """Play the user in the active condition."""
        self.taken.add(self.watched.condition)
        self._send("take_over", self.watched.condition)

    def action_say(self) -> None:
        """Reopen the line for the user's message."""
        self.open()

    def action_give_back(self) -> None:
        """Let the evaluator play the user again."""
        self.taken.discard(self.watched.condition)
        self._send("give_back", self.watched.condition)

    def action_cancel(self) -> None:
        """End the active conversation."""
        self._send("cancel", self.watched.condition)

    def action_cancel_all(self) -> None:
        """End the run."""
        self._send("cancel")

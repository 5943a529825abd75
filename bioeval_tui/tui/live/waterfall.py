"""The waterfall of one turn: the agent's spans on a time axis, each below its parent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.live import heads_view, spans_view
from bioeval_tui.tui.shared.dialog import Dialog, DialogText
from bioeval_tui.tui.shared.tones import paint

if TYPE_CHECKING:
    from bioeval_tui.record.names import Condition
    from bioeval_tui.record.state import ConversationState, RunState


class Waterfall(Dialog[None]):
    """Opened from a conversation; arrows switch turns, `tab` switches the condition."""

    NAME: ClassVar[str] = "Waterfall"
    ABOUT: ClassVar[str] = (
        "The spans that the agent reported for a turn through OpenTelemetry. Times are by the agent's clock."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("waterfall")
    DEFAULT_CSS = """
    Waterfall {
        & > .dialog--box { max-width: 150; }
        &.-narrow > .dialog--box { height: 100%; }
        &.-narrow .dialog--body { height: 1fr; }
    }
    """

    def __init__(self, state: RunState, trial: int, condition: Condition, turn: int) -> None:
        super().__init__()
        self._state = state
        self._trial = trial
        self._condition = condition
        self._turn: int | None = turn
        self._shown: object = None

    @property
    def heading(self) -> str:
        """Which turn it is."""
        which = self._state.condition_name(self._condition) if self._state.only_condition is None else ""
        return "   ".join(filter(None, (spans_view.heading(self._conversation, self._turn), which)))

    @property
    def _conversation(self) -> ConversationState | None:
        return self._state.conversation(self._condition, self._trial)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a second condition, or another turn with spans, there is nothing to switch to."""
        if action == "turn":
            return len(spans_view.turns(self._conversation)) > 1
        return action != "other" or self._state.only_condition is None

    def compose_body(self) -> Iterable[Widget]:
        """One line a span, scrollable."""
        with DialogText():
            yield Static(id="spans", markup=False)

    def on_mount(self) -> None:
        """Show the turn."""
        self.show_new()

    def on_resize(self) -> None:
        """Fit the new width."""
        self.call_after_refresh(self.show_new)

    def action_turn(self, by: int) -> None:
        """Go to another turn with spans."""
        turns = spans_view.turns(self._conversation)
        if turns:
            at = turns.index(self._turn) if self._turn in turns else len(turns) - 1
            self._turn = turns[max(0, min(len(turns) - 1, at + by))]
            self.show_new()

    def action_other(self) -> None:
        """Go to the other condition, at the same turn where spans of that came."""
        both = heads_view.conditions(self._state)
        at = both.index(self._condition) if self._condition in both else -1
        self._condition = both[(at + 1) % len(both)]
        if self._turn not in spans_view.turns(self._conversation):
            self._turn = None
        self.show_new()

    def show_new(self) -> None:
        """Redraw if anything changed."""
        if not self.is_mounted:
            return
        body = self.query_one("#spans", Static)
        conversation = self._conversation
        counts = [len(message.spans) for message in conversation.messages] if conversation is not None else []
        seen = (self._condition, self._turn, counts, body.size.width)
        if seen == self._shown or not body.size.width:
            return
        self._shown = seen
        self.query_one(".dialog--heading", Static).update(Content(self.heading))
        lines = spans_view.waterfall(conversation, self._turn, body.size.width)
        body.update(Content("\n").join([paint(*line) for line in lines]))
        self.refresh_bindings()

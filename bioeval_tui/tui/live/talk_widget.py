"""One conversation on the live screen: its head and its transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical

from bioeval_tui.tui.live.heads_view import Head
from bioeval_tui.tui.live.talk_head_widget import TalkHead
from bioeval_tui.tui.live.transcript import Transcript

if TYPE_CHECKING:
    from bioeval_tui.record.events import ConditionName
    from bioeval_tui.record.state import ConversationState
    from bioeval_tui.tui.live.feed import TalkChange

WHOLE = frozenset({"conversation_ended", "seed_applied", "setup_applied"})
"""Kinds of events that concern the transcript but no single message."""


class LiveTranscript(Transcript):
    """A transcript whose `e` and `f` are left to the screen, which has two of them."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide what the screen does for both."""
        return action not in ("toggle_events", "follow")


class Talk(Vertical):
    """Head above, transcript below."""

    DEFAULT_CSS = """
    Talk {
        width: 1fr;
        & > Transcript { height: 1fr; }
    }
    """

    def __init__(self, condition: ConditionName) -> None:
        super().__init__(id=f"talk-{condition}")
        self.condition = condition
        self.transcript = LiveTranscript()
        self._head = TalkHead()
        self._talk: ConversationState | None = None

    def compose(self) -> ComposeResult:
        """Lay out both."""
        yield self._head
        yield self.transcript

    def on_click(self) -> None:
        """The head belongs to its conversation."""
        self.transcript.focus()

    def show_head(self, head: Head, active: bool) -> None:
        """Show the line above."""
        self.set_class(active, "-active")
        self._head.show(head, active)

    def show_talk(self, talk: ConversationState | None, change: TalkChange | None) -> None:
        """Show a conversation, or what changed in the one that is shown."""
        if talk is not self._talk:
            self._talk = talk
            self.transcript.show(talk)
        elif change is not None:
            if change.kinds & WHOLE:
                self.transcript.update(None)
            elif change.messages:
                self.transcript.update(set(change.messages))

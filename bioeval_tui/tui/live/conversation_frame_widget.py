"""One conversation on the live screen: its transcript in a frame with condition, state and score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region

from bioeval_tui.tui.live.heads_view import Head
from bioeval_tui.tui.live.transcript import Transcript
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.tones import paint, spread

if TYPE_CHECKING:
    from bioeval_tui.record.names import Condition
    from bioeval_tui.record.state import ConversationState
    from bioeval_tui.tui.live.feed import ConversationChange

WHOLE = frozenset({"conversation_ended", "seed_applied", "setup_applied"})
"""Kinds of events that concern the transcript but no single message."""


class LiveTranscript(Transcript):
    """A transcript without its own keys `e` and `f`, because the screen handles them for both transcripts."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide the actions that the screen handles for both transcripts."""
        return action not in ("toggle_events", "follow")


class ConversationFrame(Vertical):
    """A frame around a transcript. The upper edge has the condition, its state and its score."""

    DEFAULT_CSS = """
    ConversationFrame {
        width: 1fr;
        border: round $line;
        border-title-color: $foreground;
        border-title-background: $background;
        &.-active { border: round $primary; }
        & > Transcript { height: 1fr; }
    }
    """

    def __init__(self, condition: Condition) -> None:
        super().__init__(id=f"frame-{condition}")
        self.condition = condition
        self.transcript = LiveTranscript()
        self._conversation: ConversationState | None = None
        self._head: Head | None = None

    def compose(self) -> ComposeResult:
        """Lay out the transcript."""
        yield self.transcript

    def on_click(self) -> None:
        """The frame belongs to its conversation."""
        self.transcript.focus()

    def show_head(self, head: Head, active: bool) -> None:
        """Show the frame's upper edge; `active` marks the conversation that keys act on."""
        self._head = head
        self.set_class(active, "-active")
        title = framed_head(head, active, self.outer_size.width - 6)
        if title != self._border_title:
            # Assigned to `border_title`, each second would repaint the frame with its transcript.
            self._border_title = title
            edge = Region(0, 0, self.outer_size.width, 1)
            self.refresh(edge.translate(-self.content_offset))

    def on_resize(self) -> None:
        """Fit the upper edge to the new width."""
        if self._head is not None:
            self.show_head(self._head, self.has_class("-active"))

    def show_parting(self, message: int | None) -> None:
        """Mark the first message that the other condition does not share."""
        self.transcript.part_at(message)

    def show_conversation(
        self, conversation: ConversationState | None, change: ConversationChange | None
    ) -> None:
        """Show a conversation, or what changed in the one that is shown."""
        if conversation is not self._conversation:
            self._conversation = conversation
            self.transcript.show(conversation)
        elif change is not None:
            if change.kinds & WHOLE:
                self.transcript.update(None)
            elif change.messages:
                self.transcript.update(set(change.messages), can_wait=change.kinds == {"spans_received"})


def framed_head(head: Head, active: bool, width: int) -> Content:
    """Return the upper edge of a frame of this width: condition, what it means, state and score, as far as they fit."""
    name = Cell(head.title.upper(), "strong" if active else "plain")
    means, nothing = Cell(f" · {head.means}", "quiet"), Cell("")
    whole = head.state.text
    shorter = (whole, whole.partition(" · ")[0], whole.partition(" of ")[0])
    states = [head.state._replace(text=text) for text in shorter]
    for meaning, state in ((means, states[0]), *((nothing, state) for state in states)):
        start, end = paint(name, meaning, "  ", state, " "), paint(" ", head.score)
        room = width - start.cell_length - end.cell_length
        if room >= 0:
            return Content.assemble(start, ("─" * room, "$line"), end)
    return spread(paint(name), paint(" ", head.score), width)

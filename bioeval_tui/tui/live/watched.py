"""The live screen's run and active conversation, which its widgets read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bioeval_tui.evaluation.engine.run_view import Playback
    from bioeval_tui.record.names import Condition
    from bioeval_tui.record.state import ConversationState, RunState
    from bioeval_tui.tui.live.run_link import RunLink

PRESENTED = frozenset(
    {
        *("pause", "resume", "step", "switch_condition", "other_trial", "follow", "stay", "stop_presenting"),
        *("hold", "play", "play_step", "play_back", "turn", "edge", "speed", "next_failure", "leave", "to_grid"),
    }
)  # fmt: skip
"""Actions available while presenting."""


@dataclass
class Watched:
    """One run, followed by `link`. `Conversations` chooses condition and trial, `Stage` whether it is presented."""

    link: RunLink
    condition: Condition = "withheld"
    trial: int = 1
    presenting: bool = False

    @property
    def state(self) -> RunState | None:
        """The run so far; None until the engine has answered."""
        return self.link.state

    @property
    def playback(self) -> Playback | None:
        """The replay's controls; None for a live run."""
        return self.link.playback

    @property
    def conversation(self) -> ConversationState | None:
        """The active conversation."""
        return self.state.conversation(self.condition, self.trial) if self.state else None

    @property
    def has_begun(self) -> bool:
        """Whether there is a conversation to show."""
        return self.state is not None and bool(self.state.conversations)

    def waits_for_presentation(self, action: str) -> bool:
        """Return whether an action is disabled during the presentation."""
        return self.presenting and action not in PRESENTED

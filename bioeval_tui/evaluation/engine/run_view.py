"""The interface of a run for viewers: its events and intents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:  # the first paint waits for no event model
    from bioeval_tui.record.events import RunEvent
    from bioeval_tui.record.names import Condition


IntentKind = Literal["pause", "resume", "step", "take_over", "say", "give_back", "cancel"]


@dataclass(frozen=True, slots=True)
class Intent:
    """A viewer's request to the engine. Without `condition`, it concerns the whole run."""

    kind: IntentKind
    condition: Condition | None = None
    text: str = ""


class RunView(Protocol):
    """A view of one run: live, attached from another terminal, or replayed. Screens treat all alike."""

    run_id: str
    mode: Literal["live", "replay"]
    batch_id: str | None
    """The batch that this screen started, whose other runs are shown, too."""
    late_s: float
    """The age of a live run's newest event when the run was opened, in seconds."""

    def events(self) -> AsyncIterator[Sequence[RunEvent]]:
        """Yield batches of events, at most one per frame, until the run has ended (or its engine has died: then a `Warned`)."""
        ...

    async def send(self, intent: Intent) -> str | None:
        """Send an intent; return None if it was accepted, otherwise one sentence that says why not."""
        ...

    async def aclose(self) -> None:
        """Detach. The run continues; use the intent `cancel` to end it."""
        ...


Opener = Callable[[], Awaitable[RunView]]
"""Opens a run: a new one, one in progress elsewhere, or a recording."""

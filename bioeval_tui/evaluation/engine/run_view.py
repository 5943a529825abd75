"""The interface of a run for viewers: its events, intents and playback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from bioeval_tui.record.names import TurnMark

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


@runtime_checkable
class Playback(Protocol):
    """The additional methods of a replayed RunView. Calling `events` again starts from the beginning."""

    speed: float | None
    """Recorded seconds per second; None to play everything immediately."""
    true_times: bool
    """Whether events arrive at their recorded times; if not, a running clock beside them would be wrong."""

    @property
    def paused(self) -> bool:
        """Whether the replay is paused."""
        ...

    def set_paused(self, paused: bool) -> None:
        """Pause or continue."""
        ...

    def set_speed(self, speed: float) -> None:
        """Change the playback speed."""
        ...

    def step(self) -> bool:
        """Play to the end of the next message and pause; return False if there is no other message."""
        ...

    def to_next_failure(self) -> bool:
        """Play to the next failed assertion and pause; return False if no other assertion fails."""
        ...

    def begin_before_last(self) -> bool:
        """Make the next `events` start one message before the newest, paused; return False if they must restart for that."""
        ...

    @property
    def marks(self) -> Sequence[TurnMark]:
        """The places to go to, in order: the beginning, every turn, the end. Empty until the run has ended."""
        ...

    @property
    def given(self) -> int:
        """The number of events played so far."""
        ...

    @property
    def heading(self) -> int:
        """The number of events at the last jump's target, which may not have been reached yet."""
        ...

    @property
    def now_s(self) -> float:
        """Replay position, in recorded seconds."""
        ...

    def seek(self, count: int) -> bool:
        """Go to the point after `count` events, and pause; False if it is in the past.

        The next `events` then start there.
        """
        ...

"""The interface of a run for viewers: its events, intents and playback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from bioeval_tui.evaluate.engine.turn_mark import TurnMark

if TYPE_CHECKING:  # the first paint waits for no event model
    from bioeval_tui.record.events import ConditionName, RunEvent


IntentKind = Literal["pause", "resume", "step", "take_over", "say", "give_back", "cancel"]


@dataclass(frozen=True, slots=True)
class Intent:
    """Something a viewer asks of the engine. Without `condition` it concerns the whole run."""

    kind: IntentKind
    condition: ConditionName | None = None
    text: str = ""


class RunView(Protocol):
    """A view of one run: live, attached from another terminal, or replayed. Screens treat all alike."""

    run_id: str
    mode: Literal["live", "replay"]
    batch_id: str | None
    """The batch that this screen started with it; its other runs are shown, too."""
    late_s: float
    """How long ago the newest event of a live run was written when it was opened, in seconds."""

    def events(self) -> AsyncIterator[Sequence[RunEvent]]:
        """Yield batches of events, at most one a frame, until the run has ended (or died: then a `Warned`)."""
        ...

    async def send(self, intent: Intent) -> str | None:
        """Send an intent; return None when it was taken, else one sentence saying why not."""
        ...

    async def aclose(self) -> None:
        """Detach. The run continues; use the intent `cancel` to end it."""
        ...


@runtime_checkable
class Playback(Protocol):
    """The additional methods of a replayed RunView. Calling `events` again starts from the beginning."""

    speed: float | None
    """Recorded seconds per second; None for everything immediately."""
    true_times: bool
    """Whether events arrive at their recorded times; if not, a running clock beside them would be wrong."""

    @property
    def paused(self) -> bool:
        """Whether the replay waits."""
        ...

    def set_paused(self, paused: bool) -> None:
        """Wait, or go on."""
        ...

    def set_speed(self, speed: float) -> None:
        """Play faster or slower from here on."""
        ...

    def step(self) -> bool:
        """Play to the end of the next message and pause; False if there is none."""
        ...

    def to_next_failure(self) -> bool:
        """Play to the next failed assertion and pause; False if there is none."""
        ...

    def begin_before_last(self) -> None:
        """Let the next `events` begin, waiting, one message before the newest."""
        ...

    @property
    def marks(self) -> Sequence[TurnMark]:
        """The places to go to, in order: the beginning, every turn, the end. Empty before the first event."""
        ...

    @property
    def given(self) -> int:
        """How many events were given so far."""
        ...

    @property
    def heading(self) -> int:
        """How many events will have been given where it was sent last: it may still be on its way."""
        ...

    @property
    def now_s(self) -> float:
        """How far the replay is, in recorded seconds."""
        ...

    def seek(self, count: int) -> bool:
        """Go to the point after `count` events, and pause; False if it is in the past.

        The next `events` then start there.
        """
        ...

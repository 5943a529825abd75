"""The worker that folds a run's events and notifies the screen of changes, at most once a frame."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from bioeval_tui.evaluation.engine.run_view import RunView
    from bioeval_tui.record.events import RunEvent
    from bioeval_tui.record.state import Change, ConversationKey, RunState

FRAME_S = 1 / 60
SLICE_S = 0.008
"""How long a backlog of events is processed before control returns to the screen, in seconds."""


@dataclass(slots=True)
class ConversationChange:
    """What changed in one conversation: kinds of events, and numbers of messages."""

    kinds: set[str] = field(default_factory=set)
    messages: set[int] = field(default_factory=set)

    @property
    def only_text(self) -> bool:
        """Whether only streamed text and spans arrived."""
        return self.kinds <= {"message_delta", "spans_received"}


@dataclass(slots=True)
class Changes:
    """What changed since the last frame, in the run and by conversation."""

    run: set[str] = field(default_factory=set)
    conversations: dict[ConversationKey, ConversationChange] = field(default_factory=dict)

    def note(self, change: Change) -> None:
        """Record the changes made by one event."""
        if change.key is None:
            self.run.add(change.kind)
            return
        known = self.conversations.setdefault(change.key, ConversationChange())
        known.kinds.add(change.kind)
        if change.message is not None:
            known.messages.add(change.message)

    def add(self, later: Changes) -> None:
        """Add the changes of a later frame."""
        self.run |= later.run
        for key, change in later.conversations.items():
            known = self.conversations.setdefault(key, ConversationChange())
            known.kinds |= change.kinds
            known.messages |= change.messages

    @property
    def only_text(self) -> bool:
        """Whether only streamed text arrived."""
        return not self.run and all(change.only_text for change in self.conversations.values())

    def __bool__(self) -> bool:
        return bool(self.run or self.conversations)


class StateChanged(Message):
    """The run's state changed; posted at most once a frame."""

    def __init__(self, changes: Changes) -> None:
        super().__init__()
        self.changes = changes


class Feed:
    """Follows one RunView. The state belongs to the feed; screens only read it."""

    def __init__(
        self,
        view: RunView,
        state: RunState,
        post: Callable[[StateChanged], object],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.view = view
        self.state = state
        self.heard_at: float | None = None
        self.last_at: datetime | None = None
        """The time of the newest event that the engine wrote; what a viewer adds (`seq` 0) has another clock."""
        self._post = post
        self._clock = clock
        self._late_s = view.late_s
        self._changes = Changes()
        self._posted_at = -FRAME_S
        self._timer: asyncio.TimerHandle | None = None

    def has_posted(self, seq: int) -> bool:
        """Whether every event up to `seq` was folded, and the screen was told."""
        return self.state.last_seq >= seq and not self._changes

    async def run(self) -> None:
        """Apply events until they end. The first change after a quiet frame is posted immediately; later ones are combined."""
        batches = self.view.events()
        try:
            async for batch in batches:
                await self._fold(batch)
        finally:
            self._tell()
            if isinstance(batches, AsyncGenerator):
                await batches.aclose()

    async def _fold(self, batch: Sequence[RunEvent]) -> None:
        from bioeval_tui.record.state import apply  # the models of events, after the first paint

        began = self._clock()
        self.heard_at = began - self._late_s
        self._late_s = 0.0
        for count, event in enumerate(batch):
            self._changes.note(apply(self.state, event))
            if event.seq:
                self.last_at = event.at
            if count % 32 == 31 and self._clock() - began >= SLICE_S:
                self._tell_soon()
                await asyncio.sleep(0)
                began = self._clock()
        self._tell_soon()

    def _tell_soon(self) -> None:
        """Post now if the last post was at least one frame ago, otherwise one frame later."""
        if self._timer is not None:
            return
        wait = self._posted_at + FRAME_S - self._clock()
        if wait <= 0:
            self._tell()
        else:
            self._timer = asyncio.get_running_loop().call_later(wait, self._tell)

    def _tell(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._changes:
            changes, self._changes = self._changes, Changes()
            self._posted_at = self._clock()
            self._post(StateChanged(changes))

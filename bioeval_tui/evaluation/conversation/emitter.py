"""Creates events: numbers them, adds the time, and passes them to the sink."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from bioeval_tui.record.events import EventBase, ModelServed, RunEvent
from bioeval_tui.record.names import Condition, Peer

EventType = TypeVar("EventType", bound=EventBase)


class Sink(Protocol):
    """Where events go: a recorder, or a list in tests."""

    def append(self, event: RunEvent) -> None: ...

    async def written(self) -> None:
        """Return when everything appended is safe in the file."""
        ...


class Emitter:
    """Numbers and times the events of one run."""

    def __init__(self, run_id: str, sink: Sink, *, after_seq: int = 0) -> None:
        self.run_id = run_id
        self.sink = sink
        self._seq = after_seq
        self._served: set[tuple[Peer, str, str]] = set()

    def emit(self, event_type: type[EventType], **fields: Any) -> EventType:
        """Create an event, pass it to the sink and return it."""
        self._seq += 1
        event = event_type(run_id=self.run_id, seq=self._seq, at=datetime.now(UTC), **fields)
        self.sink.append(event)  # type: ignore[arg-type]
        return event

    def model_served(self, peer: Peer, asked: str, served: str) -> None:
        """Record which model answered, once for each name."""
        if (peer, asked, served) not in self._served:
            self._served.add((peer, asked, served))
            self.emit(ModelServed, peer=peer, asked=asked, served=served)

    async def written(self) -> None:
        """Return when everything emitted so far is safe in the file."""
        await self.sink.written()

    def of(self, condition: Condition, trial: int, attempt: int = 1) -> ConversationEmitter:
        """Return an emitter whose events carry the conversation they belong to."""
        return ConversationEmitter(self, condition, trial, attempt)


class ConversationEmitter:
    """Emits events of one conversation."""

    def __init__(self, run: Emitter, condition: Condition, trial: int, attempt: int) -> None:
        self.run = run
        self.condition = condition
        self.trial = trial
        self.attempt = attempt

    def emit(self, event_type: type[EventType], **fields: Any) -> EventType:
        """Create an event of this conversation."""
        return self.run.emit(
            event_type, condition=self.condition, trial=self.trial, attempt=self.attempt, **fields
        )

    async def written(self) -> None:
        """Return when everything emitted so far is safe in the file."""
        await self.run.written()

"""The sink between a run and its recording: drops prompts if asked, and detects too many requests at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bioeval_tui.evaluation.conversation.emitter import Sink
from bioeval_tui.evaluation.engine.pace import Cut, Pace
from bioeval_tui.record import events
from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.spans import without_content


class EngineSink:
    """Passes events to the recording and to the batch."""

    def __init__(
        self,
        inner: Sink,
        *,
        keep_prompts: bool = True,
        paces: Mapping[str, Pace] | None = None,
        take: Callable[[RunEvent], None] = lambda event: None,
    ) -> None:
        """`paces` are by peer; `take` is called with every event."""
        self._inner = inner
        self._keep_prompts = keep_prompts
        self._paces = paces or {}
        self._take = take
        self.on_cut: Callable[[str, Cut], None] = lambda peer, cut: None

    def append(self, event: RunEvent) -> None:
        """Receive one event."""
        kept = event if self._keep_prompts else without_prompts(event)
        if kept is not None:
            self._inner.append(kept)
        self._take(event)
        self._notice(event)

    async def written(self) -> None:
        """Return when everything appended is safe in the file."""
        await self._inner.written()

    def _notice(self, event: RunEvent) -> None:
        match event:
            case events.MessageCompleted():
                pace = self._paces.get("agent" if event.role == "assistant" else "evaluator")
                if pace is not None:
                    pace.answered()
            case events.RequestFailed(status=429):
                pace = self._paces.get(event.peer)
                asked = event.wait_ms / 1000 if event.wait_ms is not None else None
                cut = pace.refused(asked) if pace is not None else None
                if cut is not None and cut.after < cut.before:
                    self.on_cut(event.peer, cut)
            case events.RequestFailed(crowded=True):
                pace = self._paces.get(event.peer)
                cut = pace.crowded() if pace is not None else None
                if cut is not None and cut.after < cut.before:
                    self.on_cut(event.peer, cut)
            case _:
                pass


def without_prompts(event: RunEvent) -> RunEvent | None:
    """Return the event without prompts, retrieved contexts and outputs; None if nothing remains.

    Function calls are kept, because assertions use them.
    """
    if isinstance(event, events.SpansReceived):
        return event.model_copy(update={"spans": tuple(without_content(span) for span in event.spans)})
    if not isinstance(event, events.MessageDelta | events.MessageCompleted | events.CallsTraced):
        return event
    kept = tuple(call for item in event.generation if (call := _bare_call(item)) is not None)
    if not kept and (
        isinstance(event, events.CallsTraced) or (isinstance(event, events.MessageDelta) and not event.text)
    ):
        return None
    if kept == event.generation:
        return event
    return event.model_copy(update={"generation": kept})


def _bare_call(item: dict[str, Any]) -> dict[str, Any] | None:
    """Return a function call without its `context`, which may quote a prompt; None for any other event."""
    request = item.get("request")
    if not isinstance(request, dict):
        return None
    bare = {"request": {key: value for key, value in request.items() if key != "context"}}
    return bare | ({"span": item["span"]} if "span" in item else {})

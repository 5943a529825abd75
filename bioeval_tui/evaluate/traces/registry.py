"""Which trace belongs to which answer: ids that agents are given, and the spans that come back with them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from contextvars import ContextVar
from typing import NamedTuple

from bioeval_tui.record.spans import AgentSpan

TakeSpans = Callable[[Sequence[AgentSpan]], int]
"""Takes spans of one trace; returns how many of them it had no room for."""

current: ContextVar[str] = ContextVar("traceparent", default="")
"""The `traceparent` of the current answer, sent with agents' requests; empty if no spans are received."""


class Traceparent(NamedTuple):
    """The ids that an agent is given with a message (W3C Trace Context, version 00, sampled)."""

    trace_id: str
    span_id: str

    @classmethod
    def new(cls) -> Traceparent:
        """Return random ids. Nobody can guess them: who knows them was given them."""
        return cls(secrets.token_hex(16), secrets.token_hex(8))

    @classmethod
    def read(cls, header: str) -> Traceparent:
        """Return the ids of what `header` wrote."""
        _, trace_id, span_id, _ = header.split("-")
        return cls(trace_id, span_id)

    @property
    def header(self) -> str:
        """The value of the header `traceparent`."""
        return f"00-{self.trace_id}-{self.span_id}-01"


class Traces:
    """The traces of the runs of one engine. `unknown` counts spans of others: they are kept nowhere."""

    def __init__(self) -> None:
        self._takers: dict[str, TakeSpans] = {}
        self.unknown = 0

    def begin(self, trace_id: str, take: TakeSpans) -> None:
        """Hand spans of a trace to `take` from now on."""
        self._takers[trace_id] = take

    def end(self, trace_ids: Iterable[str]) -> None:
        """Forget traces."""
        for trace_id in trace_ids:
            self._takers.pop(trace_id, None)

    def take(self, spans: Collection[AgentSpan]) -> tuple[int, int]:
        """Pass spans to their conversations; return the number of unknown ones, and of those beyond the limit."""
        by_trace: dict[str, list[AgentSpan]] = {}
        for span in spans:
            by_trace.setdefault(span.trace_id, []).append(span)
        unknown = full = 0
        for trace_id, some in by_trace.items():
            take = self._takers.get(trace_id)
            if take is None:
                unknown += len(some)
            else:
                full += take(some)
        self.unknown += unknown
        return unknown, full

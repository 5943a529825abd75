"""Assigns traces to answers: ids are sent to agents, and spans come back with them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from contextvars import ContextVar
from typing import NamedTuple

from bioeval_tui.record.spans import AgentSpan

TakeSpans = Callable[[Sequence[AgentSpan]], int]
"""Receives spans of one trace; returns how many of them exceeded the limit."""

current: ContextVar[str] = ContextVar("traceparent", default="")
"""The `traceparent` of the current answer, sent with agents' requests; empty if no spans are received."""


def traceparent() -> str:
    """Return the header value that joins spans to the current answer (W3C Trace Context); empty if no spans are received."""
    return current.get()


class Traceparent(NamedTuple):
    """The ids that are sent to an agent with a message (W3C Trace Context, version 00, sampled)."""

    trace_id: str
    span_id: str

    @classmethod
    def new(cls) -> Traceparent:
        """Return random ids, which nobody can guess."""
        return cls(secrets.token_hex(16), secrets.token_hex(8))

    @classmethod
    def read(cls, header: str) -> Traceparent:
        """Return the ids in a value of `header`."""
        _, trace_id, span_id, _ = header.split("-")
        return cls(trace_id, span_id)

    @property
    def header(self) -> str:
        """The value of the header `traceparent`."""
        return f"00-{self.trace_id}-{self.span_id}-01"


class Traces:
    """The traces of one engine's runs.

    `unknown` counts spans of other traces, which are dropped; `refused` counts requests with such spans only.
    """

    def __init__(self) -> None:
        self._takers: dict[str, TakeSpans] = {}
        self.unknown = 0
        self.refused = 0

    def __contains__(self, trace_id: str) -> bool:
        return trace_id in self._takers

    def begin(self, trace_id: str, take: TakeSpans) -> None:
        """From now on, pass spans of a trace to `take`."""
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

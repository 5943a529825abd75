"""The spans that agents send (OTLP), by run and conversation: which answer they belong to, and
their recording before it is complete.

A batch has one `Traces`, which the receiver of spans fills (`engine/span_receiver.py`); of it each
run has its `RunTraces`, and a conversation its `ConversationTraces`, to whose answers spans are
assigned by the trace id of the request. `traced_calls.py` reads tool calls from them.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from bioeval_tui.base.peer_limits import MAX_TRACE, MOST_SPANS
from bioeval_tui.base.text import plural
from bioeval_tui.peers.traced_calls import traced_calls
from bioeval_tui.record import events
from bioeval_tui.record.agent_span import AgentSpan
from bioeval_tui.record.spans import absent_parents

Emit = Callable[..., object]
"""Records an event of the conversation, given its type and fields."""
TakeSpans = Callable[[Sequence[AgentSpan], int], int]
"""Receives spans of one trace and the number of bytes they arrived in; returns how many of them
exceeded a limit.
"""

current: ContextVar[str] = ContextVar("traceparent", default="")
"""The `traceparent` of the current answer, sent with agents' requests; empty if no spans are
received.
"""


def traceparent() -> str:
    """Return the header value that joins spans to the current answer (W3C Trace Context); empty if
    no spans are received.
    """
    return current.get()


class Traceparent(NamedTuple):
    """The ids that are sent to an agent with a message (W3C Trace Context, version 00, sampled)."""

    trace_id: str
    span_id: str

    @classmethod
    def new(cls) -> Traceparent:
        """Return random ids, which nobody can guess."""
        return cls(secrets.token_hex(16), secrets.token_hex(8))

    @property
    def header(self) -> str:
        """The value of the header `traceparent`."""
        return f"00-{self.trace_id}-{self.span_id}-01"


class Traces:
    """The traces of one engine's runs.

    `unknown` counts spans of other traces, which are dropped; `refused` counts requests with such
    spans only. `full` has the traces of which no more spans are taken.
    """

    def __init__(self) -> None:
        self._takers: dict[str, TakeSpans] = {}
        self.full: set[str] = set()
        self.unknown = 0
        self.refused = 0

    def __contains__(self, trace_id: str) -> bool:
        return trace_id in self._takers and trace_id not in self.full

    def begin(self, trace_id: str, take: TakeSpans) -> None:
        """From now on, pass spans of a trace to `take`."""
        self._takers[trace_id] = take

    def end(self, trace_ids: Iterable[str]) -> None:
        """Forget traces."""
        for trace_id in trace_ids:
            self._takers.pop(trace_id, None)
            self.full.discard(trace_id)

    def take(self, spans: Collection[AgentSpan], size: int) -> tuple[int, int]:
        """Pass spans of a request of `size` bytes to their conversations.

        Return the number of unknown ones, and of those beyond a limit.
        """
        by_trace: dict[str, list[AgentSpan]] = {}
        for span in spans:
            by_trace.setdefault(span.trace_id, []).append(span)
        unknown = full = 0
        for trace_id, some in by_trace.items():
            take = self._takers.get(trace_id)
            if take is None:
                unknown += len(some)
            else:
                full += take(some, size * len(some) // len(spans))
        self.unknown += unknown
        return unknown, full


@dataclass(slots=True)
class _Trace:
    """The spans of one attempt to answer."""

    ids: Traceparent = field(default_factory=Traceparent.new)
    spans: dict[str, AgentSpan] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    """The ids of all spans that arrived, late ones included."""
    received: int = 0
    """The bytes that they arrived in."""
    left_out: int = 0
    calls: tuple[int, list[dict[str, Any]]] = (0, [])
    """The calls that this many spans report."""

    @property
    def is_whole(self) -> bool:
        """Whether the spans are complete: there is one for the request itself, and no parent is
        missing.
        """
        begun = any(span.parent_id == self.ids.span_id for span in self.spans.values())
        return (
            begun
            and not self.left_out
            and not absent_parents(self.spans.values(), self.ids.span_id)
        )


class ConversationTraces:
    """The traces of one conversation, one for each attempt to answer.

    Spans of failed attempts don't count.

    A span belongs to an answer by its trace id alone. The spans of an answer are complete once
    there is one that answers the request (its parent is the `traceparent`), and the parent of each
    other one; SDKs send a span when it ends, so it arrives after its children.
    """

    def __init__(self, traces: Traces, emit: Emit, wait_s: float) -> None:
        self._traces = traces
        self._emit = emit
        self._wait_s = wait_s
        self._all: list[_Trace] = []
        self._answers: dict[int, _Trace] = {}
        """The trace of each message's last attempt."""
        self._new: set[int] = set()
        self._unlooked: set[int] = set()
        """Messages whose spans changed since they were last asked for, and since it was last looked
        whether they are whole.
        """
        self._incomplete: set[int] = set()
        self._heard_of: set[int] = set()
        """Messages with spans."""
        self._came = asyncio.Event()
        self._awaited_since = time.monotonic()
        self._is_late = False

    def begin(self, message: int) -> str:
        """Start the trace of an attempt to answer; return the `traceparent` for the agent."""
        trace = _Trace()
        self._traces.begin(trace.ids.trace_id, partial(self._take, message, trace))
        self._all.append(trace)
        self._answers[message] = trace
        self._heard_of.discard(message)
        self._note(message)
        return trace.ids.header

    def answered(self) -> None:
        """Record that an answer has arrived: from now on its spans are waited for."""
        self._awaited_since = time.monotonic()

    async def settle(self) -> str:
        """Wait until the spans of every answer are complete, within the time limit; return what is
        missing, in a sentence.

        Spans that arrive afterwards are late.
        """
        try:
            async with asyncio.timeout(self._awaited_since + self._wait_s - time.monotonic()):
                while self.incomplete():
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            pass
        self._is_late = True
        return self._missing()

    def calls(self, message: int, events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the tool-call events that spans add to the `events` of the protocol."""
        trace = self._answers.get(message)
        if trace is None:
            return []
        if trace.calls[0] != len(trace.spans):
            trace.calls = (len(trace.spans), traced_calls(events, trace.spans.values()))
        return trace.calls[1]

    def changed(self) -> set[int]:
        """Return the messages whose spans changed since this was last called."""
        changed, self._new = self._new, set()
        return changed

    @property
    def told_anything(self) -> bool:
        """Whether any span of an answer arrived."""
        return bool(self._heard_of)

    def incomplete(self) -> list[int]:
        """Return the messages whose spans are incomplete."""
        while self._unlooked:
            message = self._unlooked.pop()
            if self._answers[message].is_whole:
                self._incomplete.discard(message)
            else:
                self._incomplete.add(message)
        return sorted(self._incomplete)

    def _note(self, message: int) -> None:
        self._new.add(message)
        self._unlooked.add(message)

    def release(self) -> None:
        """Release the spans, which are not needed any more; late ones are still recorded."""
        for trace in self._all:
            trace.spans = {}

    def close(self) -> None:
        """Stop receiving spans."""
        self._traces.end(trace.ids.trace_id for trace in self._all)

    def _take(self, message: int, trace: _Trace, spans: Sequence[AgentSpan], size: int) -> int:
        if trace.received + size > MAX_TRACE:
            trace.left_out += len(spans)
            self._traces.full.add(trace.ids.trace_id)
            return len(spans)
        trace.received += size
        new: dict[str, AgentSpan] = {}
        doubled = []
        for span in spans:
            if span.span_id in trace.seen or span.span_id in new:
                doubled.append(span.span_id)
            else:
                new[span.span_id] = span
        kept = list(new.values())[: MOST_SPANS - len(trace.seen)]
        trace.left_out += len(new) - len(kept)
        trace.seen.update(span.span_id for span in kept)
        if not self._is_late:
            trace.spans.update((span.span_id, span) for span in kept)
            if trace is self._answers[message]:
                self._heard_of.add(message)
                self._note(message)
        if kept or doubled:
            self._emit(
                events.SpansReceived,
                message=message,
                spans=tuple(kept),
                doubled=tuple(doubled),
                late=self._is_late,
            )
        self._came.set()
        return len(new) - len(kept)

    def _missing(self) -> str:
        if not self._answers or not self.incomplete():
            return ""
        if not self.told_anything:
            return (
                f"no span of the agent arrived within {self._wait_s:g} s: does it continue"
                " `traceparent`, does OTEL_EXPORTER_OTLP_ENDPOINT name this receiver, and is"
                " OTEL_EXPORTER_OTLP_PROTOCOL http/protobuf?"
            )
        problems = []
        silent = [message for message, trace in self._answers.items() if not trace.spans]
        if silent:
            problems.append(f"no span arrived for {_messages(silent)}")
        for message in self.incomplete():
            trace = self._answers[message]
            if absent := absent_parents(trace.spans.values(), trace.ids.span_id):
                problems.append(
                    f"message {message}: {plural(len(absent), 'parent span')} did not arrive"
                )
            elif trace.left_out:
                most = f"{MOST_SPANS:,} spans in {MAX_TRACE >> 20} MiB of requests"
                problems.append(
                    f"message {message}: {plural(trace.left_out, 'span')} left out, because at most"
                    f" {most} are kept"
                )
            elif trace.spans:
                problems.append(
                    f"message {message}: the span that answers the request did not arrive"
                )
        return f"{'; '.join(problems)} (waited {self._wait_s:g} s)"


class RunTraces:
    """The traces of one run's conversations."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces
        self._unknown_before = traces.unknown
        self._refused_before = traces.refused
        self._conversations: list[ConversationTraces] = []

    def conversation(self, emit: Emit, wait_s: float) -> ConversationTraces:
        """Return the traces of a new conversation, which waits up to that many seconds for spans
        after the last answer.
        """
        self._conversations.append(ConversationTraces(self._traces, emit, wait_s))
        return self._conversations[-1]

    def close(self) -> str:
        """Stop receiving spans; return how many belonged to no conversation as a sentence, or
        ''.
        """
        for conversation in self._conversations:
            conversation.close()
        unknown = self._traces.unknown - self._unknown_before
        refused = self._traces.refused - self._refused_before
        if not unknown + refused:
            return ""
        counts = ((unknown, "span"), (refused, "request"))
        what = " and ".join(plural(count, noun) for count, noun in counts if count)
        return (
            f"{what} of other traces arrived meanwhile: their sender did not continue"
            " `traceparent`, or also works for somebody else"
        )


def _messages(numbers: Sequence[int]) -> str:
    if len(numbers) > 1:
        return f"messages {', '.join(map(str, numbers))}"
    return f"message {', '.join(map(str, numbers))}"

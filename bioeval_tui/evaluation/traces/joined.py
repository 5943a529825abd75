"""The spans of one conversation, which are recorded with their answers and complete before it is checked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bioeval_tui.evaluation.conversation.emitter import ConversationEmitter
from bioeval_tui.evaluation.traces.calls import traced_calls
from bioeval_tui.evaluation.traces.registry import Traceparent, Traces
from bioeval_tui.record import events
from bioeval_tui.record.spans import AgentSpan, absent_parents
from bioeval_tui.text import plural

MOST_SPANS = 10_000
"""Maximum number of spans kept of one attempt to answer."""


@dataclass(slots=True)
class _Trace:
    """The spans of one attempt to answer."""

    ids: Traceparent = field(default_factory=Traceparent.new)
    spans: dict[str, AgentSpan] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    """The ids of all spans that arrived, late ones included."""
    left_out: int = 0
    calls: tuple[int, list[dict[str, Any]]] = (0, [])
    """The calls that this many spans report."""

    @property
    def is_whole(self) -> bool:
        """Whether the spans are complete: there is one for the request itself, and no parent is missing."""
        begun = any(span.parent_id == self.ids.span_id for span in self.spans.values())
        return begun and not self.left_out and not absent_parents(self.spans.values(), self.ids.span_id)


class ConversationTraces:
    """The traces of one conversation, one for each attempt to answer. Spans of failed attempts don't count.

    A span belongs to an answer by its trace id alone. The spans of an answer are complete once there is one that
    answers the request (its parent is the `traceparent`), and the parent of each other one; SDKs send a span when
    it ends, so it arrives after its children.
    """

    def __init__(self, traces: Traces, emitter: ConversationEmitter, wait_s: float) -> None:
        self._traces = traces
        self._emitter = emitter
        self._wait_s = wait_s
        self._all: list[_Trace] = []
        self._answers: dict[int, _Trace] = {}
        """The trace of each message's last attempt."""
        self._came = asyncio.Event()
        self._awaited_since = time.monotonic()
        self._is_late = False

    def begin(self, message: int) -> str:
        """Start the trace of an attempt to answer; return the `traceparent` for the agent."""
        trace = _Trace()
        self._traces.begin(trace.ids.trace_id, partial(self._take, message, trace))
        self._all.append(trace)
        self._answers[message] = trace
        return trace.ids.header

    def answered(self) -> None:
        """Record that an answer has arrived: from now on its spans are waited for."""
        self._awaited_since = time.monotonic()

    async def settle(self) -> str:
        """Wait until the spans of every answer are complete, within the time limit; return what is missing, in a sentence.

        Spans that arrive afterwards are late.
        """
        try:
            async with asyncio.timeout(self._awaited_since + self._wait_s - time.monotonic()):
                while not all(trace.is_whole for trace in self._answers.values()):
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            pass
        self._is_late = True
        return self._missing()

    def calls(self, message: int, told: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the tool-call events that spans add to those `told` by the protocol."""
        trace = self._answers.get(message)
        if trace is None:
            return []
        if trace.calls[0] != len(trace.spans):
            trace.calls = (len(trace.spans), traced_calls(told, trace.spans.values()))
        return trace.calls[1]

    @property
    def told_anything(self) -> bool:
        """Whether any span of an answer arrived."""
        return any(trace.spans for trace in self._answers.values())

    def incomplete(self) -> list[int]:
        """Return the messages whose spans are incomplete."""
        return [message for message, trace in self._answers.items() if not trace.is_whole]

    def release(self) -> None:
        """Release the spans, which are not needed any more; late ones are still recorded."""
        for trace in self._all:
            trace.spans = {}

    def close(self) -> None:
        """Stop receiving spans."""
        self._traces.end(trace.ids.trace_id for trace in self._all)

    def _take(self, message: int, trace: _Trace, spans: Sequence[AgentSpan]) -> int:
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
        if kept or doubled:
            self._emitter.emit(
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
                f"no span of the agent arrived within {self._wait_s:g} s: does it continue `traceparent`, does "
                "OTEL_EXPORTER_OTLP_ENDPOINT name this receiver, and is OTEL_EXPORTER_OTLP_PROTOCOL http/protobuf?"
            )
        found = []
        silent = [message for message, trace in self._answers.items() if not trace.spans]
        if silent:
            found.append(f"no span arrived for {_messages(silent)}")
        for message in self.incomplete():
            trace = self._answers[message]
            if absent := absent_parents(trace.spans.values(), trace.ids.span_id):
                found.append(f"message {message}: {plural(len(absent), 'parent span')} did not arrive")
            elif trace.left_out:
                found.append(f"message {message}: only the first {MOST_SPANS:,} spans are kept")
            elif trace.spans:
                found.append(f"message {message}: the span that answers the request did not arrive")
        return f"{'; '.join(found)} (waited {self._wait_s:g} s)"


class RunTraces:
    """The traces of one run's conversations."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces
        self._unknown_before = traces.unknown
        self._refused_before = traces.refused
        self._conversations: list[ConversationTraces] = []

    def conversation(self, emitter: ConversationEmitter, wait_s: float) -> ConversationTraces:
        """Return the traces of a new conversation, which waits up to that many seconds for spans after the last answer."""
        self._conversations.append(ConversationTraces(self._traces, emitter, wait_s))
        return self._conversations[-1]

    def close(self) -> str:
        """Stop receiving spans; return how many belonged to no conversation as a sentence, or ''."""
        for conversation in self._conversations:
            conversation.close()
        unknown = self._traces.unknown - self._unknown_before
        refused = self._traces.refused - self._refused_before
        if not unknown + refused:
            return ""
        counts = ((unknown, "span"), (refused, "request"))
        what = " and ".join(plural(count, noun) for count, noun in counts if count)
        return (
            f"{what} of other traces arrived meanwhile: their sender did not continue `traceparent`, "
            "or also works for somebody else"
        )


def _messages(numbers: Sequence[int]) -> str:
    return f"message{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"

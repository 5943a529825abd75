"""Spans of a conversation are waited for, and reported when late, missing or repeated."""

from __future__ import annotations

import asyncio
from typing import Any

from bioeval_tui.formats import AgentSpan
from bioeval_tui.peers import traces
from bioeval_tui.peers.traces import RunTraces, Traceparent, Traces
from bioeval_tui.record import events
from tests.unit.peers.traces.spans import span, tool

LONG_S = 60.0


class Recorded:
    """What was recorded: (message, span numbers, doubled ids, late)."""

    def __init__(self, wait_s: float) -> None:
        self.traces = Traces()
        self.events: list[tuple[int, list[int], int, bool]] = []
        self.run = RunTraces(self.traces)
        self.talk = self.run.conversation(self.emit, wait_s)

    def emit(self, kind: object, *, message: int, spans: Any, doubled: Any, late: bool) -> None:
        """Take an event as an emitter does."""
        assert kind is events.SpansReceived
        self.events.append((message, [int(s.span_id, 16) for s in spans], len(doubled), late))

    def begin(self, message: int) -> Traceparent:
        return Traceparent(*self.talk.begin(message).split("-")[1:3])

    def come(self, ids: Traceparent, *spans: AgentSpan) -> tuple[int, int]:
        """Let spans come with these ids; the first of them answers the request."""
        first, *rest = (one.model_copy(update={"trace_id": ids.trace_id}) for one in spans)
        return self.traces.take([first.model_copy(update={"parent_id": ids.span_id}), *rest], 1000)


async def test_waiting_ends_once_all_spans_have_arrived() -> None:
    seen = Recorded(LONG_S)
    first, second = seen.begin(2), seen.begin(4)
    seen.come(first, span(1), tool(2, "a", parent=1))
    settling = asyncio.create_task(seen.talk.settle())
    await asyncio.sleep(0)
    assert not settling.done(), "the second answer has no span yet"
    seen.come(second, span(3))
    assert await settling == ""
    assert seen.events == [(2, [1, 2], 0, False), (4, [3], 0, False)]


async def test_missing_spans_are_reported_and_never_guessed() -> None:
    seen = Recorded(0.0)
    whole, torn, silent = seen.begin(2), seen.begin(4), seen.begin(6)
    seen.come(whole, span(1))
    seen.come(torn, span(2), span(3, 99))
    missing = await seen.talk.settle()
    assert "no span arrived for message 6" in missing
    assert "message 4: 1 parent span did not arrive" in missing
    assert seen.talk.incomplete() == [4, 6]
    assert silent.trace_id != whole.trace_id


async def test_an_agent_that_sends_no_spans_is_reported_as_such() -> None:
    seen = Recorded(0.0)
    seen.begin(2)
    assert "no span of the agent arrived" in await seen.talk.settle()


async def test_spans_after_the_final_check_are_late_and_not_counted() -> None:
    seen = Recorded(0.0)
    ids = seen.begin(2)
    seen.come(ids, span(1))
    await seen.talk.settle()
    seen.come(ids, tool(2, "late"))
    assert seen.events[-1] == (2, [2], 0, True)
    assert seen.talk.calls(2, []) == []


async def test_a_span_that_arrives_twice_is_kept_once() -> None:
    seen = Recorded(LONG_S)
    ids = seen.begin(2)
    seen.come(ids, tool(1, "a"))
    seen.come(ids, tool(1, "a"))
    assert seen.events == [(2, [1], 0, False), (2, [], 1, False)]
    assert len(seen.talk.calls(2, [])) == 1


async def test_tool_calls_of_a_failed_attempt_are_not_counted() -> None:
    seen = Recorded(LONG_S)
    failed, answered = seen.begin(2), seen.begin(2)
    seen.come(failed, tool(1, "a"))
    seen.come(answered, tool(2, "b"))
    assert [event["request"]["function"]["name"] for event in seen.talk.calls(2, [])] == ["b"]
    assert await seen.talk.settle() == ""


async def test_unknown_spans_are_counted_and_spans_beyond_the_limit_refused() -> None:
    seen = Recorded(LONG_S)
    ids = seen.begin(2)
    assert seen.traces.take([span(1), span(2)], 1000) == (2, 0)
    assert seen.traces.unknown == 2
    many = [span(number) for number in range(1, traces.MOST_SPANS + 3)]
    assert seen.come(ids, *many) == (0, 2)
    assert "2 spans of other traces arrived" in seen.run.close()
    assert seen.come(ids, span(1)) == (1, 0)

"""Tool calls that spans report are added to those of the protocol, and never counted twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bioeval_tui.formats import AgentSpan
from bioeval_tui.peers.traced_calls import traced_calls
from bioeval_tui.record.tool_calls import (
    OWN_ID,
    call_event,
    call_text,
    result_event,
    transcript_calls,
)
from tests.unit.peers.traces.spans import span, tool

LOOK = call_event("lookUp", {"drug": "warfarin"}, "c1")
BARE_LOOK = call_event("lookUp", {"drug": "warfarin"})
UNNAMED_LOOK = call_event("lookUp", {"drug": "warfarin"}, OWN_ID + "1")

SMOLAGENTS = json.dumps({"args": ['{"drug": "warf'], "sanitize_inputs_outputs": True, "kwargs": {}})


def inferred(number: int, given: str, **more: Any) -> AgentSpan:
    """Return the span of a call as OpenInference has it: LangChain's only argument, if it is text,
    stands alone.
    """
    return span(
        number, openinference__span__kind="TOOL", tool__name="lookUp", input__value=given, **more
    )


def seen(told: list[dict[str, Any]], *spans: AgentSpan) -> list[tuple[str, Any]]:
    """Return the calls that assertions see, each with its result."""
    events = [*told, *traced_calls(told, spans)]
    return [
        (call_text(c.name, c.arguments), c.result)
        for c in transcript_calls([{"role": "assistant", "events": events}])
    ]


def test_tool_calls_that_only_spans_report_are_added_in_starting_order() -> None:
    found = seen([], tool(2, "b", {"n": 2}, [1, 2]), tool(1, "a", {"n": 1}, "one"))
    assert found == [("a(n=1)", "one"), ("b(n=2)", [1, 2])]


@pytest.mark.parametrize(
    ("told", "spans", "calls"),
    [
        ([BARE_LOOK], [tool(1, "lookUp", {"drug": "warfarin"})], 1),
        ([BARE_LOOK], [tool(1, "lookUp")], 1),
        ([BARE_LOOK], [tool(1, "lookUp", {"drug": "aspirin"})], 2),
        ([BARE_LOOK], [tool(1, "other", {"drug": "warfarin"})], 2),
        ([BARE_LOOK], [tool(1, "lookUp"), tool(2, "lookUp")], 2),
        ([LOOK], [tool(1, "lookUp", {"drug": "x"}, gen_ai__tool__call__id="c1")], 1),
        ([LOOK], [tool(1, "lookUp", {"drug": "warfarin"}, gen_ai__tool__call__id="c2")], 2),
        ([UNNAMED_LOOK], [tool(1, "lookUp", {"drug": "warfarin"}, gen_ai__tool__call__id="c2")], 1),
        ([UNNAMED_LOOK], [tool(1, "lookUp", {"drug": "aspirin"}, gen_ai__tool__call__id="c2")], 2),
        ([LOOK], [inferred(1, "warfarin")], 1),
        ([LOOK], [inferred(1, "aspirin")], 2),
        ([UNNAMED_LOOK], [inferred(1, "warfarin", tool_call__id="c2")], 1),
        ([call_event("lookUp", {"drug": "warfarin", "dose": 5})], [inferred(1, "warfarin")], 2),
        ([LOOK], [inferred(1, '{"kwargs": {"drug": "warfarin"}}')], 1),
        ([call_event("lookUp", '{"drug": "warf')], [inferred(1, '{"drug": "warf')], 1),
        ([call_event("lookUp", '{"drug": "warf')], [inferred(1, SMOLAGENTS)], 1),
        ([LOOK], [inferred(1, '{"args": ["warfarin"], "kwargs": {}}')], 1),
        ([LOOK], [inferred(1, '{"args": ["warfarin", 5], "kwargs": {}}')], 2),
        ([LOOK], [inferred(1, '{"args": ["aspirin"], "kwargs": {"drug": "warfarin"}}')], 2),
    ],
    ids=[
        "same words",
        "no arguments",
        "other arguments",
        "other tool",
        "called twice",
        "same id",
        "other id",
        "reported without an id",
        "reported without an id, other arguments",
        "value without a name",
        "other value without a name",
        "value without a name, reported without an id",
        "value without a name, two arguments",
        "keyword arguments of LlamaIndex",
        "arguments that are no JSON",
        "arguments that are no JSON, as smolagents has them",
        "one argument by its place",
        "two arguments by their places",
        "arguments by place and by name",
    ],
)
def test_a_tool_call_that_the_protocol_reported_is_not_added_again(
    told: list[dict[str, Any]], spans: list[AgentSpan], calls: int
) -> None:
    assert len(seen(told, *spans)) == calls


def test_a_span_adds_a_result_that_the_protocol_left_out() -> None:
    same = tool(1, "lookUp", {"drug": "warfarin"}, "found", gen_ai__tool__call__id="c1")
    assert seen([LOOK], same) == [('lookUp(drug="warfarin")', "found")]
    assert seen([LOOK, result_event("told", "c1")], same) == [('lookUp(drug="warfarin")', "told")]


def test_a_tool_call_whose_span_failed_has_failed() -> None:
    failed = tool(1, "lookUp", {"drug": "x"}).model_copy(
        update={"status": "error", "status_message": "no such drug"}
    )
    (call,) = transcript_calls([{"role": "assistant", "events": traced_calls([], [failed])}])
    assert (call.failed, call.result) == (True, "no such drug")


def test_the_arguments_and_the_result_of_a_llama_index_tool_are_read() -> None:
    answer = {
        "blocks": [{"text": "away"}],
        "tool_name": "lookUp",
        "raw_output": "away",
        "is_error": True,
    }
    told = inferred(1, '{"kwargs": {"drug": "x"}}', output__value=json.dumps(answer))
    (call,) = transcript_calls([{"role": "assistant", "events": traced_calls([], [told])}])
    assert (call.arguments, call.result, call.failed) == ({"drug": "x"}, "away", True)


def test_client_and_server_spans_of_one_call_are_one_call() -> None:
    assert (
        len(
            seen([], tool(1, "lookUp", {"a": 1}), span(2, 1), tool(3, "lookUp", {"a": 1}, parent=2))
        )
        == 1
    )


def test_the_same_spans_again_add_nothing() -> None:
    spans = [tool(1, "a", {"n": 1}, "one"), tool(2, "b")]
    assert traced_calls(traced_calls([], spans), spans) == []

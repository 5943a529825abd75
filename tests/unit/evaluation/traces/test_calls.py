"""Tool calls that spans report are added to those of the protocol, and never counted twice."""

from __future__ import annotations

from typing import Any

import pytest

from bioeval_tui.evaluation.traces.calls import traced_calls
from bioeval_tui.record.spans import AgentSpan
from bioeval_tui.record.tool_calls import call_event, call_text, calls_of, result_event
from tests.unit.evaluation.traces.spans import span, tool

LOOK = call_event("lookUp", {"drug": "warfarin"}, "c1")
BARE_LOOK = call_event("lookUp", {"drug": "warfarin"})


def seen(told: list[dict[str, Any]], *spans: AgentSpan) -> list[tuple[str, Any]]:
    """Return the calls that assertions see, each with its result."""
    events = [*told, *traced_calls(told, spans)]
    return [
        (call_text(c.name, c.arguments), c.result)
        for c in calls_of([{"role": "assistant", "events": events}])
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
    ],
    ids=[
        "same words",
        "no arguments",
        "other arguments",
        "other tool",
        "called twice",
        "same id",
        "other id",
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
    (call,) = calls_of([{"role": "assistant", "events": traced_calls([], [failed])}])
    assert (call.failed, call.result) == (True, "no such drug")


def test_client_and_server_spans_of_one_call_are_one_call() -> None:
    assert len(seen([], tool(1, "lookUp", {"a": 1}), span(2, 1), tool(3, "lookUp", {"a": 1}, parent=2))) == 1


def test_the_same_spans_again_add_nothing() -> None:
    spans = [tool(1, "a", {"n": 1}, "one"), tool(2, "b")]
    assert traced_calls(traced_calls([], spans), spans) == []

"""What spans mean by the GenAI conventions and OpenInference, and how they are nested."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from bioeval_tui.base.peer_limits import MOST_SPANS
from bioeval_tui.formats import AgentSpan
from bioeval_tui.peers.traced_calls import traced_calls
from bioeval_tui.record.spans import (
    absent_parents,
    drop_content,
    meaning_of,
    ordered,
    trace_tokens,
    was_cut_off,
)
from tests.unit.peers.traces.spans import TRACE, span, tool

ROOT = "aa" * 8
CIRCLE = ((1, 2), (2, 1), (3, 3))


def test_openinference_attributes_have_the_same_meaning() -> None:
    call = span(1, name="lookUp", openinference__span__kind="TOOL", tool__name="lookUp",
                input__value='{"drug": "warfarin"}', output__value="found")  # fmt: skip
    model = span(2, openinference__span__kind="LLM", llm__model_name="small",
        llm__token_count__prompt=12,
                 llm__token_count__completion=3, input__value="a prompt")  # fmt: skip
    meaning = meaning_of(call)
    assert (meaning.kind, meaning.tool, meaning.arguments, meaning.result) == (
        "tool", "lookUp", {"drug": "warfarin"}, "found",
    )  # fmt: skip
    meaning = meaning_of(model)
    assert (meaning.kind, meaning.model, meaning.tokens_in, meaning.tokens_out) == (
        "model",
        "small",
        12,
        3,
    )
    assert meaning.arguments is None


AS_LANGCHAIN = {
    "content": '{"found": 1}',
    "type": "tool",
    "tool_call_id": "c1",
    "status": "success",
}


@pytest.mark.parametrize(
    ("said", "result", "call_id"),
    [
        ({"input.value": {"drug": "warfarin"}, "output.value": {"found": 1},
          "tool.parameters": {"properties": {"drug": {"type": "string"}}, "type": "object"}},
          {"found": 1}, ""),
        ({"input.value": {"args": [], "sanitize_inputs_outputs": True,
                    "kwargs": {"drug": "warfarin"}}, "output.value": "yes",
          "tool.parameters": {"drug": {"type": "string"}}}, "yes", ""),
        ({"input.value": {"drug": "warfarin"},
                "output.value": {"type": "tool", "data": AS_LANGCHAIN}}, {"found": 1}, "c1"),
        ({"gen_ai.tool.call.arguments": {"input_str": "{'drug': 'warfarin'}",
                    "inputs": {"drug": "warfarin"}, "kwargs": {}},
          "gen_ai.tool.call.result": {"output": {"lc": 1, "type": "constructor",
                  "kwargs": AS_LANGCHAIN}, "kwargs": {}}},
         {"found": 1}, "c1"),
    ],
    ids=["OpenInference, OpenAI Agents SDK", "OpenInference, smolagents",
        "OpenInference, LangChain", "OpenLLMetry, LangChain"],
)  # fmt: skip
def test_a_call_is_read_from_what_published_instrumentations_send(
    said: dict[str, Any], result: object, call_id: str
) -> None:
    written = {name: json.dumps(value) for name, value in said.items()}
    meaning = meaning_of(
        span(1, name="lookUp").model_copy(
            update={
                "attributes": {"openinference.span.kind": "TOOL", "tool.name": "lookUp", **written}
            }
        )
    )
    assert (meaning.tool, meaning.arguments, meaning.result) == (
        "lookUp",
        {"drug": "warfarin"},
        result,
    )
    assert (meaning.call_id, meaning.error) == (call_id, "")


def test_the_arguments_and_the_result_of_a_call_may_be_in_a_spans_events() -> None:
    """As strands-agents 1.62 sends them, unless it is asked for the newest conventions."""
    asked = {"role": "tool", "content": '{"drug": "warfarin", "hour": 9}', "id": "call_7"}
    answered = {"message": '[{"text": "{\\"id\\": 1}"}]', "id": "call_7"}
    call = span(1, gen_ai__operation__name="execute_tool", gen_ai__tool__name="createReminder",
                gen_ai__tool__call__id="call_7").model_copy(
        update={"events": ({"name": "gen_ai.tool.message", "attributes": asked},
                {"name": "gen_ai.choice", "attributes": answered})}
    )  # fmt: skip
    meaning = meaning_of(call)
    assert (meaning.call_id, meaning.arguments, meaning.result) == (
        "call_7",
        {"drug": "warfarin", "hour": 9},
        {"id": 1},
    )
    meaning = meaning_of(drop_content(call))
    assert (meaning.arguments, meaning.result) == ({"drug": "warfarin", "hour": 9}, None)
    assert meaning_of(tool(1, "find", {}, [{"json": {"found": 1}}])).result == {"found": 1}
    assert meaning_of(tool(1, "find", {}, [{"text": "one"}, {"text": "two"}])).result == [
        {"text": "one"},
        {"text": "two"},
    ]


def test_a_tools_message_of_langchain_that_tells_an_error_is_a_failed_call() -> None:
    message = {
        "type": "tool",
        "data": {**AS_LANGCHAIN, "content": "no such drug", "status": "error"},
    }
    assert meaning_of(tool(1, "lookUp", {"drug": "x"}, message)).error == "no such drug"


def test_unknown_span_attributes_are_ignored() -> None:
    meaning = meaning_of(
        span(1, name="GET /drugs", http__route="/drugs", gen_ai__usage__input_tokens="many")
    )
    assert (meaning.kind, meaning.title, meaning.tokens_in, meaning.error) == (
        "other",
        "GET /drugs",
        None,
        "",
    )


def test_a_failed_span_shows_its_exception() -> None:
    told = {
        "name": "exception",
        "attributes": {"exception.type": "KeyError", "exception.message": "no such drug"},
    }
    failed = span(1).model_copy(update={"status": "error", "events": (told,)})
    assert meaning_of(failed).error == "KeyError: no such drug"
    assert meaning_of(failed.model_copy(update={"status": "unset"})).error == ""


def test_spans_are_listed_below_their_parents_by_start_time() -> None:
    spans = [span(3, 1), span(2, 1), span(1, ROOT), span(5, 99), span(4, 2)]
    assert [(int(s.span_id), depth) for s, depth in ordered(spans, ROOT)] == [
        (1, 0),
        (2, 1),
        (4, 2),
        (3, 1),
        (5, 0),
    ]
    assert absent_parents(spans, ROOT) == [f"{99:016x}"]


def test_spans_with_circular_parents_are_still_shown() -> None:
    circular = [
        span(n, other, gen_ai__usage__input_tokens=5, gen_ai__operation__name="chat")
        for n, other in CIRCLE
    ]
    assert len(ordered(circular, ROOT)) == 3
    assert trace_tokens(circular, TRACE) == (15, None), "none is known to be inside another"


def test_thousands_of_calls_below_thousands_of_spans_are_counted_in_linear_time() -> None:
    half = MOST_SPANS // 2
    chain = [span(n, n - 1 if n > 1 else ROOT) for n in range(1, half)]
    leaf = {"gen_ai__operation__name": "chat", "gen_ai__usage__input_tokens": 1}
    calls = [span(n, half - 1, **leaf) for n in range(half, MOST_SPANS)]
    tools = [tool(n, "lookUp", parent=half - 1) for n in range(half, MOST_SPANS)]
    before = time.process_time()
    assert trace_tokens([*chain, *calls], TRACE) == (len(calls), None)
    assert len(traced_calls([], [*chain, *tools])) >= len(tools)
    assert time.process_time() - before < 8, (
        "each call looked through all spans above it: 20 s and more"
    )


def test_without_content_spans_keep_names_numbers_and_arguments() -> None:
    call = drop_content(
        tool(1, "lookUp", {"drug": "x"}, "a quotation", gen_ai__input__messages="a prompt")
    )
    meaning = meaning_of(call)
    assert (meaning.tool, meaning.arguments, meaning.result) == ("lookUp", {"drug": "x"}, None)
    assert "gen_ai.input.messages" not in call.attributes


def test_the_tokens_of_an_answer_are_those_of_its_model_calls_each_counted_once() -> None:
    agent = span(1, gen_ai__operation__name="invoke_agent", gen_ai__usage__input_tokens=99)
    outer = span(
        2,
        1,
        gen_ai__operation__name="chat",
        gen_ai__usage__input_tokens=21,
        gen_ai__usage__output_tokens=7,
    )
    inner = span(
        3,
        2,
        openinference__span__kind="LLM",
        llm__token_count__prompt=21,
        llm__token_count__completion=7,
    )
    second = span(4, 1, gen_ai__operation__name="chat", gen_ai__usage__input_tokens=30)
    failed = span(
        5, trace="22" * 16, gen_ai__operation__name="chat", gen_ai__usage__input_tokens=1_000
    )
    assert trace_tokens([inner, second, outer, agent, failed, outer], TRACE) == (51, 7)
    assert trace_tokens([agent], TRACE) == (None, None)


def test_an_answer_is_cut_off_if_the_last_model_call_that_says_why_it_ended_was() -> None:
    def ended(number: int, reasons: object) -> AgentSpan:
        made = span(
            number, gen_ai__operation__name="chat", gen_ai__response__finish_reasons=reasons
        )
        return made.model_copy(update={"end_ns": number})

    silent = span(9, gen_ai__operation__name="invoke_agent")
    assert was_cut_off([ended(1, ["tool_calls"]), ended(2, ["length"]), silent], TRACE)
    assert was_cut_off([ended(1, '["max_tokens"]')], TRACE)
    assert not was_cut_off([ended(2, ["stop"]), ended(1, ["length"])], TRACE)
    assert not was_cut_off([silent], TRACE)

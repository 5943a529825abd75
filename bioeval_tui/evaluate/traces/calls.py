"""The tool calls that spans report, joined with those that the protocol reports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bioeval_tui.evaluate.tool_calls import call_event, paired, request_of, result_event
from bioeval_tui.record.spans import AgentSpan, Meaning, meaning_of


def traced_calls(told: Sequence[Mapping[str, Any]], spans: Iterable[AgentSpan]) -> list[dict[str, Any]]:
    """Return what spans add to the events `told` of one answer: missing calls and missing results.

    The protocol's values take precedence. A span is the same call as a reported one if
    both have the same id, otherwise if name and arguments are equal; each reported call matches one span. Spans without
    arguments match any. Of two nested spans for one call, the outer one counts.
    """
    waiting = [(request, result) for request, result in paired(told) if request is not None]
    found: list[dict[str, Any]] = []
    for span, meaning in _tool_spans(spans):
        same = next((pair for pair in waiting if _same_id(pair[0], meaning)), None) or next(
            (pair for pair in waiting if _same_call(pair[0], meaning)), None
        )
        call_id = meaning.call_id or span.span_id
        if same is not None:
            waiting.remove(same)
            call_id = str(same[0].get("id") or "")
            if same[1] is not None or not call_id:
                continue
        else:
            event = call_event(meaning.tool, {} if meaning.arguments is None else meaning.arguments, call_id)
            if meaning.arguments is None:
                event["request"]["argumentsTold"] = False
            found.append({**event, "span": span.span_id})
        output = meaning.error if meaning.error else meaning.result
        if output is not None:
            result = result_event(output, call_id, failed=bool(meaning.error))
            found.append({**result, "span": span.span_id})
    return found


def _tool_spans(spans: Iterable[AgentSpan]) -> list[tuple[AgentSpan, Meaning]]:
    """Return the spans that are tool calls, in the order in which they began, one for each call."""
    by_id = {span.span_id: (span, meaning_of(span)) for span in spans}
    found = []
    for span, meaning in sorted(by_id.values(), key=lambda pair: pair[0].start_ns):
        if meaning.kind == "tool" and not _stands_within_itself(span, meaning.tool, by_id):
            found.append((span, meaning))
    return found


def _stands_within_itself(span: AgentSpan, tool: str, by_id: Mapping[str, tuple[AgentSpan, Meaning]]) -> bool:
    """Return whether a span is inside another one of the same tool, for example if client and server both report a call."""
    seen = {span.span_id}
    while (above := by_id.get(span.parent_id)) is not None and span.parent_id not in seen:
        seen.add(span.parent_id)
        span = above[0]
        if above[1].kind == "tool" and above[1].tool == tool:
            return True
    return False


def _same_id(request: Mapping[str, Any], meaning: Meaning) -> bool:
    return bool(meaning.call_id) and request.get("id") == meaning.call_id


def _same_call(request: Mapping[str, Any], meaning: Meaning) -> bool:
    if request["function"].get("name") != meaning.tool:
        return False
    if request.get("id") and meaning.call_id:
        return False  # ids that differ are two calls
    return meaning.arguments is None or _plain(request.get("arguments") or {}) == _plain(
        request_of(call_event(meaning.tool, meaning.arguments))["arguments"]  # type: ignore[index]
    )


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)

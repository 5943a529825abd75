"""What the spans that an agent sent mean, and how those of an answer hang together.

Meanings follow the GenAI semantic conventions of OpenTelemetry (`gen_ai.*`) and OpenInference.
Other attributes are kept unchanged, and have no meaning here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from bioeval_tui.base.text import clean_line, json_or_text

if TYPE_CHECKING:
    from bioeval_tui.record.agent_span import AgentSpan

SpanKind = Literal["tool", "model", "agent", "retrieval", "other"]


@dataclass(frozen=True, slots=True)
class Meaning:
    """A span's values according to the conventions. None or empty if missing.

    `arguments` and `result` of a tool call are parsed from their JSON text.
    """

    kind: SpanKind
    title: str
    tool: str = ""
    call_id: str = ""
    arguments: Any = None
    result: Any = None
    model: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    error: str = ""


_OPERATIONS: dict[str, SpanKind] = {
    "execute_tool": "tool",
    "chat": "model",
    "generate_content": "model",
    "text_completion": "model",
    "embeddings": "model",
    "retrieval": "retrieval",
    "create_agent": "agent",
    "invoke_agent": "agent",
    "invoke_workflow": "agent",
}
_INFERENCE_KINDS: dict[str, SpanKind] = {
    "TOOL": "tool",
    "LLM": "model",
    "EMBEDDING": "model",
    "RETRIEVER": "retrieval",
    "RERANKER": "retrieval",
    "AGENT": "agent",
}
_TOOL = ("gen_ai.tool.name", "tool.name")
_CALL_ID = ("gen_ai.tool.call.id", "tool_call.id", "tool.id")
_ARGUMENTS = ("gen_ai.tool.call.arguments", "input.value", "tool.parameters")
"""By OpenInference, `tool.parameters` are the parameters' definitions; some instrumentations put
the arguments there alone.
"""
_RESULT = ("gen_ai.tool.call.result", "output.value")
_MODEL = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "embedding.model_name")
_TOKENS_IN = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_TOKENS_OUT = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
)
LENGTH_LIMIT = frozenset({"length", "max_tokens", "MAX_TOKENS", "max_output_tokens"})
"""What models' endpoints and frameworks call the end of an answer at its length limit."""
_CONTENT_FREE = frozenset(
    {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.system", "gen_ai.agent.name",
        "gen_ai.agent.id",
     "gen_ai.conversation.id", "gen_ai.response.finish_reasons", "gen_ai.response.id",
     "gen_ai.tool.type",
     "openinference.span.kind", "error.type", "server.address", "server.port",
     "gen_ai.tool.call.arguments",
     *_TOOL, *_CALL_ID, *_MODEL, *_TOKENS_IN, *_TOKENS_OUT}
)  # fmt: skip
"""Attributes without prompts and outputs, and the arguments of tool calls."""


def meaning_of(span: AgentSpan) -> Meaning:
    """Return a span's meaning."""
    attributes = _all_attributes(span)
    kind = _kind(attributes)
    tool, arguments, result = "", None, None
    if kind == "tool":
        arguments = _unwrap_arguments(_value(attributes, *_ARGUMENTS))
        result = _value(attributes, *_RESULT)
        tool = clean_line(_text(attributes, *_TOOL) or span.name.removeprefix("execute_tool "), 200)
    model = _text(attributes, *_MODEL)
    message = _tool_message(result)
    failed = message.get("status") == "error"
    result = json_or_text(message["content"], quoted=True) if message else _unwrap_block(result)
    match result:
        case {"raw_output": output, "is_error": bool(failed), "tool_name": _}:  # LlamaIndex
            result = output
    return Meaning(
        kind,
        tool or clean_line(span.name, 200),
        tool,
        _text(attributes, *_CALL_ID) or _text(message, "tool_call_id"),
        arguments,
        result,
        clean_line(model, 200),
        _count(attributes, *_TOKENS_IN),
        _count(attributes, *_TOKENS_OUT),
        _error(span) or (clean_line(str(result), 500) if failed else ""),
    )


def drop_content(span: AgentSpan) -> AgentSpan:
    """Return a span without what may quote a prompt or an output: names, numbers and arguments of
    tool calls stay.
    """
    attributes = _all_attributes(span)
    kept = {name: value for name, value in attributes.items() if name in _CONTENT_FREE}
    if _kind(attributes) == "tool" and "gen_ai.tool.call.arguments" not in kept:
        kept |= {name: attributes[name] for name in _ARGUMENTS if name in attributes}
    return span.model_copy(
        update={"attributes": kept, "events": (), "links": (), "status_message": ""}
    )


def ordered(spans: Iterable[AgentSpan], root_id: str) -> list[tuple[AgentSpan, int]]:
    """Return spans in the order in which they began, each below its parent, with its depth from 0.

    A span without its parent is at the top level, like spans whose parent is `root_id`.
    """
    known = {span.span_id: span for span in spans}
    below: dict[str, list[AgentSpan]] = {}
    for span in sorted(known.values(), key=lambda span: (span.start_ns, -span.end_ns)):
        has_parent = span.parent_id in known and span.parent_id not in (root_id, span.span_id)
        below.setdefault(span.parent_id if has_parent else "", []).append(span)
    placed: list[tuple[AgentSpan, int]] = []
    waiting = [(span, 0) for span in reversed(below.pop("", []))]
    while waiting:
        span, depth = waiting.pop()
        placed.append((span, depth))
        waiting += [(child, depth + 1) for child in reversed(below.pop(span.span_id, []))]
    # Spans that name each other as parents have no root.
    return placed + [(span, 0) for span in chain.from_iterable(below.values())]


def trace_tokens(spans: Iterable[AgentSpan], trace_id: str) -> tuple[int | None, int | None]:
    """Return the tokens (input, output) of a trace's model calls; None if no span reports them.

    Of nested spans for one call (a model's client inside an agent framework), the outer one counts.
    """
    trace = {span.span_id: span for span in spans if span.trace_id == trace_id}
    counted = {
        name: (_count(span.attributes, *_TOKENS_IN), _count(span.attributes, *_TOKENS_OUT))
        for name, span in trace.items()
        if _kind(span.attributes) == "model"
    }
    counted = {name: counts for name, counts in counted.items() if counts != (None, None)}
    outer = [
        counted[span.span_id] for span in outermost(trace.values(), dict.fromkeys(counted, "model"))
    ]
    return known_sum(n for n, _ in outer), known_sum(n for _, n in outer)


def was_cut_off(spans: Iterable[AgentSpan], trace_id: str) -> bool:
    """Return whether the last of a trace's model calls that says why it ended, ended at the model's
    length limit.
    """
    ends = [
        (span.end_ns, reasons)
        for span in spans
        if span.trace_id == trace_id
        and (reasons := span.attributes.get("gen_ai.response.finish_reasons"))
    ]
    if not ends:
        return False
    reasons = max(ends, key=lambda each: each[0])[1]
    if isinstance(reasons, str):
        reasons = json_or_text(reasons, quoted=True)
    return any(
        each in LENGTH_LIMIT
        for each in (reasons if isinstance(reasons, list | tuple) else [reasons])
    )


def outermost(spans: Iterable[AgentSpan], kinds: Mapping[str, str]) -> list[AgentSpan]:
    """Return the spans that have a kind (by span id) and are inside no other span of that kind, in
    linear time.
    """
    found: list[AgentSpan] = []
    around: list[str | None] = []
    many: Counter[str | None] = Counter()
    for span, depth in ordered(spans, ""):
        for kind in around[depth:]:
            many[kind] -= 1
        kind = kinds.get(span.span_id)
        if kind is not None and not many[kind]:
            found.append(span)
        many[kind] += 1
        around[depth:] = [kind]
    return found


def known_sum(counts: Iterable[int | None]) -> int | None:
    """Return the sum of the counts that are known; None if none is."""
    known = [n for n in counts if n is not None]
    if known:
        return sum(known)
    return None


def absent_parents(spans: Iterable[AgentSpan], root_id: str) -> list[str]:
    """Return the ids of missing spans that others name as their parents."""
    known = {span.span_id: span for span in spans}
    named = dict.fromkeys(span.parent_id for span in known.values() if span.parent_id)
    return [parent for parent in named if parent not in known and parent != root_id]


def _kind(attributes: Mapping[str, Any]) -> SpanKind:
    operation = attributes.get("gen_ai.operation.name")
    if isinstance(operation, str) and operation in _OPERATIONS:
        return _OPERATIONS[operation]
    inference = attributes.get("openinference.span.kind")
    if isinstance(inference, str) and inference.upper() in _INFERENCE_KINDS:
        return _INFERENCE_KINDS[inference.upper()]
    if operation is None and "gen_ai.tool.name" in attributes:
        return "tool"
    return "other"


def _all_attributes(span: AgentSpan) -> Mapping[str, Any]:
    """Return a span's attributes, and the arguments and result of a tool call that are in its
    events.

    Before the conventions had attributes for them, they were the events `gen_ai.tool.message` and
    `gen_ai.choice`, which Strands Agents sends.
    """
    attributes = dict(span.attributes)
    if span.events and _kind(attributes) == "tool":
        for event in span.events:
            content = event.get("attributes") or {}
            match event.get("name"):
                case "gen_ai.tool.message" if "content" in content and not any(
                    name in attributes for name in _ARGUMENTS
                ):
                    attributes["gen_ai.tool.call.arguments"] = content["content"]
                case "gen_ai.choice" if "message" in content and not any(
                    name in attributes for name in _RESULT
                ):
                    attributes["gen_ai.tool.call.result"] = content["message"]
    return attributes


def _text(attributes: Mapping[str, Any], *names: str) -> str:
    return next(
        (value for name in names if isinstance(value := attributes.get(name), str) and value), ""
    )


def _count(attributes: Mapping[str, Any], *names: str) -> int | None:
    counts = (attributes.get(name) for name in names)
    return next(
        (n for n in counts if isinstance(n, int) and not isinstance(n, bool) and n >= 0), None
    )


def _value(attributes: Mapping[str, Any], *names: str) -> Any:
    """Return a value, parsed if it is JSON text, because attributes cannot contain objects."""
    return json_or_text(
        next((attributes[name] for name in names if name in attributes), None), quoted=True
    )


def _unwrap_arguments(arguments: Any) -> Any:
    """Return the arguments by name from what instrumentations of LangChain (OpenLLMetry),
    smolagents and LlamaIndex record as the call; of an only argument without a name, its value.
    """
    match arguments:
        case {"input_str": _, "inputs": dict(found)} | {"args": [], "kwargs": dict(found)}:
            return found
        case {"args": [only], "kwargs": dict(found)} if not found:
            return only
        case {"kwargs": dict(found), **others} if not others:
            return found
    return arguments


def _unwrap_block(result: Any) -> Any:
    """Return the text or JSON of the content block in which Strands Agents and Bedrock wrap a
    tool's result.
    """
    match result:
        case [{"text": str(text), **others}] if not others:
            return json_or_text(text, quoted=True)
        case [{"json": found, **others}] if not others:
            return found
    return result


def _tool_message(result: Any) -> Mapping[str, Any]:
    """Return the LangChain message that is a tool's result: its content, status and call id; empty
    for any other result.
    """
    match result:
        case {"output": dict(output), "kwargs": dict()}:
            result = output
    match result:
        case {"type": "tool", "data": {"content": _} as message}:
            return dict(message)
        case {"type": "constructor", "kwargs": {"content": _, "type": "tool"} as message}:
            return dict(message)
    return {}


def _error(span: AgentSpan) -> str:
    """Return why a span failed, on one line; empty if the agent reported no failure."""
    if span.status != "error":
        return ""
    for event in span.events:
        attributes = event.get("attributes") or {}
        if event.get("name") == "exception" and isinstance(attributes, Mapping):
            text = ": ".join(
                filter(
                    None,
                    (_text(attributes, "exception.type"), _text(attributes, "exception.message")),
                )
            )
            if text:
                return clean_line(text, 500)
    return clean_line(span.status_message or _text(span.attributes, "error.type") or "failed", 500)

"""Traces in OTLP as conversations, by the GenAI semantic conventions of OpenTelemetry,
OpenInference and other instrumentations.

An export of this program has what was said in spans of its own, which are read as they were
written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from bioeval_tui.bundled.otlp.ours import is_ours, own_conversations
from bioeval_tui.bundled.otlp.spans import at_ns, spans_of
from bioeval_tui.formats import (
    AgentSpan,
    GivenScore,
    Header,
    ImportedConversation,
    Step,
    conversations_of,
    in_unit,
    json_or_text,
    meaning_of,
)

_SESSIONS = (
    "session.id", "gen_ai.conversation.id", "langfuse.session.id", "thread.id", "thread_id",
    "traceloop.association.properties.session_id", "traceloop.association.properties.thread_id",
    "mlflow.trace.session",
)  # fmt: skip
_INPUTS = (
    "gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt", "ai.prompt.messages",
    "ai.prompt", "input.value",
    "traceloop.entity.input", "langfuse.observation.input", "langfuse.trace.input",
    "mlflow.spanInputs",
)  # fmt: skip
_OUTPUTS = (
    "gen_ai.output.messages", "llm.output_messages", "gen_ai.completion", "ai.response.text",
    "output.value",
    "traceloop.entity.output", "langfuse.observation.output", "langfuse.trace.output",
    "mlflow.spanOutputs",
)  # fmt: skip
_AGENTS = ("gen_ai.agent.name", "agent.name", "traceloop.workflow.name")
_ASKED = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
"""The events in which messages were before there were attributes for them."""
_NEEDED = (
    "its spans need `gen_ai.input.messages` and `gen_ai.output.messages`, or `input.value` and"
    " `output.value`; many instrumentations write them only with"
    " OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"
)


def read(file: Path) -> Iterator[Header | ImportedConversation]:
    """Yield the conversations of a file: each session's, or each trace's.

    Raises:
        InputError: a part of the file is not OTLP, or nothing was said in any trace; the message
            says which.
    """
    ours: dict[str, list[AgentSpan]] = {}
    others: dict[str, list[AgentSpan]] = {}
    for span in spans_of(file):
        others.setdefault(span.trace_id, []).append(span)
    for trace in [trace for trace, spans in others.items() if is_ours(spans)]:
        ours[trace] = others.pop(trace)
    yield from own_conversations(ours.values())
    if others:
        steps = map(_step, chain.from_iterable(others.values()))
        yield from conversations_of(steps, "" if ours else _NEEDED)


def _step(span: AgentSpan) -> Step:
    attributes = _nested(span.attributes)
    meaning = meaning_of(span)
    step = Step(
        trace=span.trace_id,
        id=span.span_id,
        raw=span.model_dump(exclude_defaults=True),
        parent=span.parent_id,
        kind=meaning.kind,
        name=meaning.tool or span.name,
        start=at_ns(span.start_ns),
        end=at_ns(span.end_ns),
        call_id=meaning.call_id,
        agent=next((str(attributes[key]) for key in _AGENTS if attributes.get(key)), span.service),
        model=meaning.model,
        tokens_in=meaning.tokens_in,
        tokens_out=meaning.tokens_out,
        error=meaning.error,
        scores=list(_scores(span)),
    )
    if key := next((key for key in _SESSIONS if _is_text(attributes.get(key))), None):
        step.session, step.told["session"] = str(attributes[key]), key
    if meaning.kind == "tool":
        step.input, step.output = meaning.arguments, meaning.result
        return step
    if "ai.toolCall.name" in attributes:  # the AI SDK
        step.kind, step.name = "tool", str(attributes["ai.toolCall.name"])
        step.call_id = str(attributes.get("ai.toolCall.id") or "")
        step.input, step.output = (
            json_or_text(attributes.get(f"ai.toolCall.{key}")) for key in ("args", "result")
        )
        return step
    step.input, step.told["input"] = _first(attributes, _INPUTS)
    step.output, step.told["output"] = _first(attributes, _OUTPUTS)
    asked, answered = _event_messages(span)
    if step.input is None and asked:
        step.input, step.told["input"] = asked, "events gen_ai.*.message"
    if step.output is None and answered:
        step.output, step.told["output"] = answered, "events gen_ai.choice"
    return step


def _is_text(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip() != ""


def _first(attributes: Mapping[str, Any], keys: Sequence[str]) -> tuple[Any, str]:
    """Return the first value that is told, and its key."""
    for key in keys:
        if attributes.get(key) not in (None, "", []):
            return json_or_text(attributes[key]), key
    return None, ""


def _nested(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with messages as lists, which are spread over names such as
    `llm.input_messages.0.message.role`.
    """
    nested = dict(attributes)
    for prefix in (
        "llm.input_messages",
        "llm.output_messages",
        "gen_ai.prompt",
        "gen_ai.completion",
    ):
        parts = {
            key[len(prefix) + 1 :]: value
            for key, value in attributes.items()
            if key.startswith(f"{prefix}.")
        }
        if prefix not in nested and any(key.split(".")[0].isdigit() for key in parts):
            nested[prefix] = [_message(each) for each in _tree(parts)]
    return nested


def _tree(parts: Mapping[str, Any]) -> Any:
    """Return the lists and objects that dotted names spread: a number is a place in a list."""
    tree: dict[str, Any] = {}
    for name, value in sorted(parts.items(), key=lambda part: part[0].count(".")):
        *path, last = name.split(".")
        place = tree
        for key in path:
            inner = place.setdefault(key, {})
            if not isinstance(inner, dict):  # a value, and names below it: the value stays
                break
            place = inner
        else:
            place.setdefault(last, value)
    return _lists(tree)


def _lists(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    if tree and all(key.isdigit() and len(key) < 7 for key in tree):
        return [_lists(tree[key]) for key in sorted(tree, key=int)]
    return {key: _lists(value) for key, value in tree.items()}


def _message(entry: Any) -> Any:
    """Return a message without OpenInference's wrappings: `message`, `message_content`,
    `tool_call`.
    """
    entry = _unwrapped(entry, "message")
    if not isinstance(entry, dict):
        return entry
    message = dict(entry)
    if isinstance(message.get("contents"), list):
        parts = message.pop("contents")
        message["content"] = [_unwrapped(part, "message_content") for part in parts]
    if isinstance(message.get("tool_calls"), list):
        calls = message["tool_calls"]
        message["tool_calls"] = [_unwrapped(call, "tool_call") for call in calls]
    if "role" in message:
        message.setdefault("content", None)
    return message


def _unwrapped(value: Any, key: str) -> Any:
    """Return what an object has under the key; the value itself if it is not wrapped so."""
    if isinstance(value, dict):
        return value.get(key, value)
    return value


def _event_messages(span: AgentSpan) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the messages in a span's events: what the model was given, and what it said."""
    asked: list[dict[str, Any]] = []
    answered: list[dict[str, Any]] = []
    for event in span.events:
        data = event.get("attributes") or {}
        name = event.get("name")
        if name in _ASKED:
            asked.append(
                {
                    "role": _ASKED[str(name)],
                    **{key: json_or_text(value) for key, value in data.items()},
                }
            )
        elif name == "gen_ai.choice":
            message = json_or_text(data.get("message", data.get("content")))
            if not isinstance(message, dict):
                message = {"content": message}
            answered.append({"role": "assistant", **message})
        elif name == "gen_ai.client.inference.operation.details":
            for messages, keys in ((asked, _INPUTS), (answered, _OUTPUTS)):
                found, _ = _first(data, keys)
                if isinstance(found, list):
                    messages.extend(found)
    return asked, answered


def _scores(span: AgentSpan) -> Iterator[GivenScore]:
    for event in span.events:
        if event.get("name") == "gen_ai.evaluation.result":
            data = event.get("attributes") or {}
            value = data.get("gen_ai.evaluation.score.value")
            told = value if value is not None else data.get("gen_ai.evaluation.score.label")
            name = str(data.get("gen_ai.evaluation.name") or "score")
            yield GivenScore(
                name, in_unit(value), told, str(data.get("gen_ai.evaluation.explanation") or "")
            )

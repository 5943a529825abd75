"""Traces that this program exported: a conversation's messages, calls and scores come back as they
were.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

from bioeval_tui.bundled.otlp.spans import at_ns
from bioeval_tui.formats import (
    AgentSpan,
    EndReason,
    Fault,
    GivenScore,
    Header,
    ImportedCall,
    ImportedConversation,
    ImportedPart,
    Output,
    in_unit,
    is_name,
    meaning_of,
    messages_in,
    messages_of,
    milliseconds,
    note,
    text_of,
    whole_number,
)

_RUN, _MESSAGE = "bioeval.run.id", "bioeval.message"
_LINK = "bioeval.link"


def is_ours(spans: Sequence[AgentSpan]) -> bool:
    """Return whether a trace is an export of this program."""
    return any(_RUN in span.attributes for span in spans)


def own_conversations(
    traces: Iterable[Sequence[AgentSpan]],
) -> Iterator[Header | ImportedConversation]:
    """Yield the conversation of each exported trace."""
    header: Header | None = None
    for spans in traces:
        root = next(span for span in spans if _RUN in span.attributes)
        answers = [span for span in spans if span.attributes.get("bioeval.role") == "assistant"]
        header = header or _header(root, answers)
        yield _conversation(root, spans)
    if header is not None:
        note(
            "so it was read: traces that bioeval-tui exported, a conversation each, with"
            " `bioeval.*` attributes"
        )
        yield header


def _header(root: AgentSpan, answers: Sequence[AgentSpan]) -> Header:
    model = next((m for span in answers if (m := span.attributes.get("gen_ai.request.model"))), "")
    judges = (event["attributes"].get("bioeval.judge") for event in root.events)
    return Header(
        name=str(root.attributes.get("bioeval.job") or ""),
        agent=str(root.attributes.get("gen_ai.agent.name") or ""),
        model=str(model),
        evaluator=str(root.attributes.get("bioeval.evaluator") or ""),
        judge=str(next(filter(None, judges), "")),
    )


def _conversation(root: AgentSpan, spans: Sequence[AgentSpan]) -> ImportedConversation:
    told = root.attributes
    timed = told.get("bioeval.times") != "unknown"
    condition = str(told.get("bioeval.condition"))
    reason, fault = told.get("bioeval.end_reason"), told.get("bioeval.fault")
    below: dict[str, list[AgentSpan]] = {}
    for span in spans:
        below.setdefault(span.parent_id, []).append(span)
    said = sorted(
        (span for span in spans if _number(span) is not None), key=lambda span: _number(span) or 0
    )
    scores = list(_scores(root, "task"))
    talk = ImportedConversation(
        name=str(told.get("bioeval.case") or ""),
        messages=messages_of(_piece(span, below, timed) for span in said),
        session=str(told.get("gen_ai.conversation.id") or ""),
        condition=condition if is_name(condition) else None,
        scores=scores,
        detail=root.status_message,
        whole=next((score.value for score in _scores(root, "composite")), None),
        record={"trace": [span.model_dump(exclude_defaults=True) for span in spans]},
    )
    if timed:
        talk.started_at, talk.ended_at = at_ns(root.start_ns), at_ns(root.end_ns)
    if reason in get_args(EndReason):
        talk.reason = reason  # type: ignore[assignment]
    if fault in get_args(Fault):
        talk.fault = fault  # type: ignore[assignment]
    return talk


def _number(span: AgentSpan) -> int | None:
    return whole_number(span.attributes.get(_MESSAGE))


def _scores(root: AgentSpan, kind: str) -> Iterator[GivenScore]:
    for event in root.events:
        told = event["attributes"]
        if event["name"] == "gen_ai.evaluation.result" and told.get("bioeval.kind") == kind:
            value = told.get("gen_ai.evaluation.score.value")
            why = str(told.get("gen_ai.evaluation.explanation") or "")
            yield GivenScore(
                str(told.get("gen_ai.evaluation.name") or kind), in_unit(value), value, why
            )


def _piece(span: AgentSpan, below: Mapping[str, Sequence[AgentSpan]], timed: bool) -> ImportedPart:
    told = span.attributes
    words = messages_in(told.get("gen_ai.output.messages"), "assistant")
    calls = list(_calls(span, below))
    piece = ImportedPart(
        "assistant" if told.get("bioeval.role") == "assistant" else "user",
        "\n".join(text_of(message.get("content")) for message in words),
        {"bioeval.message": told.get(_MESSAGE)},
        calls=[call for call, _ in calls],
        outputs=[output for _, output in calls if output is not None],
        latency_ms=milliseconds(told.get("bioeval.latency_ms")),
        first_token_ms=milliseconds(told.get("bioeval.first_token_ms")),
        of_whole_answer=True,
        tokens_in=whole_number(told.get("gen_ai.usage.input_tokens")),
        tokens_out=whole_number(told.get("gen_ai.usage.output_tokens")),
    )
    if timed:
        piece.at = at_ns(span.end_ns)
    return piece


def _calls(
    span: AgentSpan, below: Mapping[str, Sequence[AgentSpan]]
) -> Iterator[tuple[ImportedCall, Output | None]]:
    """Yield the tool calls below an answer: those that its protocol reported, and those of the
    agent's own spans.
    """
    for child in below.get(span.span_id, ()):
        meaning = meaning_of(child)
        if meaning.kind != "tool":
            yield from _calls(child, below)
            continue
        told = child.attributes
        identity = str(told.get("gen_ai.tool.call.id") or "")
        result = told.get("gen_ai.tool.call.result")
        if _is_agents(child):
            identity = identity or child.span_id
            arguments, value = meaning.arguments, meaning.result
        else:
            arguments, value = _parsed(told.get("gen_ai.tool.call.arguments")), _parsed(result)
        output = None
        if result is not None or meaning.error:
            output = Output(value, identity, bool(meaning.error))
        if arguments is None:
            arguments = {}
        yield ImportedCall(meaning.tool, arguments, identity), output


def _is_agents(span: AgentSpan) -> bool:
    return any(_LINK in link["attributes"] for link in span.links)


def _parsed(value: Any) -> Any:
    try:
        return json.loads(value)
    except (TypeError, ValueError, RecursionError):
        return value

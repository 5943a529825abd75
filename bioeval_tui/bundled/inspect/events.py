"""A conversation as Inspect's events: spans, model and tool calls, checks and scores."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from bioeval_tui.formats import ConversationResult, MessageState, RunResult, paired


def sample_events(
    run: RunResult, talk: ConversationResult, scores: dict[str, dict[str, Any]], model: str
) -> list[dict[str, Any]]:
    """Return what happened in a conversation, in order: a span a turn, then the scores. `model` answers."""
    begun = talk.started_at or run.started.at
    name = f"{talk.condition}-{talk.trial}"
    events: list[dict[str, Any]] = []
    for turn in sorted({message.turn for message in talk.messages}):
        said = [message for message in talk.messages if message.turn == turn]
        span = f"{name}-turn-{turn}"
        at = said[0].started_at
        events.append(_event("span_begin", at, begun, id=span, name=f"turn {turn}", type="turn"))
        for message in said:
            events += _message_events(talk, message, begun, span, model)
        for checks in talk.timelines.values():
            for check in checks:
                if check.after_turn == turn:
                    data = {"assertion": check.title, "status": check.status}
                    events.append(
                        _event("info", check.at, begun, span_id=span, source="assertion", data=data)
                    )
        events.append(_event("span_end", events[-1]["timestamp"], begun, id=span, span_id=span))
    end = talk.ended_at or run.last_at or begun
    for scorer, score in scores.items():
        events.append(_event("score", end, begun, score=score, scorer=scorer, target=""))
    return events


def _message_events(
    talk: ConversationResult, message: MessageState, begun: datetime, span: str, model: str
) -> Iterator[dict[str, Any]]:
    at = message.started_at
    for failure in message.failures:
        data = {
            "peer": failure.peer,
            "error": failure.error,
            "attempt": failure.request_attempt,
            "counted": failure.counted,
        }
        yield _event("info", failure.at, begun, span_id=span, source="request_failed", data=data)
    for fact in message.facts:
        data = {"fact": fact.fact, "text": fact.text, "asked": fact.asked}
        yield _event("info", fact.at, begun, span_id=span, source="fact_disclosed", data=data)
    if message.role != "assistant" or not message.done:
        return
    for number, call in enumerate(_calls(message), start=1):
        yield _event("tool", at, begun, span_id=span, id=f"{span}-call-{number}", type="function", **call)
    choice = {"message": {"role": "assistant", "content": message.text}, "stop_reason": stop_reason(message)}
    yield _event(
        "model",
        at,
        begun,
        span_id=span,
        model=model,
        input=[
            {"role": m.role, "content": m.text}
            for m in talk.messages
            if m.message < message.message and m.done
        ],
        tools=[],
        tool_choice="auto",
        config={},
        output={"model": model, "choices": [choice], "time": (message.latency_ms or 0.0) / 1000},
        working_time=(message.latency_ms or 0.0) / 1000,
    )


def stop_reason(answer: MessageState) -> str:
    """Return why an answer ended, in Inspect's words."""
    return "max_tokens" if answer.cut_off else "stop"


def _calls(message: MessageState) -> Iterator[dict[str, Any]]:
    """Return the agent's tool calls, each with its result."""
    for request, told in paired(message.generation):
        if request is None:
            continue
        arguments = request.get("arguments")
        result = "" if told is None else told[0]
        yield {
            "function": str(request["function"].get("name") or "unknown"),
            "arguments": arguments if isinstance(arguments, dict) else {},
            "result": result if isinstance(result, str) else str(result),
        }


def _event(kind: str, at: datetime | str, begun: datetime, **fields: Any) -> dict[str, Any]:
    when = datetime.fromisoformat(at) if isinstance(at, str) else at
    start = max(0.0, (when - begun).total_seconds())
    return {"event": kind, "timestamp": when.isoformat(), "working_start": start, **fields}

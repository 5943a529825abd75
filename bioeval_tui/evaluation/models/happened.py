"""The agent's tool calls, other events and state for the judge, limited in length.

Long texts are shortened in the middle and marked, because the beginning and the end say most.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bioeval_tui.evaluation.seams import JudgeView, TranscriptMessage
from bioeval_tui.record.tool_calls import paired, request_of, result_of
from bioeval_tui.text import compact_json, plural

MAX_VALUE = 2_000
"""Longest arguments, result or event of one call, in characters."""
MAX_LIST = 40_000
"""Maximum number of characters of all calls together, and of all events together."""
MAX_STATE = 20_000
"""Longest state, in characters."""


def tool_calls(transcript: Sequence[TranscriptMessage]) -> list[dict[str, Any]]:
    """Return each tool call: `message`, `function`, `arguments` and, if reported, `result`.

    A result without a previous call is listed by itself.
    """
    calls: list[dict[str, Any]] = []
    for message in transcript:
        for request, result in paired(message.generation):
            call: dict[str, Any] = {"message": message.message}
            if request is not None:
                call["function"] = str(request["function"].get("name", ""))
                if request.get("argumentsTold") is not False:
                    call["arguments"] = _short(request.get("arguments") or {})
            if result is not None:
                call["result"] = _short(result[0])
                if result[1]:
                    call["failed"] = True
            calls.append(call)
    return calls


def other_events(transcript: Sequence[TranscriptMessage]) -> list[dict[str, Any]]:
    """Return the agent's other events: `message` and `event`."""
    return [
        {"message": message.message, "event": _short(dict(event))}
        for message in transcript
        for event in message.generation
        if request_of(event) is None and result_of(event) is None
    ]


def state_text(state: Mapping[str, Any] | None) -> str:
    """Return an object context as JSON, shortened in the middle; empty without one."""
    return "" if state is None else cut_middle(compact_json(state), MAX_STATE)


def bounded(items: Sequence[dict[str, Any]], limit: int = MAX_LIST) -> list[dict[str, Any]]:
    """Return the items within `limit` characters; items in the middle are replaced by their number."""
    sizes = [len(compact_json(item)) for item in items]
    if sum(sizes) <= limit:
        return list(items)
    first, last, left = 0, len(items), limit
    while first < last:
        at_the_front = first <= len(items) - last
        index = first if at_the_front else last - 1
        if sizes[index] > left:
            break
        left -= sizes[index]
        first, last = (first + 1, last) if at_the_front else (first, last - 1)
    cut = {"left_out": f"{plural(last - first, 'entry', 'entries')} in the middle"}
    return [*items[:first], cut, *items[last:]]


def cut_middle(text: str, limit: int) -> str:
    """Return a text of at most about `limit` characters, shortened and marked in the middle."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]} … {len(text) - 2 * half:,} characters left out … {text[-half:]}"


def as_shown(transcript: Sequence[TranscriptMessage]) -> dict[int, str]:
    """Return the tool calls by message, in the form that a judge sees, to locate quotations."""
    shown: dict[int, list[str]] = {}
    for call in tool_calls(transcript):
        shown.setdefault(call["message"], []).append(json.dumps(call, ensure_ascii=False))
    return {message: "\n".join(lines) for message, lines in shown.items()}


def states_shown(view: JudgeView) -> tuple[str, ...]:
    """Return the states of a view in the forms that a judge sees, plain and as JSON."""
    texts = [text for state in (view.state_before, view.state_after) if (text := state_text(state))]
    return tuple(form for text in texts for form in (text, json.dumps(text, ensure_ascii=False)))


def _short(value: Any) -> Any:
    text = value if isinstance(value, str) else compact_json(value)
    return value if len(text) <= MAX_VALUE else cut_middle(text, MAX_VALUE)

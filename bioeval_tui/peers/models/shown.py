"""What a model is shown of a conversation: messages, tool calls, events and states as text that
fits.

Templates get it as their variables (`prompting.py`). Verdicts and guards ask for the same text
again (`shown_text`, `shown_calls`, `states_shown`), because a quotation counts only if it stands in
what the judge saw.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bioeval_tui.base.text import compact_json, plural
from bioeval_tui.peers.seams import JudgeView, TranscriptMessage
from bioeval_tui.record.attachments import answered_json, attached_file, file_words, replace_data
from bioeval_tui.record.tool_calls import (
    call_result,
    injected_failure,
    paired_events,
    request_of,
    result_of,
)


@dataclass(frozen=True, slots=True)
class Room:
    """How much of a conversation a model is shown, in characters: of each message, all tool calls
    (and all events), a state.

    What is longer is shortened in the middle, and says so.
    """

    message: int
    calls: int
    state: int


FOR_JUDGES = (
    Room(200_000, 40_000, 20_000),
    Room(40_000, 20_000, 10_000),
    Room(8_000, 8_000, 4_000),
    Room(2_000, 2_000, 1_000),
    Room(500, 500, 250),
)
"""What a judge is shown and, if that does not fit its context, the less that it is shown then."""
FOR_USERS = (8_000, 2_000, 500)
"""The same for the simulated user, of each message: a person would not read more of one."""

MAX_VALUE = 2_000
"""Longest arguments, result or event of one call, in characters."""


def shown_text(message: TranscriptMessage, most: int) -> str:
    """Return a message as a model is shown it: files by their names, data left out, a long text
    shortened in the middle.

    JSON that is a part of the answer is shown if it says nothing else.
    """
    files = file_words(message.generation)
    text = cut_middle(replace_data(message.content), most)
    if not files and not text.strip():
        files = [f"[data: {cut_middle(data, most)}]" for data in answered_json(message.generation)]
    return "\n".join(filter(None, (text, *files)))


def is_shortened(transcript: Sequence[TranscriptMessage], room: Room) -> bool:
    """Return whether some message is too long for this room."""
    return any(len(replace_data(message.content)) > room.message for message in transcript)


def tool_calls(transcript: Sequence[TranscriptMessage]) -> list[dict[str, Any]]:
    """Return each tool call: `message`, `function`, `arguments` and, if reported, `result`, with
    `failed` if that is an error, or what the job made fail.

    A result without a previous call is listed by itself.
    """
    calls: list[dict[str, Any]] = []
    for message in transcript:
        for request, event in paired_events(message.generation):
            result = call_result(request, event)
            call: dict[str, Any] = {"message": message.message}
            if request is not None:
                call["function"] = str(request["function"].get("name", ""))
                if request.get("argumentsTold") is not False:
                    call["arguments"] = _short(request.get("arguments") or {})
            if result is not None:
                call["result"] = _short(result[0])
                if injected := injected_failure(event):
                    call["failed"] = f"{injected}, made by the test and not by the chatbot"
                elif result[1]:
                    call["failed"] = True
            calls.append(call)
    return calls


def other_events(transcript: Sequence[TranscriptMessage]) -> list[dict[str, Any]]:
    """Return the agent's other events: `message` and `event`. Files are told with their message."""
    listed = []
    for message in transcript:
        listed += [
            {"message": message.message, "event": _short(dict(event))}
            for event in message.generation
            if request_of(event) is None
            and result_of(event) is None
            and attached_file(event) is None
        ]
    return listed


def state_text(state: Mapping[str, Any] | None, most: int = FOR_JUDGES[0].state) -> str:
    """Return an object context as JSON, shortened in the middle; empty without one."""
    if state is None:
        return ""
    return cut_middle(compact_json(state), most)


def shown_calls(transcript: Sequence[TranscriptMessage]) -> dict[int, str]:
    """Return the tool calls by message, in the form that a judge sees, to locate quotations."""
    shown: dict[int, list[str]] = {}
    for call in tool_calls(transcript):
        shown.setdefault(call["message"], []).append(json.dumps(call, ensure_ascii=False))
    return {message: "\n".join(lines) for message, lines in shown.items()}


def states_shown(view: JudgeView) -> tuple[str, ...]:
    """Return the states of a view in the forms that a judge sees, plain and as JSON."""
    forms: list[str] = []
    for text in filter(None, map(state_text, (view.state_before, view.state_after))):
        forms += (text, json.dumps(text, ensure_ascii=False))
    return tuple(forms)


def shorten_list(items: Sequence[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """Return the items within `limit` characters; items in the middle are replaced by their
    number.
    """
    sizes = [len(compact_json(item)) for item in items]
    if sum(sizes) <= limit:
        return list(items)
    first, last, left = 0, len(items), limit
    while first < last:
        # From both ends in turn: the same number of items at the front and at the end.
        at_the_front = first <= len(items) - last
        index = first if at_the_front else last - 1
        if sizes[index] > left:
            break
        left -= sizes[index]
        if at_the_front:
            first += 1
        else:
            last -= 1
    cut = {"left_out": f"{plural(last - first, 'entry', 'entries')} in the middle"}
    return [*items[:first], cut, *items[last:]]


def cut_middle(text: str, limit: int) -> str:
    """Return a text of at most about `limit` characters, shortened and marked in the middle."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]} … {len(text) - 2 * half:,} characters left out … {text[-half:]}"


def _short(value: Any) -> Any:
    text = value if isinstance(value, str) else compact_json(value)
    if len(text) <= MAX_VALUE:
        return value
    return cut_middle(text, MAX_VALUE)

"""Reads and writes messages in OpenAI's chat format, which many files use."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bioeval_tui.errors import InputError
from bioeval_tui.record.importing.conversations import (
    ChatRole,
    Output,
    ToldCall,
    ToldMessage,
    ToldPiece,
    messages_of,
    objects,
    text_of,
)
from bioeval_tui.record.tool_calls import paired
from bioeval_tui.text import compact_json

ROLES: dict[str, ChatRole] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


def chat_pieces(messages: Any) -> Iterable[ToldPiece]:
    """Yield the messages of a list.

    Raises:
        InputError: a message has no known role; the sentence names it.
    """
    if not isinstance(messages, list):
        raise InputError("`messages` must be a list")
    for place, message in enumerate(messages, start=1):
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(role, str) or role not in ROLES:
            raise InputError(f"message {place}: `role` must be one of {', '.join(ROLES)}")
        yield _piece(ROLES[role], message)


def _piece(role: ChatRole, message: Mapping[str, Any]) -> ToldPiece:
    if role == "tool":
        # Only the newer format names the call of a result.
        outputs = [Output(text_of(message.get("content")), str(message.get("tool_call_id") or ""))]
        return ToldPiece(role, "", message, outputs=outputs)
    calls = [_call(each) for each in objects(message.get("tool_calls"))]
    if isinstance(message.get("function_call"), dict):
        calls.append(_call({"function": message["function_call"]}))
    text = text_of(message.get("content")) or text_of(message.get("refusal"))
    return ToldPiece(role, text, message, calls=calls)


def _call(call: Mapping[str, Any]) -> ToldCall:
    function = call.get("function")
    function = function if isinstance(function, dict) else call  # tau2 writes name and arguments side by side
    return ToldCall(
        str(function.get("name", "unknown")), _arguments(function.get("arguments")), str(call.get("id") or "")
    )


def _arguments(given: Any) -> Any:
    """Return arguments as the object in their JSON text; any other text stays text."""
    if not isinstance(given, str):
        return given if given is not None else {}
    try:
        found = json.loads(given)
    except (ValueError, RecursionError):
        return given
    return found if isinstance(found, dict) else given


def chat_messages(message: ToldMessage, number: int = 0) -> list[dict[str, Any]]:
    """Return a message in the chat format: each call with its result, and the text last.

    `number` makes ids for calls that have none.
    """
    found: list[dict[str, Any]] = []
    for place, (call, output) in enumerate(calls_of(message.generation), start=1):
        identity = call.id or f"call_{number}_{place}"
        arguments = call.arguments if isinstance(call.arguments, str) else compact_json(call.arguments)
        function = {"name": call.name, "arguments": arguments}
        found.append(
            {
                "role": message.role,
                "content": None,
                "tool_calls": [{"id": identity, "type": "function", "function": function}],
            }
        )
        if output is not None:
            text = output.value if isinstance(output.value, str) else compact_json(output.value)
            found.append({"role": "tool", "tool_call_id": identity, "content": text})
    if message.text or not found:
        found.append({"role": message.role, "content": message.text})
    return found


def calls_of(generation: Sequence[Mapping[str, Any]]) -> list[tuple[ToldCall, Output | None]]:
    """Return the calls among generation events, each with its result."""
    found = []
    for request, result in paired(generation):
        if request is not None:
            name, identity = str(request["function"].get("name") or "unknown"), str(request.get("id") or "")
            arguments = {} if request.get("arguments") is None else request["arguments"]
            output = None if result is None else Output(result[0], identity)
            found.append((ToldCall(name, arguments, identity), output))
    return found


def chat(messages: Any) -> list[ToldMessage]:
    """Return the messages of user and agent of a list in the chat format.

    Raises:
        InputError: it is not a list of messages.
    """
    found = messages_of(chat_pieces(messages))
    for number, message in enumerate(found, start=1):
        message.keep_raw_unless(lambda each, n=number: chat_messages(each, n))  # type: ignore[misc]
    return found

"""ShareGPT's conversations: JSON Lines, a list or a document, each with `conversations` of `from`
and `value`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bioeval_tui.formats import (
    FileLook,
    Header,
    ImportedConversation,
    InputError,
    Message,
    chat_pieces,
    entries,
    messages_of,
    note,
    object_at,
    scores_beside,
    speaker,
)

_KEYS = ("conversations", "conversation")
_CALLS = ("function_call", "tool_call")


def fits(look: FileLook) -> bool:
    """Return whether a file contains ShareGPT's conversations."""
    said = _said(look.first)
    return bool(said) and isinstance(said[0], dict) and {"from", "value"} <= said[0].keys()


def _said(data: Any) -> list[Any]:
    told = object_at(data)
    found = next((told[key] for key in _KEYS if key in told), None)
    if isinstance(found, list):
        return found
    return []


def read(file: Path) -> Iterator[Header | ImportedConversation]:
    """Yield the conversations of a file.

    Raises:
        InputError: one cannot be read; the text has its place and its message.
    """
    note("so it was read: who speaks from `from`, what is said from `value`")
    for place, data in entries(file, what="conversation"):
        if not isinstance(data, dict) or not any(isinstance(data.get(key), list) for key in _KEYS):
            raise InputError(f"{place}: must have a list `conversations` of `from` and `value`")
        messages = [
            _message(each, f"{place}, message {number}")
            for number, each in enumerate(_said(data), start=1)
        ]
        if isinstance(data.get("system"), str) and data["system"]:
            messages.insert(0, {"role": "system", "content": data["system"]})
        scores, author = scores_beside(data)
        yield ImportedConversation(
            name=str(data.get("id") or ""),
            messages=messages_of(chat_pieces(messages)),
            scores=scores,
            scored_by=author,
            record={"raw": data},
        )
    yield Header()


def _message(entry: Any, place: str) -> Message:
    if not isinstance(entry, dict) or "value" not in entry:
        raise InputError(f"{place}: must have `from` and `value`")
    by, value = entry.get("from"), entry["value"]
    if by in _CALLS:
        return {"role": "assistant", "content": None, "tool_calls": _calls(value, place)}
    role = speaker(by)
    if role is None:
        raise InputError(
            f"{place}: `from` is {str(by)[:40]!r}; it must be human, gpt, system, function_call or"
            " observation, or user, assistant or tool"
        )
    return {"role": role, "content": value}


def _calls(value: Any, place: str) -> list[dict[str, Any]]:
    """Return the calls in the JSON of a message: one, or a list."""
    told = value
    if isinstance(value, str):
        try:
            told = json.loads(value)
        except (ValueError, RecursionError):
            told = None
    calls = told if isinstance(told, list) else [told]
    if not calls or not all(isinstance(call, dict) and "name" in call for call in calls):
        raise InputError(f"{place}: `value` of a call must be JSON with `name` and `arguments`")
    return [{"function": call} for call in calls]

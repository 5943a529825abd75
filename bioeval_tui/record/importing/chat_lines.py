"""One conversation per line: OpenAI's chat format, and transcripts with the user's facts (`bioeval-tui guards` reads both)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bioeval_tui.errors import InputError
from bioeval_tui.record.importing.chat import chat
from bioeval_tui.record.importing.conversations import (
    GivenScore,
    Header,
    ToldConversation,
    in_unit,
    object_at,
)
from bioeval_tui.record.importing.json_reading import lines, members
from bioeval_tui.record.importing.looking import FileLook
from bioeval_tui.record.names import CONDITIONS

_TOLD = ("vignette", "facts", "tasks", "condition")
_MODELLED = ("messages",)


def fits_transcripts(look: FileLook) -> bool:
    """Return whether a file contains transcripts with the user's facts."""
    return fits(look) and any(key in look.first for key in _TOLD)


def fits(look: FileLook) -> bool:
    """Return whether a file contains conversations in the chat format."""
    return isinstance(look.first.get("messages"), list) and "info" not in look.first


def read(file: Path) -> Iterator[Header | ToldConversation]:
    """Yield the conversations of a file: JSON Lines, a list, or a single object.

    Raises:
        InputError: a conversation cannot be read; the message has its line or number.
    """
    header = Header()
    for place, data in _objects(file):
        if not isinstance(data, dict):
            raise InputError(f"{place}: must be a JSON object with `messages`")
        try:
            yield _conversation(data, header)
        except InputError as problem:
            raise InputError(f"{place}: {problem}") from None
    yield header


def _objects(file: Path) -> Iterator[tuple[str, Any]]:
    look = FileLook.at(file)
    with file.open("rb") as opened:
        if look.shape == "lines":
            for number, value in lines(opened):
                yield f"line {number}", value
        elif look.shape == "list":
            for number, (_, value) in enumerate(members(opened), start=1):
                yield f"conversation {number}", value
        else:
            yield "conversation 1", dict(members(opened))


def _conversation(data: dict[str, Any], header: Header) -> ToldConversation:
    metadata = object_at(data, "metadata")
    condition = metadata.get("condition", data.get("condition"))
    named = data.get("id") or data.get("custom_id")
    ours = "run_id" in metadata and "trial" in metadata
    if ours:  # an export of this program
        header.name = header.name or str(metadata.get("job", ""))
        header.model = header.model or str(metadata.get("model", ""))
        named = metadata.get("case") or named
    reason = str(metadata.get("end_reason", "unknown")) if ours else "unknown"
    vignette = data.get("vignette")
    facts = _texts(data, "facts") or (sentences(vignette) if isinstance(vignette, str) else ())
    told = _number(metadata.get("score")) if ours else None
    return ToldConversation(
        name=str(named) if named is not None else "",
        messages=chat(data.get("messages")),
        condition=condition if condition in CONDITIONS else "supplied" if facts else None,
        tasks=tuple((task, "") for task in _texts(data, "tasks")),
        facts=facts,
        reason=reason if reason in _ENDS else "unknown",  # type: ignore[arg-type]
        scores=[GivenScore("score", in_unit(told), told)] if told is not None else [],
        record={key: value for key, value in data.items() if key not in _MODELLED} or None,
    )


_ENDS = ("signed_off", "max_turns", "agent_failed", "evaluator_failed", "timed_out", "cancelled")


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    texts = data.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"`{key}` must be a list of texts")
    return tuple(text for text in texts if text.strip())


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a vignette, which are the user's facts."""
    return tuple(part.strip() for part in re.split(r"(?<=[.!?])\s+(?=[A-Z0-9\"“])", text) if part.strip())

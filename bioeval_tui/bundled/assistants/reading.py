"""Exported conversations: ChatGPT's are trees, of which the branch that was seen last is read,
Claude's are lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bioeval_tui.formats import (
    FileLook,
    Header,
    ImportedConversation,
    ImportedPart,
    InputError,
    Output,
    entries,
    messages_of,
    moment,
    note,
    object_at,
    speaker,
    text_of,
)


def fits_chatgpt(look: FileLook) -> bool:
    """Return whether a file is ChatGPT's export."""
    return isinstance(look.first.get("mapping"), dict) and "current_node" in look.first


def read_chatgpt(file: Path) -> Iterator[Header | ImportedConversation]:
    """Yield the conversations of an export that have messages, each as it was seen last.

    Raises:
        InputError: a conversation cannot be read; the text has its number.
    """
    other, empty = 0, 0
    models: dict[str, None] = {}
    for place, data in entries(file, what="conversation"):
        if not isinstance(data, dict) or not isinstance(data.get("mapping"), dict):
            raise InputError(f"{place}: must have `mapping`, an object of messages by their ids")
        branch = _branch(data["mapping"], data.get("current_node"), place)
        pieces: list[ImportedPart] = []
        for node in branch:
            pieces += _chatgpt_parts(node, models)
        shown = {id(node) for node in branch}
        other += sum(
            bool(_text(node)) for node in data["mapping"].values() if id(node) not in shown
        )
        if pieces:
            yield _conversation(
                pieces, str(data.get("conversation_id") or data.get("id") or ""), data
            )
        else:
            empty += 1
    note(
        "so it was read: who speaks from `author.role`, what is said from `content.parts`; the"
        " branch of `current_node`"
    )
    if other:
        note(
            "messages of other branches, which an edit or a new answer replaced, left out:"
            f" {other:,}"
        )
    if empty:
        note(f"conversations in which nothing was said, left out: {empty:,}")
    yield Header(agent="ChatGPT", model=", ".join([*models][:3]))


def _branch(nodes: Mapping[str, Any], last: Any, place: str) -> list[dict[str, Any]]:
    """Return the nodes from the first message to the current one."""
    branch: list[dict[str, Any]] = []
    seen: set[str] = set()
    key = last
    while isinstance(key, str) and key not in seen:
        seen.add(key)
        node = nodes.get(key)
        if not isinstance(node, dict):
            raise InputError(
                f"{place}: `mapping` has no message {key[:60]!r}, which `current_node` or a"
                " `parent` names"
            )
        branch.append(node)
        key = node.get("parent")
    return branch[::-1]


def _text(node: Any) -> str:
    """Return what is said in a node; empty for what people are not shown, such as the context of
    their profile.
    """
    message = object_at(node, "message")
    if object_at(message, "metadata").get("is_visually_hidden_from_conversation"):
        return ""
    content = object_at(message, "content")
    parts = content.get("parts")
    return text_of(parts if isinstance(parts, list) else content.get("text"))


def _chatgpt_parts(node: Mapping[str, Any], models: dict[str, None]) -> Iterator[ImportedPart]:
    message = object_at(node, "message")
    role, text = speaker(object_at(message, "author").get("role")), _text(node)
    if role is None or role == "system" or not text:
        return
    if model := object_at(message, "metadata").get("model_slug"):
        models[str(model)] = None
    if role == "tool":
        yield ImportedPart("tool", "", message, outputs=[Output(text)])
    else:
        yield ImportedPart(role, text, message, at=_seconds(message.get("create_time")))


def _seconds(value: Any) -> datetime | None:
    try:
        if value:
            return datetime.fromtimestamp(float(value), UTC)
        return None
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def fits_claude(look: FileLook) -> bool:
    """Return whether a file is Claude's export."""
    return isinstance(look.first.get("chat_messages"), list)


def read_claude(file: Path) -> Iterator[Header | ImportedConversation]:
    """Yield the conversations of an export that have messages.

    Raises:
        InputError: a conversation cannot be read; the text has its number and its message.
    """
    empty = 0
    for place, data in entries(file, what="conversation"):
        messages = object_at(data).get("chat_messages")
        if not isinstance(messages, list):
            raise InputError(f"{place}: must have a list `chat_messages`")
        pieces = [
            piece
            for number, message in enumerate(messages, start=1)
            if (piece := _claude_part(message, f"{place}, message {number}")).text
        ]
        if pieces:
            yield _conversation(pieces, str(data.get("uuid") or ""), data)
        else:
            empty += 1
    note(
        "so it was read: who speaks from `sender`, what is said from `text`, times from"
        " `created_at`"
    )
    if empty:
        note(f"conversations in which nothing was said, left out: {empty:,}")
    yield Header(agent="Claude")


def _claude_part(message: Any, place: str) -> ImportedPart:
    role = speaker(object_at(message).get("sender"))
    if role not in ("user", "assistant"):
        raise InputError(f"{place}: `sender` must be human or assistant")
    text = text_of(message.get("text")) or text_of(message.get("content"))
    return ImportedPart(role, text, message, at=moment(message.get("created_at")))


def _conversation(pieces: Sequence[ImportedPart], session: str, data: Any) -> ImportedConversation:
    times = [piece.at for piece in pieces if piece.at is not None]
    return ImportedConversation(
        name="",
        messages=messages_of(pieces),
        session=session,
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
        record={"raw": data},
    )

"""Validation of an agent's answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bioeval_tui.evaluation.http.failures import received_text
from bioeval_tui.evaluation.seams import PeerError
from bioeval_tui.record.names import Peer
from bioeval_tui.text import ExcessiveJsonError, clean, clean_value, is_html, parse_json


def parse_object(peer: Peer, host: str, data: bytes | str, content_type: str = "") -> dict[str, Any]:
    """Return the response's JSON object. Raises `PeerError`, not retryable, if it is not one."""
    try:
        value = parse_json(data)
    except ExcessiveJsonError as error:
        raise PeerError(peer, f"{host} answered JSON {error}", received=received_text(data)) from None
    except ValueError:
        start = data[:200] if isinstance(data, str) else data[:200].decode("latin-1")
        what = (
            "HTML"
            if "html" in content_type or is_html(start)
            else ("nothing" if not data else "something that is not JSON")
        )
        raise PeerError(
            peer,
            f"{host} answered {what} where JSON was expected",
            received=received_text(data),
            unusable=True,
        ) from None
    if not isinstance(value, dict):
        raise PeerError(
            peer, f"{host} answered JSON that is not an object", received=received_text(data), unusable=True
        )
    return value


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a JSON list; empty for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class Message:
    """The content of the answer to a message."""

    content: str
    events: tuple[Mapping[str, Any], ...]


def parse_message(host: str, value: Mapping[str, Any], session: str) -> Message:
    """Check the response to a message and return its content, cleaned. Raises `PeerError`."""

    def wrong(what: str) -> PeerError:
        shown = json.dumps(value, ensure_ascii=False, default=str)
        return PeerError("agent", f"{host} answered a message wrongly: {what}", received=received_text(shown))

    if "sessionId" not in value:
        raise wrong("sessionId is missing")
    if value["sessionId"] != session:
        raise wrong("sessionId belongs to another session")
    message = value.get("message")
    if not isinstance(message, dict):
        raise wrong("message is missing" if message is None else "message is not an object")
    content = message.get("content")
    if not isinstance(content, str):
        raise wrong("message.content is missing" if content is None else "message.content is not text")
    events = value.get("events") or []
    if not isinstance(events, list):
        raise wrong("events is not a list")
    kept = tuple(
        clean_value(event) if isinstance(event, dict) else {"event": clean_value(event)} for event in events
    )
    return Message(clean(content), kept)

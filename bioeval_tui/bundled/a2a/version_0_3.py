"""A2A 0.3, told in the words of 1.0: what `agent` sends and reads is translated here.

Both have the same tasks, messages and artifacts. 0.3 names the kind of each object in `kind`,
writes roles and states in lower case, and has other names for methods, files and the parts of the
agent card.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bioeval_tui.http_agents import objects

VERSION = "0.3"
METHODS = {
    "SendMessage": "message/send",
    "SendStreamingMessage": "message/stream",
    "GetTask": "tasks/get",
    "CancelTask": "tasks/cancel",
}
"""The names of 1.0's methods in 0.3."""
_ROLES = {"agent": "ROLE_AGENT", "user": "ROLE_USER"}
_UPDATES = {"status-update": "statusUpdate", "artifact-update": "artifactUpdate"}


def interfaces(card: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the interfaces of an agent card as 1.0 lists them: the card's own `url`, then its
    other ones.
    """
    listed = [{"url": card.get("url"), "transport": card.get("preferredTransport") or "JSONRPC"}]
    version = card.get("protocolVersion") or VERSION
    return [
        {"url": one.get("url"), "protocolBinding": one.get("transport"), "protocolVersion": version}
        for one in [*listed, *objects(card.get("additionalInterfaces"))]
    ]


def params(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a method of 1.0 is given as 0.3 has it."""
    message = asked.get("message")
    if not isinstance(message, dict):
        return dict(asked)
    parts = [{"kind": "text", **part} for part in message["parts"]]
    old = {**message, "kind": "message", "role": "user", "parts": parts}
    return {"message": old, "configuration": {"blocking": True, **asked["configuration"]}}


def frame(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result of a method, or an event of its stream, as 1.0 has it; one of no known kind
    unchanged.
    """
    kind = result.get("kind")
    if kind == "task":
        return {"task": _task(result)}
    if kind == "message":
        return {"message": _message(result)}
    if isinstance(kind, str) and kind in _UPDATES:
        return {_UPDATES[kind]: {**result, **_status(result), **_artifact(result)}}
    return dict(result)


def _task(task: Mapping[str, Any]) -> dict[str, Any]:
    artifacts = [_convert_parts(one) for one in objects(task.get("artifacts"))]
    history = [_message(one) for one in objects(task.get("history"))]
    return {**task, **_status(task), "artifacts": artifacts, "history": history}


def _status(holder: Mapping[str, Any]) -> dict[str, Any]:
    status = holder.get("status")
    if not isinstance(status, dict):
        return {}
    state = str(status.get("state") or "").upper().replace("-", "_")
    message = status.get("message")
    kept = {"message": _message(message)} if isinstance(message, dict) else {}
    return {"status": {**status, "state": state, **kept}}


def _artifact(holder: Mapping[str, Any]) -> dict[str, Any]:
    artifact = holder.get("artifact")
    if isinstance(artifact, dict):
        return {"artifact": _convert_parts(artifact)}
    return {}


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    return {**_convert_parts(message), "role": _ROLES.get(str(message.get("role")), "")}


def _convert_parts(holder: Mapping[str, Any]) -> dict[str, Any]:
    parts = holder.get("parts")
    if not isinstance(parts, list):
        parts = []
    return {**holder, "parts": [_part(part) if isinstance(part, dict) else part for part in parts]}


def _part(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part without its `kind`, and a file as 1.0 has it."""
    kept = {key: value for key, value in part.items() if key not in ("kind", "file")}
    if isinstance(part.get("file"), dict):
        file = part["file"]
        new = {"raw": "bytes", "url": "uri", "mediaType": "mimeType", "filename": "name"}
        kept |= {key: file[old] for key, old in new.items() if old in file}
    return kept

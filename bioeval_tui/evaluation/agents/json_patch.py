"""JSON Patch (RFC 6902): updates of an agent's state."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any


def patched(document: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """Return a changed copy of `document`.

    Raises:
        ValueError: an operation is not one, or does not fit the document; none has been applied then.
    """
    holder = {"": copy.deepcopy(document)}
    for operation in operations:
        try:
            _apply(holder, operation)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"the patch does not match the state: {operation!r}") from error
    return holder[""]


def _apply(holder: dict[str, Any], operation: Mapping[str, Any]) -> None:
    path = ["", *_tokens(operation["path"])]
    match operation["op"]:
        case "add":
            _add(holder, path, operation["value"])
        case "replace":
            parent = _at(holder, path[:-1])
            parent[_key(parent, path[-1], exists=True)] = operation["value"]
        case "remove":
            parent = _at(holder, path[:-1])
            del parent[_key(parent, path[-1], exists=True)]
        case "copy":
            _add(holder, path, copy.deepcopy(_at(holder, ["", *_tokens(operation["from"])])))
        case "move":
            start = ["", *_tokens(operation["from"])]
            if path[: len(start)] == start and path != start:
                raise ValueError("a value cannot be moved into itself")
            moved = _at(holder, start)
            parent = _at(holder, start[:-1])
            del parent[_key(parent, start[-1], exists=True)]
            _add(holder, path, moved)
        case "test":
            if _at(holder, path) != operation["value"]:
                raise ValueError("the value differs")
        case _:
            raise ValueError(f"unknown operation: {operation['op']!r:.60}")


def _add(holder: dict[str, Any], path: list[str], value: Any) -> None:
    parent = _at(holder, path[:-1])
    if isinstance(parent, list):
        at = len(parent) if path[-1] == "-" else _index(path[-1])
        if at > len(parent):
            raise IndexError
        parent.insert(at, value)
    else:
        parent[_key(parent, path[-1], exists=False)] = value


def _at(holder: dict[str, Any], path: list[str]) -> Any:
    value: Any = holder
    for token in path:
        value = value[_key(value, token, exists=True)]
    return value


def _key(parent: Any, token: str, *, exists: bool) -> Any:
    if isinstance(parent, list):
        return _index(token)
    if not isinstance(parent, dict):
        raise TypeError
    if exists and token not in parent:
        raise KeyError(token)
    return token


def _index(token: str) -> int:
    if not (token.isascii() and token.isdigit()) or (len(token) > 1 and token[0] == "0"):
        raise ValueError(token)
    return int(token)


def _tokens(pointer: Any) -> list[str]:
    """Return the parts of a JSON Pointer (RFC 6901)."""
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise ValueError(pointer)
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]

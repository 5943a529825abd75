"""The state of an agent, and JSON Patch (RFC 6902), which updates it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from bioeval_tui.http_agents import MAX_VALUES, count_of, excess_of, size_of
from bioeval_tui.protocols import PeerError

MAX_STATE = 5_000_000
"""Maximum size of a state after an answer, in values and characters; a snapshot cannot be larger
than an answer.
"""
MAX_MOVED = 1_000_000
"""Maximum number of values and characters that the patches of one answer copy and move within the
state.
"""
_SHIFTED = 256
"""So many places by which a list's items are shifted cost as much as one value that is copied."""


class AgentState:
    """The state during one answer: snapshots replace `value`, patches change it in place.

    A patch therefore costs what it names, not the size of the state. Few bytes can ask for much by
    copying and moving what is there, so that is limited, as is the depth; `check` limits the size.
    """

    def __init__(self, value: Any) -> None:
        """Start with a copy of `value`, which stays as it is."""
        self.value = _copied(value)
        self._left = MAX_MOVED
        self._counted = 0

    def count(self, given: Any) -> None:
        """Count the values of a snapshot or patch, which are kept in the answer's events.

        Raises:
            PeerError: those of one answer are too many together; an empty list takes 2 bytes of an
                answer, and 56 here.
        """
        self._counted += count_of(given)
        if self._counted > MAX_VALUES:
            raise PeerError(
                "agent",
                f"the agent's states and patches of one answer have more than {MAX_VALUES:,}"
                " values",
            )

    def patch(self, operations: Sequence[Mapping[str, Any]]) -> None:
        """Apply a patch.

        Raises:
            ValueError: an operation is not one, or does not fit the state; none is applied then.
            PeerError: it exceeds the limits; the state is of no use then.
        """
        holder = {"": self.value}
        undo: list[Callable[[], object]] = []
        for operation in operations:
            try:
                self._apply(holder, operation, undo)
            except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
                for step in reversed(undo):
                    step()
                raise ValueError(f"the patch does not match the state: {operation!r}") from error
        self.value = holder.get("")

    def check(self) -> None:
        """Raise `PeerError` if the state is too large to be sent back with the next message."""
        if size_of(self.value, MAX_STATE) > MAX_STATE:
            raise PeerError(
                "agent", f"the agent's state has more than {MAX_STATE:,} values and characters"
            )
        if excess := excess_of(self.value):
            raise PeerError("agent", f"the agent's state is JSON {excess}")

    def _apply(
        self, holder: dict[str, Any], operation: Mapping[str, Any], undo: list[Callable[[], object]]
    ) -> None:
        path = ["", *_tokens(operation["path"])]
        match operation["op"]:
            case "add":
                # Copied, because later operations change it, and the event is recorded as it came.
                self._add(holder, path, _copied(operation["value"]), undo)
            case "replace":
                parent = _at(holder, path[:-1])
                key = _key(parent, path[-1], exists=True)
                undo.append(partial(parent.__setitem__, key, parent[key]))
                parent[key] = self._fitting(_copied(operation["value"]), path)
            case "remove":
                self._take(holder, path, undo)
            case "copy":
                value = _at(holder, ["", *_tokens(operation["from"])])
                self._spend(size_of(value, self._left))
                self._add(holder, path, _copied(value), undo)
            case "move":
                start = ["", *_tokens(operation["from"])]
                if path[: len(start)] == start and path != start:
                    raise ValueError("a value cannot be moved into itself")
                moved = self._take(holder, start, undo)
                self._spend(size_of(moved, self._left))
                self._add(holder, path, moved, undo)
            case "test":
                if not _same(_at(holder, path), operation["value"]):
                    raise ValueError("the value differs")
            case _:
                raise ValueError(f"unknown operation: {operation['op']!r:.60}")

    def _add(
        self, holder: dict[str, Any], path: list[str], value: Any, undo: list[Callable[[], object]]
    ) -> None:
        parent = _at(holder, path[:-1])
        value = self._fitting(value, path)
        if isinstance(parent, list):
            at = len(parent) if path[-1] == "-" else _index(path[-1])
            if at > len(parent):
                raise IndexError
            self._spend((len(parent) - at) // _SHIFTED)
            parent.insert(at, value)
            undo.append(partial(parent.pop, at))
            return
        key = _key(parent, path[-1], exists=False)
        undo.append(
            partial(parent.__setitem__, key, parent[key])
            if key in parent
            else partial(parent.pop, key)
        )
        parent[key] = value

    def _take(
        self, holder: dict[str, Any], path: list[str], undo: list[Callable[[], object]]
    ) -> Any:
        """Remove a value and return it."""
        parent = _at(holder, path[:-1])
        key = _key(parent, path[-1], exists=True)
        if isinstance(parent, list):
            value = parent.pop(key)
            self._spend((len(parent) - key) // _SHIFTED)
            undo.append(partial(parent.insert, key, value))
        else:
            value = parent.pop(key)
            undo.append(partial(parent.__setitem__, key, value))
        return value

    def _spend(self, cost: int) -> None:
        self._left -= cost
        if self._left < 0:
            raise PeerError(
                "agent",
                f"the agent's state patches copy and move more than {MAX_MOVED:,} values and"
                " characters in one answer",
            )

    def _fitting(self, value: Any, path: Sequence[str]) -> Any:
        """Return a value that may be put at `path`."""
        # The first token of a path names the whole state, which is no level in it.
        if isinstance(value, dict | list) and (excess := excess_of(value, path[1:])):
            raise PeerError("agent", f"the agent's state patches make a state {excess}")
        return value


def _copied(value: Any) -> Any:
    """Return a copy of JSON that is not nested deeper than `MAX_DEPTH` of `peer_limits`."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value


def _same(one: Any, other: Any) -> bool:
    """Return whether JSON values are equal; in Python, 1 equals True."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _at(holder: dict[str, Any], path: list[str]) -> Any:
    value: Any = holder
    for token in path:
        value = value[_key(value, token, exists=True)]
    return value


def _key(parent: Any, token: str, *, exists: bool) -> Any:
    if isinstance(parent, list):
        if (index := _index(token)) >= len(parent):
            raise IndexError(token)
        return index
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

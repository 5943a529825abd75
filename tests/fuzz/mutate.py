"""Hypothesis strategies that damage real files: bytes removed, doubled or replaced; values of
another type.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

HOSTILE_TEXTS = (
    "", " ", "\x00", "\x1b]52;c;aGk=\x07", "\x1b[2J", "\u202eabc", "\ud800",
    "a" + "\u0301" * 10_000, "[/INST]",
    "[@click=app.quit]x[/]", "{{ 7*7 }}", "{% for x in range(10**9) %}x{% endfor %}",
    "../../../../etc/passwd", "/dev/zero",
    "null", "NaN", "-0", "1e999", "0x10", "١٢٣", "9" * 400, "x" * 200_000, "\n" * 5_000,
    "é" * 3_000, "🧬" * 500,
    "%s%n%s", "$(id)", "'; DROP TABLE runs; --", "(?:a+)+$", "MATCH (n) DETACH DELETE n",
    "=cmd|' /C calc'!A0",
    "0000-00-00", "9999-12-31T23:59:59+23:59", "0001-01-01T00:00:00-23:59", "http://user:pw@[::1",
    "file:///etc/passwd",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**400, 0.5, -0.0, 1e308,
    float("nan"), float("inf"),
    [], {}, [None], [[]], {"": None}, {"a": {"b": []}}, [1, "a", None], *HOSTILE_TEXTS,
)  # fmt: skip


def _nested(depth: int) -> Any:
    value: Any = []
    for number in range(depth):
        value = [value] if number % 2 else {"a": value}
    return value


MOST_NODES = 20_000


def nodes(tree: Any) -> list[tuple[Any, Any]]:
    """Return each place in a tree of lists and maps as (holder, key)."""
    found: list[tuple[Any, Any]] = []
    waiting = [tree]
    while waiting and len(found) <= MOST_NODES:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
    return found


TREE_CHANGES = ("replace", "delete", "rename", "double", "swap", "deepen", "nest")


def change_tree(tree: Any, changes: Sequence[tuple[str, int, int]]) -> Any:
    """Return a copy with each change made, or the tree itself where they make too much of it."""
    try:
        return _changed(tree, changes)
    except RecursionError:
        return tree


def _changed(tree: Any, changes: Sequence[tuple[str, int, int]]) -> Any:
    """Return a copy with each change made: (what, where, which value); numbers count round."""
    original, tree = tree, copy.deepcopy(tree)
    for what, where, which in changes:
        places = nodes(tree)
        if not places or len(places) > MOST_NODES:
            break
        holder, key = places[where % len(places)]
        value = copy.deepcopy(VALUES[which % len(VALUES)])
        other, other_key = places[which % len(places)]
        match what:
            case "replace":
                holder[key] = value
            case "delete":
                del holder[key]
            case "rename" if isinstance(holder, dict):
                holder[str(value)[:100]] = holder.pop(key)
            case "double" if isinstance(holder, list):
                holder.extend([holder[key]] * (which % 300))
            case "swap":
                holder[key] = copy.deepcopy(other[other_key])
            case "deepen":
                holder[key] = {"a": [holder[key]]}
            case "nest":
                holder[key] = _nested(which % 300)
            case _:
                holder[key] = value
    return original if len(nodes(tree)) > MOST_NODES else tree


BYTE_CHANGES = (
    "cut",
    "drop",
    "double",
    "flip",
    "insert",
    "repeat",
    "splice",
    "line",
    "utf-16",
    "latin-1",
    "bom",
    "crlf",
    "long",
)


def change_bytes(
    data: bytes,
    changes: Sequence[tuple[str, int, int, int]],
    tokens: Sequence[bytes],
    others: Sequence[bytes],
) -> bytes:
    """Return `data` with each change made: (what, where, how much, which); numbers count round."""
    for what, where, much, which in changes:
        at = where % (len(data) + 1)
        size = much % 40 if much % 4 else much % (len(data) + 1)
        token, other = tokens[which % len(tokens)], others[which % len(others)]
        match what:
            case "cut":
                data = data[:at]
            case "drop":
                data = data[:at] + data[at + size :]
            case "double":
                data = data[:at] + data[at : at + size] + data[at:]
            case "flip" if data:
                at = min(at, len(data) - 1)
                data = data[:at] + bytes([data[at] ^ (1 << which % 8)]) + data[at + 1 :]
            case "insert":
                data = data[:at] + token + data[at:]
            case "repeat":
                data = data[:at] + token * (much % 3_000) + data[at:]
            case "splice":
                data = data[:at] + other[much % (len(other) + 1) :]
            case "line":
                lines = data.split(b"\n")
                one = where % len(lines)
                lines[one : one + which % 3] = [lines[much % len(lines)]] * (which % 4)
                data = b"\n".join(lines)
            case "utf-16" | "latin-1":
                data = data.decode("utf-8", "replace").encode(what, "replace")
            case "bom":
                data = b"\xef\xbb\xbf" + data
            case "crlf":
                data = data.replace(b"\n", (b"\r\n", b"\r", b"\n\n", b"\x00", b"\x85")[which % 5])
            case "long":
                data = data[:at] + bytes([which % 256]) * (much % 300_000) + data[at:]
        data = data[:3_000_000]
    return data


_numbers = st.integers(0, 10**6)


def bytes_of(
    files: Sequence[bytes], tokens: Sequence[bytes] = (b"\x00",)
) -> st.SearchStrategy[bytes]:
    """Real files with one to four changes to their bytes."""
    change = st.tuples(st.sampled_from(BYTE_CHANGES), _numbers, _numbers, _numbers)
    return st.builds(
        lambda data, changes: change_bytes(data, changes, tokens, files),
        st.sampled_from(list(files)), st.lists(change, min_size=1, max_size=4),
    )  # fmt: skip


def trees_of(trees: Sequence[Any], write: Callable[[Any], bytes]) -> st.SearchStrategy[bytes]:
    """Real values with one to four changes to their tree, written as bytes."""
    change = st.tuples(st.sampled_from(TREE_CHANGES), _numbers, _numbers)
    return st.builds(
        lambda tree, changes: write(change_tree(tree, changes)),
        st.sampled_from(list(trees)), st.lists(change, min_size=1, max_size=4),
    )  # fmt: skip


def to_json(value: Any) -> bytes:
    """Return JSON, with NaN, lone surrogates and numbers of any length as Python writes them."""
    try:
        return json.dumps(value, ensure_ascii=True).encode()
    except (ValueError, RecursionError):  # too deep, or a number too long to write
        return b'{"a":' * 3_000


def tokens_of(*texts: str) -> list[bytes]:
    """Return texts and the hostile ones as bytes."""
    return [text.encode("utf-8", "surrogatepass") for text in (*texts, *HOSTILE_TEXTS)]

"""What changed in the agent's observed state since the previous turn."""

from __future__ import annotations

from typing import Any

from bioeval_tui.text import compact_json

LONGEST = 40


def changes(before: Any, after: Any, path: str = "") -> list[str]:
    """Return lines `+ path: value`, `− path: value`, `~ path: old → new` for two JSON-like values.

    Items of a list that have an `id` are matched by it, others by their place. At most `LONGEST` lines.
    """
    lines: list[str] = []
    _compare(before, after, path, lines)
    if len(lines) > LONGEST:
        lines[LONGEST:] = [f"… and {len(lines) - LONGEST} more changes"]
    return lines


def _compare(before: Any, after: Any, path: str, lines: list[str]) -> None:
    if before == after:
        return
    old, new = _as_mapping(before), _as_mapping(after)
    if old is None or new is None:
        lines.append(f"~ {path}: {_short(before)} → {_short(after)}")
        return
    for key in [*old, *(key for key in new if key not in old)]:
        inner = f"{path}.{key}" if path else str(key)
        if key not in new:
            lines.append(f"− {inner}: {_short(old[key])}")
        elif key not in old:
            lines.append(f"+ {inner}: {_short(new[key])}")
        else:
            _compare(old[key], new[key], inner, lines)


def _as_mapping(value: Any) -> dict[Any, Any] | None:
    if isinstance(value, dict):
        return value
    if isinstance(value, list | tuple):
        return {
            (item["id"] if isinstance(item, dict) and item.get("id") is not None else number): item
            for number, item in enumerate(value)
        }
    return None


def _short(value: Any) -> str:
    text = compact_json(value)
    return text if len(text) <= 160 else text[:159] + "…"

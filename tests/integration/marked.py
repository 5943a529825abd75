"""A recording that names a person everywhere, and the rules that mask the name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

from bioeval_tui.record.events import read_event
from bioeval_tui.record.masking.mask import KEPT
from bioeval_tui.record.masking.rules import fold

GOLDEN = Path(__file__).parents[1] / "golden" / "demo-run.jsonl"
NAME, IDENTIFIER, NUMBER = "Zedekiah Quartermain", "ZQ-004217", 9434765919
MARKS = (NAME, IDENTIFIER, "NX481516", f"Dr {NAME.upper()}", "Quartermain, Zedekiah")
FORBIDDEN = ("zedekiah", "quartermain", "004217", "nx481516", str(NUMBER))
RULES = r"""
names: [Zedekiah Quartermain]
identifiers: [ZQ-004217, '9434765919']
patterns: [{pattern: '\bNX\d{6}\b', as: PASSPORT}]
"""
PIECE = 5
"""Streamed text comes in pieces of so many characters, so that every name is cut."""


def leaks(text: str) -> list[str]:
    """Return what of the person can be read in a text, however it is written or wrapped."""
    letters = fold(text).letters
    return [mark for mark in FORBIDDEN if mark in letters]


def marked_lines() -> list[bytes]:
    """Return a whole recording in which every text that may say anything ends in a mark."""
    marks = cycle(MARKS)
    rows = [_marked(json.loads(line), marks) for line in GOLDEN.read_bytes().splitlines()]
    contents = {_place(row): row["content"] for row in rows if row["kind"] == "message_completed"}
    found: list[dict[str, Any]] = []
    streamed: set[Any] = set()
    for row in rows:
        if row["kind"] != "message_delta":
            found.append(row)
        elif _place(row) not in streamed:
            streamed.add(_place(row))
            text = contents[_place(row)]
            found += [{**row, "text": text[at : at + PIECE]} for at in range(0, len(text), PIECE)]
    return [
        json.dumps({**row, "seq": seq}).encode() + b"\n" for seq, row in enumerate(found, start=1)
    ]


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["condition"], row["trial"], row["message"]


def _marked(row: dict[str, Any], marks: Iterator[str]) -> dict[str, Any]:
    """Mark every text of an event for which the event is still one."""
    for key in row.keys() - KEPT - {"at", "scores", "seq", "message", "conditions"}:
        marked = {**row, key: _with_marks(row[key], marks)}
        if _is_event(marked):
            row = marked
    if isinstance(row.get("object_context"), dict):
        row["object_context"] = {
            **row["object_context"],
            NAME: NUMBER,
            "people": [{NAME: [NUMBER]}],
        }
    return row


def _with_marks(value: Any, marks: Iterator[str]) -> Any:
    if isinstance(value, str):
        return f"{value} {next(marks)}"
    if isinstance(value, list):
        return [_with_marks(item, marks) for item in value]
    if isinstance(value, dict):
        return {key: _with_marks(item, marks) for key, item in value.items()}
    return value


def _is_event(row: dict[str, Any]) -> bool:
    try:
        return read_event(json.dumps(row)).kind == row["kind"]
    except ValueError:
        return False

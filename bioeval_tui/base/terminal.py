"""The only module that writes to stdout and stderr.

It removes control sequences from untrusted text.

Tables and colours go through `consoles`, which cleans in the same way. `tests/test_house.py` checks
that nothing else prints.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from functools import partial
from itertools import chain
from re import Match
from typing import Any

from bioeval_tui.base.streams import (
    COMMAND_IN_JSON,
    break_commands,
    is_runner,
    log_stream,
    writes_unicode,
)
from bioeval_tui.base.text import UNSAFE, clean, terminal_text

Document = str | bytes | Iterator[str]
"""A document: whole, or its text in pieces, each of whole lines, or of JSON between two of its
texts.
"""
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_PLAIN = bytes(range(0x20, 0x7F)) + b"\t\n"


def say(text: str = "", *, err: bool = False) -> None:
    """Print lines of text, cleaned, on stdout or stderr."""
    _write(f"{cleaned(text)}\n", err=err)


def print_json(value: Any, *, indent: int | None = None) -> None:
    """Print a value as standard JSON (no NaN), indented, with control characters escaped.

    Raises:
        ValueError: a number is NaN or infinite.
    """
    print_json_text(json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False))


def print_json_text(text: str) -> None:
    """Print JSON text, with control characters escaped, and all but ASCII if stdout is not
    Unicode.
    """
    _write(f"{_json_text(text)}\n")


def print_json_piecewise(value: Any) -> None:
    """Print a value as standard JSON, indented by 2; what an iterator in it yields is printed as a
    list, item by item. Only mappings may hold iterators.

    Raises:
        ValueError: a number is NaN or infinite.
    """
    for piece in json_pieces(value):
        sys.stdout.write(_json_text(piece))
    _write("\n")


def json_pieces(value: Any, newline: str = "\n") -> Iterator[str]:
    """Yield the same text in pieces, for a document; `newline` is what begins a line."""
    inner = f"{newline}  "
    if isinstance(value, Iterator):
        before = "["
        for item in value:
            yield before + inner
            yield from json_pieces(item, inner)
            before = ","
        yield "[]" if before == "[" else f"{newline}]"
        return
    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    except TypeError:  # there is an iterator in it
        before = "{"
        for key, item in value.items():
            yield f"{before}{inner}{json.dumps(key, ensure_ascii=False)}: "
            yield from json_pieces(item, inner)
            before = ","
        yield f"{newline}}}"
    else:
        yield text.replace("\n", newline)


def print_document(document: Document) -> None:
    """Print a document as it would be in a file: in UTF-8, whatever the encoding of stdout is,
    unless it is a terminal.

    JSON, which can say the same in ASCII, does so.
    """
    for piece in printed_pieces(document):
        if isinstance(piece, str) and (writes_unicode() or sys.stdout.isatty()):
            _write(piece)
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(piece.encode() if isinstance(piece, str) else piece)
            sys.stdout.buffer.flush()


def printed_pieces(document: Document) -> Iterator[str | bytes]:
    """Yield the pieces of a document in the form in which they may be printed."""
    if isinstance(document, bytes):
        yield document
        return
    pieces = iter([document]) if isinstance(document, str) else document
    first = next(pieces, "")
    form = _json_text if first.startswith(("{", "[")) else _printed_text
    yield from map(form, chain([first], pieces))


def _printed_text(text: str) -> str:
    """Return text as it may be printed: without control characters, and without commands to a CI
    runner. JSON has escapes for both.
    """
    clean_lines = cleaned if sys.stdout.isatty() else partial(clean, limit=len(text))
    text = "\r\n".join(map(clean_lines, text.split("\r\n")))
    if is_runner():
        return break_commands(text)
    return text


def cleaned(text: str) -> str:
    """Return a text of any length as it may be printed."""
    if _is_plain(text):
        return text
    return terminal_text(text, len(text))


def _write(text: str, *, err: bool = False) -> None:
    stream = log_stream(sys.stderr if err else sys.stdout)
    stream.write(text)
    stream.flush()


def _json_text(text: str) -> str:
    if "##" in text and is_runner():
        text = COMMAND_IN_JSON.sub(_escaped, text)
    if _is_plain(text):
        return text
    text = UNSAFE.sub(_escaped, text)
    if writes_unicode():
        return text
    return _NOT_ASCII.sub(_escaped, text)


def _is_plain(text: str) -> bool:
    return text.isascii() and not text.encode("ascii").translate(None, _PLAIN)


def _escaped(match: Match[str]) -> str:
    if match.group() == "\n":
        return "\n"
    code = ord(match.group())
    if code > 0xFFFF:
        high, low = divmod(code - 0x10000, 0x400)
        return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
    return f"\\u{code:04x}"

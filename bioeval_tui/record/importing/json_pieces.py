"""JSON of other tools, read piece by piece, so that a document of gigabytes fits into memory.

`members` reads one document, `lines` JSON Lines, and `json_value` what is small. The readers of
formats call them, those of plug-ins, too, and `file_look.py` for the first piece of a file.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Collection, Iterator
from typing import Any, BinaryIO

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.peer_limits import MAX_BLANK_LINES
from bioeval_tui.base.text import is_too_deep, json_problem

CHUNK = 1 << 20

LARGEST = 1 << 27
"""Maximum number of characters of one piece."""


def members(
    file: BinaryIO,
    streamed: Collection[str] = (),
    *,
    parted: Collection[str] = (),
    largest: int = LARGEST,
) -> Iterator[tuple[str, Any]]:
    """Yield a document: an object's (key, value), where a list under a `streamed` key comes item by
    item.

    An object under a `parted` key comes as pairs of a name and a value. A list at the top comes
    item by item, too, under the key "". `largest` is the maximum number of characters of one piece.

    Raises:
        InputError: the document is not JSON, is cut off, or a piece is too large.
    """
    reader = _Reader(file, largest)
    if reader.peek() == "[":
        for item in reader.items():
            yield "", item
    elif reader.peek() == "{":
        for key in reader.names():
            if key in streamed and reader.peek() == "[":
                for item in reader.items():
                    yield key, item
            elif key in parted and reader.peek() == "{":
                for name in reader.names():
                    yield key, (name, reader.value())
            else:
                yield key, reader.value()
    else:
        reader.fail("a JSON object or list is needed")
    if reader.peek():
        reader.fail("more follows after the end of the document")


def lines(file: BinaryIO) -> Iterator[tuple[int, Any]]:
    """Yield the values of JSON Lines with the numbers of their lines; blank lines are left out.

    Raises:
        InputError: a line is not JSON or too long, or too many are blank.
    """
    number = blank = 0
    while line := file.readline(LARGEST + 1):
        number += 1
        if len(line) > LARGEST:
            raise InputError(f"line {number} is longer than {LARGEST:,} bytes")
        if not line.strip():
            blank += 1
            if blank > MAX_BLANK_LINES:
                raise InputError(f"line {number}: more than {MAX_BLANK_LINES:,} lines are blank")
            continue
        try:
            yield number, json_value(line)
        except InputError as problem:
            raise InputError(f"line {number} is {problem}") from None


def json_value(data: bytes) -> Any:
    """Return the value of a line of JSON Lines, or of a small document.

    Raises:
        InputError: it is not JSON, or nested too deep; the message says where.
    """
    try:
        return _shallow(json.loads(data.decode("utf-8-sig")))
    except (RecursionError, ValueError) as error:
        raise InputError(json_problem(error)) from None


def _shallow(value: Any) -> Any:
    """Return a value that was read.

    Raises `RecursionError`, as the reader does for what is nested much deeper.
    """
    if is_too_deep(value):
        raise RecursionError
    return value


_DECODER = json.JSONDecoder()

_BLANKS = re.compile(r"[ \t\n\r]*")


class _Reader:
    """The part of a document that has been read. Only the current piece is in memory."""

    def __init__(self, file: BinaryIO, largest: int) -> None:
        self._file = file
        self._largest = largest
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._at = 0
        self._before = 0
        self._blanks = 0
        self._ended = False

    def fail(self, why: str) -> None:
        raise InputError(f"not JSON at character {self._before + self._at + 1:,}: {why}")

    def peek(self) -> str:
        """Return the next character that is not white space; empty at the end."""
        while True:
            self._skip_blanks()
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._more(CHUNK)

    def _skip_blanks(self) -> None:
        blanks = _BLANKS.match(self._text, self._at)
        assert blanks is not None  # none match, too
        self._at = blanks.end()
        self._blanks += blanks.end() - blanks.start()
        # A zip of a few kilobytes may hold gigabytes of them.
        if self._blanks > self._largest:
            self.fail(f"more than {self._largest:,} blanks between values")

    def names(self) -> Iterator[str]:
        """Yield the keys of an object; the caller reads the value after each."""
        self._take("{")
        if self.peek() == "}":
            self._take("}")
            return
        while True:
            key = self.value()
            if not isinstance(key, str):
                self.fail("a key must be text")
            self._take(":")
            self.peek()
            yield key
            if self._next("}"):
                return

    def items(self) -> Iterator[Any]:
        """Yield the items of a list."""
        self._take("[")
        if self.peek() == "]":
            self._take("]")
            return
        while True:
            yield self.value()
            if self._next("]"):
                return

    def value(self) -> Any:
        """Read and return the next complete value."""
        self.peek()
        size = CHUNK
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
                _shallow(value)
                # A number at the end of the piece may continue.
                if end < len(self._text) or self._ended or isinstance(value, dict | list | str):
                    self._at = end
                    return value
            except json.JSONDecodeError as problem:
                if self._ended:
                    self._at = problem.pos
                    self.fail(problem.msg)
            except (RecursionError, ValueError) as error:
                self.fail(json_problem(error))
            if len(self._text) - self._at > self._largest:
                self.fail(f"no piece may have more than {self._largest:,} characters")
            self._more(min(size, self._largest))
            size *= 2  # so that reading a large piece repeatedly stays linear

    def _next(self, end: str) -> bool:
        """Consume the comma before another member, or the end; return whether it was the end."""
        symbol = self.peek()
        if symbol not in (",", end):
            self.fail(f"`,` or `{end}` is needed")
        self._at += 1
        return symbol == end

    def _take(self, wanted: str) -> None:
        if self.peek() != wanted:
            self.fail(f"`{wanted}` is needed")
        self._at += 1

    def _more(self, size: int) -> None:
        data = self._file.read(size)
        try:
            added = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError:
            self.fail("not UTF-8")
        self._before += self._at
        self._text = self._text[self._at :] + added
        self._at = 0
        self._ended = not data

"""What a file of another tool looks like, told from its beginning, and the entries of one of any
look.

Each format says by a `FileLook` whether a file is of it (`formats.py`). `entries` is for readers of
formats that come as JSON Lines, as a list and as a table alike.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO, Literal

from bioeval_tui.base.archives import is_archive, open_archive
from bioeval_tui.base.errors import InputError
from bioeval_tui.base.peer_limits import MAX_LINE
from bioeval_tui.record.importing import csv_rows
from bioeval_tui.record.importing.json_pieces import CHUNK, lines, members

Shape = Literal["folder", "zip", "lines", "list", "object", "table", "other"]

STREAMED = (
    "samples", "simulations", "tasks", "steps", "traj", "messages", "resourceSpans", "observations",
    "runs", "traces",
)  # fmt: skip
"""Long lists in the formats, of which only the first item is read."""

HEAD = 1 << 16
"""How many bytes of its beginning a file without JSON is told by."""


@dataclass(slots=True)
class FileLook:
    """The start of a file.

    `first` is the first line, list item or row of a table (CSV with a header), or as much of an
    object as was read; `names` are a zip's members, or what a folder has. A first line or item that
    is a list is `listed`, and `head` has the first bytes of what is neither JSON nor a zip.
    """

    shape: Shape
    first: dict[str, Any] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    listed: list[Any] = field(default_factory=list)
    head: bytes = b""

    @classmethod
    def at(cls, file: Path, enough: Callable[[FileLook], bool] = lambda look: False) -> FileLook:
        """Read the start of a file, or the names in a folder.

        A large object is read only until `enough`.

        Raises:
            ArchiveError: it is a zip that is damaged.
            InputError: it is empty or no JSON.
            OSError: it cannot be read.
        """
        if file.is_dir():
            return cls("folder", names=frozenset(each.name for each in file.iterdir()))
        if is_archive(file):
            with open_archive(file) as archive:
                return cls("zip", names=frozenset(archive.names))
        with file.open("rb") as opened:
            begin = opened.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
            opened.seek(0)
            if begin.startswith(b"["):
                return cls._of_list(opened)
            if begin.startswith(b"{"):
                return cls._of_object(opened, enough)
            return cls._of_table(opened.read(HEAD))

    @classmethod
    def _of_list(cls, opened: BinaryIO) -> FileLook:
        """Return the look of JSON Lines of lists, or of a single list."""
        line = _first_line(opened, CHUNK)
        opened.seek(0)
        if isinstance(line, list):
            return cls("lines", listed=line)
        _, first = next(iter(members(opened)), ("", None))
        if isinstance(first, list):
            return cls("list", listed=first)
        if isinstance(first, dict):
            return cls("list", first)
        return cls("list")

    @classmethod
    def _of_object(cls, opened: BinaryIO, enough: Callable[[FileLook], bool]) -> FileLook:
        """Return the look of JSON Lines of objects, or of a single object as far as `enough`."""
        line = _first_line(opened, MAX_LINE)
        opened.seek(0)
        if isinstance(line, dict):
            return cls("lines", line)
        look = cls("object")
        for key, value in members(opened, STREAMED):
            if key in STREAMED and not isinstance(look.first.get(key), list):
                look.first[key] = [value]
            elif key not in STREAMED:
                look.first[key] = value
            if enough(look):
                break
        return look

    @classmethod
    def _of_table(cls, head: bytes) -> FileLook:
        """Return the look of a table by its first two rows, or of what is no text."""
        look = cls("other", head=head)
        if any(byte < 9 for byte in head):  # no text has such bytes
            return look
        columns: list[str] = []
        first_row: list[str] = []
        # The second row may be longer than the head: then the columns alone are known.
        with contextlib.suppress(InputError, UnicodeDecodeError):
            table = csv_rows.cells(io.StringIO(_decoded(head), newline=""))
            _, columns = next(table, (1, []))
            _, first_row = next(table, (1, []))
        if len(columns) > 1 and all(columns) and len({*columns}) == len(columns):
            look.shape = "table"
            look.first = dict(zip_longest(columns, first_row[: len(columns)], fillvalue=""))
        return look


def _first_line(opened: BinaryIO, longest: int) -> Any:
    """Return the JSON value on the first of several lines; None if the line has only a part of it,
    is longer than `longest`, or is followed by nothing but blanks in the next `CHUNK` bytes.
    """
    line = opened.readline(longest)
    if not line.endswith(b"\n") or not opened.read(CHUNK).strip():
        return None
    try:
        return json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


def _decoded(head: bytes) -> str:
    """Return the text of a file's beginning, which may end within a character.

    Raises `UnicodeDecodeError`.
    """
    return codecs.getincrementaldecoder("utf-8-sig")().decode(head)


def entries(file: Path, *keys: str, what: str = "item") -> Iterator[tuple[str, Any]]:
    """Yield what a file lists, each with its place in words, such as "line 3": JSON Lines, a list,
    a table (CSV with a header), or a single document.

    A document that has a list under one of the `keys` lists its items. The cells of a table are
    texts.

    Raises:
        InputError: the file is neither JSON nor a table.
    """
    look = FileLook.at(file, lambda seen: True)
    if look.shape == "table":
        yield from csv_rows.rows(file)
        return
    with file.open("rb") as opened:
        if look.shape == "lines":
            for number, value in lines(opened):
                yield f"line {number}", value
        elif look.shape == "list":
            for number, (_, value) in enumerate(members(opened), start=1):
                yield f"{what} {number}", value
        else:
            yield from _document_entries(opened, keys, what)


def _document_entries(
    opened: BinaryIO, keys: Collection[str], what: str
) -> Iterator[tuple[str, Any]]:
    number = 0
    whole: dict[str, Any] = {}
    for key, value in members(opened, keys):
        if key in keys:
            number += 1
            yield f"`{key}` {number}", value
        else:
            whole[key] = value
    if not number:
        yield f"{what} 1", whole

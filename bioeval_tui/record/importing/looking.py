"""Reads files of other tools: JSON in pieces, and the format of a file from its beginning."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from bioeval_tui import plugins
from bioeval_tui.base.archives import is_archive, open_archive
from bioeval_tui.base.errors import InputError
from bioeval_tui.base.peer_limits import MAX_BLANK_LINES, MAX_LINE
from bioeval_tui.base.text import is_too_deep, join_names, json_problem, plural

if TYPE_CHECKING:
    from bioeval_tui.record.importing.conversations import Header, ImportedConversation


CHUNK = 1 << 20
LARGEST = 1 << 27
"""Maximum number of characters of one piece."""

_DECODER = json.JSONDecoder()
_BLANKS = re.compile(r"[ \t\n\r]*")


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
            if not begin.startswith((b"[", b"{")):
                return cls._read_table(opened.read(HEAD))
            line = _first_line(opened, MAX_LINE if begin.startswith(b"{") else CHUNK)
            opened.seek(0)
            if begin.startswith(b"["):
                if isinstance(line, list):
                    return cls("lines", listed=line)
                _, first = next(iter(members(opened)), ("", None))
                if isinstance(first, list):
                    return cls("list", listed=first)
                if isinstance(first, dict):
                    return cls("list", first)
                return cls("list")
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
    def _read_table(cls, head: bytes) -> FileLook:
        look = cls("other", head=head)
        if any(byte < 9 for byte in head):  # no text has such bytes
            return look
        first: list[list[str]] = []
        # the second row may be longer than the head
        with contextlib.suppress(InputError, UnicodeDecodeError):
            first += (row for _, row in islice(_cells(io.StringIO(_decoded(head), newline="")), 2))
        columns, cells = [*first, [], []][:2]
        if len(columns) > 1 and all(columns) and len({*columns}) == len(columns):
            look.shape, look.first = (
                "table",
                dict(zip_longest(columns, cells[: len(columns)], fillvalue="")),
            )
        return look


def _decoded(head: bytes) -> str:
    """Return the text of a file's beginning, which may end within a character.

    Raises `UnicodeDecodeError`.
    """
    return codecs.getincrementaldecoder("utf-8-sig")().decode(head)


def _cells(text: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table with the lines at which they begin, the column names first.

    The separator is the one that parts these best.

    Raises:
        InputError: a quote is not closed, or a cell is too long; the message has the line.
    """
    lines_of_text = iter(text)
    header = next(lines_of_text, "")
    separator = max(",;\t|", key=header.count)
    csv.field_size_limit(LARGEST)
    reader = csv.reader(chain([header], lines_of_text), delimiter=separator, strict=True)
    begins = 1
    try:
        for row in reader:
            if begins == 1:
                row = [cell.strip() for cell in row]
            yield begins, row
            begins = reader.line_num + 1
    except csv.Error as problem:
        raise InputError(f"line {begins}: {problem}") from None


def _rows(file: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a table by column, each with its place; blank lines are left out."""
    read = 0
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            rows = _cells(text)
            _, columns = next(rows, (1, []))
            for begins, row in rows:
                read = begins
                if not any(cell.strip() for cell in row):
                    continue
                if len(row) != len(columns):
                    raise InputError(
                        f"line {begins} has {plural(len(row), 'cell')} for"
                        f" {plural(len(columns), 'column')} ({join_names(columns, most=8)}); quote"
                        " cells that have the separator in them"
                    )
                yield f"line {begins}", dict(zip(columns, row, strict=True))
    except UnicodeDecodeError:
        raise InputError(f"not UTF-8 after line {read}; save it as UTF-8") from None


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
        yield from _rows(file)
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


OWN = "bioeval-tui"
Function = str | Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ImportFormat:
    """One format: a line of the table below, or the entry point of a plug-in.

    `fits` and `reads` are functions; as `module:function` they are imported only when they are
    called. `shape` shows in a few words, with every key in quotes, what such a file has: who has a
    file that fits nothing is shown the nearest. One that `is_general`, which fits whatever has
    usual keys, is tried after those of other packages.
    """

    name: str
    about: str
    fits: Function
    reads: Function
    place: int = 100
    shape: str = ""
    is_general: bool = False

    def holds(self, look: FileLook) -> bool:
        """Return whether a file is of this format.

        Raises:
            UsageError: another package's plug-in failed.
        """
        return bool(plugins.call("importers", self.name, self.fits, look))

    def read(self, file: Path) -> Iterator[Header | ImportedConversation]:
        """Yield the content of a file.

        Raises:
            InputError: the file does not follow the format.
            UsageError: another package's plug-in failed.
        """
        with plugins.blamed("importers", self.name):
            yield from plugins.call("importers", self.name, self.reads, file)


_HERE = "bioeval_tui.record.importing.chat:"
FORMATS = (
    ImportFormat(
        "transcripts",
        "conversations with what the user was told, as `bioeval-tui guards` reads them",
        _HERE + "fits_transcripts",
        _HERE + "read",
        place=5,
        shape='{"messages": [{"role": "user", "content": "…"}],'
        ' "facts": ["…"], "tasks": ["…"]} a line',
    ),
    ImportFormat(
        "openai-jsonl",
        "conversations in OpenAI's chat format, or with Anthropic's blocks",
        _HERE + "fits",
        _HERE + "read",
        place=6,
        shape='{"messages": [{"role": "user", "content": "…"}]} a line',
    ),
)


def known() -> list[ImportFormat]:
    """Return this program's formats, the bundled ones too, in the order in which they are tried."""
    return plugins.sorted_descriptions(ImportFormat, "importers", FORMATS)


def names() -> list[str]:
    """Return the names for `--format`, this program's own first."""
    return [
        OWN,
        *(importer.name for importer in known()),
        *(importer.name for importer in plugins.other_plugins("importers")),
    ]


def nearest(look: FileLook) -> ImportFormat:
    """Return the format that has most of the names in a file's beginning; of several, one that may
    be a table as it is.
    """
    words, is_table = _words(look), look.shape == "table"

    def nearness(format_: ImportFormat) -> tuple[int, bool, bool]:
        names_in_it = set(re.findall(r'"([^"…]+)"', format_.shape))
        return (
            len(words & names_in_it),
            is_table == ("CSV" in format_.shape),
            format_.name == FORMATS[-1].name,
        )

    return max((each for each in known() if each.shape), key=nearness)


def _words(look: FileLook) -> set[str]:
    """Return the names of a file's beginning: of keys and of the keys below them, or of columns."""
    head = look.head.split(b"\n", 1)[0].decode("utf-8", "replace")
    words = {word.strip().strip('"').lower() for word in re.split("[,;\t]", head)}
    waiting: list[tuple[Any, int]] = [(look.first, 0), (look.listed, 0)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, dict):
            words |= value.keys()
            waiting += [(each, depth + 1) for each in value.values() if depth < 6]
        elif isinstance(value, list) and value:
            waiting.append((value[0], depth))
    return words

"""Markdown of messages: cut into chunks that render one at a time, restyled, with code coloured by
the theme.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import lru_cache
from threading import Event, Thread
from typing import ClassVar, Literal

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType
from pygments.util import ClassNotFound
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import (
    CodeBlock,
    Heading,
    HorizontalRule,
    Markdown,
    MarkdownElement,
    TableDataElement,
    TableElement,
)
from rich.rule import Rule
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from bioeval_tui.report.messages import parsed

MIN_CHARS = 300
"""Shorter paragraphs share a chunk with the next one."""

MAX_CHARS = 1_800
"""A block longer than this is cut at a line, whatever it is."""

MAX_LINES = 40
"""A block of more lines than this is cut."""

LIST_CHARS = 400
"""A list longer than this is cut before its next item, which does not change how it looks."""

_STOP = re.compile(
    r"^[ \t]*\n|^ {0,3}(?P<marker>`{3,}(?=[^`\n]*$)|~{3,})[ \t]*(?P<language>[^`\n]*)$",
    re.MULTILINE,
)
_BLANK_LINES = re.compile(r"[ \t\n]*\n")
_ITEM = re.compile(r"^(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)", re.MULTILINE)
_TABLE = re.compile(
    r"(?P<heading>[^\n]*\|[^\n]*\n {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)*\n)"
)

ChunkKind = Literal["markdown", "code"]


@dataclass(frozen=True, slots=True)
class Fence:
    """An open code fence: its marker (three or more of one character) and the language it names."""

    marker: str
    language: str

    @property
    def closing(self) -> re.Pattern[str]:
        """Pattern of the line that closes it."""
        return re.compile(
            rf"^ {{0,3}}{self.marker[0]}{{{len(self.marker)},}}[ \t]*(?:\n|\Z)", re.MULTILINE
        )


@dataclass(eq=False, slots=True)
class Chunk:
    """One piece of a text, distinguished from others by identity.

    `start` is its offset in the text and `fence` the code fence that was open there, so that
    cutting can go on from it. `text` is without fence lines. `heading` is a table's first two
    lines, repeated when a long table was cut. `gap` says that a blank line stands before it.
    """

    kind: ChunkKind
    text: str
    start: int
    gap: bool
    fence: Fence | None = None
    heading: str = ""
    language: str = ""

    @property
    def markdown(self) -> str:
        """The Markdown to render, including the repeated heading of a cut table."""
        return self.heading + self.text


def cut(text: str, after: list[Chunk] | None = None) -> list[Chunk]:
    """Return the chunks of `text`.

    `after` are the chunks of a text that `text` continues: all but the last are returned as the
    same objects, so that their rendered form can be used again.
    """
    if not after:
        return list(_cut(text, 0, False, None, ""))
    last = after[-1]
    fresh = list(_cut(text, last.start, last.gap, last.fence, last.heading))
    if fresh and fresh[0].text == last.text and fresh[0].kind == last.kind:
        fresh[0] = last
    return after[:-1] + fresh


def pieces(text: str) -> list[str]:
    """Return `text` cut at lines into pieces of at most `MAX_CHARS` and `MAX_LINES`."""
    parts, start = [], 0
    while start < len(text):
        end = _piece_end(text, start, len(text))
        parts.append(text[start:end].removesuffix("\n"))
        start = end
    return parts


def _cut(text: str, start: int, gap: bool, fence: Fence | None, heading: str) -> Iterator[Chunk]:
    while start < len(text):
        if fence is not None:
            start = yield from _code(text, start, start, gap, fence, inside=True)
            fence, gap = None, False
            continue
        stop = yield from _paragraphs(text, start, gap, heading)
        heading = ""
        if stop is None:
            return
        marker = _STOP.match(text, stop)
        assert marker is not None
        opened = Fence(marker["marker"], marker["language"].split(" ")[0].strip()[:40])
        start = yield from _code(
            text, stop, min(len(text), marker.end() + 1), True, opened, inside=False
        )
        gap = False


def _paragraphs(
    text: str, start: int, gap: bool, heading: str
) -> Generator[Chunk, None, int | None]:
    """Yield the chunks up to the next fence; return its position, or None at the end of the
    text.
    """
    at = start
    while True:
        stop = _STOP.search(text, at)
        end = stop.start() if stop else len(text)
        while (piece := _list_end(text, start, end)) < end:
            table = heading or _heading(text, start, piece)
            yield Chunk("markdown", text[start:piece].rstrip(), start, gap, None, heading)
            heading = table if "|" in text[piece : text.find("\n", piece)] else ""
            start, gap = piece, False
        if stop is None or stop["marker"]:
            if text[start:end].strip():
                yield Chunk("markdown", text[start:end].rstrip(), start, gap, None, heading)
            if stop:
                return end
            return None
        blank = _BLANK_LINES.match(text, end)
        at = blank.end() if blank else end
        if end == start:
            start, gap = at, True
        elif end - start >= MIN_CHARS and _starts_afresh(text, at):
            yield Chunk("markdown", text[start:end].rstrip(), start, gap, None, heading)
            start, gap, heading = at, True, ""


def _code(
    text: str, start: int, body: int, gap: bool, fence: Fence, *, inside: bool
) -> Generator[Chunk, None, int]:
    """Yield the pieces of a fenced block; return the position after it."""
    closing = fence.closing.search(text, body)
    end = closing.start() if closing else len(text)
    while True:
        piece = _piece_end(text, body, end)
        code = text[body:piece].removesuffix("\n")
        yield Chunk("code", code, start, gap, fence if inside else None, "", fence.language)
        if piece >= end:
            if closing:
                return closing.end()
            return len(text)
        start, body, gap, inside = piece, piece, False, True


def _list_end(text: str, start: int, end: int) -> int:
    """Return where to cut the Markdown from `start` to `end`: a long list before an item, other
    text like code.
    """
    if end - start > LIST_CHARS and _ITEM.match(text, start):
        item = _ITEM.search(text, start + LIST_CHARS, end)
        if item and item.start() <= start + MAX_CHARS:
            return item.start()
    return _piece_end(text, start, end)


def _piece_end(text: str, start: int, end: int) -> int:
    """Return where a block from `start` to `end` must be cut: `end` itself when it is short
    enough.
    """
    if end - start <= MAX_CHARS and text.count("\n", start, end) <= MAX_LINES:
        return end
    window = text[start : min(end, start + MAX_CHARS)]
    lines = window.split("\n", MAX_LINES)
    if len(lines) > MAX_LINES and lines[-1]:
        return start + len(window) - len(lines[-1])
    if end - start <= MAX_CHARS:
        return end
    line = window.rfind("\n")
    if line > 0:
        return start + line + 1
    space = window.rfind(" ", MAX_CHARS // 2)
    return start + (space + 1 if space >= 0 else MAX_CHARS)


def _starts_afresh(text: str, at: int) -> bool:
    """Return whether a new block starts at `at`: something is there already, and it is not
    indented.
    """
    return bool(text[at : at + 2].strip(" ")) and not text.startswith(("  ", "\t"), at)


def _heading(text: str, start: int, end: int) -> str:
    table = _TABLE.match(text, start, end)
    if table:
        return table["heading"]
    return ""


_STYLES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "code-comment"),
    (Keyword, "code-keyword"),
    (String, "code-string"),
    (Number, "code-number"),
    (Name.Function, "code-name"),
    (Name.Class, "code-name"),
    (Name.Tag, "code-keyword"),
    (Name.Attribute, "code-name"),
    (Name.Builtin, "code-keyword"),
    (Operator.Word, "code-keyword"),
)


def highlight_code(code: str, language: str) -> Text:
    """Return `code` as literal text with its tokens coloured; plain when the language is not
    known.
    """
    text = Text(style="code", overflow="fold")
    lexer = _lexer(language.lower()) if language else None
    if lexer is None:
        return text.append(code)
    for kind, value in lexer.get_tokens(code):
        text.append(value, _style(kind))
    text.rstrip()
    return text


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=256)
def _style(kind: _TokenType) -> str | None:
    return next((style for family, style in _STYLES if kind in family), None)


def warm_up() -> None:
    """Load the lexers that answers use most, which takes Pygments a tenth of a second, in the
    background.
    """
    if not _warm.is_set():
        _warm.set()
        Thread(
            target=lambda: [highlight_code("x", name) for name in _COMMON],
            name="lexers",
            daemon=True,
        ).start()


_COMMON = ("json", "python", "sql", "bash", "yaml")
_warm = Event()


_CODE = re.compile(r"`[^`]*`")
GAP = "   "
"""Between two columns of a table."""

Row = list[TableDataElement]


class _Heading(Heading):
    """A heading at the left edge, without a frame."""

    LEVEL_ALIGN: ClassVar = dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "left")


class _CodeBlock(CodeBlock):
    """Code within a list or quotation: literal, in one colour.

    Fences elsewhere are chunks of their own.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(str(self.text).rstrip("\n"), style="markdown.code_block", overflow="fold")


class _Rule(HorizontalRule):
    """A thin line."""

    new_line = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Rule(style="markdown.hr", characters="─")


class _Table(TableElement):
    """A table with a line under its heading and no other."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        head = self.header.row.cells if self.header and self.header.row else []
        body = [row.cells for row in self.body.rows] if self.body else []
        for cell in head:
            cell.content.stylize("markdown.table.header")
        texts = [
            [row[column].content.plain for row in [head, *body] if column < len(row)]
            for column in range(len(head))
        ]
        widths = [max(map(cell_len, column)) for column in texts]
        words = [max(map(cell_len, " ".join(column).split()), default=1) for column in texts]
        room = options.max_width - len(GAP) * (len(widths) - 1)
        if sum(widths) <= room:
            yield from _plain_table(console, head, body, widths)
        elif sum(words) <= room:
            yield _wrapped_table(head, body, _share_room(widths, words, room))
        else:
            yield from _lines_of_cells(head, body)


def _plain_table(
    console: Console, head: Row, body: list[Row], widths: list[int]
) -> Iterator[Segment]:
    """Yield a table that needs no wrapping: many times faster than Rich's Table, which streams
    need.
    """
    rule = console.get_style("markdown.table.border")
    for row in [head, None, *body]:
        if row is None:
            yield Segment("─" * (sum(widths) + len(GAP) * (len(widths) - 1)), rule)
        for column, cell in enumerate(row or ()):
            spare = widths[column] - cell_len(cell.content.plain)
            before = {"right": spare, "center": spare // 2}.get(cell.justify, 0)
            yield Segment((GAP if column else "") + " " * before)
            yield from cell.content.render(console)
            yield Segment(" " * (spare - before))
        yield Segment.line()


def _share_room(widths: list[int], words: list[int], room: int) -> list[int]:
    """Return the columns' widths in cells, the widest narrowed until all fit, but none below its
    longest word.
    """
    widths = widths.copy()
    for _ in range(sum(widths) - room):
        widest = max(range(len(widths)), key=lambda at: (widths[at] > words[at], widths[at]))
        widths[widest] -= 1
    return widths


def _wrapped_table(head: Row, body: list[Row], widths: list[int]) -> Table:
    """Return a table whose columns must share too little room."""
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, style="markdown.table.border"
    )
    for cell, width in zip(head, widths, strict=True):
        table.add_column(cell.content, justify=cell.justify, overflow="fold", width=width)
    for row in body:
        table.add_row(*[cell.content for cell in row])
    return table


def _lines_of_cells(head: Row, body: list[Row]) -> Iterator[Text]:
    """Yield a line `heading: cell` for each cell of a table that has no room for the words of its
    columns side by side.
    """
    for number, row in enumerate(body):
        if number:
            yield Text()
        for named, cell in zip(head, row, strict=False):
            yield Text.assemble(*((named.content, ": ") if named.content else ()), cell.content)
    if not body:
        yield from (cell.content for cell in head)


def close_marks(text: str) -> str:
    """Close the bold words or code of an unfinished text, so that no bare marks flash up."""
    if text.count("`") % 2:
        return f"{text}`"
    written = text.rstrip()
    before, mark, after = _CODE.sub("", written).rpartition("**")
    if not mark or before.count("**") % 2:
        return text
    if not after:
        return written.removesuffix("**")
    if after[0].isspace():
        return text
    return f"{written}**"


class TranscriptMarkdown(Markdown):
    """The Markdown of a message, with nothing in it that can be clicked."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
        "hr": _Rule,
        "table_open": _Table,
    }
    inlines = {"em", "strong", "code", "s", "a"}  # noqa: RUF012

    def __init__(self, source: str) -> None:
        # Not super().__init__: it builds a parser each time, which costs more than most texts do.
        self.markup = source
        self.code_theme = self.inline_code_theme = "default"
        self.inline_code_lexer = None
        self.justify = None
        self.style = "none"
        self.hyperlinks = False
        self.parsed = parsed(source)

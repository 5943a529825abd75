"""Rich's Markdown of messages, restyled: plain headings, tables without frames."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

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

from bioeval_tui.markdown import parsed

_CODE = re.compile(r"`[^`]*`")
GAP = "   "
"""Between two columns of a table."""

Row = list[TableDataElement]


class _Heading(Heading):
    """A heading at the left edge, without a frame."""

    LEVEL_ALIGN: ClassVar = dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "left")


class _CodeBlock(CodeBlock):
    """Code within a list or quotation: literal, in one colour. Fences elsewhere are chunks of their own."""

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
        widths = [
            max(cell_len(row[column].content.plain) for row in [head, *body] if column < len(row))
            for column in range(len(head))
        ]
        if sum(widths) + len(GAP) * (len(widths) - 1) <= options.max_width:
            yield from _fitting(console, head, body, widths)
        else:
            yield _wrapping(head, body)


def _fitting(console: Console, head: Row, body: list[Row], widths: list[int]) -> Iterator[Segment]:
    """Yield a table that needs no wrapping: many times faster than Rich's Table, which streams need."""
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


def _wrapping(head: Row, body: list[Row]) -> Table:
    """Return a table whose columns must share too little room."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, style="markdown.table.border")
    for cell in head:
        table.add_column(cell.content, justify=cell.justify, overflow="fold")
    for row in body:
        table.add_row(*[cell.content for cell in row])
    return table


def finished(text: str) -> str:
    """Close the bold words or code of an unfinished text, so that no bare marks flash up."""
    if text.count("`") % 2:
        return f"{text}`"
    written = text.rstrip()
    before, mark, after = _CODE.sub("", written).rpartition("**")
    if not mark or before.count("**") % 2:
        return text
    if not after:
        return written.removesuffix("**")
    return text if after[0].isspace() else f"{written}**"


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

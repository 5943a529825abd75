"""Tables and styled lines in the terminal. All text is cleaned here again."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from bioeval_tui.streams import is_plain
from bioeval_tui.terminal import cleaned
from bioeval_tui.text import clean

UNBOUND = 10_000
"""Width if the output goes to a file or another program, which need whole lines."""
_SIGNS = str.maketrans({"→": "to", "≥": "at least ", "≤": "at most ", "▲": "up", "▼": "down", "·": ","})
_MARKS = {"✓": "passed", "✗": "failed", "◐": "partly", "?": "not measured", "!": "note", "–": "none"}
_DRAWN = re.compile("[\u2500-\u25ff]")
"""Box drawing, blocks and geometric signs."""


def plain_text(text: str) -> str:
    """Return a line in words: `✓ 1.00` is `passed 1.00`, and what only draws is left out."""
    for sign, word in _MARKS.items():
        if text.startswith(sign) and text[1:2] in ("", " "):
            rest = text[1:].strip()
            # A sign before the word that it stands for says it twice.
            text = rest if rest[:1].isalpha() else f"{word} {rest}".strip()
    drawn = _DRAWN.sub("", text).replace(" · ", ", ").translate(_SIGNS)
    return " ".join(drawn.split())


def _table_lines(table: Table) -> Iterator[str]:
    """Yield a line for each row: its first cell, then each other cell after the title of its column."""
    titles = [plain_text(str(column.header)) for column in table.columns]
    if titles[0]:
        yield titles[0]
    for row in zip(*(list(column.cells) for column in table.columns), strict=True):
        name, *cells = (plain_text(str(cell)) for cell in row)
        told = (f"{title} {cell}".strip() for title, cell in zip(titles[1:], cells, strict=True) if cell)
        yield f"{name}: {', '.join(told)}"


class PlainConsole(Console):
    """A console whose output never contains control sequences from its text.

    If its reader is gone (`… | head -1`), it stops printing; the work continues, with the same exit code.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as Rich does, with every piece of text cleaned."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            if control or (text.isascii() and text.isprintable()):
                yield segment
            else:
                yield Segment(clean(text), style)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as Rich does; if plain lines are asked for, tables and signs in words."""
        if is_plain():
            for item in objects or ("",):
                lines = _table_lines(item) if isinstance(item, Table) else _plain_lines(str(item))
                super().print("\n".join(lines), soft_wrap=True)
            return
        super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        """Stop writing."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def _plain_lines(text: str) -> Iterator[str]:
    return map(plain_text, text.split("\n"))


def plain_console(*, stderr: bool = False, soft_wrap: bool = False) -> Console:
    """Return a console on stdout (or stderr) that interprets no markup, numbers or emoji, and cleans its output.

    It is as wide as the terminal. Without one it is wide enough for any line, whatever COLUMNS, FORCE_COLOR
    or the width of the terminal that started the pipe say: a log must not depend on them.
    """
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream is not None and stream.isatty() else UNBOUND
    return PlainConsole(
        stderr=stderr, width=width, highlight=False, markup=False, emoji=False, soft_wrap=soft_wrap
    )


def write_lines(console: Console, text: str) -> None:
    """Write finished lines, cleaned. Rich would take fifty times as long to find that they have no style."""
    try:
        console.file.write(cleaned(text))
    except BrokenPipeError:
        console.on_broken_pipe()

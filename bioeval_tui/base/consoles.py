"""Tables and styled lines in the terminal. All text is cleaned here again.

Where plain lines are asked for (`is_plain`), signs and tables become words. Long tables are laid
out here (`write_table`), not by Rich.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from textwrap import TextWrapper
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.pager import SystemPager
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from bioeval_tui.base.streams import is_plain, log_stream
from bioeval_tui.base.terminal import cleaned
from bioeval_tui.base.text import terminal_text
from bioeval_tui.base.widths import padded

UNBOUND = 10_000
"""Width if the output goes to a file or another program, which need whole lines."""
_SIGNS = str.maketrans(
    {"→": "to", "≥": "at least ", "≤": "at most ", "▲": "up", "▼": "down", "·": ","}
)
_MARKS = {
    "✓": "passed",
    "✗": "failed",
    "◐": "partly",
    "?": "not measured",
    "!": "note",
    "–": "none",
    "·": "none",
}
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


def _rows_in_words(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a line for each row: its first cell, then each other cell after the title of its
    column.
    """
    first, *others = map(plain_text, titles)
    if first:
        yield first
    for row in rows:
        name, *cells = map(plain_text, row)
        titled = (
            f"{title} {cell}".strip() for title, cell in zip(others, cells, strict=True) if cell
        )
        yield f"{name}: {', '.join(titled)}"


class PlainConsole(Console):
    """A console whose output never contains control sequences from its text.

    If its reader is gone (`… | head -1`), it stops printing; the work continues, with the same exit
    code.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        """Read a text as Rich does, cleaned before it is measured: what has no width is drawn as a
        sign that has one.
        """
        return super().render_str(cleaned(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render as Rich does, with every piece of text cleaned."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            if control or (text.isascii() and text.isprintable()):
                yield segment
            else:
                yield Segment(terminal_text(text), style)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as Rich does; if plain lines are asked for, tables and signs in words."""
        if is_plain():
            for item in objects or ("",):
                if isinstance(item, Table):
                    columns = [list(map(str, column.cells)) for column in item.columns]
                    titles = [str(column.header) for column in item.columns]
                    lines: Iterable[str] = _rows_in_words(titles, zip(*columns, strict=True))
                else:
                    lines = map(plain_text, str(item).split("\n"))
                super().print("\n".join(lines), soft_wrap=True)
            return
        super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        """Stop writing."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def plain_console(*, stderr: bool = False, soft_wrap: bool = False) -> Console:
    """Return a console on stdout (or stderr) that interprets no markup, numbers or emoji, and
    cleans its output.

    It is as wide as the terminal. Without one it is wide enough for any line, whatever COLUMNS,
    FORCE_COLOR or the width of the terminal that started the pipe say: a log must not depend on
    them.
    """
    stream = log_stream(sys.stderr if stderr else sys.stdout)
    width = None if stream is not None and stream.isatty() else UNBOUND
    return PlainConsole(
        file=stream,
        stderr=stderr,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=soft_wrap,
    )


class CellColumn(NamedTuple):
    """A column of a table of plain text: its title, its cells, and whether it is right-aligned.

    Those that `lead` stand on a line of their own above the others where the table is wider than
    the terminal, so that no name is cut. `spare` columns are left out first.
    """

    title: str
    cells: Sequence[str]
    right: bool = False
    lead: bool = False
    spare: bool = False


def write_table(
    console: Console, columns: Sequence[CellColumn], *, gap: int = 1, paged: bool = False
) -> None:
    """Write a table with a line for each row; where even its numbers have no room, rows in words.

    Laid out here, because Rich's table takes six seconds for ten thousand rows. If `paged`, one
    that does not fit on the terminal is shown in the user's pager.
    """
    # Before they are measured: what has no width is drawn as a sign that has one.
    columns = [
        column._replace(title=cleaned(column.title), cells=[*map(cleaned, column.cells)])
        for column in columns
    ]
    if is_plain():
        write_lines(console, "".join(f"{line}\n" for line in _cells_in_words(columns)))
        return
    if not _fits(columns, gap, console.width):
        columns = [column for column in columns if not column.spare]
    laid_out = _lay_out(columns, gap, console.width)
    if laid_out is None:
        wrap = _wrapper(console.width).wrap
        wrapped = chain.from_iterable(map(wrap, _cells_in_words(columns)))
        write_lines(console, "".join(f"{line}\n" for line in wrapped))
        return
    head, rows = laid_out
    lines = [*head, *rows]
    if paged and console.is_terminal and sys.stdin.isatty() and len(lines) >= console.height:
        SystemPager().show(cleaned("\n".join([*lines, ""])))
        return
    console.print(Text("\n".join(head), style="bold"), soft_wrap=True)
    write_lines(console, "\n".join([*rows, ""]))


def finished_table(
    console: Console, titles: Sequence[str], rows: Sequence[Sequence[str]]
) -> str | None:
    """Return a table of numbers as Rich writes it without a box into a file or another program, the
    first column on the left and the others on the right; None where Rich has to do it.

    Titles may have several lines. Rich takes 20 s for ten thousand small tables.
    """
    heads = [title.split("\n") for title in titles]
    height = max(map(len, heads))
    heads = [[""] * (height - len(head)) + head for head in heads]
    cells = [[*head, *column] for head, column in zip(heads, zip(*rows, strict=True), strict=True)]
    columns = [
        CellColumn(lines[0], lines[1:], right=number > 0) for number, lines in enumerate(cells)
    ]
    is_simple = all(map(str.isprintable, chain.from_iterable(cells)))
    if console.is_terminal or is_plain() or not is_simple or not _fits(columns, 2, console.width):
        return None
    return "".join(f"{line}\n" for line in _aligned(columns, 2))


def _lay_out(
    columns: Sequence[CellColumn], gap: int, width: int
) -> tuple[list[str], list[str]] | None:
    """Return the lines of a table's head and of its rows; None if not even its numbers fit."""
    if _fits(columns, gap, width):
        lines = _aligned(columns, gap)
        return lines[:1], lines[1:]
    leads = [column for column in columns if column.lead]
    numbers = [column for column in columns if not column.lead]
    if not leads or not _fits(numbers, gap, width):
        return None
    names = map(" · ".join, zip(*([c.title, *c.cells] for c in leads), strict=True))
    above = map(_wrapper(width).wrap, names)
    first, *others = zip(above, _aligned(numbers, gap), strict=True)
    rows = chain.from_iterable([*name, row] for name, row in others)
    return [*first[0], first[1]], [*rows]


def _aligned(columns: Sequence[CellColumn], gap: int) -> list[str]:
    """Return the lines of columns side by side, the titles first."""
    cells = [[column.title, *column.cells] for column in columns]
    aligned = map(_padded, cells, map(_width, cells), (column.right for column in columns))
    return [(" " * gap).join(row).rstrip() for row in zip(*aligned, strict=True)]


def _wrapper(width: int) -> TextWrapper:
    """Return what wraps lines at `width` cells, with ids and names left whole."""
    return TextWrapper(width, break_on_hyphens=False, break_long_words=False)


def _fits(columns: Sequence[CellColumn], gap: int, width: int) -> bool:
    return sum(_width([c.title, *c.cells]) + gap for c in columns) - gap <= width


def _cells_in_words(columns: Sequence[CellColumn]) -> Iterator[str]:
    rows = zip(*(column.cells for column in columns), strict=True)
    return _rows_in_words([column.title for column in columns], rows)


def _padded(cells: Sequence[str], width: int, right: bool) -> list[str]:
    if "".join(cells).isascii():  # ten times as fast
        return [cell.rjust(width) if right else cell.ljust(width) for cell in cells]
    return [padded(cell, width, "right" if right else "left") for cell in cells]


def _width(cells: Sequence[str]) -> int:
    return max(map(len if "".join(cells).isascii() else cell_len, cells))


def write_lines(console: Console, text: str) -> None:
    """Write finished lines, cleaned.

    Rich would take fifty times as long to find that they have no style.
    """
    try:
        console.file.write(cleaned(text))
    except BrokenPipeError:
        console.on_broken_pipe()

"""What can be taken from a screen: text to copy, and SVG pictures without references to other hosts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from textual.app import App
from textual.screen import Screen

from bioeval_tui.files import write_beside
from bioeval_tui.text import plural
from bioeval_tui.tui.shared.rows_widget import RowList


class Copied(NamedTuple):
    """Something to copy: its description, and a function that returns its text."""

    what: str
    text: Callable[[], str]


class Picture(NamedTuple):
    """The path of a picture of the screen, and its caption."""

    path: Path
    caption: str


def tables(screen: Screen[Any]) -> list[Copied]:
    """Return the row and the whole table that have the focus."""
    rows = screen.focused
    if not isinstance(rows, RowList) or not rows.row_count:
        return []
    return [
        Copied("this row, as shown", rows.row_text),
        Copied(f"the table, as shown, {plural(rows.row_count, 'row')}", rows.table_text),
    ]


def screen_text(app: App[Any]) -> str:
    """Return the characters on screen, line by line."""
    lines = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in lines)


def tabbed(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as lines of values separated by tabs, for a spreadsheet; missing values are empty."""
    return "\n".join("\t".join("" if value is None else str(value) for value in row) for row in rows)


_FONT_FACE = re.compile(r"@font-face\s*\{[^}]*\}\s*")
_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
_FONT = re.compile(r"font-family:\s*Fira Code[^;]*;")
_MONOSPACE = "font-family: 'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, monospace;"


def without_hosts(svg: str) -> str:
    """Return the picture without references to fonts on other hosts; the reader's own fonts are used."""
    return _FONT.sub(_MONOSPACE, _COMMENT.sub("", _FONT_FACE.sub("", svg)))


def write_picture(svg: str, path: Path, caption: str = "") -> Path:
    """Write a picture that only its owner may read, under an unused name, and its caption as text beside it; return the path.

    Raises:
        StorageError: the disk is full, or the folder cannot be written.
    """
    written = write_beside(path.parent, path.stem, path.suffix, without_hosts(svg))
    if caption:
        write_beside(written.parent, written.stem, ".txt", f"{caption}\n")
    return written

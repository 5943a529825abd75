"""What leaves a screen: lines for the terminal, the browser's driver, text to copy, and
pictures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual import messages
from textual.app import App
from textual.color import Color
from textual.drivers.web_driver import WebDriver
from textual.filter import LineFilter
from textual.screen import Screen

from bioeval_tui.base.files import write_numbered
from bioeval_tui.base.text import plural
from bioeval_tui.tui.shared.rows_widget import RowList

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_SOFT_HYPHEN = "\u00ad"  # counted as one cell, of which terminals draw none or one


class SafeLines(LineFilter):
    """Removes characters that a terminal could act on. They take no cells, so nothing moves."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without unsafe characters; untouched if there are none."""
        if all(text.isascii() and text.isprintable() for text, _, _ in segments):
            return segments
        return [
            Segment(_safe(segment.text), segment.style, segment.control) for segment in segments
        ]


def _safe(text: str) -> str:
    return _UNSAFE.sub("", text).replace(_SOFT_HYPHEN, "⍰")


class MaskedLines(LineFilter):
    """Masks names that were not masked elsewhere, such as in a file's path, without changing a
    line's width.
    """

    def __init__(self, spans: Callable[[str], Sequence[tuple[int, int, str]]]) -> None:
        """`spans` finds what to replace in a line: start, end, and the replacement."""
        super().__init__()
        self._spans = spans

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments with names replaced; untouched if there are none."""
        line = "".join(segment.text for segment in segments if not segment.control)
        spans = self._spans(line)
        if not spans:
            return segments
        letters = list(line)
        for start, end, instead in spans:
            # The first letter becomes the whole replacement, as wide as the name was, the others
            # become empty: all letters keep their numbers, and all other text its place.
            fitted = set_cell_size(instead, cell_len(line[start:end]))
            letters[start:end] = [fitted, *[""] * (end - start - 1)]
        masked, at = [], 0
        for segment in segments:
            if segment.control:
                masked.append(segment)
                continue
            text = "".join(letters[at : at + len(segment.text)])
            at += len(segment.text)
            masked.append(Segment(text, segment.style))
        return masked


HEX = re.compile("#[0-9a-fA-F]{6}")


class ServedDriver(WebDriver):
    """Leaves the program when its input ends, which it does when the server has died."""

    _background = ""

    def write(self, data: str) -> None:
        """Send the output; before it, the background colour if that has changed."""
        background = self._app.theme_variables.get("background", "")
        if background != self._background and HEX.fullmatch(background):
            self._background = background
            data = f"\x1b]11;{background}\x07{data}"
        super().write(data)

    def run_input_thread(self) -> None:
        """Pass on input until it ends."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._app.post_message(messages.ExitApp())


class Copied(NamedTuple):
    """Something to copy: its description, and a function that returns its text."""

    what: str
    text: Callable[[], str]


class Kept(NamedTuple):
    """Something to write to a text file instead of copying it."""

    copied: Copied


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
    """Return rows as lines of values separated by tabs, for a spreadsheet; missing values are
    empty.
    """
    return "\n".join(
        "\t".join("" if value is None else str(value) for value in row) for row in rows
    )


def write_text(text: str, folder: Path) -> Path:
    """Write what would be copied to a file that only its owner may read, under an unused name;
    return the path.

    Raises:
        StorageError: the disk is full, or the folder cannot be written.
    """
    return write_numbered(folder, f"bioeval-tui-{file_moment()}", ".txt", f"{text}\n")


def file_moment() -> str:
    """Return the time for the name of a file: `2026-01-31-093000`."""
    return f"{datetime.now():%Y-%m-%d-%H%M%S}"


_FONT_FACE = re.compile(r"@font-face\s*\{[^}]*\}\s*")
_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
_FONT = re.compile(r"font-family:\s*Fira Code[^;]*;")
_MONOSPACE = "font-family: 'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, monospace;"


def strip_hosts(svg: str) -> str:
    """Return the picture without references to fonts on other hosts; the reader's own fonts are
    used.
    """
    return _FONT.sub(_MONOSPACE, _COMMENT.sub("", _FONT_FACE.sub("", svg)))


def write_picture(svg: str, path: Path, caption: str) -> Path:
    """Write a picture that only its owner may read, under an unused name, and its caption as text
    beside it; return the path.

    Raises:
        StorageError: the disk is full, or the folder cannot be written.
    """
    written = write_numbered(path.parent, path.stem, path.suffix, strip_hosts(svg))
    if caption:
        write_numbered(written.parent, written.stem, ".txt", f"{caption}\n")
    return written

"""Where an expression is wrong: its line, and a caret below."""

from __future__ import annotations

import unicodedata

from bioeval_tui.base.errors import ExpressionError
from bioeval_tui.base.text import clean

_WIDTH = 120
"""Maximum width of the line that is shown, in characters."""


def caret(error: ExpressionError) -> str:
    """Return two lines: the line with the error, and a caret under its column.

    Control characters are shown as symbols; a long line is shortened around the column. Without a
    known column the second line is empty.
    """
    before = error.text[: max(0, error.column - 1)]
    start = before.rfind("\n") + 1
    line = error.text[start:].split("\n", 1)[0]
    place = min(len(before) - start, len(line))
    if len(line) > _WIDTH:
        cut = max(0, min(place - _WIDTH // 2, len(line) - _WIDTH))
        line, place = line[cut : cut + _WIDTH], place - cut
        if cut:
            line, place = f"…{line}", place + 1
    shown = [clean(char) if char != "\t" else " " for char in line]
    if not error.column:
        return "".join(shown) + "\n"
    gap = sum(map(_cells, "".join(shown[:place])))
    return "".join(shown) + "\n" + " " * gap + "^"


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    if unicodedata.east_asian_width(char) in "WF":
        return 2
    return 1

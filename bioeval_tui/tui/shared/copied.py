"""What a screen offers to be copied, and the picture of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple


class Copied(NamedTuple):
    """Something to copy: what it is, in words, and how its text is made once it is wanted."""

    what: str
    text: Callable[[], str]


class Picture(NamedTuple):
    """Where a picture of the screen is to go, and what stands under it."""

    path: Path
    caption: str


def tabbed(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as lines of values separated by tabs, for a spreadsheet; what is missing is empty."""
    return "\n".join("\t".join("" if value is None else str(value) for value in row) for row in rows)

"""The text of a view's lines, without styles."""

from __future__ import annotations

from collections.abc import Iterable

from bioeval_tui.tui.shared.cells import Cell


def texts(lines: Iterable[Iterable[Cell]]) -> list[str]:
    """Return the text of each line."""
    return ["".join(cell.text for cell in line).rstrip() for line in lines]


def text(lines: Iterable[Iterable[Cell]]) -> str:
    """Return the text of all lines."""
    return "\n".join(texts(lines))

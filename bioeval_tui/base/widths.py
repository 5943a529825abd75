"""Texts as wide as a column of a terminal, which counts cells, not characters."""

from __future__ import annotations

from typing import Literal

from rich.cells import cell_len, set_cell_size


def fitted(text: str, width: int, side: Literal["left", "right", "middle"] = "left") -> str:
    """Return a text as exactly `width` cells of a terminal: cut, with an ellipsis, or padded so
    that it is on a side.

    Letters of Chinese and most emoji are two cells wide, and marks of Arabic and Devanagari none:
    padding by characters would shift everything after them.
    """
    length = cell_len(text)
    if length > width:
        if width > 0:
            return set_cell_size(text, width - 1) + "…"
        return ""
    before = {"left": 0, "right": width - length, "middle": (width - length) // 2}[side]
    return " " * before + text + " " * (width - length - before)


def padded(text: str, width: int, side: Literal["left", "right", "middle"] = "left") -> str:
    """Return a text as at least `width` cells, padded so that it is on a side; a longer one stays
    whole.
    """
    return fitted(text, max(width, cell_len(text)), side)

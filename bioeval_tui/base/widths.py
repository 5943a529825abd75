"""Texts as wide as a column of a terminal, which counts cells, not characters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
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


def told_apart(texts: Iterable[str], width: int) -> dict[str, str]:
    """Return each text in at most `width` cells, cut where it says least: those that would look the
    same from their beginning are shown from what tells them apart.
    """
    shown: dict[str, str] = {}
    alike: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        shown[text] = text if cell_len(text) <= width else fitted(text, width)
        alike.setdefault(shown[text], []).append(text)
    for several in alike.values():
        if len(several) > 1:
            shown.update(_told_apart(several, width))
    return shown


def _told_apart(texts: Sequence[str], width: int) -> dict[str, str]:
    """Return texts with the same beginning by the cut that leaves most of them different: their
    ends, both ends, or from where they differ, from all others or from the most alike.
    """
    ordered = sorted(texts)
    common = count_shared(ordered[0], ordered[-1])
    nearest = [count_shared(*pair) for pair in pairwise(ordered)]
    places = [max(pair) for pair in zip([0, *nearest], [*nearest, 0], strict=True)]
    half = (width - 1) // 2
    ways = (
        {text: "…" + _end(text, width - 1) for text in ordered},
        {text: fitted(text, half) + _end(text, width - half) for text in ordered},
        {text: fitted("…" + text[common:], width).rstrip() for text in ordered},
        {
            text: fitted("…" + text[place:], width).rstrip()
            for text, place in zip(ordered, places, strict=True)
        },
    )
    return max(ways, key=lambda way: len(set(way.values())))


def count_shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many characters two texts begin with alike, or how many parts two lists."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _end(text: str, width: int) -> str:
    """Return as much of a text's end as fits."""
    at, room = len(text), width
    while at and cell_len(text[at - 1]) <= room:
        at -= 1
        room -= cell_len(text[at])
    return text[at:]

"""The vocabulary of view models: pieces of text with a tone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from rich.cells import cell_len

from bioeval_tui.units import number, signed as signed

Tone = Literal[
    "plain",
    "strong",
    "quiet",
    "good",
    "bad",
    "warn",
    "busy",
    "gold",
    "silver",
    "bronze",
    "entries",
    "heat0",
    "heat1",
    "heat2",
    "heat3",
    "heat4",
]


HIGH, LOW = 0.8, 0.5
"""Scores from `HIGH` are drawn as good, below `LOW` as bad. These are display colours, not thresholds of a gate."""
score = number
"""A score is written as in every report."""


class Cell(NamedTuple):
    """A text and its tone. A tone only adds to what the text already says."""

    text: str
    tone: Tone = "plain"


def joined(pieces: Iterable[tuple[str, Tone]]) -> list[Cell]:
    """Return texts with their tones as cells; neighbours of the same tone are one."""
    cells: list[Cell] = []
    for text, tone in pieces:
        if cells and cells[-1].tone == tone:
            cells[-1] = Cell(cells[-1].text + text, tone)
        else:
            cells.append(Cell(text, tone))
    return cells


def packed(entries: Iterable[Sequence[Cell]], width: int, between: str = "  ") -> list[list[Cell]]:
    """Return entries beside each other; one that does not fit into `width` begins the next line."""
    lines: list[list[Cell]] = []
    room = 0
    for entry in entries:
        length = sum(cell_len(cell.text) for cell in entry)
        if lines and length + len(between) <= room:
            lines[-1] += [Cell(between, "quiet"), *entry]
            room -= length + len(between)
        else:
            lines.append(list(entry))
            room = width - length
    return lines


def bulleted(rows: Iterable[tuple[str, str]], tone: Tone = "plain") -> list[list[Cell]]:
    """Return a line with a bullet for each text; a text without a name belongs to the name above it."""
    return [[Cell(f"{name:<10}– ", "quiet"), Cell(text, tone)] for name, text in rows]


def score_tone(value: float | None) -> Tone:
    """Return the tone of a score: good from `HIGH`, bad below `LOW`, else in between; quiet without one."""
    if value is None:
        return "quiet"
    return "good" if value >= HIGH else "bad" if value < LOW else "warn"


def uplift(difference: float | None) -> Cell:
    """Return supplied − withheld as a cell; a dash when it is not known."""
    if difference is None:
        return Cell("–", "quiet")
    difference = round(difference, 2)
    tone: Tone = "good" if difference > 0 else "bad" if difference < 0 else "quiet"
    return Cell(signed(difference), tone)


LEVELS = "▁▂▃▄▅▆▇█"
GAP = "·"
"""The sign for a run that could not be measured."""


def spark(values: Sequence[float | None], width: int, low: float = 0.0, high: float = 1.0) -> str:
    """Return the last `width` values as bars between `low` and `high`, oldest first; `·` for None."""
    span = high - low or 1.0
    shown = values[-width:] if width > 0 else ()
    return "".join(GAP if value is None else _level((value - low) / span) for value in shown)


def _level(share: float) -> str:
    return LEVELS[max(0, min(len(LEVELS) - 1, int(share * len(LEVELS))))]

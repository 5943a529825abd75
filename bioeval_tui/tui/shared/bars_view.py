"""Charts made of characters: bars, sparklines, and a value that changes step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bioeval_tui.tui.shared.cells_view import Cell, Tone, joined

WAIT, STREAM, TARGET, CROSSED = "─", "━", "│", "┿"


@dataclass(frozen=True, slots=True)
class Bar:
    """One answer's time: whole and to the first token, ms. `running` while it is still pending."""

    ms: float
    first_ms: float | None
    message: int
    running: bool = False


def scale_of(bars: list[Bar], target_ms: float) -> float:
    """Return the time in ms of a full-width bar: slightly more than the longest answer or the target."""
    return max([bar.ms for bar in bars] + [target_ms, 1.0]) * 1.05


def latency_bar(bar: Bar | None, scale_ms: float, target_ms: float, width: int) -> list[Cell]:
    """Return an answer's bar: thin until the first token, thick while it streamed, the target crossing it.

    Nothing depends on colour: `─` is waiting, `━` streaming, `│` the target, `┿` the target passed.
    """
    if width <= 0:
        return []
    target = min(width - 1, round(target_ms / scale_ms * width)) if target_ms > 0 else -1
    if bar is None:
        return joined((TARGET if x == target else " ", "quiet") for x in range(width))
    length = max(1, min(width, round(bar.ms / scale_ms * width)))
    first = min(length - 1, round(bar.first_ms / scale_ms * width)) if bar.first_ms is not None else 0
    if bar.running:
        first = length
    late: Tone = "warn" if target_ms and bar.ms > target_ms else "plain"
    cells: list[tuple[str, Tone]] = []
    for x in range(width):
        if x == target:
            cells.append((CROSSED if x < length else TARGET, late if x < length else "quiet"))
        elif x < first:
            cells.append((WAIT, "busy" if bar.running else "quiet"))
        elif x < length:
            cells.append((STREAM, late if late == "warn" else "busy"))
        else:
            cells.append((" ", "quiet"))
    return joined(cells)


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


_LIGHT, _HEAVY = tuple("─│┌┐└┘"), tuple("━┃┏┓┗┛")
AXIS = 4
"""Cells at the left for the scale."""


@dataclass(frozen=True, slots=True)
class Steps:
    """A line: its name, its values in [0, 1] by place from 1, and whether it is drawn heavily. Gaps keep the previous value."""

    name: str
    points: Sequence[tuple[int, float]]
    heavy: bool = False
    tone: Tone = "plain"


def step_plot(lines: Sequence[Steps], width: int, height: int) -> list[list[Cell]]:
    """Return `height` rows of the plot and one with the places, each `width` cells wide; nothing where there is no room.

    The name is at the end of each line. Later lines are drawn over earlier ones.
    """
    places = max((place for line in lines for place, _ in line.points), default=0)
    names = max((len(line.name) for line in lines), default=0) + 1
    room = width - AXIS - names
    if places < 1 or room < 2 or height < 3:
        return []
    canvas: list[list[tuple[str, Tone]]] = [[(" ", "quiet")] * (width - AXIS) for _ in range(height)]
    step = room / places
    for line in lines:
        _draw(canvas, line, step)
    taken: set[int] = set()
    for line in reversed(lines):
        if line.points:
            row = _row(line.points[-1][1], height)
            while row in taken and row < height - 1:
                row += 1
            taken.add(row)
            end = round(step * line.points[-1][0])
            for x, character in enumerate(f" {line.name}", start=end):
                if x < width - AXIS:
                    canvas[row][x] = (character, line.tone)
    scale = {0: "1.0 ", (height - 1) // 2: "0.5 ", height - 1: "  0 "}
    if height % 2 == 0:
        del scale[(height - 1) // 2]  # the middle lies between two rows
    rows = [[Cell(scale.get(number, " " * AXIS), "quiet"), *joined(row)] for number, row in enumerate(canvas)]
    return [*rows, [Cell(" " * AXIS + _numbers(places, step), "quiet")]]


def _row(value: float, height: int) -> int:
    return round((1 - max(0.0, min(1.0, value))) * (height - 1))


def _draw(canvas: list[list[tuple[str, Tone]]], line: Steps, step: float) -> None:
    flat, up, rises_to, falls_from, falls_to, rises_from = _HEAVY if line.heavy else _LIGHT
    before: int | None = None
    for place, value in line.points:
        row = _row(value, len(canvas))
        first, last = round(step * (place - 1)), round(step * place)
        for x in range(first, last):
            canvas[row][x] = (flat, line.tone)
        if before is not None and before != row and first < last:
            rises = row < before
            for between in range(min(row, before) + 1, max(row, before)):
                canvas[between][first] = (up, line.tone)
            canvas[before][first] = (rises_from if rises else falls_from, line.tone)
            canvas[row][first] = (rises_to if rises else falls_to, line.tone)
        before = row


def _numbers(places: int, step: float) -> str:
    text = ""
    for place in range(1, places + 1):
        at = round(step * (place - 1) + (step - 1) / 2)
        if at >= len(text) + (1 if text else 0):
            text = f"{text:<{at}}{place}"
    return text

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

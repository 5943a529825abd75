"""A job's latest scores as a sparkline."""

from __future__ import annotations

from collections.abc import Sequence

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

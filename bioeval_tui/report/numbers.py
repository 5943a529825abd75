"""Scores as text, and how many of them an interval needs. Imports nothing, so that the list of runs starts fast."""

from __future__ import annotations

from math import ceil

DASH = "–"
FEWEST = 5
"""Fewest values for an interval; with fewer, the values themselves are shown."""


def number(value: float | None) -> str:
    """Return two decimals, or a dash."""
    return DASH if value is None else signless(value)


def number3(value: float | None) -> str:
    """Return three decimals, or a dash."""
    return DASH if value is None else signless(value, 3)


def signless(value: float, decimals: int = 2) -> str:
    """Return the value with two decimals and `−` as the minus sign; 0.00 has no sign."""
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if not float(text) else text.replace("-", "−")


def signed(value: float, decimals: int = 2) -> str:
    """Return the value with two decimals and its sign; 0 is `±0.00`."""
    text = signless(value, decimals)
    if not float(text.replace("−", "-")):
        return f"±{text}"
    return text if text.startswith("−") else f"+{text}"


def number_up(value: float) -> str:
    """Return two decimals, rounded up, because a required value must be sufficient."""
    return f"{ceil(value * 100 - 1e-9) / 100:.2f}"


def seconds(value_ms: float | None) -> str:
    """Return milliseconds as seconds, such as `0.49 s`; below 0.1 s, in ms."""
    if value_ms is None:
        return DASH
    return f"{value_ms:.0f} ms" if 0 < value_ms < 99.5 else f"{value_ms / 1000:.2f} s"

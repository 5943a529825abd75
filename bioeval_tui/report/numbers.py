"""Scores as text. It imports nothing, so that the list of runs is there at once."""

from __future__ import annotations

from math import ceil

DASH = "–"


def number(value: float | None) -> str:
    """Return two decimals, or a dash."""
    return DASH if value is None else f"{value:.2f}"


def number3(value: float | None) -> str:
    """Return three decimals, or a dash."""
    return DASH if value is None else f"{value:.3f}"


def number_up(value: float) -> str:
    """Return two decimals, rounded up: what is asked for must be enough."""
    return f"{ceil(value * 100 - 1e-9) / 100:.2f}"

"""Formats times: latencies and durations with units, and moments as relative times."""

from __future__ import annotations

import math
from datetime import datetime

MISSING = "–"
"""The sign for a missing value: not measured, not yet, not applicable."""


def latency(ms: float | None) -> str:
    """Return a latency given in milliseconds: `0.4 ms`, `85 ms`, `0.9 s`, `12.3 s`, `2 m 05 s`; `–` for None."""
    if ms is None or not math.isfinite(ms) or ms < 0:
        return MISSING
    if 0 < ms < 0.95:
        return f"{ms:.1f} ms"
    if ms < 99.5:
        return f"{round(ms)} ms"
    if ms < 59_950:
        return f"{ms / 1000:.1f} s"
    return duration(ms)


def duration(ms: float | None) -> str:
    """Return a span given in milliseconds, coarser than `latency`: `0.9 s`, `48 s`, `1 m 48 s`, `2 h 05 m`."""
    if ms is None or not math.isfinite(ms) or ms < 0:
        return MISSING
    if ms < 9_950:
        return f"{ms / 1000:.1f} s"
    seconds = round(ms / 1000)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} m {seconds % 60:02d} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02d} m"


def ago(then: datetime, now: datetime) -> str:
    """Return how long ago `then` was: `just now`, `5 min ago`, `3 h ago`, `yesterday`, `6 days ago`, `2026-11-20`."""
    seconds = (now - then).total_seconds()
    if seconds < 45:
        return "just now"
    if seconds < 59.5 * 60:
        return f"{max(1, round(seconds / 60))} min ago"
    if seconds < 22 * 3600:
        return f"{max(1, round(seconds / 3600))} h ago"
    days = max(1, round(seconds / 86400))
    if days == 1:
        return "yesterday"
    return f"{days} days ago" if days < 30 else then.date().isoformat()


def when(then: datetime, now: datetime, *, exact: bool) -> str:
    """Return how long ago `then` was, or exactly when, on this machine's clock: `11-20 09:00`."""
    return f"{then.astimezone():%m-%d %H:%M}" if exact else ago(then, now)

"""Numbers as people read them: each kind of value is written here, and nowhere else.

Screens, reports and the command line call these functions, so that a value is spelt the same
wherever it is shown. A function whose name ends in `_short` gives the second form, for narrow
cells. Machine-readable formats write numbers as they are.
"""

from __future__ import annotations

import math
from datetime import datetime, tzinfo
from typing import Literal

DASH = "–"
"""The sign for a missing value: not measured, not yet, not applicable."""
SCORE_DECIMALS = 5
"""A submission's score has so many, as published."""
NO_REASON = "no reason was recorded"
"""Said in the place of a missing reason."""


# Times


def latency(ms: float | None) -> str:
    """Return a response time given in ms: `0.4 ms`, `85 ms`, `0.99 s`, `12.3 s`, `2 m 05 s`; a dash
    if unknown.
    """
    if ms is None or not math.isfinite(ms) or ms < 0:
        return DASH
    if ms < 99.5:
        if 0.05 <= ms < 0.95:
            return f"{ms:.1f} ms"
        return f"{ms:.0f} ms"
    if ms < 9_995:
        return f"{ms / 1000:.2f} s"
    if ms < 59_950:
        return f"{ms / 1000:.1f} s"
    return duration(ms / 1000)


def latency_short(ms: float | None) -> str:
    """Return a response time given in ms in at most six characters: `85 ms`, `0.9 s`, `12.3 s`, `2
    m`.
    """
    if ms is None or ms < 99.5 or not math.isfinite(ms):
        return latency(ms)
    if ms < 59_950:
        return f"{ms / 1000:.1f} s"
    if ms < 3_570_000:
        return f"{ms / 60_000:.0f} m"
    return f"{ms / 3_600_000:.0f} h"


def latency_change(ms: float | None) -> str:
    """Return a difference of response times given in ms, with its sign: `+0.12 s`, `−3 ms`; `±0 ms`
    for none.
    """
    if ms is None or not math.isfinite(ms):
        return DASH
    size = latency(abs(ms))
    if size == "0 ms":
        return f"±{size}"
    if ms > 0:
        return f"+{size}"
    return f"−{size}"


def duration(seconds: float | None) -> str:
    """Return how long something took: `85 ms`, `0.42 s`, `8 s`, `1 m 48 s`, `2 h 05 m`; a dash if
    unknown.
    """
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        return DASH
    if 0 < seconds < 0.995:
        return latency(seconds * 1000)
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} m"


def clock(seconds: float) -> str:
    """Return a position in time as `01:12` or `1:01:12`."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, second = divmod(rest, 60)
    if hours:
        return f"{hours}:{minutes:02}:{second:02}"
    return f"{minutes:02}:{second:02}"


# Dates


def ago(then: datetime, now: datetime) -> str:
    """Return how long ago `then` was: `just now`, `5 min ago`, `3 h ago`, `yesterday`, `6 days
    ago`, `2026-11-20`.
    """
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
    if days < 30:
        return f"{days} days ago"
    return then.date().isoformat()


def date(at: datetime, *, seconds: bool = False, zone: tzinfo | None = None) -> str:
    """Return a date and time on this machine's clock, or in `zone`: `2026-11-20 09:00`."""
    pattern = "%Y-%m-%d %H:%M"
    if seconds:
        pattern += ":%S"
    return at.astimezone(zone).strftime(pattern)


def day(at: datetime) -> str:
    """Return a date on this machine's clock: `2026-11-20`."""
    return f"{at.astimezone():%Y-%m-%d}"


def when(then: datetime, now: datetime, *, exact: bool) -> str:
    """Return how long ago `then` was, or exactly when, on this machine's clock: `11-20 09:00`."""
    if exact:
        return f"{then.astimezone():%m-%d %H:%M}"
    return ago(then, now)


# Scores


def number(value: float | None) -> str:
    """Return a score with two decimals, or a dash."""
    if value is None or math.isnan(value):
        return DASH
    return signless(value)


def score_text(value: float) -> str:
    """Return the score of a submission, or a threshold, with up to five decimals."""
    # no -0, also of what is rounded to it
    rounded = round(value, SCORE_DECIMALS) + 0.0
    return f"{rounded:.{SCORE_DECIMALS}f}".rstrip("0").rstrip(".")


def number3(value: float | None) -> str:
    """Return three decimals, or a dash: for errors and intervals."""
    if value is None or math.isnan(value):
        return DASH
    return signless(value, 3)


def number1(value: float | None) -> str:
    """Return one decimal, or a dash: for percentiles, hours and words per turn."""
    if value is None or math.isnan(value):
        return DASH
    return signless(value, 1)


def share(value: float | None, decimals: int = 0) -> str:
    """Return a share from 0 to 1 as a percentage: `70 %`, `12.3 %`; a dash if unknown."""
    if value is None or math.isnan(value):
        return DASH
    return f"{signless(100 * value, decimals)} %"


def number_near(value: float | None, threshold: float) -> str:
    """Return a score with as many decimals, at least two, as show on which side of a threshold it
    is: 0.2673 beside 0.27.
    """
    if value is None or math.isnan(value):
        return DASH
    reached = value >= threshold - 1e-12
    shown = (
        decimals for decimals in range(2, 12) if (round(value, decimals) >= threshold) == reached
    )
    return signless(value, next(shown, 12))


def share_near(value: float, threshold: float) -> str:
    """Return a share from 0 to 1 as a percentage with as many decimals as show on which side of a
    threshold it is: `94.8 %` beside 0.95.
    """
    reached = value >= threshold - 1e-12
    shown = (
        decimals
        for decimals in range(10)
        if (round(100 * value, decimals) >= 100 * threshold) == reached
    )
    return share(value, next(shown, 10))


def number_up(value: float) -> str:
    """Return two decimals, rounded up, because a required value must be sufficient."""
    return f"{math.ceil(value * 100 - 1e-9) / 100:.2f}"


def signless(value: float, decimals: int = 2) -> str:
    """Return the value with two decimals and `−` as the minus sign; 0.00 has no sign."""
    text = f"{value:.{decimals}f}"
    if not float(text):
        return text.removeprefix("-")
    return text.replace("-", "−")


def signed(value: float | None, decimals: int = 2) -> str:
    """Return a difference with two decimals and its sign; 0 is `±0.00`, and a missing one a
    dash.
    """
    if value is None or math.isnan(value):
        return DASH
    text = signless(value, decimals)
    if not float(text.replace("−", "-")):
        return f"±{text}"
    if text.startswith("−"):
        return text
    return f"+{text}"


# Counts and money


def count(value: int | None) -> str:
    """Return a count with thousands separators, or `unknown`."""
    if value is None:
        return "unknown"
    return f"{value:,}"


def size(count_of_bytes: float, unit: Literal["kB", "MB", "GB"] = "MB", decimals: int = 0) -> str:
    """Return a number of bytes, such as `12 MB` or `3 GB`."""
    return f"{count_of_bytes / {'kB': 1e3, 'MB': 1e6, 'GB': 1e9}[unit]:,.{decimals}f} {unit}"


def dollars(value: float | None) -> str:
    """Return `$0.0123`, `$12.34`, `under $0.0001`, or `unknown`."""
    if value is None:
        return "unknown"
    if 0 < value < 0.0001:
        return "under $0.0001"
    if value == 0:
        return "$0"
    if value < 0.99995:
        return f"${value:,.4f}"
    return f"${value:,.2f}"

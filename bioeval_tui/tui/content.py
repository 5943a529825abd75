"""From plain values to what is read on screen: the one place that knows units, signs and words.

Functions ending in `_content` return styled `Content`, the others text. Colours are theme variables, and
no meaning rests on colour alone: each state has its own sign and word, so that all is legible with NO_COLOR.
No function interprets its arguments as markup.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from textual.content import Content

from bioeval_tui.text import clean_line

MISSING = "–"
"""Stands where there is no value: not measured, not yet, not applicable."""

Medal = Literal["gold", "silver", "bronze", "none", "invalid"]
Check = Literal["passed", "failed", "partial", "pending", "not_measured"]

MEDAL_SIGNS: dict[Medal, str] = {"gold": "●", "silver": "◐", "bronze": "◔", "none": "–", "invalid": "!"}
CHECK_SIGNS: dict[Check, str] = {
    "passed": "✓",
    "failed": "✗",
    "partial": "◐",
    "pending": "·",
    "not_measured": "?",
}
CHECK_WORDS: dict[Check, str] = {
    "passed": "passed",
    "failed": "failed",
    "partial": "partly",
    "pending": "not yet",
    "not_measured": "not measured",
}

_MEDAL_STYLES: dict[Medal, str] = {
    "gold": "$warning bold",
    "silver": "$text bold",
    "bronze": "$secondary bold",
    "none": "$text-muted",
    "invalid": "$error bold",
}
_CHECK_STYLES: dict[Check, str] = {
    "passed": "$success",
    "failed": "$error",
    "partial": "$warning",
    "pending": "$text-muted",
    "not_measured": "$warning",
}
_EIGHTHS = " ▏▎▍▌▋▊▉█"


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


def clock(seconds: float | None) -> str:
    """Return a running time as `01:12`, from an hour on as `1:02:03`; `–:–` for None."""
    if seconds is None or not math.isfinite(seconds):
        return f"{MISSING}:{MISSING}"
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes:02d}:{left:02d}"


def ago(then: datetime, now: datetime) -> str:
    """Return how long ago `then` was: `just now`, `5 min ago`, `3 h ago`, `yesterday`, `6 days ago`, `2026-11-20`."""
    seconds = (now - then).total_seconds()
    if seconds < 45:
        return "just now"
    if seconds < 45 * 60:
        return f"{max(1, round(seconds / 60))} min ago"
    if seconds < 22 * 3600:
        return f"{max(1, round(seconds / 3600))} h ago"
    days = max(1, round(seconds / 86400))
    if days == 1:
        return "yesterday"
    return f"{days} days ago" if days < 30 else then.date().isoformat()


def score(value: float | None) -> str:
    """Return a score in [0, 1] with two decimals, `–` when there is none."""
    return MISSING if value is None or not math.isfinite(value) else f"{value:.2f}"


def signed(value: float | None) -> str:
    """Return a difference of scores with its sign: `+0.31`, `−0.10`, `±0.00`; `–` when there is none."""
    if value is None or not math.isfinite(value):
        return MISSING
    shown = f"{abs(value):.2f}"
    if float(shown) == 0:
        return f"±{shown}"
    return f"{'+' if value > 0 else '−'}{shown}"


def count_of(part: int, whole: int) -> str:
    """Return `2 of 3`."""
    return f"{part:,} of {whole:,}"


def medal(name: Medal) -> str:
    """Return a medal's sign and word: `● gold`, `– none`, `! invalid`."""
    return f"{MEDAL_SIGNS[name]} {name}"


def medal_content(name: Medal, *, word: bool = True) -> Content:
    """Return a medal's sign and, unless `word` is false, its word, in its colour."""
    return Content.styled(medal(name) if word else MEDAL_SIGNS[name], _MEDAL_STYLES[name])


def check_content(state: Check, *, word: bool = False) -> Content:
    """Return the sign of a check, with its word where there is room for it."""
    text = f"{CHECK_SIGNS[state]} {CHECK_WORDS[state]}" if word else CHECK_SIGNS[state]
    return Content.styled(text, _CHECK_STYLES[state])


def checks_content(states: Sequence[Check]) -> Content:
    """Return a row of check signs, one a turn: `· · ✗ ✓`."""
    return Content(" ").join([check_content(state) for state in states])


def score_content(value: float | None, *, pass_above: float = 0.6) -> Content:
    """Return a score, green and bold when above `pass_above`."""
    if value is None:
        return Content.styled(MISSING, "$text-muted")
    return Content.styled(score(value), "$success bold" if value > pass_above else "bold")


def latency_content(ms: float | None, target_ms: float | None = None) -> Content:
    """Return a latency, marked `>` and in the warning colour when it is above the target."""
    if ms is None:
        return Content.styled(MISSING, "$text-muted")
    if target_ms is not None and ms > target_ms:
        return Content.styled(f"> {latency(ms)}", "$warning")
    return Content.styled(latency(ms), "$text")


def bar(value: float, width: int, *, most: float = 1.0, track: str = "") -> str:
    """Return a horizontal bar of `value` out of `most`, `width` cells at most, to an eighth of a cell.

    Something above zero shows at least an eighth. With `track`, the rest is filled with that character.
    """
    if width <= 0:
        return ""
    share = min(1.0, max(0.0, value / most)) if most > 0 and math.isfinite(value) else 0.0
    eighths = round(share * width * 8)
    if share > 0 and not eighths:
        eighths = 1
    whole, part = divmod(eighths, 8)
    drawn = "█" * whole + (_EIGHTHS[part] if part else "")
    return drawn + track[:1] * (width - len(drawn)) if track else drawn


def bar_content(
    value: float, width: int, *, most: float = 1.0, target: float | None = None, style: str = "$primary"
) -> Content:
    """Return a bar on a track of `width` cells; with `target`, a `┃` stands where the target is.

    What lies beyond the target is drawn in the warning colour.
    """
    drawn = bar(value, width, most=most, track=" ")
    if target is None or most <= 0 or not 0 <= target <= most:
        return Content.styled(drawn, style)
    at = min(width - 1, int(target / most * width))
    beyond = "$warning" if value > target else style
    return Content.assemble((drawn[:at], style), ("┃", "$text-muted"), (drawn[at + 1 :], beyond))


def foreign(text: str, style: str = "") -> Content:
    """Return one line of foreign text as literal Content, cleaned again."""
    return Content.styled(clean_line(text), style) if style else Content(clean_line(text))

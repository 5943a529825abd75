"""Parse points in time: a date, a date with a time, or an age."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from bioeval_tui.errors import UsageError
from bioeval_tui.text import clean_line

_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([mhdw])", re.IGNORECASE)
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_time(text: str, now: datetime) -> datetime:
    """Return the time that `text` names: `2026-11-20`, `2026-11-20T09:30`, or `7d` (also m, h, w) before `now`.

    A date without a zone is local time.

    Raises:
        UsageError: `text` has another form.
    """
    age = _AGE.fullmatch(text.strip())
    try:
        if age:
            return now - timedelta(**{_UNITS[age[2].lower()]: float(age[1])})
        return datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        shown = clean_line(text, 40)
        raise UsageError(
            f"{shown!r} is not a time; use a date such as 2026-11-20, or an age such as 12h or 30d"
        ) from None

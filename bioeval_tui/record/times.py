"""Times: a date or an age as a point in time, and how long a run has worked, without pauses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class Clock:
    """The times in which a run stood still. A turn that runs when a pause begins is finished, and counts."""

    _times: list[tuple[datetime, datetime]] = field(default_factory=list)
    _since: datetime | None = None

    def stop(self, at: datetime) -> None:
        """Stand still from now on. A time that began and has not ended was work."""
        self._since = at

    def go_on(self, at: datetime) -> None:
        """Work from now on."""
        if self._since is not None:
            self._times.append((self._since, at))
        self._since = None

    def seconds(self, begin: datetime, end: datetime) -> float:
        """Return the seconds of work between two times."""
        times = [*self._times, (self._since, end)] if self._since is not None else self._times
        lost = sum(max(0.0, (min(until, end) - max(since, begin)).total_seconds()) for since, until in times)
        return max(0.0, (end - begin).total_seconds() - lost)

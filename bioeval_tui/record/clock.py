"""How long a run has worked: without pauses, and without the time until it was resumed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


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

"""How long a run and its conditions have worked: without pauses, and without the time until it was resumed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

_RUN = ""
"""The key of the whole run, beside those of its conditions."""


@dataclass(slots=True)
class _Idle:
    since: datetime | None = None
    times: list[tuple[datetime, datetime]] = field(default_factory=list)

    def end(self, at: datetime) -> None:
        if self.since is not None:
            self.times.append((self.since, at))
        self.since = None


@dataclass(slots=True)
class Clock:
    """The times in which nothing was asked. `paused` are the paused conditions out of `every`, the run's conditions."""

    _idle: dict[str, _Idle] = field(default_factory=dict)

    def pause(self, at: datetime, paused: set[str], every: Iterable[str]) -> None:
        """Begin to wait for what is paused, now or after a turn; the rest works."""
        for name in (*every, _RUN):
            idle = self._idle.setdefault(name, _Idle())
            if name not in paused and not (name == _RUN and paused.issuperset(every)):
                idle.end(at)
            elif idle.since is None:
                idle.since = at

    def step(self, at: datetime, names: Iterable[str]) -> None:
        """Work on one turn of each of `names`, which are paused."""
        for name in (*names, _RUN):
            self._idle.setdefault(name, _Idle()).end(at)

    def message(self, at: datetime, condition: str, paused: set[str], every: Iterable[str]) -> None:
        """Count the time until a message was complete as work, although a person paused meanwhile."""
        for name, waits in ((condition, condition in paused), (_RUN, paused.issuperset(every))):
            if waits:
                self._idle.setdefault(name, _Idle()).since = at

    def interruption(self, since: datetime, until: datetime, every: Iterable[str]) -> None:
        """Leave out the time between the last event and the one that resumed the run."""
        for name in (*every, _RUN):
            idle = self._idle.setdefault(name, _Idle())
            idle.end(since)
            idle.times.append((since, until))

    def seconds(self, begin: datetime, end: datetime, condition: str = _RUN) -> float:
        """Return the seconds of work between two times, by a condition or by the whole run."""
        idle = self._idle.get(condition, _Idle())
        times = [*idle.times, (idle.since, end)] if idle.since is not None else idle.times
        lost = sum(max(0.0, (min(until, end) - max(since, begin)).total_seconds()) for since, until in times)
        return max(0.0, (end - begin).total_seconds() - lost)

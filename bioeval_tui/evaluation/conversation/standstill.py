"""Detects when this program did not run: stopped by a signal, on a sleeping machine, or blocked by
work of its own.

A timeout that runs out meanwhile says nothing about a peer. Nor does a latency if the process was
suspended for much of it; if it was busy, the latency counts, because an agent can keep it busy.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

TICK_S = 0.05
BLOCKED_S = 0.25
"""A tick that comes later than this, in seconds, because this process used the processor, counts as
blocked; shorter delays are ordinary work.
"""
STILL_S = 0.75
"""A delay that is longer than this, in seconds, may be a suspension; shorter ones happen on a busy
machine.
"""
BUSY = 0.1
"""If this process used the processor for more than this share of a delay, it was busy and not
suspended.
"""
MOST_OF_A_LATENCY = 0.2
"""If this program did not run for a larger share of a latency, that is said; if it was suspended,
the latency says nothing about the agent.
"""
LONG_S = 5.0
"""A run names it if its program did not run for longer than this, in seconds, in one piece."""
_KEPT = 1000
_SCHEDSTAT = Path("/proc/thread-self/schedstat")


class Gap(NamedTuple):
    """A time in which the event loop did not run: when it ended (monotonic), and its length, both
    in seconds.
    """

    end: float
    length: float
    suspended: bool
    starved: bool = False
    """Whether it waited for a processor: something else kept the machine busy."""

    @property
    def cause(self) -> str:
        """Why the loop did not run, as a clause."""
        if self.starved:
            return "other work kept this machine busy"
        if self.suspended:
            return "it was stopped, or the machine was asleep"
        return "it, or this machine, was busy"


def slept_s() -> float:
    """Return for how many seconds this machine has slept since it started, which monotonic time
    leaves out; 0.0 if unknown.
    """
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    if clock is None:
        return 0.0
    return time.clock_gettime(clock) - time.clock_gettime(time.CLOCK_MONOTONIC)


def starved_s() -> float:
    """Return for how many seconds this thread has waited for a processor although it could run; 0.0
    if unknown.
    """
    try:
        with _SCHEDSTAT.open("rb", buffering=0) as file:  # every answer asks, so without decoder
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


class Watchdog:
    """Ticks in the event loop and keeps the ticks that come too late.

    `watch` is the task that ticks; before it, nothing is found.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        busy: Callable[[], float] = time.process_time,
        slept: Callable[[], float] = slept_s,
        starved: Callable[[], float] = starved_s,
    ) -> None:
        """`clock` returns monotonic time, `busy` processor time, `slept` the time that the machine
        has slept, and `starved` that for which this thread waited for a processor, in seconds.
        """
        self._clock, self._busy, self._slept, self._starved = clock, busy, slept, starved
        self._last: tuple[float, float, float, float] | None = None
        self._gaps: list[Gap] = []
        self._sleeps: list[tuple[float, float]] = []
        """When each sleep of the machine ended (monotonic), and how long it was, both in seconds.
        """

    async def watch(self) -> None:
        """Tick until cancelled."""
        while True:
            self.tick()
            await asyncio.sleep(TICK_S)

    def suspension(self, moment: float) -> float:
        """Return for how many seconds this process was suspended after `moment` (monotonic); 0.0 if
        it was not.
        """
        self._tick_now()
        stopped = sum(
            min(gap.length, gap.end - moment)
            for gap in self._gaps
            if gap.suspended and gap.end > moment
        )
        return stopped + sum(length for end, length in self._sleeps if end > moment)

    def pause_cause(self, moment: float) -> str:
        """Return why this process did not run after `moment` (monotonic), as a clause: of the
        longest time.
        """
        self._tick_now()
        after = [gap for gap in self._gaps if gap.end > moment]
        if after:
            return max(after, key=lambda gap: gap.length).cause
        return "the machine was asleep"

    def lost(self, start: float, end: float) -> float:
        """Return for how many seconds from `start` to `end` (monotonic) the event loop did not
        run.
        """
        self._tick_now()
        return sum(
            max(0.0, min(gap.end, end) - max(gap.end - gap.length, start)) for gap in self._gaps
        )

    def stopped(self, start: float, end: float) -> float:
        """Return for how many seconds from `start` to `end` (monotonic) this process was suspended,
        not blocked by work or waiting for a processor, both of which an agent can cause: with what
        it sends, or on the same machine.
        """
        self._tick_now()
        return sum(
            max(0.0, min(gap.end, end) - max(gap.end - gap.length, start))
            for gap in self._gaps
            if gap.suspended and not gap.starved
        )

    def long_gaps(self, moment: float) -> list[Gap]:
        """Return the times after `moment` in which the event loop did not run for more than
        `LONG_S` in one piece.
        """
        self._tick_now()
        return [gap for gap in self._gaps if gap.end > moment and gap.length > LONG_S]

    def tick(self) -> None:
        """Note that the event loop runs."""
        now, busy, slept, starved = self._clock(), self._busy(), self._slept(), self._starved()
        if self._last is not None:
            ticked, was_busy, had_slept, had_starved = self._last
            late = now - ticked - TICK_S
            used = busy - was_busy
            suspended = late > STILL_S and used < BUSY * late
            # A busy machine also delays ticks by a few tenths of a second; the kernel says when an
            # answer came meanwhile.
            if late > STILL_S or (late > BLOCKED_S and used > late / 2):
                waited = starved - had_starved > late / 2
                self._gaps = [*self._gaps[1 - _KEPT :], Gap(now, late, suspended, waited)]
            if slept - had_slept > STILL_S:
                self._sleeps = [*self._sleeps[1 - _KEPT :], (now, slept - had_slept)]
        self._last = now, busy, slept, starved

    def _tick_now(self) -> None:
        """Keep a gap that lasts until now: the event loop may not have come to the next tick."""
        if self._last is not None:
            self.tick()

"""Detects that this process was suspended: stopped by a signal, or on a sleeping machine.

A timeout that runs out meanwhile says nothing about a peer, and an answer that came meanwhile was quicker
than it looks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

TICK_S = 0.25
STILL_S = 0.75
"""A delay of a tick that is longer than this, in seconds, may be a suspension; shorter ones happen on a busy machine."""
BUSY = 0.1
"""If this process used the processor for more than this share of a delay, it was busy and not suspended."""


class Standstill:
    """Ticks in the event loop and detects ticks that come too late. `watch` is the task that ticks."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, busy: Callable[[], float] = time.process_time
    ) -> None:
        """`clock` returns monotonic time, and `busy` processor time, both in seconds."""
        self._clock = clock
        self._busy = busy
        self._ticked, self._was_busy = clock(), busy()
        self._gaps: list[tuple[float, float]] = []
        """When each suspension ended (monotonic), and how long it was, both in seconds."""

    async def watch(self) -> None:
        """Tick until cancelled."""
        while True:
            self._tick()
            await asyncio.sleep(TICK_S)

    def since(self, moment: float) -> float:
        """Return for how many seconds this process was suspended after `moment` (monotonic); 0.0 if it was not."""
        self._tick()
        return sum(min(length, end - moment) for end, length in self._gaps if end > moment)

    def _tick(self) -> None:
        now, busy = self._clock(), self._busy()
        late = now - self._ticked - TICK_S
        if late > STILL_S and busy - self._was_busy < BUSY * late:
            self._gaps = [*self._gaps[-99:], (now, late)]
        self._ticked, self._was_busy = now, busy

"""How many requests to one peer are under way at once, and per minute: halved when the peer says
that it has too many, raised again as it answers.

`batch.py` makes one `Pace` for the agent and one for the models of a batch, puts requests through
it, and tells it of each event (`tell_paces`).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

from bioeval_tui.record import events
from bioeval_tui.record.events import RunEvent

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
BURST_S = 0.5
"""429s within this many seconds answer requests that were in flight together, so the limit is
reduced only once.
"""


class Cut(NamedTuple):
    """The limit of concurrent requests before and after a 429 (with the pause in seconds) or a
    timeout of several.
    """

    before: int
    after: int
    pause_s: float | None = None


class Pace:
    """Admits requests to one peer, in order of arrival.

    A 429 halves the limit of concurrent requests (never below 1) and pauses all of them for as long
    as the peer asked, at most `longest_pause_s`; each answer restores a fraction of a place. After
    timeouts of requests that were under way together, as many are answered one at a time, and never
    again more than half as many at once. Use it in one event loop only.
    """

    def __init__(
        self,
        at_once: int,
        per_minute: float | None = None,
        *,
        longest_pause_s: float = LONGEST_PAUSE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.most = at_once
        self.allowed = float(at_once)
        self._between_s = 60.0 / per_minute if per_minute else 0.0
        self._longest_pause_s = longest_pause_s
        self._clock = clock
        self._under_way = 0
        self._not_before = 0.0
        self._last_cut = float("-inf")
        self._refused_in_a_row = 0
        self._alone = 0
        """How many answers are to come one at a time."""
        self._queue = asyncio.Lock()
        self._freed = asyncio.Event()

    @contextlib.asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """Wait for a free place, and keep it until the context ends."""
        async with self._queue:
            await self._place()
            self._under_way += 1
            self.charge()
        try:
            yield
        finally:
            self._under_way -= 1
            self._freed.set()

    def around(self, call: str) -> AbstractAsyncContextManager[None]:
        """Return what is entered during a call of a wrapped part, to keep a place.

        History is given without a request. An observation has a time limit of its own, so it does
        not wait.
        """
        if call == "seed_history":
            return contextlib.nullcontext()
        if call == "observe":
            self.charge()
            return contextlib.nullcontext()
        return self.request()

    def charge(self) -> None:
        """Count a request against the rate without waiting, for requests that must not be
        delayed.
        """
        self._not_before = max(self._clock(), self._not_before) + self._between_s

    def answered(self) -> None:
        """Record an answer: the limit rises by one after about as many answers as its current
        value.
        """
        self._refused_in_a_row = 0
        if self._alone:
            self._alone -= 1
        elif self.allowed < self.most:
            self.allowed = min(float(self.most), self.allowed + 1 / self.allowed)
            self._freed.set()

    def refused(self, asked_s: float | None) -> Cut | None:
        """Record a 429; return what changed, or None if it belongs to a burst that already reduced
        the limit.
        """
        now = self._clock()
        own = FIRST_PAUSE_S * 2.0 ** min(self._refused_in_a_row, 10)
        pause = min(max(own, asked_s or 0.0), self._longest_pause_s)
        self._not_before = max(self._not_before, now + pause)
        if now - self._last_cut < BURST_S:
            return None
        self._last_cut = now
        self._refused_in_a_row += 1
        before = int(self.allowed)
        self.allowed = max(1.0, before // 2)
        return Cut(before, int(self.allowed), pause)

    def crowded(self) -> Cut | None:
        """Record a timeout among other requests; return what changed, or None if the limit was
        reduced for others already.
        """
        self._alone += 1
        before, self.allowed = int(self.allowed), 1.0
        if self._clock() - self._last_cut < BURST_S:
            return None
        self._last_cut = self._clock()
        self.most = max(1, self.most // 2)
        return Cut(before, 1)

    async def _place(self) -> None:
        while True:
            delay = self._not_before - self._clock()
            if self._under_way >= int(self.allowed):
                self._freed.clear()
                await self._freed.wait()
            elif delay > 0:
                await asyncio.sleep(delay)
            else:
                return


def tell_paces(paces: Mapping[str, Pace], event: RunEvent) -> Cut | None:
    """Tell the pace of a peer that it answered, or that it has too many requests at once; return
    what changed.

    `paces` are by peer.
    """
    if isinstance(event, events.MessageCompleted):
        pace = paces.get("agent" if event.role == "assistant" else "evaluator")
        if pace is not None:
            pace.answered()
    elif isinstance(event, events.RequestFailed) and (pace := paces.get(event.peer)) is not None:
        if event.status == 429:
            return pace.refused(None if event.wait_ms is None else event.wait_ms / 1000)
        if event.crowded:
            return pace.crowded()
    return None

"""The limits of a batch: its calls and cost, and the rate of requests to each peer."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from bioeval_tui.evaluation.spending import LimitReachedError, Price, SpendingBudget
from bioeval_tui.record.names import Peer
from bioeval_tui.text import plural
from bioeval_tui.units import dollars


@dataclass(frozen=True, slots=True)
class Rates:
    """The cost of one run's calls. None for a role that is not a model, or that the user does not pay for."""

    agent: Price | None = None
    evaluator: Price | None = None
    judge: Price | None = None
    judge_calls: int = 0
    """Calls for one transcript: judges times repeats; 0 if the judge is not a model."""
    evaluator_is_model: bool = False


@dataclass
class CallBudget:
    """Calls and cost of a whole batch. The agent's calls count like the models'."""

    max_calls: int | None = None
    max_cost: float | None = None
    calls: dict[Peer, int] = field(default_factory=lambda: defaultdict(int))
    cost: float = 0.0
    stopped: str = ""
    """Why a model will answer no further call."""

    def stop_reason(self) -> str | None:
        """Return why no further call may be made; None if one may."""
        if self.stopped:
            return self.stopped
        made = sum(self.calls.values())
        if self.max_calls is not None and made >= self.max_calls:
            return f"the limit is reached: {plural(made, 'call')} made, the limit is {self.max_calls:,}"
        if self.max_cost is not None and self.cost >= self.max_cost:
            return f"the limit is reached: about {dollars(self.cost)} spent, the limit is ${self.max_cost:g}"
        return None


@dataclass(frozen=True)
class RunBudget(SpendingBudget):
    """A batch's budget for one of its runs, at the prices of the run's models."""

    whole: CallBudget
    rates: Rates

    def begin(self, peer: Peer) -> None:
        """Count a call that is about to be made. Raises `LimitReachedError` instead if the limit is reached."""
        if why := self.whole.stop_reason():
            raise LimitReachedError(why)
        self.whole.calls[peer] += 1

    def charge(self, peer: Peer, tokens_in: int, tokens_out: int) -> None:
        """Add the cost of an answer; a model without a price costs nothing."""
        price = {"agent": self.rates.agent, "evaluator": self.rates.evaluator, "judge": self.rates.judge}.get(
            peer
        )
        if price is not None:
            self.whole.cost += price.cost(tokens_in, tokens_out)

    def stop(self, why: str) -> None:
        """Allow the batch no further call. Raises `LimitReachedError`."""
        self.whole.stopped = why
        raise LimitReachedError(why)


FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
BURST_S = 0.5
"""429s within this many seconds answer requests that were in flight together, so the limit is reduced only once."""


class Cut(NamedTuple):
    """The limit of concurrent requests before and after a 429 (with the pause in seconds) or a timeout of several."""

    before: int
    after: int
    pause_s: float | None = None


class Pace:
    """Admits requests to one peer, in order of arrival.

    A 429 halves the limit of concurrent requests (never below 1) and pauses all of them for as long as the peer asked, at
    most `longest_pause_s`; each answer restores a fraction of a place. After timeouts of requests that were under way
    together, as many are answered one at a time, and never again more than half as many at once. Use it in one event loop
    only.
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
            await self._turn()
            self._under_way += 1
            self.charge()
        try:
            yield
        finally:
            self._under_way -= 1
            self._freed.set()

    @contextlib.asynccontextmanager
    async def around(self, call: str, calls: int = 1) -> AsyncIterator[None]:
        """Keep a place during a call of a wrapped part, which sends that many requests one after another.

        History is given without a request. An observation has a time limit of its own, so it does not wait.
        """
        if call == "seed_history":
            yield
        elif call == "observe":
            self.charge()
            yield
        else:
            async with self.request():
                for _ in range(calls - 1):
                    self.charge()
                yield

    def charge(self) -> None:
        """Count a request against the rate without waiting, for requests that must not be delayed."""
        self._not_before = max(self._clock(), self._not_before) + self._between_s

    def answered(self) -> None:
        """Record an answer: the limit rises by one after about as many answers as its current value."""
        self._refused_in_a_row = 0
        if self._alone:
            self._alone -= 1
        elif self.allowed < self.most:
            self.allowed = min(float(self.most), self.allowed + 1 / self.allowed)
            self._freed.set()

    def refused(self, asked_s: float | None) -> Cut | None:
        """Record a 429; return what changed, or None if it belongs to a burst that already reduced the limit."""
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
        """Record a timeout among other requests; return what changed, or None if the limit was reduced for others already."""
        self._alone += 1
        before, self.allowed = int(self.allowed), 1.0
        if self._clock() - self._last_cut < BURST_S:
            return None
        self._last_cut = self._clock()
        self.most = max(1, self.most // 2)
        return Cut(before, 1)

    async def _turn(self) -> None:
        while True:
            delay = self._not_before - self._clock()
            if self._under_way >= int(self.allowed):
                self._freed.clear()
                await self._freed.wait()
            elif delay > 0:
                await asyncio.sleep(delay)
            else:
                return

"""How a batch slows down and recovers, on a clock that the test controls."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import AsyncMock

import pytest

from bioeval_tui.evaluation.engine import pace as pace_module
from bioeval_tui.evaluation.engine.pace import LONGEST_PAUSE_S, Pace
from bioeval_tui.peers.seams import ListedFaults, wrap
from tests.unit.evaluation.conversation.fakes import FakeAgent, FakeJudge


class Clock:
    """A clock that sleeping moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.slept: list[float] = []
        real_sleep = asyncio.sleep

        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)
            self.now += seconds
            await real_sleep(0)

        monkeypatch.setattr(pace_module.asyncio, "sleep", sleep)

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


async def test_concurrent_requests_are_limited_and_keep_their_order() -> None:
    pace = Pace(2)
    inside: list[int] = []
    began: list[int] = []
    most = 0
    release, two_began = asyncio.Event(), asyncio.Event()

    async def one(number: int) -> None:
        nonlocal most
        async with pace.request():
            began.append(number)
            if len(began) == 2:
                two_began.set()
            inside.append(number)
            most = max(most, len(inside))
            await release.wait()
            inside.remove(number)

    tasks = [asyncio.create_task(one(number)) for number in range(6)]
    await two_began.wait()
    assert began == [0, 1]
    release.set()
    await asyncio.gather(*tasks)
    assert most == 2
    assert began == list(range(6))


async def test_a_rate_limit_spaces_requests_evenly(clock: Clock) -> None:
    pace = Pace(10, per_minute=30, clock=clock)
    began = []
    for _ in range(4):
        async with pace.request():
            began.append(clock.now)
    assert began == [100.0, 102.0, 104.0, 106.0]


async def test_a_request_that_cannot_wait_still_counts_towards_the_rate(clock: Clock) -> None:
    pace = Pace(10, per_minute=60, clock=clock)
    async with pace.request():
        pass
    pace.charge()
    async with pace.request():
        assert clock.now == 102.0


async def test_a_429_halves_the_concurrency_and_successes_restore_it(clock: Clock) -> None:
    pace = Pace(8, clock=clock)
    cut = pace.refused(None)
    assert cut is not None
    assert (cut.before, cut.after) == (8, 4)
    assert pace.refused(None) is None, "requests that were under way together cut once"
    clock.now += 10
    assert pace.refused(None) == (4, 2, 1.0)
    for _ in range(100):
        pace.answered()
    assert pace.allowed == 8
    clock.now += 10
    for _ in range(10):
        pace.refused(None)
        clock.now += 10
    assert pace.allowed == 1


def test_429s_within_half_a_second_halve_the_concurrency_once(clock: Clock) -> None:
    pace = Pace(8, clock=clock)
    cuts = []
    for _ in range(3):
        cuts.append(pace.refused(None))
        clock.now += 0.3
    assert [cut and (cut.before, cut.after) for cut in cuts] == [(8, 4), None, (4, 2)]


async def test_every_request_waits_as_long_as_retry_after_says_up_to_a_limit(clock: Clock) -> None:
    pace = Pace(4, clock=clock)
    pace.refused(7.0)
    async with pace.request():
        assert clock.now == 107.0
    pace.refused(3600.0)
    async with pace.request():
        assert clock.now == 107.0 + LONGEST_PAUSE_S


async def test_a_cancelled_request_frees_its_slot() -> None:
    pace = Pace(1)
    async with pace.request():
        waiting = asyncio.create_task(_pass_through(pace))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
    await _pass_through(pace)


async def _pass_through(pace: Pace) -> None:
    async with pace.request():
        pass


async def test_closing_a_rate_limited_peer_closes_its_connections() -> None:
    peer = AsyncMock()
    await wrap(peer, Pace(1).around).aclose()
    peer.aclose.assert_awaited_once_with()


async def test_a_rate_limited_peer_has_what_it_has_besides_the_calls_of_its_seam() -> None:
    class Named(FakeAgent):
        identity = "agent 2.0"

    class Lister(FakeJudge):
        async def user_faults(self, view: Any) -> ListedFaults:
            return ListedFaults(refused=3)

    around = Pace(1).around
    assert wrap(Named(), around).identity == "agent 2.0"
    assert await wrap(Lister(), around).user_faults(None) == ListedFaults(refused=3)

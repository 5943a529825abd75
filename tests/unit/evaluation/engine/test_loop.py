"""The event loop of a batch serves every ready connection in turn."""

from __future__ import annotations

import asyncio
import gc
import selectors
import socket
from collections.abc import Iterator

import pytest

from bioeval_tui.evaluation.engine.event_loop import ANSWERS_AT_ONCE, FairSelector, run_fairly

ROUNDS = 5
MANY = ROUNDS * ANSWERS_AT_ONCE


@pytest.fixture(autouse=True)
def usual_collector() -> Iterator[None]:
    """Leave the collector of the tests' own process as it was."""
    usual = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*usual)


@pytest.fixture
def ready() -> Iterator[list[socket.socket]]:
    """Sockets in each of which a byte waits."""
    pairs = [socket.socketpair() for _ in range(MANY)]
    for there, _ in pairs:
        there.send(b"x")
    yield [here for _, here in pairs]
    for pair in pairs:
        for end in pair:
            end.close()


def test_every_ready_connection_is_served_before_any_is_served_again(
    ready: list[socket.socket],
) -> None:
    with FairSelector() as selector:
        for here in ready:
            selector.register(here, selectors.EVENT_READ)
        rounds = [selector.select(0) for _ in range(ROUNDS)]
        assert [len(given) for given in rounds] == [ANSWERS_AT_ONCE] * ROUNDS
        assert {key.fileobj for given in rounds for key, _ in given} == set(ready)
        assert len(selector.select(0)) == ANSWERS_AT_ONCE  # nobody has read: all are ready still


def test_a_connection_that_was_removed_meanwhile_is_not_served(ready: list[socket.socket]) -> None:
    with FairSelector() as selector:
        for here in ready:
            selector.register(here, selectors.EVENT_READ)
        served = {key.fileobj for key, _ in selector.select(0)}
        gone = next(here for here in ready if here not in served)
        selector.unregister(gone)
        served |= {key.fileobj for _ in range(ROUNDS - 1) for key, _ in selector.select(0)}
        assert served == set(ready) - {gone}


def test_timers_run_between_the_answers_of_many_connections(ready: list[socket.socket]) -> None:
    async def order() -> list[str]:
        loop, seen, done = asyncio.get_running_loop(), [], asyncio.Event()

        def read(here: socket.socket) -> None:
            loop.remove_reader(here)
            if not seen:
                loop.call_later(0, seen.append, "clock")
            seen.append("answer")
            if seen.count("answer") == MANY:
                done.set()

        for here in ready:
            loop.add_reader(here, read, here)
        await done.wait()
        return seen

    assert run_fairly(order()).index("clock") < MANY - ANSWERS_AT_ONCE


def test_an_exception_passes_through_the_loop_unchanged() -> None:
    async def fails() -> None:
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        run_fairly(fails())

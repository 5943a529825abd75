"""Reading an answer within its limits."""

from __future__ import annotations

import errno
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import ClientConnectorError
from aiohttp.client_reqrep import ConnectionKey

from bioeval_tui.evaluate.http.exchange import Body, Deadline, Timeouts
from bioeval_tui.evaluate.http.transport import connection_error
from bioeval_tui.evaluate.seams import PeerError


def body(pieces: Any, timeouts: Timeouts) -> Body:
    """Return a body whose pieces are there at once, so that no step of reading it ever waits."""

    async def readany() -> bytes:
        return next(pieces, b"")

    response: Any = SimpleNamespace(headers={}, content=SimpleNamespace(readany=readany))
    deadline = Deadline("agent", "host", timeouts)
    deadline.start()
    return Body("agent", "host", response, deadline, timeouts, most=1_000_000)


async def test_an_answer_that_never_pauses_ends_at_the_deadline() -> None:
    endless = body(iter(lambda: b"x" * 100, None), Timeouts(whole=0.0))
    with pytest.raises(PeerError, match="did not finish its answer within 0 s") as caught:
        await endless.read()
    assert caught.value.retryable
    assert caught.value.received.startswith("xxx")


async def test_an_answer_beyond_its_size_is_not_read_to_its_end() -> None:
    endless = body(iter(lambda: b"x" * 100_000, None), Timeouts())
    with pytest.raises(PeerError, match="more than 1,000,000 bytes"):
        await endless.read()


async def test_an_answer_in_time_is_read_whole() -> None:
    assert await body(iter([b"a", b"b"]), Timeouts()).read() == b"ab"


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS])
def test_a_machine_without_a_file_descriptor_left_is_not_the_agents_fault(number: int) -> None:
    key = ConnectionKey("127.0.0.1", 1, False, True, None, None, None)
    for error in (OSError(number, "x"), ClientConnectorError(key, OSError(number, "x"))):
        found = connection_error("agent", "agent.example", error)
        assert (found.exhausted, found.retryable) == (True, True)
        assert "this machine" in str(found)
    refused = ClientConnectorError(key, ConnectionRefusedError(errno.ECONNREFUSED, "x"))
    assert not connection_error("agent", "agent.example", refused).exhausted

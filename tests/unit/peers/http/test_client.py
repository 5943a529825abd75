"""The limits of the HTTP client."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable

import httpx2
import pytest

from bioeval_tui.peers.failures import LostConnectionError
from bioeval_tui.peers.http import BoundedTransport
from bioeval_tui.peers.sse import read_events
from bioeval_tui.peers.timeouts import Timeouts
from bioeval_tui.protocols import PeerError

STREAM = (
    b'event: delta\r\ndata: {"content": "\xc3\xa9"}\r\n\r\n: comment\n\ndata:one\ndata: two\n\n'
    b"id: 5\nevent: message\rdata: end\r\rdata: \xff"
)
EVENTS = [
    ("delta", '{"content": "é"}'),
    ("message", "one\ntwo"),
    ("message", "end"),
    ("message", "\ufffd"),
]


class Pieces(httpx2.AsyncByteStream):
    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


def answering(
    pieces: Iterable[bytes],
    timeouts: Timeouts | None = None,
    kind: str = "text/plain",
    status: int = 200,
) -> httpx2.AsyncClient:
    """Return a client whose answers consist of these pieces, none of which has to be waited for."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers={"Content-Type": kind}, stream=Pieces(pieces))

    inner = httpx2.MockTransport(answer)
    return httpx2.AsyncClient(
        transport=BoundedTransport(inner, "agent", timeouts or Timeouts(), most=1_000_000)
    )


async def test_an_answer_that_never_ends_times_out() -> None:
    client = answering(iter(lambda: b"x" * 100, None), Timeouts(whole=0.05))
    with pytest.raises(PeerError, match=r"did not finish its answer within 0\.05 s") as caught:
        await client.get("http://host")
    assert not caught.value.retryable, "it may have been delivered"
    assert caught.value.received.startswith("xxx")


async def test_no_peer_is_quick_by_losing_a_request_that_is_sent_again() -> None:
    """One that works on it, closes the connection, and answers then took all of that time."""
    sent: list[float] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(time.monotonic())
        if len(sent) == 1:
            lost = LostConnectionError("closed")
            lost.reused = True
            raise httpx2.ReadError("closed") from lost
        return httpx2.Response(200)

    inner = httpx2.MockTransport(answer)
    transport = BoundedTransport(inner, "agent", Timeouts(), stateless=True)
    response = await transport.handle_async_request(httpx2.Request("GET", "http://host"))
    assert len(sent) == 2
    assert response.extensions["exchange"].started <= sent[0]


async def test_an_answer_that_is_too_large_is_not_read_to_its_end() -> None:
    client = answering(iter(lambda: b"x" * 100_000, None))
    with pytest.raises(PeerError, match="host sent more than 1,000,000 bytes"):
        await client.get("http://host")


async def test_only_the_beginning_of_an_endless_error_is_read() -> None:
    client = answering(iter(lambda: b"no " * 1000, None), status=500)
    answer = await client.get("http://host")
    assert answer.status_code == 500
    assert answer.text.startswith("no no")


async def test_an_answer_within_the_limits_is_read_whole() -> None:
    assert (await answering([b"a", b"b"]).get("http://host")).content == b"ab"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
async def test_server_sent_events_are_the_same_however_the_bytes_are_split(size: int) -> None:
    pieces = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]
    async with answering(pieces, kind="text/event-stream").stream("GET", "http://host") as response:
        found = [(event.event, event.data) async for event in read_events(response.aiter_bytes())]
    assert found == EVENTS


async def test_cookies_are_never_sent_back() -> None:
    from bioeval_tui.peers.http import make_client
    from tests.unit.peers.agents.raw_server import http, raw_server

    async def handler(writer, number):
        writer.write(http(b"{}", extra="Set-Cookie: session=1; Path=/\r\n"))

    async with raw_server(handler) as seen, make_client([seen.url], Timeouts()) as client:
        await client.get(seen.url)
        await client.get(seen.url)
    assert b"cookie" not in seen.requests[1].lower()

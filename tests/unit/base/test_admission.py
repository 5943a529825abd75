"""New connections of a server: closed when they send nothing, too much, or too slowly; the oldest
first.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bioeval_tui.base.admission import Admission, AdmissionLimits


class Echo(asyncio.Protocol):
    """Sends back what it is given."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)


@asynccontextmanager
async def served(limits: AdmissionLimits) -> AsyncIterator[tuple[Admission, int]]:
    admission = Admission(Echo, b"\n", limits)
    listener = socket.create_server(("127.0.0.1", 0))
    server = await admission.listen(listener)
    try:
        yield admission, listener.getsockname()[1]
    finally:
        server.close()
        admission.close()


async def closed(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read(1) == b""
    except ConnectionError:
        return True


async def test_a_request_arrives_whole_however_it_is_split() -> None:
    async with served(AdmissionLimits()) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for piece in (b"he", b"llo", b"\nand ", b"more"):
            writer.write(piece)
            await writer.drain()
        assert await reader.readexactly(14) == b"hello\nand more"
        writer.close()


@pytest.mark.parametrize(
    ("limits", "said"),
    [(AdmissionLimits(seconds=0.01), b"hel"), (AdmissionLimits(size=10), b"x" * 1000)],
)
async def test_a_connection_without_a_complete_request_is_closed(
    limits: AdmissionLimits, said: bytes
) -> None:
    async with served(limits) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(said)
        assert await closed(reader)
        writer.close()


async def test_the_longest_waiting_connection_is_closed_first_and_authenticated_ones_stay() -> None:
    async with served(AdmissionLimits(waiting=2, admitted=2)) as (admission, port):
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        assert await closed(silent[0][0])
        kept = await asyncio.open_connection("127.0.0.1", port)
        kept[1].write(b"a\n")
        assert await kept[0].readexactly(2) == b"a\n"
        for transport in [*admission._admitted]:
            admission.keep(transport)
        others = []
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            others.append((reader, writer))
            writer.write(b"b\n")
            assert await reader.readexactly(2) == b"b\n"
        assert await closed(others[0][0])
        kept[1].write(b"c\n")
        assert await kept[0].readexactly(2) == b"c\n"
        for _, writer in (*silent, kept, *others):
            writer.close()


async def test_half_sent_requests_make_room_for_new_connections_and_authenticated_ones_stay() -> (
    None
):
    async with served(AdmissionLimits(open=3)) as (admission, port):
        opened = []
        for vouched in (True, False, False, False):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"a\n")
            assert await reader.readexactly(2) == b"a\n"
            opened.append((reader, writer))
            if vouched:
                admission.keep(next(iter(admission._admitted)))
        assert await closed(opened[1][0])
        opened[0][1].write(b"b\n")
        assert await opened[0][0].readexactly(2) == b"b\n"
        for _, writer in opened:
            writer.close()


async def test_no_connection_is_accepted_when_all_are_authenticated() -> None:
    async with served(AdmissionLimits(open=1)) as (admission, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"a\n")
        assert await reader.readexactly(2) == b"a\n"
        admission.keep(next(iter(admission._admitted)))
        late, other = await asyncio.open_connection("127.0.0.1", port)
        assert await closed(late)
        for each in (writer, other):
            each.close()

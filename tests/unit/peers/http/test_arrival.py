"""Latency ends when the answer arrived, not when a busy event loop read it."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from bioeval_tui.peers.arrivals import STAMPED, Arrivals
from bioeval_tui.protocols import Delta, Reply
from tests.servers.agents import rest_agent

SESSION = {"sessionId": "s1"}
WHOLE = {**SESSION, "message": {"content": "take one", "role": "assistant"}}


def as_json(value: object) -> bytes:
    body = json.dumps(value).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )


def as_stream(value: object) -> bytes:
    delta, whole = json.dumps({"content": "take"}), json.dumps(value)
    body = f"event: delta\ndata: {delta}\n\nevent: message\ndata: {whole}\n\n".encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )


@pytest.fixture
def stamping() -> Iterator[None]:
    """Wait until the kernel stamps bytes as they come: it begins some moments after the first
    socket asked for it.
    """
    arrivals = Arrivals()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        with arrivals.make_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", address)) as here:
            here.connect(address)
            there, _ = listener.accept()
            with there:
                for _ in range(10_000):
                    there.sendall(b"x")
                    sent = time.monotonic()
                    here.recv(1)
                    if arrivals.last() <= sent:
                        break
                yield


@pytest.mark.parametrize(
    ("waited_s", "wall_s", "late_s"),
    [(0.2, 0.2, 0.2), (8.0, 8.0, 8.0), (0.1, 3600.0, 0.0), (0.1, 0.3, 0.3), (5.0, 5.0, 5.0)],
    ids=["ordinary work", "busy", "the clock was set", "the clock drifted", "stopped"],
)
def test_bytes_arrived_when_the_kernel_says_however_long_this_program_was_busy(
    waited_s: float, wall_s: float, late_s: float
) -> None:
    now, wall = 100.0, 1_000_000.0
    arrivals = Arrivals(lambda: now, lambda: wall)
    stamp = struct.pack("ll", 1_000_000, 0)
    now, wall = now + waited_s, wall + wall_s
    arrivals.note([(0, 35, stamp)])
    assert arrivals.last() == pytest.approx(now - late_s)


def test_clocks_are_read_at_one_moment_though_the_program_waits_for_a_processor_in_between() -> (
    None
):
    now, wall, waits = 100.0, 1_000_000.0, 0

    def read_wall() -> float:
        nonlocal now, wall, waits
        if waits:
            waits, now, wall = waits - 1, now + 0.05, wall + 0.05
        return wall

    arrivals = Arrivals(lambda: now, read_wall)
    waits = 2
    arrivals.note([(0, 35, struct.pack("ll", 1_000_000, 0))])
    assert arrivals.last() == pytest.approx(100.0)


@pytest.mark.usefixtures("stamping")
@pytest.mark.skipif(not STAMPED, reason="this kernel stamps no bytes")
@pytest.mark.parametrize("answer", [as_json(WHOLE), as_stream(WHOLE)], ids=["json", "stream"])
async def test_latency_ends_when_the_answer_arrived_even_if_the_event_loop_was_busy(
    answer: bytes,
) -> None:
    loop = asyncio.get_running_loop()
    sent_at: list[float] = []

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(as_json(SESSION))
            connection.recv(1 << 16)
            busy, sent = threading.Event(), threading.Event()

            def keep_busy() -> None:
                busy.set()
                sent.wait(300)

            loop.call_soon_threadsafe(keep_busy)
            busy.wait(300)
            connection.sendall(answer)
            sent_at.append(time.monotonic())
            sent.set()
            connection.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        agent = rest_agent(
            f"http://127.0.0.1:{listener.getsockname()[1]}", user="ada", chatbot="bot", model="m"
        )
        await agent.open()
        pieces = [piece async for piece in agent.send("Hello")]
        await agent.aclose()
        await asyncio.to_thread(server.join, 10)
    reply = pieces[-1]
    assert isinstance(reply, Reply)
    # The loop read it only after `sent_at`.
    assert reply.started < reply.ended <= sent_at[0]
    if isinstance(pieces[0], Delta):
        assert reply.first_token is not None
        assert reply.started < reply.first_token <= reply.ended

"""An agent whose answers are timed by the kernel: a process of its own on blocking sockets, for
`live.py`.

    uv run python benchmarks/wire_agent.py [--tokens-per-second 300] [--words 200]

It prints its address. It answers with Markdown tables, one cell after the other at their pace, over
the REST protocol with server-sent events. `GET /wire` gives, for every answer, in seconds since
1970: when the last byte of the request had arrived, when the first word and when the last byte of
the answer left. Where the kernel stamps packets (Linux, SO_TIMESTAMPING), these are its stamps,
which nothing that this process does can delay; elsewhere the process reads the clock itself.
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import struct
import sys
import threading
import time
from itertools import count
from typing import Any

# linux/net_tstamp.h and asm-generic/socket.h; Python names none of them.
_SO_TIMESTAMPING = 37
_TX_SOFTWARE, _RX_SOFTWARE, _SOFTWARE, _TSONLY = 1 << 1, 1 << 3, 1 << 4, 1 << 11
_ANCILLARY = 512
_numbers = count(1)
_wire: list[dict[str, Any]] = []


class Connection:
    """One connection whose bytes are stamped as they come and go."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._rest = b""
        self._stamps = sys.platform == "linux"
        self._waiting = select.poll()
        self._waiting.register(sock, select.POLLERR)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._stamps:
            flags = _TX_SOFTWARE | _RX_SOFTWARE | _SOFTWARE | _TSONLY
            sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, flags)

    def request(self) -> tuple[str, bytes, float] | None:
        """Return the next request's path and body, and when its last byte arrived; None when there
        is none.
        """
        arrived = 0.0
        while True:
            head, end, body = self._rest.partition(b"\r\n\r\n")
            length = _content_length(head)
            if end and len(body) >= length:
                self._rest = body[length:]
                return head.split(b" ", 2)[1].decode(), body[:length], arrived
            data, ancillary, _, _ = self._socket.recvmsg(1 << 16, _ANCILLARY)
            if not data:
                return None
            arrived = _stamp(ancillary) or time.time()
            self._rest += data

    def send(self, data: bytes) -> float:
        """Send; return when the last byte left."""
        before = time.time()
        self._socket.sendall(data)
        return self._left() or before

    def _left(self) -> float | None:
        """Return the newest stamp of what was sent, if the kernel gives one."""
        newest = None
        while self._stamps:
            try:
                _, ancillary, _, _ = self._socket.recvmsg(0, _ANCILLARY, socket.MSG_ERRQUEUE)
                newest = _stamp(ancillary) or newest
            except BlockingIOError:
                if newest or not self._waiting.poll(50):
                    break
        return newest


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return 0


def _stamp(ancillary: list[Any]) -> float | None:
    """Return the kernel's time in seconds since 1970 of SCM_TIMESTAMPING: three times, of which the
    first is its own.
    """
    for _, kind, data in ancillary:
        if kind == _SO_TIMESTAMPING and len(data) >= 16:
            seconds, nanoseconds = struct.unpack_from("ll", data)
            if seconds:
                return float(seconds + nanoseconds / 1e9)
    return None


def pieces(number: int, words: int) -> list[str]:
    """Return an answer of about so many words, in pieces of one: a word that marks it, then
    tables.
    """
    text = [f"first{number:05d}word ", "and ", "then\n\n"]
    for row in count():
        if len(text) >= words:
            break
        if row % 30 == 0:
            text.append("\n\n| a | b | c | d |\n|---|---|---|---|\n")
        text += [
            f"| row {row} ",
            f"| {row * 17 % 101} ",
            "| some words that ",
            f"fill a cell | {row / 7:.3f} |\n",
        ]
    return text


class Agent:
    """The agent."""

    def __init__(self, tokens_per_second: float, words: int, think_s: float) -> None:
        self._gap = 1 / tokens_per_second
        self._words = words
        self._think_s = think_s
        self._turns: dict[str, int] = {}

    def serve(self, sock: socket.socket) -> None:
        """Answer everything that comes over one connection."""
        connection = Connection(sock)
        with sock:
            while (asked := connection.request()) is not None:
                path, body, arrived = asked
                if path.endswith("/messages"):
                    self._answer(connection, json.loads(body), arrived)
                else:
                    connection.send(_json_response(self._small(path)))

    def _small(self, path: str) -> Any:
        if path.endswith("/sessions"):
            return {"sessionId": f"s{next(_numbers)}"}
        if path == "/wire":
            return _wire
        held = self._turns.get(path.rpartition("/")[2], 0)
        turns = [{"name": f"turn {number}", "labels": ["Turn"]} for number in range(held)]
        return {"context": "", "resources": turns, "functions": []}

    def _answer(self, connection: Connection, body: dict[str, Any], arrived: float) -> None:
        session = body["sessionId"]
        turn = self._turns[session] = self._turns.get(session, 0) + 1
        number = next(_numbers)
        connection.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding:"
            b" chunked\r\n\r\n"
        )
        said = pieces(number, self._words)
        first = 0.0
        started = time.monotonic() + self._think_s
        for at, piece in enumerate(said):
            time.sleep(max(0.0, started + at * self._gap - time.monotonic()))
            left = connection.send(_chunk(_event("delta", {"content": piece})))
            first = first or left
        whole = {"content": "".join(said), "role": "assistant"}
        left = connection.send(
            _chunk(_event("message", {"sessionId": session, "message": whole, "events": []}))
        )
        connection.send(b"0\r\n\r\n")
        _wire.append(
            {"session": session, "turn": turn, "marker": said[0].strip()}
            | {"arrived": arrived, "first": first, "left": left}
        )


def _event(kind: str, data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _json_response(value: Any) -> bytes:
    data = json.dumps(value).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        len(data),
        data,
    )


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens-per-second", type=float, default=300)
    parser.add_argument("--words", type=int, default=200)
    parser.add_argument("--think-s", type=float, default=0.1)
    options = parser.parse_args()
    agent = Agent(options.tokens_per_second, options.words, options.think_s)
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def accept() -> None:
        while True:
            connected, _ = listener.accept()
            threading.Thread(target=agent.serve, args=(connected,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()

"""Agents and models that fail in every way a network allows: raw sockets, in a thread of their own.

    with serving(Agent(fault=silent)) as peer:
        …  # peer.url

A fault writes what it likes instead of the answer. It meets the requests of the first conversation
alone (the one whose messages carry `FIRST`), so that each test also sees that the second is not
touched by it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import ssl
import struct
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FIRST = "(s1)"
"""Stands in every answer of the agent's first session, and so in every prompt about that
conversation.
"""
SESSION = re.compile(r"\((s\d+)\)")
ASKED = "Please note my appointment with the dentist."
SIGN_OFF = "so long, and thanks for all the fish"
Fault = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[None]]
"""Does something to a connection instead of answering; it is given the answer that was due."""


class NotHttpError(Exception):
    """What came is no HTTP."""


@dataclass
class Request:
    """One request as it came in."""

    method: str
    path: str
    body: dict[str, Any]


@dataclass
class Peer:
    """Answers every request, but those that `meets` with its `fault`; `times` is how often, None
    for always.
    """

    fault: Fault | None = None
    times: int | None = None
    tls: bool = False
    url: str = ""
    met: int = 0
    received: list[Request] = field(default_factory=list)
    _server: asyncio.Server | None = None
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _port: int = 0

    def answer(self, request: Request) -> tuple[bytes, str]:
        """Return the body of the answer and its content type."""
        raise NotImplementedError

    def meets(self, request: Request) -> bool:
        """Say whether the fault is for this request."""
        raise NotImplementedError

    def fault_of(self, request: Request) -> Fault | None:
        """Return the fault that this request meets, None for none."""
        return self.fault if self.fault is not None and self.meets(request) else None

    async def before(self, request: Request) -> None:
        """Do what is to be done before a request is answered."""

    async def after(self, request: Request) -> None:
        """Do what is to be done when a request was answered."""

    async def listen(self) -> None:
        """Begin to listen, again on the same port after a restart."""
        context = None
        if self.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(Path(__file__).with_name("self_signed.pem"))
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self._port, ssl=context, reuse_address=True, limit=1 << 24
        )
        self._port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self.tls else 'http'}://127.0.0.1:{self._port}"

    async def hang_up(self) -> None:
        """Stop listening and drop every connection."""
        assert self._server is not None
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while True:
                request = await _read(reader)
                self.received.append(request)
                body, kind = self.answer(request)
                whole = http(body, content_type=kind)
                await self.before(request)
                wanted = self.times is None or self.met < self.times
                fault = self.fault_of(request) if wanted else None
                if fault is not None:
                    self.met += 1
                    await fault(reader, writer, whole)
                    await writer.drain()
                else:
                    writer.write(whole)
                    await writer.drain()
                    await self.after(request)
        except NotHttpError:
            writer.write(http(b"", "400 Bad Request"))
        except (OSError, asyncio.IncompleteReadError):
            pass  # whoever asked has gone
        finally:
            self._writers.discard(writer)
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Request:
    first = await reader.readexactly(1)
    if first == b"\x16":  # somebody speaks TLS to a server that does not
        raise NotHttpError
    head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    method, path, _ = head.split(" ", 2)
    lengths = [
        line[15:] for line in head.lower().split("\r\n") if line.startswith("content-length:")
    ]
    body = await reader.readexactly(int(lengths[0]) if lengths else 0)
    return Request(method, path, json.loads(body) if body else {})


@dataclass
class Agent(Peer):
    """Speaks the REST protocol; its answers carry the session.

    `forgets` its sessions when it restarts.
    """

    restarts: bool = False
    forgets: bool = False
    says: str = "I made a note of it"
    sessions: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)
    hold: threading.Event | None = None
    """Keeps the second message of the first session waiting until it is set."""
    asked: list[str] = field(default_factory=list)
    _restarted: bool = False

    def answer(self, request: Request) -> tuple[bytes, str]:
        """Answer a session, a message or a look at the object context."""
        if request.path.endswith("/sessions"):
            self.sessions.append(f"s{len(self.sessions) + 1}")
            return _json({"sessionId": self.sessions[-1]})
        if request.method == "GET":
            return _json({"context": "", "resources": [], "functions": []})
        session = request.body["sessionId"]
        content = f"{self.says} ({session})."
        message = {"content": content, "role": "assistant"}
        return _json(
            {"sessionId": session, "chatbot": "b", "message": message, "history": [], "events": []}
        )

    def meets(self, request: Request) -> bool:
        """Meet the messages of the first session with the fault."""
        if self.forgets and self._restarted and self.sessions == ["s1"]:
            return True
        return request.path.endswith("/messages") and request.body["sessionId"] == "s1"

    async def hang_up(self) -> None:
        """Stop listening, drop every connection, and hold nothing back any more."""
        await super().hang_up()
        if self.hold is not None:
            self.hold.set()

    async def before(self, request: Request) -> None:
        """Note what the user said; keep the second message waiting."""
        if request.path.endswith("/messages"):
            self.asked.append(request.body["message"]["content"])
            if self.hold is not None and len(self.asked) == 2:
                await asyncio.to_thread(self.hold.wait, 60)

    async def after(self, request: Request) -> None:
        """Restart once, after the first answer to a message."""
        if request.path.endswith("/messages"):
            self.answered.append(request.body["sessionId"])
            if self.restarts and not self._restarted:
                self._restarted = True
                if self.forgets:
                    self.fault = status(404)
                await self.hang_up()
                await self.listen()


@dataclass
class Models(Peer):
    """The evaluator's and the judge's model on one endpoint; the fault is for one of them."""

    role: str = "evaluator"
    verdict: dict[str, Any] | None = None
    restarts: bool = False

    def answer(self, request: Request) -> tuple[bytes, str]:
        """Play the user over a stream, or judge."""
        if request.body.get("stream"):
            said = SIGN_OFF if ASKED in prompt_of(request) else ASKED
            return _stream(said), "text/event-stream"
        return _json(completion(json.dumps(self.verdict or verdict(0.8))))

    async def after(self, request: Request) -> None:
        """Restart once, after the first answer."""
        if self.restarts:
            self.restarts = False
            await self.hang_up()
            await self.listen()

    def meets(self, request: Request) -> bool:
        """Meet what one of the two is asked about the first conversation."""
        role = "evaluator" if request.body.get("stream") else "judge"
        return role == self.role and FIRST in prompt_of(request)


def prompt_of(request: Request) -> str:
    """Return the instructions and the conversation."""
    return "\n".join(str(message["content"]) for message in request.body["messages"])


def verdict(score: float, *numbers: int) -> dict[str, Any]:
    """Return a verdict that gives each task this score, quoting the agent."""
    task = {
        "scored": "x",
        "score": score,
        "reason": "It said so.",
        "evidence": ["I made a note of it"],
    }
    return {"tone": 0.5, "tasks": [{"task": number, **task} for number in numbers or (1,)]}


def completion(text: str | None, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """Return a whole chat completion."""
    said = {"role": "assistant", "content": text, **message}
    choice = {"index": 0, "message": said, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def _stream(text: str | None, finish: str = "stop", **delta: Any) -> bytes:
    pieces = [({"content": text, **delta}, None), ({}, finish)]
    chunks = [
        {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
         "choices": [{"index": 0, "delta": piece, "finish_reason": end}]}
        for piece, end in pieces
    ]  # fmt: skip
    return (
        b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
        + b"data: [DONE]\n\n"
    )


def _json(value: Any) -> tuple[bytes, str]:
    return json.dumps(value).encode(), "application/json"


def http(
    body: bytes, code: str = "200 OK", content_type: str = "application/json", more: str = ""
) -> bytes:
    """Return a whole HTTP response that keeps the connection."""
    head = (
        f"HTTP/1.1 {code}\r\nContent-Type: {content_type}\r\nContent-Length:"
        f" {len(body)}\r\n{more}\r\n"
    )
    return head.encode() + body


# What can go wrong. Each is given the connection and the answer that was due.


async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, due: bytes) -> None:
    """Send half of the answer, then reset the connection."""
    writer.write(due[: len(due) // 2])
    await writer.drain()
    found: socket.socket = writer.get_extra_info("socket")
    found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, due: bytes) -> None:
    """Say nothing until the other side goes away."""
    await reader.read()


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, due: bytes) -> None:
    """Send the answer so slowly that it takes an hour."""
    for at in range(len(due)):
        writer.write(due[at : at + 1])
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reader.read(), 0.01 if at < 20 else 10)
            return


def status(code: int, more: str = "") -> Fault:
    """Answer with a status and an error."""

    async def fault(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, due: bytes) -> None:
        writer.write(http(b'{"error": {"message": "no"}}', f"{code} Sorry", more=more))

    return fault


def says(body: bytes | dict[str, Any], kind: str = "application/json") -> Fault:
    """Answer 200 with another body."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def fault(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, due: bytes) -> None:
        writer.write(http(data, content_type=kind))

    return fault


def instead(**changes: Any) -> Fault:
    """Answer as was due, with these parts of the JSON changed."""

    async def fault(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, due: bytes) -> None:
        value = json.loads(due.partition(b"\r\n\r\n")[2])
        writer.write(http(json.dumps({**value, **changes}).encode()))

    return fault


def streams(text: str | None, finish: str = "stop", **delta: Any) -> Fault:
    """Answer with a chat stream."""
    return says(_stream(text, finish, **delta), "text/event-stream")


async def fifty_megabytes(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, due: bytes
) -> None:
    """Answer with 50 MB of one JSON text."""
    writer.write(
        b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50000002\r\n\r\n"'
    )
    for _ in range(50):
        writer.write(b"x" * 1_000_000)
        await writer.drain()
    writer.write(b'"')


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, due: bytes) -> None:
    """Stream without an end."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    piece = _stream("again ").split(b"\n\n")[0] + b"\n\n"
    delta = b'event: delta\ndata: {"content": "again "}\n\n'
    block = (piece if b"chat.completion" in due else delta) * 200
    while True:
        writer.write(block)
        await writer.drain()


@contextlib.contextmanager
def serving(*peers: Peer) -> Iterator[Callable[[Coroutine[Any, Any, None]], None]]:
    """Let peers listen in a thread of their own until the context ends; gives what does other work
    there.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="peers")
    thread.start()

    def do(work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, loop).result(60)

    async def leave() -> None:
        for peer in peers:
            await peer.hang_up()
        others = asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]
        if not others:
            return
        await asyncio.wait(others, timeout=300)

    try:
        for peer in peers:
            do(peer.listen())
        yield do
    finally:
        do(leave())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(300)
        loop.close()

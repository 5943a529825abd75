"""A server that answers with the exact bytes that a test gives it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

Handler = Callable[[asyncio.StreamWriter, int], Awaitable[None]]


@dataclass
class Seen:
    """What reached the server: whole requests, and how many of its connections ended."""

    url: str = ""
    requests: list[bytes] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)


def http(
    body: bytes, status: str = "200 OK", content_type: str = "application/json", extra: str = ""
) -> bytes:
    """Return a whole HTTP response."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
    head += f"Connection: close\r\n{extra}\r\n"
    return head.encode() + body


def stream_head() -> bytes:
    """Return the head of a streamed response that ends with the connection."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@contextlib.asynccontextmanager
async def raw_server(handler: Handler) -> AsyncIterator[Seen]:
    """Serve `handler(writer, number of the request)` on 127.0.0.1; the connection closes after
    it.
    """
    seen = Seen()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                (
                    int(line[15:])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                ),
                0,
            )
            body = await reader.readexactly(length)
            seen.requests.append(head + body)
            await handler(writer, len(seen.requests))
            await writer.drain()
            if not writer.transport.is_closing():
                writer.write_eof()
                await reader.read()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            seen.closed.set()
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    seen.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield seen
    finally:
        server.close()

"""Limits on incomplete requests to a server: few connections, for a short time, and the oldest is
closed first.

Anyone on a shared machine or network can connect to a server. A connection that sends an incomplete
request, or nothing, uses a file descriptor until it is closed. `Admission` waits for each
connection's first request, with limits on time and size, and closes the oldest waiting connection
if there are too many. Real clients send their request at once, so they always get in.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bioeval_tui.base.portable import resource
from bioeval_tui.base.text import clean_line

if TYPE_CHECKING:
    from aiohttp import web

BACKLOG = 64
END_OF_HEAD = b"\r\n\r\n"
IDLE_S = 60.0
MOST_LOGGED = 10
RESERVE = 4 * BACKLOG
"""File descriptors for everything else, and for connections that are accepted together before
others are closed.
"""

_UNLIMITED = 1_000_000
"""Stands for no limit of file descriptors: more connections than a server here ever has."""


def most_connections() -> int:
    """Return how many connections this process has file descriptors for: all but `RESERVE`, or half
    of them where the limit is so low that the reserve would leave fewer.
    """
    if resource is None:
        return 10_000  # Windows has no such limit
    limit: int = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return _UNLIMITED
    return max(limit - RESERVE, limit // 2)


@dataclass(frozen=True, slots=True)
class AdmissionLimits:
    """Limits of a connection before its first request is complete, and of connections that are not
    trusted yet.
    """

    seconds: float = 10.0
    size: int = 32_768
    """Bytes."""
    waiting: int = 128
    admitted: int = 256
    """Connections that sent a request, without a call of `Admission.keep`."""
    open: int = field(default_factory=most_connections)
    """All connections.

    Untrusted ones are closed to make room; if there are none, new connections are refused.
    """


def why_not_bound(error: Exception) -> str:
    """Return why a socket cannot be bound to an address, without the address."""
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return clean_line(reason.partition(" (while")[0])


@asynccontextmanager
async def serve_app(
    app: web.Application,
    listener: socket.socket,
    log: str,
    limits: AdmissionLimits | None = None,
    *,
    idle_s: float = IDLE_S,
) -> AsyncIterator[Admission]:
    """Serve an aiohttp application on a bound socket while the block runs, to connections that
    `Admission` passes on.

    At the end, requests in progress get a second, and the socket is closed. `log` names the
    server's log; a connection is kept for `idle_s` seconds for its next request.
    """
    from aiohttp import web  # what only listens for commands, or sends them, does not wait for it

    runner = web.AppRunner(
        app,
        access_log=None,
        logger=_server_log(log),
        shutdown_timeout=1.0,
        keepalive_timeout=idle_s,
        # what is left of a refused request is not read: gzip may make gigabytes of it
        lingering_time=0.0,
    )
    try:
        await runner.setup()
        assert runner.server is not None
        admission = Admission(runner.server, END_OF_HEAD, limits)
        accepting = await admission.listen(listener)
        try:
            yield admission
        finally:
            accepting.close()
            await runner.cleanup()
            admission.close()
    finally:
        await runner.cleanup()
        listener.close()


def _server_log(name: str) -> logging.Logger:
    """Return the log of a server.

    It omits invalid requests, and has at most `MOST_LOGGED` entries per minute.

    Otherwise clients could fill the disk.
    """
    log = logging.getLogger(name)
    if not log.filters:
        log.addFilter(_Seldom())
    return log


class _Seldom(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self._logged: deque[float] = deque(maxlen=MOST_LOGGED)

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a record: not for invalid requests, and at a limited rate."""
        problem = record.exc_info[1] if record.exc_info else None
        if 400 <= getattr(problem, "code", 0) < 500:  # as aiohttp's errors of parsing have it
            return False
        now = time.monotonic()
        if len(self._logged) == MOST_LOGGED and now - self._logged[0] < 60:
            return False
        self._logged.append(now)
        return True


class Admission:
    """The protocol factory for `loop.create_server`: passes a connection on once its first request
    is complete.

    `make` creates the protocol that takes over; `until` marks the end of the first request.
    """

    def __init__(
        self,
        make: Callable[[], asyncio.Protocol],
        until: bytes,
        limits: AdmissionLimits | None = None,
    ) -> None:
        self._make = make
        self.until = until
        self._limits = limits or AdmissionLimits()
        self._waiting: dict[asyncio.Transport, asyncio.TimerHandle] = {}
        self._admitted: dict[asyncio.Transport, None] = {}
        self._kept: set[asyncio.Transport] = set()

    def __call__(self) -> asyncio.Protocol:
        """Return the protocol of a new connection."""
        return _Newcomer(self)

    async def listen(self, listener: socket.socket) -> asyncio.Server:
        """Serve on a bound socket."""
        loop = asyncio.get_running_loop()
        return await loop.create_server(self, sock=listener, backlog=BACKLOG)

    def keep(self, transport: asyncio.BaseTransport | None) -> None:
        """Trust a connection: it is authorised, so it is never closed to make room."""
        if isinstance(transport, asyncio.Transport) and transport in self._admitted:
            del self._admitted[transport]
            self._kept.add(transport)

    def close(self) -> None:
        """Close every connection that is not trusted."""
        for transport in [*self._waiting, *self._admitted]:
            transport.abort()

    def came(self, transport: asyncio.Transport) -> None:
        """Let a connection wait for its first request."""
        loop = asyncio.get_running_loop()
        self._waiting[transport] = loop.call_later(self._limits.seconds, transport.abort)
        if len(self._waiting) > self._limits.waiting:
            self._close_oldest(self._waiting)
        elif len(self._waiting) + len(self._admitted) + len(self._kept) > self._limits.open:
            # Close connections that have sent a request before those that may be about to.
            self._close_oldest(self._admitted or self._waiting)

    def heard(
        self, transport: asyncio.Transport, size: int, *, whole: bool
    ) -> asyncio.Protocol | None:
        """Record how much a waiting connection has sent; return the protocol that takes over once
        that is enough.
        """
        if transport not in self._waiting:
            return None  # it is being closed
        if not whole:
            if size > self._limits.size:
                transport.abort()
            return None
        self.left(transport)
        self._admitted[transport] = None
        if len(self._admitted) > self._limits.admitted:
            self._close_oldest(self._admitted)
        return self._make()

    def left(self, transport: asyncio.Transport) -> None:
        """Forget a connection."""
        timer = self._waiting.pop(transport, None)
        if timer is not None:
            timer.cancel()
        self._admitted.pop(transport, None)
        self._kept.discard(transport)

    def _close_oldest(self, among: Iterable[asyncio.Transport]) -> None:
        oldest = next(iter(among))
        self.left(oldest)
        oldest.abort()


class _Newcomer(asyncio.Protocol):
    """Collects the first bytes of a connection, then passes everything on."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None
        self._inner: asyncio.Protocol | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._admission.came(transport)

    def data_received(self, data: bytes) -> None:
        if self._inner is not None:
            self._inner.data_received(data)
            return
        assert self._transport is not None
        until = self._admission.until
        seen = max(0, len(self._received) - len(until))
        self._received += data
        whole = self._received.find(until, seen) >= 0
        self._inner = self._admission.heard(self._transport, len(self._received), whole=whole)
        if self._inner is not None:
            self._inner.connection_made(self._transport)
            self._inner.data_received(bytes(self._received))
            self._received.clear()

    def eof_received(self) -> bool | None:
        if self._inner is None:
            return None
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        if self._inner is not None:
            self._inner.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        if self._transport is not None:
            self._admission.left(self._transport)
        if self._inner is not None:
            self._inner.connection_lost(error)

"""A request and its answer as it is read: its bytes within time and size."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from pydantic_core import PydanticSerializationError, to_json

from bioeval_tui.evaluate.http.address import without_user
from bioeval_tui.evaluate.http.transport import TRANSPORT_ERRORS, connection_error, received_text
from bioeval_tui.evaluate.seams import Peer, PeerError

MAX_ANSWER_BYTES = 5_000_000
"""Longest answer that is read unless more is allowed; a longer one, or one without an end, is an error."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: to connect, until the first byte, between two pieces, and for the whole answer."""

    connect: float = 5.0
    first_byte: float = 60.0
    between: float = 30.0
    whole: float = 180.0

    def within(self, whole: float) -> Timeouts:
        """Return these limits for an answer that may take so long."""
        connect, first_byte, between = (
            min(limit, whole) for limit in (self.connect, self.first_byte, self.between)
        )
        return Timeouts(connect, first_byte, between, whole)


class Deadline:
    """The time left for one whole answer, in monotonic seconds."""

    def __init__(self, peer: Peer, host: str, timeouts: Timeouts) -> None:
        self.started = 0.0
        self._peer = peer
        self._host = host
        self._whole = timeouts.whole
        self._ends = 0.0

    def start(self) -> None:
        """Begin to count: the request goes out now."""
        self.started = time.monotonic()
        self._ends = self.started + self._whole

    @property
    def is_over(self) -> bool:
        """Whether nothing is left of it. Steps that never wait, as those of an endless stream, meet no timeout."""
        return time.monotonic() >= self._ends

    def step(self, allowed_s: float) -> float:
        """Return how long the next step may take."""
        return max(0.001, min(allowed_s, self._ends - time.monotonic()))

    def error(self, what: str, allowed_s: float, received: bytes = b"") -> PeerError:
        """Return what to raise for a step that took longer than it may."""
        if self.is_over:
            message = f"{self._host} did not finish its answer within {self._whole:g} s"
        else:
            message = f"{self._host} {what} within {allowed_s:g} s"
        return PeerError(self._peer, message, retryable=True, received=received_text(received))


@asynccontextmanager
async def asked(
    client: aiohttp.ClientSession,
    peer: Peer,
    host: str,
    method: str,
    url: str,
    deadline: Deadline,
    timeouts: Timeouts,
    *,
    body: Mapping[str, Any] | None = None,
    secret: Mapping[str, str] | None = None,
    accept: str = "application/json",
    most: int = MAX_ANSWER_BYTES,
) -> AsyncIterator[Body]:
    """Send a request; give its answer of at most `most` bytes, unread, whatever its status. Raises `PeerError`.

    `secret` headers go to the host alone: those of a client go to its proxy as well.
    """
    data = None if body is None else _as_json(body)
    try:
        address, user = without_user(url)
        headers = {**(secret or {}), **user, "Accept": accept}
        if data is not None:
            headers["Content-Type"] = "application/json"
        deadline.start()
        async with asyncio.timeout(deadline.step(timeouts.first_byte)):
            response = await client.request(
                method, address, data=data, headers=headers, allow_redirects=False
            )
    except aiohttp.ServerTimeoutError as error:  # of connecting; a `TimeoutError` like the next
        raise connection_error(peer, host, error) from None
    except TimeoutError:
        raise deadline.error("sent no answer", timeouts.first_byte) from None
    except TRANSPORT_ERRORS as error:
        raise connection_error(peer, host, error) from None
    try:
        yield Body(peer, host, response, deadline, timeouts, most)
    finally:
        response.release()  # closes the connection unless all was read


def _as_json(body: Mapping[str, Any]) -> bytes:
    try:
        return to_json(body)
    except PydanticSerializationError:  # half a character, which UTF-8 cannot hold
        return json.dumps(body).encode()


@contextlib.contextmanager
def keys_hidden(keys: Iterable[str]) -> Iterator[None]:
    """Take keys out of what a `PeerError` tells: peers quote the key that they refuse."""
    try:
        yield
    except PeerError as error:
        for key in keys:
            error.received = error.received.replace(key, "[key]")
            error.args = tuple(str(part).replace(key, "[key]") for part in error.args)
        raise


class Body:
    """The bytes of one response, each piece awaited for so long and all of them so many."""

    def __init__(
        self,
        peer: Peer,
        host: str,
        response: aiohttp.ClientResponse,
        deadline: Deadline,
        timeouts: Timeouts,
        most: int,
    ) -> None:
        self._peer = peer
        self._host = host
        self.response = response
        self._deadline = deadline
        self._between = timeouts.between
        self._most = most
        self.head = b""
        """The first bytes, for saying what was received."""

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the bytes as they arrive."""
        if self.response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise PeerError(self._peer, f"{self._host} compressed its answer although that was not asked for")
        total = 0
        while True:
            try:
                async with asyncio.timeout(self._deadline.step(self._between)):
                    chunk = await self.response.content.readany()
            except TimeoutError:
                raise self._deadline.error("sent nothing more", self._between, self.head) from None
            except TRANSPORT_ERRORS as error:
                failure = connection_error(self._peer, self._host, error)
                failure.received = received_text(self.head)
                raise failure from None
            if not chunk:
                return
            total += len(chunk)
            if len(self.head) < 2000:
                self.head += chunk[:2000]
            if self._deadline.is_over:
                raise self._deadline.error("sent nothing more", self._between, self.head)
            if total > self._most:
                message = f"{self._host} sent more than {self._most:,} bytes as one answer"
                raise PeerError(self._peer, message, received=received_text(self.head))
            yield chunk

    async def read(self) -> bytes:
        """Return all bytes."""
        return b"".join([chunk async for chunk in self.chunks()])

    async def start(self, most: int = 2000) -> str:
        """Return the beginning of an error's body, whatever becomes of the rest."""
        start = b""
        with contextlib.suppress(PeerError):
            async with aclosing(self.chunks()) as chunks:
                async for chunk in chunks:
                    start += chunk
                    if len(start) >= most:
                        break
        return start.decode("utf-8", "replace")


async def drain(chunks: AsyncIterator[bytes], tail_s: float = 1.0) -> None:
    """Read on to the end of a stream, so that the connection can be used again; wait so long for it.

    What comes after the answer is in no latency; an end is not missed.
    """
    with contextlib.suppress(TimeoutError, PeerError):
        async with asyncio.timeout(tail_s):
            async for _ in chunks:
                pass

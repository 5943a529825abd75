"""An answer as it is read: its bytes within time and size, and what must stand in it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from bioeval_tui.agents.transport import TRANSPORT_ERRORS, connection_error, received_text
from bioeval_tui.chat.address import without_user
from bioeval_tui.protocols import Peer, PeerError
from bioeval_tui.text import clean, clean_value

MAX_ANSWER_BYTES = 5_000_000
"""Longest answer that is read; a longer one, or one without an end, is an error."""


MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: to connect, until the first byte, between two pieces, and for the whole answer."""

    connect: float = 5.0
    first_byte: float = 60.0
    between: float = 30.0
    whole: float = 180.0


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

    def step(self, allowed_s: float) -> float:
        """Return how long the next step may take."""
        return max(0.001, min(allowed_s, self._ends - time.monotonic()))

    def error(self, what: str, allowed_s: float, received: bytes = b"") -> PeerError:
        """Return what to raise for a step that took longer than it may."""
        if time.monotonic() >= self._ends:
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
    accept: str = "application/json",
) -> AsyncIterator[Body]:
    """Send a request; give its answer, unread, whatever its status. Raises `PeerError`."""
    try:
        address, headers = without_user(url)
        headers["Accept"] = accept
        data = None
        if body is not None:
            data = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
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
        yield Body(peer, host, response, deadline, timeouts)
    finally:
        response.release()  # closes the connection unless all was read


class Body:
    """The bytes of one response, each piece awaited for so long and all of them so many."""

    def __init__(
        self, peer: Peer, host: str, response: aiohttp.ClientResponse, deadline: Deadline, timeouts: Timeouts
    ) -> None:
        self._peer = peer
        self._host = host
        self.response = response
        self._deadline = deadline
        self._between = timeouts.between
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
            if total > MAX_ANSWER_BYTES:
                message = f"{self._host} sent more than {MAX_ANSWER_BYTES:,} bytes as one answer"
                raise PeerError(self._peer, message, received=received_text(self.head))
            yield chunk

    async def read(self) -> bytes:
        """Return all bytes."""
        return b"".join([chunk async for chunk in self.chunks()])


def parse_object(peer: Peer, host: str, data: bytes | str, content_type: str = "") -> dict[str, Any]:
    """Return the JSON object that came. Raises `PeerError`, not retryable, when it is none."""
    try:
        value = json.loads(data, parse_constant=_no_number)
    except (ValueError, RecursionError):
        start = (
            data[:200].lstrip().lower()
            if isinstance(data, str)
            else data[:200].decode("latin-1").lstrip().lower()
        )
        is_html = "html" in content_type or start.startswith(("<!doctype html", "<html"))
        what = "HTML" if is_html else ("nothing" if not data else "what is not JSON")
        raise PeerError(
            peer, f"{host} answered {what} where JSON was expected", received=received_text(data)
        ) from None
    if _deeper_than(value, MAX_DEPTH):
        raise PeerError(
            peer, f"{host} answered JSON nested deeper than {MAX_DEPTH}", received=received_text(data)
        )
    if not isinstance(value, dict):
        raise PeerError(peer, f"{host} answered JSON that is not an object", received=received_text(data))
    return value


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _deeper_than(value: Any, limit: int) -> bool:
    """Say whether lists and objects stand in one another deeper than that; without recursion, which is the danger."""
    level = [value]
    for _ in range(limit):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


@dataclass(frozen=True, slots=True)
class Message:
    """What stands in the answer to a message."""

    content: str
    events: tuple[Mapping[str, Any], ...]


def parse_message(host: str, value: Mapping[str, Any], session: str) -> Message:
    """Check the response to a message and return what matters of it, cleaned. Raises `PeerError`."""

    def wrong(what: str) -> PeerError:
        shown = json.dumps(value, ensure_ascii=False, default=str)
        return PeerError("agent", f"{host} answered a message wrongly: {what}", received=received_text(shown))

    if "sessionId" not in value:
        raise wrong("sessionId is missing")
    if value["sessionId"] != session:
        raise wrong("sessionId is that of another session")
    message = value.get("message")
    if not isinstance(message, dict):
        raise wrong("message is missing" if message is None else "message is not an object")
    content = message.get("content")
    if not isinstance(content, str):
        raise wrong("message.content is missing" if content is None else "message.content is not text")
    events = value.get("events") or []
    if not isinstance(events, list):
        raise wrong("events is not a list")
    kept = tuple(
        clean_value(event) if isinstance(event, dict) else {"event": clean_value(event)} for event in events
    )
    return Message(clean(content), kept)

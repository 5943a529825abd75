"""Server-sent events, for every peer that streams: by the grammar of the HTML standard (section
9.2.6), which fields without data, comments and a byte order mark belong to.

        self._is_body = False
        if not data or data == [NO_DATA]:
            return []
        return [ServerSentEvent(event, "\n".join(data))]
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from bioeval_tui.peers.seams import PeerError

TAIL_S = 1.0
"""How long to wait for the end of a stream after the answer, in seconds, so that the connection can
be reused.
"""
NO_DATA = "null"
_LINE_END = re.compile(r"\r\n|\n|\r")
_BYTE_ORDER_MARK = "\ufeff"
_BODY_BEGINS = ("{", "[", "<")
"""How the first line of a body begins; no field has such a name."""


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: its name, `message` unless the stream names another, and its data, the lines
    joined.

    `number` counts the events of its stream, from 1.
    """

    event: str
    data: str
    number: int = field(default=0, compare=False)

    @property
    def place(self) -> str:
        """Where it stands, for a sentence."""
        return f"event {self.number:,} of its stream"


class EventDecoder:
    """Decodes one stream, in pieces that may end anywhere; takes time linear in their length."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._begins = True
        self._after_return = False
        """Whether the last piece ended with a carriage return, so that a newline would belong to
        it.
        """
        self._line: list[str] = []
        """The pieces of the line that has not ended yet."""
        self._event = ""
        self._data: list[str] = []
        self._is_body = False
        """Whether the data is a body without fields."""
        self._number = 0

    def feed(self, piece: bytes, *, is_last: bool = False) -> list[ServerSentEvent]:
        """Return the events that a piece completes."""
        text = self._decode(piece, is_last)
        if text and self._begins:
            self._begins = False
            text = text.removeprefix(_BYTE_ORDER_MARK)
        if text and self._after_return:
            text = text.removeprefix("\n")
            self._after_return = False
        self._after_return = self._after_return or text.endswith("\r")
        first, *others = _LINE_END.split(text)
        self._line.append(first)
        found = []
        for line in others:
            found += self._take("".join(self._line))
            self._line = [line]
        if is_last:
            found += [*self._take("".join(self._line)), *self._take("")]
        return found

    def _take(self, line: str) -> list[ServerSentEvent]:
        """Add a whole line; return the event that it ends."""
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        # A line with `{` begins the next object.
        if self._is_body and name != "data" and not line.startswith("{"):
            self._data.append(line)
            return []
        begins_body = line.startswith(_BODY_BEGINS)
        ended: list[ServerSentEvent] = []
        if self._data and (begins_body or self._is_body):
            ended = self._dispatch()
        if begins_body:
            self._is_body = True
            self._data.append(line)
        elif name == "event":
            self._event = value
        elif name == "error":
            self._event = "error"
            self._data.append(value)
        elif name == "data" and not value.startswith(":"):
            self._data.append(value)
        return ended

    def _dispatch(self) -> list[ServerSentEvent]:
        event, self._event = self._event or "message", ""
        data, self._data = self._data, []
        self._is_body = False
        if not data or data == [NO_DATA]:
            return []
        self._number += 1
        return [ServerSentEvent(event, "\n".join(data), self._number)]


async def read_events(pieces: AsyncIterator[bytes]) -> AsyncIterator[ServerSentEvent]:
    """Yield the events of a stream as they arrive."""
    decoder = EventDecoder()
    async for piece in pieces:
        for event in decoder.feed(piece):
            yield event
    for event in decoder.feed(b"", is_last=True):
        yield event


async def drain(events: AsyncIterator[object]) -> bool:
    """Read to the end of a stream, for at most `TAIL_S` seconds, so that the connection can be
    reused; return whether it ended.

    After the whole answer this is no latency. If another request follows for the same answer, it
    is: else an agent could work in it, and nobody would count that.
    """
    with contextlib.suppress(TimeoutError, PeerError):
        async with asyncio.timeout(TAIL_S):
            async for _ in events:
                pass
            return True
    return False

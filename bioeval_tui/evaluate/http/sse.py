"""Server-sent events, as the HTML standard defines their parsing, from bytes as they arrive."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event; `kind` is `message` where the stream gives none."""

    kind: str
    data: str


class EventParser:
    """Takes bytes in any slices and gives whole events."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._rest: list[str] = []
        self._after_return = False
        self._kind = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Yield the events that end in this chunk."""
        arrived = self._decoder.decode(chunk)
        if self._after_return and arrived:
            arrived = arrived.removeprefix(
                "\n"
            )  # the other half of a line's end that was taken for a whole one
            self._after_return = False
        self._rest.append(arrived)
        if "\n" not in arrived and "\r" not in arrived:
            return  # Joining is left for when a line ends, else a long line would be copied for every chunk.
        self._after_return = arrived.endswith("\r")
        lines = "".join(self._rest).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = [lines.pop()]
        for line in lines:
            if event := self._line(line):
                yield event

    def _line(self, line: str) -> ServerEvent | None:
        if not line:
            kind, data = self._kind or "message", self._data
            self._kind, self._data = "", []
            return ServerEvent(kind, "\n".join(data)) if data else None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data.append(value)
        return None

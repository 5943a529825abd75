"""When bytes of an answer arrived, as the kernel says: a busy program makes no peer look slow."""

from __future__ import annotations

import contextlib
import math
import platform
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

# asm-generic/socket.h, which Python does not name; other architectures have other numbers.
_SO_TIMESTAMPNS = 35
STAMPED = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
"""Whether the kernel provides timestamps."""

_SPACE = 64
"""Bytes for what the kernel says beside the data: its timestamp, with a header."""

MOST_S = 0.5
"""Older timestamps are ignored if the clock was set since the last one, by more than so many
seconds, or the machine has slept: an arrival may be told too early by so many."""

_ONE_MOMENT_S, _MOST_READINGS = 0.0002, 3
"""Both clocks are read again, so many times at most, if reading them took longer than that."""


class Arrivals:
    """Creates the sockets of one client, whose answers arrive one after the other, and records when
    bytes arrive.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`clock` returns monotonic time, and `wall` the kernel's, in seconds."""
        self._clock, self._wall = clock, wall
        self._at: float | None = None
        read_at, read_wall = self._read_clocks()
        self._ahead = read_wall - read_at
        """By how much the kernel's clock was ahead of the monotonic one when it was last read."""

    def make_socket(self, address: tuple[Any, ...]) -> socket.socket:
        """Return a socket for an address from `getaddrinfo`."""
        family, kind, protocol = address[:3]
        if not STAMPED:
            return socket.socket(family, kind, protocol)
        made = _Stamped(family, kind, protocol)
        made.arrivals = self
        with contextlib.suppress(OSError):
            made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        return made

    def last(self) -> float:
        """Return when the latest bytes that were read arrived, in monotonic seconds; never later
        than now.
        """
        if self._at is None:
            return self._clock()
        return self._at

    def _read_clocks(self) -> tuple[float, float]:
        """Return the monotonic time and the kernel's at one moment.

        Whoever has to wait for a processor in between would place an answer before its question.
        """
        for _ in range(_MOST_READINGS):
            before, wall, now = self._clock(), self._wall(), self._clock()
            if now - before <= _ONE_MOMENT_S:
                break
        return now, wall

    def note(self, ancillary: list[tuple[int, int, bytes]]) -> None:
        """Store the kernel's timestamp of received bytes."""
        now, wall = self._read_clocks()
        late_s, most_s = 0.0, MOST_S
        for _, kind, data in ancillary:
            if kind == _SO_TIMESTAMPNS and len(data) >= struct.calcsize("ll"):
                seconds, nanoseconds = struct.unpack_from("ll", data)
                late_s = wall - seconds - nanoseconds / 1e9
                ahead, self._ahead = self._ahead, wall - now
                # However long this program was busy, the bytes came when the kernel says.
                if abs(self._ahead - ahead) < MOST_S:
                    most_s = math.inf
        self._at = now
        if 0 <= late_s < most_s:
            self._at -= late_s


class _Stamped(socket.socket):
    """A socket that requests a timestamp with every read."""

    arrivals: Arrivals

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        data, ancillary, _, _ = self.recvmsg(bufsize, _SPACE, flags)
        self.arrivals.note(ancillary)
        return data

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        room = memoryview(buffer)[: nbytes or None]
        count, ancillary, _, _ = self.recvmsg_into([room], _SPACE, flags)
        self.arrivals.note(ancillary)
        return count

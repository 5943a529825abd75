"""When bytes of an answer arrived, as the kernel says: a busy program makes no peer look slow."""

from __future__ import annotations

import contextlib
import platform
import socket
import struct
import sys
import time
from typing import Any

# asm-generic/socket.h, which Python does not name; other architectures have other numbers.
_SO_TIMESTAMPNS = 35
STAMPED = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
"""Whether the kernel provides timestamps."""

_SPACE = 64
"""Bytes for what the kernel says beside the data: its timestamp, with a header."""

_MOST_S = 0.5
"""Older timestamps are ignored: the clock was set, or this process was suspended,
which is reported elsewhere."""


class Arrivals:
    """Creates the sockets of one client, whose answers arrive one after the other, and records when
    bytes arrive.
    """

    def __init__(self) -> None:
        self._at: float | None = None

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
            return time.monotonic()
        return self._at

    def note(self, ancillary: list[tuple[int, int, bytes]]) -> None:
        """Store the kernel's timestamp of received bytes."""
        now = time.monotonic()
        late_s = 0.0
        for _, kind, data in ancillary:
            if kind == _SO_TIMESTAMPNS and len(data) >= struct.calcsize("ll"):
                seconds, nanoseconds = struct.unpack_from("ll", data)
                late_s = time.time() - seconds - nanoseconds / 1e9
        self._at = now
        if 0 <= late_s < _MOST_S:
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

"""Watches one process: the files it writes, calls and starts; the time and memory of each case.

Python's audit events show what Python code opens, connects to and starts. Libraries in C (HDF5,
SQLite, Arrow) do not announce what they open, so files that nobody may touch are watched by the
kernel (`Canaries`).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

CASE_CPU_S = 5.0
CASE_MB = 500
ADDRESS_SPACE_MB = 4000
"""What one process may reserve beyond what it has: an allocation of terabytes must not end the
machine.
"""

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PATHS = {
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
}
_STARTS = {
    "subprocess.Popen",
    "os.exec",
    "os.posix_spawn",
    "os.system",
    "os.fork",
    "os.forkpty",
    "os.spawn",
}
_MODIFY, _ACCESS, _OPEN, _CREATE = 0x2, 0x1, 0x20, 0x100


class Hang(BaseException):
    """A case took more than its processor time.

    No `Exception`, so that nothing takes it for one of its own.
    """


class Watch:
    """Notes what a case does that it may not.

    One a process, because an audit hook stays for good.
    """

    def __init__(self, folders: list[Path]) -> None:
        self.allow(*folders)
        self._active = False
        self.ports: set[int] = set()
        """Where a case may connect to on 127.0.0.1."""
        self.noticed: list[str] = []
        sys.addaudithook(self._event)
        signal.signal(signal.SIGPROF, self._too_long)

    def allow(self, *folders: Path) -> None:
        """Let cases write below these folders and nowhere else."""
        self._folders = [folder.resolve() for folder in folders]

    def limit_address_space(self) -> None:
        """Keep this process from reserving much more than it has now. Linux only."""
        if sys.platform.startswith("linux"):
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            most = pages * resource.getpagesize() + ADDRESS_SPACE_MB * 1_000_000
            resource.setrlimit(resource.RLIMIT_AS, (most, most))

    @contextlib.contextmanager
    def case(self) -> Iterator[list[str]]:
        """Watch one case; gives the list of what was noticed, filled at the end."""
        self.noticed = found = []
        before = _megabytes("VmRSS")
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
        signal.setitimer(signal.ITIMER_PROF, CASE_CPU_S)
        # A module that is imported meanwhile would write its bytecode, which is no escape.
        kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        self._active = True
        try:
            yield found
        finally:
            self._active = False
            sys.dont_write_bytecode = kept
            signal.setitimer(signal.ITIMER_PROF, 0)
        grown = _megabytes("VmHWM") - before
        if grown > CASE_MB:
            found.append(f"took {grown:,.0f} MB")

    def next_look(self) -> None:
        """Give the next part of a case its own time: a case may be looked at several times."""
        signal.setitimer(signal.ITIMER_PROF, CASE_CPU_S)

    def _too_long(self, number: int, frame: FrameType | None) -> None:
        where = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "?"
        raise Hang(f"more than {CASE_CPU_S:g} s of processor time, at {where}")

    def _event(self, name: str, arguments: tuple[Any, ...]) -> None:
        if not self._active:
            return
        if name == "open":
            path, _, flags = arguments
            if (
                isinstance(flags, int)
                and flags & _WRITES
                and isinstance(path, str | bytes | os.PathLike)
            ):
                self._check_path(name, path)
        elif name in _PATHS:
            for path in arguments[: 2 if name in ("os.rename", "os.link") else 1]:
                if isinstance(path, str | bytes | os.PathLike):
                    self._check_path(name, path)
        elif name in _STARTS:
            self.noticed.append(f"{name} {arguments[0]!r:.100}")
        elif name == "sqlite3.connect":
            self._check_path(name, arguments[0])
        elif name in ("socket.connect", "socket.sendto"):
            self._check_address(name, arguments[1])
        elif name == "socket.getaddrinfo" and arguments[0] not in ("127.0.0.1", "localhost", None):
            self.noticed.append(f"asked for the address of {arguments[0]!r:.100}")

    def _check_path(self, what: str, path: str | bytes | os.PathLike[Any]) -> None:
        full = Path(os.path.realpath(os.fsdecode(path)))
        if full != Path(os.devnull) and not any(
            full.is_relative_to(folder) for folder in self._folders
        ):
            self.noticed.append(f"{what} {full}")

    def _check_address(self, what: str, address: Any) -> None:
        if isinstance(address, tuple) and address[0] == "127.0.0.1" and address[1] in self.ports:
            return
        self.noticed.append(f"{what} {address!r:.100}")


class Canaries:
    """Files that nobody may touch: the kernel says whether somebody did (inotify; Linux)."""

    def __init__(self, *paths: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._libc.inotify_init1(os.O_NONBLOCK)
        assert self._descriptor >= 0, os.strerror(ctypes.get_errno())
        for path in paths:
            mask = _OPEN | _ACCESS | _MODIFY | (_CREATE if path.is_dir() else 0)
            assert self._libc.inotify_add_watch(self._descriptor, os.fsencode(path), mask) >= 0, (
                path
            )

    def touched(self) -> bool:
        """Say whether any was opened, read, written or got company since the last question."""
        found = False
        with contextlib.suppress(BlockingIOError):
            while os.read(self._descriptor, 65536):
                found = True
        return found

    def close(self) -> None:
        """Stop watching."""
        os.close(self._descriptor)


def _megabytes(field: str) -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    found = re.search(rf"{field}:\s+(\d+) kB", status.read_text())
    return int(found[1]) * 1024 / 1e6 if found else 0.0

"""Remove what only POSIX has from every Python with this folder on its PYTHONPATH.

What the standard library itself needs on this system is imported before.
"""

import asyncio  # noqa: F401
import getpass  # noqa: F401
import os
import select
import subprocess  # noqa: F401
import sys
import tempfile  # noqa: F401
from types import ModuleType

HIDDEN = ("fcntl", "resource", "termios", "pty", "tty", "pwd", "grp")
GONE = (
    "pread",
    "pwrite",
    "fork",
    "forkpty",
    "waitid",
    "sched_getaffinity",
    "setsid",
    "getpgid",
    "openpty",
)


class _Msvcrt(ModuleType):
    """Locks as Windows does: one byte at the current place, until the descriptor is closed; no lock
    twice.
    """

    LK_LOCK, LK_NBLCK = 1, 2
    held: dict[tuple[int, int, int], int] = {}  # noqa: RUF012

    def locking(self, descriptor: int, mode: int, size: int) -> None:
        stat = os.fstat(descriptor)
        place = (stat.st_dev, stat.st_ino, os.lseek(descriptor, 0, os.SEEK_CUR))
        holder = self.held.get(place)
        if holder is not None and holder != descriptor and _same_file(holder, place):
            raise OSError(36, "Resource deadlock avoided")
        self.held[place] = descriptor


def _same_file(descriptor: int, place: tuple[int, int, int]) -> bool:
    try:
        stat = os.fstat(descriptor)
    except OSError:
        return False
    return (stat.st_dev, stat.st_ino) == place[:2]


for name in HIDDEN:
    sys.modules[name] = None  # type: ignore[assignment]
for name in GONE:
    if hasattr(os, name):
        delattr(os, name)
# From Python 3.13 on, it asks for what is gone.
os.process_cpu_count = os.cpu_count  # type: ignore[attr-defined]
for name in ("poll", "epoll"):
    if hasattr(select, name):
        delattr(select, name)
sys.modules["msvcrt"] = _Msvcrt("msvcrt")

"""Differences between operating systems: file locks, positioned reads, detached processes."""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
from pathlib import Path
from typing import Any

LOCKED_AT = 2**31 - 2
"""The position of the byte that is locked on Windows: a lock also blocks readers, and no file has
lines there.
"""

BINARY: int = getattr(os, "O_BINARY", 0)
"""A flag for `os.open`: Windows would translate ends of lines."""

WITHOUT_CONSOLE: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(
    subprocess, "CREATE_NO_WINDOW", 0
)
"""`creationflags` for Windows that correspond to `start_new_session`: outlive the terminal, and get
none of its keys.
"""


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


resource: Any = _module("resource")
"""The limits of processes; None on Windows."""


def lock(descriptor: int, *, wait: bool = False) -> None:
    """Lock an open file against other processes of this program until it is closed; readers are not
    kept out.

    Raises:
        BlockingIOError: it is locked already, and `wait` is not set.
    """
    fcntl = _module("fcntl")
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return
    msvcrt = _module("msvcrt")
    if msvcrt is None:
        return  # a system with neither starts no processes either
    with _kept_place(descriptor):
        while True:
            os.lseek(descriptor, LOCKED_AT, os.SEEK_SET)
            try:
                msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
                return
            except OSError as error:
                if not wait:
                    raise BlockingIOError(error.errno, "the file is locked") from None


def is_same_file(descriptor: int, path: Path) -> bool:
    """Return whether an open file is the one that `path` names now: it may have been removed or
    replaced since.
    """
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def read_part(descriptor: int, size: int, offset: int) -> bytes:
    """Return up to `size` bytes from `offset` without moving the file's position."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, offset)
    with _kept_place(descriptor):
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, size)


def write_part(descriptor: int, data: bytes, offset: int) -> None:
    """Write a few bytes at `offset` without moving the file's position."""
    if hasattr(os, "pwrite"):
        os.pwrite(descriptor, data, offset)
        return
    with _kept_place(descriptor):
        os.lseek(descriptor, offset, os.SEEK_SET)
        os.write(descriptor, data)


@contextlib.contextmanager
def _kept_place(descriptor: int) -> Any:
    place = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        yield
    finally:
        os.lseek(descriptor, place, os.SEEK_SET)

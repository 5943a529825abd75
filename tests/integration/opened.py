"""See which files below a folder any process opens (Linux's inotify; elsewhere nothing is seen)."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from pathlib import Path

_IN_OPEN, _IN_OVERFLOW, _IN_FOLDER = 0x20, 0x4000, 0x40000000
_HEAD = struct.Struct("iIII")


class Opened:
    """Watches from its making on; `close` ends it."""

    def __init__(self, root: Path) -> None:
        self._descriptor = -1
        self._root = root
        self._folders: dict[int, Path] = {}
        if sys.platform != "linux":
            return
        system = ctypes.CDLL(None, use_errno=True)
        self._descriptor = system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
            number = system.inotify_add_watch(self._descriptor, bytes(folder), _IN_OPEN)
            assert number >= 0, os.strerror(ctypes.get_errno())
            self._folders[number] = folder

    def files(self) -> set[str]:
        """Return the files that were opened since the last call, as paths below the folder."""
        found: set[str] = set()
        while self._descriptor >= 0:
            try:
                events = os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                break
            while events:
                number, mask, _, size = _HEAD.unpack_from(events)
                assert not mask & _IN_OVERFLOW, "events were lost"
                name = events[_HEAD.size : _HEAD.size + size].rstrip(b"\0").decode()
                if name and not mask & _IN_FOLDER:
                    found.add(str((self._folders[number] / name).relative_to(self._root)))
                events = events[_HEAD.size + size :]
        return found

    def close(self) -> None:
        """Stop watching."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

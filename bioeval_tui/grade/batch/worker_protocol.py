"""What the program and a grading worker say to each other. Both import this.

The first line sent to a worker that no template forked is its setup. A worker says `READY`. Every
other line is a chunk of items of one task, `[[number, task id, path as shown or null, absolute path
or null, kind, agent or null, why it is refused or null], …]` (see `feeding.BatchItem` for the
kinds). Answers are lines `number<TAB>outcome`. Before each submission its number and the time are
written to a page that both have open, so that the program knows what a worker was doing when it
died or hung.
"""

from __future__ import annotations

import os
import struct
import threading
from pathlib import Path
from typing import NamedTuple

from bioeval_tui.base.portable import BINARY, read_part, write_part

READY = b"ready\n"
"""What a worker, or a template, says when it has loaded its libraries."""

THREADS = b"threads"
"""What a template says that cannot fork, because the libraries have started threads."""


class Wire(NamedTuple):
    """A `BatchItem` as a JSON array, the protocol of workers, which may run in another Python: its
    links are looked at.

    `shown` is the path in reports, `absolute` the one that is opened, and `refused` says why the
    file is not read.
    """

    number: int
    task_id: str
    shown: str | None
    absolute: str | None
    kind: str
    agent: str | None
    refused: str | None


IDLE = -1
"""The number on the page while nothing is graded."""

UNKNOWN = -2
"""The number that is read of a page from which a task's code took it."""

_NUMBER, _BEGAN = struct.Struct("=q"), struct.Struct("=d")


class ProgressPage:
    """The number of the submission being graded, and when it began (seconds of the monotonic
    clock).

    Not mapped into memory: a task's code can truncate the file, and who touches a mapped page that
    is gone is killed by SIGBUS. This program would be, too.
    """

    def __init__(self, path: Path, *, new: bool = False) -> None:
        flags = os.O_RDWR | BINARY
        if new:
            flags |= os.O_CREAT | os.O_EXCL
        self._descriptor = os.open(path, flags, 0o600)
        self._closed = False
        self._using = threading.Lock()  # a number of a closed file may be another file's by now
        if new:
            self.note_ended()

    def note_begun(self, number: int, began: float) -> None:
        """Note that a submission is graded from now on.

        The program reads the page at any time, the number first. So the time is written first: a
        number that is read with an earlier time would seem to have exceeded its time limit.
        """
        write_part(self._descriptor, _BEGAN.pack(began), _NUMBER.size)
        write_part(self._descriptor, _NUMBER.pack(number), 0)

    def note_ended(self) -> None:
        """Note that nothing is graded."""
        write_part(self._descriptor, _NUMBER.pack(IDLE), 0)

    def read(self) -> tuple[int, float]:
        """Return the number and the time; `UNKNOWN` and 0 for what is not there.

        Raises:
            ValueError: the page was closed.
        """
        with self._using:
            if self._closed:
                raise ValueError("closed")
            number = read_part(self._descriptor, _NUMBER.size, 0)
            began = read_part(self._descriptor, _BEGAN.size, _NUMBER.size)
        read_number, read_time = UNKNOWN, 0.0
        if len(number) == _NUMBER.size:
            (read_number,) = _NUMBER.unpack(number)
        if len(began) == _BEGAN.size:
            (read_time,) = _BEGAN.unpack(began)
        return read_number, read_time

    def close(self) -> None:
        """Close it. Safe to call twice and from another thread."""
        with self._using:
            if not self._closed:
                self._closed = True
                os.close(self._descriptor)

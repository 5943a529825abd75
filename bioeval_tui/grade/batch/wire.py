"""The protocol between the program and its grading workers.

The first line sent to a worker that no template forked is its setup. A worker says `READY`. Every other line is a chunk
of items of one task,
`[[number, task id, path as shown or null, absolute path or null, kind, agent or null, why it is refused or null], …]`
(see `feeding.BatchItem` for the kinds). Answers are lines `number<TAB>outcome`. Before each submission its number and the
time are written to a shared page, so that the program knows what a worker was doing when it died or hung.
"""

from __future__ import annotations

import mmap
import struct

PROGRESS = struct.Struct("=qd")
"""The shared page: the number of the submission being graded, and when it began (seconds of the monotonic clock)."""

IDLE = -1
"""The value while nothing is graded."""

_NUMBER, _BEGAN = struct.Struct("=q"), struct.Struct("=d")

READY = b"ready\n"
"""What a worker, or a template, says when it has loaded its libraries."""

Wire = tuple[int, str, str | None, str | None, str, str | None, str | None]
"""An item in the form that is sent to a worker: number, task, shown path, absolute path, kind, agent, and why the file
is invalid without being read."""

THREADS = b"threads"
"""What a template says that cannot fork, because the libraries have started threads."""

START_TIMEOUT_S = 120.0
"""How long a worker, or a template, may take to load its libraries, in seconds."""

WORKER_PYTHON = "BIOEVAL_WORKER_PYTHON"
"""Names another Python, for graders that need packages which this program's own does not have."""


def note_begun(page: mmap.mmap, number: int, began: float) -> None:
    """Note that a submission is graded from now on.

    The program reads the page at any time, the number first. So the time is written first: a number that is read with an
    earlier time would seem to have exceeded its time limit. Not by `pack_into`, which first writes zeros.
    """
    page[_NUMBER.size : PROGRESS.size] = _BEGAN.pack(began)
    page[: _NUMBER.size] = _NUMBER.pack(number)


def note_ended(page: mmap.mmap) -> None:
    """Note that nothing is graded."""
    page[: _NUMBER.size] = _NUMBER.pack(IDLE)

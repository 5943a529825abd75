"""One writer at a time: a lock on an open file, held until the file is closed or its process is gone."""

from __future__ import annotations

import sys
from pathlib import Path

from bioeval_tui.errors import RecordingError


def lock(descriptor: int, path: Path, *, wait: bool = False) -> None:
    """Lock an open file against other processes of this program; readers are not kept out.

    Raises:
        RecordingError: another process holds the lock, and `wait` is not set.
    """
    if sys.platform == "win32":
        return  # a lock there would keep viewers from reading; the file that says who owns a run must do
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        raise RecordingError(f"{path.name}: another process writes it") from None

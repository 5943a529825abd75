"""The .live file beside a recording: process id, port and token of the engine that owns the run."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from bioeval_tui.errors import RecordingError, StorageError
from bioeval_tui.files import write_whole
from bioeval_tui.portable import BINARY, is_at, lock
from bioeval_tui.record.runs import live_path


@dataclass(frozen=True, slots=True)
class LiveInfo:
    """An engine: process id and start time, and the port and token for intents."""

    pid: int
    started: str
    port: int
    token: str

    def alive(self) -> bool:
        """Return whether the process is still running (a reused process id does not count)."""
        if sys.platform == "win32" or not self.started:
            return _listens(self.port)  # the process id may have been reused
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return self.started == process_start(self.pid)


def write_live(recording: Path, info: LiveInfo) -> None:
    """Write the file atomically, readable only by its owner.

    Raises:
        RecordingError: it cannot be written.
    """
    try:
        # It is meaningless after a power failure, so there is no need to sync it.
        write_whole(live_path(recording), json.dumps(asdict(info)), mode=0o600, sync=False)
    except StorageError as error:
        raise RecordingError(str(error)) from None


def read_live(recording: Path) -> LiveInfo | None:
    """Return the owner of the run; None without one."""
    try:
        data = json.loads(live_path(recording).read_text("utf-8"))
        return LiveInfo(int(data["pid"]), str(data["started"]), int(data["port"]), str(data["token"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remove_live(recording: Path) -> None:
    """Remove the file; the run is no longer owned."""
    with contextlib.suppress(OSError):
        live_path(recording).unlink()


def is_live(recording: Path) -> bool:
    """Return whether an engine owns the run right now."""
    info = read_live(recording)
    return info is not None and info.alive()


@contextlib.contextmanager
def only_here(recording: Path) -> Iterator[None]:
    """Lock a recording against writers, so that what is read inside the block stays valid.

    Raises:
        RecordingError: a process writes it, or it was deleted or moved just now.
    """
    if is_live(recording):
        raise RecordingError(f"{recording.stem} is in progress; cancel it first")
    try:
        descriptor = os.open(recording, os.O_RDONLY | BINARY)
    except FileNotFoundError:
        yield  # a link without target, or already deleted: nobody can write it
        return
    except OSError as error:
        raise RecordingError(f"{recording}: cannot be read: {error.strerror}") from None
    try:
        try:
            lock(descriptor)
        except OSError:
            raise RecordingError(
                f"{recording.stem} is in progress or being judged again in another process; wait for it or cancel it"
            ) from None
        if not is_at(descriptor, recording):
            raise RecordingError(f"{recording.name}: was just deleted or moved; try again")
        if os.name == "nt":  # an open file cannot be deleted there
            os.close(descriptor)
            descriptor = -1
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def process_start(pid: int) -> str:
    """Return when a process started, in the kernel's own clock; empty if the system does not report it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        state, *rest = stat.rpartition(")")[2].split()
        return "" if state == "Z" else rest[18]
    except (OSError, IndexError, ValueError):
        return ""


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 0.2):
            return True
    except OSError:
        return False

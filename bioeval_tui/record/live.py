"""The file beside a recording that exists while an engine owns the run: who it is and how to reach it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from bioeval_tui.record.paths import live_path


@dataclass(frozen=True, slots=True)
class LiveInfo:
    """An engine: process id and its start time, the port that takes intents, and the token it asks for."""

    pid: int
    started: str
    port: int
    token: str

    def alive(self) -> bool:
        """Say whether that very process still runs (a reused process id does not count)."""
        if sys.platform == "win32" or not self.started:
            return _listens(self.port)  # the process id alone may be somebody else's by now
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return self.started == process_start(self.pid)


def write_live(recording: Path, info: LiveInfo) -> None:
    """Write the file for its owner alone, whole or not at all."""
    path = live_path(recording)
    part = path.with_suffix(".live-part")
    with contextlib.suppress(FileNotFoundError):
        part.unlink()
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(asdict(info), file)
    part.replace(path)


def read_live(recording: Path) -> LiveInfo | None:
    """Return who owns the run, or None when nobody says so."""
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
    """Say whether an engine owns the run right now."""
    info = read_live(recording)
    return info is not None and info.alive()


def process_start(pid: int) -> str:
    """Return when a process started, in the kernel's own clock; empty where the system does not tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        state, *rest = stat.rpartition(")")[2].split()
        return "" if state == "Z" else rest[18]
    except (OSError, IndexError, ValueError):
        return ""


def _listens(port: int) -> bool:
    import socket  # where it is needed: listing runs has no use for it

    try:
        with socket.create_connection(("127.0.0.1", port), 0.2):
            return True
    except OSError:
        return False

"""The program in a pseudo-terminal: keys in, raw bytes out."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path

LONGEST_S = 60.0
QUIET_S = 0.3
KEY_S = 1.0
SEQUENCE = re.compile(
    rb"\x1b\[(?P<private>[<=>?]?)[0-9;:]*(?P<end>[ -/]*[@-~])"
    rb"|\x1b(?P<string>[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\))"
    rb"|\x1b(?P<short>[ -/]*[0-Z\\^-~])"
)


def shapes(written: bytes) -> set[tuple[bytes | None, ...]]:
    """Return which kinds of sequences were written: numbers do not matter, strings do."""
    return {(f["private"], f["end"], f["string"], f["short"]) for f in SEQUENCE.finditer(written)}


def typed(
    command: Sequence[str], keys: Sequence[bytes], environment: dict[str, str], folder: Path
) -> tuple[bytes, int | None]:
    """Run a command in a terminal of 140×40, type `keys` one by one; return what it wrote, and its exit code (None: killed)."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=folder, start_new_session=True
    )
    os.close(slave)
    written = b""
    try:
        written += _until_quiet(master, b"\x1b[?1049h")
        for key in keys:
            if process.poll() is not None:
                break
            os.write(master, key)
            written += _until_quiet(master, longest_s=KEY_S)
        code = _left(process, master)
    finally:
        process.kill()
        process.wait()
        os.close(master)
    return written, code


def _left(process: subprocess.Popen[bytes], master: int) -> int | None:
    """Close dialogs and leave, as often as it takes on a busy machine; return the exit code, None if it never ended."""
    end = time.monotonic() + LONGEST_S
    while process.poll() is None and time.monotonic() < end:
        for key in (b"\x1b", b"\x11"):
            with contextlib.suppress(OSError):
                os.write(master, key)
                _until_quiet(master, longest_s=KEY_S)
    return process.poll()


def _until_quiet(master: int, mark: bytes = b"", longest_s: float = LONGEST_S) -> bytes:
    """Return what is written until `mark` was seen and nothing more comes for a moment; a replay is never quiet."""
    seen = b""
    end = time.monotonic() + longest_s
    while time.monotonic() < end:
        ready, _, _ = select.select([master], [], [], QUIET_S)
        if not ready:
            if mark in seen:
                return seen
            continue
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other end is closed
            return seen
        if not piece:
            return seen
        seen += piece
    return seen

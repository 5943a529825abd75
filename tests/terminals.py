"""A program in its own pseudo-terminal: send keys, and read every byte that it writes.

It is the program's controlling terminal, as in life. However a test ends, its end of the terminal
is closed with it, and the system hangs up: no program is left behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.forked import Program, can_fork

BY_NAME = [sys.executable, "-m", "bioeval_tui"]
"""How the program is started: tests whose environment allows it get a fork of one that has loaded
the screens, which is a second less for each.
"""
LONGEST_S = 120.0
QUIET_S = 0.3
SEQUENCE = re.compile(
    rb"\x1b\[(?P<private>[<=>?]?)[0-9;:]*(?P<end>[ -/]*[@-~])"
    rb"|\x1b(?P<string>[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\))"
    rb"|\x1b(?P<short>[ -/]*[0-Z\\^-~])"
)
# In a process of its own: code between fork and exec may hang in a test that has threads.
_TAKE_AND_RUN = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1],"
    " sys.argv[1:])"
)


def shapes(written: bytes) -> set[tuple[bytes | None, ...]]:
    """Return which kinds of sequences were written: numbers do not matter, strings do."""
    return {(f["private"], f["end"], f["string"], f["short"]) for f in SEQUENCE.finditer(written)}


class Terminal:
    """A command in a terminal; killed, if it has not ended, when the context does.

    `written` is all that was read.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        folder: Path | None = None,
        columns: int = 140,
        rows: int = 40,
        before: str = "",
    ) -> None:
        """`before` is code that breaks the program: it runs before the command, in a fork."""
        self.written = b""
        self._master, slave = pty.openpty()
        self.resize(columns, rows)
        self.process: subprocess.Popen[Any]
        if [*command[: len(BY_NAME)]] == BY_NAME and can_fork(environment):
            self.process = Program(
                command[len(BY_NAME) :], environment, folder,
                descriptors=[slave] * 3, terminal=True, before=before,
            )  # fmt: skip
        else:
            assert not before, "only a fork runs it"
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-S", "-c", _TAKE_AND_RUN, *command],
                stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=folder,
                start_new_session=True,
            )  # fmt: skip
        os.close(slave)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.close()

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size; the program is told by the system."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: bytes) -> None:
        """Type; a program that has just left hears nothing."""
        with contextlib.suppress(OSError):
            os.write(self._master, keys)

    def close(self) -> None:
        """Close the terminal, as by closing its window."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def read(self, longest_s: float, most: int = 65536) -> bytes | None:
        """Return what is written next; b"" when nothing came for so long, None when the program has
        closed its end.
        """
        if not select.select([self._master], [], [], longest_s)[0]:
            return b""
        try:
            piece = os.read(self._master, most)
        except OSError:
            return None
        self.written += piece
        return piece or None

    def shows(self, words: bytes) -> None:
        """Read until these words were written, from now on."""
        start, end = len(self.written), time.monotonic() + LONGEST_S
        while words not in self.written[max(0, start) :]:
            gone = self.read(0.1) is None and self.process.poll() is not None
            if gone or time.monotonic() > end:
                raise AssertionError(f"not shown: {words!r}\n{self.written[start:][-3000:]!r}")

    def until_quiet(self, mark: bytes = b"", longest_s: float = LONGEST_S) -> None:
        """Read until `mark` was written and nothing more comes for a moment; a replay is never
        quiet.
        """
        start, end = len(self.written), time.monotonic() + longest_s
        while time.monotonic() < end:
            piece = self.read(QUIET_S)
            if piece is None or (not piece and mark in self.written[start:]):
                return

    def left(self) -> int:
        """Wait until the program has ended, reading what it writes; return its exit code."""
        end = time.monotonic() + LONGEST_S
        while self._master >= 0 and self.process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        code = self.process.wait(LONGEST_S if self._master < 0 else 1)
        while self._master >= 0 and self.read(0):  # what it wrote last may not be read yet
            pass
        return code

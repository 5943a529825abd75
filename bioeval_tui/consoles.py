"""The consoles that Rich prints on. Where nobody's terminal bounds them, lines are neither wrapped nor cut."""

from __future__ import annotations

import os
import sys

from rich.console import Console

UNBOUND = 10_000
"""Columns where the output goes to a file or another program: what reads it wants whole lines."""


class QuietConsole(Console):
    """A console that falls silent when its reader is gone (`… | head -1`): the work goes on, and its exit code holds."""

    def on_broken_pipe(self) -> None:
        """Write no more."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def plain_console(*, stderr: bool = False) -> Console:
    """Return a console on stdout (or stderr) that takes nothing for markup, a number or an emoji.

    It is as wide as the terminal. Without one it is wide enough for any line, whatever COLUMNS, FORCE_COLOR
    or the width of the terminal that started the pipe say: a log must not depend on them.
    """
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else UNBOUND
    return QuietConsole(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)

"""Tables and styled lines in the terminal. All text is cleaned here again."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from bioeval_tui.terminal import cleaned
from bioeval_tui.text import clean

UNBOUND = 10_000
"""Width if the output goes to a file or another program, which need whole lines."""


class PlainConsole(Console):
    """A console whose output never contains control sequences from its text.

    If its reader is gone (`… | head -1`), it stops printing; the work continues, with the same exit code.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as Rich does, with every piece of text cleaned."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            if control or (text.isascii() and text.isprintable()):
                yield segment
            else:
                yield Segment(clean(text), style)

    def on_broken_pipe(self) -> None:
        """Stop writing."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def plain_console(*, stderr: bool = False, soft_wrap: bool = False) -> Console:
    """Return a console on stdout (or stderr) that interprets no markup, numbers or emoji, and cleans its output.

    It is as wide as the terminal. Without one it is wide enough for any line, whatever COLUMNS, FORCE_COLOR
    or the width of the terminal that started the pipe say: a log must not depend on them.
    """
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream is not None and stream.isatty() else UNBOUND
    return PlainConsole(
        stderr=stderr, width=width, highlight=False, markup=False, emoji=False, soft_wrap=soft_wrap
    )


def write_lines(console: Console, text: str) -> None:
    """Write finished lines, cleaned. Rich would take fifty times as long to find that they have no style."""
    try:
        console.file.write(cleaned(text))
    except BrokenPipeError:
        console.on_broken_pipe()

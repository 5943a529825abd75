"""Where the program writes to the terminal. All text is cleaned here, once more than where it came in."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import Any

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from bioeval_tui.text import UNSAFE, clean

UNBOUND = 10_000
"""Columns where the output goes to a file or another program: what reads it wants whole lines."""


class PlainConsole(Console):
    """A console whose text, whatever it is rendered from, cannot act on a terminal.

    It falls silent when its reader is gone (`… | head -1`): the work continues, and its exit code holds.
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
        """Write no more."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def plain_console(*, stderr: bool = False, soft_wrap: bool = False) -> Console:
    """Return a console on stdout (or stderr) that takes nothing for markup, a number or an emoji, and cleans.

    It is as wide as the terminal. Without one it is wide enough for any line, whatever COLUMNS, FORCE_COLOR
    or the width of the terminal that started the pipe say: a log must not depend on them.
    """
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else UNBOUND
    return PlainConsole(
        stderr=stderr, width=width, highlight=False, markup=False, emoji=False, soft_wrap=soft_wrap
    )


def say(text: str, *, err: bool = False) -> None:
    """Print lines of text, cleaned, on stdout or stderr."""
    click.echo(clean(text), err=err)


def print_json(value: Any, *, indent: int | None = None) -> None:
    """Print a value as JSON: standard (no NaN), readable, and with what a terminal could act on as an escape.

    Raises:
        ValueError: a number is NaN or infinite.
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    click.echo(UNSAFE.sub(_escaped, text))


def _escaped(match: Any) -> str:
    if match.group() == "\n":
        return "\n"
    code = ord(match.group())
    if code > 0xFFFF:
        high, low = divmod(code - 0x10000, 0x400)
        return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
    return f"\\u{code:04x}"

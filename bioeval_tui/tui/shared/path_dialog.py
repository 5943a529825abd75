"""The dialog for a file path: typed, pasted, or dropped on the terminal."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from textual import on
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Input, Static

from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.dialog import Dialog

_DRIVE = re.compile(r"^/[A-Za-z]:")


class PathField(Input):
    """The line for the path."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~path-field")


class PathDialog(Dialog[str]):
    """The result is a path, or None if the dialog was closed."""

    NAME: ClassVar[str] = "A file"
    ABOUT: ClassVar[str] = (
        "Type or paste a path. Most terminals paste a file's path when it is dropped on them."
    )
    DEFAULT_CSS = """
    PathDialog Input { height: 1; border: none; padding: 0 1; background: $surface-lighten-2; }
    PathDialog .path--hint { color: $quiet; margin-top: 1; height: auto; }
    PathDialog.-narrow .path--hint { margin-top: 0; }
    """

    def __init__(self, heading: str, hint: str, last: str = "") -> None:
        super().__init__()
        self._heading = heading
        self._hint = hint
        self._last = last

    @property
    def heading(self) -> str:
        """What the file is for."""
        return self._heading

    def compose_body(self) -> Iterable[Widget]:
        """The input line, and a description of the expected path."""
        hint = "path of the file: type it, paste it, or drop the file here"
        yield PathField(self._last, placeholder=hint, compact=True)
        yield Static(self._hint, classes="path--hint", markup=False)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        path = pasted_path(event.value)
        if path:
            self.dismiss(path)


def pasted_path(text: str) -> str:
    """Return the path that a terminal pastes when a file is dropped on it.

    Terminals quote names, put a backslash before spaces, or paste a `file://` address; what was typed by
    hand stays as it is.
    """
    text = text.strip()
    if text.startswith("file://"):
        path = unquote(urlsplit(text).path)
        return path[1:] if _DRIVE.match(path) else path
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace("'\\''", "'")
    if "\\ " in text or "\\(" in text:
        try:
            return " ".join(shlex.split(text))
        except ValueError:
            return text
    return text

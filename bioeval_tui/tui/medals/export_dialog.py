"""Asks in which format a medal table is exported."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.base.text import home_relative, plural
from bioeval_tui.report.formats.registry import Format, named_format
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.dialogs import Dialog


class ExportDialog(Dialog[Format]):
    """Returns the format; None if the dialog was closed."""

    NAME: ClassVar[str] = "Export"
    HEADING: ClassVar[str] = "Export the table"
    BINDINGS: ClassVar[list[BindingType]] = bindings("export")
    DEFAULT_CSS = """
    ExportDialog > .dialog--box { width: 64; }
    """

    def __init__(self, rows: int, folder: Path) -> None:
        super().__init__()
        self._rows = rows
        self._folder = folder

    def compose_body(self) -> Iterable[Widget]:
        """Explain which files are written, and where."""
        sentence = f"{plural(self._rows, 'row')} as shown, into {home_relative(self._folder)}"
        yield Static(Content(sentence), markup=False)

    def action_choose(self, name: str) -> None:
        """Close with the format."""
        self.dismiss(named_format(name))

"""Help for the screen below: what it shows, and every key that applies now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen
from textual.widget import Widget

from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.dialog import Dialog, DialogText
from bioeval_tui.tui.shared.glossary import SIGNS, WORDS
from bioeval_tui.tui.shared.keys_footer_widget import hints
from bioeval_tui.tui.shared.labelled_widget import Labelled


class HelpScreen(Dialog[None]):
    """The keys of the screen that was open when help was asked for."""

    NAME: ClassVar[str] = "Help"
    ABOUT: ClassVar[str] = "What the screen shows, its keys, and what signs and terms mean."
    BINDINGS: ClassVar[list[BindingType]] = bindings("help")

    def __init__(self, about: Screen[Any]) -> None:
        super().__init__()
        self._about_name: str = getattr(about, "NAME", "") or "Keys"
        self._about: str = getattr(about, "ABOUT", "")
        self._keys = help_lines(about)

    @property
    def heading(self) -> str:
        """The screen's name."""
        return self._about_name

    def compose_body(self) -> Iterable[Widget]:
        """What the screen is for, then its keys."""
        column = max(len(label) for label, _ in (*self._keys, *SIGNS, *WORDS))

        def rows(entries: Iterable[tuple[str, str]]) -> list[list[Cell]]:
            return [[Cell(f"{label:>{column}}  ", "busy"), Cell(meaning)] for label, meaning in entries]

        lines = [[Cell(self._about)], []] if self._about else []
        lines += rows(self._keys)
        for title, entries in (("Signs", SIGNS), ("Words", WORDS)):
            lines += [[], [Cell(title, "strong")], *rows(entries)]
        with DialogText():
            text = Labelled()
            text.show(lines)
            yield text

    def action_change_keys(self) -> None:
        """Open the dialog for changing keys."""
        self.dismiss(None)
        self.bioeval.action_change_keys()


def help_lines(screen: Screen[Any]) -> list[tuple[str, str]]:
    """Return every key that applies on `screen` with what it does, shown in the footer or not."""
    return [
        (hint.key, hint.tooltip or hint.words)
        for hint in hints(screen, hidden=True)
        if hint.action.removeprefix("app.") != "help"
    ]

"""Help for the screen below: what it shows, and every key that applies now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.dialog import Dialog
from bioeval_tui.tui.shared.glossary import SIGNS, WORDS
from bioeval_tui.tui.shared.keys_footer_widget import hints


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
        with VerticalScroll(classes="dialog--body"):
            if self._about:
                yield Static(Content(self._about + "\n"), markup=False)
            width = max((len(key) for key, _ in self._keys), default=0)
            lines = [
                Content.assemble((f"{key:>{width}}", "bold $text-accent"), "  ", words)
                for key, words in self._keys
            ]
            yield Static(Content("\n").join(lines), markup=False)
            yield Static(listed("Signs", SIGNS), markup=False)
            yield Static(listed("Words", WORDS), markup=False)

    def action_change_keys(self) -> None:
        """Open the dialog for changing keys."""
        self.dismiss(None)
        self.bioeval.action_change_keys()


def listed(title: str, entries: Sequence[tuple[str, str]]) -> Content:
    """Return a heading and the meaning of each entry, one below the other."""
    width = max(len(name) for name, _ in entries)
    lines = [Content.assemble((f"{name:>{width}}", "bold"), "  ", means) for name, means in entries]
    return Content("\n").join([Content(""), Content.styled(title, "bold $text-accent"), *lines])


def help_lines(screen: Screen[Any]) -> list[tuple[str, str]]:
    """Return every key that applies on `screen` with what it does, shown in the footer or not."""
    return [
        (hint.key, hint.tooltip or hint.words)
        for hint in hints(screen, hidden=True)
        if hint.action.removeprefix("app.") != "help"
    ]

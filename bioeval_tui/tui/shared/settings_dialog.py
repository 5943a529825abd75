"""The dialog of the theme and the display settings, which are kept as preferences at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.cells import Cell, paint
from bioeval_tui.tui.shared.dialogs import Choice, Dialog


class SettingsDialog(Dialog[None]):
    """The theme and display settings. Arrows change a value."""

    NAME: ClassVar[str] = "Settings"
    ABOUT: ClassVar[str] = "Theme and display settings. Changes take effect at once and are saved."
    HEADING: ClassVar[str] = "Settings"
    BINDINGS: ClassVar[list[BindingType]] = bindings("settings")
    LABEL_WIDTH = 30
    DEFAULT_CSS = """
    SettingsDialog {
        & > .dialog--box { width: 64; border: round $line; }
        & #sample { height: 6; margin-top: 1; border: round $line; padding: 0 1; }
    }
    """

    def compose_body(self) -> Iterable[Widget]:
        """A line each, and a sample of the theme's colours."""
        kept = self.bioeval.services.preferences
        with Vertical(classes="dialog--body"):
            names = {name: name for name in self.bioeval.theme_names}
            yield self.row("theme", Choice(names, self.app.theme, id="theme"))
            for name, question, usual in READING:
                value = "yes" if bool(kept.get(name, usual)) else "no"
                yield self.row(question, Choice(YES_NO, value, id=name.replace(".", "-")))
            yield Static(id="sample", markup=False)

    def on_mount(self) -> None:
        """Show the sample, and begin at the theme."""
        self._show_sample()
        self.query(Choice).first().focus()

    def _show_sample(self) -> None:
        lines = (
            Content.assemble(("▌user", "bold $text-accent"), "   Could you remind me at 9?"),
            Content.assemble(
                ("┃agent", "bold $text-primary"),
                "  Which time zone are you in?   ",
                ("0.9 s", "$quiet"),
            ),
            paint(
                Cell("✓ passed", "good"),
                "   ",
                Cell("! warning", "warn"),
                "   ",
                Cell("✗ failed", "bad"),
            ),
            paint(
                Cell("● gold", "gold"),
                "   ",
                Cell("◐ silver", "silver"),
                "   ",
                Cell("◔ bronze", "bronze"),
            ),
        )
        self.query_one("#sample", Static).update(Content("\n").join(lines))

    @on(Choice.Changed)
    def _changed(self, event: Choice.Changed) -> None:
        if event.choice.id == "theme":
            self.bioeval.use_theme(event.choice.value)
            self._show_sample()
            return
        name = next(name for name, _, _ in READING if name.replace(".", "-") == event.choice.id)
        self.bioeval.services.preferences.keep(name, event.choice.value == "yes")
        self.bioeval.preferences_changed()


READING: tuple[tuple[str, str, bool], ...] = (
    ("live.follow", "follow the newest message", True),
    ("live.events", "show tool calls and events", True),
    ("live.linked", "scroll conversations together", True),
    ("live.dense", "dense, without empty lines", False),
)
"""Display settings of the live screen: the preference, its label and its default."""

YES_NO = {"yes": "yes", "no": "no"}

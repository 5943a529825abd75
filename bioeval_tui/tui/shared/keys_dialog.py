"""The dialog that lists every key and lets users change them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from textual import events, on
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from bioeval_tui.tui.keys import KeyPlace, bindings, places
from bioeval_tui.tui.shared.ask_line_widget import AskLine
from bioeval_tui.tui.shared.base import key_name
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.dialogs import Dialog
from bioeval_tui.tui.shared.keymap import resolve, unfit
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.tones import left, paint

KEY, DOES, WHERE = 14, 26, 14
"""Widths of the columns, in cells."""


class KeyRows(RowList):
    """The rows; while one waits for a new key, the next key press becomes that key."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~key-rows")

    waiting = False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable all bindings while waiting for a new key."""
        return not self.waiting and super().check_action(action, parameters)

    def on_key(self, event: events.Key) -> None:
        """Use the pressed key as the new key instead of its usual action."""
        if self.waiting and isinstance(self.screen, KeysDialog):
            event.stop()
            event.prevent_default()
            self.screen.take(event.key)


class KeysDialog(Dialog[None]):
    """Changes apply at once and are saved."""

    NAME: ClassVar[str] = "Keys"
    ABOUT: ClassVar[str] = (
        "Every key that you can change. Keys that navigate, open and close are the same on every screen and "
        "cannot be changed."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("keys")
    DEFAULT_CSS = """
    KeysDialog {
        & > .dialog--box { height: 90%; }
        & #keys-head { height: 1; color: $quiet; }
        & KeyRows { height: 1fr; }
        & #keys-hint { height: 2; }
        &.-narrow > .dialog--box { height: 100%; }
        &.-narrow #keys-hint { height: 1; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._places = places()
        self._shown = list(self._places)
        self._rows = KeyRows()

    @property
    def heading(self) -> str:
        """The name."""
        return self.NAME

    def compose_body(self) -> Iterable[Widget]:
        """Rows, and a line with messages."""
        yield Static(id="keys-head", markup=False)
        yield self._rows
        yield Static(id="keys-hint", markup=False)
        yield AskLine("filter", "screen or action", id="filter")

    def on_mount(self) -> None:
        """Draw."""
        self._rows.set_rows(len(self._shown), self._row)
        self._rows.focus()
        self.query_one("#keys-head", Static).update(
            Content.assemble(left("key", KEY), left("does", DOES), left("where", WHERE), "name")
        )
        self._tell("Changes are saved.", "quiet")

    @property
    def _keys(self) -> dict[str, str]:
        return self.bioeval.keys

    def _row(self, index: int, width: int) -> Content:
        place = self._shown[index]
        chosen = self._keys.get(place.name)
        keys = chosen.split(",") if chosen else place.keys
        shown = Cell(" ".join(key_name(key) for key in keys), "strong" if chosen else "busy")
        sign = Cell("● " if chosen else "  ", "busy")
        return Content.assemble(
            left(paint(sign, shown), KEY),
            left(place.words, DOES),
            left(Cell(place.screen, "quiet"), WHERE),
            left(Cell(f"{place.name}{'  (changed)' if chosen else ''}", "quiet"), width - KEY - DOES - WHERE),
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While waiting for a new key, only `esc` keeps its action."""
        return action == "close" or not self._rows.waiting

    def _tell(self, sentence: str, tone: Any = "plain") -> None:
        self.query_one("#keys-hint", Static).update(paint(Cell(sentence, tone)))

    @on(RowList.Chosen)
    def _chosen(self) -> None:
        if self._shown:
            self._wait(True)
            place = self._shown[self._rows.cursor]
            self._tell(f"Press the new key for “{place.words}”; esc cancels.", "busy")

    def _wait(self, waiting: bool) -> None:
        self._rows.waiting = waiting
        self.refresh_bindings()

    def take(self, key: str) -> None:
        """Assign `key` to the row if it is allowed."""
        self._wait(False)
        place = self._shown[self._rows.cursor]
        if key == "escape":
            self._tell("Nothing was changed.", "quiet")
            return
        problem = unfit(place, key, self._keys, self._places)
        if problem:
            self._tell(f"! {problem.removeprefix('keys: ')}", "warn")
            return
        self._keep(place, "" if place.keys == (key,) else key)
        self._tell(f"✓ {key_name(key)} is now “{place.words}”.", "good")

    def action_reset(self) -> None:
        """Restore the row's default key."""
        if not self._shown:
            return
        place = self._shown[self._rows.cursor]
        others = {name: key for name, key in self._keys.items() if name != place.name}
        problem = unfit(place, ",".join(place.keys), others, self._places)
        if problem:
            self._tell(f"! {problem.removeprefix('keys: ')}", "warn")
            return
        self._keep(place, "")
        self._tell(f"“{place.words}” has its default key again.", "quiet")

    def _keep(self, place: KeyPlace, key: str) -> None:
        kept = dict(self._keys)
        kept.pop(place.name, None)
        if key:
            kept[place.name] = key
        self.bioeval.services.keep("keys", resolve(kept, self._places).keys or None)
        self.bioeval.choose_keys()
        self._rows.refresh()

    # Filter

    def action_filter(self) -> None:
        """Open the line for the filter."""
        self.query_one(AskLine).open()

    @on(AskLine.Typed)
    def _typed(self, event: AskLine.Typed) -> None:
        words = event.text.lower().split()
        self._shown = [
            place
            for place in self._places
            if all(word in f"{place.screen} {place.words} {place.name}".lower() for word in words)
        ]
        self._rows.cursor = 0
        self._rows.set_rows(len(self._shown), self._row)

    @on(AskLine.Entered)
    def _entered(self, event: AskLine.Entered) -> None:
        event.line.close()
        self._rows.focus()

    @on(AskLine.Closed)
    def _filter_closed(self, event: AskLine.Closed) -> None:
        event.line.clear()
        self._shown = list(self._places)
        self._rows.set_rows(len(self._shown), self._row)
        self._rows.focus()

"""The command palette and the list of screens: the same actions as the keys, by their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from textual import on
from textual.binding import BindingType
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.screen import Screen
from textual.types import IgnoreReturnCallbackType
from textual.widget import Widget

from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.shared.base import hints
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.dialogs import Behind, Dialog
from bioeval_tui.tui.shared.rows_widget import RowList
from bioeval_tui.tui.shared.tones import paint

if TYPE_CHECKING:
    from typing import Self

    from rich.console import RenderableType
    from textual.geometry import Region

    from bioeval_tui.tui.shared.program import Program


class Action(NamedTuple):
    """An entry of the palette."""

    words: str
    help: str
    run: IgnoreReturnCallbackType


class Actions(Provider):
    """Every action that a key has on the screen below, except moving, and the themes."""

    async def discover(self) -> Hits:
        """Return every action, before anything is typed."""
        for action in self._actions():
            yield DiscoveryHit(action.words, action.run, help=action.help)

    async def search(self, query: str) -> Hits:
        """Return the actions whose words match."""
        matcher = self.matcher(query)
        for action in self._actions():
            rank = matcher.match(action.words)
            if rank > 0:
                yield Hit(rank, matcher.highlight(action.words), action.run, help=action.help)

    def _actions(self) -> Iterator[Action]:
        listed = {"palette", ""}
        for hint in hints(self.screen, hidden=True):
            if hint.words not in listed and not hint.moves:
                listed.add(hint.words)
                words = hint.words.capitalize()
                run = partial(self.app.run_action, hint.action, hint.node)
                yield Action(f"{words}  ({hint.key})", "" if hint.tooltip == words else hint.tooltip, run)
        app = cast("Program", self.app)
        for name in app.theme_names:
            yield Action(f"Theme: {name}", "Change the colours", partial(self._use, name))

    def _use(self, name: str) -> None:
        cast("Program", self.app).use_theme(name)


class Palette(CommandPalette):
    """Textual's palette, which shows its input at once, before the list."""

    def __init__(self) -> None:
        self._behind = Behind()  # Textual refreshes a screen while it is made
        super().__init__(providers={Actions}, classes="-ready")

    def render(self) -> RenderableType:
        """Draw the screen behind the box."""
        return self._behind.of(super().render())

    def refresh(self, *regions: Region, **more: bool) -> Self:
        """Draw again; with regions, the screen behind, too."""
        self._behind.changed(regions)
        return super().refresh(*regions, **more)


class PlaceRows(RowList):
    """The screens; enter goes to one."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("~place-rows")


class PlacesDialog(Dialog[str]):
    """The result is the action that goes to the chosen screen, or None if the dialog was closed."""

    NAME: ClassVar[str] = "Screens"
    ABOUT: ClassVar[str] = "The screens of the application. Their keys work everywhere."
    HEADING: ClassVar[str] = "Screens"
    DEFAULT_CSS = """
    PlacesDialog > .dialog--box { width: 60; }
    PlacesDialog RowList { height: auto; }
    """

    def __init__(self, below: Screen[Any]) -> None:
        super().__init__()
        self._places = [hint for hint in hints(below, hidden=True) if hint.action.startswith("go(")]
        self._rows = PlaceRows()

    def compose_body(self) -> Iterable[Widget]:
        """One row a screen."""
        yield self._rows

    def on_mount(self) -> None:
        """Draw."""
        self._rows.set_rows(len(self._places), self._row)
        self._rows.focus()

    def _row(self, index: int, width: int) -> Content:
        place = self._places[index]
        return paint(Cell(f"{place.key:<4}", "busy"), f"{place.words:<14}", Cell(place.tooltip, "quiet"))

    @on(RowList.Chosen)
    def _chosen(self, event: RowList.Chosen) -> None:
        self.dismiss(self._places[event.index].action)

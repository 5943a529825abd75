"""The command palette: the same actions as the keys, by their names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.types import IgnoreReturnCallbackType

from bioeval_tui.tui.shared.base import hints
from bioeval_tui.tui.shared.dialogs import Behind

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

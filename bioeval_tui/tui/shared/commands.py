"""The command palette: the same actions as the keys, by their names, and the themes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.types import IgnoreReturnCallbackType

from bioeval_tui.tui.shared.covered import covered
from bioeval_tui.tui.shared.keys_footer_widget import hints

if TYPE_CHECKING:
    from rich.console import RenderableType

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
        for hint in hints(self.screen, hidden=True):
            if hint.action.removeprefix("app.") != "command_palette" and hint.words and not hint.moves:
                words = hint.words.capitalize()
                run = partial(self.app.run_action, hint.action, hint.node)
                yield Action(f"{words}  ({hint.key})", "" if hint.tooltip == words else hint.tooltip, run)
        app = cast("Program", self.app)
        yield Action("Change the keys", "List every key; press Enter to change one", app.action_change_keys)
        for name in app.theme_names:
            yield Action(f"Theme: {name}", "Change the colours", partial(self._use, name))

    def _use(self, name: str) -> None:
        cast("Program", self.app).use_theme(name)


class Palette(CommandPalette):
    """Textual's palette, which shows its input at once, before the list."""

    def __init__(self) -> None:
        super().__init__(providers={Actions}, classes="-ready")

    def render(self) -> RenderableType:
        """Draw the screen behind the box."""
        return covered(super().render())

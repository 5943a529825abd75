"""The footer: the keys that apply now, as many as fit, each clickable.

Which keys apply is asked by others, too (`hints`): the help and the command palette list all of
them (`help_dialogs.py`), and a screen names the key of an action in its sentences (`action_key`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from textual import events
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

from bioeval_tui.base.text import plural
from bioeval_tui.tui.keys import SCREENS, key_name, order

MOST_KEYS = 8
"""How many keys a footer shows at most."""
_FIRST_TO_GO = ("share", "command_palette", "leave_app")
"""Keys that a narrow footer leaves out; `? help` lists all."""
_CHOOSE_SCREEN = "screens"
"""The action of a click on `0…5`."""

_CHARACTERS = {"space": " ", "slash": "/", "question_mark": "?"}


class Hint(NamedTuple):
    """A key, what it does, and the action to run on a click."""

    key: str
    words: str
    action: str
    everywhere: bool
    place: int
    tooltip: str
    node: DOMNode | None
    moves: bool
    """Whether it only moves within the focused widget, as in every program."""


def hints(screen: Screen[Any], *, hidden: bool = False) -> list[Hint]:
    """Return the keys that apply now, the focused widget's first, then in the order of the table.

    By default, only those that the footer shows, with one label for keys that belong together. With
    `hidden`, all of them, each by itself; those that only move come last.
    """
    places = order()
    going = f"{SCREENS[0].key}…{SCREENS[-1].key}"
    by_label: dict[object, Hint] = {}
    seen: set[tuple[DOMNode, str]] = set()
    for key, (node, binding, enabled, tooltip) in screen.active_bindings.items():
        if not enabled or binding.system or not (binding.show or (hidden and tooltip)):
            continue
        if _is_typed(screen.focused, key):
            continue
        everywhere = node is screen.app or binding.action.startswith("app.")
        place = places.get((binding.id, binding.action), -1)
        name, words, action = key_name(binding.key), binding.description, binding.action
        if not hidden:
            if action == f"go('{SCREENS[0].mode}')":
                words, action = "screens", _CHOOSE_SCREEN
                if name == SCREENS[0].key:
                    name = going
            elif binding.group is not None:
                words = binding.group.description
        label = (node, words) if binding.group is not None and not hidden else action
        known = by_label.get(label)
        if known is None:
            moves = binding.id is None and not binding.show
            by_label[label] = Hint(name, words, action, everywhere, place, tooltip, node, moves)
        elif name not in known.key.split() and (hidden or (node, action) not in seen):
            by_label[label] = known._replace(key=f"{known.key} {name}")
        seen.add((node, action))
    below = getattr(screen, "key_owners", ()) if screen.is_modal else ()
    return sorted(
        by_label.values(),
        key=lambda hint: (hint.moves, hint.everywhere, hint.node in below, hint.place),
    )


def _is_typed(focused: Widget | None, key: str) -> bool:
    """Whether the key would be typed into the focused widget instead of doing something."""
    return focused is not None and focused.check_consume_key(
        key, key if len(key) == 1 else _CHARACTERS.get(key)
    )


def action_key(node: DOMNode, action: str) -> str:
    """Return the key of an action of a screen, or the application, or empty if it has none."""
    bindings = (binding for _, binding in node._bindings if binding.action == action)
    return next((key_name(binding.key) for binding in bindings), "")


class KeysFooter(Widget):
    """One clickable line with the keys that currently apply."""

    DEFAULT_CSS = """
    KeysFooter { height: 1; dock: bottom; background: $panel; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._places: list[tuple[int, int, Hint]] = []

    def on_mount(self) -> None:
        """Follow the screen's bindings, and whether they apply at all."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())
        self.app.screen_change_signal.subscribe(self, lambda _: self.refresh())

    def render(self) -> Content:
        """Draw the keys, and remember the position of each. Behind a dialog, none applies."""
        width = self.size.width
        if self.app.screen is not self.screen:
            self._places = []
            return Content("")
        offered = hints(self.screen)
        kept, ends = fit(offered, width)
        if left_out := sum(not hint.everywhere for hint in offered) - len(kept):
            words = f"help, {plural(left_out, 'more key')}"
            offered = [hint._replace(words=words) if hint.key == "?" else hint for hint in offered]
            kept, ends = fit(offered, width)
        self._places = []
        line = self._draw(kept, 0)
        end = self._draw(ends, max(line.cell_length, width - _length(ends) + 2))
        return Content.assemble(line, " " * max(0, width - line.cell_length - end.cell_length), end)

    def _draw(self, some: list[Hint], start: int) -> Content:
        pieces: list[Content] = []
        for hint in some:
            piece = Content.assemble((hint.key, "bold $text-accent"), " ", (hint.words, "$quiet"))
            self._places.append((start, start + piece.cell_length, hint))
            start += piece.cell_length + 2
            pieces.append(piece)
        return Content("  ").join(pieces)

    async def on_click(self, event: events.Click) -> None:
        """Run the action of the key under the mouse."""
        x = event.x - self.gutter.left
        for start, end, hint in self._places:
            if start <= x < end:
                await self.app.run_action(hint.action, hint.node)
                return


def fit(all_hints: list[Hint], width: int) -> tuple[list[Hint], list[Hint]]:
    """Return the hints for the left and the right side that fit into `width` cells, first ones
    first.
    """
    ends = [hint for hint in all_hints if hint.everywhere]
    for action in _FIRST_TO_GO:
        if _length(ends) > width // 2:
            ends = [hint for hint in ends if hint.action.removeprefix("app.") != action]
    room = width - _length(ends)
    kept: list[Hint] = []
    for hint in all_hints:
        if hint.everywhere:
            continue
        need = _length([hint])
        if need > room or len(kept) + len(ends) == MOST_KEYS:
            break
        kept.append(hint)
        room -= need
    return kept, ends


def _length(some: list[Hint]) -> int:
    return sum(len(hint.key) + len(hint.words) + 3 for hint in some)

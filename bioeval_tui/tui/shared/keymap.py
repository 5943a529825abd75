"""Keys of widgets that apply wherever the focus is."""

from __future__ import annotations

from typing import Any

from textual.actions import parse
from textual.binding import Binding, BindingsMap
from textual.dom import DOMNode
from textual.keys import key_to_character
from textual.screen import Screen
from textual.widget import Widget

from bioeval_tui.tui.keys import bindings


class KeyOwners:
    """Widgets of a screen whose keys apply wherever the focus is: each owns its actions, not the screen.

    Textual asks the focused widget, its ancestors, the screen and the app for a key; `chain` adds the owners before
    the screen. `add` takes a widget and its place in the table of keys.
    """

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen
        self._bindings: dict[Widget, BindingsMap] = {}

    def __contains__(self, node: object) -> bool:
        return node in self._bindings

    def add(self, owner: Widget, place: str) -> None:
        """Let the keys of `place` apply on the screen; their actions are the owner's."""
        self._bindings[owner] = BindingsMap(bindings(place))

    def binding_of(self, action: str) -> Binding | None:
        """Return the binding of an action of one of the owners."""
        bindings = (
            binding for own in self._bindings.values() for _, binding in own if binding.action == action
        )
        return next(bindings, None)

    def chain(self, chain: list[tuple[DOMNode, BindingsMap]]) -> list[tuple[DOMNode, BindingsMap]]:
        """Return Textual's chain of bindings with the owners' before the screen's, but for keys that are typed."""
        focused = self._screen.focused
        own: list[tuple[DOMNode, BindingsMap]] = []
        for owner, bound in self._bindings.items():
            left = bound.copy()
            for key in bound.key_to_bindings:
                if focused is not None and focused.check_consume_key(key, key_to_character(key)):
                    del left.key_to_bindings[key]
            own.append((owner, left))
        at = next(at for at, (node, _) in enumerate(chain) if node is self._screen)
        return [*chain[:at], *own, *chain[at:]]

    def applying(self) -> tuple[bool, ...]:
        """Return for each key of the owners whether it applies now."""
        return tuple(
            owner.check_action(*parse(binding.action)[1:]) is True
            for owner, own in self._bindings.items()
            for _, binding in own
        )

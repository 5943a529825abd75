"""Custom key bindings: every key has a name, `screen.action`, under which another key can be saved.

The preference `keys` maps such names to keys in Textual's writing, several with commas:
`{"live.pause": "f6", "app.picture": "f12,ctrl+s"}`. The different actions of one key (pause, continue)
share one name: that of the first. Navigation keys are the same everywhere and cannot be changed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from textual.actions import parse
from textual.binding import Binding, BindingsMap, BindingType
from textual.dom import DOMNode
from textual.keys import Keys, _character_to_key, key_to_character
from textual.screen import Screen
from textual.widget import Widget

from bioeval_tui.text import clean_line
from bioeval_tui.tui.keys import MOVING, KeyPlace, bindings

FIXED = MOVING | {"h", "j", "k", "l", "G", "ctrl+b", "ctrl+f"}
"""Keys that navigate, open, close and leave; no other action can use them."""
_SPECIAL = {key.value for key in Keys} - {"<any>", "ignore"}


class Chosen(NamedTuple):
    """The valid keys by name, and a sentence for each invalid entry."""

    keys: dict[str, str]
    problems: tuple[str, ...] = ()


def resolve(kept: object, places: Sequence[KeyPlace]) -> Chosen:
    """Return the valid entries of the preference `keys`."""
    if kept is None or kept == {}:
        return Chosen({})
    if not isinstance(kept, Mapping):
        return Chosen({}, ("keys: a mapping of names to keys is expected; none was changed",))
    by_name = {place.name: place for place in places}
    left, problems = dict(kept), []
    while True:
        keys: dict[str, str] = {}
        for name, value in left.items():
            place = by_name.get(name) if isinstance(name, str) else None
            # Keys that other entries give up are free; keys they take are theirs if they come first.
            problem = unfit(place, value, {**dict.fromkeys(left, ""), **keys}, places) if place else _UNKNOWN
            if problem or place is None:
                problems.append(problem.replace("{name}", clean_line(str(name), 60)))
                del left[name]
                break
            keys[place.name] = ",".join(_normal(value))
        else:
            return Chosen(keys, tuple(problems))


_UNKNOWN = "keys: there is no {name}; the keys dialog of the palette lists the names"


def unfit(place: KeyPlace, value: Any, kept: Mapping[str, str], places: Sequence[KeyPlace]) -> str:
    """Return one sentence saying why `value` cannot be the key of `place`; empty if it can.

    `kept` holds the other changes: a key that was given up may be used again.
    """
    wanted = _normal(value) if isinstance(value, str) else []
    if not wanted:
        return f"keys: {place.name}: give a key such as f6 or ctrl+t"
    for key in wanted:
        shown = clean_line(key, 30)
        if not is_key(key):
            return f"keys: {place.name}: there is no key {shown}; give one such as f6 or ctrl+t"
        if key in FIXED and key not in place.keys:
            return f"keys: {place.name}: {shown} is a navigation key on every screen; give another key"
        for other in places:
            if other.name == place.name or not _meet(place, other):
                continue
            if key in (_normal(kept[other.name]) if other.name in kept else other.keys):
                return f"keys: {place.name}: {shown} is already used by {other.name}; give another key"
    return ""


def _meet(place: KeyPlace, other: KeyPlace) -> bool:
    return place.screen == other.screen or "app" in (_owner(place), _owner(other))


def _owner(place: KeyPlace) -> str:
    return place.name.partition(".")[0]


def is_key(key: str) -> bool:
    """Return whether a terminal can send such a key: a character, a named key, or either with ctrl, alt or shift."""
    *modifiers, last = key.split("+") if key != "+" else [key]
    if not set(modifiers) <= {"ctrl", "alt", "shift", "super", "meta"}:
        return False
    return key in _SPECIAL or last in _SPECIAL or (len(last) == 1 and last.isprintable()) or last in _NAMED


_NAMED = {_character_to_key(chr(code)) for code in range(33, 127)}
"""Characters by their names: `question_mark`."""


def _normal(keys: str) -> list[str]:
    """Return each key in Textual's long form: `?` is `question_mark`."""
    return [_character_to_key(key) if len(key) == 1 else key for key in _split(keys)]


def _split(keys: str) -> list[str]:
    return [key.strip() for key in keys.split(",") if key.strip()]


def use_keys(node: DOMNode, keys: Mapping[str, str]) -> None:
    """Apply the chosen keys to a screen or the app."""
    merged = type(node)._merged_bindings
    if merged is not None:
        node._bindings = moved(merged, keys)


def moved(bindings: BindingsMap, keys: Mapping[str, str]) -> BindingsMap:
    """Return the bindings with the chosen keys.

    Not Textual's own keymap: it takes every meaning from a key when one of them is moved.
    """
    changed = BindingsMap()
    for key, same in bindings.key_to_bindings.items():
        for binding in same:
            chosen = keys.get(binding.id or "")
            for new in _split(chosen) if chosen else [key]:
                other = dataclasses.replace(binding, key=new, key_display=None) if chosen else binding
                there = changed.key_to_bindings.setdefault(new, [])
                if other not in there:
                    there.append(other)
    return changed


class KeyOwners:
    """Widgets of a screen whose keys apply wherever the focus is: each owns its actions, not the screen.

    Textual asks the focused widget, its ancestors, the screen and the app for a key; `chain` adds the owners before
    the screen. `add` takes a widget and its place in the table of keys.
    """

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen
        self._owners: dict[Widget, list[BindingType]] = {}
        self._bindings: dict[Widget, BindingsMap] = {}

    def __contains__(self, node: object) -> bool:
        return node in self._owners

    def add(self, owner: Widget, place: str) -> None:
        """Let the keys of `place` apply on the screen; their actions are the owner's."""
        self._owners[owner] = bindings(place)
        self.use_keys({})

    def use_keys(self, keys: Mapping[str, str]) -> None:
        """Apply the chosen keys."""
        self._bindings = {owner: moved(BindingsMap(own), keys) for owner, own in self._owners.items()}

    def binding_of(self, action: str) -> Binding | None:
        """Return the binding of an action of one of the owners."""
        found = (binding for own in self._bindings.values() for _, binding in own if binding.action == action)
        return next(found, None)

    def chain(self, chain: list[tuple[DOMNode, BindingsMap]]) -> list[tuple[DOMNode, BindingsMap]]:
        """Return Textual's chain of bindings with the owners' before the screen's, but for keys that are typed."""
        focused = self._screen.focused
        own: list[tuple[DOMNode, BindingsMap]] = []
        for owner, found in self._bindings.items():
            left = found.copy()
            for key in found.key_to_bindings:
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

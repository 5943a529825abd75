"""Keys that people change: every key has a name, `screen.action`, under which another key can be kept.

The preference `keys` maps such names to keys in Textual's writing, several with commas:
`{"live.pause": "f6", "app.picture": "f12,ctrl+s"}`. What a key does under different circumstances (pause, go on)
has one name: that of the first. The keys that move about in tables and texts are the same everywhere and stay.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from textual.binding import Binding, BindingsMap, BindingType
from textual.dom import DOMNode
from textual.keys import Keys, _character_to_key

from bioeval_tui.text import clean_line

_BASIC = frozenset(
    {
        *("up", "down", "left", "right", "pageup", "pagedown", "home", "end", "enter", "escape", "tab"),
        *("shift+tab", "ctrl+c", "ctrl+q", "backspace"),
    }
)
FIXED = _BASIC | {"h", "j", "k", "l", "G", "ctrl+b", "ctrl+f"}
"""Keys that move about, open, close and leave: no other action takes them."""
_ARGUMENTS = {"-1": "previous", "1": "next", "0": "first"}
_SPECIAL = {key.value for key in Keys} - {"<any>", "ignore"}


class KeyPlace(NamedTuple):
    """Something that can be changed: its name, the screen where it applies, its keys at first, what they do."""

    name: str
    screen: str
    keys: tuple[str, ...]
    words: str


def named(screen: str, bindings: Iterable[BindingType]) -> list[BindingType]:
    """Return the bindings, each with its name; what one key does under different circumstances has one name."""
    prefix = re.sub(r"\W+", "-", screen.lower())
    names: dict[str, str] = {}
    found: list[BindingType] = []
    for binding in bindings:
        if isinstance(binding, Binding):
            name = names.setdefault(binding.key, binding.id or _name(prefix, binding.action))
            binding = dataclasses.replace(binding, id=name)
        found.append(binding)
    return found


def _name(prefix: str, action: str) -> str:
    """Return `live.sort_next` for `sort(1)`, and `app.jobs` for `app.go('jobs')`."""
    if action.startswith("app."):
        prefix, action = "app", action.removeprefix("app.")
    head, _, rest = action.partition("(")
    words = [_ARGUMENTS.get(word, word) for word in re.findall(r"-?\w+", rest)]
    return f"{prefix}." + "_".join(words if head == "go" else [head, *words])


def places_of(screen: str, bindings: Iterable[BindingType]) -> list[KeyPlace]:
    """Return what can be changed of named bindings. What belongs to the whole application is left to it."""
    found: dict[str, KeyPlace] = {}
    for binding in bindings:
        if not isinstance(binding, Binding) or binding.id is None or binding.system:
            continue
        if binding.action.startswith("app.") or set(_split(binding.key)) & _BASIC:
            continue
        known = found.get(binding.id)
        words = binding.description if known is None else f"{known.words}, {binding.description}"
        if known is not None and binding.description in known.words.split(", "):
            words = known.words
        keys = (*(known.keys if known else ()), *_split(binding.key))
        found[binding.id] = KeyPlace(binding.id, screen, tuple(dict.fromkeys(keys)), words)
    return list(found.values())


class Chosen(NamedTuple):
    """Keys by name, those that can be used; and a sentence for each entry that was left out."""

    keys: dict[str, str]
    problems: tuple[str, ...] = ()


def resolve(kept: object, places: Sequence[KeyPlace]) -> Chosen:
    """Return what can be used of the preference `keys`."""
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
            # What the others give up is free; what they take is theirs if they come first.
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
    """Return why `value` cannot be the key of `place`, in one sentence; empty when it can.

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
            return f"keys: {place.name}: {shown} moves about on every screen; give another key"
        for other in places:
            if other.name == place.name or not _meet(place, other):
                continue
            if key in (_normal(kept[other.name]) if other.name in kept else other.keys):
                return f"keys: {place.name}: {shown} is {other.name} already; give another key"
    return ""


def _meet(place: KeyPlace, other: KeyPlace) -> bool:
    return place.screen == other.screen or "app" in (_owner(place), _owner(other))


def _owner(place: KeyPlace) -> str:
    return place.name.partition(".")[0]


def is_key(key: str) -> bool:
    """Say whether a terminal may send such a key: a character, a named key, or either with ctrl, alt or shift."""
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
    """Let a screen, or the app, answer to the chosen keys from now on.

    Not Textual's own keymap: it takes every meaning from a key when one of them is moved.
    """
    merged = type(node)._merged_bindings
    if merged is None:
        return
    changed = BindingsMap()
    for key, bindings in merged.key_to_bindings.items():
        for binding in bindings:
            chosen = keys.get(binding.id or "")
            for new in _split(chosen) if chosen else [key]:
                moved = dataclasses.replace(binding, key=new, key_display=None) if chosen else binding
                there = changed.key_to_bindings.setdefault(new, [])
                if moved not in there:
                    there.append(moved)
    node._bindings = changed

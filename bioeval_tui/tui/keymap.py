"""Keys that people change: every binding has a name, `screen.action`, under which another key can be kept.

The preference `keys` maps such names to keys in Textual's writing: `{"live.take_over": "ctrl+t", "app.picture": "f12"}`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from textual.binding import Binding, BindingType


def named(screen: str, bindings: Iterable[BindingType]) -> list[BindingType]:
    """Return the bindings, each with its name; the same action under several keys has one name."""
    prefix = screen.lower().replace(" ", "-")
    return [
        dataclasses.replace(binding, id=binding.id or f"{prefix}.{binding.action}")
        if isinstance(binding, Binding)
        else binding
        for binding in bindings
    ]


def chosen_keys(preferences: Mapping[str, Any]) -> dict[str, str]:
    """Return the keys that were kept, without what is not a name and a key."""
    kept = preferences.get("keys")
    if not isinstance(kept, Mapping):
        return {}
    return {name: key for name, key in kept.items() if isinstance(name, str) and isinstance(key, str) and key}

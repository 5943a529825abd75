"""Keys as the footer and the help write them."""

from __future__ import annotations

import pytest

from bioeval_tui.tui.keys import key_name


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("space", "space"), ("tab", "tab"), ("enter", "enter"), ("escape", "esc"),
        ("left_curly_bracket", "{"),
        ("full_stop", "."), ("ctrl+p", "^p"), ("f6", "f6"), ("B", "B"), ("ctrl+e", "^e"),
        ("left", "←"), ("backspace", "⌫"),
    ],
)  # fmt: skip
def test_a_key_is_named_as_on_the_keyboard(key: str, name: str) -> None:
    assert key_name(key) == name

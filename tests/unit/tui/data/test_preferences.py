"""Preferences are remembered; a damaged file only loses them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bioeval_tui.tui.data.services import FILE, Preferences


def test_preferences_are_saved_in_a_private_file(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    Preferences(folder).keep("theme", "light")
    assert Preferences(folder).values == {"theme": "light"}
    if os.name != "nt":
        assert (folder / FILE).stat().st_mode & 0o077 == 0
    assert [path.name for path in folder.iterdir()] == [FILE]


def test_two_programs_keep_each_others_preferences(tmp_path: Path) -> None:
    one, two = Preferences(tmp_path), Preferences(tmp_path)
    one.keep("a", 1)
    two.keep("b", [1, True])
    two.keep("a", None)
    assert Preferences(tmp_path).values == {"b": [1, True]}


@pytest.mark.parametrize("content", ["", "[1]", "{", '{"a": ', "\x00", "[" * 100_000])
def test_a_damaged_preferences_file_gives_the_defaults(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    preferences = Preferences(tmp_path)
    assert preferences.values == {}
    preferences.keep("a", 1)
    assert Preferences(tmp_path).values == {"a": 1}


def test_preferences_that_cannot_be_written_last_for_the_session(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("x")
    preferences = Preferences(in_the_way / "data")
    preferences.keep("a", 1)
    assert preferences.values == {"a": 1}

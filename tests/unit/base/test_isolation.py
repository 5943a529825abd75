"""Child processes are started by one function, which keeps the working folder off their import
path.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bioeval_tui.base import isolation


def told(folder: Path, *arguments: str) -> object:
    """Return what a module of a package in `folder`, run as a child, prints as JSON."""
    done = subprocess.run(
        [*isolation.module_command("told", *arguments)[:4], str(folder), "told", *arguments],
        capture_output=True, text=True, cwd=folder.parent, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_a_child_process_gets_its_arguments_and_searches_the_programs_folder_last(
    tmp_path: Path,
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (tmp_path / "random.py").write_text("raise AssertionError")
    (place / "calendar.py").write_text("raise AssertionError")
    (place / "told.py").write_text(
        "import calendar, json, random, sys\nprint(json.dumps([sys.argv[1:], sys.path[-1],"
        " __name__]))\n"
    )
    assert told(place, "a b", "--c") == [["a b", "--c"], str(place), "__main__"]


def test_a_folder_in_the_working_folder_is_not_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planted").mkdir()
    (tmp_path / "planted" / "__init__.py").write_text("")
    monkeypatch.chdir(tmp_path)
    for first in ("", str(tmp_path)):
        monkeypatch.setattr(sys, "path", [first, *sys.path])
        assert isolation.find_installed("planted") is None
        assert isolation.find_installed("click") is not None
        monkeypatch.undo()
        monkeypatch.chdir(tmp_path)
    # One that the user named, or installed from here, counts.
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert isolation.find_installed("planted") is not None

"""Child processes are started by one function, which keeps the working folder off their import path."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bioeval_tui import isolation

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "bioeval_tui"


def written(*folders: str) -> Iterator[tuple[Path, ast.AST]]:
    """Yield every node of the Python files of these folders."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            is_script = (
                path.is_file() and path.suffix == "" and b"python" in path.read_bytes().partition(b"\n")[0]
            )
            if path.suffix == ".py" or is_script:
                for node in ast.walk(ast.parse(path.read_bytes())):
                    yield path, node


def test_only_one_module_knows_which_python_runs() -> None:
    users = {
        path.relative_to(ROOT).as_posix()
        for path, node in written("bioeval_tui")
        if (isinstance(node, ast.Attribute) and node.attr in ("executable", "_base_executable"))
        or (isinstance(node, ast.ImportFrom) and node.module == "sys")
    }
    users.discard("bioeval_tui/installation.py")  # names it in a command that a user types
    assert users == {"bioeval_tui/isolation.py"}


def test_no_process_is_started_around_it() -> None:
    names = {
        "multiprocessing",
        "ProcessPoolExecutor",
        "system",
        "popen",
        "execv",
        "execve",
        "execvp",
        "execvpe",
        "spawnv",
    }
    for path, node in written("bioeval_tui"):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in names:
                raise AssertionError(f"{path}:{node.lineno}: {name}")
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                found = names & {alias.name for alias in aliases}
                assert not found, f"{path}:{node.lineno}: {found}"
            case ast.keyword(arg="shell"):
                raise AssertionError(f"{path}:{node.value.lineno}: shell=…")


def test_nothing_starts_the_program_by_its_name() -> None:
    for path, node in written("bioeval_tui", "benchmarks", "scripts"):
        if isinstance(node, (ast.List, ast.Tuple, ast.Call)):
            items = node.args if isinstance(node, ast.Call) else node.elts
            words = [item.value for item in items if isinstance(item, ast.Constant)]
            assert "bioeval_tui" not in words or "-m" not in words, (
                f"{path}:{node.lineno}: use program_command"
            )


def told(folder: Path, *arguments: str) -> object:
    """Return what a module of a package in `folder`, run as a child, prints as JSON."""
    done = subprocess.run(
        [*isolation.module_command("told", *arguments)[:4], str(folder), "told", *arguments],
        capture_output=True, text=True, cwd=folder.parent, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_a_child_gets_its_arguments_and_looks_in_the_program_s_place_last(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (tmp_path / "random.py").write_text("raise AssertionError")
    (place / "calendar.py").write_text("raise AssertionError")
    (place / "told.py").write_text(
        "import calendar, json, random, sys\nprint(json.dumps([sys.argv[1:], sys.path[-1], __name__]))\n"
    )
    assert told(place, "a b", "--c") == [["a b", "--c"], str(place), "__main__"]


def test_a_folder_of_the_working_folder_is_not_an_installed_package(
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

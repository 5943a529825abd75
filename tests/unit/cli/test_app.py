"""Opening the application from the command line: where there is no terminal, one sentence or the help."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def run(*arguments: str, data_dir: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(data_dir), "BIOEVAL_DATA_DIR": str(data_dir / "data")}
    return subprocess.run(
        [sys.executable, "-m", "bioeval_tui", *arguments],
        capture_output=True, text=True, timeout=60, env=environment, cwd=data_dir, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_without_a_command_or_terminal_the_help_is_printed(tmp_path: Path) -> None:
    done = run(data_dir=tmp_path)
    assert done.returncode == 2
    assert "Open the terminal application" in done.stdout
    assert "tui " not in [line.strip()[:4] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", ["app", "tui"])
def test_without_a_terminal_the_application_does_not_open(tmp_path: Path, name: str) -> None:
    done = run(name, data_dir=tmp_path)
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_screen_name_is_reported(tmp_path: Path) -> None:
    done = run("app", "nowhere", data_dir=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "error: nowhere does not exist; give folders or job files\n"

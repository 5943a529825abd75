"""The folders of tasks and their data: those in the package, and those set in the environment."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

SHIPPED_TASKS = Path(__file__).parents[2] / "sample" / "tasks"
"""The tasks that come with this program; every registry includes them."""


def default_data_dir() -> Path:
    """Return the folder of prepared data: `BIOEVAL_DATA_DIR`/tasks, otherwise in the user's data folder."""
    chosen = os.environ.get("BIOEVAL_DATA_DIR")
    if chosen:
        return Path(chosen).expanduser() / "tasks"

    return Path(platformdirs.user_data_dir("bioeval-tui", appauthor=False)) / "tasks"


def default_tasks_dirs() -> tuple[Path, ...]:
    """Return the folders of `BIOEVAL_TASKS_DIR`, which are separated as in PATH."""
    value = os.environ.get("BIOEVAL_TASKS_DIR", "")
    return tuple(Path(item).expanduser() for item in value.split(os.pathsep) if item)


def tasks_root(folder: Path) -> Path:
    """Return the tasks root of a folder; in a checkout of BioML-bench, that is a subfolder."""
    inside = folder / "biomlbench" / "tasks"
    return (inside if inside.is_dir() else folder).resolve()

"""Options for machine-learning tasks: the folders of tasks and data, and the leaderboard."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bioeval_tui.errors import UsageError
from bioeval_tui.settings import Settings
from bioeval_tui.text import clean_line

if TYPE_CHECKING:
    from bioeval_tui.grade.runs import Runs


def options(*several: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return several options as one decorator; help lists them in this order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(several):
            command = option(command)
        return command

    return add


WHERE = options(
    click.option(
        "--tasks-dir",
        "tasks_dirs",
        multiple=True,
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="A folder of tasks, or a BioML-bench checkout, in addition to the included tasks. Repeatable.",
    ),
    click.option(
        "--data-dir",
        type=click.Path(file_okay=False, path_type=Path),
        help="The folder with prepared data, as <folder>/<task>/prepared.",
    ),
)
BOARD = click.option(
    "--leaderboard",
    metavar="own|published|FILE",
    callback=lambda context, parameter, value: board(value),
    help="The leaderboard: the task's own, the included published one, or a CSV file with a column score "
    "[own if it has entries, else published].",
)


def board(value: str | None) -> str | None:
    """Return the chosen leaderboard: `own`, `published`, the absolute path of a file, or None.

    Raises:
        UsageError: there is no such file.
    """
    if value in (None, "own", "published"):
        return value
    need_file(Path(value), "own, published, or a CSV file with a column score")
    return str(Path(value).absolute())


def need_file(path: Path, what: str) -> None:
    """Check that a file exists, before anything else.

    Raises:
        UsageError: the file does not exist or is a folder.
    """
    shown = clean_line(str(path), 300)
    if not path.exists():
        raise UsageError(f"{shown} does not exist; give {what}")
    if path.is_dir():
        raise UsageError(f"{shown} is a folder; give {what}")


def settings_for(given: Mapping[str, Any]) -> Settings:
    """Return the environment's settings with the values of `WHERE` and `BOARD`."""
    settings = Settings.from_environment()
    data_dir: Path | None = given["data_dir"]
    return replace(
        settings,
        tasks_dirs=given["tasks_dirs"] or settings.tasks_dirs,
        tasks_data_override=data_dir.expanduser().absolute() if data_dir else None,
        leaderboard=given["leaderboard"],
    )


def with_runs(settings: Settings, places: Sequence[Path]) -> tuple[Settings, Runs | None, tuple[Path, ...]]:
    """Return the runs of agents in these folders, settings with their tasks and data, and the other places."""
    if not places:
        return settings, None, ()
    from bioeval_tui.grade.runs import find_runs, is_runs  # pydantic and yaml: only if a folder is given

    folders = [place for place in places if is_runs(place)]
    if not folders:
        return settings, None, tuple(places)
    runs = find_runs(folders, settings.tasks_dirs, settings.tasks_data_override, settings.data_dir / "tasks")
    found = replace(settings, tasks_dirs=runs.tasks_dirs, tasks_data_override=runs.data_dir)
    return found, runs, tuple(place for place in places if place not in folders)

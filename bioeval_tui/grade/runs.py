"""Runs of agents as BioML-bench keeps them: submissions, tasks and prepared data, found from one folder.

<checkout>/runs/<timestamp>_run-group_<agent>/submission.jsonl, metadata.json
<checkout>/runs/<timestamp>_run-group_<agent>/<folder>/<task>_<uuid>/submission/submission.csv or .h5ad
<checkout>/biomlbench/tasks/<folder>/<task>
<the user's cache folder>/bioml-bench/data/<folder>/<task>/prepared
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs

from bioeval_tui.errors import InputError
from bioeval_tui.grade.submissions import (
    Submission,
    agent_in,
    read_submissions,
)
from bioeval_tui.grade.tasks.task import default_data_dir, default_tasks_dirs, tasks_root
from bioeval_tui.text import clean_line, home_relative, plural

_GROUP = "*_run-group_*"
_LIST = "submission.jsonl"
_FILES = ("submission.csv", "submission.h5ad")
_RUN_ID = re.compile(r"(?P<task>.+)_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_REPORTS = ("*_grading_report.json", "*_grading.jsonl")


@dataclass(frozen=True, slots=True)
class Runs:
    """The content of a folder of runs, and where its tasks and data are; `looked` lists the searched folders."""

    submissions: tuple[Submission, ...]
    tasks_dirs: tuple[Path, ...]
    data_dir: Path
    looked: tuple[str, ...]


def published_data_dir() -> Path:
    """Return BioML-bench's default folder of prepared data."""
    return platformdirs.user_cache_path() / "bioml-bench" / "data"


def is_runs(folder: Path) -> bool:
    """Return whether a folder contains runs: a checkout, its `runs`, or one run group, but not a folder of grading reports."""
    return (
        folder.is_dir()
        and not any(any(folder.glob(pattern)) for pattern in _REPORTS)
        and bool(_groups(folder.absolute()))
    )


def find_runs(
    folders: Sequence[Path],
    tasks_dirs: Sequence[Path] = (),
    data_dir: Path | None = None,
    own_data: Path | None = None,
) -> Runs:
    """Return the runs at `folders`, see `is_runs`, with where their tasks and data are.

    Args:
        folders: the folders to search.
        tasks_dirs, data_dir: given by the user. The tasks of the checkout that contains a folder come after these; without
            `data_dir`, the folder with most of the data is used.
        own_data: this program's own prepared data; `default_data_dir()` if None.

    Raises:
        InputError: a list of submissions is wrong; file and line are named.
    """
    places = [folder.absolute() for folder in folders]
    groups = [group for place in places for group in _groups(place)]
    submissions_found = [item for group in groups for item in _submissions(group)]
    submissions = tuple(replace(item, number=number) for number, item in enumerate(submissions_found))
    above = [
        base
        for place in places
        for base in (place, *place.parents)
        if (base / "biomlbench" / "tasks").is_dir()
    ]
    roots = list(tasks_dirs or default_tasks_dirs())
    roots += [base for base in dict.fromkeys(above) if tasks_root(base) not in map(tasks_root, roots)]
    caches = [published_data_dir(), *(base / "data" for base in dict.fromkeys(above))]
    tasks = {item.task_id for item in submissions}
    data, tried = _data_dir(tasks, data_dir, [own_data or default_data_dir(), *caches])
    shown = ", ".join(_shown(tasks_root(root)) for root in roots)
    looked = (
        f"submissions: {len(submissions):,} in {plural(len(groups), 'run group')} below {', '.join(map(_shown, places))}",
        f"tasks: {shown}, and those that ship" if shown else _no_tasks(places),
        *tried,
    )
    return Runs(submissions, tuple(roots), data, looked)


def _groups(folder: Path) -> list[Path]:
    places = (folder, folder / "runs")
    own = [folder] if (folder / _LIST).is_file() or "_run-group_" in folder.name else []
    return own or [group for place in places for group in sorted(place.glob(_GROUP)) if group.is_dir()]


def _submissions(group: Path) -> list[Submission]:
    """Return a group's submissions: from the list, otherwise from the runs in `metadata.json`, otherwise from the folders."""
    if (group / _LIST).is_file():
        listed = read_submissions(group / _LIST).submissions
        return [replace(item, path=_moved(item.path, group)) for item in listed]
    agent = agent_in(group)
    return [
        Submission(0, task_id, str(file) if file else None, agent)
        for task_id, run in _runs_of(group)
        for file in [
            next(
                (run / "submission" / name for name in _FILES if (run / "submission" / name).is_file()), None
            )
        ]
    ]


def _runs_of(group: Path) -> Iterable[tuple[str, Path]]:
    metadata = group / "metadata.json"
    if metadata.is_file():
        try:
            runs = json.loads(metadata.read_bytes())["runs"]
            listed = [(str(run["task_id"]), group / str(name)) for name, run in runs.items()]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError(
                f"{clean_line(str(metadata), 300)} does not list runs with their task_id"
            ) from None
        return [(task, run) for task, run in listed if run.resolve().is_relative_to(group.resolve())]
    found = []
    for run in sorted({place.parent for place in group.glob("*/*/submission") if place.is_dir()}):
        name = _RUN_ID.fullmatch(run.relative_to(group).as_posix())
        if name is not None:
            found.append((name["task"], run))
    return found


def _moved(path: str | None, group: Path) -> str | None:
    """Return the local path of a listed file, because published lists may have absolute paths of another machine."""
    if path is None or Path(path).exists() or group.name not in Path(path).parts:
        return path
    parts = Path(path).parts
    here = group.joinpath(*parts[parts.index(group.name) + 1 :])
    return str(here) if here.resolve().is_relative_to(group.resolve()) and here.exists() else path


def _data_dir(tasks: set[str], chosen: Path | None, places: Sequence[Path]) -> tuple[Path, list[str]]:
    """Return the folder with data for the most tasks (the first of equals), and the number in each."""
    places = list(dict.fromkeys([chosen] if chosen is not None else places))
    counts = [sum((place / task / "prepared").is_dir() for task in tasks) for place in places]
    best = counts.index(max(counts))
    lines = [
        f"prepared data: {_shown(place)} has {count:,} of {plural(len(tasks), 'task')}"
        + (", taken" if number == best and len(places) > 1 else "")
        for number, (place, count) in enumerate(zip(places, counts, strict=True))
    ]
    return places[best], lines


def _no_tasks(places: Sequence[Path]) -> str:
    shown = ", ".join(map(_shown, places))
    return f"tasks: those that ship; {shown} is in no checkout of BioML-bench (--tasks-dir names one)"


def _shown(path: Path) -> str:
    return clean_line(home_relative(path), 300)

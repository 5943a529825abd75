"""Runs of agents as BioML-bench keeps them: submissions, tasks and prepared data, found from one
folder.

    <checkout>/runs/<timestamp>_run-group_<agent>/submission.jsonl, metadata.json
    <checkout>/runs/<run group>/<folder>/<task>_<uuid>/submission/submission.csv, or .h5ad
    <checkout>/biomlbench/tasks/<folder>/<task>
    <the user's cache folder>/bioml-bench/data/<folder>/<task>/prepared
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import platformdirs

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.text import clean_line, home_relative, plural
from bioeval_tui.grade.report_files import (
    Loaded,
    read_outcomes,
    report_files,
    short,
    submission_key,
)
from bioeval_tui.grade.run_groups import (
    METADATA,
    folder_agent,
    group_agent,
    listed_runs,
    run_folders,
)
from bioeval_tui.grade.submissions import RUN_GROUP, Submission, read_submissions
from bioeval_tui.grade.tasks.task import default_data_dir, default_tasks_dirs, tasks_root

_GROUP = f"*{RUN_GROUP}*"
_LIST = "submission.jsonl"
_FILES = ("submission.csv", "submission.h5ad")


@dataclass(frozen=True, slots=True)
class Runs:
    """The content of a folder of runs, and where its tasks and data are; `looked` lists the
    searched folders.

    `submissions` are to be graded. Those whose file is not here, but whose result is in a report,
    are not among them. `reports` are the folders with reports. `problems` says which lists of runs
    cannot be read, and why.
    """

    submissions: tuple[Submission, ...]
    tasks_dirs: tuple[Path, ...]
    data_dir: Path
    looked: tuple[str, ...]
    reports: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()


def published_data_dir() -> Path:
    """Return BioML-bench's default folder of prepared data."""
    return platformdirs.user_cache_path() / "bioml-bench" / "data"


def is_runs(folder: Path) -> bool:
    """Return whether a folder contains runs: a checkout, its `runs`, or one run group."""
    return folder.is_dir() and bool(_groups(folder.absolute()))


def find_runs(
    folders: Sequence[Path],
    tasks_dirs: Sequence[Path] = (),
    data_dir: Path | None = None,
    own_data: Path | None = None,
) -> Runs:
    """Return the runs at `folders`, see `is_runs`, with where their reports, tasks and data are.

    What a group was set to do counts, whether it left a file or not. A list that cannot be read
    stops no other group.

    Args:
        folders: the folders to search.
        tasks_dirs, data_dir: given by the user. The tasks of the checkout that contains a folder
            come after these; without `data_dir`, the folder with most of the data is used.
        own_data: this program's own prepared data; `default_data_dir()` if None.
    """
    places = [folder.absolute() for folder in folders]
    groups = list(dict.fromkeys(chain.from_iterable(map(_groups, places))))
    problems: list[str] = []
    found: list[Submission] = []
    for group in groups:
        found += _submissions(group, problems)
    reports = tuple(chain.from_iterable(map(_report_places, places)))
    waiting = _ungraded(found, reports)
    submissions = tuple(replace(item, number=number) for number, item in enumerate(waiting))
    bases = chain.from_iterable((place, *place.parents) for place in places)
    checkouts = [base for base in dict.fromkeys(bases) if (base / "biomlbench" / "tasks").is_dir()]
    roots = list(tasks_dirs or default_tasks_dirs())
    roots += [base for base in checkouts if tasks_root(base) not in map(tasks_root, roots)]
    caches = [published_data_dir(), *(base / "data" for base in checkouts)]
    tasks = {item.task_id for item in submissions}
    data, tried = _data_dir(tasks, data_dir, [own_data or default_data_dir(), *caches])
    shown = ", ".join(_shown(tasks_root(root)) for root in roots)
    left = sum(item.path is None for item in found)
    seen = [
        f"submissions: {len(found):,} in {plural(len(groups), 'run group')} below"
        f" {', '.join(map(_shown, places))}"
    ]
    if left:
        seen.append(f"{left:,} of them left no file")
    if len(found) > len(submissions):
        seen.append(f"{len(found) - len(submissions):,} graded in reports")
    told = f"tasks: {shown}, and those that ship" if shown else _no_tasks(places)
    looked = ("; ".join(seen), told, *tried)
    return Runs(submissions, tuple(roots), data, looked, reports, tuple(problems))


def _groups(folder: Path) -> list[Path]:
    if (folder / _LIST).is_file() or RUN_GROUP in folder.name or _lists_runs(folder):
        return [folder]
    inside: list[Path] = []
    for place in (folder, folder / "runs"):
        if place.is_dir():
            inside += sorted(place.iterdir())
    return [
        item
        for item in inside
        if item.is_dir()
        and (
            RUN_GROUP in item.name
            or _lists_runs(item)
            or (
                item.parent.name == "runs"
                and any((item / name).is_file() for name in (_LIST, METADATA))
            )
        )
    ]


def _lists_runs(folder: Path) -> bool:
    """Return whether `metadata.json` in a folder makes it a run group."""
    try:
        return bool(listed_runs(folder))
    except InputError:
        return False


def _report_places(place: Path) -> list[Path]:
    """Return where reports lie: in `place`, or of a checkout in its `runs` and beside them."""
    inner = place / "runs"
    if inner.is_dir() and not any(place.glob(_GROUP)):
        reports = sorted(place.glob("*_grading_report.json"))
        if report_files(inner, named=False):
            reports.append(inner)
        return reports
    if report_files(place, named=False):
        return [place]
    return []


def _submissions(group: Path, problems: list[str]) -> list[Submission]:
    """Return what a group was set to do: its list, with the runs of its metadata or else its
    folders that the list lacks.
    """
    agent = group_agent(group) or folder_agent(group)
    listed: list[Submission] = []
    if (group / _LIST).is_file():
        try:
            listed = list(read_submissions(group / _LIST).submissions)
        except InputError as error:
            problems.append(str(error))
    items = [
        replace(item, path=_moved(item.path, group), agent=item.agent or agent) for item in listed
    ]
    runs = _group_runs(group, problems)
    if listed and not (group / METADATA).is_file():
        runs = []
    # Published lists have a line for each run, but not all of them: a run without one was set, too.
    folders = {run.name for _, run in runs}
    named = {Path(item.run).name for item in listed if item.run}
    covered = Counter(short(item.task_id) for item in listed if Path(item.run).name not in folders)
    for task_id, run in runs:
        if run.name in named:
            continue
        if covered[short(task_id)] > 0:
            covered[short(task_id)] -= 1
            continue
        files = (run / "submission" / name for name in _FILES)
        # not pathlib, as in `_exists`
        file = next((path for path in files if os.path.isfile(path)), None)  # noqa: PTH113
        items.append(Submission(0, task_id, str(file) if file else None, agent, run=str(run)))
    return _add_keys(items, group)


def _group_runs(group: Path, problems: list[str]) -> list[tuple[str, Path]]:
    """Return the task and folder of each run that a group's metadata lists; without it, of those
    that have a folder.
    """
    try:
        listed = listed_runs(group)
    except InputError as error:
        problems.append(str(error))
        listed = None
    if listed is not None:
        return listed
    return list(run_folders(group))


def _add_keys(items: Iterable[Submission], group: Path) -> list[Submission]:
    places: Counter[tuple[str, ...]] = Counter()
    keyed = []
    for item in items:
        key = submission_key(item.task_id, item.path, _below(item.run, group), group)
        if key is not None:
            places[key] += 1
            key = (*key, str(places[key]))
        keyed.append(replace(item, key=key, batch=str(group)))
    return keyed


def _below(run: str, group: Path) -> str:
    """Return a run's folder as it is called in its group."""
    parts = Path(run).parts
    if group.name in parts[:-1]:
        return str(Path(*parts[parts.index(group.name) + 1 :]))
    return run


def _ungraded(found: Sequence[Submission], reports: Sequence[Path]) -> list[Submission]:
    """Return the submissions whose file is here, and of the others those that no report has a
    result of.
    """
    here = [item.path is not None and _exists(item.path) for item in found]
    if all(here) or not reports:
        return list(found)
    loaded = _readable(reports)
    keys = {(one.agent, *one.key) for one in loaded.results if one.key is not None}
    unnamed = Counter(
        (one.agent, short(one.outcome.task_id)) for one in loaded.results if one.key is None
    )
    waiting = []
    for item, is_here in zip(found, here, strict=True):
        agent = str(item.agent)
        if not is_here and item.key is not None and (agent, *item.key) in keys:
            continue
        if not is_here and unnamed[agent, short(item.task_id)] > 0:
            unnamed[agent, short(item.task_id)] -= 1
            continue
        waiting.append(item)
    return waiting


def _readable(reports: Sequence[Path]) -> Loaded:
    try:
        return read_outcomes(reports)
    except InputError:  # whoever shows the reports says it
        return Loaded(())


def _moved(path: str | None, group: Path) -> str | None:
    """Return the local path of a listed file, because published lists may have absolute paths of
    another machine.
    """
    if path is None or _exists(path) or group.name not in Path(path).parts:
        return path
    parts = Path(path).parts
    here = group.joinpath(*parts[parts.index(group.name) + 1 :])
    # What is not there is not resolved: it may be no name that a file can have.
    if _exists(here) and here.resolve().is_relative_to(group.resolve()):
        return str(here)
    return path


def _exists(path: Path | str) -> bool:
    return os.path.exists(path)  # noqa: PTH110 (pathlib raises on a name that is too long)


def _data_dir(
    tasks: set[str], chosen: Path | None, places: Sequence[Path]
) -> tuple[Path, list[str]]:
    """Return the folder with data for the most tasks (the first of equals), and the number in
    each.
    """
    if chosen is not None:
        places = [chosen]
    places = list(dict.fromkeys(places))
    counts = [sum((place / task / "prepared").is_dir() for task in tasks) for place in places]
    best = counts.index(max(counts))
    lines = [
        f"prepared data: {_shown(place)} has {count:,} of {plural(len(tasks), 'task')}"
        for place, count in zip(places, counts, strict=True)
    ]
    if len(places) > 1:
        lines[best] += ", taken"
    return places[best], lines


def _no_tasks(places: Sequence[Path]) -> str:
    shown = ", ".join(map(_shown, places))
    return (
        f"tasks: those that ship; {shown} is in no checkout of BioML-bench (--tasks-dir names one)"
    )


def _shown(path: Path) -> str:
    return clean_line(home_relative(path), 300)

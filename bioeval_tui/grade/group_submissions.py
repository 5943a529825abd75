"""The submissions of one run group: what its agent was set to do, whether it left a file or not,
and which of them are still to be graded.

`runs.find_runs` calls `group_submissions` for each group that it finds, and `ungraded` for all.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.files import real
from bioeval_tui.grade.report_files import Loaded, read_outcomes, short, submission_key
from bioeval_tui.grade.run_groups import (
    METADATA,
    folder_agent,
    group_agent,
    listed_runs,
    run_folders,
)
from bioeval_tui.grade.submissions import Submission, read_submissions

LIST = "submission.jsonl"
"""A run group's list of its submissions."""

_FILES = ("submission.csv", "submission.h5ad")


def group_submissions(group: Path, problems: list[str]) -> list[Submission]:
    """Return what a group was set to do: its list, with the runs of its metadata or else its
    folders that the list lacks.

    What cannot be read is added to `problems`.
    """
    agent = group_agent(group) or folder_agent(group)
    listed = _listed(group, problems)
    items = [
        replace(item, path=_local_path(item.path, group), agent=item.agent or agent)
        for item in listed
    ]
    for task_id, run in _unlisted_runs(group, listed, problems):
        items.append(Submission(0, task_id, _handed_in(run), agent, run=str(run)))
    return _add_keys(items, group)


def _listed(group: Path, problems: list[str]) -> Sequence[Submission]:
    """Return the submissions in a group's list; none without a list that can be read."""
    if not (group / LIST).is_file():
        return ()
    try:
        return read_submissions(group / LIST).submissions
    except InputError as error:
        problems.append(str(error))
        return ()


def _unlisted_runs(
    group: Path, listed: Sequence[Submission], problems: list[str]
) -> Iterator[tuple[str, Path]]:
    """Yield the task and folder of each run that no line of the list is of.

    Published lists have a line for each run, but not all of them: a run without one was set, too.
    A line that names no run's folder stands for one of the runs of its task.
    """
    runs = _group_runs(group, problems)
    if listed and not (group / METADATA).is_file():
        return
    folders = {run.name for _, run in runs}
    named = {Path(item.run).name for item in listed if item.run}
    covered = Counter(short(item.task_id) for item in listed if Path(item.run).name not in folders)
    for task_id, run in runs:
        if run.name in named:
            continue
        if covered[short(task_id)] > 0:
            covered[short(task_id)] -= 1
            continue
        yield task_id, run


def _handed_in(run: Path) -> str | None:
    """Return the file that a run left as its submission; None without one."""
    for name in _FILES:
        path = run / "submission" / name
        if os.path.isfile(path):  # noqa: PTH113 (as in `_exists`)
            return str(path)
    return None


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


def _local_path(path: str | None, group: Path) -> str | None:
    """Return the local path of a listed file, because published lists may have absolute paths of
    another machine.
    """
    if path is None or _exists(path) or group.name not in Path(path).parts:
        return path
    parts = Path(path).parts
    here = group.joinpath(*parts[parts.index(group.name) + 1 :])
    # What is not there is not resolved: it may be no name that a file can have.
    if _exists(here) and real(here).is_relative_to(real(group)):
        return str(here)
    return path


def _add_keys(items: Iterable[Submission], group: Path) -> list[Submission]:
    """Return the submissions with the key by which a report's result is told to be of one; equal
    ones are numbered.
    """
    places: Counter[tuple[str, ...]] = Counter()
    keyed = []
    for item in items:
        key = submission_key(item.task_id, item.path, _name_in_group(item.run, group), group)
        if key is not None:
            places[key] += 1
            key = (*key, str(places[key]))
        keyed.append(replace(item, key=key, batch=str(group)))
    return keyed


def _name_in_group(run: str, group: Path) -> str:
    """Return a run's folder as it is called in its group."""
    parts = Path(run).parts
    if group.name in parts[:-1]:
        return str(Path(*parts[parts.index(group.name) + 1 :]))
    return run


def ungraded(found: Sequence[Submission], reports: Sequence[Path]) -> list[Submission]:
    """Return the submissions whose file is here, and of the others those that no report has a
    result of.
    """
    here = [item.path is not None and _exists(item.path) for item in found]
    if all(here) or not reports:
        return list(found)
    loaded = _readable_outcomes(reports)
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


def _readable_outcomes(reports: Sequence[Path]) -> Loaded:
    try:
        return read_outcomes(reports)
    except InputError:  # whoever shows the reports says it
        return Loaded(())


def _exists(path: Path | str) -> bool:
    return os.path.exists(path)  # noqa: PTH110 (pathlib raises on a name that is too long)

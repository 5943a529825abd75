"""Runs of agents as BioML-bench keeps them: submissions, tasks and prepared data, found from one
folder.

    <checkout>/runs/<timestamp>_run-group_<agent>/submission.jsonl, metadata.json
    <checkout>/runs/<run group>/<folder>/<task>_<uuid>/submission/submission.csv, or .h5ad
    <checkout>/biomlbench/tasks/<folder>/<task>
    <the user's cache folder>/bioml-bench/data/<folder>/<task>/prepared

`grade`, `medals` and the medals screen take a folder to `find_runs` (`cli/options.py`). What one
run group handed in is read by `group_submissions.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import platformdirs

from bioeval_tui.base.errors import InputError, forbidden
from bioeval_tui.base.text import clean_line, home_relative, plural
from bioeval_tui.grade.group_submissions import LIST, group_submissions, ungraded
from bioeval_tui.grade.report_files import REPORT, report_files
from bioeval_tui.grade.run_groups import METADATA, listed_runs
from bioeval_tui.grade.submissions import RUN_GROUP, Submission
from bioeval_tui.grade.tasks.task import default_data_dir, default_tasks_dirs, tasks_root

_GROUP = f"*{RUN_GROUP}*"


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
        try:
            found += group_submissions(group, problems)
        except PermissionError as error:  # a folder of somebody who shares it with others only
            problems.append(clean_line(forbidden(error), 400))
    reports = tuple(chain.from_iterable(map(_report_places, places)))
    waiting = ungraded(found, reports)
    submissions = tuple(replace(item, number=number) for number, item in enumerate(waiting))

    checkouts = _checkouts(places)
    roots = list(tasks_dirs or default_tasks_dirs())
    roots += [base for base in checkouts if tasks_root(base) not in map(tasks_root, roots)]
    caches = [published_data_dir(), *(base / "data" for base in checkouts)]
    tasks = {item.task_id for item in submissions}
    data, tried = _data_dir(tasks, data_dir, [own_data or default_data_dir(), *caches])

    seen = _seen_words(found, len(submissions), groups, places)
    looked = (seen, _tasks_words(roots, places), *tried)
    return Runs(submissions, tuple(roots), data, looked, reports, tuple(problems))


def _groups(folder: Path) -> list[Path]:
    """Return the run groups at a place: itself, or those in it and in its `runs`."""
    if (folder / LIST).is_file() or RUN_GROUP in folder.name or _lists_runs(folder):
        return [folder]
    inside: list[Path] = []
    for place in (folder, folder / "runs"):
        if place.is_dir():
            inside += sorted(place.iterdir())
    return [item for item in inside if item.is_dir() and _is_group(item)]


def _is_group(folder: Path) -> bool:
    """Return whether a folder is a run group: its name says so, its metadata lists runs, or it is
    in `runs` and has one of a group's files.
    """
    if RUN_GROUP in folder.name or _lists_runs(folder):
        return True
    # Elsewhere a file of such a name may be anybody's.
    return folder.parent.name == "runs" and any(
        (folder / name).is_file() for name in (LIST, METADATA)
    )


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
        reports = sorted(place.glob(f"*{REPORT}"))
        if report_files(inner, named=False):
            reports.append(inner)
        return reports
    if report_files(place, named=False):
        return [place]
    return []


def _checkouts(places: Sequence[Path]) -> list[Path]:
    """Return the checkouts of BioML-bench that the places are in, or are."""
    bases = chain.from_iterable((place, *place.parents) for place in places)
    return [base for base in dict.fromkeys(bases) if (base / "biomlbench" / "tasks").is_dir()]


def published_data_dir() -> Path:
    """Return BioML-bench's default folder of prepared data."""
    return platformdirs.user_cache_path() / "bioml-bench" / "data"


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


def _seen_words(
    found: Sequence[Submission], waiting: int, groups: Sequence[Path], places: Sequence[Path]
) -> str:
    """Return how many submissions were found where, and why not all of them are to be graded."""
    words = [
        f"submissions: {len(found):,} in {plural(len(groups), 'run group')} below"
        f" {', '.join(map(_shown, places))}"
    ]
    left = sum(item.path is None for item in found)
    if left:
        words.append(f"{left:,} of them left no file")
    if len(found) > waiting:
        words.append(f"{len(found) - waiting:,} graded in reports")
    return "; ".join(words)


def _tasks_words(roots: Sequence[Path], places: Sequence[Path]) -> str:
    """Return where tasks are looked for, or which option says where they are."""
    if roots:
        shown = ", ".join(_shown(tasks_root(root)) for root in roots)
        return f"tasks: {shown}, and those that ship"
    shown = ", ".join(map(_shown, places))
    return (
        f"tasks: those that ship; {shown} is in no checkout of BioML-bench (--tasks-dir names one)"
    )


def _shown(path: Path) -> str:
    return clean_line(home_relative(path), 300)

"""The job files of some folders, as the jobs screen shows them.

Files are read again only when they change.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain, count, repeat
from operator import attrgetter
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from bioeval_tui.base.errors import Problem
from bioeval_tui.base.files import real, write_named
from bioeval_tui.base.text import clean, clean_line, file_title
from bioeval_tui.evaluation.wiring.case_table import CaseChoice
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.jobs.template import Answers, job_text
from bioeval_tui.record.masking import masked
from bioeval_tui.sample.named import plugin_jobs
from bioeval_tui.sample.paths import sample_jobs
from bioeval_tui.tui.job_items import JobItem

if TYPE_CHECKING:
    from bioeval_tui.jobs.models import EvaluationJob
    from bioeval_tui.record.runs import CataloguedRun
    from bioeval_tui.tui.data.run_list import RunList

ENDINGS = (".yml", ".yaml")
SHOWN_BYTES = 1_000_000
"""Maximum number of bytes of a file that are shown."""
FIRST_CASES = 100
"""Only this many cases of a job are checked here; `bioeval-tui check` and running the job check
all.
"""
MOST_FILES = 2_000
BUDGET_S = 0.3
"""Maximum time for checking new files before the results so far are returned."""
MOST_LISTED, MOST_SHOWN = 20, 300
"""Maximum number of a job's tasks, facts and assertions in its summary, and of characters of each.
"""
HISTORY = 40
"""Number of a job's latest scores returned."""

_TELLTALE = re.compile(
    r"^(target|tasks|facts|aspirationalAverage|evaluator|assertions)[ \t]*:", re.MULTILINE
)
_Stamp = tuple[int, int]


def default_folders() -> list[Path]:
    """Return the default places for jobs: the current folder, the folder of published jobs and the
    samples.
    """
    here = Path.cwd()
    folders = [here, here / "data" / "eval", here / "sample_jobs", sample_jobs()]
    folders_by_path: dict[Path, Path] = {}
    for folder in folders:
        if folder.is_dir():
            folders_by_path.setdefault(real(folder), folder)
    return list(folders_by_path.values())


class JobList:
    """Job files of `places` (folders, or files); of the default folders without any.

    A YAML file that was not named counts as a job if it has two of a job's keys, because folders
    also contain other programs' files.
    """

    def __init__(self, places: Sequence[Path], runs: RunList) -> None:
        self._places = tuple(places)
        self._runs = runs
        self._seen: dict[Path, tuple[_Stamp, JobItem | None]] = {}
        self._items: dict[Path, JobItem] = {}

    def new_path(self) -> Path:
        """Return a file that does not exist yet, in the first folder of jobs."""
        folder = next((place for place in self._places if place.is_dir()), Path.cwd())
        names = chain(["my-agent.yml"], (f"my-agent-{number}.yml" for number in count(2)))
        return next(folder / name for name in names if not (folder / name).exists())

    def write(self, path: Path, answers: Answers) -> Path:
        """Write a job file, and list it also if it is in none of the places; return it as it is
        listed.

        Raises:
            StorageError: the disk is full, or the folder cannot be written.
        """
        write_named(path, job_text(answers))
        known = next((one for one, _ in self._files() if real(one) == real(path)), None)
        if known is None:
            self._places = (*(self._places or default_folders()), path)
        return known or path

    def items(self) -> list[JobItem]:
        """Return the jobs with their latest scores.

        Unchanged jobs are the same objects as the last time.

        Checking takes `BUDGET_S` at most, however many files are new; the rest is checked the next
        time.
        """
        history = _history(self._runs.runs())
        items: dict[Path, JobItem] = {}
        until = monotonic() + BUDGET_S
        for path, asked_for in self._files():
            item = self._read(path, asked_for, check=monotonic() < until)
            if item is not None:
                items[path] = self._add_history(item, history.get(item.name, []))
        self._items = items
        return list(items.values())

    def item(self, path: Path) -> JobItem:
        """Return one job file as it is now, whether it is in the list or not."""
        return (
            self._read(path, True, check=True)
            or masked(read_job(path))
            or JobItem(path, file_title(path))
        )

    def _files(self) -> Iterator[tuple[Path, bool]]:
        seen: set[Path] = set()
        for place in self._places or default_folders():
            asked_for = place.is_file()
            for path in [place] if asked_for else _yaml_files(place):
                if path not in seen and len(seen) < MOST_FILES:
                    seen.add(path)
                    yield path, asked_for
        if not self._places:
            for path in plugin_jobs():
                seen.add(path)
                yield path, True
        for gone in self._seen.keys() - seen:
            del self._seen[gone]

    def _read(self, path: Path, asked_for: bool, check: bool) -> JobItem | None:
        try:
            stat = path.stat()
        except OSError:
            return None
        stamp = (stat.st_mtime_ns, stat.st_size)
        known = self._seen.get(path)
        if known is None or known[0] != stamp or (check and known[1] and not known[1].checked):
            known = self._seen[path] = (
                stamp,
                masked(read_job(path, asked_for=asked_for, check=check)),
            )
        return known[1]

    def _add_history(self, item: JobItem, runs: list[CataloguedRun]) -> JobItem:
        last: datetime | None = runs[-1].began if runs else None
        # A run of one condition has no mean; that is not a gap in the measurements.
        scores = tuple(run.score for run in runs if run.only_condition is None)[-HISTORY:]
        fresh = replace(item, runs=len(runs), scores=scores, last_run=last)
        before = self._items.get(item.path)
        if before == fresh and before is not None:
            return before
        return fresh


def read_job(path: Path, *, asked_for: bool = True, check: bool = True) -> JobItem | None:
    """Read and check one file; return None if it was not named and does not look like a job."""
    name = file_title(path)
    try:
        with path.open("rb") as file:
            data = file.read(SHOWN_BYTES + 1)
    except OSError as error:
        return JobItem(
            path, name, problems=(Problem(f"cannot be read: {error.strerror}"),), runnable=False
        )
    text = data[:SHOWN_BYTES].decode("utf-8-sig", "replace")
    if not asked_for and len(set(_TELLTALE.findall(text))) < 2:
        return None
    if not check:
        return JobItem(path, name, clean(text), runnable=False, checked=False)
    checked = check_job(path, choice=CaseChoice(first=FIRST_CASES))
    item = JobItem(
        path=path,
        name=name,
        text=clean(text),
        cases=checked.case_count,
        problems=tuple(
            sorted(checked.problems, key=lambda problem: (problem.line, problem.column))
        ),
        runnable=False,
    )
    if checked.loaded is None:
        return item
    job = checked.loaded.job
    needing_code = [error.field.endswith(("function", "python")) for error in checked.errors]
    return replace(
        item,
        tasks=len(job.tasks),
        facts=len(job.facts),
        conditions={condition.name: condition.title for condition in job.held_in},
        assertions=len(job.assertions),
        runnable=not checked.errors,
        needs_code=bool(needing_code) and all(needing_code),
        agent_url=job.target.url or "",
        sample=real(path).parent == real(sample_jobs()) and job.target.protocol == "rest",
        about=_summary(job),
    )


_TEMPLATE = re.compile(r"\s*\{\{[^}]*\}\}\s*")


def _summary(job: EvaluationJob) -> tuple[tuple[str, str], ...]:
    """Return what the job asks for, tells and checks."""
    rows = (
        ("about", list(filter(None, [job.about]))),
        (
            "facts",
            ["what each case says" if _TEMPLATE.fullmatch(fact) else fact for fact in job.facts],
        ),
        ("tasks", [task.task for task in job.tasks]),
        ("assertions", [assertion.title for assertion in job.assertions]),
    )
    lines: list[tuple[str, str]] = []
    for what, texts in rows:
        headings = chain([what], repeat(""))
        shown = (clean_line(text, MOST_SHOWN) for text in texts[:MOST_LISTED])
        lines += zip(headings, shown, strict=False)
    return tuple(lines)


def _yaml_files(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name
                for entry in entries
                if entry.name.endswith(ENDINGS)
                # raises nothing of a circular link, which would hide the other jobs
                and os.path.isfile(entry)  # noqa: PTH113
            ]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]


def _history(runs: Iterable[CataloguedRun]) -> dict[str, list[CataloguedRun]]:
    """Return the ended runs of each job, oldest first."""
    by_job: dict[str, list[CataloguedRun]] = defaultdict(list)
    for run in runs:
        if run.status != "running":
            by_job[run.job].append(run)
    for of_job in by_job.values():
        of_job.sort(key=attrgetter("began"))
    return by_job

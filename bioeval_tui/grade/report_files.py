"""The files that hold gradings: where the programs leave them, what is in them, and which grading
of a submission counts.

<folder>/<timestamp>_grading_report.json, <timestamp>_grading.jsonl,
<timestamp>_individual_reports/<task>.json <runs>/<run group>/<timestamp>_grading_report.json,
grading_report_<n>.json, grading_summary.json <runs>/<run group>/hourly/grading_report_<n>.json
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.text import clean_line, clean_value, join_names, json_problem, plural
from bioeval_tui.grade.outcomes import NotGraded, Outcome, reported
from bioeval_tui.grade.report_fields import read_time
from bioeval_tui.grade.run_groups import (
    METADATA,
    folder_agent,
    group_agent,
    is_run_folder,
    listed_runs,
)
from bioeval_tui.grade.submissions import (
    RUN_GROUP,
    UNKNOWN_AGENT,
    Submission,
    agent_in,
    read_list,
)
from bioeval_tui.grade.task_report import ReportExtra, TaskReport, now

JOURNAL = "_grading.jsonl"
REPORT = "_grading_report.json"
INDIVIDUAL = "_individual_reports"
_REPORT_NAME = re.compile(r".*(grading_report|grading_summary).*\.json|.*_grading\.jsonl")
_DEPTH = 4
"""How many folders down reports are looked for: `<checkout>/runs/<group>/hourly`."""
LISTED = 5
"""Maximum number of unreadable files that a sentence names."""

_Loadable = TypeVar("_Loadable", TaskReport, NotGraded)


@dataclass(frozen=True, slots=True)
class Graded:
    """One result, the file that holds it, and when it was graded.

    `key` tells its submission from others; None if the result names no file and no run. `batch` is
    what was graded together with it. `earlier` are the gradings of the same submission that it
    replaces, the newest first.
    """

    outcome: TaskReport | NotGraded
    file: Path
    batch: str
    at: datetime
    key: tuple[str, ...] | None = None
    earlier: tuple[Graded, ...] = ()

    @property
    def report(self) -> TaskReport | None:
        """The report; None if the submission was not graded."""
        if isinstance(self.outcome, TaskReport):
            return self.outcome
        return None

    @property
    def agent(self) -> str:
        """Who submitted it; `unknown` if nothing says so."""
        if isinstance(self.outcome, TaskReport):
            return self.outcome.agent
        return self.outcome.known_agent or UNKNOWN_AGENT


@dataclass(frozen=True)
class Loaded:
    """The results that count of graded submissions, one for each.

    `unread` says of each file that it cannot be read, and why. `superseded` is the number of
    results left out because the submission was graded again. `awaited` is how many submissions of
    unfinished batches have no result yet.
    """

    results: tuple[Graded, ...]
    unread: tuple[str, ...] = ()
    superseded: int = 0
    awaited: int = 0

    @cached_property
    def reports(self) -> tuple[TaskReport, ...]:
        """Of valid and invalid submissions."""
        return tuple(one.outcome for one in self.results if isinstance(one.outcome, TaskReport))

    @cached_property
    def not_graded(self) -> tuple[NotGraded, ...]:
        """Of submissions that could not be graded."""
        return tuple(one.outcome for one in self.results if isinstance(one.outcome, NotGraded))

    @property
    def unread_words(self) -> str:
        """Such as `2 files cannot be read: a.json is …; b.json: not JSON at column 1`; empty if all
        can.
        """
        if not self.unread:
            return ""
        named = join_names(self.unread, "; ", LISTED)
        return f"{plural(len(self.unread), 'file')} with no report that can be read: {named}"

    @property
    def superseded_words(self) -> str:
        """Such as `2 other gradings of the same submissions are left out`; empty if none is."""
        if not self.superseded:
            return ""
        others = plural(
            self.superseded,
            "other grading of the same submissions is",
            "other gradings of the same submissions are",
        )
        return f"{others} left out: each counts once, by its newest grading"

    @property
    def awaited_words(self) -> str:
        """Such as `14 submissions of an unfinished batch have no result yet: …`; empty if none."""
        if not self.awaited:
            return ""
        have = plural(
            self.awaited,
            "submission of an unfinished batch has",
            "submissions of an unfinished batch have",
        )
        return f"{have} no result yet: the same `grade` with --resume goes on"


def load_reports(path: Path) -> list[TaskReport]:
    """Load every report at `path`: a grading report, one task's report, a running batch's journal,
    or a folder.

    Reports of BioML-bench and MLE-bench load, too, and lists of reports such as `medals --json`
    prints. A submission that was graded several times has its newest report. All text in them is
    cleaned. What could not be graded has no report: `load_outcomes` returns it as well.

    Raises:
        InputError: nothing there is a report, or a file cannot be read; file and line are named.
    """
    return list(load_outcomes(path).reports)


def load_outcomes(path: Path) -> Loaded:
    """Load every report at `path`, as `load_reports` does, and the submissions that could not be
    graded.

    In a folder, files that cannot be read are listed in `unread`.

    Raises:
        InputError: as `load_reports`.
    """
    loaded = read_outcomes([Path(path)])
    if not loaded.results and loaded.unread:
        raise InputError(unread_sentence(loaded, [path]))
    return loaded


def read_outcomes(paths: Sequence[Path], more: Sequence[Graded] = ()) -> Loaded:
    """Load every report at these places, files or folders, as one collection; `more` are results
    from elsewhere.

    Raises:
        InputError: a file, or a folder without any report file, is given.
    """
    found, unread = list(more), []
    files: dict[Path, None] = {}
    for path in paths:
        if not path.is_dir():
            if not path.exists():
                raise InputError(f"{clean_line(str(path), 300)} does not exist")
            files[path] = None
            continue
        inside = report_files(path)
        if not inside:
            raise InputError(f"no grading reports in {clean_line(str(path), 300)}")
        files |= dict.fromkeys(inside)
    waiting, awaited = list(files), 0
    for file in waiting:
        try:
            results = _name_agents(list(_results(file)), file)
            found += results
            if file.name.endswith(JOURNAL):
                awaited += max(0, _planned(file) - len(results))
        except InputError as error:
            unread.append(str(error))
            if file.name.endswith(REPORT):
                alone = file.with_name(file.name.removesuffix(REPORT) + INDIVIDUAL)
                waiting += sorted(one for one in alone.glob("*.json") if one not in files)
    counted = newest(found)
    return Loaded(tuple(counted), tuple(unread), len(found) - len(counted), awaited)


def graded_now(outcomes: Iterable[tuple[Submission, Outcome]]) -> list[Graded]:
    """Return what was just graded in the form of what is read from files."""
    return [
        Graded(reported(outcome), Path(item.batch), item.batch, now(), item.key)
        for item, outcome in outcomes
    ]


# Where they lie


def report_files(place: Path, *, named: bool = True) -> list[Path]:
    """Return the files in a folder that should hold reports, by name: in itself, its run groups and
    their `hourly`.

    The folders of single runs are left out: what is in them comes from agents, who could leave a
    report of their own. `named` says that the user named the folder, so that any JSON file in it
    may be a report.
    """
    return list(_report_files(place, frozenset(), any_json=named, depth=_DEPTH))


def _report_files(
    folder: Path, runs: frozenset[Path], *, any_json: bool, depth: int
) -> Iterator[Path]:
    try:
        with os.scandir(folder) as items:
            entries = sorted(items, key=lambda item: item.name)
    except OSError:
        return
    # Unlike an entry's own methods, they raise nothing of a circular link or of a closed folder.
    files = [item.name for item in entries if os.path.isfile(item)]  # noqa: PTH113
    reports = [
        name
        for name in files
        if _REPORT_NAME.fullmatch(name)
        and not (name.endswith(JOURNAL) and _finished(name) in files)
    ]
    if any_json and not reports:
        reports = [name for name in files if name.endswith(".json") and name != METADATA]
    yield from (folder / name for name in reports)
    if depth == 0:
        return
    with contextlib.suppress(InputError):  # whoever grades the runs says it
        runs |= {run for _, run in listed_runs(folder) or ()}
    for item in entries:
        inner = folder / item.name
        is_group = RUN_GROUP in item.name
        if (
            not os.path.isdir(item)  # noqa: PTH112
            or (item.is_symlink() and not is_group)
            or item.name.startswith(".")
            or item.name == "node_modules"
        ):
            continue
        if item.name.endswith(INDIVIDUAL):
            start = item.name.removesuffix(INDIVIDUAL)
            if not {f"{start}{REPORT}", f"{start}{JOURNAL}"} & {*files}:
                yield from sorted(inner.glob("*.json"))
        elif inner not in runs and not is_run_folder(inner):
            any_json = is_group or item.name == "hourly"
            yield from _report_files(inner, runs, any_json=any_json, depth=depth - 1)


def _finished(journal: str) -> str:
    return journal.removesuffix(JOURNAL) + REPORT


# What is in them


def _results(path: Path) -> Iterator[Graded]:
    """Yield the results that a file holds.

    Raises:
        InputError: it cannot be read, or holds no report.
    """
    _, text = read_list(path)
    read_items = _journal if path.suffix == ".jsonl" else _document
    read = list(read_items(path, text))
    known = [
        moment(item.created_at)
        for item, _ in read
        if isinstance(item, TaskReport) and item.created_at
    ]
    stamp = read_time(path.name[:24].partition("_")[0])
    at = max(known, default=stamp or _written(path))
    batch = path
    if path.parent.name.endswith(INDIVIDUAL):  # a file for each report of a batch
        batch = path.parent
    places: Counter[tuple[str, ...]] = Counter()
    for item, run in read:
        graded = at
        if isinstance(item, TaskReport) and item.created_at:
            graded = moment(item.created_at)
        key = submission_key(item.task_id, item.submission_path, run, batch.parent)
        if key is not None:
            # A list may name a file twice: these are two submissions, of which each is graded again
            # as itself.
            places[key] += 1
            key = (*key, str(places[key]))
        yield Graded(item, path, str(batch), graded, key)


def _written(path: Path) -> datetime:
    """Return when a file was written, in UTC."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC).replace(tzinfo=None)
    except OSError as error:
        shown = clean_line(str(path), 300)
        raise InputError(f"{shown} cannot be read: {clean_line(str(error), 160)}") from None


def _document(path: Path, text: str) -> Iterator[tuple[TaskReport | NotGraded, str]]:
    shown = clean_line(str(path), 300)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{shown}: {json_problem(error)}") from None
    if isinstance(data, list):
        # What `medals --json` prints, or a list of reports of MLE-bench.
        for item in data:
            yield _listed(item, path)
        return
    if not isinstance(data, dict):
        raise InputError(
            f"{shown} is not a grading report: an object or a list of reports is expected"
        )
    listed = data.get("task_reports", data.get("competition_reports"))
    if not isinstance(listed, list):
        yield _listed(data, path)
        return
    for item in listed:
        yield _listed(item, path)
    failed = data.get("not_graded")
    if isinstance(failed, list):
        for item in failed:
            yield _read(NotGraded, item, path), _run_folder(item)


def _listed(item: Any, path: Path) -> tuple[TaskReport | NotGraded, str]:
    """Return an item of a list of reports; one that was not graded has the reason under
    `not_graded`.
    """
    if isinstance(item, dict) and isinstance(item.get("not_graded"), str):
        failed = {**item, "reason": item["not_graded"]}
        extra = item.get("extra")
        if isinstance(extra, dict) and extra.get("agent"):
            failed["agent"] = extra["agent"]
        return _read(NotGraded, failed, path), _run_folder(item)
    return _read(TaskReport, item, path), _run_folder(item)


def _run_folder(item: Any) -> str:
    """Return the folder of the run that a report names beside or instead of the submission's
    path.
    """
    if not isinstance(item, dict):
        return ""
    run = item.get("run", item.get("run_id"))
    if isinstance(run, str):
        return run
    return ""


def _journal(path: Path, text: str) -> Iterator[tuple[TaskReport | NotGraded, str]]:
    for line in text.split("\n"):
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            continue  # a line that is being written, or was when the program died
        if not isinstance(data, dict):
            continue
        outcome = data.get("outcome", {})
        report = outcome.get("report") or outcome.get("invalid", {}).get("report")
        if report:
            yield _read(TaskReport, report, path), ""


def _planned(journal: Path) -> int:
    """Return how many submissions the batch of a journal has; 0 if it does not say so."""
    with journal.open(encoding="utf-8", errors="replace") as file:
        first = file.readline(1000)
    with contextlib.suppress(ValueError):
        match json.loads(first):
            case {"count": int(count)}:
                return count
    return 0


def _read(kind: type[_Loadable], data: Any, path: Path) -> _Loadable:
    try:
        if not isinstance(data, dict):
            raise ValueError("an object is expected")
        return kind.from_dict(clean_value(data, 10_000))
    except ValueError as error:
        shown = clean_line(str(path), 300)
        raise InputError(
            f"{shown} is not a grading report: {clean_line(str(error), 200)}"
        ) from None


def moment(at: datetime) -> datetime:
    """Return a time as reports record it: UTC, without a zone."""
    if at.tzinfo is None:
        return at
    return at.astimezone(UTC).replace(tzinfo=None)


# Whose they are


def _name_agents(results: Sequence[Graded], file: Path) -> list[Graded]:
    """Name the agent of results whose path names none: from the run group the file lies in, or from
    the others in it.

    A run that left no submission has no path. Without this it would be nobody's, and its agent's
    share would rise.
    """
    if all(one.agent != UNKNOWN_AGENT for one in results):
        return list(results)
    others = {one.agent for one in results} - {UNKNOWN_AGENT}
    folder = file.absolute().parent
    agent = agent_in(file.absolute()) or group_agent(folder) or group_agent(folder.parent)
    if agent is None and len(others) == 1:
        agent = others.pop()
    agent = agent or folder_agent(folder)
    if agent is None:
        return list(results)
    return [_name_agent(one, agent) for one in results]


def _name_agent(one: Graded, agent: str) -> Graded:
    """Return a result as this agent's, unless it is known whose it is."""
    if one.agent != UNKNOWN_AGENT:
        return one
    if isinstance(one.outcome, NotGraded):
        return replace(one, outcome=replace(one.outcome, agent=agent))
    extra = replace(one.outcome.extra or ReportExtra(), agent=agent)
    return replace(one, outcome=replace(one.outcome, extra=extra))


# Which of them count


def submission_key(
    task_id: str, path: str | None, run: str, folder: Path
) -> tuple[str, ...] | None:
    """Return what tells a submission from others, wherever it is graded from; None if neither file
    nor run is named.

    It is the run's folder in its run group, where the file is that folder's
    `submission/submission.csv`, so that it is the same one before there was a file; else the file.
    A relative path to a file that is not here says which one only among the reports of the same
    `folder`.
    """
    if not path and not run:
        return None
    inner: tuple[str, ...]
    parts = Path(path or run).parts
    group = next((at for at, part in enumerate(parts) if RUN_GROUP in part), None)
    if group is not None:
        inner = parts[group:]
    elif not path:
        above = (folder.absolute(), *folder.absolute().parents)
        named = next(
            (place.name for place in above if RUN_GROUP in place.name), str(folder.absolute())
        )
        inner = (named, *parts)
    elif Path(path).is_absolute() or ("\0" not in path and os.path.lexists(path)):
        inner = (os.path.abspath(path),)  # noqa: PTH100 (links are as they were listed)
    else:
        inner = (str(folder.absolute()), *parts)
    if (
        path
        and len(inner) > 2
        and inner[-2] == "submission"
        and inner[-1].startswith("submission.")
    ):
        inner = inner[:-2]
    return (short(task_id), "/".join(inner))


def supersedes(
    report: TaskReport | None, at: datetime | None, held: TaskReport | None, before: datetime | None
) -> bool:
    """Return whether a grading of a submission replaces the one that is held: the newer does.

    A report is None where the submission was not graded, which replaces no report.
    """
    if (report is None) != (held is None):
        return held is None
    return at is not None and (before is None or at > before)


def newest(results: Sequence[Graded]) -> list[Graded]:
    """Return one result of each submission, its newest, in the order of the results.

    Those without a key (nothing was submitted) are the same ones again where a batch was graded
    again, which its other submissions show: there an agent has as many of a task as the batch with
    the most.
    """
    best: dict[tuple[str, ...], int] = {}
    every: dict[tuple[str, ...], list[Graded]] = {}
    for number, one in enumerate(results):
        if one.key is None:
            continue
        key = (one.agent, *one.key)
        every.setdefault(key, []).append(one)
        held = best.get(key)
        if held is None or supersedes(one.report, one.at, results[held].report, results[held].at):
            best[key] = number
    counted = {number: results[number] for number in _unnamed(results)}
    for key, number in best.items():
        counted[number] = one = results[number]
        if earlier := _earlier(one, every[key]):
            counted[number] = replace(one, earlier=earlier)
    return [counted[number] for number in sorted(counted)]


def _earlier(counted: Graded, every: Sequence[Graded]) -> tuple[Graded, ...]:
    """Return the gradings of a submission before the one that counts, the newest first; copies of
    it are none.
    """
    if len(every) == 1:
        return ()
    return tuple(
        sorted((one for one in every if one.at < counted.at), key=lambda one: one.at, reverse=True)
    )


def _unnamed(results: Sequence[Graded]) -> Iterator[int]:
    """Yield the positions of the results without a key that count."""
    if all(one.key is not None for one in results):
        return
    lists = _same_lists(results)
    named: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    sizes: dict[tuple[str, ...], Counter[str]] = {}
    unnamed: dict[tuple[str, ...], list[int]] = {}
    for number, one in enumerate(results):
        share: tuple[str, ...] = (lists[one.batch], one.agent, short(one.outcome.task_id))
        sizes.setdefault(share, Counter())[one.batch] += 1
        if one.key is None:
            unnamed.setdefault(share, []).append(number)
        else:
            named.setdefault(share, set()).add(one.key)
    for share, numbers in unnamed.items():
        left = max(sizes[share].values()) - len(named.get(share, ()))
        newest_first = sorted(numbers, key=lambda place: results[place].at, reverse=True)
        yield from newest_first[: max(0, left)]


def _same_lists(results: Iterable[Graded]) -> Mapping[str, str]:
    """Return a name for each batch that those share which graded the same submissions."""
    name: dict[str, str] = {}
    first: dict[tuple[str, ...], str] = {}

    def root(batch: str) -> str:
        while name.setdefault(batch, batch) != batch:
            batch = name[batch]
        return batch

    for one in results:
        mine = root(one.batch)
        if one.key is not None:
            name[mine] = root(first.setdefault((one.agent, *one.key), one.batch))
    return {batch: root(batch) for batch in list(name)}


def short(task_id: str) -> str:
    """Return a task's id without its folder, which other programs' reports leave out."""
    return task_id.rpartition("/")[2]


def unread_sentence(loaded: Loaded, places: Sequence[Path]) -> str:
    """Return why there is nothing to show at these places."""
    if len(loaded.unread) == 1:
        return loaded.unread[0]
    where = join_names([clean_line(str(place), 300) for place in places], most=3)
    if loaded.unread:
        return f"no grading report in {where}: {loaded.unread_words}"
    return f"no submission in {where}, neither in a grading report nor in a run group"

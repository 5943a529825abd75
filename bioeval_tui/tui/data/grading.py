"""Grading as screens and medal assertions need it: in worker processes, off the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bioeval_tui.errors import BioevalError, InputError, Problem
from bioeval_tui.evaluate.assertions.checker import GradeMedal
from bioeval_tui.evaluate.job.models import MedalAssertion
from bioeval_tui.evaluate.seams import CheckResult
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.record.report_reviews import reports_folder
from bioeval_tui.settings import Settings
from bioeval_tui.text import clean_line
from bioeval_tui.tui.services import MedalRow

if TYPE_CHECKING:
    from bioeval_tui.grade import Registry
    from bioeval_tui.grade.batch.pool import GraderPool
    from bioeval_tui.grade.outcomes import Outcome

WATCH_S = 1.0
Written = tuple[tuple[str, int, int], ...]
"""Names of files with the time of their last change in ns, and their size in bytes."""
MEDAL_ORDER = ("bronze", "silver", "gold")


class Grading:
    """The registry and a pool of workers, made when first used. Its methods block; call them from a thread."""

    def __init__(self, settings: Settings, workers: int = 1) -> None:
        self._settings = settings
        self._workers = workers
        self._lock = threading.Lock()
        self._registry: Registry | None = None
        self._pool: GraderPool | None = None

    def registry(self) -> Registry:
        """Return the registry of the settings' task folders and the shipped ones."""
        from bioeval_tui.grade import Registry

        with self._lock:
            if self._registry is None:
                self._registry = Registry(self._settings.tasks_dirs, self._settings.data_dir / "tasks")
            return self._registry

    def grade(self, path: Path | None, task_id: str) -> Outcome:
        """Prepare the task if it is shipped and not ready, then grade one file."""
        return self._ready_pool(task_id).grade(path, task_id)

    def examine(self, path: Path, task_id: str) -> tuple[Outcome, list[Problem]]:
        """Do as `grade` does, and return everything that is wrong with the file beside the outcome."""
        return self._ready_pool(task_id).examine(path, task_id)

    def _ready_pool(self, task_id: str) -> GraderPool:
        from bioeval_tui.grade.batch.pool import GraderPool
        from bioeval_tui.grade.tasks.prepare import prepare_task

        registry = self.registry()
        task = registry.get_task(task_id)
        if not task.is_prepared and (task.data_source or {}).get("type") == "builtin":
            prepare_task(task)
        with self._lock:
            if self._pool is None:
                self._pool = GraderPool(registry, workers=self._workers)
            return self._pool

    def leaderboard(self, task_id: str) -> tuple[float, ...]:
        """Return the leaderboard's scores, best first; empty when it cannot be read."""
        from bioeval_tui.grade.leaderboard import load_leaderboard

        try:
            task = self.registry().get_task(task_id)
            board = load_leaderboard(task.leaderboard, task.id, task.grader.lower_is_better)
        except BioevalError:
            return ()
        return tuple(float(score) for score in board.best_first())

    def domain(self, task_id: str) -> str:
        """Return the task's domain, cleaned; empty when it is not known."""
        try:
            return clean_line(self.registry().get_task(task_id).domain or "", 80)
        except BioevalError:
            return ""

    def close(self) -> None:
        """End the workers."""
        with self._lock:
            if self._pool is not None:
                self._pool.close()
                self._pool = None


async def grade_rows(
    grading: Grading, submissions: Sequence[tuple[str, Path | None]]
) -> AsyncIterator[MedalRow]:
    """Grade submissions one by one; yield each row as it is ready."""
    for task_id, path in submissions:
        yield await asyncio.to_thread(grade_row, grading, task_id, path)


async def report_rows(grading: Grading, paths: Sequence[Path]) -> AsyncIterator[MedalRow | None]:
    """Read reports (files or folders), and those that are written there later, without end.

    None comes whenever all that is there has been given, and no batch is being graded.

    Raises:
        InputError: something cannot be read at first; what is unreadable later is taken to be half written.
    """
    shown: set[tuple[str, str, str]] = set()
    boards: dict[str, tuple[float, ...]] = {}
    domains: dict[str, str] = {}
    seen: dict[Path, Written] = {}
    told = False
    while True:
        going_on = False
        for path in paths:
            written, is_graded = await asyncio.to_thread(_written, path)
            going_on = going_on or is_graded
            if written == seen.get(path):
                continue
            try:
                reports = await asyncio.to_thread(_load, path)
            except InputError:
                if path not in seen:
                    raise
                continue
            seen[path], told = written, False
            folder = reports_folder(path)
            for report in reports:
                key = (report.task_id, report.submission_path, report.created_at.isoformat())
                if key in shown:
                    continue
                shown.add(key)
                if report.task_id not in boards:
                    boards[report.task_id] = await asyncio.to_thread(grading.leaderboard, report.task_id)
                    domains[report.task_id] = await asyncio.to_thread(grading.domain, report.task_id)
                yield _report_row(report, boards[report.task_id], domains[report.task_id], folder)
        if not going_on and not told:
            told = True
            yield None
        await asyncio.sleep(WATCH_S)


def _written(path: Path) -> tuple[Written, bool]:
    """Return what tells whether reports were written since the last look, and whether a batch is being graded."""
    try:
        if not path.is_dir():
            return ((path.name, path.stat().st_mtime_ns, path.stat().st_size),), False
        with os.scandir(path) as items:
            found = [(item.name, item.stat().st_mtime_ns, item.stat().st_size) for item in items]
    except OSError:  # it went away, or an item did meanwhile: the next look will tell
        return (), False
    names = {name for name, _, _ in found}
    ends = [name.removesuffix("_grading.jsonl") for name in names if name.endswith("_grading.jsonl")]
    return tuple(sorted(found)), any(f"{start}_grading_report.json" not in names for start in ends)


def rows_at(grading: Grading, path: Path) -> list[MedalRow]:
    """Return the rows of every report at `path`, a file or a folder.

    Raises:
        InputError: nothing there is a report.
    """
    folder = reports_folder(path)
    return [
        _report_row(report, grading.leaderboard(report.task_id), grading.domain(report.task_id), folder)
        for report in _load(path)
    ]


def _load(path: Path) -> list[TaskReport]:
    from bioeval_tui.grade.reports import load_reports

    return load_reports(path)


def _report_row(report: TaskReport, board: tuple[float, ...], domain: str, folder: Path) -> MedalRow:
    from bioeval_tui.grade import extract_agent_from_submission_path

    agent = report.extra.agent if report.extra and report.extra.agent else None
    agent = agent or extract_agent_from_submission_path(report.submission_path)
    return MedalRow(
        report.task_id,
        clean_line(agent, 80),
        clean_line(report.submission_path),
        report,
        leaderboard=board,
        domain=domain,
        folder=folder,
        path=Path(report.submission_path),
    )


def grade_row(grading: Grading, task_id: str, path: Path | None) -> MedalRow:
    """Grade one file; whatever goes wrong is in the row."""
    from bioeval_tui.grade import extract_agent_from_submission_path
    from bioeval_tui.grade.outcomes import Invalid, NotGraded

    agent = clean_line(extract_agent_from_submission_path(str(path)), 80)
    shown = clean_line(str(path))
    try:
        outcome = grading.grade(path, task_id)
    except BioevalError as error:
        return MedalRow(task_id, agent, shown, not_graded=clean_line(str(error)))
    if isinstance(outcome, NotGraded):
        return MedalRow(task_id, agent, shown, not_graded=clean_line(outcome.reason))
    report = outcome.report if isinstance(outcome, Invalid) else outcome
    board, domain = grading.leaderboard(report.task_id), grading.domain(report.task_id)
    return MedalRow(report.task_id, agent, shown, report, leaderboard=board, domain=domain, path=path)


def medal_grader(settings: Settings, job_dir: Path) -> GradeMedal:
    """Return what grades a medal assertion's file; a glob takes the newest file, paths count from the job's folder.

    One file at a time, and a file that did not change since is not graded again.
    """
    from bioeval_tui.grade.outcomes import NotGraded

    grading = Grading(settings)
    turn = asyncio.Lock()
    graded: dict[tuple[str, Path, int, int], Outcome] = {}

    def outcome_of(path: Path, task_id: str) -> Outcome:
        found = path.stat()
        key = (task_id, path, found.st_mtime_ns, found.st_size)
        outcome = graded.get(key) or grading.grade(path, task_id)
        if not isinstance(outcome, NotGraded):
            graded[key] = outcome
        return outcome

    async def grade(assertion: MedalAssertion) -> CheckResult:
        path = await asyncio.to_thread(newest, job_dir, assertion.submission)
        if path is None:
            error = f"no file matches {clean_line(assertion.submission)}"
            return CheckResult(False, expected=assertion.medal, error=error)
        try:
            async with turn:
                try:
                    outcome = await asyncio.to_thread(outcome_of, path, assertion.task)
                finally:
                    await asyncio.to_thread(grading.close)
        except (BioevalError, OSError) as error:
            return CheckResult(None, expected=assertion.medal, error=clean_line(str(error)))
        return medal_result(assertion, outcome)

    return grade


def medal_result(assertion: MedalAssertion, outcome: Outcome) -> CheckResult:
    """Return whether a graded file reaches the medal asked for, or better."""
    from bioeval_tui.grade.outcomes import Invalid, NotGraded

    if isinstance(outcome, NotGraded):
        return CheckResult(None, expected=assertion.medal, error=clean_line(outcome.reason))
    if isinstance(outcome, Invalid):
        return CheckResult(
            False, "invalid", assertion.medal, clean_line(outcome.reason), report=outcome.report.to_dict()
        )
    observed = outcome.medal or ("above_median" if outcome.above_median else "no medal")
    if assertion.medal == "above_median":
        passed = outcome.above_median
    else:
        wanted = MEDAL_ORDER.index(assertion.medal)
        passed = outcome.medal is not None and MEDAL_ORDER.index(outcome.medal) >= wanted
    return CheckResult(passed, observed, assertion.medal, report=outcome.to_dict())


def newest(folder: Path, pattern: str) -> Path | None:
    """Return the file that a path or glob below the job's folder names, the newest if there are several.

    A job may come from anywhere: neither `..` nor a link leads out of its folder. An absolute path names a file or a
    pattern in one folder, for agents that work elsewhere.
    """
    with contextlib.suppress(OSError, ValueError, NotImplementedError, IndexError, RuntimeError):
        candidate = Path(pattern).expanduser()
        base, relative = (candidate.parent, candidate.name) if candidate.is_absolute() else (folder, pattern)
        if candidate.is_absolute() and relative == "**":
            return None
        root = base.resolve()
        found = [
            path for path in base.glob(relative) if path.is_file() and path.resolve().is_relative_to(root)
        ]
        return max(found, key=lambda path: path.stat().st_mtime, default=None)
    return None

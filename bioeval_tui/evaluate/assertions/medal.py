"""Medal assertions: grade a file that the agent wrote, and compare its medal with the required one."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bioeval_tui.errors import BioevalError, Problem
from bioeval_tui.evaluate.assertions.checker import GradeMedal
from bioeval_tui.evaluate.job.models import MedalAssertion
from bioeval_tui.evaluate.seams import CheckResult
from bioeval_tui.grade import Registry
from bioeval_tui.grade.batch.pool import GraderPool
from bioeval_tui.grade.outcomes import Invalid, NotGraded
from bioeval_tui.grade.tasks.prepare import prepare_task
from bioeval_tui.settings import Settings
from bioeval_tui.text import clean_line

if TYPE_CHECKING:
    from bioeval_tui.grade.explanation import Section
    from bioeval_tui.grade.outcomes import Outcome
    from bioeval_tui.grade.task_report import TaskReport
    from bioeval_tui.grade.uncertainty import Uncertainty


MEDAL_ORDER = ("bronze", "silver", "gold")


class Grading:
    """The registry and a pool of workers, made when first used. Its methods block; call them from a thread."""

    def __init__(self, settings: Settings, workers: int | None = 1) -> None:
        self._settings = settings
        self._workers = workers
        self._lock = threading.Lock()
        self._preparing = threading.Lock()
        self._registry: Registry | None = None
        self._pool: GraderPool | None = None

    def registry(self) -> Registry:
        """Return the registry of the settings' task folders and the shipped ones."""
        with self._lock:
            if self._registry is None:
                settings = self._settings
                self._registry = Registry(settings.tasks_dirs, settings.tasks_data_dir, settings.leaderboard)
            return self._registry

    def grade(self, path: Path | None, task_id: str) -> Outcome:
        """Prepare the task if it is shipped and not ready, then grade one file."""
        return self._ready_pool(task_id).grade(path, task_id)

    def grade_many(self, submissions: Sequence[tuple[str, Path | None]]) -> Iterator[tuple[int, Outcome]]:
        """Yield each submission's position and outcome as they finish; shipped tasks are prepared first."""
        for task_id in dict.fromkeys(task_id for task_id, _ in submissions):
            with contextlib.suppress(BioevalError):  # grading says it of each submission
                self._ready_pool(task_id)
        yield from self._pool_of(self.registry()).grade_many(submissions)

    def uncertainties(self, reports: Sequence[TaskReport]) -> Iterator[tuple[int, Uncertainty]]:
        """Yield the position of each valid report with its score's uncertainty; graders with code are not called."""
        from bioeval_tui.grade.batch.intervals import uncertainties

        return uncertainties(reports, self._pool_of(self.registry()))

    def explain(self, report: TaskReport) -> tuple[Section, ...]:
        """Return the error views of a valid submission, without answers that its task keeps private."""
        from bioeval_tui.grade.batch.explanations import explanations

        found = dict(explanations([report], self._pool_of(self.registry())))
        return found.get(0, ())

    def lacks_data(self, task_id: str) -> bool:
        """Return whether the task is known but its data is missing, so that preparing it may help."""
        try:
            return not self.registry().get_task(task_id).answers.is_file()
        except BioevalError:
            return False

    def examine(self, path: Path, task_id: str) -> tuple[Outcome, list[Problem]]:
        """Like `grade`, but also return everything that is wrong with the file."""
        return self._ready_pool(task_id).examine(path, task_id)

    def _ready_pool(self, task_id: str) -> GraderPool:
        registry = self.registry()
        task = registry.get_task(task_id)
        with self._preparing:  # a call that was cancelled may still be at it
            if not task.is_prepared and (task.data_source or {}).get("type") == "builtin":
                prepare_task(task)
        return self._pool_of(registry)

    def _pool_of(self, registry: Registry) -> GraderPool:
        with self._lock:
            if self._pool is None:
                self._pool = GraderPool(registry, workers=self._workers)
            return self._pool

    def leaderboard(self, task_id: str) -> tuple[float, ...]:
        """Return the leaderboard's scores, best first; empty if it cannot be read."""
        try:
            task = self.registry().get_task(task_id)
            from bioeval_tui.grade.tasks.board import leaderboard_of  # pandas: for who asks for a board

            board = leaderboard_of(task)
        except BioevalError:
            return ()
        return tuple(float(score) for score in board.best_first())

    def domain(self, task_id: str) -> str:
        """Return the task's domain, cleaned; empty if unknown."""
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


def medal_grader(settings: Settings, job_dir: Path | None, allowed: Sequence[Path] = ()) -> GradeMedal:
    """Return a function that grades a medal assertion's file. Paths are relative to the job's folder; the newest match counts.

    `allowed` are other folders that the user named; an absolute path must be below one of them.

    Files are graded one at a time, and again only if they changed.
    """
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
        path = await asyncio.to_thread(newest, job_dir, assertion.submission, allowed)
        if path is None:
            error = f"no file matches {clean_line(assertion.submission)}"
            if assertion.submission.startswith(("/", "~")):
                error += "; outside the job's folder only a folder given with --submissions is looked at"
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


def newest(folder: Path | None, pattern: str, allowed: Sequence[Path] = ()) -> Path | None:
    """Return the file that a path or glob below the job's folder names, the newest if there are several.

    A job may come from anywhere: neither `..` nor a link leads out of its folder. An absolute path counts only below
    it, or below a folder that the user allowed, for agents that work elsewhere.
    """
    with contextlib.suppress(OSError, ValueError, NotImplementedError, IndexError, RuntimeError):
        candidate = Path(pattern).expanduser()
        if candidate.is_absolute():
            known = [*([folder.absolute()] if folder is not None else []), *allowed]
            roots = [base for base in known if candidate.is_relative_to(base)]
            tried = [(base, str(candidate.relative_to(base))) for base in roots]
        else:
            tried = [(folder, pattern)] if folder is not None else []
        found = [
            path
            for base, relative in tried
            for path in base.glob(relative)
            if path.is_file() and path.resolve().is_relative_to(base.resolve())
        ]
        return max(found, key=lambda path: path.stat().st_mtime, default=None)
    return None

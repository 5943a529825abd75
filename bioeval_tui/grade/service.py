"""Grading for the screens, medal assertions and `doctor`: one registry and one pool of workers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bioeval_tui.base.errors import BioevalError, Problem
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.text import clean_line
from bioeval_tui.grade.batch.pool import GraderPool
from bioeval_tui.grade.tasks.prepare import prepare_shipped
from bioeval_tui.grade.tasks.registry import Registry

if TYPE_CHECKING:
    from bioeval_tui.grade.explaining.sections import Section
    from bioeval_tui.grade.outcomes import Outcome
    from bioeval_tui.grade.submissions import Submission
    from bioeval_tui.grade.task_report import TaskReport
    from bioeval_tui.grade.uncertainty import Uncertainty


class Grading:
    """The registry and a pool of workers, made when first used.

    Its methods block; call them from a thread.
    """

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
                self._registry = Registry(
                    settings.tasks_dirs, settings.tasks_data_dir, settings.leaderboard
                )
            return self._registry

    def grade(self, path: Path | None, task_id: str) -> Outcome:
        """Prepare the task if it is shipped and not ready, then grade one file."""
        return self._ready_pool(task_id).grade(path, task_id)

    def grade_many(self, submissions: Sequence[Submission]) -> Iterator[tuple[int, Outcome]]:
        """Yield each submission's position and outcome as they finish; shipped tasks are prepared
        first.
        """
        for task_id in dict.fromkeys(item.task_id for item in submissions):
            with contextlib.suppress(BioevalError):  # grading says it of each submission
                self._ready_pool(task_id)
        yield from self._open_pool(self.registry()).grade_many(
            [(item.task_id, item.path) for item in submissions],
            self._settings.follow_links,
            [item.agent for item in submissions],
        )

    def uncertainties(self, reports: Sequence[TaskReport]) -> Iterator[tuple[int, Uncertainty]]:
        """Yield the position of each valid report with its score's uncertainty; graders with code
        are not called.
        """
        from bioeval_tui.grade.batch.run import uncertainties

        return uncertainties(reports, self._open_pool(self.registry()))

    def explain(self, report: TaskReport, *, show_answers: bool) -> tuple[Section, ...]:
        """Return the error views of a valid submission; of private answers only if they are to be
        shown.
        """
        from bioeval_tui.grade.batch.run import explanations

        explained = dict(
            explanations([report], self._open_pool(self.registry()), show_answers=show_answers)
        )
        return explained.get(0, ())

    def lacks_data(self, task_id: str) -> bool:
        """Return whether the task is known but its data is missing, so that preparing it may
        help.
        """
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
            prepare_shipped(task, self._settings.own_tasks_dir)
        return self._open_pool(registry)

    def _open_pool(self, registry: Registry) -> GraderPool:
        with self._lock:
            if self._pool is None:
                self._pool = GraderPool(registry, workers=self._workers)
            return self._pool

    def leaderboard(self, task_id: str) -> tuple[float, ...]:
        """Return the leaderboard's scores, best first; empty if it cannot be read."""
        try:
            task = self.registry().get_task(task_id)
            from bioeval_tui.grade.grade import leaderboard_of  # pandas: for who asks for a board

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

"""A pool of grading workers: grades files in other processes, with a time and a memory limit each.

A grader that hangs, exits, crashes or takes too much memory costs one submission, which comes back
as NotGraded with the reason; the pool continues with a new worker. Everything here may be called
from any thread, and blocks it.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import chain, repeat
from pathlib import Path
from typing import Literal, Self

from bioeval_tui.base.errors import NotMeasuredError, Problem
from bioeval_tui.base.files import real
from bioeval_tui.grade.batch.containment import free_megabytes, hide_process
from bioeval_tui.grade.batch.feeding import (
    BatchItem,
    GradingBatch,
    GradingLimits,
    Result,
    SubmissionFeed,
    not_graded_text,
)
from bioeval_tui.grade.batch.worker_launch import WORKER_PYTHON
from bioeval_tui.grade.batch.worker_process import WorkerDied, WorkerProcess
from bioeval_tui.grade.batch.worker_template import CannotForkError, WorkerTemplate
from bioeval_tui.grade.outcome_json import is_not_graded, outcome_from_dict, problem_from_dict
from bioeval_tui.grade.outcomes import NotGraded, Outcome
from bioeval_tui.grade.tasks.registry import Registry, UnknownTaskError
from bioeval_tui.grade.tasks.task import own_folder

DEFAULT_TIME_LIMIT_S = 600.0
DEFAULT_MEMORY_LIMIT_MB = 8192
Isolate = Literal["task", "submission"]
TIMES_A_FILE = 10
"""How much memory a grader takes for a file, as a multiple of its size: 40 MB of float32 became 250
MB.
"""

_START_FAILURES = 3


@dataclass(frozen=True, slots=True)
class CheckedTask:
    """The result of checking a task: its problem (None if fine), and which of its own files the
    grader scored (None if none).
    """

    task_id: str
    problem: str | None = None
    warnings: Sequence[str] = ()
    scored: str | None = None


class GraderPool:
    """Up to `workers` grading processes, which are started when needed and reused.

    Args:
        registry: where tasks and data are found. None: the default registry.
        workers: processes at most. None: one a core.
        time_limit_s: wall-clock seconds for one submission.
        memory_limit_mb: what grading one submission may take beyond the libraries, in all processes
            that the grader starts; None for no limit.
        isolate: what gets a process of its own, so that nothing that its grader changes there
            affects another one: a `task`, whose submissions then share state, or each `submission`.
        python: the Python that runs workers; None for this program's own. Then
            `BIOEVAL_WORKER_PYTHON` names another one, which grades the tasks whose graders need
            packages that this one does not have, and no others.

    Use as a context manager, or call `close`.
    """

    def __init__(
        self,
        registry: Registry | None = None,
        *,
        workers: int | None = None,
        time_limit_s: float = DEFAULT_TIME_LIMIT_S,
        memory_limit_mb: int | None = DEFAULT_MEMORY_LIMIT_MB,
        isolate: Isolate = "task",
        python: str | None = None,
    ) -> None:
        hide_process()
        self._registry = registry = registry or Registry()
        self.workers = workers or _cores()
        self.time_limit_s = time_limit_s
        self.memory_limit_mb = memory_limit_mb
        self.isolate = isolate
        self._setup = {
            "tasks_dirs": [str(real(root)) for root in registry.tasks_dirs],
            "data_dir": str(real(registry.data_dir)),
            "own_folder": str(own_folder().absolute()),
            "leaderboard": registry.leaderboard,
            "memory_limit_mb": memory_limit_mb,
            "time_limit_s": time_limit_s,
            "isolate": isolate,
            "pandas": version("pandas") if python else None,
        }
        self._python = python
        self._other_python = os.environ.get(WORKER_PYTHON) if python is None else None
        self._other: GraderPool | None = None
        self._moved: set[str] = set()
        self._limits = GradingLimits(time_limit_s, memory_limit_mb)
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(self.workers)
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()
        self._templates = threading.Lock()
        self._template: WorkerTemplate | None = None
        self._can_fork = True
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers, busy ones too. Safe to call twice and from another thread."""
        with self._lock:
            self._closed = True
            workers = [*self._idle, *self._busy]
            self._idle.clear()
            self._busy.clear()
            other = self._other
            template = self._template
        for worker in workers:
            worker.kill()
        for each in (template, other):
            if each is not None:
                each.close()

    def grade(self, path: Path | str | None, task_id: str) -> Outcome:
        """Grade one file and return its report, why it is invalid, or why it was not graded.

        What was not graded is tried again in a new worker, unless that cannot help.

        Raises:
            NotMeasuredError: no worker can be started, or the pool is closed.
        """
        # to its end: the worker is kept
        outcomes = [outcome for _, outcome in self.grade_many([(task_id, path)])]
        if not outcomes:
            raise NotMeasuredError("the grading pool was closed")
        return outcomes[0]

    def examine(self, path: Path | str, task_id: str) -> tuple[Outcome, list[Problem]]:
        """Grade one file and return the outcome with everything that validation finds.

        Raises:
            NotMeasuredError: no worker can be started, or the pool is closed.
        """
        item = BatchItem(0, self._full_id(task_id), str(path), kind="examine")
        with self._free:
            data = json.loads(self._alone(item, fresh=False))
            outcome = outcome_from_dict(data)
            if isinstance(outcome, NotGraded) and not (
                outcome.final or outcome.elsewhere or "findings" in data
            ):
                diagnosed = json.loads(self._alone(replace(item, kind="diagnose"), fresh=False))
                if "invalid" in diagnosed:
                    data, outcome = diagnosed, outcome_from_dict(diagnosed)
        if isinstance(outcome, NotGraded) and outcome.elsewhere and self._other_python:
            return self._elsewhere().examine(path, task_id)
        return outcome, [problem_from_dict(item) for item in data.get("findings", ())]

    def check(self, task_ids: Sequence[str]) -> Iterator[CheckedTask]:
        """Load the config and the grader of each task, and grade a file of the task's own where it
        is prepared.
        """
        items = [
            BatchItem(number, task_id, None, kind="check")
            for number, task_id in enumerate(task_ids)
        ]
        moved = []
        for number, text in self.stream(items):
            data = json.loads(text)
            checked = data.get("check")
            if checked is None:
                yield CheckedTask(task_ids[number], data["not_graded"]["reason"])
            elif checked.pop("elsewhere") and self._other_python:
                moved.append(task_ids[number])
            else:
                yield CheckedTask(task_ids[number], **checked)
        if moved:
            yield from self._elsewhere().check(moved)

    def grade_many(
        self,
        submissions: Iterable[tuple[str, Path | str | None]],
        follow: Sequence[Path] | None = None,
        agents: Sequence[str | None] = (),
    ) -> Iterator[tuple[int, Outcome]]:
        """Grade `(task id, path)` pairs and yield `(position, outcome)` as they finish, in any
        order.

        `agents` are who submitted them, in their order; without them, or where one is None, the
        path says it. `follow`: the folders into which a path may be a link, besides its own run
        group; None follows every link.
        """
        into = None if follow is None else tuple(follow)
        items = []
        whose = zip(submissions, chain(agents, repeat(None)), strict=False)
        for number, ((task_id, path), agent) in enumerate(whose):
            named = None if path is None else str(path)
            items.append(BatchItem(number, task_id, named, agent, follow=into))
        for number, text in self.stream(items):
            yield number, outcome_from_dict(json.loads(text))

    def stream(self, items: Sequence[BatchItem], workers: int | None = None) -> Iterator[Result]:
        """Grade items and yield each one's number and outcome text exactly once, as they finish.

        At most `workers` of the pool's processes are used. Submissions that were not graded are
        tried again, one by one, after all others; then those whose graders need another Python, if
        one is configured.

        Raises:
            NotMeasuredError: no worker can be started, or the pool is closed.
        """
        named = [replace(item, task_id=self._full_id(item.task_id)) for item in items]
        largest = largest_files(named)
        # Task by task, so that each worker keeps few tasks ready. Every other worker begins with
        # the smallest files: two grade large ones at once, which takes most memory, only if nothing
        # else is left.
        waiting = sorted(
            named, key=lambda item: (-largest[item.task_id], item.task_id, item.number)
        )
        batch = GradingBatch(
            deque(item for item in waiting if item.task_id not in self._moved),
            queue.Queue(maxsize=64),
            isolate=self.isolate,
        )
        if self._other_python:
            batch.moved = [item for item in waiting if item.task_id in self._moved]
        fitting = workers_that_fit(max(largest.values(), default=0), workers or self.workers)
        count = min(fitting, self.workers, max(1, len(items)))
        threads = [
            threading.Thread(
                target=self._work, args=(batch, count, -(n % 2)), name=f"grading-{n}", daemon=True
            )
            for n in range(count)
        ]
        for thread in threads:
            thread.start()
        running = len(threads)
        try:
            while running:
                results = batch.results.get()
                if results is None:
                    running -= 1
                elif isinstance(results, BaseException):
                    raise results
                else:
                    yield from results
            yield from self._second_tries(batch.failed)
            yield from self._moved_ones(batch.moved or [], workers)
        finally:
            batch.cancelled.set()
            while any(thread.is_alive() for thread in threads):
                _drain(batch.results)
                for thread in threads:
                    thread.join(timeout=0.05)

    def _full_id(self, task_id: str) -> str:
        """Return the id by which workers name a task that may be given by a bare name; an unknown
        one as it is.
        """
        try:
            return self._registry.entry(task_id).id
        except UnknownTaskError:
            return task_id

    def _second_tries(self, failed: list[tuple[BatchItem, str]]) -> Iterator[Result]:
        for position, (item, _) in enumerate(sorted(failed, key=lambda pair: pair[0].number)):
            with self._free:
                text = self._again(item, fresh=position == 0)
            yield item.number, text

    def _again(self, item: BatchItem, *, fresh: bool) -> str:
        """Grade one item again.

        If it ends the process again, the file is at fault if validation finds an error.
        """
        text = self._alone(item, fresh=fresh, attempts=2)
        if not is_not_graded(text) or item.path is None:
            return text
        diagnosed = self._alone(replace(item, kind="diagnose"), fresh=False, attempts=2)
        if is_not_graded(diagnosed):
            return text
        return diagnosed

    def _moved_ones(self, items: list[BatchItem], workers: int | None) -> Iterator[Result]:
        if not items:
            return
        self._moved |= {item.task_id for item in items}
        left = {item.number: item for item in items}
        try:
            for number, text in self._elsewhere().stream(items, workers):
                del left[number]
                yield number, text
        except NotMeasuredError as error:
            for item in left.values():
                yield item.number, not_graded_text(item, str(error))

    def _elsewhere(self) -> GraderPool:
        """Return the pool whose workers run in the Python of `BIOEVAL_WORKER_PYTHON`."""
        with self._lock:
            if self._other is None:
                self._other = GraderPool(
                    self._registry,
                    workers=self.workers,
                    time_limit_s=self.time_limit_s,
                    memory_limit_mb=self.memory_limit_mb,
                    isolate=self.isolate,
                    python=self._other_python,
                )
            return self._other

    def _work(self, batch: GradingBatch, count: int, end: int) -> None:
        try:
            with self._free:
                while not batch.cancelled.is_set() and (first := batch.take(count, end)):
                    self._use_worker(batch, first, count, end)
        except BaseException as error:  # raised in a thread, it belongs to who reads the results
            batch.results.put(error)
        else:
            batch.results.put(None)

    def _use_worker(
        self, batch: GradingBatch, first: list[BatchItem], count: int, end: int
    ) -> None:
        """Feed one worker until the batch is empty, the worker dies, or another task needs another
        worker.
        """
        try:
            worker = self._take(first[0].task_id)
        except NotMeasuredError:
            batch.give_back(first, end)
            raise
        feed = SubmissionFeed(worker, batch, count, self._limits, end)
        try:
            feed.run(first)
        except WorkerDied as died:
            self._drop(worker)
            if batch.cancelled.is_set() or self._closed:
                return
            feed.settle(str(died))
        else:
            if batch.cancelled.is_set():
                self._drop(worker)
            else:
                self._put_back(worker)

    def _alone(self, item: BatchItem, *, fresh: bool, attempts: int = 1) -> str:
        """Grade one item in its own worker and return its outcome's JSON text."""
        worker = self._take(item.task_id, fresh=fresh)
        batch = GradingBatch(deque(), queue.Queue())
        feed = SubmissionFeed(worker, batch, 1, self._limits)
        try:
            feed.run([item])
        except WorkerDied as died:
            self._drop(worker)
            if self._closed:
                raise NotMeasuredError("the grading pool was closed") from None
            feed.settle(str(died))
        else:
            self._put_back(worker)
        if batch.failed:
            return not_graded_text(item, batch.failed[0][1], attempts)
        if batch.waiting:
            return not_graded_text(item, "the worker ended before it began", attempts)
        results = batch.results.get_nowait()
        assert isinstance(results, list)
        return results[0][1]

    def _take(self, task_id: str, *, fresh: bool = False) -> WorkerProcess:
        with self._lock:
            if self._closed:
                raise NotMeasuredError("the grading pool is closed")
            worker = self._idle.pop() if self._idle else None
            if worker is not None and not fresh and worker.may_grade(task_id):
                self._busy.add(worker)
                return worker
        if worker is not None:
            worker.kill()
        return self._adopt(self._start(task_id))

    def _adopt(self, worker: WorkerProcess) -> WorkerProcess:
        with self._lock:
            if not self._closed:
                self._busy.add(worker)
                return worker
        worker.kill()
        raise NotMeasuredError("the grading pool is closed")

    def _start(self, task_id: str) -> WorkerProcess:
        for attempt in range(_START_FAILURES):
            try:
                return WorkerProcess(self._setup, self._python, self._forking(), task_id)
            except CannotForkError:
                self._can_fork = False
            except NotMeasuredError:
                if attempt == _START_FAILURES - 1:
                    raise
        return WorkerProcess(self._setup, self._python, None, task_id)

    def _forking(self) -> WorkerTemplate | None:
        """Return the template, a new one if it has ended; None if workers have to be started by
        themselves.
        """
        with self._templates:
            if self._template is not None and (self._template.has_ended or not self._can_fork):
                self._template.close()
                self._template = None
            if self._template is None and self._can_fork and not self._closed:
                self._template = WorkerTemplate(self._setup, self._python)
            # `close` may have come while it started
            if self._closed and self._template is not None:
                self._template.close()
            return self._template

    def _put_back(self, worker: WorkerProcess) -> None:
        with self._lock:
            self._busy.discard(worker)
            if not self._closed:
                self._idle.append(worker)
                return
        worker.kill()

    def _drop(self, worker: WorkerProcess) -> None:
        with self._lock:
            self._busy.discard(worker)
        worker.kill()


def largest_files(items: Iterable[BatchItem]) -> dict[str, int]:
    """Return the size of each task's largest file, in bytes."""
    largest: dict[str, int] = {}
    for item in items:
        size = 0
        with contextlib.suppress(OSError, ValueError):
            size = os.stat(item.path or "").st_size  # noqa: PTH116 (the hot path)
        largest[item.task_id] = max(largest.get(item.task_id, 0), size)
    return largest


def workers_that_fit(size: int, most: int) -> int:
    """Return for how many of at most `most` workers half of the free memory has room, if each has a
    file of `size` bytes.
    """
    needed = TIMES_A_FILE * size / (1024 * 1024)
    if needed:
        return max(1, int(min(most, free_megabytes() / 2 / needed)))
    return most


def _drain(results: queue.Queue[list[Result] | BaseException | None]) -> None:
    try:
        while True:
            results.get_nowait()
    except queue.Empty:
        return


def _cores() -> int:
    count: Callable[[], int | None] = getattr(os, "process_cpu_count", os.cpu_count)
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return count() or 1

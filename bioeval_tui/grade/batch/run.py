"""Grade a list of submissions: in this process, in a pool of workers, or on a cluster; then their
intervals and explanations.

On a Dask cluster, chunks of submissions go to its workers, each of which runs a pool of its own.
Files, tasks and data must be at the same paths on every machine, and bioeval-tui installed there. A
task that Dask runs twice, because a worker died, is reported once.
"""

from __future__ import annotations

import atexit
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bioeval_tui.base import clusters
from bioeval_tui.base.errors import InputError
from bioeval_tui.base.files import below, real, write_whole
from bioeval_tui.base.text import clean_line
from bioeval_tui.grade.batch.feeding import Backend, BatchItem, Result, not_graded_text
from bioeval_tui.grade.batch.output import BatchOutput, BatchResult
from bioeval_tui.grade.batch.pool import GraderPool, Isolate
from bioeval_tui.grade.batch.worker_protocol import Wire
from bioeval_tui.grade.explaining.sections import Section
from bioeval_tui.grade.outcome_json import outcome_to_dict, to_text
from bioeval_tui.grade.outcomes import NotGraded, NotGradedError, Outcome
from bioeval_tui.grade.submission_files import why_not_followed
from bioeval_tui.grade.submissions import SubmissionList, read_submissions
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.grade.tasks.registry import Registry, registry as DEFAULT_REGISTRY
from bioeval_tui.grade.uncertainty import Uncertainty

if TYPE_CHECKING:
    from bioeval_tui.grade.grade import TaskGrading


def explanations(
    reports: Sequence[TaskReport],
    backend: Backend,
    *,
    by: str | None = None,
    show_answers: bool = False,
) -> Iterator[tuple[int, tuple[Section, ...]]]:
    """Yield the position of each valid report with its error views, in any order; see
    `explaining.explain`.

    Without views, one section says why.
    """
    kind = "explain:" + json.dumps({"by": by, "show_answers": show_answers})
    for number, answer in _answers(reports, backend, kind):
        if "explanation" in answer:
            yield number, tuple(Section.from_dict(section) for section in answer["explanation"])
        else:
            yield number, (Section("no error view", (), (), note=answer["not_graded"]["reason"]),)


def uncertainties(
    reports: Sequence[TaskReport], backend: Backend, *, call_code: bool = False
) -> Iterator[tuple[int, Uncertainty]]:
    """Yield the position of each valid report with its score's uncertainty, in any order.

    Args:
        reports: of submissions whose files are where the reports say.
        backend: a pool or a cluster.
        call_code: also call graders with code on resampled rows.
    """
    kind = "interval-code" if call_code else "interval"
    for number, answer in _answers(reports, backend, kind):
        if "uncertainty" in answer:
            yield number, Uncertainty.from_dict(answer["uncertainty"])
        else:
            yield number, Uncertainty(why_not=answer["not_graded"]["reason"])


def _answers(
    reports: Sequence[TaskReport], backend: Backend, kind: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the position of each valid report with the answer of `backend` to an item of this kind,
    in any order.
    """
    items = []
    for number, report in enumerate(reports):
        if report.valid_submission and report.submission_path:
            agent = report.extra.agent if report.extra else None
            items.append(BatchItem(number, report.task_id, report.submission_path, agent, kind))
    if items:  # a backend that has nothing to do need not start
        for number, text in backend.stream(items):
            yield number, json.loads(text)


def rewrite(
    result: BatchResult, change: Callable[[list[TaskReport]], Iterator[tuple[int, TaskReport]]]
) -> None:
    """Rewrite the reports of a finished batch with the results of `change`.

    An interruption during `change` leaves the reports unchanged.

    Raises:
        StorageError: the disk is full; each file is complete, either old or new.
    """
    whole: dict[str, Any] = json.loads(result.report_path.read_bytes())
    values = whole["task_reports"]
    changed = {
        number: report.to_dict()
        for number, report in change([TaskReport.from_dict(item) for item in values])
    }
    for number, value in changed.items():
        text = json.dumps(value, indent=2, ensure_ascii=False)
        write_whole(below(result.individual_dir, result.names[number]), text + "\n", sync=False)
        values[number] = value
    lines = [f"  {json.dumps(key)}: {_rows(value)}" for key, value in whole.items()]
    write_whole(
        below(result.report_path.parent, result.report_path.name),
        "{\n" + ",\n".join(lines) + "\n}\n",
    )


def _rows(value: Any) -> str:
    """Return a value as JSON, a list with a line for each of its items."""
    if not isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    listed = ",\n    ".join(json.dumps(item, ensure_ascii=False) for item in value)
    if listed:
        return f"[\n    {listed}\n  ]"
    return "[]"


@dataclass(slots=True)
class GradingProgress:
    """The progress of a batch. `resumed` of the `done` submissions were graded before."""

    total: int
    done: int
    resumed: int
    invalid: int = 0
    not_graded: int = 0


def grade_batch(
    submissions: Path | SubmissionList,
    output_dir: Path,
    backend: Backend,
    *,
    resume: bool = False,
    on_progress: Callable[[GradingProgress], None] = lambda progress: None,
) -> BatchResult:
    """Grade a submissions JSONL, or the list read from one, and write its reports to `output_dir`.

    Every finished report survives an interruption; `resume` continues from there.

    Raises:
        InputError: the list is wrong or the folder cannot be written.
        UsageError: `resume`, but the list has changed.
        NotMeasuredError: no grading worker can be started.
    """
    listed = submissions
    if isinstance(listed, Path):
        listed = read_submissions(listed)
    with BatchOutput(output_dir, listed, resume=resume) as output:
        done = output.finished
        progress = GradingProgress(len(listed.submissions), done, done)
        on_progress(progress)
        items = [
            BatchItem(item.number, item.task_id, item.path, item.agent, follow=listed.follow)
            for item in output.remaining()
        ]
        if items:
            for number, text in backend.stream(items):
                kind = output.add(number, text)
                progress.done += 1
                progress.invalid += kind == "invalid"
                progress.not_graded += kind == "not_graded"
                on_progress(progress)
        return output.finish()


class InProcess:
    """Grades in this process, one submission after another, as the published program does."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._ready: dict[str, TaskGrading] = {}

    def stream(self, items: Sequence[BatchItem]) -> Iterator[Result]:
        """Grade in order; submissions that were not graded are tried again at the end."""
        again = []
        for item in items:
            outcome = self._grade(item)
            if isinstance(outcome, NotGraded) and not (outcome.final or outcome.elsewhere):
                again.append(item)
            else:
                yield item.number, to_text(outcome_to_dict(outcome))
        for item in again:
            self._ready.pop(item.task_id, None)
            outcome = self._grade(item)
            if isinstance(outcome, NotGraded):
                outcome = replace(outcome, attempts=2)
            yield item.number, to_text(outcome_to_dict(outcome))

    def _grade(self, item: BatchItem) -> Outcome:
        try:
            ready = self._ready.get(item.task_id)
            if ready is None:
                # pandas: in this process it is seldom used
                from bioeval_tui.grade.grade import (
                    TaskGrading,
                )

                ready = TaskGrading(self._registry.get_task(item.task_id))
                self._ready[item.task_id] = ready
        except (InputError, NotGradedError) as error:
            return NotGraded(
                item.task_id, item.path or "", str(error), final=True, agent=item.agent
            )
        file = None if item.path is None else Path(item.path)
        refused = None
        if file is not None and item.follow is not None:
            refused = why_not_followed(file, item.follow)
        return ready.grade(file, item.path, handed_in=True, agent=item.agent, refused=refused)


def grade_jsonl(
    path_to_submissions: Path, output_dir: Path, registry: Registry = DEFAULT_REGISTRY
) -> tuple[Path, Path]:
    """Grade a submissions JSONL in this process; return the grading report and the folder of single
    reports.

    A submission that cannot be graded never ends the batch: it is listed under `not_graded`.

    Raises:
        InputError: the list is wrong or the folder cannot be written.
    """
    result = grade_batch(Path(path_to_submissions), Path(output_dir), InProcess(registry))
    return result.report_path, result.individual_dir


_CHUNK = 32
_CHUNKS_AHEAD = 4
_RETRIES = 2

_pools: dict[tuple[Any, ...], GraderPool] = {}
_pools_lock = threading.Lock()


class ClusterBackend:
    """Grades through a Dask scheduler, such as `tcp://127.0.0.1:8786`. Use as a context manager.

    Raises:
        NotMeasuredError: the package `distributed` is missing.
        UnavailableError: the scheduler does not answer, or has no worker.
    """

    def __init__(
        self,
        scheduler: str,
        registry: Registry,
        *,
        time_limit_s: float,
        memory_limit_mb: int | None,
        isolate: Isolate = "task",
    ) -> None:
        self._distributed = clusters.load_distributed()
        self._setup = (
            tuple(str(real(root)) for root in registry.tasks_dirs),
            str(real(registry.data_dir)),
            registry.leaderboard,
            time_limit_s,
            memory_limit_mb,
            isolate,
        )
        self._client = clusters.connect(scheduler)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        clusters.close(self._client)

    def stream(self, items: Sequence[BatchItem]) -> Iterator[Result]:
        """Yield each item's number and outcome text exactly once, as they finish.

        A chunk that the cluster gave up on is sent again, one submission at a time; a submission
        that fails again is not graded.
        """
        chunks = _chunks(items)
        pending: dict[Any, list[BatchItem]] = {}
        left = {item.number for item in items}
        running = self._distributed.as_completed(loop=self._client.loop)

        def send(chunk: list[BatchItem]) -> None:
            wires = [item.wire() for item in chunk]
            future = self._client.submit(
                _grade_chunk, self._setup, wires, pure=False, retries=_RETRIES
            )
            pending[future.key] = chunk
            running.add(future)

        for chunk in _some(chunks, max(2, _CHUNKS_AHEAD * sum(self._client.nthreads().values()))):
            send(chunk)
        for future in running:
            chunk = pending.pop(future.key)
            error = future.exception()
            if error is None:
                for number, text in future.result():
                    if number in left:
                        left.discard(number)
                        yield number, text
            elif len(chunk) > 1:
                for item in chunk:
                    send([item])
            elif chunk[0].number in left:
                left.discard(chunk[0].number)
                reason = (
                    f"the cluster gave up on it: {type(error).__name__}:"
                    f" {clean_line(str(error), 300)}"
                )
                yield chunk[0].number, not_graded_text(chunk[0], reason, attempts=2)
            future.release()
            for chunk in _some(chunks, 1):
                send(chunk)


def _chunks(items: Sequence[BatchItem]) -> Iterator[list[BatchItem]]:
    ordered = sorted(items, key=lambda item: (item.task_id, item.number))
    for start in range(0, len(ordered), _CHUNK):
        yield list(ordered[start : start + _CHUNK])


def _some(chunks: Iterator[list[BatchItem]], count: int) -> Iterator[list[BatchItem]]:
    for _, chunk in zip(range(count), chunks, strict=False):
        yield chunk


def _grade_chunk(setup: tuple[Any, ...], wires: list[Wire]) -> list[Result]:
    """Runs in a Dask worker: grade a chunk in that worker's own pool."""
    pool = _pool(setup)
    items = [
        # Whether a link is followed is decided again here, where the file is: of a path that was
        # refused, only within its run group (no folders); of any other one, everywhere (None).
        BatchItem(number, task_id, absolute, agent, kind, shown, () if refused else None)
        for number, task_id, shown, absolute, kind, agent, refused in wires
    ]
    return list(pool.stream(items, workers=1))


def _pool(setup: tuple[Any, ...]) -> GraderPool:
    with _pools_lock:
        pool = _pools.get(setup)
        if pool is None:
            roots, data_dir, leaderboard, time_limit_s, memory_limit_mb, isolate = setup
            registry = Registry(roots, data_dir, leaderboard)
            pool = GraderPool(
                registry,
                workers=64,
                time_limit_s=time_limit_s,
                memory_limit_mb=memory_limit_mb,
                isolate=isolate,
            )
            atexit.register(pool.close)
            _pools[setup] = pool
        return pool

"""Grade on a Dask cluster: chunks of submissions go to its workers, each of which runs a pool of its own.

Files, tasks and data must be at the same paths on every machine, and bioeval-tui installed there. A task
that Dask runs twice, because a worker died, is reported once.
"""

from __future__ import annotations

import atexit
import importlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Self

from bioeval_tui.errors import NotMeasuredError, UnavailableError
from bioeval_tui.grade.batch.feeding import BatchItem, Result, not_graded_text
from bioeval_tui.grade.batch.pool import GraderPool, Isolate
from bioeval_tui.grade.batch.wire import Wire
from bioeval_tui.grade.tasks.registry import Registry
from bioeval_tui.installation import install_command
from bioeval_tui.text import clean_line

CONNECT_TIMEOUT_S = 10
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
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            command = install_command(["distributed"], "distributed")
            raise NotMeasuredError(f"--scheduler needs distributed: install with `{command}`") from None
        self._distributed = distributed
        self._setup = (
            tuple(str(root.resolve()) for root in registry.tasks_dirs),
            str(registry.data_dir.resolve()),
            registry.leaderboard,
            time_limit_s,
            memory_limit_mb,
            isolate,
        )
        try:
            self._client: Any = distributed.Client(scheduler, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
            self._client.wait_for_workers(1, timeout=CONNECT_TIMEOUT_S)
        except (OSError, ValueError, TimeoutError) as error:
            reason = clean_line(str(error), 200)
            raise UnavailableError(
                f"the Dask scheduler {clean_line(scheduler, 100)} cannot be used: {reason}"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def stream(self, items: Sequence[BatchItem]) -> Iterator[Result]:
        """Yield each item's number and outcome text exactly once, as they finish.

        A chunk that the cluster gave up on is sent again, one submission at a time; a submission that fails
        again is not graded.
        """
        chunks = _chunks(items)
        pending: dict[Any, list[BatchItem]] = {}
        left = {item.number for item in items}
        running = self._distributed.as_completed(loop=self._client.loop)

        def send(chunk: list[BatchItem]) -> None:
            wires = [item.wire() for item in chunk]
            future = self._client.submit(_grade_chunk, self._setup, wires, pure=False, retries=_RETRIES)
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
                reason = f"the cluster gave up on it: {type(error).__name__}: {clean_line(str(error), 300)}"
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
        # Whether a link is followed is decided again here, where the file is.
        BatchItem(number, task_id, absolute, kind, shown, agent, () if refused else None)
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

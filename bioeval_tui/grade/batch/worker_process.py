"""A running grading worker as the program sees it: it sends chunks of items, receives answers, sees
what is being graded, and ends it with all that it started.

`pool.py` starts workers, and `feeding.py` feeds them. How they are started is in `worker_launch.py`
and `worker_template.py`, what is said in `worker_protocol.py`, and their own side in `worker.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bioeval_tui.base.errors import NotMeasuredError
from bioeval_tui.base.files import storage_error
from bioeval_tui.base.text import clean_line
from bioeval_tui.base.units import duration
from bioeval_tui.grade.batch.containment import LINUX, end_below, megabytes_of_group
from bioeval_tui.grade.batch.worker_launch import START_TIMEOUT_S, launch
from bioeval_tui.grade.batch.worker_protocol import IDLE, READY, ProgressPage, Wire
from bioeval_tui.grade.batch.worker_template import CannotForkError, ForkedWorker, WorkerTemplate

_READ_SIZE = 1 << 18


class WorkerDied(Exception):
    """The worker ended; the message says how."""


class WorkerProcess:
    """A running worker.

    Args:
        setup: the worker's first line: `tasks_dirs`, `data_dir`, `own_folder`, `leaderboard`,
            `memory_limit_mb`, `isolate`, `pandas`.
        python: the Python that runs it; None for this program's own.
        template: what forks it; None to start it by itself.
        task_id: the task that it will get first.

    Raises:
        NotMeasuredError: it did not start.
        CannotForkError: the template cannot fork.
    """

    def __init__(
        self,
        setup: dict[str, Any],
        python: str | None,
        template: WorkerTemplate | None,
        task_id: str,
    ) -> None:
        self._last_number = IDLE
        self._isolate = setup["isolate"]
        self._task_id: str | None = None
        self._ending = threading.Lock()
        try:
            self._folder = tempfile.TemporaryDirectory(
                prefix="bioeval-grading-", ignore_cleanup_errors=True
            )
            page = Path(self._folder.name) / "progress"
            self._progress = ProgressPage(page, new=True)
            scratch = Path(self._folder.name) / "work"
            scratch.mkdir()
        except OSError as error:
            raise NotMeasuredError(str(storage_error(tempfile.gettempdir(), error))) from None
        self._messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._process: subprocess.Popen[bytes] | ForkedWorker
        try:
            if template is None:
                self._process = launch(
                    python, scratch, stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
            else:
                self._process = template.fork(task_id, page, scratch)
        except (NotMeasuredError, CannotForkError):
            self._progress.close()
            self._folder.cleanup()
            raise
        self._reader = threading.Thread(target=self._read, name="grading-reader", daemon=True)
        self._reader.start()
        self.pid = self._process.pid
        try:
            if template is None:
                self._send(json.dumps({**setup, "progress": str(page)}).encode() + b"\n")
            self._await_ready()
        except (WorkerDied, NotMeasuredError) as error:
            self.kill()
            raise NotMeasuredError(f"a grading worker did not start: {error}") from None
        self._megabytes_at_start = megabytes_of_group(self.pid)

    @property
    def megabytes(self) -> float:
        """The memory of the worker and its children, minus the worker's memory when it was
        ready.
        """
        return megabytes_of_group(self.pid) - self._megabytes_at_start

    def _await_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        received = b""
        while b"\n" not in received:
            block = self.receive(max(0.0, deadline - time.monotonic()))
            if block is None:
                raise NotMeasuredError(f"no answer for {duration(START_TIMEOUT_S)}")
            received += block
        if received != READY:
            reason = received.decode("utf-8", "replace").removeprefix("failed ")
            raise NotMeasuredError(clean_line(reason, 300))

    def may_grade(self, task_id: str) -> bool:
        """Whether no code ran in the worker that the task, or a submission of it, may not share a
        process with.
        """
        return self._task_id is None or (self._isolate == "task" and self._task_id == task_id)

    def send(self, chunk: Sequence[Wire]) -> None:
        """Send items of one task in the form of `feeding.BatchItem.wire`.

        Raises WorkerDied if the worker has ended.
        """
        self._task_id = chunk[0][1]
        self._send(json.dumps(chunk).encode() + b"\n")

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        view = memoryview(data)
        try:
            while view:
                view = view[self._process.stdin.write(view) :]
        except OSError:
            raise WorkerDied(self.how_it_ended()) from None

    def receive(self, timeout_s: float) -> bytes | None:
        """Return the next piece of output; None after `timeout_s` without one.

        Raises WorkerDied at the end.
        """
        try:
            block = self._messages.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if block is None:
            self._messages.put(None)
            raise WorkerDied(self.how_it_ended())
        return block

    def _read(self) -> None:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while True:
            try:
                block = os.read(descriptor, _READ_SIZE)
            except OSError:
                block = b""
            if not block:
                break
            self._messages.put(block)
        self._messages.put(None)

    def current(self) -> tuple[int, float]:
        """Return the number of the submission being graded (`IDLE` if none) and for how many
        seconds.

        A task's code can write anything to the page, also `UNKNOWN` and a time that is not a
        number.

        Raises:
            WorkerDied: the worker was stopped.
        """
        try:
            number, began = self._progress.read()
        except ValueError:
            raise WorkerDied("was stopped") from None
        return number, (time.monotonic() - began if number != IDLE else 0.0)

    @property
    def last_number(self) -> int:
        """The submission being graded, also after the worker's end; `IDLE` if none."""
        with contextlib.suppress(ValueError):
            return self._progress.read()[0]
        return self._last_number

    def how_it_ended(self) -> str:
        """Return how the process ended: a signal's name or an exit code."""
        code = self._exit_code(5.0)
        if code is None:
            return "stopped answering"
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"crashed ({signal.Signals(-code).name})"
        return f"ended with exit code {code}"

    def _exit_code(self, timeout_s: float) -> int | None:
        # The process stays unreaped where the system can do that, so that its group's number stays
        # taken.
        if isinstance(self._process, ForkedWorker):
            return self._process.exit_code(timeout_s)
        deadline = time.monotonic() + timeout_s
        while (
            hasattr(os, "waitid")
            and self._process.returncode is None
            and time.monotonic() < deadline
        ):
            try:
                ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            except ChildProcessError:
                break  # another thread has just seen to it
            if ended is not None:
                if ended.si_code == os.CLD_EXITED:
                    return ended.si_status
                return -ended.si_status
            time.sleep(0.005)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout=max(0.0, deadline - time.monotonic()))
        return None

    def kill(self) -> None:
        """End the worker and every process that it started.

        Safe to call twice and from any thread.
        """
        with self._ending:
            self._kill()

    def _kill(self) -> None:
        if LINUX and self._process.returncode is None:
            # The supervisor ends all below it, however they detached themselves, then itself.
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGCONT)
                os.kill(self.pid, signal.SIGTERM)
            if self._exit_code(5.0) is None:
                end_below(self.pid)
        if hasattr(os, "killpg"):
            if self._process.returncode is None:
                with contextlib.suppress(OSError):
                    os.killpg(self.pid, signal.SIGKILL)
        elif self._process.poll() is None:
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                command = ["taskkill", "/F", "/T", "/PID", str(self.pid)]
                subprocess.run(command, capture_output=True, check=False)  # noqa: S603
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        self._reader.join(timeout=5)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._last_number = self.last_number
        self._progress.close()
        self._folder.cleanup()

"""The program's side of a template: a process that has loaded the libraries and forks workers, so
that they start at once and share its memory (Linux alone).

A `GraderPool` makes one and gives it to each `WorkerProcess`, which calls `WorkerTemplate.fork`.
Where that raises `CannotForkError`, workers are launched one by one. The other side is in
`worker.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

from bioeval_tui.base.errors import NotMeasuredError
from bioeval_tui.base.text import clean_line
from bioeval_tui.grade.batch.containment import LINUX
from bioeval_tui.grade.batch.worker_launch import START_TIMEOUT_S, launch
from bioeval_tui.grade.batch.worker_protocol import READY, THREADS

_LARGEST = 1 << 16
"""Of an answer of the template, in bytes."""


class CannotForkError(Exception):
    """Workers have to be started one by one."""


class WorkerTemplate:
    """A process that forks workers. See `worker._Template` for what it is asked.

    Raises:
        CannotForkError: it cannot fork; workers are then started by themselves.
        NotMeasuredError: it did not start.
    """

    def __init__(self, setup: dict[str, Any], python: str | None) -> None:
        if not LINUX:
            raise CannotForkError
        self._lock = threading.Lock()
        self._socket, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            folder = Path(tempfile.gettempdir())
            self._process = launch(
                python, folder, "template", stdin=its.fileno(), stdout=subprocess.DEVNULL
            )
        except NotMeasuredError:
            self._socket.close()
            raise
        finally:
            its.close()
        self._socket.settimeout(START_TIMEOUT_S)
        try:
            reply = self.ask(setup, answer=True)
        except NotMeasuredError:
            self.close()
            raise
        if reply != READY:
            self.close()
            if reply == THREADS:
                raise CannotForkError
            raise NotMeasuredError(
                "a grading worker did not start:"
                f" {clean_line(reply.decode('utf-8', 'replace'), 300)}"
            )

    def fork(self, task_id: str, page: Path, folder: Path) -> ForkedWorker:
        """Return a new worker, with the libraries of a task loaded.

        Raises CannotForkError and NotMeasuredError.
        """
        to_read, stdin = os.pipe()
        stdout, to_write = os.pipe()
        end, to_report = os.pipe()
        try:
            request = {"task": task_id, "progress": str(page), "folder": str(folder)}
            reply = self.ask(request, (to_read, to_write, to_report), answer=True)
            if reply == THREADS:
                raise CannotForkError
        except (NotMeasuredError, CannotForkError):
            for own in (stdin, stdout, end):
                os.close(own)
            raise
        finally:
            for its in (to_read, to_write, to_report):
                os.close(its)
        return ForkedWorker(self, int(reply), stdin, stdout, end)

    def ask(
        self, request: dict[str, Any], descriptors: tuple[int, ...] = (), *, answer: bool = False
    ) -> bytes:
        """Send a request and return its answer, if one is expected. Raises NotMeasuredError."""
        data = json.dumps(request).encode()
        try:
            with self._lock:
                socket.send_fds(self._socket, [data], descriptors)
                reply = self._socket.recv(_LARGEST) if answer else b""
        except OSError as error:
            reply = b"" if answer else b"-"
            reason = error.strerror or str(error)
        else:
            reason = "it has ended"
        if answer and not reply:
            raise NotMeasuredError(
                f"a grading worker did not start: its template does not answer: {reason}"
            )
        return reply

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self._process.poll() is not None

    def close(self) -> None:
        """End the process. Safe to call twice and from another thread."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
        self._process.kill()
        self._process.wait()


class ForkedWorker:
    """A worker that a template forked, with as much of `subprocess.Popen`'s interface as
    `WorkerProcess` needs.
    """

    def __init__(
        self, template: WorkerTemplate, pid: int, stdin: int, stdout: int, end: int
    ) -> None:
        self._template, self.pid, self._end = template, pid, end
        self.stdin, self.stdout = (
            os.fdopen(stdin, "wb", buffering=0),
            os.fdopen(stdout, "rb", buffering=0),
        )
        self.returncode: int | None = None
        self._code: int | None = None
        self._reading = threading.Lock()

    def exit_code(self, timeout_s: float) -> int | None:
        """Return the exit code, negative for a signal; None if it has not ended by then.

        Its number stays taken.
        """
        if self._code is None and _readable(self._end, timeout_s):
            with self._reading:  # another thread may have read and closed it meanwhile
                if self._code is None:
                    code = os.read(self._end, 32)
                    os.close(self._end)
                    # the template has ended, and with it the worker
                    self._code = int(code) if code else -9
        return self._code

    def wait(self, timeout: float = 10.0) -> int | None:
        """Collect the ended process, so that its number is free; return its exit code."""
        if self.returncode is None and self.exit_code(timeout) is not None:
            self.returncode = self._code
            self._template.ask({"reap": self.pid})
        return self.returncode

    def kill(self) -> None:
        """End the process itself; what it started is the caller's business."""
        if self.returncode is None and self.exit_code(0) is None:
            with contextlib.suppress(OSError):
                os.kill(self.pid, 9)

    def poll(self) -> int | None:
        """Return the exit code if the process has been collected."""
        return self.returncode


def _readable(descriptor: int, timeout_s: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))

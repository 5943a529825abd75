"""Grading workers as the program sees them: the protocol, the template that forks them, and the
handle on one.

The first line sent to a worker that no template forked is its setup. A worker says `READY`. Every
other line is a chunk of items of one task, `[[number, task id, path as shown or null, absolute path
or null, kind, agent or null, why it is refused or null], …]` (see `feeding.BatchItem` for the
kinds). Answers are lines `number<TAB>outcome`. Before each submission its number and the time are
written to a page that both have open, so that the program knows what a worker was doing when it
died or hung.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bioeval_tui.base.errors import NotMeasuredError
from bioeval_tui.base.files import storage_error
from bioeval_tui.base.isolation import module_command
from bioeval_tui.base.portable import BINARY, read_part, write_part
from bioeval_tui.base.text import clean_line
from bioeval_tui.base.units import duration
from bioeval_tui.grade.batch.containment import LINUX, end_below, megabytes_of_group

IDLE = -1
"""The number on the page while nothing is graded."""

UNKNOWN = -2
"""The number that is read of a page from which a task's code took it."""

_NUMBER, _BEGAN = struct.Struct("=q"), struct.Struct("=d")

READY = b"ready\n"
"""What a worker, or a template, says when it has loaded its libraries."""


class Wire(NamedTuple):
    """A `BatchItem` as a JSON array, the protocol of workers, which may run in another Python: its
    links are looked at.

    `shown` is the path in reports, `absolute` the one that is opened, and `refused` says why the
    file is not read.
    """

    number: int
    task_id: str
    shown: str | None
    absolute: str | None
    kind: str
    agent: str | None
    refused: str | None


THREADS = b"threads"
"""What a template says that cannot fork, because the libraries have started threads."""

START_TIMEOUT_S = 120.0
"""How long a worker, or a template, may take to load its libraries, in seconds."""

WORKER_PYTHON = "BIOEVAL_WORKER_PYTHON"
"""Names another Python, for graders that need packages which this program's own does not have."""


class ProgressPage:
    """The number of the submission being graded, and when it began (seconds of the monotonic
    clock).

    Not mapped into memory: a task's code can truncate the file, and who touches a mapped page that
    is gone is killed by SIGBUS. This program would be, too.
    """

    def __init__(self, path: Path, *, new: bool = False) -> None:
        flags = os.O_RDWR | BINARY
        if new:
            flags |= os.O_CREAT | os.O_EXCL
        self._descriptor = os.open(path, flags, 0o600)
        self._closed = False
        self._using = threading.Lock()  # a number of a closed file may be another file's by now
        if new:
            self.note_ended()

    def note_begun(self, number: int, began: float) -> None:
        """Note that a submission is graded from now on.

        The program reads the page at any time, the number first. So the time is written first: a
        number that is read with an earlier time would seem to have exceeded its time limit.
        """
        write_part(self._descriptor, _BEGAN.pack(began), _NUMBER.size)
        write_part(self._descriptor, _NUMBER.pack(number), 0)

    def note_ended(self) -> None:
        """Note that nothing is graded."""
        write_part(self._descriptor, _NUMBER.pack(IDLE), 0)

    def read(self) -> tuple[int, float]:
        """Return the number and the time; `UNKNOWN` and 0 for what is not there.

        Raises:
            ValueError: the page was closed.
        """
        with self._using:
            if self._closed:
                raise ValueError("closed")
            number = read_part(self._descriptor, _NUMBER.size, 0)
            began = read_part(self._descriptor, _BEGAN.size, _NUMBER.size)
        read_number, read_time = UNKNOWN, 0.0
        if len(number) == _NUMBER.size:
            (read_number,) = _NUMBER.unpack(number)
        if len(began) == _BEGAN.size:
            (read_time,) = _BEGAN.unpack(began)
        return read_number, read_time

    def close(self) -> None:
        """Close it. Safe to call twice and from another thread."""
        with self._using:
            if not self._closed:
                self._closed = True
                os.close(self._descriptor)


_LARGEST = 1 << 16


class CannotForkError(Exception):
    """Workers have to be started one by one."""


class Forked:
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
            self._process = _started(
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

    def fork(self, task_id: str, page: Path, folder: Path) -> Forked:
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
        return Forked(self, int(reply), stdin, stdout, end)

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


_PASSED_ON = [
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
    "SYSTEMROOT",
    "SYSTEMDRIVE", "WINDIR", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "VIRTUAL_ENV", "PYTHONPATH",
    "PYTHONHOME",
    "BIOEVAL_DATA_DIR", "BIOEVAL_TASKS_DIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
]  # fmt: skip
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
        self._process: subprocess.Popen[bytes] | Forked
        try:
            if template is None:
                self._process = _started(
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
        if isinstance(self._process, Forked):
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


def _started(
    python: str | None, folder: Path, *arguments: str, stdin: int, stdout: int
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 (a Python of the user's and our own module)
            module_command("bioeval_tui.grade.batch.worker", *arguments, python=python),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
            env=worker_environment(),
            cwd=folder,
            bufsize=0,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    except OSError as error:
        reason = clean_line(error.strerror or str(error), 200)
        raise NotMeasuredError(
            f"a grading worker did not start: {clean_line(str(python), 200)}: {reason}"
        ) from None


def worker_environment() -> dict[str, str]:
    """Return the environment of workers and templates."""
    # No credentials: a grader needs none, and cannot leak what it does not get.
    kept = {
        key: value
        for key, value in os.environ.items()
        if key in _PASSED_ON or key.startswith("LC_")
    }
    one_thread = (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    )
    # Blocks up to 8 MiB stay allocated between submissions (glibc). Keeping larger ones, too, makes
    # comparing two h5ad files of 10 MB a fifth faster, but each worker then holds what its largest
    # submission needed.
    kept_memory = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), str(8 << 20))
    # A worker that has threads cannot fork: Arrow does not use jemalloc here, but loads it. Its own
    # allocator would keep up to 11 MB more in each worker than the system's.
    arrow = {
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
    }
    return {
        **kept,
        **dict.fromkeys(one_thread, "1"),
        **kept_memory,
        **arrow,
        "PYTHONWARNINGS": "ignore",
    }

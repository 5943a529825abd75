"""A grading worker, started by `worker_process.WorkerProcess`: reads items from its input, writes
answers to its output.

`worker_protocol` defines the format. `item_grader`, which grades, is imported only when the worker
can report why that fails: its Python may be another one (`BIOEVAL_WORKER_PYTHON`) without the
libraries.

What a task's code changes in its process would change other tasks' scores, so every task has a
worker of its own. On Linux a template (`worker_template.WorkerTemplate` is the program's side)
loads the libraries once and forks each worker, so that they share its memory; it runs no task's
code. Forking needs a process without other threads, whose locks would stay held in the copy.
Otherwise each worker is started by itself.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from bioeval_tui.base.files import write_fully
from bioeval_tui.grade.batch.containment import (
    CHECK_S,
    LINUX,
    enter_domain,
    limit_memory,
    own_process,
    supervise,
)
from bioeval_tui.grade.batch.worker_protocol import READY, THREADS, ProgressPage, Wire
from bioeval_tui.grade.outcome_json import to_text

if TYPE_CHECKING:
    from bioeval_tui.grade.batch.item_grader import ItemGrader

FLUSH_AFTER_S = 0.02
_LARGEST = 1 << 16
"""Of a request to the template, in bytes."""


def encode(number: int, answer: dict[str, Any]) -> bytes:
    """Return the line for an answer."""
    return f"{number}\t{to_text(answer)}\n".encode("utf-8", "replace")


def serve(source: int, target: int) -> None:
    """Set up by the first line of `source`, then grade chunks until it ends."""
    lines = os.fdopen(source, "rb")
    setup = json.loads(lines.readline())
    # Before memory is limited, because the libraries' own memory does not count.
    from bioeval_tui.grade.batch.item_grader import ItemGrader

    grade(lines, target, ItemGrader(setup), Path(setup["progress"]), setup["memory_limit_mb"])


def grade(
    lines: BinaryIO, target: int, grader: ItemGrader, page: Path, memory_limit_mb: int | None
) -> None:
    """Grade chunks in this process, as `ready` says, until `lines` end; `page` is the file of the
    `ProgressPage`.
    """
    progress = ProgressPage(page)
    write_fully(target, READY)
    enter_domain()
    limit_memory(memory_limit_mb)
    own_process()
    sys.dont_write_bytecode = True  # the folders of tasks were given to be read
    own = os.getpid()
    for line in lines:
        pending = bytearray()
        last = time.monotonic()
        for item in map(Wire._make, json.loads(line)):
            progress.note_begun(item.number, time.monotonic())
            answer = grader.answer(item)
            if os.getpid() != own:
                os._exit(0)  # a copy that the grader forked and let come back here
            pending += encode(item.number, answer)
            if time.monotonic() - last > FLUSH_AFTER_S:
                write_fully(target, bytes(pending))
                pending.clear()
                last = time.monotonic()
            progress.note_ended()
        write_fully(target, bytes(pending))


class _Template:
    """Loads the libraries and forks workers, as the program asks through a socket.

    A request is `{"task": id, "progress": page, "folder": …}` with three descriptors: the worker's
    input, its output, and where its end is reported (its status, as `os.waitpid` returns it). The
    answer is its process id. An ended worker stays a zombie, and its number taken, until the
    request `{"reap": id}`.
    """

    def __init__(self, program: socket.socket) -> None:
        self._program = program
        self._ends: dict[int, int] = {}

    def serve(self) -> None:
        """Fork until the program ends the connection, or itself."""
        parent, setup = os.getppid(), json.loads(self._program.recv(_LARGEST))
        from bioeval_tui.grade.batch.item_grader import ItemGrader

        self._grader, self._memory_limit_mb = ItemGrader(setup), setup["memory_limit_mb"]
        self._program.send(THREADS if _has_threads() else READY)
        signal.signal(signal.SIGCHLD, lambda *_: self._report())
        self._program.settimeout(CHECK_S)
        while os.getppid() == parent:
            try:
                data, descriptors, _, _ = socket.recv_fds(self._program, _LARGEST, 3)
            except TimeoutError:
                continue
            if not data:
                return
            request = json.loads(data)
            if "reap" in request:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(request["reap"], 0)
                continue
            self._grader.get_ready(request["task"])
            if _has_threads():
                self._program.send(THREADS)
                return
            source, target, end = descriptors
            gc.freeze()  # a collection in the copy would write to all of the shared memory
            worker = os.fork()
            if worker == 0:
                self._become(request, source, target, end)
            os.close(source)
            os.close(target)
            self._ends[worker] = end
            self._report()
            self._program.send(str(worker).encode())

    def _become(self, request: dict[str, Any], source: int, target: int, end: int) -> NoReturn:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._program.close()
        os.dup2(source, 0)
        os.dup2(target, 1)
        for other in (source, target, end, *self._ends.values()):
            os.close(other)
        os.setsid()
        os.chdir(request["folder"])
        page = Path(request["progress"])
        _work(
            lambda source, target: grade(
                os.fdopen(source, "rb"), target, self._grader, page, self._memory_limit_mb
            )
        )

    def _report(self) -> None:
        for worker in list(self._ends):
            ended = os.waitid(os.P_PID, worker, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            # The signal's handler may report an end while this does.
            if ended is not None and (end := self._ends.pop(worker, None)) is not None:
                code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
                with contextlib.suppress(OSError):
                    os.write(end, str(code).encode())
                os.close(end)


def _has_threads() -> bool:
    return len(os.listdir("/proc/self/task")) > 1  # noqa: PTH208 (names only)


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(CHECK_S)
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _work(serve: Callable[[int, int], None]) -> NoReturn:
    """Serve under a supervisor, with stdin and stdout for the protocol; graders get an empty input
    and no output.
    """
    if LINUX:
        supervise(os.getppid())
    else:
        threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()
    source, target = os.dup(0), os.dup(1)
    _close_standard()
    try:
        serve(source, target)
    except BrokenPipeError:
        pass
    except Exception as error:  # the parent learns why its worker cannot work
        reason = f"{type(error).__name__}: {error}"
        with contextlib.suppress(OSError):
            write_fully(target, f"failed {json.dumps(reason)}\n".encode())
        os._exit(1)
    os._exit(0)


def _close_standard() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.close(nowhere)


def main() -> None:
    """Work, or with the argument `template`, fork workers; the program learns from the socket why
    that fails.
    """
    if "template" not in sys.argv[1:]:
        _work(serve)
    program = socket.socket(fileno=os.dup(0))
    _close_standard()
    try:
        _Template(program).serve()
    except Exception as error:
        # Whatever stops it, the program must hear why, or it waits for its workers for ever.
        with contextlib.suppress(OSError):
            program.send(f"{type(error).__name__}: {error}".encode())


if __name__ == "__main__":
    main()

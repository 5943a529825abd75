"""A grading worker, started by `worker_process.WorkerProcess`: reads items from its input, writes answers to its output.

`wire` defines the format. `item_grader`, which grades, is imported only when the worker can report why that fails: its
Python may be another one (`BIOEVAL_WORKER_PYTHON`) without the libraries.

What a task's code changes in its process would change other tasks' scores. So the worker itself runs no such code: it
loads the libraries and forks a process for each task, or for each submission, one at a time. Forking needs Linux and a
process without other threads, whose locks would stay held in the copy. Otherwise the worker grades by itself, and the
pool gives it a single task.
"""

from __future__ import annotations

import contextlib
import gc
import json
import mmap
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bioeval_tui.files import write_fully, write_whole
from bioeval_tui.grade.batch.containment import (
    CHECK_S,
    LINUX,
    collect_orphans,
    end_as,
    end_below,
    enter_domain,
    limit_memory,
    own_process,
    reap,
    supervise,
)
from bioeval_tui.grade.batch.wire import FORKS, PROGRESS, note_begun, note_ended
from bioeval_tui.grade.outcomes import to_text

if TYPE_CHECKING:
    from bioeval_tui.grade.batch.item_grader import ItemGrader

FLUSH_AFTER_S = 0.02


def encode(number: int, answer: dict[str, Any]) -> bytes:
    """Return the line for an answer."""
    return f"{number}\t{to_text(answer)}\n".encode("utf-8", "replace")


def serve(source: int, target: int) -> None:
    """Set up by the first line of `source`, then grade chunks until it ends."""
    lines = os.fdopen(source, "rb")
    setup = json.loads(lines.readline())
    # Before memory is limited, because the libraries' own memory does not count.
    from bioeval_tui.grade.batch.item_grader import ItemGrader

    worker = _Worker(setup, ItemGrader(setup), target)
    if LINUX and len(os.listdir("/proc/self/task")) == 1:  # noqa: PTH208 (names only)
        collect_orphans()
        write_fully(target, FORKS)
        worker.fork_for(lines, each_chunk=setup["isolate"] == "submission")
    else:
        write_fully(target, b"ready\n")
        worker.grade(lines)


class _Worker:
    def __init__(self, setup: dict[str, Any], grader: ItemGrader, target: int) -> None:
        self._grader, self._target = grader, target
        self._memory_limit_mb = setup.get("memory_limit_mb")
        page = Path(setup["progress"])
        self._progress = _open_progress(page)
        self._loaded = page.with_name("loaded")
        self._child = self._to_child = 0
        self._known: list[str] = []

    def grade(self, lines: BinaryIO) -> None:
        """Grade chunks in this process."""
        enter_domain()
        limit_memory(self._memory_limit_mb)
        own_process()
        own = os.getpid()
        for line in lines:
            pending = bytearray()
            last = time.monotonic()
            for number, task_id, path, absolute, kind, agent, refused in json.loads(line):
                note_begun(self._progress, number, time.monotonic())
                answer = self._grader.answer(task_id, path, absolute, kind, agent, refused)
                if os.getpid() != own:
                    os._exit(0)  # a copy that the grader forked and let come back here
                pending += encode(number, answer)
                if time.monotonic() - last > FLUSH_AFTER_S:
                    write_fully(self._target, bytes(pending))
                    pending.clear()
                    last = time.monotonic()
                note_ended(self._progress)
            write_fully(self._target, bytes(pending))

    def fork_for(self, lines: BinaryIO, *, each_chunk: bool) -> None:
        """Pass each chunk to the process of its task, or to a process of its own."""
        current = None
        for line in lines:
            task_id = json.loads(line)[0][1]
            if task_id != current or each_chunk:
                self._finish()
                self._grader.get_ready(task_id, self._known)
                self._fork(lines)
                current = task_id
            try:
                write_fully(self._to_child, line)
            except BrokenPipeError:
                self._finish()
        self._finish()

    def _fork(self, lines: BinaryIO) -> None:
        receiving, self._to_child = os.pipe()
        gc.freeze()  # a collection in the copy would write to all of the shared memory
        self._child = os.fork()
        if self._child == 0:
            lines.close()
            os.close(self._to_child)
            self.grade(os.fdopen(receiving, "rb"))
            write_whole(self._loaded, "\n".join(self._grader.libraries), sync=False)
            os._exit(0)
        os.close(receiving)
        signal.signal(signal.SIGCHLD, lambda *_: self._look())
        self._look()

    def _look(self) -> None:
        if (status := reap(self._child)) is not None:
            end_as(status)

    def _finish(self) -> None:
        """Let the child end, and with it all that its task's code started; note the libraries that it loaded."""
        if not self._child:
            return
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(self._to_child)
        _, status = os.waitpid(self._child, 0)
        if not self._loaded.exists():
            end_as(status)
        end_below(os.getpid())
        reap()
        self._known = self._loaded.read_text(encoding="utf-8").split()
        self._loaded.unlink()


def _open_progress(page: Path) -> mmap.mmap:
    with page.open("r+b") as file:
        return mmap.mmap(file.fileno(), PROGRESS.size)


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(CHECK_S)
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(0, signal.SIGKILL)
    os._exit(1)


def main() -> None:
    """Reserve stdin and stdout for the protocol; graders get an empty input and no output."""
    if LINUX:
        supervise(os.getppid())
    else:
        threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()
    source, target = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.close(nowhere)
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


if __name__ == "__main__":
    main()

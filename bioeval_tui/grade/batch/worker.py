"""A grading worker: reads submissions from its input, writes outcomes to its output, one JSON line each.

Run by `worker_process.WorkerProcess`. The first line says how
to set up; every other line is a chunk, `[[number, task id, path as shown or null, absolute path or null, kind], …]`
(see `feeding.Item` for the kinds). Answers are lines
`number<TAB>outcome`. Before each submission its number and the time go into a shared page, so that the
parent knows what a worker was doing when it died or hung.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import struct
import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bioeval_tui.errors import InputError
from bioeval_tui.grade.outcomes import (
    NotGraded,
    NotGradedError,
    Outcome,
    outcome_to_dict,
    problem_to_dict,
    to_text,
)

if TYPE_CHECKING:
    from bioeval_tui.grade.grade import TaskGrading

PROGRESS = struct.Struct("<qd")
IDLE = -1
FLUSH_AFTER_S = 0.02
_KEPT_TASKS = 32
_PARENT_CHECK_S = 1.0


class Worker:
    """Grades for one parent: keeps tasks ready, oldest dropped first."""

    def __init__(self, setup: dict[str, Any]) -> None:
        from bioeval_tui.grade.biomlbench.standins import install
        from bioeval_tui.grade.tasks.registry import Registry

        self.registry = Registry([Path(item) for item in setup["tasks_dirs"]], Path(setup["data_dir"]))
        self._ready: OrderedDict[str, TaskGrading] = OrderedDict()
        install(self.registry.tasks_dirs)

    def grade(self, task_id: str, path: str | None, absolute: str | None) -> Outcome:
        """Grade one file; whatever the grader does short of ending the process comes back as an outcome."""
        shown = path or ""
        try:
            ready = self._task(task_id)
            return ready.grade(None if absolute is None else Path(absolute), path, handed_in=True)
        except (InputError, NotGradedError) as error:
            return NotGraded(task_id, shown, str(error), final=True)
        except SystemExit as error:
            return NotGraded(
                task_id, shown, f"the grader ended the program (sys.exit with {error.code!r:.60})"
            )
        except MemoryError:
            return NotGraded(task_id, shown, "out of memory while grading")
        except BaseException as error:
            from bioeval_tui.grade.grade import failure

            return NotGraded(task_id, shown, failure(error, task_id))

    def answer(self, task_id: str, path: str | None, absolute: str | None, kind: str) -> dict[str, Any]:
        """Return what is written for one item: its outcome, with what else its kind asks for."""
        if kind == "check":
            return {"check": self._check(task_id)}
        answer = outcome_to_dict(self.grade(task_id, path, absolute))
        if kind == "examine" and absolute is not None:
            with contextlib.suppress(Exception):
                findings = self._task(task_id).examine(Path(absolute))
                answer = {**answer, "findings": [problem_to_dict(item) for item in findings]}
        return answer

    def _check(self, task_id: str) -> dict[str, Any]:
        try:
            task = self.registry.get_task(task_id)
            _ = task.grader.grade_fn
        except BaseException as error:
            return {"problem": str(error) or type(error).__name__, "warnings": []}
        return {"problem": None, "warnings": list(task.warnings)}

    def _task(self, task_id: str) -> TaskGrading:
        from bioeval_tui.grade.grade import TaskGrading

        ready = self._ready.get(task_id)
        if ready is None:
            ready = TaskGrading(self.registry.get_task(task_id))
            self._ready[task_id] = ready
            if len(self._ready) > _KEPT_TASKS:
                self._ready.popitem(last=False)
        return ready


def encode(number: int, answer: dict[str, Any]) -> bytes:
    """Return the line for an answer."""
    return f"{number}\t{to_text(answer)}\n".encode("utf-8", "replace")


def serve(source: int, target: int) -> None:
    """Set up by the first line of `source`, then grade chunks until it ends."""
    lines = os.fdopen(source, "rb")
    setup = json.loads(lines.readline())
    progress = _open_progress(setup["progress"])
    _import_heavy()
    worker = Worker(setup)
    from bioeval_tui.grade.batch.limits import limit_memory, own_process

    limit_memory(setup.get("memory_limit_mb"))
    own_process()
    own = os.getpid()
    _write(target, b"ready\n")
    for line in lines:
        pending = bytearray()
        last = time.monotonic()
        for number, task_id, path, absolute, kind in json.loads(line):
            started = time.monotonic()
            PROGRESS.pack_into(progress, 0, number, started)
            answer = worker.answer(task_id, path, absolute, kind)
            if os.getpid() != own:
                os._exit(0)  # a copy that the grader forked and let come back here
            pending += encode(number, answer)
            if time.monotonic() - last > FLUSH_AFTER_S:
                _write(target, pending)
                pending.clear()
                last = time.monotonic()
            PROGRESS.pack_into(progress, 0, IDLE, 0.0)
        _write(target, pending)


def _open_progress(path: str) -> mmap.mmap:
    with Path(path).open("r+b") as file:
        return mmap.mmap(file.fileno(), PROGRESS.size)


def _import_heavy() -> None:
    # Before the memory limit is set, so that it counts what grading takes and not what libraries do.
    import numpy
    import pandas
    import pyarrow
    import pyarrow.csv

    pyarrow.set_cpu_count(1)
    pyarrow.set_io_thread_count(1)
    pandas.DataFrame({"a": numpy.zeros(1)})


def _write(target: int, data: bytes | bytearray) -> None:
    view = memoryview(bytes(data))
    while view:
        view = view[os.write(target, view) :]


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_S)
    if hasattr(os, "killpg"):
        import signal

        with contextlib.suppress(OSError):
            os.killpg(0, signal.SIGKILL)
    os._exit(1)


def main() -> None:
    """Take input and output for the protocol alone, leave graders an empty input and nowhere to print."""
    source, target = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.close(nowhere)
    threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()
    try:
        serve(source, target)
    except BrokenPipeError:
        pass
    except Exception as error:  # the parent learns why its worker cannot work
        reason = f"{type(error).__name__}: {error}"
        with contextlib.suppress(OSError):
            _write(target, f"failed {json.dumps(reason)}\n".encode())
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()

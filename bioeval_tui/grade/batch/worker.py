"""A grading worker, started by `worker_process.WorkerProcess`: reads items from its input, writes answers to its output.

`wire` defines the format. `item_grader`, which grades, is imported only when the worker can report why that fails: its
Python may be another one (`BIOEVAL_WORKER_PYTHON`) without the libraries.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

from bioeval_tui.files import write_fully
from bioeval_tui.grade.batch.containment import CHECK_S, LINUX, enter_domain, supervise
from bioeval_tui.grade.batch.limits import limit_memory, own_process
from bioeval_tui.grade.batch.wire import IDLE, PROGRESS
from bioeval_tui.grade.outcomes import to_text

FLUSH_AFTER_S = 0.02


def encode(number: int, answer: dict[str, Any]) -> bytes:
    """Return the line for an answer."""
    return f"{number}\t{to_text(answer)}\n".encode("utf-8", "replace")


def serve(source: int, target: int) -> None:
    """Set up by the first line of `source`, then grade chunks until it ends."""
    lines = os.fdopen(source, "rb")
    setup = json.loads(lines.readline())
    progress = _open_progress(setup["progress"])
    # Before memory is limited, because the libraries' own memory does not count.
    from bioeval_tui.grade.batch.item_grader import ItemGrader

    grader = ItemGrader(setup)
    limit_memory(setup.get("memory_limit_mb"))
    own_process()
    own = os.getpid()
    write_fully(target, b"ready\n")
    for line in lines:
        pending = bytearray()
        last = time.monotonic()
        for number, task_id, path, absolute, kind, agent in json.loads(line):
            started = time.monotonic()
            PROGRESS.pack_into(progress, 0, number, started)
            answer = grader.answer(task_id, path, absolute, kind, agent)
            if os.getpid() != own:
                os._exit(0)  # a copy that the grader forked and let come back here
            pending += encode(number, answer)
            if time.monotonic() - last > FLUSH_AFTER_S:
                write_fully(target, bytes(pending))
                pending.clear()
                last = time.monotonic()
            PROGRESS.pack_into(progress, 0, IDLE, 0.0)
        write_fully(target, bytes(pending))


def _open_progress(path: str) -> mmap.mmap:
    with Path(path).open("r+b") as file:
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
        enter_domain()
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

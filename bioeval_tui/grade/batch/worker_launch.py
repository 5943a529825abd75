"""Starts a process of `worker.py`: with which Python, in what environment, with which streams.

`WorkerProcess` launches a worker by itself, and `WorkerTemplate` the process that forks them.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bioeval_tui.base.errors import NotMeasuredError
from bioeval_tui.base.isolation import module_command
from bioeval_tui.base.text import clean_line

WORKER_PYTHON = "BIOEVAL_WORKER_PYTHON"
"""Names another Python, for graders that need packages which this program's own does not have."""

START_TIMEOUT_S = 120.0
"""How long a worker, or a template, may take to load its libraries, in seconds."""

_PASSED_ON = [
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
    "SYSTEMROOT",
    "SYSTEMDRIVE", "WINDIR", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "VIRTUAL_ENV", "PYTHONPATH",
    "PYTHONHOME",
    "BIOEVAL_DATA_DIR", "BIOEVAL_TASKS_DIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
]  # fmt: skip


def launch(
    python: str | None, folder: Path, *arguments: str, stdin: int, stdout: int
) -> subprocess.Popen[bytes]:
    """Start `worker.py` with these arguments in a session of its own, so that it can be ended with
    all that it started.

    Raises:
        NotMeasuredError: this Python cannot be started.
    """
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

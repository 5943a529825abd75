"""A program that uses this package as a library is afterwards as it was before."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")

SNAPSHOT = """
import atexit, ctypes, decimal, faulthandler, gc, io, json, locale, logging, multiprocessing, os
import random, resource, signal, socket, sys, tempfile, threading, warnings
from pathlib import Path
import numpy, pandas, pyarrow.csv, sklearn.datasets, scipy.stats
from bioeval_tui import evaluate
from bioeval_tui.grading import GraderPool, Registry, grade_submission, prepare_task

def snapshot():
    prctl, subreaper = ctypes.CDLL(None).prctl, ctypes.c_int()
    prctl(37, ctypes.byref(subreaper), 0, 0, 0)
    umask = os.umask(0o77)
    os.umask(umask)
    opened = [os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
    return json.loads(json.dumps({
        "dumpable, subreaper, no new privileges": [
            prctl(3, 0, 0, 0, 0), subreaper.value, prctl(39, 0, 0, 0, 0)
        ],
        "signals": [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
        "signal mask, timer": [
            list(signal.pthread_sigmask(signal.SIG_BLOCK, [])), signal.getitimer(signal.ITIMER_REAL)
        ],
        "limits": {
            name: resource.getrlimit(getattr(resource, name))
            for name in dir(resource) if name.startswith("RLIMIT")
        },
        "environment": dict(os.environ), "folder": os.getcwd(), "umask": umask,
        "import path": [*sys.path, *map(str, sys.meta_path)],
        "stand-ins": [
            name for name in sys.modules if name.partition(".")[0] in ("biomlbench", "polaris")
        ],
        "warnings": [str(entry) for entry in warnings.filters],
        "multiprocessing": multiprocessing.get_start_method(allow_none=True),
        "logging": [
            logging.root.level, list(map(str, logging.root.handlers)), logging.root.manager.disable
        ],
        "locale": locale.setlocale(locale.LC_ALL), "exit functions": atexit._ncallbacks(),
        "garbage": [gc.get_threshold(), gc.get_freeze_count(), gc.isenabled()],
        "interpreter": [
            sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits(),
            sys.dont_write_bytecode,
        ],
        "hooks": list(map(str, (
            sys.excepthook, sys.unraisablehook, threading.excepthook, sys.displayhook,
            sys.gettrace(),
        ))),
        "streams": list(map(id, (sys.stdin, sys.stdout, sys.stderr))),
        "decimal": str(decimal.getcontext()),
        "faults, sockets": [faulthandler.is_enabled(), socket.getdefaulttimeout()],
        "random": [str(random.getstate()), str(numpy.random.get_state())], "numpy": numpy.geterr(),
        "pandas": [
            str(pandas.get_option(name)) for name in ("display.max_rows", "display.precision")
        ],
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "files": sorted(os.readlink(path) for path in opened if os.path.islink(path)),
        "processes": [
            sorted(os.sched_getaffinity(0)), os.nice(0),
            Path(f"/proc/self/task/{os.getpid()}/children").read_text(),
        ],
    }))

tempfile.TemporaryDirectory().cleanup()  # the first registers an exit function
pyarrow.csv.read_csv(io.BytesIO(b"a\\n1\\n"))  # the first opens a pipe
registry = Registry([sys.argv[1]], sys.argv[2])
task = registry.get_task("lab/numbers")

def grade():
    with GraderPool(registry, workers=1) as pool:
        assert pool.grade(sys.argv[3], "lab/numbers").score == 0.5
        assert list(pool.check(["lab/numbers"]))[0].problem is None

def prepare():
    task.raw_dir.mkdir(parents=True)
    (task.raw_dir / "data").touch()
    prepare_task(task, force=True)

def run():
    evaluate(
        "medication_reminder", agent=lambda message: "hello", rehearsal=True, progress=False,
        graph="none",
    )

doors = {
    "grade": grade, "prepare": prepare,
    "grade here": lambda: grade_submission(Path(sys.argv[3]), task),
    "evaluate": run,
}
for name, use in doors.items():
    before = snapshot()
    use()
    after = snapshot()
    changed = {what: [before[what], now] for what, now in after.items() if before[what] != now}
    print(json.dumps([name, changed]))
"""
PREPARER = """
import os
def prepare(raw, public, private):
    os.umask(0)
    os.chdir("/")
    (public / "sample_submission.csv").write_text("id,y\\na,1\\n")
    (private / "answers.csv").write_text("id,y\\na,1\\n")
"""


@pytest.mark.long
def test_grading_preparing_and_evaluating_leave_the_calling_program_as_it_was(
    tasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "own"))
    task = tasks.add(answers="id,y\na,1\n")
    (tasks.root / task / "prepare.py").write_text(PREPARER)
    file = tasks.submit("id,y\na,1.5\n")
    command = [sys.executable, "-c", SNAPSHOT, tasks.root, tasks.data, file]
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    changed = dict(json.loads(line) for line in done.stdout.splitlines())
    assert changed == {"grade": {}, "prepare": {}, "grade here": {}, "evaluate": {}}

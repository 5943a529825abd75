"""A grader cannot read its program's environment, leave a process behind, or take more memory by
forking.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from bioeval_tui.grade.tasks.prepare import PrepareError
from bioeval_tui.grading import GraderPool, NotGraded, TaskReport, prepare_task
from tests.faults.test_machine import small_disk

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these means are Linux's"),
    pytest.mark.usefixtures("starts_templates"),
]

CODE = """
import os, signal, sys, time
def spread(depth, place):
    # Every process in a session of its own, with an empty environment, its parent gone.
    if os.fork():
        return
    os.setsid()
    if depth:
        spread(depth - 1, place)
    if os.fork():
        os._exit(0)
    open(f"{place}/{os.getpid()}", "w").close()
    os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"], {})

def spread_and_wait(place):
    spread(3, place)
    while len(os.listdir(place)) < 3:
        time.sleep(0.01)

def ancestors():
    pid = os.getppid()
    while pid > 0:
        yield pid
        pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])

def grade(submission, answers):
    what, place = submission["do"].iloc[0], submission["where"].iloc[0]
    if what in ("spread", "crash"):
        spread_and_wait(place)
    if what == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "steal":
        found = 0
        for pid in ancestors():
            for name in ("environ", "mem"):
                try:
                    found += b"MARKED-key" in open(f"/proc/{pid}/{name}", "rb").read(100_000)
                except OSError:
                    pass
        return float(found)
    if what == "fill":
        with open("filled", "wb", buffering=0) as file:
            while True:
                file.write(b"x" * 65536)
    if what == "children":
        for _ in range(6):
            if os.fork() == 0:
                held = bytearray(os.urandom(1 << 20)) * 150
                time.sleep(600)
        time.sleep(600)
    return 0.5
"""


def ask(tasks, what: str, place: Path) -> Path:
    return tasks.submit(f"do,where\n{what},{place}\n", f"{what}.csv")


def alive(place: Path) -> list[int]:
    """Return the processes that wrote their numbers into `place` and still run."""
    found = []
    for file in place.iterdir():
        with contextlib.suppress(OSError):
            if (
                Path(f"/proc/{file.name}/stat").read_text().rpartition(")")[2].split()[0]
                not in "ZX"
            ):
                found.append(int(file.name))
    return found


@pytest.mark.parametrize("what", ["spread", "crash"])
def test_no_grader_process_survives_however_it_detaches(tasks, tmp_path: Path, what: str) -> None:
    task = tasks.add(code=CODE, sample="")
    place = tmp_path / "place"
    place.mkdir()
    with GraderPool(tasks.registry, workers=1, time_limit_s=30) as pool:
        outcome = pool.grade(ask(tasks, what, place), task)
        assert isinstance(outcome, TaskReport if what == "spread" else NotGraded)
        if what == "spread":
            assert len(alive(place)) >= 3, "they were there while the worker was"
    assert len(list(place.iterdir())) >= 3
    assert alive(place) == []


def test_the_children_of_a_grader_share_one_memory_limit(tasks, tmp_path: Path) -> None:
    task = tasks.add(code=CODE, sample="")
    with GraderPool(tasks.registry, workers=1, time_limit_s=60, memory_limit_mb=600) as pool:
        outcome = pool.grade(ask(tasks, "children", tmp_path), task)
        assert isinstance(outcome, NotGraded)
        assert (
            "in all processes that the grader started; the memory limit is 600 MB" in outcome.reason
        )


def test_a_grader_that_fills_the_disk_is_named_and_the_next_submission_is_graded(
    tasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = tasks.add(code=CODE, sample="")
    with small_disk(tmp_path / "disk", "24m") as disk:
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        with GraderPool(tasks.registry, workers=1, time_limit_s=60) as pool:
            filled = pool.grade(ask(tasks, "fill", tmp_path), task)
            assert isinstance(filled, NotGraded)
            assert "No space left on device" in filled.reason
            assert isinstance(pool.grade(ask(tasks, "nothing", tmp_path), task), TaskReport)
        assert [*disk.rglob("filled")] == [], "what it wrote goes with its folder"


def test_killing_the_program_ends_its_graders_processes(tasks, tmp_path: Path) -> None:
    task = tasks.add(code=CODE, sample="")
    place = tmp_path / "place"
    place.mkdir()
    code = (
        "import sys; from bioeval_tui.grading import GraderPool, Registry\n"
        "pool = GraderPool(Registry([sys.argv[1]], sys.argv[2]), workers=1)\n"
        "pool.grade(sys.argv[3], sys.argv[4]); print('graded', flush=True); sys.stdin.read()\n"
    )
    file = ask(tasks, "spread", place)
    command = [sys.executable, "-c", code, str(tasks.root), str(tasks.data), str(file), task]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "graded\n"
        assert len(alive(place)) >= 3
        program.kill()
    deadline = time.monotonic() + 20
    while alive(place) and time.monotonic() < deadline:
        os.sched_yield()
    assert alive(place) == []


AS_A_USER = """
import ctypes, os, sys
CAPBSET_READ, CAPBSET_DROP = 23, 24
# DAC_OVERRIDE and DAC_READ_SEARCH: this Python may lie in a folder that is closed to others
READ_FILES = (1, 2)
prctl = ctypes.CDLL(None).prctl
for right in range(64) if os.geteuid() == 0 else ():
    if right not in READ_FILES and prctl(CAPBSET_READ, right, 0, 0, 0) == 1:
        if prctl(CAPBSET_DROP, right, 0, 0, 0):
            sys.exit("root cannot give up its rights")
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def as_a_user(code: str, *arguments: object, **environment: str) -> str:
    """Run code in a Python that may read other processes as any user may, also where the tests run
    as root.
    """
    command = [sys.executable, "-c", AS_A_USER, "-c", code, *map(str, arguments)]
    env = {**os.environ, **environment}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_grader_cannot_read_the_environment_of_its_program(tasks, tmp_path: Path) -> None:
    task = tasks.add(code=CODE, sample="")
    code = (
        "import sys; from bioeval_tui.grading import GraderPool, Registry\n"
        "pool = GraderPool(Registry([sys.argv[1]], sys.argv[2]), workers=1)\n"
        "print(pool.grade(sys.argv[3], sys.argv[4]).score); pool.close()\n"
    )
    file = ask(tasks, "steal", tmp_path)
    assert as_a_user(code, tasks.root, tasks.data, file, task, OPENAI_API_KEY="MARKED-key") == "0.0"


HIDDEN = """
import os
from bioeval_tui.grade.batch.containment import hide_process
def can_read():
    pid = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            os._exit(b"MARKED-key" in open(f"/proc/{pid}/environ", "rb").read())
        except OSError:
            os._exit(0)
    return os.WEXITSTATUS(os.waitpid(child, 0)[1])
hide_process()
print(can_read(), end=" ")
import bioeval_tui.__main__
hide_process()
print(can_read())
"""


def test_the_program_hides_its_environment_from_the_same_user_and_a_library_changes_nothing() -> (
    None
):
    assert as_a_user(HIDDEN, OPENAI_API_KEY="MARKED-key") == "1 0"


def test_no_process_of_a_preparer_survives(tasks, tmp_path: Path) -> None:
    task = tasks.add()
    place = tmp_path / "place"
    place.mkdir()
    code = CODE + f"\ndef prepare(raw, public, private):\n    spread_and_wait({str(place)!r})\n"
    (tasks.root / task / "prepare.py").write_text(code)
    with pytest.raises(PrepareError):  # it makes no files
        prepare_task(tasks.registry.get_task(task), force=True)
    assert len(list(place.iterdir())) >= 3
    assert alive(place) == []


PREPARER = """
import os
def prepare(raw, public, private):
    pid, found = os.getppid(), 0
    while pid > 0:
        for name in ("environ", "mem"):
            try:
                found += b"MARKED-key" in open(f"/proc/{pid}/{name}", "rb").read(100_000)
            except OSError:
                pass
        pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
    raise RuntimeError(f"found {found}")
"""


def test_a_preparer_cannot_read_the_environment_of_its_program(tasks) -> None:
    task = tasks.add()
    (tasks.root / task / "prepare.py").write_text(PREPARER)
    code = (
        "import sys; from bioeval_tui.grade import Registry; from bioeval_tui.grade.tasks.prepare"
        " import prepare_task\nfrom bioeval_tui.base.errors import BioevalError\ntry:"
        " prepare_task(Registry([sys.argv[1]], sys.argv[2]).get_task(sys.argv[3]),"
        " force=True)\nexcept BioevalError as error: print(error)\n"
    )
    said = as_a_user(code, tasks.root, tasks.data, task, OPENAI_API_KEY="MARKED-key")
    assert "RuntimeError: found 0" in said

"""The pool against graders that hang, exit, crash, eat memory, print, fork: each costs one submission."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bioeval_tui.errors import NotMeasuredError
from bioeval_tui.grade import GraderPool, Invalid, NotGraded, TaskReport

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX processes")

CODE = """
import os, sys, time, ctypes
from biomlbench.grade_helpers import InvalidSubmissionError

def grade(submission, answers):
    what = submission["do"].iloc[0]
    if what == "hang":
        while True: time.sleep(1)
    if what == "spin":
        while True: pass
    if what == "exit": sys.exit(3)
    if what == "hard_exit": os._exit(0)
    if what == "crash": ctypes.string_at(0)
    if what == "memory": return len(bytearray(8 << 30))
    if what == "print":
        for _ in range(64): print("x" * (1 << 20), flush=True)
        sys.stderr.write("y" * (1 << 20))
        os.write(1, b"7\\t{}\\n")
    if what == "fork": os.fork()
    if what == "orphan":
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
    if what == "close": os.closerange(0, 200)
    if what == "raise": raise RuntimeError("no luck")
    if what == "invalid": raise InvalidSubmissionError("not like this")
    if what == "kill": os.kill(os.getpid(), 9)
    if what == "stdin": sys.stdin.read()
    if what == "environment": return float(sum("SECRET" in key for key in os.environ))
    if what == "text": return "0.5"
    return 0.5
"""


@pytest.fixture
def task_id(tasks) -> str:
    return tasks.add("lab/wild-grader", code=CODE)


@pytest.fixture
def pool(tasks, task_id: str) -> Iterator[GraderPool]:
    with GraderPool(tasks.registry, workers=2, time_limit_s=1.5, memory_limit_mb=512) as pool:
        yield pool


def ask(tasks, what: str) -> Path:
    return tasks.submit(f"do\n{what}\n", f"{what}.csv")


FATAL = {
    "hang": "the time limit",
    "spin": "the time limit",
    "exit": "sys.exit with 3",
    "hard_exit": "exit code 0",
    "crash": "SIGSEGV",
    "memory": "out of memory",
    "kill": "SIGKILL",
    "close": "the grader's process",
    "raise": "RuntimeError: no luck (grade.py, line",
    "text": "returned str where a number was expected",
}


@posix
@pytest.mark.parametrize("what", FATAL)
def test_a_bad_grader_costs_one_submission_with_the_reason(
    tasks, task_id: str, pool: GraderPool, what: str
) -> None:
    outcome = pool.grade(ask(tasks, what), task_id)
    assert isinstance(outcome, NotGraded)
    assert FATAL[what] in outcome.reason
    assert outcome.attempts == 2
    assert isinstance(pool.grade(ask(tasks, "fine"), task_id), TaskReport)


@posix
@pytest.mark.parametrize("what", ["print", "fork", "orphan", "stdin"])
def test_printing_forking_and_reading_disturb_nothing(
    tasks, task_id: str, pool: GraderPool, what: str
) -> None:
    outcome = pool.grade(ask(tasks, what), task_id)
    assert isinstance(outcome, TaskReport)
    assert outcome.score == 0.5


def test_an_invalid_submission_is_told_from_a_broken_grader(tasks, task_id: str, pool: GraderPool) -> None:
    outcome = pool.grade(ask(tasks, "invalid"), task_id)
    assert isinstance(outcome, Invalid)
    assert outcome.reason == "not like this"
    assert outcome.report.valid_submission is False


def test_graders_get_no_credentials(tasks, task_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", "s3cret")
    with GraderPool(tasks.registry, workers=1) as pool:
        outcome = pool.grade(ask(tasks, "environment"), task_id)
    assert isinstance(outcome, TaskReport)
    assert outcome.score == 0.0


@posix
def test_in_a_batch_every_submission_has_exactly_one_outcome(tasks, task_id: str, pool: GraderPool) -> None:
    wishes = (
        ["fine"] * 30 + ["crash", "hang", "invalid", "exit", "memory"] + ["fine"] * 30 + ["kill", "raise"]
    )
    outcomes = list(pool.grade_many([(task_id, ask(tasks, what)) for what in wishes]))
    assert sorted(number for number, _ in outcomes) == list(range(len(wishes)))
    by_number = dict(outcomes)
    for number, what in enumerate(wishes):
        kind = {"fine": TaskReport, "invalid": Invalid}.get(what, NotGraded)
        assert isinstance(by_number[number], kind), (what, by_number[number])


@posix
def test_closing_ends_every_process(tasks, task_id: str) -> None:
    pool = GraderPool(tasks.registry, workers=1, time_limit_s=60)
    pool.warm_up()
    pid = pool._idle[0].pid
    started = threading.Event()

    def grade() -> None:
        started.set()
        with pytest.raises(NotMeasuredError, match="closed"):
            pool.grade(ask(tasks, "hang"), task_id)

    thread = threading.Thread(target=grade)
    thread.start()
    started.wait()
    while not pool._busy:
        pass
    pool.close()
    thread.join(timeout=30)
    assert not thread.is_alive()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(NotMeasuredError, match="closed"):
        pool.grade(ask(tasks, "fine"), task_id)


def test_an_unknown_or_unprepared_task_is_not_tried_twice(tasks, task_id: str, pool: GraderPool) -> None:
    unknown = pool.grade(ask(tasks, "fine"), "lab/wild-greater")
    assert isinstance(unknown, NotGraded)
    assert unknown.attempts == 1
    assert "did you mean lab/wild-grader?" in unknown.reason
    bare = tasks.add("lab/unprepared", code=CODE)
    (tasks.data / bare / "prepared" / "private" / "answers.csv").unlink()
    unprepared = pool.grade(ask(tasks, "fine"), bare)
    assert isinstance(unprepared, NotGraded)
    assert "bioeval-tui tasks prepare lab/unprepared" in unprepared.reason


@posix
def test_graders_can_run_in_another_python(
    tasks, task_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\necho used > "{tmp_path}/mark"\nexec "{sys.executable}" "$@"\n')
    other.chmod(0o755)
    monkeypatch.setenv("BIOEVAL_WORKER_PYTHON", str(other))
    with GraderPool(tasks.registry, workers=1) as pool:
        assert isinstance(pool.grade(ask(tasks, "fine"), task_id), TaskReport)
    assert (tmp_path / "mark").read_text() == "used\n"


@posix
def test_a_python_that_cannot_start_is_one_sentence(
    tasks, task_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIOEVAL_WORKER_PYTHON", "/bin/false")
    with (
        GraderPool(tasks.registry, workers=1) as pool,
        pytest.raises(NotMeasuredError, match="did not start"),
    ):
        pool.grade(ask(tasks, "fine"), task_id)


@posix
def test_workers_end_when_their_program_is_killed(tasks, task_id: str) -> None:
    code = (
        "import sys, time; from bioeval_tui.grading import GraderPool\n"
        "pool = GraderPool(workers=1); pool.warm_up(); print(pool._idle[0].pid, flush=True); sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        pid = int(program.stdout.readline())
        program.kill()
    for _ in range(2_000):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    pytest.fail("the worker lives on")

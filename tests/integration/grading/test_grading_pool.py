"""The grading pool with graders that hang, exit, crash, use too much memory, print or fork: one
submission is lost.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bioeval_tui.base.errors import NotMeasuredError
from bioeval_tui.grade.batch import feeding
from bioeval_tui.grade.batch.run import grade_batch
from bioeval_tui.grading import GraderPool, Invalid, NotGraded, TaskReport

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
    if what.startswith("page"): spoil(what)
    return 0.5

def spoil(what):
    # Cut or overwrite the page on which the worker notes what it grades; then end, or never.
    import math, struct
    opened = [os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
    pages = [path for path in opened if os.path.realpath(path).endswith("/progress")]
    assert len(pages) == 1
    written = {
        "nan": (0, math.nan), "late": (0, 1e308), "idle": (-1, 0.0), "other": (1 << 40, -1e308)
    }
    with open(pages[0], "r+b") as page:
        for name, values in written.items():
            if name in what:
                page.write(struct.pack("=qd", *values))
        if "cut" in what:
            page.truncate(0)
    while "hang" in what:
        time.sleep(1)
"""


@pytest.fixture
def task_id(tasks) -> str:
    return tasks.add("lab/wild-grader", code=CODE, sample="do\nfine\n")


def pool_of(tasks, what: str = "") -> GraderPool:
    """Return a pool with a short time limit where a grader never ends, and a generous one
    elsewhere.
    """
    limit_s = 1.5 if what in ("hang", "spin") else 60.0
    return GraderPool(tasks.registry, workers=2, time_limit_s=limit_s, memory_limit_mb=512)


@pytest.fixture
def pool(tasks, task_id: str) -> Iterator[GraderPool]:
    with pool_of(tasks) as pool:
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
@pytest.mark.parametrize(
    "what",
    [
        pytest.param(what, marks=() if what in ("hang", "crash", "raise") else pytest.mark.long)
        for what in FATAL
    ],
)
def test_a_crashing_grader_loses_one_submission_with_the_reason(
    tasks, task_id: str, what: str
) -> None:
    # The grader does the same to the task's own sample submission: nothing shows that the file is
    # at fault.
    itself = tasks.add(f"lab/{what}", code=CODE, sample=f"do\n{what}\n")
    with pool_of(tasks, what) as pool:
        outcome = pool.grade(ask(tasks, what), itself)
        assert isinstance(outcome, NotGraded)
        assert FATAL[what] in outcome.reason
        assert outcome.attempts == 2
        assert isinstance(pool.grade(ask(tasks, "fine"), task_id), TaskReport)


@pytest.mark.long
@posix
def test_graders_that_print_fork_or_read_stdin_disturb_nothing(
    tasks, task_id: str, pool: GraderPool
) -> None:
    for what in ("print", "fork", "orphan", "stdin"):
        outcome = pool.grade(ask(tasks, what), task_id)
        assert isinstance(outcome, TaskReport), what
        assert outcome.score == 0.5


linux = pytest.mark.skipif(sys.platform != "linux", reason="finds its worker's page in /proc")


@linux
@pytest.mark.parametrize("what", ["page cut", "page nan", "page late", "page idle"])
def test_a_grader_that_spoils_its_workers_page_is_graded_as_any_other(tasks, what: str) -> None:
    itself = tasks.add("lab/page", code=CODE, sample="do\nfine\n")
    with GraderPool(tasks.registry, workers=2, time_limit_s=60.0) as pool:
        files = [(itself, ask(tasks, what)), (itself, ask(tasks, "fine"))] * 3
        outcomes = [outcome for _, outcome in pool.grade_many(files)]
    assert [outcome.score for outcome in outcomes if isinstance(outcome, TaskReport)] == [0.5] * 6


@linux
@pytest.mark.parametrize(
    "what", ["page cut hang", *(pytest.param(f"page {how} hang", marks=pytest.mark.long) for how in
    ("nan", "late", "idle", "other", "nan cut"))]
)  # fmt: skip
def test_a_grader_that_spoils_its_workers_page_gets_no_more_time(
    tasks, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeding, "SILENT_S", 1.0)
    itself = tasks.add("lab/page", code=CODE, sample=f"do\n{what}\n")
    with GraderPool(tasks.registry, workers=1, time_limit_s=1.0) as pool:
        outcome = pool.grade(ask(tasks, what), itself)
    assert isinstance(outcome, NotGraded)
    assert "the time limit" in outcome.reason


def test_an_invalid_submission_is_distinguished_from_a_broken_grader(
    tasks, task_id: str, pool: GraderPool
) -> None:
    outcome = pool.grade(ask(tasks, "invalid"), task_id)
    assert isinstance(outcome, Invalid)
    assert outcome.reason == "not like this"
    assert outcome.report.valid_submission is False


def test_graders_see_no_credentials(tasks, task_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", "s3cret")
    with GraderPool(tasks.registry, workers=1) as pool:
        outcome = pool.grade(ask(tasks, "environment"), task_id)
    assert isinstance(outcome, TaskReport)
    assert outcome.score == 0.0


@posix
@pytest.mark.long
def test_in_a_batch_every_submission_has_exactly_one_outcome(tasks, task_id: str) -> None:
    (
        tasks.data / task_id / "prepared" / "public" / "sample_submission.csv"
    ).unlink()  # nothing to compare with
    wishes = (
        ["fine"] * 30
        + ["crash", "hang", "invalid", "exit", "memory"]
        + ["fine"] * 30
        + ["kill", "raise"]
    )
    with pool_of(tasks, "hang") as pool:
        outcomes = list(pool.grade_many([(task_id, ask(tasks, what)) for what in wishes]))
    assert sorted(number for number, _ in outcomes) == list(range(len(wishes)))
    by_number = dict(outcomes)
    for number, what in enumerate(wishes):
        kind = {"fine": TaskReport, "invalid": Invalid}.get(what, NotGraded)
        assert isinstance(by_number[number], kind), (what, by_number[number])


@posix
def test_closing_ends_every_process(tasks, task_id: str) -> None:
    pool = GraderPool(tasks.registry, workers=1, time_limit_s=60)
    pool.grade(ask(tasks, "fine"), task_id)
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
    thread.join(timeout=300)
    assert not thread.is_alive()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(NotMeasuredError, match="closed"):
        pool.grade(ask(tasks, "fine"), task_id)


def test_an_unknown_or_unprepared_task_is_tried_once(tasks, task_id: str, pool: GraderPool) -> None:
    unknown = pool.grade(ask(tasks, "fine"), "lab/wild-greater")
    assert isinstance(unknown, NotGraded)
    assert unknown.attempts == 1
    assert "did you mean lab/wild-grader?" in unknown.reason
    bare = tasks.add("lab/unprepared", code=CODE, sample="do\nfine\n")
    (tasks.data / bare / "prepared" / "private" / "answers.csv").unlink()
    unprepared = pool.grade(ask(tasks, "fine"), bare)
    assert isinstance(unprepared, NotGraded)
    assert "its answers are missing" in unprepared.reason
    assert "it has no prepare.py, so put them there" in unprepared.reason


NEEDS_POLARIS = """
def grade(submission, answers):
    import polaris.benchmark
    return 0.25
"""


@pytest.mark.long
@posix
def test_only_graders_that_need_another_python_run_in_it_and_reports_say_so(
    tasks, task_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other" / "polaris").mkdir(parents=True)
    for name in ("__init__.py", "benchmark.py"):
        (tmp_path / "other" / "polaris" / name).touch()
    (tmp_path / "other" / "sitecustomize.py").write_text(
        "import pandas\npandas.__version__ = '2.2.2'\n"
    )
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}/other" exec "{sys.executable}" "$@"\n')
    other.chmod(0o755)
    monkeypatch.setenv("BIOEVAL_WORKER_PYTHON", str(other))
    polaris = tasks.add("lab/polaris", code=NEEDS_POLARIS, sample="do\nfine\n")
    wishes = [
        (task_id, ask(tasks, "fine")),
        (polaris, ask(tasks, "fine")),
        (polaris, ask(tasks, "other")),
    ] * 2
    with GraderPool(tasks.registry, workers=1) as pool:
        outcomes = dict(pool.grade_many(wishes))
        alone = pool.grade(ask(tasks, "fine"), polaris)
        examined, _ = pool.examine(ask(tasks, "fine"), polaris)
        checked = {item.task_id: item for item in pool.check([task_id, polaris])}
    assert len(outcomes) == 6
    for outcome in (*outcomes.values(), alone, examined):
        assert isinstance(outcome, TaskReport)
        assert outcome.extra is not None
        there = outcome.task_id == polaris
        assert outcome.score == (0.25 if there else 0.5)
        assert str(outcome.extra.environment).endswith("of BIOEVAL_WORKER_PYTHON") is there
        assert any("graded with pandas 2.2.2" in text for text in outcome.extra.warnings) is there
    assert [checked[name].problem for name in (task_id, polaris)] == [None, None]


@posix
def test_without_another_python_a_missing_package_is_reported_once_with_a_fix(
    tasks, pool: GraderPool
) -> None:
    polaris = tasks.add("lab/polaris", code=NEEDS_POLARIS.replace("polaris", "no_such_package"))
    outcome = pool.grade(ask(tasks, "fine"), polaris)
    assert isinstance(outcome, NotGraded)
    assert (outcome.attempts, "needs the package no_such_package" in outcome.reason) == (1, True)


@pytest.mark.long
@posix
@pytest.mark.parametrize("python", ["/bin/false", "/no/such/python"])
def test_another_python_that_cannot_start_affects_only_its_graders(
    tasks, task_id: str, monkeypatch: pytest.MonkeyPatch, python: str
) -> None:
    monkeypatch.setenv("BIOEVAL_WORKER_PYTHON", python)
    polaris = tasks.add("lab/polaris", code=NEEDS_POLARIS)
    with GraderPool(tasks.registry, workers=1) as pool:
        outcomes = dict(
            pool.grade_many([(task_id, ask(tasks, "fine")), (polaris, ask(tasks, "fine"))])
        )
    assert isinstance(outcomes[0], TaskReport)
    assert isinstance(outcomes[1], NotGraded)
    assert "a grading worker did not start" in outcomes[1].reason


@posix
def test_workers_end_when_their_program_is_killed(tasks, task_id: str) -> None:
    code = (
        "import sys, time; from bioeval_tui.grading import GraderPool\npool ="
        " GraderPool(workers=1); pool.grade(None, 'no task'); print(pool._idle[0].pid, flush=True);"
        " sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
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


@posix
@pytest.mark.parametrize("what", ["hang", "crash", "memory", "exit"])
@pytest.mark.long
def test_a_file_that_crashes_the_grader_is_invalid_if_validation_finds_its_error(
    tasks, what: str
) -> None:
    # Its sample submission has other columns, but the grader scores the answers, so it works.
    works = tasks.add("lab/works", code=CODE, sample="id,do\na,fine\n", answers="do\nfine\n")
    fails = tasks.add("lab/fails", code=CODE, sample="id,do\n", answers="id,y\na,1\n")
    with pool_of(tasks, what) as pool:
        outcome = pool.grade(ask(tasks, what), works)
        not_known = pool.grade(ask(tasks, what), fails)
    assert isinstance(outcome, Invalid)
    assert "column `id` is missing; the file has do" in outcome.reason
    assert isinstance(not_known, NotGraded), "the grader scores none of the task's own files"


@pytest.mark.long
@posix
def test_checking_a_task_grades_its_own_sample_submission_or_its_answers(
    tasks, pool: GraderPool
) -> None:
    names = {
        "sample": tasks.add("lab/sample", code=CODE, sample="do\nfine\n"),
        "answers": tasks.add("lab/answers", code=CODE, sample="do\nraise\n", answers="do\nfine\n"),
        "neither": tasks.add("lab/neither", code=CODE, sample="do\nraise\n"),
        "refused": tasks.add(
            "lab/refused", code=CODE, sample="do\ninvalid\n", answers="do\ninvalid\n"
        ),
        "bare": tasks.add("lab/bare", code=CODE),
    }
    (tasks.data / names["bare"] / "prepared" / "private" / "answers.csv").unlink()
    found = {item.task_id: item for item in pool.check(list(names.values()))}
    assert found[names["sample"]].scored == "the sample submission"
    assert found[names["answers"]].scored == "the answers"
    assert "RuntimeError: no luck (grade.py, line" in str(found[names["neither"]].problem)
    assert found[names["refused"]].problem is None
    assert found[names["refused"]].warnings == [
        "the grader refuses the sample submission: not like this"
    ]
    assert (found[names["bare"]].problem, found[names["bare"]].scored) == (None, None)


@pytest.mark.long
def test_submissions_of_one_task_are_spread_over_the_workers(tasks) -> None:
    """Each grading waits until another process grades as well, or gives up: with one worker alone
    none would meet.
    """
    meeting = tasks.submissions / "meeting"
    meeting.mkdir()
    code = (
        "import os, time\nfrom pathlib import Path\n"
        "def grade(submission, answers):\n"
        f"    place = Path({str(meeting)!r})\n"
        "    (place / str(os.getpid())).touch()\n"
        "    end = time.monotonic() + 20\n"
        "    while len(list(place.iterdir())) < 2 and time.monotonic() < end:\n"
        "        time.sleep(0.01)\n"
        "    return float(len(list(place.iterdir())))\n"
    )
    task = tasks.add("lab/one", code=code)
    paths = [tasks.submit(f"id,y\na,{n}\n", f"{n}.csv") for n in range(8)]
    with GraderPool(tasks.registry, workers=2) as pool:
        outcomes = [outcome for _, outcome in pool.grade_many((task, path) for path in paths)]
    assert {outcome.score for outcome in outcomes} == {2.0}


@pytest.mark.long
def test_a_task_may_be_given_by_a_bare_name_wherever_files_are_graded(
    tasks, tmp_path: Path
) -> None:
    task = tasks.add(
        "lab/measured-numbers", grader={"metric": "mean_absolute_error", "target": "y"}
    )
    right = tasks.submit("id,y\na,1.0\nb,2.0\nc,3.00\n")  # no copy of the answers' bytes
    listed = tmp_path / "list.jsonl"
    names = ("measured-numbers", "numbers", f" {task} ")
    listed.write_text(
        "".join(
            json.dumps({"task_id": name, "submission_path": str(right)}) + "\n" for name in names
        )
    )
    with GraderPool(tasks.registry, workers=2) as pool:
        for name in names:
            outcome = pool.grade(right, name)
            assert isinstance(outcome, TaskReport), outcome
            assert outcome.task_id == task
            examined, findings = pool.examine(right, name)
            assert isinstance(examined, TaskReport), examined
            assert not findings
        assert [checked.problem for checked in pool.check(names)] == [None] * 3
        done = grade_batch(listed, tmp_path / "out", pool)
    assert (done.valid, done.not_graded) == (3, ())

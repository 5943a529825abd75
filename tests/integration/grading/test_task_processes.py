"""What one task's grader changes in its process changes no other task's score, and nothing in the
program.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bioeval_tui.base.isolation import find_installed
from bioeval_tui.grade.batch.item_grader import LIBRARIES
from bioeval_tui.grade.batch.run import explanations, uncertainties
from bioeval_tui.grade.batch.worker_launch import worker_environment
from bioeval_tui.grading import GraderPool, NotGraded, TaskReport
from tests.command import call

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX processes")

ANSWERS = "id,y\n" + "".join(f"r{n},{n % 2}\n" for n in range(40))
GOOD = """
import numpy as np
def grade(submission, answers):
    return float(np.mean((submission["y"].to_numpy() - answers["y"].to_numpy()) ** 2))
"""
"""The rows are those of the answers, in their order: an interval calls it thousands of times."""
STATE = """
import locale, os, random, signal, sys, warnings
import numpy as np, pandas as pd
def state():
    return [
        os.environ.get("LEFT_BEHIND"), os.path.basename(os.getcwd()),
        os.path.exists("/proc/self/fd/150"), "left_behind" in sys.modules,
        str(signal.getsignal(signal.SIGALRM)), signal.getitimer(signal.ITIMER_REAL),
        os.umask(0o22), np.geterr(),
        pd.get_option("mode.chained_assignment"), pd.get_option("display.precision"),
        sys.getrecursionlimit(), len(sys.path), warnings.filters[:1],
        locale.setlocale(locale.LC_ALL),
        sys.float_repr_style, random.random.__name__, float(np.mean([1.0, 3.0])),
    ]
"""
LOOKS = (
    STATE
    + """
def grade(submission, answers):
    with open(FILE, "a") as file:
        print(state(), file=file)
    return 0.5
"""
)
CHANGES = (
    STATE
    + """
def grade(submission, answers):
    os.environ["LEFT_BEHIND"] = "1"
    os.dup2(os.open(os.devnull, os.O_RDONLY), 150)
    sys.modules["left_behind"] = sys
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 600)
    os.chdir("/")
    os.umask(0)
    np.seterr(all="raise")
    pd.set_option("mode.chained_assignment", "raise", "display.precision", 1)
    sys.setrecursionlimit(5000)
    sys.path.insert(0, "/nowhere")
    warnings.simplefilter("error")
    random.random = lambda: 0.5
    np.mean = lambda *_, **__: 0.125
    return 0.5
"""
)


@pytest.fixture(params=["forked", pytest.param("started", marks=pytest.mark.long)])
def way(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """How a task gets its process: forked, or, where a worker has threads and cannot be forked,
    started.
    """
    if request.param == "started":
        (tmp_path / "path").mkdir()
        code = (
            "import threading\nthreading.Thread(target=threading.Event().wait,"
            " daemon=True).start()\n"
        )
        (tmp_path / "path" / "sitecustomize.py").write_text(code)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
    return str(request.param)


@pytest.fixture
def evil(tasks) -> Iterator[list[tuple[str, Path]]]:
    """Submissions of a good task before and after one whose grader replaces `np.mean`; the good
    ones score 0.25.
    """
    tasks.add(
        "lab/a-evil",
        code="import numpy\nnumpy.mean = lambda *_, **__: 0.125\n" + GOOD,
        answers=ANSWERS,
    )
    tasks.add("lab/good", code=GOOD, answers=ANSWERS)
    tasks.add(
        "lab/z-evil",
        code="import numpy\nnumpy.mean = lambda *_, **__: 0.125\n" + GOOD,
        answers=ANSWERS,
    )
    file = tasks.submit(ANSWERS.replace(",0", ",0.5").replace(",1\n", ",0.5\n"))
    return [(f"lab/{name}", file) for name in ("good", "a-evil", "good", "z-evil", "good")]


@pytest.mark.long
@posix
def test_a_grader_that_patches_numpy_changes_only_its_own_score(tasks, evil, way: str) -> None:
    with GraderPool(tasks.registry, workers=1) as pool:
        batch = dict(pool.grade_many(evil))
    assert [batch[number].score for number in sorted(batch)] == [0.25, 0.125, 0.25, 0.125, 0.25], (
        way
    )


# Whatever is asked for gets its process in the same way: where each is started, all of these would
# take twenty seconds.
@pytest.mark.long
@posix
def test_nor_does_it_where_submissions_are_graded_examined_and_explained_one_by_one(
    tasks, evil
) -> None:
    with GraderPool(tasks.registry, workers=1) as pool:
        batch = dict(pool.grade_many(evil))
        alone = [pool.grade(file, task).score for task, file in evil[:3]]
        examined = [pool.examine(file, task)[0].score for task, file in evil[:3]]
        reports = [batch[number] for number in range(len(evil))]
        views = dict(explanations(reports, pool))
        sure = dict(uncertainties(reports[:2], pool, call_code=True))
    assert alone == examined == [0.25, 0.125, 0.25]
    assert (sure[0].low, sure[0].high) == (None, None), "four rows are too few for an interval"
    assert views[0] == views[2] == views[4]


@posix
@pytest.mark.parametrize("arguments", [[], ["--isolate", "submission"]])
def test_on_the_command_line_too(tasks, evil, tmp_path: Path, arguments: list[str]) -> None:
    lines = [json.dumps({"task_id": task, "submission_path": str(file)}) for task, file in evil]
    listed = tasks.submit("\n".join(lines), "list.jsonl")
    where = ["--tasks-dir", tasks.root, "--data-dir", tasks.data, "--output-dir", tmp_path / "out"]
    words = [str(word) for word in (listed, *where, "--workers", 1, "--json", *arguments)]
    done = call("grade", *words, catch_exceptions=False)
    report = json.loads(Path(json.loads(done.stdout)["report"]).read_text())
    assert [item["score"] for item in report["task_reports"]] == [0.25, 0.125, 0.25, 0.125, 0.25]


CHANGED = (
    "import json\ndumps = json.dumps\njson.dumps = lambda answer, **how: dumps(answer,"
    f" separators=(',', ':'))\n{GOOD}"
)


@pytest.mark.long
@posix
def test_a_grader_that_changes_what_its_process_writes_is_not_graded_and_the_others_are(
    tasks,
) -> None:
    tasks.add("lab/good", code=GOOD, answers=ANSWERS)
    tasks.add("lab/evil", code=CHANGED, answers=ANSWERS)
    file = tasks.submit(ANSWERS.replace(",0", ",0.5").replace(",1\n", ",0.5\n"))
    names = ("good", "evil", "good")
    with GraderPool(tasks.registry, workers=1) as pool:
        found = dict(pool.grade_many([(f"lab/{name}", file) for name in names]))
        again = replace(found[0], task_id="lab/evil")
        views = dict(explanations([again], pool, show_answers=True))
        sure = dict(uncertainties([again], pool, call_code=True))
        (checked,) = pool.check(["lab/evil"])
    assert [found[number].score for number in (0, 2)] == [0.25, 0.25]
    assert isinstance(found[1], NotGraded)
    assert "the grader wrote into the worker's output" in found[1].reason
    assert views[0]
    assert sure[0]
    assert checked.task_id == "lab/evil"


@posix
def test_nothing_in_a_process_is_left_for_the_next_task(tasks, tmp_path: Path, way: str) -> None:
    seen = tmp_path / "seen"
    tasks.add("lab/changes", code=CHANGES)
    tasks.add("lab/looks", code=LOOKS.replace("FILE", repr(str(seen))))
    file = tasks.submit("id,y\na,1\n")
    with GraderPool(tasks.registry, workers=1) as pool:
        for name in ("looks", "changes", "looks"):
            assert isinstance(pool.grade(file, f"lab/{name}"), TaskReport)
    first, second = seen.read_text().splitlines()
    assert first == second


COUNTS = """
import builtins
def grade(submission, answers):
    builtins.graded = getattr(builtins, "graded", 0) + 1
    return float(builtins.graded)
"""


@posix
@pytest.mark.parametrize(
    ("isolate", "scores"), [("task", [1.0, 2.0, 3.0]), ("submission", [1.0, 1.0, 1.0])]
)
def test_submissions_of_a_task_share_a_process_unless_each_gets_its_own(
    tasks, way: str, isolate: str, scores: list[float]
) -> None:
    task = tasks.add(code=COUNTS)
    file = tasks.submit("id,y\na,1\n")
    with GraderPool(tasks.registry, workers=1, isolate=isolate) as pool:
        assert [
            outcome.score for _, outcome in sorted(pool.grade_many([(task, file)] * 3))
        ] == scores


LEAVES = """
import os, time
def grade(submission, answers):
    left = os.fork()
    if left == 0:
        os.setsid()
        time.sleep(600)
    open(FILE, "w").write(str(left))
    return 0.5
"""
LOOKS_FOR_IT = """
import os
def grade(submission, answers):
    return float(os.path.exists("/proc/" + open(FILE).read()))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these means are Linux's")
def test_no_process_that_a_grader_starts_is_there_while_the_next_task_is_graded(
    tasks, tmp_path: Path, way: str
) -> None:
    for name, code in (("leaves", LEAVES), ("looks", LOOKS_FOR_IT)):
        tasks.add(f"lab/{name}", code=code.replace("FILE", repr(str(tmp_path / "left"))))
    file = tasks.submit("id,y\na,1\n")
    with GraderPool(tasks.registry, workers=1) as pool:
        assert [pool.grade(file, f"lab/{name}").score for name in ("leaves", "looks")] == [
            0.5,
            0.0,
        ], way


ENDS = """
import os
def grade(submission, answers):
    if submission["y"].iloc[0] == 2:
        os._exit(0)
    return 0.5
"""


@pytest.mark.long
@posix
def test_a_process_that_ends_itself_costs_its_submission_and_no_other(tasks) -> None:
    tasks.add("lab/ends", code=ENDS, sample="id,y\na,2\n", answers="id,y\na,2\n")
    tasks.add("lab/good", code=GOOD)
    wishes = [
        (task, tasks.submit(f"id,y\na,{n % 3}\n", f"{n}.csv"))
        for task in ("lab/ends", "lab/good")
        for n in range(9)
    ]
    with GraderPool(tasks.registry, workers=2) as pool:
        found = dict(pool.grade_many(wishes))
    assert [isinstance(found[n], TaskReport) for n in range(9)] == [n % 3 != 2 for n in range(9)]
    assert len(found) == 18


THREADS = """
import importlib, os, sys
import bioeval_tui.grade.batch.item_grader
for name in sys.argv[1:]:
    importlib.import_module(name)
print(len(os.listdir("/proc/self/task")))
"""


linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only there are workers forked"
)


@pytest.mark.long
@linux
def test_a_template_has_a_single_thread_when_it_forks() -> None:
    installed = [name for name in LIBRARIES if find_installed(name.partition(".")[0]) is not None]
    command = [sys.executable, "-c", THREADS, *installed]
    done = subprocess.run(
        command, env=worker_environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"


@pytest.mark.long
@linux
@pytest.mark.usefixtures("starts_templates")
def test_workers_of_all_tasks_are_forked_from_one_template_and_another_follows_if_it_is_killed(
    tasks, tmp_path: Path
) -> None:
    parents = tmp_path / "parents"
    code = f"""
import os
from pathlib import Path
def grade(submission, answers):
    def parent(pid):
        return int(Path(f"/proc/{{pid}}/stat").read_text().rpartition(")")[2].split()[1])
    with open({str(parents)!r}, "a") as file:
        print(parent(os.getppid()), file=file)
    return 0.5
"""
    for name in ("one", "two", "three"):
        tasks.add(f"lab/{name}", code=code, answers=ANSWERS)
    file = tasks.submit(ANSWERS.replace(",0", ",0.5"))

    def template(pool: GraderPool, name: str) -> int:
        assert pool.grade(file, f"lab/{name}").score == 0.5
        return int(parents.read_text().split()[-1])

    with GraderPool(tasks.registry, workers=1) as pool:
        first = template(pool, "one")
        assert template(pool, "two") == first
        os.kill(first, signal.SIGKILL)
        assert template(pool, "three") != first

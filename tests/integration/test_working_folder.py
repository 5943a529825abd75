"""Started in a folder whose files have the names of modules and settings, the program opens none of
them.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from aiohttp import ClientSession

from tests.command import group
from tests.forked import each
from tests.integration.opened import Opened
from tests.integration.program import environment
from tests.integration.test_encodings import MEDALS
from tests.terminals import Terminal

ROOT = Path(__file__).resolve().parents[2]
JOB = ROOT / "sample_jobs" / "medication_reminder.yml"
SUBMISSIONS = ROOT / "sample_submissions"
CAREFUL = SUBMISSIONS / "2026-11-20T09-00-00-GMT_run-group_careful" / "breast-cancer.csv"
GOLDEN = ROOT / "tests" / "golden" / "demo-run.jsonl"
TRANSCRIPTS = ROOT / "tests" / "golden" / "guards" / "craft-md-gpt4.jsonl"
RUN = "20261120-210356-44c7"
TASK = "oncology/breast-cancer"
CELLS = "single-cell/pbmc-cell-types"
GRADED = (
    (TASK, "2026-11-20T09-00-00-GMT_run-group_careful/breast-cancer.csv"),
    (TASK, "2026-11-20T09-00-00-GMT_run-group_broken/breast-cancer.csv"),
    (CELLS, "2026-11-20T09-00-00-GMT_run-group_careful/pbmc-cell-types.h5ad"),
    (CELLS, "2026-11-20T09-00-00-GMT_run-group_broken/pbmc-cell-types-cell-twice.h5ad"),
)
"""Submissions of each kind of file, good and bad."""
OWN = "lab/own"
EVERY_COMMAND = """
import importlib, pkgutil
from bioeval_tui import cli
from bioeval_tui.base import isolation
isolation.leave_out_working_folder(run_by_name=False)
for module in pkgutil.iter_modules(cli.__path__, "bioeval_tui.cli."):
    importlib.import_module(module.name)
"""
PROGRAM = [str(Path(sysconfig.get_path("scripts")) / "bioeval-tui")]
BY_NAME = [sys.executable, "-m", "bioeval_tui"]
PLUGIN = "[bioeval_tui.graphs]\nplanted = planted:make\n[pytest11]\nplanted = planted\n"
SETTINGS = {
    ".env": (
        "OPENAI_API_KEY=planted\nOPENAI_BASE_URL=http://127.0.0.1:9\n"
        "BIOEVAL_DATA_DIR=planted\nPYTHONPATH=.\n"
    ),
    "planted-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n",
    "planted-1.0.dist-info/entry_points.txt": PLUGIN,
    "planted.egg-info/PKG-INFO": "Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n",
    "planted.egg-info/entry_points.txt": PLUGIN,
    "dask.yaml": "distributed: {}\n",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p planted'\n",
    **dict.fromkeys(
        ("pytest.ini", "setup.cfg", "tox.ini", "matplotlibrc", ".netrc", "_netrc", ".pdbrc",
            "kaggle.json", "openssl.cnf",
         "pyvenv.cfg", "python._pth", "planted.pth", ".bioeval", "prices.yml", "textual.css",
         "keys.json"), "planted\n",
    ),
}  # fmt: skip


@functools.cache
def modules() -> list[str]:
    """Return the names of all modules of Python and its packages, and of some others."""
    others = ("planted", "biomlbench", "polaris", "tqdm", "kaggle", "grade", "prepare", "conftest",
        "sitecustomize", "usercustomize", "bioeval_tui")  # fmt: skip
    names = {*sys.stdlib_module_names, *packages_distributions(), *others}
    return sorted(name for name in names if name.isidentifier())


class Folder:
    """The folder that the program is started in, what it left there, and the user's own data
    elsewhere.
    """

    def __init__(self, root: Path) -> None:
        self.here, self.data, self.out, self.marks = (
            root / name for name in ("here", "data", "out", "imported.txt")
        )
        for path in (self.here, self.data / "runs", self.out):
            path.mkdir(parents=True, mode=0o700)
        mark = f"open({str(self.marks)!r}, 'a').write(__name__ + '\\n')\n"
        for number, name in enumerate(modules()):
            module = self.here / (f"{name}/__init__.py" if number % 2 else f"{name}.py")
            module.parent.mkdir(exist_ok=True)
            module.write_text(mark)
        for name, text in SETTINGS.items():
            (self.here / name).parent.mkdir(exist_ok=True)
            (self.here / name).write_text(text)
        self._was_there = self._listing()
        shutil.copy(GOLDEN, self.data / "runs" / f"{RUN}.jsonl")
        add_task(root / "tasks")
        (root / "few.jsonl").write_text(
            "".join(TRANSCRIPTS.read_text("utf-8").splitlines(keepends=True)[:3]), "utf-8"
        )
        (root / "submissions.jsonl").write_text(
            "".join(
                json.dumps({"task_id": task, "submission_path": str(SUBMISSIONS / file)}) + "\n"
                for task, file in GRADED
            )
        )
        self.names = {
            "submissions": root / "submissions.jsonl",
            "out": self.out,
            "job": JOB,
            "tasks": root / "tasks",
            "few": root / "few.jsonl",
        }
        self.environment = {**environment(self.data), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        self.opened = Opened(self.here)

    def _listing(self) -> set[Path]:
        return set(self.here.rglob("*"))

    def run(
        self, *arguments: str, program: list[str] = PROGRAM, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command here."""
        words = [argument.format(**self.names) for argument in arguments]
        return subprocess.run(
            [*program, *words], capture_output=True, text=True, timeout=300, cwd=self.here,
            env={**self.environment, **more}, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def each(
        self, *commands: tuple[str, ...], **more: str
    ) -> list[subprocess.CompletedProcess[str]]:
        """Run commands here, each in a fork of one process that has imported all of them here."""
        words = [[argument.format(**self.names) for argument in command] for command in commands]
        return each(words, env={**self.environment, **more}, cwd=self.here, before=EVERY_COMMAND)

    @contextmanager
    def started(self, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
        """Start a command here; gives its first line. What is left of it is killed."""
        with subprocess.Popen(
            [*PROGRAM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=self.here,
            env=self.environment, start_new_session=True,
        ) as process:  # fmt: skip
            try:
                assert process.stdout is not None
                yield process.stdout.readline().strip(), process
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)

    def untouched(self) -> None:
        """Fail when a file here was imported or opened, or a new one written."""
        assert not self.marks.exists(), self.marks.read_text()
        assert self.opened.files() == set()
        assert self._listing() == self._was_there


def add_task(tasks: Path) -> None:
    """Write a task with a preparer and a grader of its own."""
    folder = tasks / OWN
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(
        json.dumps(
            {
                "id": OWN, "name": "Own", "task_type": "classification", "domain": "lab",
                "difficulty": "easy",
                "awards_medals": True, "description": "description.md",
                "data_source": {"type": "builtin"},
                "dataset": {
                    "answers": f"{OWN}/prepared/private/answers.csv",
                    "sample_submission": f"{OWN}/prepared/public/sample_submission.csv",
                },
                "grader": {"name": "own", "grade_fn": "grade:grade"},
            }
        )
    )  # fmt: skip
    (folder / "description.md").write_text("# Own\n")
    (folder / "leaderboard.csv").write_text("teamName,score,submissionDate\na,1,\nb,0,\n")
    (folder / "prepare.py").write_text(
        "import calendar, random, subprocess, sys\nfrom biomlbench.utils import get_logger\n"
        "def prepare(raw, public, private):\n"
        "    for path in (public / 'sample_submission.csv', private / 'answers.csv'):\n"
        "        path.write_text('id,y\\na,1\\nb,0\\n')\n"
    )
    (folder / "grade.py").write_text(
        "import calendar, random\nfrom biomlbench.grade_helpers import InvalidSubmissionError\ndef"
        " grade(submission, answers):\n    return float((submission['y'] == answers['y']).mean())\n"
    )


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    made = Folder(tmp_path)
    yield made
    made.opened.close()


CHECKS = (
    ("--version",), ("--help",), ("schema",), ("check", "{job}"),
    ("new", "{out}/new.yml", "--yes", "--offline"),
    ("assert", "1 + 1 == 2", "--context", RUN), ("doctor", "--json"), ("docs", "scoring"),
    ("samples",), ("guards", "{few}"), ("guards", RUN),
    ("plan", "--detect", "0.1"),
)  # fmt: skip
GRADING = (
    ("tasks", "list", "--json"), ("tasks", "show", TASK), ("tasks", "leaderboard", TASK),
    ("tasks", "prepare", OWN, "--tasks-dir", "{tasks}"),
    ("tasks", "check", OWN, TASK, "--tasks-dir", "{tasks}"),
    ("baseline", TASK, "--output-dir", "{out}/baselines"),
    ("validate", str(CAREFUL), TASK), ("grade-sample", str(CAREFUL), TASK),
    ("grade", "{submissions}", "--output-dir", "{out}/results"),
    ("medals", "{out}/results", "--table"), ("ledger", "verify"),
    ("tasks", "split", TASK, "--seed-file", str(CAREFUL), "--output-dir", "{out}/parts"),
    ("scores", str(CAREFUL)),
)  # fmt: skip
RUNS = (
    ("runs", "list"), ("runs", "show", RUN),
    ("runs", "report", RUN, "--output", "{out}/report.html"),
    ("runs", "export", RUN, "--to", "csv"), ("runs", "explain", RUN), ("runs", "compare", RUN, RUN),
    ("runs", "agreement", RUN),
    ("runs", "gate", RUN, "--fail-under", "0.1"), ("runs", "rescore", RUN, "--rules"),
    ("judge-test", RUN, "--rules"), ("runs", "resume", RUN, "--headless"),
    ("runs", "record-to", RUN, "{out}"), ("runs", "import", str(GOLDEN)),
    ("runs", "prune", "--older-than", "2020-01-01", "--yes"),
    ("runs", "delete", RUN, "--yes"),
)  # fmt: skip
CONVERSATIONS = (
    ("demo", "--headless", "--json"),
    ("run", "{job}", "--rehearsal", "--headless", "--agent-url", "{url}"),
)
SCREENS = (
    ("demo",), ("runs", "replay", RUN), ("watch", RUN), ("review", RUN), ("medals", "{results}"),
    ("app", str(JOB)), ("tui", str(JOB)),
)  # fmt: skip
ELSEWHERE = {"agent", "serve", "serve-tab", "engine"}
"""Tested below; `engine` is what each run is."""
EXIT_CODES = {"grade": 1, "scores": 2, "runs record-to": 2, "runs agreement": 3}
"""Other than 0: a submission is invalid, or no table of scores, the run does not go on, nobody has
reviewed it.
"""


def test_every_command_is_tried_in_a_hostile_working_folder() -> None:
    tried = [
        command for group in (CHECKS, GRADING, RUNS, CONVERSATIONS, SCREENS) for command in group
    ]
    assert {command[0] for command in tried if command[0][0] != "-"} | ELSEWHERE == set(
        group()[0].table
    )
    for name in ("runs", "tasks"):
        assert {command[1] for command in tried if command[0] == name} == set(group(name)[1])


def test_no_command_opens_a_file_of_the_working_folder(folder: Folder) -> None:
    """One test: whatever forks the commands has to load all of them here first."""
    starts = [group[0] for group in (CHECKS, GRADING, RUNS)]  # these start as a user starts them
    rest = [*CHECKS[1:], *GRADING[1:], *RUNS[1:], *CONVERSATIONS]
    with folder.started("agent", "--port", "0", "--tokens-per-second", "0") as (ready, _):
        folder.names["url"] = json.loads(ready)["url"]
        ended = [*(folder.run(*start) for start in starts), *folder.each(*rest)]
    for command, done in zip([*starts, *rest], ended, strict=True):
        said = done.stdout + done.stderr
        expected = EXIT_CODES.get(" ".join(command[:2]), EXIT_CODES.get(command[0], 0))
        assert done.returncode == expected, (command, said)
        assert "planted" not in said, (command, said)
        assert "Traceback" not in said, (command, said)
    folder.untouched()


@pytest.mark.parametrize("command", SCREENS, ids=" ".join)
def test_no_screen_opens_a_file_of_the_working_folder(
    folder: Folder, command: tuple[str, ...]
) -> None:
    results = folder.out / "results"
    if command[0] == "medals":
        results.mkdir()
        (results / "graded_grading_report.json").write_text(json.dumps(MEDALS), encoding="utf-8")
    words = [word.format(results=results) for word in command]
    with Terminal([*PROGRAM, *words], folder.environment, folder=folder.here) as screen:
        screen.until_quiet(b"\x1b[?1049h", longest_s=6.0)
        assert b"\x1b[?1049h" in screen.written, screen.written[-3000:]
        for _ in range(3):  # a dialog may stand before the end
            screen.press(b"q")
            screen.until_quiet(b"\x1b[?1049l", longest_s=5.0)
            if b"\x1b[?1049l" in screen.written:
                break
        assert screen.left() in (0, 3, 130), screen.written[-3000:]
    folder.untouched()


async def test_no_tab_of_a_browser_opens_a_file_of_the_working_folder(folder: Folder) -> None:
    with folder.started("serve", str(JOB)) as (link, server):
        own = link.partition("/?")[0]
        async with ClientSession() as client:
            async with client.get(link) as page:
                ticket = re.search(r'data-ticket="([\w-]+)"', await page.text())
            assert ticket is not None
            async with client.ws_connect(f"{own}/ws/{ticket[1]}", headers={"Origin": own}) as tab:
                drawn = b""
                async for message in tab:
                    drawn += (
                        message.data if isinstance(message.data, bytes) else message.data.encode()
                    )
                    if b"medication" in drawn:
                        break
                assert b"medication" in drawn, drawn[-3000:]
        server.send_signal(signal.SIGINT)
        server.wait(300)
    folder.untouched()


def test_the_pytest_fixture_opens_no_file_of_the_working_folder(folder: Folder) -> None:
    test = folder.out / "test_own.py"
    test.write_text(
        f"def test_own(bioeval):\n    bioeval.run({str(JOB)!r}, rehearsal=True,"
        " options=['--dry-run'])\n"
    )
    done = folder.run(
        "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(folder.out), "-c",
        os.devnull, str(test),
        program=[sys.executable, "-P", "-m", "pytest"],
    )  # fmt: skip
    # a dry run writes no report
    assert "bioeval-tui could not run (exit 0)" in done.stdout, done.stdout
    folder.untouched()


def test_python_m_ignores_the_working_folder_before_the_first_import(folder: Folder) -> None:
    # What Python itself imports to find the program cannot be helped.
    for name in (*sys.stdlib_module_names, "bioeval_tui", "sitecustomize", "usercustomize"):
        shutil.rmtree(folder.here / name, ignore_errors=True)
        (folder.here / f"{name}.py").unlink(missing_ok=True)
    for name in ("calendar", "email", "queue", "random", "secrets", "typing"):
        (folder.here / f"{name}.py").write_text(
            f"open({str(folder.marks)!r}, 'a').write(__name__ + '\\n')\n"
        )
    folder.opened.files()
    for command in (("doctor", "--json"), ("tasks", "list"), ("demo", "--headless")):
        done = folder.run(*command, program=BY_NAME)
        assert done.returncode == 0, done.stderr
        assert "planted" not in done.stdout
    assert not folder.marks.exists(), folder.marks.read_text()
    assert folder.opened.files() == set()


@pytest.mark.parametrize(
    ("program", "command"),
    [
        # Whichever way it was started, a demo starts its own processes in the same way.
        (PROGRAM, ("demo", "--headless", "--json")),
        (BY_NAME, ("tasks", "list")),
    ],
    ids=["script", "module"],
)
def test_an_empty_pythonpath_entry_does_not_mean_the_working_folder(
    tmp_path: Path, program: list[str], command: tuple[str, ...]
) -> None:
    marks = tmp_path / "marks"
    for name in ("click", "random", "textual"):
        (tmp_path / f"{name}.py").write_text(f"open({str(marks)!r}, 'a').write(__name__ + '\\n')\n")
    done = subprocess.run(
        [*program, *command], cwd=tmp_path, text=True, capture_output=True,
        env={**environment(tmp_path / "data"), "PYTHONPATH": f"{os.pathsep}{ROOT}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not marks.exists(), marks.read_text()


def test_a_checkout_that_is_not_installed_starts_its_own_child_processes(tmp_path: Path) -> None:
    bare = tmp_path / "packages"
    bare.mkdir()
    for place in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for path in Path(place).iterdir():
            if path.suffix != ".pth" and not path.name.startswith(
                ("bioeval", "_bioeval", "__pycache__")
            ):
                (bare / path.name).symlink_to(path)
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in ("bioeval_tui", "sample_jobs", "sample_submissions"):
        shutil.copytree(ROOT / name, checkout / name)
    done = subprocess.run(
        [sys._base_executable, "-S", "-m", "bioeval_tui", "demo", "--headless", "--json"],
        cwd=checkout, text=True,  # type: ignore[attr-defined]
        capture_output=True, env={**environment(tmp_path / "data"), "PYTHONPATH": str(bare)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_folder_called_biomlbench_is_not_taken_for_the_package(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    (tmp_path / "biomlbench").mkdir()
    code = (
        "from bioeval_tui.compat import biomlbench; from biomlbench.grade import grade_csv;"
        " print(grade_csv.__module__)"
    )
    for init in ("", f"open({str(marks)!r}, 'a')"):
        if init:
            (tmp_path / "biomlbench" / "__init__.py").write_text(init)
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, text=True, capture_output=True
        )
        assert done.stdout.strip().startswith("bioeval_tui."), done.stderr
    assert not marks.exists()

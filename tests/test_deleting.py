"""Each folder of `bundled` can be deleted with its entry points, and all of them: in a copy without
it, the rest works.

That no folder needs another is also a rule of imports, so the copies leave out one half, the other
half, and everything.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.forked import each
from tests.sources import PACKAGE, ROOT

GOLDEN = ROOT / "tests" / "golden"
RUN = str(GOLDEN / "demo-run.jsonl")
FOLDERS = sorted(path.parent.name for path in (PACKAGE / "bundled").glob("*/__init__.py"))
HALVES = (FOLDERS[::2], FOLDERS[1::2])
GROUPS = ("agents", "formats", "importers", "evaluators", "jobs")
POINT = re.compile(r'^[\w-]+ = "bioeval_tui\.bundled\.(\w+):\w+"\n', flags=re.MULTILINE)
EVERY_MODULE = """
import bioeval_tui, importlib, os, pathlib
folder = pathlib.Path(bioeval_tui.__file__).parent
assert folder == pathlib.Path(os.environ["PYTHONPATH"], "bioeval_tui"), "not the copy"
for path in sorted(folder.rglob("*.py")):
    parts = path.relative_to(folder.parent).with_suffix("").parts
    try:
        importlib.import_module(".".join(part for part in parts if part != "__init__"))
    except ModuleNotFoundError as error:  # a package that this system has not
        assert error.name and error.name.partition(".")[0] != "bioeval_tui", (path, error.name)
"""
COMMANDS = """
from bioeval_tui.cli import check, runs_manage, runs_report
from bioeval_tui.evaluation.wiring import check_job
"""
JOB = """
target: {user: ann, chatbot: bot, protocol: %s, url: "http://127.0.0.1:1"}
aspirationalAverage: 60000
evaluator: {kind: scripted, lines: [{say: make a note}]}
scorer: {kind: rules}
facts: []
tasks: [{task: Have a note made, rules: [{pattern: a note}]}]
"""
FOREIGN = {
    "atif": "trajectory.json", "inspect": "inspect-several-scorers.json",
    "symptomcheck": "symptomcheck.json",
    "tau": "tau2.json",
}  # fmt: skip


class Copy:
    """The package without some folders, and what an installer would write for it."""

    def __init__(self, root: Path, *without: str) -> None:
        self.root = root
        shutil.copytree(PACKAGE, root / "bioeval_tui")  # with its bytecode
        for name in ("docs", "sample_jobs", "sample_submissions"):
            (root / name).symlink_to(ROOT / name)
        for folder in without:
            shutil.rmtree(root / "bioeval_tui" / "bundled" / folder)
        project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        self.project = POINT.sub(lambda line: "" if line[1] in without else line[0], project)
        (root / "pyproject.toml").write_text(self.project, encoding="utf-8")
        self.points: dict[str, dict[str, str]] = tomllib.loads(self.project)["project"].get(
            "entry-points", {}
        )
        info = root / "bioeval_tui-0.1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bioeval-tui\nVersion: 0.1.0\n")
        lines = [
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
            for group, points in self.points.items()
        ]
        (info / "entry_points.txt").write_text("\n".join(lines))

    @property
    def environment(self) -> dict[str, str]:
        """What a Python is given that is to find the copy."""
        own = {
            name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
        }
        folders = {"PYTHONPATH": str(self.root), "BIOEVAL_DATA_DIR": str(self.root / "data")}
        return {**own, **folders, "COLUMNS": "200"}

    def names(self, group: str) -> set[str]:
        return set(self.points.get(f"bioeval_tui.{group}", {}))

    def python(self, *arguments: str, code: int = 0) -> str:
        """Run Python in the copy; return what it printed."""
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True, text=True, check=False, timeout=300, cwd=self.root,
            env=self.environment,
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert done.returncode == code, said
        assert "Traceback" not in said
        return said

    def program(self, *arguments: str, code: int = 0) -> str:
        return self.python("-m", "bioeval_tui", *arguments, code=code)

    def each(
        self, commands: Sequence[Sequence[str]], code: int = 0, loaded: str = COMMANDS
    ) -> list[str]:
        """Run each command of the program in a fork of one process that has loaded it; return what
        each printed.
        """
        found = each(commands, env=self.environment, cwd=self.root, before=loaded)
        said = [done.stdout + done.stderr for done in found]
        assert [done.returncode for done in found] == [code] * len(commands), said
        assert "Traceback" not in "".join(said)
        return said


pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A copy without any of them."""
    return Copy(tmp_path_factory.mktemp("bare"), *FOLDERS)


def test_nothing_else_names_a_folder() -> None:
    named = re.compile(rf"bundled\.({'|'.join(FOLDERS)})\b")
    assert not named.search(POINT.sub("", (ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    for path in PACKAGE.rglob("*.py"):
        for folder in named.findall(path.read_text(encoding="utf-8")):
            assert path.is_relative_to(PACKAGE / "bundled" / folder), (path, folder)


def test_what_is_left_without_all_of_them_is_imported_listed_checked_and_run(bare: Copy) -> None:
    here = bare
    commands = [["--help"], ["check", "sample_jobs/medication_reminder.yml"]]
    demo = ["demo", "--headless", "--json"]
    listed, checked, said = here.each([*commands, demo], loaded=EVERY_MODULE)
    assert not set().union(*map(here.names, GROUPS))
    assert "runs" in listed
    assert "no problems" in checked
    assert json.loads(said[said.index("{") : said.rindex("}") + 1])["status"] == "completed"


@pytest.mark.parametrize("without", HALVES)
def test_the_other_half_is_checked_written_and_read(without: list[str], tmp_path: Path) -> None:
    here = Copy(tmp_path, *without)
    for name in here.names("agents"):
        (tmp_path / f"{name}.yml").write_text(JOB % name)
    formats = (*here.names("formats"), "json")
    files = [
        str(GOLDEN / "foreign" / file) for folder, file in FOREIGN.items() if folder not in without
    ]
    checks = [["check", f"{name}.yml"] for name in here.names("agents")]
    imports = [["runs", "import", file] for file in files]
    exports = [
        ["runs", "export", RUN, "--to", name, "--output", f"{name}.json"] for name in formats
    ]
    said = here.each([*checks, *imports, *exports])
    for checked in said[: len(checks)]:
        assert "no problems" in checked
    for imported in said[len(checks) : len(checks) + len(imports)]:
        assert "imported" in imported
    for name in formats:
        assert (tmp_path / f"{name}.json").stat().st_size > 100


def test_who_uses_what_is_gone_gets_one_sentence(bare: Copy) -> None:
    here = bare
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    agents, formats, importers, evaluators, jobs = (
        set(project["entry-points"][f"bioeval_tui.{group}"]) for group in GROUPS
    )
    sentences: list[tuple[list[str], str]] = []
    for name in agents:
        (here.root / f"{name}.yml").write_text(JOB % name)
        sentences.append((["check", f"{name}.yml"], f"there is no protocol `{name}`"))
    for name in formats:
        command = ["runs", "export", RUN, "--to", name]
        sentences.append((command, f"'{name}' is not one of 'html', 'md'"))
    for name in evaluators:
        (here.root / f"as-{name}.yml").write_text(
            JOB.replace("kind: scripted", f"kind: {name}") % "rest"
        )
        sentences.append((["check", f"as-{name}.yml"], f"there is no kind of evaluator `{name}`"))
    for name in jobs:
        sentences.append((["check", name], f"{name} is neither a file nor a sample job"))
    (here.root / "other.json").write_text('{"a": 1}')
    for name in importers:
        known = [
            str(GOLDEN / "foreign" / FOREIGN[folder])
            for folder in FOREIGN
            if name.startswith(folder)
        ]
        file = known[0] if known else str(here.root / "other.json")
        sentences.append((["runs", "import", file, "--format", name], f"'{name}' is not one of"))
        sentences.append((["runs", "import", file], "not a recording"))
    for said, (command, sentence) in zip(
        here.each([command for command, _ in sentences], code=2), sentences, strict=True
    ):
        assert sentence in said, command

"""Each folder of `bundled` can be deleted with its entry points, and all of them: in a copy without it, the rest works."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.sources import PACKAGE, ROOT

GOLDEN = ROOT / "tests" / "golden"
RUN = str(GOLDEN / "demo-run.jsonl")
FOLDERS = sorted(path.parent.name for path in (PACKAGE / "bundled").glob("*/__init__.py"))
GROUPS = ("agents", "formats", "importers", "evaluators", "jobs")
POINT = re.compile(r'^[\w-]+ = "bioeval_tui\.bundled\.(\w+):\w+"\n', flags=re.MULTILINE)
EVERY_MODULE = """
import bioeval_tui, importlib, pathlib
folder = pathlib.Path(bioeval_tui.__file__).parent
for path in sorted(folder.rglob("*.py")):
    parts = path.relative_to(folder.parent).with_suffix("").parts
    try:
        importlib.import_module(".".join(part for part in parts if part != "__init__"))
    except ModuleNotFoundError as error:  # a package that this system has not
        assert error.name and error.name.partition(".")[0] != "bioeval_tui", (path, error.name)
print(folder)
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
    "atif": "trajectory.json", "inspect": "inspect-several-scorers.json", "symptomcheck": "symptomcheck.json",
    "tau": "tau2.json",
}  # fmt: skip


class Copy:
    """The package without some folders, and what an installer would write for it."""

    def __init__(self, root: Path, *without: str) -> None:
        self.root = root
        shutil.copytree(PACKAGE, root / "bioeval_tui", ignore=shutil.ignore_patterns("__pycache__"))
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

    def names(self, group: str) -> set[str]:
        return set(self.points.get(f"bioeval_tui.{group}", {}))

    def python(self, *arguments: str, code: int = 0) -> str:
        """Run Python in the copy, which it may compile once for all runs; return what it printed."""
        own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True, text=True, check=False, timeout=300, cwd=self.root,
            env={**own, "PYTHONPATH": str(self.root), "BIOEVAL_DATA_DIR": str(self.root / "data"), "COLUMNS": "200"},
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert done.returncode == code, said
        assert "Traceback" not in said
        return said

    def program(self, *arguments: str, code: int = 0) -> str:
        return self.python("-m", "bioeval_tui", *arguments, code=code)


@pytest.fixture(scope="module", params=FOLDERS)
def copy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Copy]:
    return request.param, Copy(tmp_path_factory.mktemp("without"), request.param)


pytestmark = pytest.mark.long


def test_nothing_else_names_the_folder(copy: tuple[str, Copy]) -> None:
    folder, here = copy
    names = re.compile(rf"bundled\.{folder}\b")
    sources = [here.root / "pyproject.toml", *(here.root / "bioeval_tui").rglob("*.py")]
    assert [path for path in sources if names.search(path.read_text(encoding="utf-8"))] == []


def test_what_is_left_without_all_of_them_is_imported_listed_checked_and_run(tmp_path: Path) -> None:
    here = Copy(tmp_path, *FOLDERS)
    assert here.python("-c", EVERY_MODULE).split()[-1] == str(here.root / "bioeval_tui")
    assert not set().union(*map(here.names, GROUPS))
    assert "runs" in here.program("--help")
    assert "no problems" in here.program("check", "sample_jobs/medication_reminder.yml")
    said = here.program("demo", "--headless", "--json")
    assert json.loads(said[said.index("{") : said.rindex("}") + 1])["status"] == "completed"


def test_the_other_formats_are_written_and_read(copy: tuple[str, Copy]) -> None:
    folder, here = copy
    for name in here.names("agents"):
        (here.root / "job.yml").write_text(JOB % name)
        assert "no problems" in here.program("check", "job.yml")
    for name in (*here.names("formats"), "json"):
        here.program("runs", "export", RUN, "--to", name, "--output", f"run.{name}")
        assert (here.root / f"run.{name}").stat().st_size > 100
    for other, file in FOREIGN.items():
        if other != folder:
            assert "imported" in here.program("runs", "import", str(GOLDEN / "foreign" / file))


def test_who_uses_what_is_gone_gets_one_sentence(copy: tuple[str, Copy]) -> None:
    folder, here = copy
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    agents, formats, importers, evaluators, jobs = (
        set(project["entry-points"][f"bioeval_tui.{group}"]) - here.names(group) for group in GROUPS
    )
    assert agents or formats or importers or evaluators or jobs
    for name in agents:
        (here.root / "job.yml").write_text(JOB % name)
        assert f"there is no protocol `{name}`" in here.program("check", "job.yml", code=2)
    for name in formats:
        assert f"'{name}' is not one of 'html', 'md'" in here.program(
            "runs", "export", RUN, "--to", name, code=2
        )
    for name in evaluators:
        (here.root / "job.yml").write_text(JOB.replace("kind: scripted", f"kind: {name}") % "rest")
        assert f"there is no kind of evaluator `{name}`" in here.program("check", "job.yml", code=2)
    for name in jobs:
        assert f"{name} is neither a file nor a sample job" in here.program("check", name, code=2)
    for name in importers:
        file = str(GOLDEN / "foreign" / FOREIGN[folder])
        assert f"'{name}' is not one of" in here.program("runs", "import", file, "--format", name, code=2)
        assert "not a recording" in here.program("runs", "import", file, code=2)

"""Links, pipes and second names in folders that this program writes to, or only looks at: the
user's files stay as they are.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.settings import Settings
from bioeval_tui.grade.ledger import HEAD, NAME, verify
from bioeval_tui.grade.tasks.prepare import prepare_task
from bioeval_tui.grading import Registry
from bioeval_tui.tui.data.run_list import RunList
from bioeval_tui.tui.data.services import Preferences
from tests.command import call
from tests.forked import fork_templates
from tests.integration.grading.conftest import _shared
from tests.journals import write_hostile_journal
from tests.unit.report.recorded import Recorded, Talk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")

ID = "20261120-210356-44c7"
DEMO = Path(__file__).parents[1] / "golden" / "demo-run.jsonl"
PRECIOUS = "export PRECIOUS=1\n" * 50
Plant = Callable[[Path], None]
"""Puts something at a path."""


class Home:
    """The user's own files, and this program's data folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "home"
        self.folder.mkdir()
        self.file = self.folder / "bashrc"
        self.file.write_text(PRECIOUS)
        (self.folder / ID).with_suffix(".jsonl").write_text(PRECIOUS)
        self.data = folder / "own"

    def plants(self) -> dict[str, Plant]:
        """What a stranger may put in the place of a file."""
        return {
            "link": lambda place: place.symlink_to(self.file),
            "dangling link": lambda place: place.symlink_to(self.folder / "new"),
            "second name": lambda place: os.link(self.file, place),
            "pipe": lambda place: os.mkfifo(place),
            "folder": lambda place: place.mkdir(),
        }

    def assert_untouched(self) -> None:
        names = {self.file.name, f"{ID}.jsonl"}
        assert {path.name for path in self.folder.rglob("*")} == names
        assert {path.read_text() for path in self.folder.iterdir()} == {PRECIOUS}
        assert stat.S_IMODE(self.file.stat().st_mode) == stat.S_IMODE(
            (self.folder / f"{ID}.jsonl").stat().st_mode
        )


KINDS = ("link", "dangling link", "second name", "pipe", "folder")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    made = Home(tmp_path)
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(made.data))
    monkeypatch.chdir(tmp_path)
    return made


def put(place: Path, plant: Plant) -> None:
    """Put something in the place of what is there."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    plant(place)


def said(*arguments: object, code: int | tuple[int, ...] | None = None) -> str:
    """Return what a command says; whatever is wrong must be a sentence."""
    done = call(*arguments)
    if isinstance(done.exception, BioevalError):
        assert code is None or done.exception.exit_code in (
            code if isinstance(code, tuple) else (code,)
        ), done.exception
        return f"{done.output}{done.exception}"
    assert done.exception is None, done.exception
    assert code is None or done.return_value in (code if isinstance(code, tuple) else (code,)), (
        done.output
    )
    return done.output


def content(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Return everything below a folder, with the time of its last change."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mtime_ns,
            path.lstat().st_size,
            path.lstat().st_mode,
        )
        for path in (folder, *folder.rglob("*"))
    }


# A colleague's checkout of BioML-bench, only to be looked at


class Checkout:
    """A checkout with one task, its data and a run group."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "checkout"
        tasks = _shared["TaskFolder"](self._made(folder / "made"))
        code = "from .helper import score\ndef grade(submission, answers): return score\n"
        tasks.add("lab/numbers", code=code)
        (tasks.root / "lab" / "numbers" / "helper.py").write_text("score = 0.5\n")
        (self.folder / "biomlbench").mkdir(parents=True)
        tasks.root.rename(self.folder / "biomlbench" / "tasks")
        tasks.data.rename(self.folder / "data")
        group = self.folder / "runs" / "2026-11-20T09-00-00-GMT_run-group_x"
        (group / "one").mkdir(parents=True)
        (group / "one" / "submission.csv").write_text("id,y\na,1.5\nb,2.5\nc,3.5\n")
        lines = [
            {"task_id": task, "submission_path": "one/submission.csv"}
            for task in ("lab/numbers", "oncology/breast-cancer")
        ]
        (group / "submission.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.list = group / "submission.jsonl"

    @staticmethod
    def _made(folder: Path) -> Path:
        folder.mkdir()
        return folder

    @property
    def options(self) -> tuple[object, ...]:
        return ("--tasks-dir", self.folder, "--data-dir", self.folder / "data")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    fork_templates(monkeypatch)
    return Checkout(tmp_path)


def in_the_ledgers_place() -> list[Any]:
    """Return each kind in place of the ledger, and one in place of its head; the rest is `long`."""
    first, *others = KINDS
    of_head = [
        (first, HEAD),
        *(pytest.param(kind, HEAD, marks=pytest.mark.long) for kind in others),
    ]
    return [*((kind, NAME) for kind in KINDS), *of_head]


@pytest.mark.parametrize(("kind", "name"), in_the_ledgers_place())
def test_looking_at_a_checkout_writes_nothing_there_whatever_lies_in_it(
    kind: str, name: str, home: Home, checkout: Checkout
) -> None:
    put(checkout.folder / "data" / name, home.plants()[kind])
    before = content(checkout.folder)
    assert "numbers" in said("medals", checkout.folder / "runs", "--table", code=0)
    assert "0.5" in said(
        "grade-sample",
        checkout.list.parent / "one" / "submission.csv",
        "lab/numbers",
        *checkout.options,
        code=0,
    )
    said(
        "validate",
        checkout.list.parent / "one" / "submission.csv",
        "lab/numbers",
        "--tasks-dir",
        checkout.folder,
        "--data-dir",
        checkout.folder / "data",
        code=(0, 1),
    )
    said("tasks", "check", "--tasks-dir", checkout.folder, "--data-dir", checkout.folder / "data")
    said(
        "tasks",
        "list",
        "--tasks-dir",
        checkout.folder,
        "--data-dir",
        checkout.folder / "data",
        code=0,
    )
    assert content(checkout.folder) == before
    home.assert_untouched()
    assert verify(home.data / NAME).problems == ()


def test_a_data_folder_that_is_a_link_is_only_read(home: Home, checkout: Checkout) -> None:
    shutil.rmtree(checkout.folder / "data" / "lab" / "numbers" / "raw", ignore_errors=True)
    elsewhere = home.folder.parent / "elsewhere"
    (checkout.folder / "data").rename(elsewhere)
    (checkout.folder / "data").symlink_to(elsewhere)
    before = content(elsewhere)
    said("medals", checkout.folder / "runs", "--table", code=0)
    assert content(elsewhere) == before


def test_looks_at_the_same_answers_count_wherever_they_are_read(
    home: Home, checkout: Checkout
) -> None:
    said("grade", checkout.list, "--output-dir", "one", *checkout.options)
    copy = checkout.folder.with_name("copy")
    shutil.copytree(checkout.folder, copy)
    (copy / "runs" / checkout.list.parent.name / "one" / "submission.csv").write_text(
        "id,y\na,2\nb,2\nc,2\n"
    )
    there = copy / "runs" / checkout.list.parent.name / "submission.jsonl"
    said("grade", there, "--output-dir", "two", "--tasks-dir", copy, "--data-dir", copy / "data")
    (report,) = Path("two").glob("*_grading_report.json")
    assert json.loads(report.read_text())["task_reports"][0]["extra"]["looks"] == 2
    assert len((home.data / NAME).read_text().splitlines()) == 2


def test_a_task_that_ships_is_prepared_only_in_the_own_folder(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork_templates(monkeypatch)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    words = ("grade-sample", "careful", "oncology/breast-cancer")
    assert f"tasks prepare oncology/breast-cancer --data-dir {theirs}" in said(
        *words, "--data-dir", theirs, code=3
    )
    assert list(theirs.iterdir()) == []
    said(*words, code=0)
    assert (home.data / "tasks" / "oncology" / "breast-cancer" / "prepared").is_dir()


@pytest.mark.parametrize("name", [NAME, HEAD])
@pytest.mark.parametrize("kind", KINDS)
def test_a_ledger_of_another_kind_is_not_written_and_the_report_says_so(
    name: str, kind: str, home: Home, checkout: Checkout
) -> None:
    said("grade", checkout.list, "--output-dir", "one", *checkout.options)
    put(home.data / name, home.plants()[kind])
    (checkout.list.parent / "one" / "submission.csv").write_text("id,y\na,2\nb,2\nc,2\n")
    said("grade", checkout.list, "--output-dir", "two", *checkout.options)
    (report,) = Path("two").glob("*_grading_report.json")
    (graded,) = json.loads(report.read_text())["task_reports"]
    assert graded["score"] == 0.5
    assert any(
        "this look at the answers is not in the ledger" in each
        for each in graded["extra"]["warnings"]
    )
    home.assert_untouched()


# Folders that were named for what is written


@pytest.mark.parametrize(
    "place", ["toys", "toys/squares", "toys/squares/raw", "toys/squares/prepared"]
)
def test_preparing_writes_through_no_link(place: str, home: Home, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks" / "toys" / "squares"
    tasks.mkdir(parents=True)
    (tasks / "config.yaml").write_text(
        "id: toys/squares\nname: Squares\ndataset: {answers:"
        " toys/squares/prepared/private/answers.csv, sample_submission:"
        " toys/squares/prepared/public/sample.csv}\ndata_source: {type: builtin}\ngrader: {name:"
        " mae, metric: mean_absolute_error, id: id, target: y}\n"
    )
    (tasks / "leaderboard.csv").write_text("teamName,score\na,1\n")
    (tasks / "prepare.py").write_text(
        "def prepare(raw, public, private):\n    (raw / 'kept.csv').write_text('raw')\n    (public"
        " / 'sample.csv').write_text('id,y\\n1,1\\n')\n    (private /"
        " 'answers.csv').write_text('id,y\\n1,1\\n')\n"
    )
    data = tmp_path / "data"
    put(data / place, lambda at: at.symlink_to(home.folder))
    words = (
        "tasks",
        "prepare",
        "toys/squares",
        "--tasks-dir",
        tmp_path / "tasks",
        "--data-dir",
        data,
    )
    heard = said(*words, code=(0, 3))
    home.assert_untouched()
    assert ("leads out of" in heard) or place == "toys/squares/prepared", heard
    assert "__pycache__" not in str(list((tmp_path / "tasks").rglob("*")))


def test_a_data_folder_may_itself_be_a_link_because_it_was_named(
    home: Home, tmp_path: Path
) -> None:
    large = tmp_path / "large disk"
    large.mkdir()
    (tmp_path / "data").symlink_to(large)
    said("tasks", "prepare", "oncology/breast-cancer", "--data-dir", tmp_path / "data", code=0)
    assert (large / "oncology" / "breast-cancer" / "prepared" / "public").is_dir()


def test_parts_are_not_written_through_a_link_and_copy_nothing_that_a_link_leads_to(
    home: Home, tmp_path: Path
) -> None:
    prepare_task(Registry(data_dir=tmp_path / "data").get_task("oncology/breast-cancer"))
    (tmp_path / "seed").write_bytes(bytes(range(32)))
    words = (
        "tasks",
        "split",
        "oncology/breast-cancer",
        "--seed-file",
        "seed",
        "--data-dir",
        tmp_path / "data",
    )
    put(tmp_path / "parts" / "public", lambda at: at.symlink_to(home.folder))
    assert "leads out of" in said(*words, "--output-dir", "parts", code=(2, 3))
    home.assert_untouched()
    leak = tmp_path / "data" / "oncology" / "breast-cancer" / "prepared" / "public" / "notes.csv"
    leak.symlink_to(home.file)
    assert "put a copy in its place" in said(*words, "--output-dir", "others", code=2)
    assert not list((tmp_path / "others").rglob("notes.csv"))
    leak.unlink()
    said(*words, "--output-dir", "others", code=0)
    assert sorted(
        path.name
        for path in (tmp_path / "others" / "public" / "oncology" / "breast-cancer").iterdir()
    ) == ["prepared"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_batch_is_not_resumed_through_a_link(
    kind: str, home: Home, checkout: Checkout
) -> None:
    folder = Path("out")
    said("grade", checkout.list, "--output-dir", folder, *checkout.options)
    (report,) = folder.glob("*_grading_report.json")
    journal = folder / report.name.replace("_grading_report.json", "_grading.jsonl")
    journal.unlink(missing_ok=True)
    put(journal, home.plants()[kind])
    said("grade", checkout.list, "--output-dir", folder, "--resume", *checkout.options)
    home.assert_untouched()
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "2026-01-01T00-00-00-GMT_individual_reports").symlink_to(home.folder)
    said("grade", checkout.list, "--output-dir", folder, "--resume", *checkout.options)
    home.assert_untouched()


@pytest.mark.parametrize("kind", ["link", "dangling link", "second name", "pipe"])
def test_files_that_are_written_whole_take_the_place_of_a_link(
    kind: str, home: Home, tmp_path: Path
) -> None:
    plant = home.plants()[kind]
    out = tmp_path / "out"
    put(out / "job.schema.json", plant)
    said("schema", "--output-dir", out, code=0)
    assert json.loads((out / "job.schema.json").read_text())["title"]
    put(out / "oncology-breast-cancer_baselines.jsonl", plant)
    said("baseline", "oncology/breast-cancer", "--output-dir", out, code=0)
    assert (out / "oncology-breast-cancer_baselines.jsonl").read_text().startswith('{"task_id"')
    put(out / "samples" / "sample_jobs" / "medication_reminder.yml", plant)
    assert "would be overwritten" in said("samples", out / "samples", code=2)
    said("samples", out / "samples", "--force", code=0)
    put(home.data / "preferences.json", plant)
    home.assert_untouched()


@pytest.mark.parametrize("place", ["sample_jobs", "sample_submissions"])
def test_samples_are_not_copied_through_the_link_of_a_folder(
    place: str, home: Home, tmp_path: Path
) -> None:
    put(tmp_path / "samples" / place, lambda at: at.symlink_to(home.folder))
    assert "leads out of" in said("samples", tmp_path / "samples", "--force", code=(2, 3))
    home.assert_untouched()


def test_the_schema_beside_a_new_job_replaces_no_link(home: Home, tmp_path: Path) -> None:
    (tmp_path / "job.schema.json").symlink_to(home.folder / "new")
    said("new", "job.yml", "--yes")
    home.assert_untouched()
    assert (tmp_path / "job.schema.json").is_symlink()


# This program's own data folder, which a stranger may have given


@pytest.mark.parametrize("name", ["runs", "logs", "trash", "tasks"])
def test_a_folder_of_the_data_folder_that_leads_elsewhere_is_refused(
    name: str, home: Home, tmp_path: Path
) -> None:
    Recorded([Talk()], [Talk()], run_id=ID).write(made(home.data / "runs"))
    put(home.data / name, lambda at: at.symlink_to(home.folder))
    recording = Recorded([Talk()], [Talk()], run_id=ID).write(tmp_path)
    commands = {
        "runs": [("runs", "import", recording), ("runs", "list"), ("runs", "delete", "--yes", ID)],
        "logs": [("runs", "delete", "--yes", ID)],
        "trash": [("runs", "prune", "--trash", "--yes")],
        "tasks": [("tasks", "prepare", "oncology/breast-cancer")],
    }
    for command in commands[name]:
        heard = said(*command, code=(2, 3))
        assert "leads out of" in heard, heard
    home.assert_untouched()


def made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def run(home: Home) -> Path:
    return Path(shutil.copy(DEMO, made(home.data / "runs") / f"{ID}.jsonl"))


@pytest.mark.parametrize("kind", KINDS)
def test_later_scores_are_not_appended_through_a_link(kind: str, home: Home, run: Path) -> None:
    put(run.with_suffix(".overlay.jsonl"), home.plants()[kind])
    heard = said("runs", "rescore", ID, "--rules", code=(0, 2, 3))
    home.assert_untouched()
    assert run.with_suffix(".overlay.jsonl").name in heard, heard


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_not_resumed_in_what_only_has_its_name(kind: str, home: Home, run: Path) -> None:
    put(run, home.plants()[kind])
    for command in (("runs", "resume", ID), ("runs", "delete", "--yes", ID)):
        said(*command, code=(0, 2, 3))
    home.assert_untouched()


def test_the_trash_is_restored_without_following_links(home: Home, run: Path) -> None:
    runs = RunList(Settings.from_environment())
    runs.delete([ID])
    (home.data / "trash" / "29990101-000000-000000").symlink_to(home.folder)
    assert runs.undo() == 1
    assert run.exists()
    assert runs.undo() == 0
    home.assert_untouched()


def test_the_trash_is_emptied_without_following_links(home: Home, run: Path) -> None:
    trash = made(home.data / "trash")
    (trash / "20250101-000000-000000").symlink_to(home.folder)
    real = made(trash / "20250102-000000-000000")
    run.rename(real / run.name)
    (real / home.file.name).symlink_to(home.file)  # of the same name
    (real / f"{ID}.live").symlink_to(home.file)
    said("runs", "prune", "--older-than", "1d", "--yes", code=0)
    home.assert_untouched()
    assert not real.exists()
    assert (trash / "20250101-000000-000000").is_symlink()


@pytest.mark.parametrize(
    "name", [f"runs/{ID}.live", f"runs/{ID}.imported", "preferences.json", "masking.key"]
)
@pytest.mark.parametrize("kind", [*KINDS, "device"])
def test_small_files_of_another_kind_are_neither_waited_for_nor_changed(
    name: str, kind: str, home: Home, run: Path
) -> None:
    plants = home.plants() | {"device": lambda place: place.symlink_to("/dev/zero")}
    put(home.data / name, plants[kind])
    assert ID in said("runs", "list", code=0)
    Preferences(home.data).keep("theme", "dark")
    Path("rules.yml").write_text("patterns: ['[0-9]{5}']\n")
    said("runs", "list", "--redact", "rules.yml")
    home.assert_untouched()


@pytest.mark.parametrize("kind", KINDS)
def test_a_log_of_another_kind_is_not_written(kind: str, home: Home) -> None:
    put(home.data / "logs" / "errors.log", home.plants()[kind])
    # what says that there is a bug must not be the next one
    from bioeval_tui.cli.main import (
        _defect,
    )

    _defect(RuntimeError("a bug"))
    home.assert_untouched()


@pytest.mark.parametrize("beside", ["", "-journal", "-wal", "-shm"])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_graph_of_another_kind_is_not_opened(beside: str, kind: str, home: Home) -> None:
    embedded = pytest.importorskip("bioeval_tui.graphs.embedded")
    put(home.data / f"graph.db{beside}", home.plants()[kind])
    graph = embedded.EmbeddedGraph(home.data / "graph.db")
    with pytest.raises(BioevalError, match=r"graph\.db cannot be opened"):
        await graph.execute("CREATE (:Check {n: 41})")
    await graph.aclose()
    home.assert_untouched()


async def test_a_graphs_journal_that_names_another_file_does_not_delete_it(home: Home) -> None:
    embedded = pytest.importorskip("bioeval_tui.graphs.embedded")
    path = made(home.data) / "graph.db"
    graph = embedded.EmbeddedGraph(path)
    await graph.execute("CREATE (:Check {n: 41})")
    await graph.aclose()
    write_hostile_journal(path, home.file)
    graph = embedded.EmbeddedGraph(path)
    with pytest.raises(BioevalError, match="its journal names another file"):
        await graph.execute("CREATE (:Check {n: 42})")
    await graph.aclose()
    home.assert_untouched()


@pytest.mark.parametrize("run_id", ["../home/bashrc", "/etc/bashrc", "..", "sub/folder"])
def test_a_document_in_a_folder_stays_there_whatever_id_the_run_has(
    run_id: str, home: Home, tmp_path: Path
) -> None:
    rows = [json.loads(line) | {"run_id": run_id} for line in DEMO.read_bytes().splitlines()]
    recording = tmp_path / "theirs.jsonl"
    recording.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = made(tmp_path / "out")
    (home.folder / "bashrc.md").write_text(PRECIOUS)
    heard = said("runs", "export", recording, "--to", "md", "--output", out, code=(0, 3))
    (home.folder / "bashrc.md").unlink()
    home.assert_untouched()
    assert (
        "leads out of" in heard
        or "cannot be written" in heard
        or [path.name for path in out.iterdir()] == ["...md"]
    )


@pytest.mark.parametrize("kind", ["link", "dangling link", "second name", "pipe"])
def test_a_document_in_a_folder_takes_the_place_of_a_link(
    kind: str, home: Home, tmp_path: Path
) -> None:
    out = made(tmp_path / "out")
    put(out / f"{ID}.md", home.plants()[kind])
    said("runs", "export", DEMO, "--to", "md", "--output", out, code=0)
    assert (out / f"{ID}.md").read_text().startswith("#")
    home.assert_untouched()

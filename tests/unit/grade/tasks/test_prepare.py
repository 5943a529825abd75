"""Preparing a task: completely or not at all, checked, with one sentence for an error."""

from __future__ import annotations

import hashlib
import os
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import BioevalError, InputError
from bioeval_tui.grade.tasks.prepare import STAMP, UNFINISHED, PrepareError, remove_drafts
from bioeval_tui.grade.tasks.source_types import get_source
from bioeval_tui.grade.tasks.sources import BoardRow, SourceError
from bioeval_tui.grading import prepare_task

from .conftest import PREPARER, Toy


class FakeSource:
    """A source that hands out one archive and counts how often it is asked."""

    def __init__(self, folder: Path, board: list[BoardRow] | None = None):
        self.folder, self.board = folder, board or []
        self.downloads = 0
        self.error: BaseException | None = None

    def download(self, config: Mapping[str, Any], raw: Path) -> Path | None:
        self.downloads += 1
        (raw / "half").write_text("half")
        if self.error is not None:
            raise self.error
        with zipfile.ZipFile(raw / "data.zip", "w") as archive:
            archive.writestr("all.csv", "id,x,y\n1,1,1\n2,2,4\n3,3,9\n4,4,16\n5,5,25\n")
        return raw / "data.zip"

    def leaderboard(self, config: Mapping[str, Any]) -> list[BoardRow]:
        return self.board


def test_a_prepared_task_is_not_prepared_again(toy: Toy) -> None:
    first = prepare_task(toy.task)
    assert not first.was_ready
    (toy.task.public_dir / "note.txt").write_text("mine")
    assert prepare_task(toy.task).was_ready
    assert (toy.task.public_dir / "note.txt").exists()


def test_force_prepares_a_task_again(toy: Toy) -> None:
    prepare_task(toy.task)
    (toy.task.public_dir / "note.txt").write_text("mine")
    assert not prepare_task(toy.task, force=True).was_ready
    assert not (toy.task.public_dir / "note.txt").exists()


def test_the_description_is_copied_to_the_public_data(toy: Toy) -> None:
    prepare_task(toy.task)
    assert (toy.task.public_dir / "description.md").read_text() == "# Squares\n"


def test_an_archive_is_unpacked_and_used(toy: Toy, tmp_path: Path) -> None:
    source = FakeSource(tmp_path)
    prepare_task(toy.task, source=source)
    assert "5" in toy.task.answers.read_text()
    prepare_task(toy.task, source=source, force=True)
    assert source.downloads == 1, "what was downloaded is kept"


def test_data_downloaded_by_hand_is_used(toy: Toy, tmp_path: Path) -> None:
    toy.task.raw_dir.mkdir(parents=True)
    (toy.task.raw_dir / "all.csv").write_text("id,x,y\n1,1,1\n2,2,4\n77,3,9\n")
    source = FakeSource(tmp_path)
    prepare_task(toy.task, source=source)
    assert source.downloads == 0
    assert "77" in toy.task.answers.read_text()


def test_an_archive_with_another_checksum_is_refused_and_removed(toy: Toy, tmp_path: Path) -> None:
    (toy.folder / "checksums.yaml").write_text("zip: 00000000000000000000000000000000\n")
    with pytest.raises(
        PrepareError, match=r"data\.zip is not the file that .*checksums\.yaml expects"
    ):
        prepare_task(toy.task, source=FakeSource(tmp_path))
    assert list(toy.task.raw_dir.iterdir()) == []


def encrypted(archive: bytes) -> bytes:
    made = bytearray(archive)
    made[6] |= 1
    made[archive.index(b"PK\x01\x02") + 8] |= 1
    return bytes(made)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (encrypted, r"all\.csv is encrypted"),
        (lambda archive: archive[:-30], r"the zip file is damaged or incomplete"),
        (
            lambda archive: archive.replace(b"id,x,y", b"id,z,y"),
            r"all\.csv is damaged or incomplete \(Bad CRC",
        ),
    ],
)
def test_an_archive_that_cannot_be_unpacked_is_named_and_removed(
    toy: Toy, tmp_path: Path, change: Callable[[bytes], bytes], why: str
) -> None:
    class Damaged(FakeSource):
        def download(self, config: Any, raw: Path) -> Path | None:
            archive = super().download(config, raw)
            assert archive is not None
            archive.write_bytes(change(archive.read_bytes()))
            return archive

    with pytest.raises(PrepareError, match=rf"data\.zip cannot be unpacked: {why}"):
        prepare_task(toy.task, source=Damaged(tmp_path))
    assert list(toy.task.raw_dir.iterdir()) == []


@pytest.mark.parametrize("error", [SourceError("no network"), KeyboardInterrupt()])
def test_a_failed_download_leaves_nothing_behind(
    toy: Toy, tmp_path: Path, error: BaseException
) -> None:
    source = FakeSource(tmp_path)
    source.error = error
    with pytest.raises(type(error)):
        prepare_task(toy.task, source=source)
    assert list(toy.task.raw_dir.iterdir()) == []
    source.error = None
    assert not prepare_task(toy.task, source=source).was_ready


def test_a_killed_download_starts_again(toy: Toy, tmp_path: Path) -> None:
    toy.task.raw_dir.mkdir(parents=True)
    (toy.task.raw_dir / UNFINISHED).touch()
    (toy.task.raw_dir / "all.csv").write_text("id,x,")
    source = FakeSource(tmp_path)
    prepare_task(toy.task, source=source)
    assert source.downloads == 1
    assert not (toy.task.raw_dir / UNFINISHED).exists()


def test_prepared_data_is_checked_against_checksums(toy: Toy) -> None:
    prepare_task(toy.task)
    good = hashlib.md5(toy.task.answers.read_bytes()).hexdigest()
    (toy.folder / "checksums.yaml").write_text(f"private: {{answers.csv: {good}}}\n")
    assert prepare_task(toy.task, force=True).verified
    (toy.folder / "checksums.yaml").write_text("private: {answers.csv: abc, more.csv: abc}\n")
    expected = r"private/answers\.csv differs from its checksum; private/more\.csv is missing"
    with pytest.raises(PrepareError, match=expected):
        prepare_task(toy.task, force=True)


def test_a_damaged_stamp_is_written_again(toy: Toy) -> None:
    prepare_task(toy.task)
    good = hashlib.md5(toy.task.answers.read_bytes()).hexdigest()
    (toy.folder / "checksums.yaml").write_text(f"private: {{answers.csv: {good}}}\n")
    stamp = toy.task.answers.parents[1] / STAMP
    stamp.write_bytes(b"\xff\xfe")
    assert prepare_task(toy.task).was_ready
    assert stamp.read_bytes().isalnum()


def test_a_failed_preparation_keeps_the_old_data(toy: Toy) -> None:
    prepare_task(toy.task)
    before = toy.task.answers.read_bytes()
    (toy.folder / "checksums.yaml").write_text("private: {answers.csv: abc}\n")
    with pytest.raises(PrepareError):
        prepare_task(toy.task, force=True)
    assert toy.task.answers.read_bytes() == before
    assert [
        item.name for item in toy.task.answers.parents[2].iterdir() if item.name.startswith(".")
    ] == []


def test_leftovers_of_a_killed_process_are_removed_and_work_in_progress_is_kept(
    toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = toy.task.public_dir.parents[1]

    def names_and_stops(*_: object) -> None:
        drafts.extend(folder.glob(".preparing-*"))
        raise PrepareError("stopped")

    drafts: list[Path] = []
    monkeypatch.setattr("bioeval_tui.grade.tasks.prepare._run_preparer", names_and_stops)
    with pytest.raises(PrepareError, match="stopped"):
        prepare_task(toy.task)
    (draft,) = drafts
    draft.mkdir()  # as if the process had been killed before it could remove it
    remove_drafts(toy.task, os.getpid() + 1)
    assert draft.exists()
    remove_drafts(toy.task, os.getpid())
    assert not draft.exists()


def test_data_of_an_older_version_of_the_task_is_prepared_again(toy: Toy) -> None:
    prepare_task(toy.task)
    current = hashlib.md5(toy.task.answers.read_bytes()).hexdigest()
    toy.task.answers.write_text("id,y\n3,8\n4,15\n")  # what an earlier release wrote
    (toy.folder / "checksums.yaml").write_text(f"private: {{answers.csv: {current}}}\n")
    assert not prepare_task(toy.task).was_ready
    assert "3,9" in toy.task.answers.read_text()


PREPARERS = {
    "raise ValueError('the split is odd')": r"failed: ValueError: the split is odd",
    "import nowhere_to_be_found": r"needs the package nowhere_to_be_found, which is not installed",
    "open(raw / 'train.json')": r"cannot find .*train\.json; put the raw data into .*raw",
    "pass": r"ran, but task toys/squares is not prepared",
}
CHILDREN = {
    **PREPARERS,
    "import sys; sys.exit(7)": r"left early with exit code 7",
    "import os; os.kill(os.getpid(), 9)": r"was killed by signal 9",
}


@pytest.mark.parametrize("line", PREPARERS)
def test_a_failing_preparer_is_one_sentence(toy: Toy, line: str) -> None:
    (toy.folder / "prepare.py").write_text(f"def prepare(raw, public, private):\n    {line}\n")
    with pytest.raises(PrepareError, match=PREPARERS[line]) as caught:
        prepare_task(toy.task)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=[pytest.mark.long] * (line in [*PREPARERS][1:]))
        for line in CHILDREN
    ],
)
def test_a_failing_preparer_in_a_child_process_is_one_sentence(foreign: Toy, line: str) -> None:
    (foreign.folder / "prepare.py").write_text(f"def prepare(raw, public, private):\n    {line}\n")
    with pytest.raises(PrepareError, match=CHILDREN[line]) as caught:
        prepare_task(foreign.task)
    assert "\n" not in str(caught.value)
    assert not foreign.task.answers.exists()


def test_a_preparer_with_one_folder_is_called_with_it(toy: Toy) -> None:
    text = PREPARER.replace("def prepare(raw, public, private):", "def work(raw, public, private):")
    text += (
        "def prepare(raw, prepared):\n    work(raw, prepared / 'public', prepared / 'private')\n"
    )
    (toy.folder / "prepare.py").write_text(text)
    assert not prepare_task(toy.task).was_ready


def test_a_preparer_with_other_arguments_is_refused(toy: Toy) -> None:
    (toy.folder / "prepare.py").write_text("def prepare(raw, where):\n    pass\n")
    with pytest.raises(InputError, match="has unknown parameters: where"):
        prepare_task(toy.task)


def test_a_missing_leaderboard_comes_from_the_source(toy: Toy, tmp_path: Path) -> None:
    (toy.folder / "leaderboard.csv").unlink()
    source = FakeSource(
        tmp_path, [BoardRow("a\x1b[2Jb, c", 0.1, "2024-01-01"), BoardRow("d", 0.25)]
    )
    prepare_task(toy.task, source=source)
    lines = (toy.folder / "leaderboard.csv").read_text(encoding="utf-8").splitlines()
    assert lines == ["teamName,score,submissionDate", '"a␛b, c",0.1,2024-01-01', "d,0.25,"]


def test_without_a_leaderboard_the_error_says_where_to_put_one(toy: Toy) -> None:
    (toy.folder / "leaderboard.csv").unlink()
    with pytest.raises(
        PrepareError,
        match=r"put a CSV file with the columns teamName, score, submissionDate at .*csv",
    ):
        prepare_task(toy.task)


def test_an_unknown_source_lists_the_known_ones(toy: Toy) -> None:
    toy.config(source="{type: carrier-pigeon}")
    with pytest.raises(
        InputError, match=r"carrier-pigeon.*builtin, kaggle, manual, polaris, proteingym"
    ):
        prepare_task(toy.task)


def test_every_source_reports_missing_config_in_one_sentence(tmp_path: Path) -> None:
    for kind in ("kaggle", "polaris", "proteingym-dms"):
        with pytest.raises(BioevalError, match=r"^data_source\.benchmark_id is missing"):
            get_source({"type": kind}).download({"type": kind}, tmp_path)


def test_a_preparer_may_print_and_import_biomlbench(
    foreign: Toy, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Another test of this process may have imported the published names.
    monkeypatch.delitem(sys.modules, "biomlbench", raising=False)
    text = "from biomlbench.utils import get_logger\nprint('hello')\n"
    (foreign.folder / "prepare.py").write_text(text + PREPARER)
    assert not prepare_task(foreign.task).was_ready
    assert capfd.readouterr().out == "", "stdout is for data"
    assert "biomlbench" not in sys.modules, "stand-ins stay out of this process"


def test_a_task_without_a_preparer_says_so(toy: Toy) -> None:
    (toy.folder / "prepare.py").unlink()
    with pytest.raises(
        InputError, match=r"toys/squares cannot be prepared, because it has no prepare\.py in"
    ):
        prepare_task(toy.task)


@pytest.mark.parametrize("noted", [True, pytest.param(False, marks=pytest.mark.long)])
def test_preparers_of_polaris_tasks_need_no_polaris(foreign: Toy, noted: bool) -> None:
    foreign.config(source="{type: polaris, benchmark_id: a/b}")
    raw = foreign.task.raw_dir
    raw.mkdir(parents=True)
    (raw / "polaris_train_data.csv").write_text(
        "smiles,extra,Y\nC,1,2\n" if noted else "smiles,Y\nC,2\n"
    )
    if noted:
        (raw / "polaris_benchmark.json").write_text('{"target_cols": ["Y"]}')
    ask = "import polaris as po\n    assert list(po.load_benchmark('a/b').target_cols) == ['Y']\n"
    text = PREPARER.replace("private):\n", "private):\n    " + ask)
    (foreign.folder / "prepare.py").write_text(text)
    assert not prepare_task(foreign.task).was_ready

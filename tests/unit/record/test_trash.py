"""Deleted runs can be restored or pruned; pruned runs are gone."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.record.deleting import deletions, folder_name
from bioeval_tui.tui.data.services import AppServices
from tests.command import call
from tests.unit.report.recorded import Recorded, Talk

IDS = ("20260102-030405-aaaa", "20260102-030405-bbbb")


def move_to_trash(run_id: str) -> None:
    """Delete a run as the screen of runs does."""
    services = AppServices(Settings.from_environment())
    services.run_list.delete([run_id])
    services.close()


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for folder in ("runs", "logs"):
        (tmp_path / folder).mkdir()
    for run_id in IDS:
        Recorded([Talk()], [Talk()], run_id=run_id).write(tmp_path / "runs")
    (tmp_path / "logs" / f"{IDS[0]}.log").write_text("said")
    move_to_trash(IDS[0])
    return tmp_path


def test_pruning_deletes_the_trash_and_nothing_else(data_dir: Path) -> None:
    assert [found.run_ids for found in deletions(data_dir / "trash")] == [(IDS[0],)]
    shown = call("runs", "prune", "--trash", "--dry-run")
    assert f"{IDS[0]} (in the trash)" in shown.output
    assert "0 runs and 1 in the trash would be deleted" in shown.output
    assert call("runs", "prune", "--trash", "--yes").exit_code == 0
    assert list((data_dir / "trash").iterdir()) == []
    assert not (data_dir / "logs" / f"{IDS[0]}.log").exists()
    assert [run["run_id"] for run in json.loads(call("runs", "list", "--json").stdout)] == [IDS[1]]


@pytest.mark.parametrize(("ticks", "is_before"), [(-1, False), (0, False), (1, True)])
def test_a_deletion_at_the_time_itself_is_not_before_it(
    data_dir: Path, ticks: int, is_before: bool
) -> None:
    (kept,) = deletions(data_dir / "trash")
    before = kept.at + timedelta(microseconds=ticks)
    assert bool(deletions(data_dir / "trash", before)) is is_before


def test_the_age_of_trash_counts_from_its_deletion(data_dir: Path) -> None:
    (kept,) = deletions(data_dir / "trash")
    # both runs began long ago, the deletion was just now
    call("runs", "prune", "--older-than", "1d", "--yes")
    assert [found.path for found in deletions(data_dir / "trash")] == [kept.path]
    assert json.loads(call("runs", "list", "--json").stdout) == []
    kept.path.rename(kept.path.with_name(folder_name(datetime.now(UTC) - timedelta(days=2))))
    call("runs", "prune", "--older-than", "1d", "--yes")
    assert deletions(data_dir / "trash") == []


def test_prune_needs_to_be_told_what_to_delete(data_dir: Path) -> None:
    done = call("runs", "prune", "--yes")
    assert isinstance(done.exception, UsageError)
    (data_dir / "trash" / "not a deletion").mkdir()
    assert len(deletions(data_dir / "trash")) == 1


def test_a_recording_continued_in_another_folder_is_pruned_there_too(
    data_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    here = data_dir / "runs" / f"{IDS[1]}.jsonl"
    there = tmp_path_factory.mktemp("elsewhere") / here.name
    here.rename(there)
    here.symlink_to(there)
    move_to_trash(IDS[1])
    assert there.exists()
    assert call("runs", "prune", "--trash", "--yes").exit_code == 0
    assert not there.exists()
    assert list((data_dir / "trash").iterdir()) == []

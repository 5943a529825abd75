"""Deleted runs can be restored; running ones cannot be deleted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from run_script import write_runs

from bioeval_tui.errors import UsageError
from bioeval_tui.record.live import LiveInfo, process_start, write_live
from bioeval_tui.record.paths import overlay_path, recording_path
from bioeval_tui.settings import Settings
from bioeval_tui.tui.data.run_list import RunList

IDS = ["20261120-090000-aaaa", "20261120-100000-bbbb"]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = Settings(data_dir_override=str(tmp_path))
    write_runs(found, IDS)
    (found.runs_dir / f"{IDS[0]}.overlay.jsonl").write_text("")
    return found


def ids(runs: RunList) -> list[str]:
    return sorted(run.run_id for run in runs.runs())


def test_an_unchanged_run_is_not_read_again(settings: Settings) -> None:
    runs = RunList(settings)
    first = runs.runs()
    assert len(first) == 2
    assert all(a is b for a, b in zip(first, runs.runs(), strict=True))
    assert first[0].rehearsal


def test_restoring_a_deleted_run_restores_all_of_its_files(settings: Settings) -> None:
    runs = RunList(settings)
    before = sorted(path.name for path in settings.runs_dir.glob("*.jsonl"))
    runs.delete([IDS[0]])
    assert ids(runs) == [IDS[1]]
    assert sorted(path.name for path in settings.runs_dir.glob("*.jsonl")) == [f"{IDS[1]}.jsonl"]
    runs.delete([IDS[1]])
    assert ids(runs) == []
    assert runs.undo() == 1
    assert ids(runs) == [IDS[1]]
    assert runs.undo() == 1
    assert sorted(path.name for path in settings.runs_dir.glob("*.jsonl")) == before
    assert runs.undo() == 0


def test_the_trash_is_private_to_its_owner(settings: Settings) -> None:
    RunList(settings).delete(IDS)
    trash = settings.data_dir / "trash"
    if os.name != "nt":
        assert all(path.stat().st_mode & 0o077 == 0 for path in (trash, *trash.iterdir()))


def test_nothing_is_deleted_when_one_of_the_runs_is_in_progress(settings: Settings) -> None:
    live = recording_path(settings.runs_dir, IDS[1])
    write_live(live, LiveInfo(os.getpid(), process_start(os.getpid()), 1, "token"))
    runs = RunList(settings)
    with pytest.raises(UsageError, match="still in progress"):
        runs.delete(IDS)
    assert ids(runs) == IDS


@pytest.mark.parametrize("run_id", ["../../etc/passwd", "20261120-090000-cccc", "*", ""])
def test_files_that_are_not_runs_are_not_deleted(settings: Settings, run_id: str) -> None:
    runs = RunList(settings)
    with pytest.raises(UsageError):
        runs.delete([IDS[0], run_id])
    assert ids(runs) == IDS


def test_undo_does_not_overwrite_a_run_that_exists_again(settings: Settings) -> None:
    runs = RunList(settings)
    text = recording_path(settings.runs_dir, IDS[0]).read_text()
    overlay = overlay_path(recording_path(settings.runs_dir, IDS[0]))
    overlay.touch()
    runs.delete([IDS[0]])
    recording_path(settings.runs_dir, IDS[0]).write_text(text + "\n")
    assert runs.undo() == 0
    assert not overlay.exists(), "the scores of the other run"
    assert recording_path(settings.runs_dir, IDS[0]).read_text() == text + "\n"

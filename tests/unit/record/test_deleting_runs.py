"""A deleted run is gone with all of its files."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from bioeval_tui.base.errors import RecordingError
from bioeval_tui.record import deleting
from bioeval_tui.record.deleting import delete_runs
from bioeval_tui.record.importing.into_runs import import_recording
from bioeval_tui.record.runs import LiveInfo, is_imported, overlay_path, process_start, write_live


def test_deleting_a_run_deletes_all_of_its_files(mailed: Path, tmp_path: Path) -> None:
    done = import_recording(mailed, tmp_path / "runs")
    overlay_path(done.path).write_bytes(b"{}\n")
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / f"{done.run_id}.log").write_text("log")
    assert delete_runs([done.path], logs) > 0
    left = [path.name for path in (tmp_path / "runs").iterdir()] + [
        path.name for path in logs.iterdir()
    ]
    assert [name for name in left if done.run_id in name] == []


def test_a_run_in_progress_cannot_be_deleted(mailed: Path, tmp_path: Path) -> None:
    done = import_recording(mailed, tmp_path / "runs")
    write_live(done.path, LiveInfo(os.getpid(), process_start(os.getpid()), 1, "t"))
    with pytest.raises(RecordingError, match="is in progress"):
        delete_runs([done.path], tmp_path)
    assert done.path.exists()


def test_a_run_that_another_process_has_locked_cannot_be_deleted(
    mailed: Path, tmp_path: Path
) -> None:
    path = import_recording(mailed, tmp_path / "runs").path
    fcntl = pytest.importorskip("fcntl")
    with path.open("rb") as file:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        with pytest.raises(RecordingError, match="in another process"):
            delete_runs([path], tmp_path / "logs")
        assert path.exists()
    delete_runs([path], tmp_path / "logs")
    assert not path.exists()


def test_an_interrupted_deletion_never_leaves_an_imported_run_unmarked(
    mailed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = import_recording(mailed, tmp_path / "runs")
    erased = deleting._erase

    for count in range(1, 10):

        def cut(file: Path, left: list[int] = [count]) -> int:  # noqa: B006 (a counter)
            left[0] -= 1
            if left[0] < 0:
                raise RecordingError("cut")
            return erased(file)

        monkeypatch.setattr(deleting, "_erase", cut)
        with contextlib.suppress(RecordingError):
            delete_runs([done.path], tmp_path)
        assert is_imported(done.path) or not done.path.exists()
    assert not is_imported(done.path)

"""Deleted runs can be restored; running ones cannot be deleted. Reports overwrite nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from run_script import write_runs

from bioeval_tui.base.errors import BioevalError, UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.record.runs import (
    LiveInfo,
    overlay_path,
    process_start,
    recording_path,
    write_live,
)
from bioeval_tui.tui.data.services import AppServices

IDS = ["20261120-090000-aaaa", "20261120-100000-bbbb"]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = Settings(data_dir_override=str(tmp_path))
    write_runs(found, IDS)
    (found.runs_dir / f"{IDS[0]}.overlay.jsonl").write_text("")
    return found


@pytest.fixture
def services(settings: Settings) -> AppServices:
    return AppServices(settings)


def ids(services: AppServices) -> list[str]:
    return sorted(run.run_id for run in services.run_list.runs())


def test_an_unchanged_run_is_not_read_again(services: AppServices) -> None:
    first = services.run_list.runs()
    assert len(first) == 2
    assert all(a is b for a, b in zip(first, services.run_list.runs(), strict=True))
    assert first[0].rehearsal


def test_restoring_a_deleted_run_restores_all_of_its_files(
    services: AppServices, settings: Settings
) -> None:
    before = sorted(path.name for path in settings.runs_dir.glob("*.jsonl"))
    services.run_list.delete([IDS[0]])
    assert ids(services) == [IDS[1]]
    assert sorted(path.name for path in settings.runs_dir.glob("*.jsonl")) == [f"{IDS[1]}.jsonl"]
    services.run_list.delete([IDS[1]])
    assert ids(services) == []
    assert services.run_list.undo() == 1
    assert ids(services) == [IDS[1]]
    assert services.run_list.undo() == 1
    assert sorted(path.name for path in settings.runs_dir.glob("*.jsonl")) == before
    assert services.run_list.undo() == 0


def test_the_trash_is_private_to_its_owner(services: AppServices, settings: Settings) -> None:
    services.run_list.delete(IDS)
    trash = settings.data_dir / "trash"
    if os.name != "nt":
        assert all(path.stat().st_mode & 0o077 == 0 for path in (trash, *trash.iterdir()))


def test_nothing_is_deleted_when_one_of_the_runs_is_in_progress(
    services: AppServices, settings: Settings
) -> None:
    live = recording_path(settings.runs_dir, IDS[1])
    write_live(live, LiveInfo(os.getpid(), process_start(os.getpid()), 1, "token"))
    with pytest.raises(UsageError, match="still in progress"):
        services.run_list.delete(IDS)
    assert ids(services) == IDS


@pytest.mark.parametrize("run_id", ["../../etc/passwd", "20261120-090000-cccc", "*", ""])
def test_files_that_are_not_runs_are_not_deleted(services: AppServices, run_id: str) -> None:
    with pytest.raises(UsageError):
        services.run_list.delete([IDS[0], run_id])
    assert ids(services) == IDS


def test_undo_does_not_overwrite_a_run_that_exists_again(
    services: AppServices, settings: Settings
) -> None:
    text = recording_path(settings.runs_dir, IDS[0]).read_text()
    overlay = overlay_path(recording_path(settings.runs_dir, IDS[0]))
    overlay.touch()
    services.run_list.delete([IDS[0]])
    recording_path(settings.runs_dir, IDS[0]).write_text(text + "\n")
    assert services.run_list.undo() == 0
    assert not overlay.exists(), "the scores of the other run"
    assert recording_path(settings.runs_dir, IDS[0]).read_text() == text + "\n"


async def test_reading_a_deleted_run_says_that_it_is_gone(services: AppServices) -> None:
    with pytest.raises(BioevalError, match="no such run; see `bioeval-tui runs list`"):
        await services.from_runs(lambda run: run, "20261120-110000-cccc")


def test_reports_are_private_and_get_unique_names(
    services: AppServices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = services.run_list.write_report(IDS[:1]), services.run_list.write_report(IDS[:1])
    both = services.run_list.write_report(IDS)
    assert len({first, second, both}) == 3
    assert "<html" in first.read_text("utf-8")
    if os.name != "nt":
        assert first.stat().st_mode & 0o077 == 0

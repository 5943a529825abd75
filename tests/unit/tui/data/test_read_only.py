"""A read-only session: the services refuse every change."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import cast

import pytest
from textual.actions import parse

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.engine.interface import Intent
from bioeval_tui.evaluation.wiring import doctor
from bioeval_tui.record.runs import LiveInfo, process_start, write_live
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.result import reviewed
from bioeval_tui.tui.data.batches import Batches
from bioeval_tui.tui.data.grading import Benchmarks
from bioeval_tui.tui.data.job_list import JobList
from bioeval_tui.tui.data.reviews import ReviewDesk
from bioeval_tui.tui.data.run_list import RunList
from bioeval_tui.tui.data.services import AppServices
from bioeval_tui.tui.keys import table
from bioeval_tui.tui.read_only import REFUSED, ReadOnlyApp, ReadOnlyServices
from bioeval_tui.tui.review_items import ReviewSource
from bioeval_tui.tui.runs.runs_view import preview

GOLDEN = Path(__file__).parents[3] / "golden" / "demo-run.jsonl"
RUN = "20261120-210356-44c7"
GIVEN = {"open_recording", "from_runs", "reviewer", "in_thread", "in_progress", "close"}
PARTS = {
    "job_list": JobList, "run_list": RunList, "benchmarks": Benchmarks, "review_desk": ReviewDesk,
    "batches": Batches, "doctor": doctor,
}  # fmt: skip
READ = {"run_list": {"runs"}, "review_desk": {"queue"}}
"""The methods that two parts have; the others have none."""


@pytest.fixture
def services(tmp_path: Path) -> AppServices:
    (tmp_path / "runs").mkdir()
    shutil.copy(GOLDEN, tmp_path / "runs" / f"{RUN}.jsonl")
    settings = Settings(data_dir_override=str(tmp_path))
    return cast("AppServices", ReadOnlyServices(settings))


def public(part: object) -> set[str]:
    return {name for name in dir(part) if not name.startswith("_")}


def files(folder: Path) -> dict[Path, bytes]:
    return {
        path: path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "catalogue" not in path.name
    }


async def test_in_read_only_mode_every_change_is_refused(
    services: AppServices, tmp_path: Path
) -> None:
    assert [run.run_id for run in services.run_list.runs()] == [RUN]
    before = files(tmp_path)
    methods = public(AppServices) - PARTS.keys() - GIVEN
    assert {"start_run", "medals", "in_worker", "explain"} <= methods
    refused = [getattr(services, name) for name in methods]
    for name, kind in PARTS.items():
        methods = public(kind) - READ.get(name, set())
        assert methods
        refused += [getattr(getattr(services, name), method) for method in methods]
    for call in refused:
        # Refused at the call, before anything is awaited or iterated.
        with pytest.raises(UsageError, match=REFUSED):
            call("anything", "at all")
    assert (services.reviewer, await services.from_runs(reviewed, RUN)) == ("", (None, ()))
    for source in (
        ReviewSource(run_ids=(str(tmp_path / "runs" / f"{RUN}.jsonl"),)),
        ReviewSource(reports=(tmp_path,)),
    ):
        with pytest.raises(UsageError, match=REFUSED):
            services.review_desk.queue(source)
    services.preferences.keep("theme", "light")
    assert services.preferences.get("theme") == "light"
    assert files(tmp_path) == before


async def test_in_read_only_mode_a_recording_can_be_replayed(services: AppServices) -> None:
    view = await services.open_recording(RUN)
    count = 0
    async for batch in view.events():
        count += len(batch)
    assert (view.mode, count) == ("replay", len(GOLDEN.read_bytes().splitlines()))
    assert (await services.from_runs(compare, RUN, RUN)).conditions


async def test_in_read_only_mode_only_recordings_of_the_runs_folder_are_read(
    services: AppServices, tmp_path: Path
) -> None:
    elsewhere = shutil.copy(GOLDEN, tmp_path / "other.jsonl")
    for read in (
        services.from_runs(preview, str(elsewhere)),
        services.from_runs(reviewed, str(elsewhere)),
    ):
        with pytest.raises(UsageError, match="no such run"):
            await read


async def test_in_read_only_mode_a_run_can_be_watched_but_not_controlled(
    services: AppServices, tmp_path: Path
) -> None:
    path = tmp_path / "runs" / f"{RUN}.jsonl"
    write_live(path, LiveInfo(os.getpid(), process_start(os.getpid()), 9, "token"))
    view = await services.open_recording(RUN)
    assert view.mode == "live"
    assert await view.send(Intent("cancel")) == REFUSED


async def test_in_read_only_mode_keys_that_change_something_are_hidden(
    services: AppServices, tmp_path: Path
) -> None:
    app = ReadOnlyApp(services, "runs", on_quit="leave", pictures=tmp_path, clock=lambda: 0.0)
    before = files(tmp_path)
    async with app.run_test(size=(140, 40)) as pilot:
        for _ in range(6):
            await pilot.pause()
        listed = {
            binding.binding.action
            for binding in app.screen.active_bindings.values()
            if binding.enabled
        }
        assert "replay" in listed
        assert not listed & {
            "delete",
            "report",
            "picture",
            "go('jobs')",
            "go('medals')",
            "go('benchmarks')",
        }
        for key in ("d", "x", "s", "1", "4", "5", "delete"):
            await pilot.press(key)
        assert app.current_mode == "runs"
        await app.action_go("medals")
        await app.run_action("app.picture")
        assert app.current_mode == "runs"
    assert files(tmp_path) == before


READS_IN_REVIEW = {"blind", "seeing", "to_do", "everything", "pane", "back"}
"""What the keys of the review screen do that changes no score."""


@pytest.mark.parametrize("blind", [True, False])
async def test_in_read_only_mode_no_key_of_a_review_gives_a_score(
    services: AppServices, tmp_path: Path, blind: bool
) -> None:
    services.preferences.keep("review.blind", blind)
    app = ReadOnlyApp(services, "runs", on_quit="leave", pictures=tmp_path, clock=lambda: 0.0)
    gives = {parse(key.action)[1] for key in table() if key.where == "review"} - READS_IN_REVIEW
    assert {"accept", "give", "score", "fault"} <= gives
    async with app.run_test(size=(140, 40)) as pilot:
        for _ in range(6):
            await pilot.pause()
        await pilot.press("v")
        for _ in range(6):
            await pilot.pause()
        offered = {
            parse(one.binding.action)[1]
            for one in app.screen.active_bindings.values()
            if one.enabled
        }
        assert "pane" in offered, "the review is shown"
        assert not offered & gives

"""The services of the screens, with real files and real worker processes."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import pytest

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.engine.attach import FollowedRun
from bioeval_tui.evaluation.engine.interface import RunRequest
from bioeval_tui.sample.paths import DEMO_JOB, sample_jobs, sample_submissions
from bioeval_tui.tui.data.services import AppServices
from tests.forked import fork_templates

TASK = "oncology/breast-cancer"


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    fork_templates(monkeypatch)
    found = AppServices(Settings(data_dir_override=str(tmp_path / "data")))
    yield found
    found.close()


def submission(group: str) -> str:
    (found,) = sample_submissions().glob(f"*run-group_{group}/breast-cancer.csv")
    return str(found)


def test_tasks_are_listed_with_description_and_leaderboard(services: AppServices) -> None:
    items = {item.task_id: item for item in services.benchmarks.items()}
    assert len(items) >= 7
    item = items[TASK]
    assert (item.source, item.prepared, item.file_kind) == ("builtin", False, "CSV")
    assert item.how
    detail = services.benchmarks.detail(TASK)
    assert "Breast cancer" in detail.description
    assert detail.board is not None
    board = detail.board
    assert len(board.scores) == 14
    assert not board.lower_is_better
    assert board.gold >= board.silver >= board.bronze >= board.median
    assert list(board.scores) == sorted(board.scores, reverse=True)
    solubility = services.benchmarks.detail("chemistry/solubility")
    assert solubility.board is not None
    assert solubility.board.lower_is_better
    assert solubility.board.scores[0] <= solubility.board.gold


@pytest.mark.long  # what is prepared after a stop, below, reports the same
async def test_preparing_reports_its_steps_and_the_task_is_ready(services: AppServices) -> None:
    told = [sentence async for sentence in services.benchmarks.prepare(TASK)]
    assert told == [f"preparing {TASK}"]
    ready = [item.task_id for item in services.benchmarks.items() if item.prepared]
    assert ready == [TASK]


async def test_preparing_an_unknown_task_says_why(services: AppServices) -> None:
    with pytest.raises(BioevalError, match="unknown task"):
        async for _ in services.benchmarks.prepare("nowhere/nothing"):
            pass


@pytest.mark.long
async def test_preparing_can_be_stopped_and_leaves_nothing_half_done(
    services: AppServices, tmp_path: Path
) -> None:
    steps = cast(Any, services.benchmarks.prepare(TASK))
    async with aclosing(steps) as told:
        async for _ in told:
            break
    assert not list((tmp_path / "data").rglob(".preparing-*"))
    assert [sentence async for sentence in services.benchmarks.prepare(TASK)] in (
        [f"preparing {TASK}"],
        [],
    )
    assert TASK in [item.task_id for item in services.benchmarks.items() if item.prepared]


def test_submissions_are_validated_and_graded(services: AppServices) -> None:
    good, bad = submission("careful"), submission("broken")
    assert services.benchmarks.examine(TASK, good).status == "valid"
    found = services.benchmarks.examine(TASK, bad)
    assert found.status == "invalid"
    assert found.findings
    row = services.benchmarks.grade(TASK, good)
    assert row.report is not None
    assert row.report.valid_submission
    assert row.leaderboard
    missing = services.benchmarks.grade(TASK, "/no/such/file.csv")
    assert missing.report is not None
    assert not missing.report.valid_submission


async def test_cancelled_grading_ends_its_worker(services: AppServices) -> None:
    grading = asyncio.create_task(
        services.in_worker(lambda: services.benchmarks.grade(TASK, submission("careful")))
    )
    await asyncio.sleep(0)
    grading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await grading
    row = services.benchmarks.grade(TASK, submission("careful"))
    assert row.report is not None


def test_an_empty_data_folder_has_no_runs_and_lists_the_sample_jobs(services: AppServices) -> None:
    assert {item.name for item in services.job_list.items()} >= {"medication_reminder"}
    assert services.run_list.runs() == []
    assert services.run_list.undo() == 0


@pytest.mark.parametrize("models", [(), ("small", "large")])
@pytest.mark.parametrize("begun", [False, True])
async def test_a_run_that_is_forgotten_while_its_engine_starts_can_be_stopped(
    services: AppServices, tmp_path: Path, models: tuple[str, ...], begun: bool
) -> None:
    job = sample_jobs() / DEMO_JOB
    request = RunRequest(jobs=(job,), sample_agent=True, mode="rehearsal", models=models)
    shown = asyncio.create_task(services.start_run(request))
    await asyncio.sleep(0)
    assert services.in_progress() == [""]
    if begun:
        view = cast(FollowedRun, await shown)
        engine = view.process
        assert engine is not None
    shown.cancel()  # another run is opened, or the screen is left
    await services.stop_runs()
    assert not services.in_progress()
    assert not list((tmp_path / "data").rglob("*.live"))
    assert not list((tmp_path / "data").rglob("*.spec.json"))
    if begun:
        assert engine.poll() is not None

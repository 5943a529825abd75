"""Following every recording of a batch until its engine ends, including queued runs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from run_script import run_of_trials

from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.engine.attach import FollowedRun
from bioeval_tui.evaluation.engine.interface import EngineSpec, RunSpec
from bioeval_tui.record import events
from bioeval_tui.record.events import RunEvent, write_event
from bioeval_tui.tui.data.services import AppServices
from bioeval_tui.tui.runs.batch_view import Glance, Rank

IDS = [f"20261120-090000-000{number}" for number in range(3)]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """An empty data folder."""
    found = Settings(data_dir_override=str(tmp_path))
    found.runs_dir.mkdir(parents=True)
    return found


def script(run_id: str, *, end: bool) -> list[RunEvent]:
    """Return a run of two trials in a batch."""
    first, *rest = run_of_trials(2, end=end)
    assert isinstance(first, events.RunStarted)
    first = first.model_copy(update={"batch_id": IDS[0], "at": datetime.now(UTC)})
    return [event.model_copy(update={"run_id": run_id}) for event in (first, *rest)]


def write(settings: Settings, run_id: str, made: list[RunEvent]) -> None:
    """Append events to a recording."""
    with (settings.runs_dir / f"{run_id}.jsonl").open("ab") as file:
        file.writelines(write_event(event) for event in made)


async def last_look(services: AppServices, batch_id: str) -> list[Glance]:
    """Follow until nothing more can come."""
    found: list[Glance] = []
    async for glances in services.batches.follow(batch_id):
        found = list(glances)
    return found


async def test_a_batch_of_the_history_is_read_from_its_recordings(settings: Settings) -> None:
    write(settings, IDS[0], script(IDS[0], end=True))
    write(settings, IDS[1], script(IDS[1], end=False))
    write(
        settings,
        IDS[2],
        [event.model_copy(update={"batch_id": None}) for event in script(IDS[2], end=True)[:1]],
    )
    found = await last_look(AppServices(settings), IDS[0])
    assert {glance.key.run_id for glance in found} == {IDS[0], IDS[1]}
    by = {glance.key: glance for glance in found}
    assert by[IDS[0], "withheld", 1].value == 0.29
    assert by[IDS[0], "withheld", 1].latencies_ms == (420.0, 910.0, 3420.0, 1280.0)
    # Nobody writes the second one: what goes on in it was interrupted.
    assert by[IDS[1], "withheld", 2].rank is Rank.NOT_MEASURED
    assert "engine stopped" in by[IDS[1], "withheld", 2].state.text


async def test_queued_runs_are_shown_and_a_partial_line_is_read_once_it_is_complete(
    settings: Settings,
) -> None:
    spec = EngineSpec(
        runs=tuple(RunSpec(i, "jobs/a.yml", "m") for i in IDS[:2]), trials=2, batch_id=IDS[0]
    )
    path = settings.runs_dir / f"{IDS[0]}.jsonl"
    whole = b"".join(write_event(event) for event in script(IDS[0], end=True))
    pieces = [whole[:50_000], whole[50_000:]]
    path.write_bytes(b"")

    class Writing(FollowedRun):
        """A run whose engine writes a piece whenever somebody asks whether it goes on."""

        @property
        def in_progress(self) -> bool:
            if not pieces:
                return False
            with path.open("ab") as file:
                file.write(pieces.pop(0))
            return True

    services, view = AppServices(settings), Writing(path)
    services.note(spec, view)
    assert view.batch_id == IDS[0]
    looks = [
        [glance.rank for glance in glances] async for glances in services.batches.follow(IDS[0])
    ]
    assert looks[0].count(Rank.QUEUED) > looks[1].count(Rank.QUEUED) >= 4
    # The engine ended before the second run began.
    assert looks[-1][-4:] == [Rank.NOT_MEASURED] * 4
    assert Rank.DONE in looks[-1]


async def test_a_finished_batch_cannot_be_stopped(settings: Settings) -> None:
    write(settings, IDS[0], script(IDS[0], end=True))
    assert (
        await AppServices(settings).batches.stop(IDS[0]) == "no run of this batch is live any more"
    )

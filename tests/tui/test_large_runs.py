"""Runs with many conversations: shown whole at once, read in a thread, played when asked to."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from driving import WIDE, screen_text, until

from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.engine import attach
from bioeval_tui.evaluation.engine.attach import FollowedRun, ReplayedRun
from bioeval_tui.record import runs as record_runs
from bioeval_tui.record.events import MessageDelta, RunEnded, Warned, read_event, write_event
from bioeval_tui.record.runs import LiveInfo, live_path, process_start, write_live
from bioeval_tui.record.state import ConversationKey, ConversationState, RunState
from bioeval_tui.record.stored_rows import StoredConversation
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.data.large_runs import GrowingRun, LargeRun, LargeRuns
from bioeval_tui.tui.data.services import AppServices
from bioeval_tui.tui.live import conversations_widget, live
from bioeval_tui.tui.live.feed import BACKLOG, FRAME_S, PICTURE_S, Feed
from tests.unit.report.recorded import Recorded, Talk

GOLDEN = Path(__file__).parents[1] / "golden" / "demo-run.jsonl"


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppServices:
    """Services of a data folder, in which every recording is large and has many conversations."""
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(record_runs, "LARGE", 0)
    for module in (live, conversations_widget):
        monkeypatch.setattr(module, "MANY_CONVERSATIONS", 1)
    (tmp_path / "runs").mkdir()
    return AppServices(Settings(data_dir_override=str(tmp_path)))


def recorded(services: AppServices) -> str:
    """Write a run of three trials; return its id."""
    talks = [Talk(tasks=(score,)) for score in (0.25, 0.5, 1.0)]
    path = Recorded(talks, talks).write(services.settings.runs_dir)
    return path.stem


def scores(state: RunState) -> dict[ConversationKey, float | None]:
    """Return the score of each conversation."""
    talks = state.conversations.items()
    return {key: talk.score.score if talk.score else None for key, talk in talks}


async def test_a_large_run_is_shown_whole_and_its_card_follows(services: AppServices) -> None:
    run_id = recorded(services)
    app = BioevalApp(services, lambda: services.open_recording(run_id))
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "trial 3 of 3" in screen_text(app))
        view = app.live.link.view
        assert isinstance(view, LargeRun)
        assert not view.is_played
        card = screen_text(app)
        for shown in ("3 trials", "6 conversations", "trial 1 of 3", "0.58"):
            assert shown in card
        # A trial's own card, and the card again, whose figures are kept.
        await pilot.press("right")
        await until(pilot, lambda: "here: trial 1 of 3" in screen_text(app))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not app.screen.is_modal)
        await pilot.press("o")
        await until(pilot, lambda: "trial 3 of 3" in screen_text(app))
        await pilot.press("escape")
        # Each conversation is read when it is shown, and all are looked through in a thread.
        await until(pilot, lambda: "RECORDING" in screen_text(app))
        message = app.live.watched.conversation.messages[0].text
        await pilot.press("slash", *message.split()[0])
        await until(pilot, lambda: "in 2 other trials" in screen_text(app))
        await pilot.press("escape", "space")
        await until(pilot, lambda: view.is_played and app.live.link.whole is None)
        await until(pilot, lambda: app.live.state is not None and bool(app.live.state.started))


async def test_a_run_that_is_being_read_can_be_left_at_once(
    services: AppServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id, left = recorded(services), False
    read = LargeRuns.result

    def slow(runs: LargeRuns, path: Path) -> object:
        while not left:
            pass
        return read(runs, path)

    monkeypatch.setattr(LargeRuns, "result", slow)
    app = BioevalApp(services, lambda: services.open_recording(run_id))
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "Reading 6 conversations…" in screen_text(app))
        assert "3 trials" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: not app.screen.is_modal)
        assert "Reading 6 conversations…" in screen_text(app)
        left = True
        await until(pilot, lambda: "RECORDING" in screen_text(app))
        assert not app.screen.is_modal


def test_a_recording_is_read_once_for_all_who_show_it(services: AppServices) -> None:
    path, runs = services.settings.runs_dir / f"{recorded(services)}.jsonl", LargeRuns()
    assert runs.has_rows(path)
    first = runs.result(path)
    assert runs.result(path) is first
    with path.open("ab") as file:
        file.write(b"\n")
    assert runs.result(path) is not first


async def test_a_large_run_in_progress_is_read_as_rows_and_followed_from_there(
    services: AppServices,
) -> None:
    run_id = recorded(services)
    path = services.settings.runs_dir / f"{run_id}.jsonl"
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    # The second of three trials has just begun, and the last line is not whole.
    cut = whole.index(b'"trial":2') + 20
    path.write_bytes(whole[:cut])
    pid = os.getpid()
    write_live(path, LiveInfo(pid=pid, started=process_start(pid), port=1, token="t"))
    app = BioevalApp(services, lambda: services.open_recording(run_id))
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "LIVE" in screen_text(app))
        assert isinstance(app.live.link.view, GrowingRun)
        state = app.live.link.state
        assert state is not None
        first = ConversationKey("withheld", 1)
        assert isinstance(state.conversations[first], StoredConversation)
        # What is still said of a conversation that is a row is not lost.
        known = read_event(last)
        late = Warned(run_id=run_id, seq=known.seq, at=known.at, condition="withheld", trial=1,
            attempt=1, code="blocked", message="slow")  # fmt: skip
        with path.open("ab") as file:
            file.write((whole.removesuffix(last) + write_event(late) + last)[cut:])
        live_path(path).unlink()
        await until(pilot, lambda: app.live.link.status == "live" and state.ended is not None)
        assert [warning.message for warning in state.conversations[first].warnings] == ["slow"]
        plain = LargeRuns(writes=False).result(path).state
        assert scores(state) == scores(plain)


async def test_a_large_run_that_ended_while_it_was_read_was_not_interrupted(
    services: AppServices,
) -> None:
    path = services.settings.runs_dir / f"{recorded(services)}.jsonl"
    view = GrowingRun(path)
    assert view.conversations == 6
    state = await view.read()
    assert state.ended is not None
    assert [event async for batch in view.events() for event in batch] == []


async def test_a_run_of_many_conversations_is_followed_as_rows_from_its_beginning(
    services: AppServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = services.settings.runs_dir / f"{recorded(services)}.jsonl"
    followed = {}
    for most_whole in (6, 5):
        monkeypatch.setattr(attach, "MOST_WHOLE", most_whole)
        view = FollowedRun(path)
        state = view.begin_applying()
        async for batch in view.events():
            for event in batch:
                view.apply(event)
        followed[most_whole] = state
    assert not any(isinstance(talk, StoredConversation) for talk in talks_of(followed[6]))
    assert all(isinstance(talk, StoredConversation) for talk in talks_of(followed[5]))
    assert scores(followed[5]) == scores(followed[6])
    for row, whole in zip(talks_of(followed[5]), talks_of(followed[6]), strict=True):
        assert [message.text for message in row.messages] == [
            message.text for message in whole.messages
        ]


def talks_of(state: RunState) -> list[ConversationState]:
    return list(state.conversations.values())


async def test_a_replay_plays_while_its_recording_is_read(tmp_path: Path) -> None:
    path = Path(shutil.copy(GOLDEN, tmp_path))
    view = ReplayedRun(path, 1e9)
    played = [event async for batch in view.events() for event in batch]
    assert isinstance(played[-1], RunEnded)
    assert [event.seq for event in played] == sorted(event.seq for event in played)
    assert view.marks
    again = [event async for batch in view.events() for event in batch]
    assert again == played


async def test_a_screen_that_catches_up_draws_a_few_pictures_a_second() -> None:
    now, posted = 0.0, []
    view = ReplayedRun(GOLDEN, None)
    events = [event async for batch in view.events() for event in batch]
    delta = next(event for event in events if isinstance(event, MessageDelta))
    feed = Feed(view, RunState(), lambda change: posted.append(now), lambda: now)
    await feed._fold(events[: events.index(delta) + 1])
    for _ in range(40):
        now += FRAME_S
        await feed._fold([delta] * BACKLOG)
    assert 1 < len(posted) <= 2 + 40 * FRAME_S / PICTURE_S
    few = len(posted)
    for _ in range(40):
        now += 2 * FRAME_S
        await feed._fold([delta])
    assert len(posted) >= few + 30

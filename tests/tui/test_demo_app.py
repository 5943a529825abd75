"""The demo runs by itself with captions and scenes, and stops when you press a key."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from driving import is_a, loaded, screen_text, until
from fakes import FakeServices
from medal_rows import sample_rows
from run_script import scripted_run
from textual.pilot import Pilot

from bioeval_tui.evaluation.engine.attach import ReplayedRun
from bioeval_tui.evaluation.engine.interface import RunView
from bioeval_tui.record.events import RunEvent, write_event
from bioeval_tui.record.replay import reading_times
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.result import load_run
from bioeval_tui.sample.paths import sample_recordings
from bioeval_tui.tui import demo_app
from bioeval_tui.tui.demo_app import DemoApp
from bioeval_tui.tui.live import live

CAREFUL_RUN, GUESSING_RUN = sample_recordings("batch")


@asynccontextmanager
async def demo(
    folder: Path,
    *,
    speed: float | None = None,
    loop: bool = False,
    beside: bool = False,
    events: Sequence[RunEvent] = (),
) -> AsyncIterator[tuple[DemoApp, Pilot[None]]]:
    """Open the demo on the scripted run; its clock stands still.

    With `beside`, a careful agent stands beside one that guesses.
    """
    path = folder / "7f3a2c91.jsonl"
    path.write_bytes(b"".join(map(write_event, events or scripted_run())))
    run = ReplayedRun(path, speed, clock=lambda: 0.0, timing=reading_times)

    async def opened() -> RunView:
        return run

    services = FakeServices(None, sample_rows())
    services.has_submissions = False
    services.comparison = compare(load_run(GUESSING_RUN), load_run(CAREFUL_RUN)) if beside else None
    other = CAREFUL_RUN if beside else None
    app = DemoApp(services, opened, loop=loop, other=other, on_quit="leave", clock=lambda: 0.0)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await loaded(app, pilot)
        yield app, pilot


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CARD_S", "BESIDE_S", "OWN_S"):
        monkeypatch.setattr(demo_app, name, 0.0)
    monkeypatch.setattr(demo_app, "TICK_S", 0.005)


@pytest.mark.usefixtures("quick")
async def test_the_demo_ends_with_the_score_card_and_next_steps(tmp_path: Path) -> None:
    async with demo(tmp_path) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "TryYourOwn"))
        await loaded(app, pilot)
        assert "bioeval-tui new job.yml" in screen_text(app)
        box = app.screen.query_one(".dialog--box").region
        assert box.bottom == app.size.height, "the conversations are above it"
        first = app.screen
        await pilot.press("r")
        await until(pilot, lambda: is_a(app.screen, "TryYourOwn") and app.screen is not first)
        await loaded(app, pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "jobs")


@pytest.mark.usefixtures("quick")
async def test_the_demo_shows_a_careful_agent_beside_the_one_that_guesses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_app, "BESIDE_S", 1000.0)
    async with demo(tmp_path, beside=True) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "BesideDialog"))
        await loaded(app, pilot)
        words = " ".join(screen_text(app).split())
        assert re.search(r"guessing +0.50 +1.00", words), "what came out"
        assert re.search(r"careful +1.00 +1.00", words)
        assert "without the facts: “no reminder is set without a time zone”" in words, "why"
        assert "✗ “Done: I'll remind you to take warfarin on" in words
        assert "09:00 (UTC" in words
        assert "✓ “I can't set a reminder without your time zone" in words
        assert "SURE" in words
        await pilot.press("enter")
        await until(pilot, lambda: is_a(app.screen, "CompareDialog"))


@pytest.mark.usefixtures("quick")
async def test_the_demo_goes_on_after_both_agents_and_does_so_when_it_is_watched_again(
    tmp_path: Path,
) -> None:
    async with demo(tmp_path, beside=True) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "TryYourOwn"))
        await loaded(app, pilot)
        first = app.screen
        await pilot.press("r")
        await until(pilot, lambda: is_a(app.screen, "TryYourOwn") and app.screen is not first)


@pytest.mark.usefixtures("quick")
async def test_q_ends_the_demo_at_once_beside_a_careful_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_app, "BESIDE_S", 1000.0)
    async with demo(tmp_path, beside=True) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "BesideDialog"))
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)


@pytest.mark.usefixtures("quick")
async def test_a_run_without_scores_has_nothing_beside_it(tmp_path: Path) -> None:
    lost = scripted_run()
    lost[-1] = lost[-1].model_copy(
        update={"mean": None, "scores": {"withheld": None, "supplied": 1.0}}
    )
    seen: set[str] = set()
    async with demo(tmp_path, beside=True, events=lost) as (app, pilot):

        def at_end() -> bool:
            seen.add(app.scene)
            return app.scene == "own"

        await until(pilot, at_end)
    assert "beside" not in seen


@pytest.mark.long
async def test_space_pauses_the_demo_even_before_the_first_message_and_says_so(
    tmp_path: Path,
) -> None:
    async with demo(tmp_path, speed=1.0) as (app, pilot):
        await until(pilot, lambda: "Does an agent do what is right" in screen_text(app))
        await pilot.press("space")
        assert app.held
        assert app.shown is not None
        assert app.shown.paused
        await pilot.press("space")
        assert not app.held
        assert app.shown is not None
        app.shown.seek(20)
        await until(pilot, lambda: "paused, space continues" in screen_text(app))
        assert "the user knows no facts" in screen_text(app)
        assert "‖ DEMO" in screen_text(app)


@pytest.mark.usefixtures("quick")
async def test_the_title_and_the_caption_pause_together_whenever_the_clock_ticks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "TICK_S", 1000.0)
    async with demo(tmp_path, speed=1.0) as (app, pilot):
        await until(pilot, lambda: "Does an agent do what is right" in screen_text(app))
        assert app.shown is not None
        app.shown.seek(20)
        await until(pilot, lambda: "‖ DEMO" in screen_text(app))
        for sign, paused in (("▸ DEMO", False), ("‖ DEMO", True)):
            await pilot.press("space")
            await until(pilot, lambda: sign in screen_text(app))  # noqa: B023
            await until(
                pilot,
                lambda: ("paused, space continues" in screen_text(app)) == paused,  # noqa: B023
            )


@pytest.mark.usefixtures("quick")
async def test_a_key_stops_the_tour_and_gives_you_the_screens(tmp_path: Path) -> None:
    async with demo(tmp_path) as (app, pilot):
        await pilot.press("tab")
        await loaded(app, pilot)
        while len(app.screen_stack) > 1:
            await pilot.press("escape")
        await pilot.press("3")
        await until(pilot, lambda: app.current_mode == "runs")
        await loaded(app, pilot)
        for _ in range(20):
            await pilot.pause(0.01)
        assert app.current_mode == "runs", "nothing moves by itself any more"


@pytest.mark.long
async def test_quitting_while_a_box_opens_is_no_crash(tmp_path: Path) -> None:
    async with demo(tmp_path) as (app, pilot):
        await until(pilot, lambda: app.run_state is not None and app.run_state.ended is not None)
        app.push_screen(demo_app.TryYourOwn())
        app.live.action_score_card()
        app.exit()
    assert app.crash is None


async def test_a_presentation_of_the_demo_leaves_the_conversation_its_place(tmp_path: Path) -> None:
    async with demo(tmp_path, speed=1.0) as (app, pilot):
        await pilot.press("space")
        assert app.shown is not None
        app.shown.seek(20)
        await until(pilot, lambda: "the user knows no facts" in screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: app.live.watched.presenting)
        await loaded(app, pilot)
        assert app.live.conversations.size.width > app.size.width / 3

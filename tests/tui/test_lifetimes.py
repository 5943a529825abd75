"""What a screen has still to do when it is closed is left out: its widgets are gone, or were never
there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import history
import pytest
from driving import is_a, loaded, opened, screen_text, until
from fakes import FakeServices, FakeView
from medal_rows import sample_rows
from run_script import scripted_run

from bioeval_tui.formats import RunResult
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.report.result import result_of
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.live.score_card import ScoreCard
from bioeval_tui.tui.medals.medal_card import MedalDetail
from bioeval_tui.tui.own_agent_dialog import OwnAgentDialog
from bioeval_tui.tui.shared.dialogs import PathDialog, WorkDialog
from bioeval_tui.tui.shared.help_dialogs import HelpScreen
from bioeval_tui.tui.shared.leave_dialogs import LeaveScreen
from bioeval_tui.tui.shared.settings_dialog import SettingsDialog


def ended() -> RunResult:
    result = result_of(apply_all(RunState(), scripted_run()))
    assert result is not None
    return result


async def never(_: Any) -> None:
    await asyncio.Event().wait()


BOXES: dict[str, Callable[[BioevalApp], Any]] = {
    "settings": lambda _: SettingsDialog(),
    "help": lambda app: HelpScreen(app.screen),
    "leave": lambda _: LeaveScreen(["a form"]),
    "path": lambda _: PathDialog("Grade a file", "A table."),
    "work": lambda _: WorkDialog("Grading", never),
    "own agent": lambda _: OwnAgentDialog(Path("my-agent.yml")),
    "score card": lambda _: ScoreCard(ended(), 1),
    "medal": lambda _: MedalDetail(sample_rows()[0]),
}


def services() -> FakeServices:
    return history.filled_services(FakeView(scripted_run()), rows=sample_rows())


@pytest.mark.parametrize("name", BOXES)
async def test_a_box_that_is_closed_while_it_opens_does_nothing_more(name: str) -> None:
    async with opened(None, services=services(), start="runs") as (app, pilot):
        for turns in range(4):
            app.push_screen(BOXES[name](app))
            for _ in range(turns):
                await asyncio.sleep(0)  # so far has it come
            app.pop_screen()
            await loaded(app, pilot)
            await pilot.pause()
            assert app.crash is None, turns
            shown = screen_text(app)
            assert "more key" in shown or "help" in shown, turns


async def test_what_was_to_be_called_after_a_box_was_closed_is_not() -> None:
    async with opened(None, services=services(), start="runs") as (app, pilot):
        await pilot.press("comma")
        await until(pilot, lambda: is_a(app.screen, "SettingsDialog"))
        box = app.screen

        box.call_later(lambda: box.query_one("#sample"))
        box.call_next(lambda: box.query_one("#sample"))
        box.call_after_refresh(lambda: box.query_one("#sample"))
        box.set_timer(0.0, lambda: box.query_one("#sample"))
        app.pop_screen()
        await loaded(app, pilot)
        await pilot.pause(0.01)
        assert app.crash is None


async def test_help_and_palette_are_kept_for_the_same_screen_and_begin_at_the_top() -> None:
    async with opened(FakeView(scripted_run(), hold_at=160)) as (app, pilot):
        for key in ("question_mark", "ctrl+p"):
            await pilot.press(key)
            await loaded(app, pilot)
            first, shown = app.screen, screen_text(app)
            await pilot.press("down", "pagedown", "escape")
            await loaded(app, pilot)
            await pilot.press(key)
            await loaded(app, pilot)
            assert app.screen is first
            assert screen_text(app) == shown
            app.pop_screen()
            await pilot.press(key)  # before it has been told that it was closed
            await loaded(app, pilot)
            assert screen_text(app) == shown
            await pilot.press("escape")
            await loaded(app, pilot)
            assert not app.screen.is_modal


async def test_the_help_that_was_open_when_the_theme_changed_is_not_kept_for_the_one_before() -> (
    None
):
    async with opened(FakeView(scripted_run(), hold_at=160)) as (app, pilot):
        before = app.theme
        await pilot.press("question_mark")
        await loaded(app, pilot)
        colours = app.screen.query_one(".dialog--box").background_colors
        app.theme = "light"
        await loaded(app, pilot)
        assert app.screen.query_one(".dialog--box").background_colors != colours
        await pilot.press("escape")
        await loaded(app, pilot)
        app.theme = before
        await loaded(app, pilot)
        await pilot.press("question_mark")
        await loaded(app, pilot)
        assert app.screen.query_one(".dialog--box").background_colors == colours


async def test_help_and_palette_are_made_anew_where_they_would_differ() -> None:
    async with opened(FakeView(scripted_run(), hold_at=160)) as (app, pilot):
        boxes = []
        for key in ("question_mark", "ctrl+p"):
            for change in ((), ("i",), ("escape",)):
                await pilot.press(*change, key)
                await loaded(app, pilot)
                assert app.screen not in boxes
                boxes.append(app.screen)
                assert app.screen.is_modal
                await pilot.press("escape")
                await loaded(app, pilot)
        await pilot.press("ctrl+p", *"theme: light")
        await until(pilot, lambda: "Theme: light" in screen_text(app))
        await pilot.press("escape", "ctrl+p")
        await until(pilot, lambda: "Pause both" in screen_text(app))
        boxes.append(app.screen)
        await loaded(app, pilot)
        assert all(not box.is_running for box in boxes if box not in (boxes[2], app.screen))

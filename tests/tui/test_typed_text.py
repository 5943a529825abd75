"""What a person types is not lost: by ctrl+c, esc, a paste of several lines, or a copy that no
terminal confirms.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import history
import pytest
from driving import is_a, loaded, opened, screen_text, until
from fakes import FakeView
from run_script import scripted_run
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from bioeval_tui.tui.app import BioevalApp


@asynccontextmanager
async def own_agent_form() -> AsyncIterator[tuple[BioevalApp, Pilot[None]]]:
    """Open the form for an agent of one's own."""
    services = history.filled_services(FakeView(scripted_run()))
    async with opened(None, services=services, start="jobs") as (app, pilot):
        await open_form(app, pilot)
        yield app, pilot


async def open_form(app: BioevalApp, pilot: Pilot[None]) -> None:
    await pilot.press("plus")
    await until(pilot, lambda: is_a(app.screen, "OwnAgentDialog"))


def value(app: BioevalApp, name: str) -> str:
    return app.screen.query_one(f"#{name}", Input).value


async def test_a_form_keeps_what_was_typed_until_it_is_used() -> None:
    async with own_agent_form() as (app, pilot):
        example = value(app, "task")
        await pilot.press("down", *"Sort my samples")
        await pilot.press("escape")
        await until(pilot, lambda: "kept as a draft" in screen_text(app))
        await open_form(app, pilot)
        assert value(app, "task") == "Sort my samples"
        await pilot.press("ctrl+r")
        await until(pilot, lambda: value(app, "task") == example)
        await pilot.press("escape")
        await until(pilot, lambda: not app.drafts)
        await open_form(app, pilot)
        assert value(app, "task") == example


async def test_a_form_that_was_written_leaves_no_draft(tmp_path: Path) -> None:
    async with own_agent_form() as (app, pilot):
        await pilot.press("down", *"Sort")
        app.screen.query_one("#path", Input).value = str(tmp_path / "my-agent.yml")
        await pilot.press("enter")
        await until(pilot, lambda: not is_a(app.screen, "OwnAgentDialog"))
        assert not app.drafts


@pytest.mark.parametrize("leave", ["ctrl+c", "ctrl+q"])
async def test_leaving_a_form_asks_when_something_was_typed(leave: str) -> None:
    async with own_agent_form() as (app, pilot):
        await pilot.press("down", *"Sort")
        await pilot.press(leave)
        await until(pilot, lambda: is_a(app.screen, "LeaveScreen"))
        assert "Evaluate your own agent: what you typed is not used yet" in " ".join(
            screen_text(app).split()
        )
        await pilot.press("escape")
        await until(pilot, lambda: is_a(app.screen, "OwnAgentDialog"))
        assert value(app, "task") == "Sort"
        assert not app._exit
        await pilot.press("ctrl+c", "ctrl+c")
        await until(pilot, lambda: app._exit)


async def test_ctrl_c_asks_and_enter_leaves() -> None:
    async with opened(None, start="jobs") as (app, pilot):
        await pilot.press("ctrl+c")
        await until(pilot, lambda: is_a(app.screen, "LeaveScreen"))
        assert not app._exit
        await pilot.press("enter")
        await until(pilot, lambda: app._exit)


async def test_ctrl_c_copies_what_is_selected_in_a_field() -> None:
    async with own_agent_form() as (app, pilot):
        await pilot.press("down", *"Sort", "shift+home", "ctrl+c")
        await until(pilot, lambda: "Sent the selected text to the terminal" in screen_text(app))
        assert app.clipboard == "Sort"


async def test_ctrl_z_says_where_nothing_can_be_suspended() -> None:
    async with opened(None, start="jobs") as (app, pilot):
        await pilot.press("ctrl+z")
        await until(pilot, lambda: "can suspend a program" in screen_text(app))


async def test_pasted_lines_are_joined_as_the_field_expects() -> None:
    async with own_agent_form() as (app, pilot):
        await pilot.press("down")
        app.screen.query_one("#task", Input).value = ""
        app.post_message(events.Paste("one line\n  another\r\n\nthe last\n"))
        await until(pilot, lambda: value(app, "task") == "one line another the last")
        assert "3 pasted lines were joined into one" in screen_text(app)


async def test_pasted_models_are_separated_by_commas() -> None:
    services = history.filled_services(FakeView(scripted_run()))
    async with opened(None, services=services, start="jobs") as (app, pilot):
        await pilot.press("enter")
        await until(pilot, lambda: is_a(app.screen, "RunDialog"))
        app.screen.query_one("#models", Input).focus()
        app.post_message(events.Paste("small\nlarge\n"))
        await until(pilot, lambda: value(app, "models") == "small, large")


async def test_of_several_dropped_files_the_first_is_kept_and_said() -> None:
    services = history.filled_services(FakeView(scripted_run()))
    async with opened(None, services=services, start="benchmarks") as (app, pilot):
        await pilot.press("down", "down", "M")
        await until(pilot, lambda: is_a(app.screen, "PathDialog"))
        app.post_message(events.Paste("/data/a.csv\n/data/b.csv"))
        await until(pilot, lambda: value(app, "path") == "/data/a.csv")
        assert "2 lines were pasted; one file is asked for" in " ".join(screen_text(app).split())


async def test_what_a_terminal_may_not_copy_can_be_written_to_a_file(tmp_path: Path) -> None:
    services = history.filled_services(FakeView(scripted_run()))
    async with opened(None, services=services, start="runs", pictures=tmp_path) as (app, pilot):
        await loaded(app, pilot)
        await pilot.press("y")
        await until(pilot, lambda: is_a(app.screen, "ShareDialog"))
        await pilot.press("enter")
        await until(pilot, lambda: "to the terminal" in screen_text(app))
        assert "^s, writes a file" in " ".join(screen_text(app).split())
        await pilot.press("y")
        await until(pilot, lambda: is_a(app.screen, "ShareDialog"))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: bool([*tmp_path.glob("*.txt")]))
    (written,) = tmp_path.glob("*.txt")
    assert written.read_text(encoding="utf-8") == f"{app.clipboard}\n"
    assert written.stat().st_mode & 0o077 == 0


async def test_arrows_move_through_the_settings() -> None:
    async with opened(None, start="jobs") as (app, pilot):
        await pilot.press("comma")
        await until(pilot, lambda: is_a(app.screen, "SettingsDialog"))
        theme = app.theme
        assert "↑ ↓ next" in screen_text(app)
        await pilot.press("down", "down", "right")
        await until(pilot, lambda: app.services.preferences.get("live.events") is False)
        assert app.theme == theme
        await pilot.press("up", "up", "right")
        await until(pilot, lambda: app.theme != theme)


async def test_a_second_click_opens_however_long_after_the_first() -> None:
    services = history.filled_services(FakeView(scripted_run()))
    async with opened(None, services=services, start="runs") as (app, pilot):
        await loaded(app, pilot)
        row = (10, 2)
        await pilot.click("RowList", offset=row)
        app._chained_clicks = 0  # the second click is no double click
        await pilot.click("RowList", offset=row)
        await until(pilot, lambda: app.current_mode == "live")


async def test_two_gs_go_to_the_top_and_grade_nothing() -> None:
    services = history.filled_services(FakeView(scripted_run()))
    for start in ("runs", "medals", "benchmarks"):
        async with opened(None, services=services, start=start) as (app, pilot):
            await loaded(app, pilot)
            rows = app.screen.query("RowList").first()
            rows.focus()
            await pilot.press("G", "g", "g")
            await loaded(app, pilot)
            assert rows.cursor == 0
            assert app.screen is app.screen_stack[0]
            assert not services.asked

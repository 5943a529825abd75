"""What works on every screen: quitting, screenshots, themes, the palette, safe text."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import history
import pytest
from driving import contrast, is_a, loaded, opened, screen_text, until
from fakes import FakeServices, FakeView
from medal_rows import sample_rows
from rich.segment import Segment
from run_script import scripted_run
from textual.color import Color
from textual.widgets import Input, Static
from textual.worker import WorkerFailed

from bioeval_tui.evaluation.engine.interface import Intent
from bioeval_tui.tui.app import BioevalApp, OnQuit


async def test_quitting_a_demo_cancels_its_run() -> None:
    view = FakeView(scripted_run(), hold_at=100)
    async with opened(view, on_quit="cancel") as (app, pilot):
        await pilot.press("q")
        await until(pilot, lambda: view.sent == [Intent("cancel")])
        view.die()
        await until(pilot, lambda: app._exit)
    assert view.closed


@pytest.mark.parametrize(("key", "sent"), [("l", []), ("X", [Intent("cancel")])])
async def test_quitting_asks_whether_to_leave_a_run_in_progress(
    key: str, sent: list[Intent]
) -> None:
    view = FakeView(scripted_run(), hold_at=100)
    async with opened(view) as (app, pilot):
        await pilot.press("q")
        await until(pilot, lambda: is_a(app.screen, "QuitScreen"))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.live)
        assert not app._exit
        await pilot.press("ctrl+c")
        await until(pilot, lambda: is_a(app.screen, "QuitScreen"))
        await pilot.press(key)
        await pilot.pause()
        view.die()
        await until(pilot, lambda: app._exit)
    assert view.sent == sent


@pytest.mark.parametrize(
    ("leave", "on_quit"),
    [("q", "ask"), ("q", "leave"), ("ctrl+q", "ask"), ("ctrl+c", "ask"), ("palette", "ask")]
    + [
        pytest.param(leave, "leave", marks=pytest.mark.long)
        for leave in ("ctrl+q", "ctrl+c", "palette")
    ],
)
async def test_quitting_asks_about_a_run_whose_engine_is_starting(
    leave: str, on_quit: OnQuit
) -> None:
    services = FakeServices()
    async with opened(None, services=services, start="runs", on_quit=on_quit) as (app, pilot):
        services.going_on = [""]
        if leave == "palette":
            await pilot.press("ctrl+p", *"quit", "enter")
        else:
            await pilot.press(leave)
        await until(pilot, lambda: "bioeval-tui runs list" in screen_text(app))
        assert is_a(app.screen, "QuitScreen")
        await pilot.press("escape")
        await until(pilot, lambda: not is_a(app.screen, "QuitScreen"))
        assert not app._exit
        await pilot.press("q")
        await until(pilot, lambda: is_a(app.screen, "QuitScreen"))
        await pilot.press("X")
        await until(pilot, lambda: app._exit)
    assert services.stopped == [""]


async def test_runs_that_are_no_longer_shown_are_asked_about_and_may_be_left() -> None:
    services = FakeServices(FakeView(scripted_run()))
    async with opened(None, services=services) as (app, pilot):
        services.going_on = ["20261123-090000-beef", ""]
        await until(pilot, lambda: app.live.state is not None and app.live.state.ended is not None)
        await pilot.press("escape", "q")
        await until(
            pilot, lambda: is_a(app.screen, "QuitScreen") and "There are 2" in screen_text(app)
        )
        await pilot.press("l")
        await until(pilot, lambda: app._exit)
    assert services.stopped == []


async def test_leaving_a_demo_stops_what_was_started_in_it() -> None:
    services = FakeServices()
    async with opened(None, services=services, start="runs", on_quit="cancel") as (app, pilot):
        services.going_on = ["20261123-090000-beef"]
        await pilot.press("q")
        await until(pilot, lambda: app._exit)
    assert services.stopped == ["20261123-090000-beef"]


async def test_quitting_after_the_run_ended_asks_nothing() -> None:
    async with opened(FakeView(scripted_run())) as (app, pilot):
        await until(pilot, lambda: app.live.state is not None and app.live.state.ended is not None)
        await pilot.press("escape", "q")
        await until(pilot, lambda: app._exit)


async def test_quitting_while_a_dialog_opens_does_not_crash() -> None:
    """It looks for its children when it is mounted, which are gone by then."""
    async with opened(None, start="runs") as (app, _):
        app.action_settings()
    assert app.crash is None


@pytest.mark.long
async def test_a_screenshot_is_private_and_loads_nothing_from_the_network(tmp_path: Path) -> None:
    async with opened(FakeView(scripted_run(), hold_at=100), pictures=tmp_path) as (app, pilot):
        await pilot.press("s")
        await loaded(app, pilot)
        await pilot.press("s")
        await loaded(app, pilot)
    saved = sorted(tmp_path.glob("bioeval-tui-live-*.svg"))
    assert len(saved) == 2
    assert saved[0].stat().st_mode & 0o077 == 0
    svg = saved[0].read_text(encoding="utf-8")
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert "medication_reminder" in svg


@pytest.mark.long
async def test_a_screenshot_that_cannot_be_saved_says_why(tmp_path: Path) -> None:
    async with opened(FakeView(scripted_run(), hold_at=100), pictures=tmp_path / "missing") as (
        app,
        pilot,
    ):
        await pilot.press("s")
        await until(pilot, lambda: "Could not save the picture" in screen_text(app))


async def test_an_unexpected_background_error_ends_the_program_as_a_crash() -> None:
    def broken() -> None:
        raise KeyError("a defect")

    services = FakeServices()
    services._runs = broken  # type: ignore[method-assign, assignment]
    app = BioevalApp(services, "runs")
    with pytest.raises(WorkerFailed):
        async with app.run_test() as pilot:
            await until(pilot, lambda: app.crash is not None)
    assert isinstance(app.crash, KeyError)


async def test_y_copies_the_table_or_saves_a_captioned_picture_where_you_choose(
    tmp_path: Path,
) -> None:
    services = FakeServices(rows=sample_rows())
    async with opened(None, services=services, start="medals") as (app, pilot):
        await pilot.press("y", "down", "enter")
        await until(pilot, lambda: app.clipboard.startswith("task_id\tagent\tmedal"))
        assert app.clipboard.count("\n") == len(sample_rows())
        await pilot.press("comma", "y")
        await until(pilot, lambda: is_a(app.screen, "ShareDialog"))
        below = app.screen.query_one("#caption", Input).value
        assert below.startswith("Settings. Gold on oncology/breast-cancer"), (
            "a box says what lies below"
        )
        await pilot.press("escape", "escape", "y", "tab")
        field = app.screen.query_one("#path", Input)
        field.value = str(tmp_path / "missing" / "board.svg")
        await pilot.press("enter")
        assert "there is no folder" in screen_text(app)
        field.value = str(tmp_path / "board.svg")
        await pilot.press("enter")
        await until(pilot, lambda: "and its caption" in screen_text(app))
    svg, caption = (
        (tmp_path / "board.svg").read_text("utf-8"),
        (tmp_path / "board.txt").read_text("utf-8"),
    )
    assert "oncology/breast-cancer" in svg
    assert "to the clipboard" not in svg
    assert caption.startswith("Gold on oncology/breast-cancer")


@pytest.mark.long
async def test_every_theme_draws_the_medals_and_its_selected_row_can_be_read() -> None:
    services = FakeServices(FakeView(scripted_run()), sample_rows())
    async with opened(None, services=services, start="medals") as (app, pilot):
        await loaded(app, pilot)
        rows = app.screen.query_one("RowList")
        assert rows.has_focus
        for theme in app.theme_names:
            app.theme = theme
            await pilot.pause()
            assert "● gold" in screen_text(app)
            selected = [
                (text, style) for text, style, _ in rows.render_line(rows.cursor) if text.strip()
            ]
            assert len({style.color for _, style in selected}) > 1
            for text, style in selected:
                ink, ground = (
                    Color.from_rich_color(style.color),
                    Color.from_rich_color(style.bgcolor),
                )
                assert contrast(ink, ground) >= 4.5, (theme, text)


async def test_the_command_palette_offers_the_screens_keys_and_the_themes() -> None:
    view = FakeView(scripted_run(), hold_at=100)
    async with opened(view) as (app, pilot):
        await pilot.press("ctrl+p")
        await loaded(app, pilot)
        await pilot.press(*"theme: light")
        await loaded(app, pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.theme == "light")


async def test_a_dialog_keeps_the_global_keys_and_the_footer_behind_it_shows_none(
    tmp_path: Path,
) -> None:
    async with opened(FakeView(scripted_run()), (160, 45), pictures=tmp_path) as (app, pilot):
        assert is_a(app.screen, "ScoreCard")
        assert "take over" not in screen_text(app)
        await pilot.press("s")
        assert list(tmp_path.glob("*.svg"))
        await pilot.press("question_mark")
        await loaded(app, pilot)
        assert is_a(app.screen, "HelpScreen")
        assert "Go to the message it refers to" in screen_text(app)
        await pilot.press("question_mark", "q")
        await until(pilot, lambda: app._exit)


@pytest.mark.usefixtures("paints")
async def test_the_screen_behind_a_box_is_drawn_again_only_when_it_changes() -> None:
    async with opened(None, services=FakeServices(rows=sample_rows()), start="medals") as (
        app,
        pilot,
    ):
        behind = app.screen
        await pilot.press("question_mark")
        await loaded(app, pilot)
        drawn = 0
        compositor = behind._compositor
        render = compositor._render_chops

        def counted(*given: Any) -> Any:
            nonlocal drawn
            drawn += 1
            return render(*given)

        compositor._render_chops = counted  # type: ignore[method-assign]
        for _ in range(3):
            app.screen.refresh(layout=True)
            await loaded(app, pilot)
        assert drawn == 0
        line = Static("something new behind the box")
        await behind.mount(line, before=0)
        await until(pilot, lambda: "something new behind" in screen_text(app))
        assert drawn


@pytest.mark.usefixtures("paints")
async def test_a_theme_is_judged_on_the_screen_behind_the_settings() -> None:
    async with opened(None, services=FakeServices(rows=sample_rows()), start="medals") as (
        app,
        pilot,
    ):

        def title() -> list[tuple[str, object]]:
            strip = app.screen._compositor.render_strips()[0].crop(0, 40)
            return [
                (text, style and (style.color, style.bgcolor))
                for text, style, _ in strip
                if text.strip()
            ]

        dark = title()
        await pilot.press("comma")
        await loaded(app, pilot)
        assert title() == dark
        await pilot.press("right")
        await loaded(app, pilot)
        light = title()
        assert light != dark
        await pilot.press("escape")
        await loaded(app, pilot)
        assert app.theme == "light"
        assert title() == light


async def test_help_lists_each_screen_with_its_number() -> None:
    async with opened(None, services=FakeServices(rows=sample_rows()), start="medals") as (
        app,
        pilot,
    ):
        assert "0…5 screens" in screen_text(app)
        await pilot.press("question_mark")
        await loaded(app, pilot)
        lines = [line.strip() for line in screen_text(app).splitlines()]
        for line in ("1  Go to the job files", "5  Go to the graded submissions"):
            assert any(line in shown for shown in lines)
        assert not any("0…5" in shown for shown in lines)
        assert "digest" not in screen_text(app)
        await pilot.press("end")
        await until(pilot, lambda: "digest" in screen_text(app))  # the line of keys hides no line


async def test_number_keys_switch_screens() -> None:
    async with opened(None, services=FakeServices(rows=sample_rows()), start="medals") as (
        app,
        pilot,
    ):
        await pilot.press("2")
        await loaded(app, pilot)
        assert "No run is open" in screen_text(app)
        await pilot.press("5")
        await loaded(app, pilot)
        assert "Medals" in screen_text(app)


@pytest.mark.long
async def test_lines_and_borders_are_visible_in_sixteen_colours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(BioevalApp, "few_colours", True)
    services = FakeServices(FakeView(scripted_run()), sample_rows())
    async with opened(None, services=services) as (app, _):
        assert app.get_css_variables()["line"] == "#808080"
        box = app.screen.query_one(".dialog--box")
        assert box.styles.border.top[0] == "solid"


@pytest.mark.long
async def test_objects_loaded_by_the_first_paint_are_frozen_for_the_garbage_collector() -> None:
    async with opened(FakeView(scripted_run(), hold_at=100)):
        assert gc.get_freeze_count() > 10_000
    assert gc.get_freeze_count() == 0


async def test_control_and_bidi_characters_never_reach_the_terminal() -> None:
    async with opened(None, start="runs") as (app, _):
        filters = app.get_line_filters()

    def shown(line: list[Segment]) -> str:
        for one in filters:
            line = one.apply(line, Color(0, 0, 0))
        return "".join(segment.text for segment in line)

    line = [Segment("a\x1b]52;c;x\x07b\u202ec\x9b2Jd"), Segment("plain")]
    assert shown(line) == "a]52;c;xbc2Jdplain"
    assert shown([Segment("nothing to do")]) == "nothing to do"


@pytest.mark.long
async def test_keys_of_list_screen_and_app_can_be_clicked_in_the_footer() -> None:
    services = FakeServices(FakeView(scripted_run(), hold_at=100))
    services.job_items, services.history = history.jobs(), history.history()

    async def click(words: str) -> None:
        x, y = next(
            (line.index(words), y)
            for y, line in enumerate(screen_text(app).splitlines())
            if words in line
        )
        await pilot.click(offset=(x, y))
        await loaded(app, pilot)

    async with opened(None, services=services, start="jobs") as (app, pilot):
        await click("0…5 screens")
        assert is_a(app.screen, "Palette")
        await pilot.press(*"home")
        await until(pilot, lambda: "Home  (0)" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "home")
        await pilot.press("3")
        await loaded(app, pilot)
        await click("m mark")
        assert "1 marked" in screen_text(app)
        await click("? help")
        assert is_a(app.screen, "HelpScreen")
        await click("esc close")
        await click("enter open")
        assert app.current_mode == "live"


async def test_keys_act_on_the_conversation_that_was_clicked() -> None:
    view = FakeView(scripted_run(), hold_at=100)
    async with opened(view) as (app, pilot):
        assert app.live.watched.condition == "withheld"
        await pilot.click("#frame-supplied Transcript", offset=(10, 20))
        await until(pilot, lambda: app.live.watched.condition == "supplied")
        await pilot.click("#frame-withheld", offset=(10, 0))
        await until(pilot, lambda: app.live.watched.condition == "withheld")

"""A run of several trials: the grid, and going from one trial to another."""

from __future__ import annotations

import pytest
from driving import NARROW, WIDE, loaded, opened, screen_text, until
from fakes import FakeView
from run_script import run_of_trials, scripted_run

from bioeval_tui.run_state import RunState, apply_all
from bioeval_tui.tui.screens.trials import TrialsScreen
from bioeval_tui.tui.view.trials import CELL_WIDTH, tiles


def test_what_needs_attention_stands_first() -> None:
    state = apply_all(RunState(), run_of_trials(4, end=False))
    found = tiles(state, None)
    assert (found[0].key.condition, found[0].key.trial) == ("supplied", 3)
    assert (found[1].key.condition, found[1].key.trial) == ("withheld", 4)
    assert len(found) == 7
    for tile in found:
        for line in tile.lines:
            assert len("".join(cell.text for cell in line)) <= CELL_WIDTH - 2


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_the_grid_opens_the_conversation_that_is_chosen(size: tuple[int, int]) -> None:
    async with opened(FakeView(run_of_trials(4, end=False)), size) as (app, pilot):
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, TrialsScreen))
        await loaded(app, pilot)
        assert "supplied · trial 3" in screen_text(app)
        await pilot.press("right", "enter")
        await until(pilot, lambda: app.screen is app.live)
        assert (app.live.active, app.live.trial) == ("withheld", 4)
        await pilot.press("a", "enter")
        await until(pilot, lambda: (app.live.active, app.live.trial) == ("supplied", 3))


async def test_a_click_opens_a_tile() -> None:
    async with opened(FakeView(run_of_trials(4, end=False))) as (app, pilot):
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, TrialsScreen))
        await loaded(app, pilot)
        await pilot.click("TileGrid", offset=(CELL_WIDTH + 2, 1))
        await pilot.click("TileGrid", offset=(CELL_WIDTH + 2, 1), times=2)
        await until(pilot, lambda: app.screen is app.live)
        assert app.live.trial == 4


async def test_brackets_go_from_trial_to_trial_and_stop_at_the_ends() -> None:
    async with opened(FakeView(run_of_trials(3, end=False))) as (app, pilot):
        assert app.live.trial == 3
        await pilot.press("left_square_bracket")
        assert app.live.trial == 2
        await loaded(app, pilot)
        assert "evaluator failed" in screen_text(app)
        await pilot.press("left_square_bracket", "left_square_bracket")
        assert app.live.trial == 1
        await pilot.press("right_square_bracket", "right_square_bracket", "right_square_bracket")
        assert app.live.trial == 3


async def test_a_run_of_one_trial_has_no_grid() -> None:
    async with opened(FakeView(scripted_run(), hold_at=100)) as (app, pilot):
        await pilot.press("a", "left_square_bracket")
        assert app.screen is app.live


@pytest.mark.parametrize("size", [(20, 5), (1, 1)])
async def test_small_terminals_do_not_crash(size: tuple[int, int]) -> None:
    async with opened(FakeView(run_of_trials(5, end=False)), size) as (app, pilot):
        await pilot.press("a", "down", "right", "up", "enter")
        assert app.is_running

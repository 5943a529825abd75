"""A replay's keys: pause, step, back, turns, speed, next failed assertion; and presentation
mode.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from driving import NARROW, SIZES, is_a, opened, screen_text, until
from fakes import FakeServices, FakeView
from run_script import run_of_trials, scripted_run

from bioeval_tui.evaluation.engine.attach import ReplayedRun
from bioeval_tui.evaluation.engine.interface import RunView
from bioeval_tui.record.events import write_event
from bioeval_tui.report.result import result_of
from bioeval_tui.tui.app import BioevalApp


@pytest.fixture
def view(tmp_path: Path) -> ReplayedRun:
    """A replay of the scripted run that waits at its beginning; its clock stands still."""
    return replay_of(tmp_path / "7f3a2c91.jsonl", scripted_run())


def replay_of(path: Path, script: Any) -> ReplayedRun:
    path.write_bytes(b"".join(map(write_event, script)))
    found = ReplayedRun(path, 1.0, clock=lambda: 0.0)
    found.seek(3)
    return found


def replayed(view: ReplayedRun) -> dict[str, Any]:
    async def open_view() -> RunView:
        return view

    return {"start": open_view}


def messages(app: BioevalApp) -> int:
    state = app.live.state
    return (
        sum(m.done for talk in state.conversations.values() for m in talk.messages) if state else 0
    )


async def test_a_replay_steps_forward_and_back_by_one_message(view: ReplayedRun) -> None:
    async with opened(None, services=FakeServices(), **replayed(view)) as (app, pilot):
        await until(pilot, lambda: bool(view.marks))
        await until(pilot, lambda: "‖ REPLAY" in screen_text(app))
        await pilot.press("n")
        await until(pilot, lambda: messages(app) == 1)
        await pilot.press("n")
        await until(pilot, lambda: messages(app) == 2)
        await pilot.press("n")
        await until(pilot, lambda: messages(app) == 3)
        await pilot.press("b")
        await until(pilot, lambda: messages(app) == 2 and "‖ REPLAY" in screen_text(app))


@pytest.mark.long
async def test_exclamation_mark_goes_to_the_next_failed_assertion(view: ReplayedRun) -> None:
    async with opened(None, services=FakeServices(), **replayed(view)) as (app, pilot):
        await until(pilot, lambda: bool(view.marks))
        await pilot.press("!")
        await until(pilot, lambda: bool(app.live.state.conversation("withheld").final_checks))
        checks = app.live.state.conversation("withheld").final_checks
        assert [check.status for check in checks.values()].count("failed") == 1, (
            "what never held fails at the end"
        )
        for _ in range(8):
            await pilot.press("!")
        await until(pilot, lambda: "No more failed assertions" in screen_text(app))


@pytest.mark.long
async def test_the_replay_speed_changes_in_steps_between_limits_and_is_shown(
    view: ReplayedRun,
) -> None:
    async with opened(None, services=FakeServices(), **replayed(view)) as (app, pilot):
        await until(pilot, lambda: bool(view.marks))
        await pilot.press(">", ">")
        assert view.speed == 4
        await until(pilot, lambda: "REPLAY 4×" in screen_text(app))
        for _ in range(9):
            await pilot.press(">")
        assert view.speed == 32
        for _ in range(9):
            await pilot.press("<")
        assert view.speed == 0.5


async def test_space_plays_and_pauses_a_replay(view: ReplayedRun) -> None:
    async with opened(None, services=FakeServices(), **replayed(view)) as (_, pilot):
        await until(pilot, lambda: bool(view.marks))
        await pilot.press("space")
        assert not view.paused
        await pilot.press("space")
        assert view.paused


async def test_a_live_run_has_no_replay_keys() -> None:
    view = FakeView(scripted_run(), hold_at=100)
    async with opened(view) as (app, pilot):
        await pilot.press("b", "!", ">")
        assert view.sent == []
        assert all(
            not app.live.replay.check_action(action, ())
            for action in ("hold", "play", "play_step", "speed")
        )


async def test_brackets_go_to_the_next_and_previous_turn(view: ReplayedRun) -> None:
    async with opened(None, services=FakeServices(), **replayed(view)) as (app, pilot):
        await until(pilot, lambda: bool(view.marks))
        await until(pilot, lambda: "start   playback 00:0" in screen_text(app))
        for turn in (1, 2, 3):
            await pilot.press("]")
            await until(
                pilot, lambda turn=turn: f"without the facts, turn {turn} of" in screen_text(app)
            )
        assert app.live.caption().startswith("medication_reminder, run 7f3a2c91. ")
        assert "A request to the agent failed" in app.live.caption(), "what just happened"
        assert messages(app) == 6
        # the turn's checks came with it
        assert len(app.live.state.conversation("withheld").checks[0]) == 3
        await pilot.press("[")
        await until(pilot, lambda: "without the facts, turn 2 of" in screen_text(app))
        await until(pilot, lambda: messages(app) == 4)
        assert "‖ REPLAY" in screen_text(app)
        await pilot.press("E")
        await until(pilot, lambda: app.live.state.ended is not None)
        # the score card is closed; the run goes back before its end
        await pilot.press("escape", "[")
        await until(
            pilot, lambda: app.live.state is not None and "with the facts, turn" in screen_text(app)
        )
        assert app.live.state.ended is None
        await pilot.press("B")
        await until(pilot, lambda: messages(app) == 0)


@pytest.mark.long
async def test_every_key_press_counts_however_fast_you_press(view: ReplayedRun) -> None:
    async with opened(None, services=FakeServices(), **replayed(view)) as (app, pilot):
        await until(pilot, lambda: bool(view.marks))
        for key in ["right_square_bracket"] * 4:
            app.simulate_key(key)  # at once, before anything is drawn
        await until(pilot, lambda: "without the facts, turn 4 of" in screen_text(app))
        for key in ["left_square_bracket"] * 3:
            app.simulate_key(key)  # the run is shown anew for the first of them
        await until(pilot, lambda: "without the facts, turn 1 of" in screen_text(app))
        assert "● turn  ○ ahead" in screen_text(app)
        before = messages(app)
        for key in "nnn":
            app.simulate_key(key)
        await until(pilot, lambda: messages(app) == before + 3)
        for key in "bb":
            app.simulate_key(key)
        await until(pilot, lambda: messages(app) == before + 1)


@pytest.mark.long
async def test_replay_keys_work_over_the_score_card_and_close_it(view: ReplayedRun) -> None:
    async with opened(None, services=FakeServices(), **replayed(view)) as (app, pilot):
        await until(pilot, lambda: bool(view.marks))
        await pilot.press("E")
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await pilot.press("[")
        await until(
            pilot, lambda: app.screen is app.live and "with the facts, turn" in screen_text(app)
        )
        assert app.live.state.ended is None
        await until(pilot, lambda: app.live.check_action("score_card", ()) is True)
        await pilot.press("o")
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await pilot.press("space")
        await until(pilot, lambda: app.screen is app.live)
        assert not view.paused


async def test_a_run_that_was_opened_at_its_end_steps_back_and_plays_on_at_its_own_pace(
    tmp_path: Path,
) -> None:
    path = tmp_path / "7f3a2c91.jsonl"
    path.write_bytes(b"".join(map(write_event, scripted_run())))
    view = ReplayedRun(path, None, clock=lambda: 0.0)
    async with opened(None, services=FakeServices(), **replayed(view)) as (app, pilot):
        await until(pilot, lambda: bool(view.marks))
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        assert app.screen.active_bindings["left_square_bracket"].enabled
        assert "right_square_bracket" not in app.screen.active_bindings, "no turn follows the end"
        await pilot.press("b")
        await until(pilot, lambda: app.screen is app.live and messages(app) > 0)
        before = messages(app)
        await pilot.press("[")
        await until(pilot, lambda: 0 < messages(app) < before)
        assert app.live.state.ended is None
        await pilot.press("space")
        assert (view.paused, view.speed) == (False, 1.0)


@pytest.mark.long
async def test_the_progress_bar_takes_clicks_and_arrow_keys(view: ReplayedRun) -> None:
    async with opened(None, NARROW, services=FakeServices(), **replayed(view)) as (app, pilot):
        await until(pilot, lambda: bool(view.marks))
        bar = app.live.query_one("ReplayControls")
        await until(pilot, lambda: bar.display and bar.region.height == 1)
        await pilot.click("ReplayControls", offset=(20, 0))
        await until(pilot, lambda: messages(app) > 2)
        before = messages(app)
        assert bar.has_focus
        await pilot.press("left")
        await until(pilot, lambda: 0 < messages(app) < before)
        await pilot.press("end")
        await until(pilot, lambda: app.live.state.ended is not None)


async def test_going_to_a_turn_of_another_trial_shows_that_trial(tmp_path: Path) -> None:
    view = replay_of(tmp_path / "7f3a2c91.jsonl", run_of_trials(3))
    async with opened(None, services=FakeServices(), **replayed(view)) as (app, pilot):
        await until(pilot, lambda: bool(view.marks))
        second = next(mark for mark in view.marks if mark.trial == 2)
        app.live.replay.seek(second)
        await until(
            pilot, lambda: app.live.watched.trial == 2 and "trial 2, turn 1 of" in screen_text(app)
        )
        await pilot.press("{")
        assert app.live.watched.trial == 1
        await pilot.press("}")
        assert app.live.watched.trial == 2


@SIZES
async def test_presentation_mode_shows_only_the_conversation_and_what_came_out(
    size: tuple[int, int], view: ReplayedRun
) -> None:
    async with opened(None, size, services=FakeServices(), **replayed(view)) as (app, pilot):
        await until(pilot, lambda: bool(view.marks))
        for _ in range(3):
            await pilot.press("]")
        await until(pilot, lambda: messages(app) == 6)
        await pilot.press("p")
        await until(pilot, lambda: "end presentation" in screen_text(app))
        shown = screen_text(app)
        assert "REPLAY" in shown
        assert "without the facts" in shown
        assert "tasks ·" not in shown
        assert "assertions 2 of 3" in shown
        assert "end presentation" in shown
        assert "find" not in shown
        await pilot.press("]")
        await until(pilot, lambda: messages(app) == 8)
        await pilot.press("E")  # no score card falls over the presentation
        await until(pilot, lambda: app.live.state.ended is not None)
        await pilot.pause()
        assert app.screen is app.live
        await pilot.press("escape")
        await until(pilot, lambda: "end presentation" not in screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: "end presentation" in screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: "end presentation" not in screen_text(app))
        scores = [f"{talk.score.score:.2f}" for talk in app.live.state.conversations.values()]
        await until(pilot, lambda: all(score in screen_text(app) for score in scores))


@SIZES
async def test_a_presentation_ends_with_what_came_out_and_why(
    size: tuple[int, int], view: ReplayedRun
) -> None:
    async with opened(None, size, services=FakeServices(), **replayed(view)) as (app, pilot):
        await until(pilot, lambda: bool(view.marks))
        await pilot.press("E")
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await pilot.press("escape", "p")
        result = result_of(app.live.state)
        assert result is not None
        await until(pilot, lambda: "WHY" in screen_text(app))
        shown = " ".join(screen_text(app).split())
        tasks = [word for title, _ in result.brief.tasks for word in title.split()]
        for word in (*result.answer.sure.split(), *tasks, "without with the"):
            assert word in shown, word


@pytest.mark.long
async def test_space_at_the_end_plays_the_replay_again(view: ReplayedRun) -> None:
    async with opened(None, services=FakeServices(), **replayed(view)) as (app, pilot):
        await until(pilot, lambda: bool(view.marks))
        await pilot.press("E")
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await pilot.press("space")
        await until(pilot, lambda: app.screen is app.live and not view.paused)
        assert app.live.state is None or app.live.state.ended is None, "it plays from the beginning"

"""The grid of many conversations, of a run with several trials and of a batch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from batches import NOW, glances
from driving import NARROW, WIDE, is_a, loaded, opened, screen_text, until
from fakes import FakeServices, FakeView
from history import filled_services, history
from run_script import run_of_trials, scripted_run
from textual.widgets import Static

from bioeval_tui.evaluation.engine.interface import Intent
from bioeval_tui.record import events
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.report import brief
from bioeval_tui.report.answer import answer_batch
from bioeval_tui.tui.run_form import RunForm
from bioeval_tui.tui.runs import batch_view
from bioeval_tui.tui.runs.batch_view import (
    CELL_WIDTH,
    Rank,
    arrange,
    planned,
    run_glances,
    tile_lines,
)
from bioeval_tui.tui.runs.grid import conclude
from tests.unit.report.recorded import Recorded, Talk


def test_cells_that_need_attention_come_first_then_the_worst_scores() -> None:
    found = arrange(glances(), NOW)
    ranks = [glance.ranked(NOW) for glance in found]
    assert ranks == sorted(ranks)
    assert {
        Rank.NOT_MEASURED,
        Rank.AGENT_FAILED,
        Rank.WAITING,
        Rank.SLOW,
        Rank.RUNNING,
        Rank.QUEUED,
    } < set(ranks)
    done = [glance.value for glance in found if glance.rank is Rank.DONE]
    assert done == sorted(done, key=lambda value: value or 0.0)
    assert {glance.job for glance in arrange(glances(), NOW, "llama cohort")} == {"cohort_question"}


@pytest.mark.parametrize("several", [True, False])
def test_a_cell_has_three_lines_and_says_what_is_slow(several: bool) -> None:
    for glance in glances():
        lines = tile_lines(glance, NOW, several, CELL_WIDTH - 3)
        assert len(lines) == 3
        assert all(len("".join(cell.text for cell in line)) <= CELL_WIDTH - 3 for line in lines)
    slow = next(glance for glance in glances() if glance.ranked(NOW) is Rank.SLOW)
    assert "21 s" in "".join(
        cell.text for line in tile_lines(slow, NOW, several, 60) for cell in line
    )
    # not beside the time of an earlier answer
    assert tile_lines(slow, NOW, several, 60)[2][1].text == "◷ slow"


def test_the_grid_shows_finished_running_and_queued_conversations() -> None:
    state = apply_all(RunState(), run_of_trials(4, end=False))
    found = {(g.key.condition, g.key.trial): g for g in run_glances(state)}
    assert len(found) == 8
    assert found["supplied", 3].rank is Rank.NOT_MEASURED
    assert found["withheld", 4].rank is Rank.SLOW
    assert found["supplied", 4].rank is Rank.QUEUED
    done = state.conversation("supplied", 1)
    assert done is not None
    assert done.score is not None
    assert (found["supplied", 1].rank, found["supplied", 1].value) == (Rank.DONE, done.score.score)
    gone = {(g.key.condition, g.key.trial): g.rank for g in run_glances(state, gone=True)}
    assert gone["withheld", 4] is gone["supplied", 4] is Rank.NOT_MEASURED
    assert [g.rank for g in planned("x", "jobs/a.yml", None, 2)] == [Rank.QUEUED] * 4


async def test_choosing_a_cell_opens_its_conversation() -> None:
    async with opened(FakeView(run_of_trials(4, end=False))) as (app, pilot):
        await pilot.press("A")
        await until(pilot, lambda: is_a(app.screen, "GridScreen") and bool(app.screen.shown))
        assert "with the facts · trial 3" in screen_text(app)
        await pilot.press("right", "enter")
        await until(
            pilot, lambda: (app.live.watched.condition, app.live.watched.trial) == ("withheld", 4)
        )
        await loaded(app, pilot)
        assert "esc grid" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: is_a(app.screen, "GridScreen") and bool(app.screen.shown))
        await pilot.press("enter")
        await until(
            pilot, lambda: (app.live.watched.condition, app.live.watched.trial) == ("supplied", 3)
        )


async def test_brackets_switch_trials_and_stop_at_the_first_and_last() -> None:
    async with opened(FakeView(run_of_trials(3, end=False))) as (app, pilot):
        await until(pilot, lambda: app.live.watched.trial == 3)
        await pilot.press("left_curly_bracket")
        assert app.live.watched.trial == 2
        await loaded(app, pilot)
        assert "user failed" in screen_text(app)
        await pilot.press("left_curly_bracket", "left_curly_bracket")
        assert app.live.watched.trial == 1
        await pilot.press("right_curly_bracket", "right_curly_bracket", "right_curly_bracket")
        assert app.live.watched.trial == 3


async def test_a_run_of_one_trial_has_no_grid() -> None:
    async with opened(FakeView(scripted_run(), hold_at=100)) as (app, pilot):
        await pilot.press("A", "left_curly_bracket")
        assert app.screen is app.live


def batch_services() -> FakeServices:
    """Return services with a batch of 24 conversations, whose first run is shown."""
    script = scripted_run()
    started = script[0]
    assert isinstance(started, events.RunStarted)
    script[0] = started.model_copy(update={"batch_id": "b1"})
    view = FakeView(script, hold_at=100)
    view.batch_id = "b1"
    services = FakeServices(view)
    services.glances = [glances()]
    return services


async def shown(app: object, pilot: object) -> Any:
    """Wait for the grid, and return it."""

    def grid_is_shown() -> bool:
        screen: Any = app.screen  # type: ignore[attr-defined]
        return is_a(screen, "GridScreen") and bool(screen.shown)

    await until(pilot, grid_is_shown)  # type: ignore[arg-type]
    return app.screen  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_a_batch_opens_with_the_grid_and_enter_opens_a_run(size: tuple[int, int]) -> None:
    services = batch_services()
    async with opened(None, size, services=services) as (app, pilot):
        grid = await shown(app, pilot)
        await loaded(app, pilot)
        text = screen_text(app)
        assert "batch of 2 runs" in text
        assert "user failed" in text
        await pilot.press("enter")
        first = grid.shown[0].key
        await until(pilot, lambda: ("open", (first.run_id, None)) in services.asked)
        await until(pilot, lambda: app.screen is app.live and app.live.from_grid)
        await pilot.press("escape")
        await shown(app, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.live)


async def test_the_grid_says_what_the_tasks_of_the_selected_conversation_score() -> None:
    services = batch_services()
    tasks = (("Learn the dose", 0.0), ("Learn about alcohol", 1.0))
    services.glances = [[replace(glance, tasks=tasks) for glance in glances()]]
    async with opened(None, services=services) as (app, pilot):
        await shown(app, pilot)
        await loaded(app, pilot)
        assert "0.00 Learn the dose · 1.00 Learn about alcohol" in screen_text(app)


async def test_the_grid_can_be_navigated_filtered_copied_followed_and_stopped() -> None:
    services = batch_services()
    services.glances.append([replace(glance, rank=Rank.DONE) for glance in glances()])
    async with opened(None, services=services) as (app, pilot):
        grid = await shown(app, pilot)
        for keys, at in (
            (("right", "l"), 2),
            (("down",), 6),
            (("k",), 2),
            (("G",), 23),
            (("home",), 0),
        ):
            await pilot.press(*keys)
            assert grid.grid.cursor == at
        await pilot.press("pagedown", "pageup", "j", "h")
        await pilot.press("slash", *"interaction", "enter")
        assert {glance.job for glance in grid.shown} == {"drug_interaction"}
        await pilot.press("y", "y")
        assert "drug_interaction" in app.clipboard
        await pilot.press("escape")
        assert len(grid.shown) == 24
        await pilot.press("C")
        await until(pilot, lambda: ("stop", "b1") in services.asked)
        services.next_look.set()
        await until(pilot, lambda: all(glance.rank is Rank.DONE for glance in grid.shown))
        await loaded(app, pilot)
        assert "■ ENDED" in screen_text(app)
        assert grid.check_action("stop", ()) is False


async def test_a_queued_conversation_cannot_be_opened() -> None:
    services = batch_services()
    services.glances = [planned("x", "jobs/a.yml", "m", 2)]
    async with opened(None, services=services) as (app, pilot):
        grid = await shown(app, pilot)
        await pilot.press("enter")
        await loaded(app, pilot)
        assert app.screen is grid
        assert "has not started yet" in screen_text(app)


async def test_quitting_a_batch_asks_and_cancels_every_run() -> None:
    services = batch_services()
    services.batch_runs = True
    async with opened(None, services=services) as (app, pilot):
        await shown(app, pilot)
        await pilot.press("q")
        await loaded(app, pilot)
        await pilot.press("X")
        await until(pilot, lambda: app._exit)
    assert ("stop", "b1") in services.asked
    assert services.view is not None
    assert Intent("cancel") not in services.view.sent


async def test_an_unreadable_batch_says_why() -> None:
    services = batch_services()
    async with opened(None, services=services) as (app, pilot):
        await shown(app, pilot)
        await pilot.press("escape")
        services.error = OSError("the disk is away")
        await pilot.press("A")
        await until(pilot, lambda: "the disk is away" in screen_text(app))


@pytest.mark.long
async def test_clicking_a_cell_opens_it() -> None:
    services = batch_services()
    async with opened(None, services=services) as (app, pilot):
        grid = await shown(app, pilot)
        await pilot.click("TileGrid", offset=(grid.grid.tile_width + 4, 1))
        assert grid.grid.cursor == 1
        await pilot.click("TileGrid", offset=(grid.grid.tile_width + 4, 1), times=2)
        await until(pilot, lambda: app.screen is app.live)


@pytest.mark.long
async def test_of_a_thousand_cells_only_the_visible_ones_are_drawn() -> None:
    services = batch_services()
    services.glances = [glances(1000)]
    async with opened(None, services=services) as (app, pilot):
        grid = await shown(app, pilot)
        assert len(grid.query("*")) < 20
        await pilot.press("end")
        assert grid.grid.cursor == 999
        assert grid.grid.scroll_offset.y > 900


@pytest.mark.parametrize("size", [(20, 5), (1, 1)])
async def test_the_grid_fits_small_terminals(size: tuple[int, int]) -> None:
    services = batch_services()
    async with opened(None, size, services=services) as (app, pilot):
        grid = await shown(app, pilot)
        await pilot.press("end", "home", "right")
        assert grid.grid.cursor == 1
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.live)


@pytest.mark.long
async def test_the_history_opens_the_batch_of_a_run() -> None:
    services = batch_services()
    services.history = [
        run._replace(batch_id="b1" if at == 1 else None) for at, run in enumerate(history())
    ]
    async with opened(None, services=services, start="runs") as (app, pilot):
        assert "A its batch" not in screen_text(app)
        await pilot.press("down")
        await loaded(app, pilot)
        assert "A its batch" in screen_text(app)
        await pilot.press("A")
        await shown(app, pilot)
        assert ("batch", "b1") in services.asked
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "live" and app.live.from_grid)
        await pilot.press("escape")
        await shown(app, pilot)
        # up to where the batch was opened from, not to the conversation again
        await pilot.press("escape")
        await until(
            pilot, lambda: app.current_mode == "runs" and not is_a(app.screen, "GridScreen")
        )


async def test_an_ended_batch_is_compared_and_run_again_with_as_many_trials_as_would_do() -> None:
    services = filled_services(None)
    services.glances = [[replace(glance, rank=Rank.DONE) for glance in glances()]]
    services.again = (
        Path("/jobs/dose.yml"),
        RunForm(url="http://a:1", agent="url", models="small, large"),
    )
    async with opened(None, (120, 40), services=services, start="runs") as (app, pilot):
        app.push_screen(app.batch_grid("b1"))
        services.next_look.set()  # there are no more looks: the batch is over
        await until(pilot, lambda: "= compare the two  r 4 more trials of each" in screen_text(app))
        await pilot.press("equals_sign")
        await until(pilot, lambda: is_a(app.screen, "CompareDialog"))
        await pilot.press("escape", "r")
        await until(pilot, lambda: is_a(app.screen, "RunDialog"))
        assert "5 trials" in screen_text(app)
    runs = dict.fromkeys(glance.key.run_id for glance in services.glances[0])
    assert [asked for asked in services.asked if asked[0] == "again"] == [("again", *runs)]


def test_a_batch_says_why_each_model_lost_most() -> None:
    poor, good = Talk(tasks=(0.2, 1.0), holds=(False,)), Talk(tasks=(1.0, 1.0))
    fair = Talk(tasks=(0.4, 1.0))
    runs = [
        Recorded([one], [two], job, f"20260102-030405-{at}", started={"model": model}).loaded()
        for at, (model, job, one, two) in enumerate(
            (
                ("small", "kidney", good, poor),
                ("small", "dose", good, good),
                ("large", "dose", good, fair),
            )
        )
    ]
    said, (line,) = conclude(*runs)
    words = "".join(cell.text for cell in line)
    assert said == answer_batch(runs)
    assert words.startswith(
        f"large lost most in dose, with the facts ({runs[2].scores['supplied']:.2f}): “task 1”:"
    )
    assert "small" in said.why, "the lowest of all is the answer's reason, and stands there alone"


def test_a_conversation_that_the_judge_still_reads_has_not_ended() -> None:
    script = run_of_trials(1, end=False)
    scored = next(
        n for n, event in enumerate(scripted_run()) if isinstance(event, events.ConversationScored)
    )
    state = apply_all(RunState(), [script[0], *scripted_run()[1:scored]])
    assert [glance.rank for glance in run_glances(state)] == [Rank.RUNNING, Rank.QUEUED]


def test_what_takes_a_look_at_every_conversation_is_done_once_for_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = []

    def make_brief(state: RunState, started: events.RunStarted) -> object:
        made.append(brief.make_brief(state, started))
        return made[-1]

    monkeypatch.setattr(batch_view, "make_brief", make_brief)
    state = apply_all(RunState(), run_of_trials(20))
    found = run_glances(state) + run_glances(state, gone=True)
    assert len(found) == 80
    assert len(made) == 2
    assert {id(glance.brief) for glance in found} == set(map(id, made))


@pytest.mark.long
async def test_a_resize_after_the_end_lays_out_again() -> None:
    services = batch_services()
    services.glances = [[replace(glance, rank=Rank.DONE) for glance in glances()]]
    async with opened(None, (120, 40), services=services) as (app, pilot):
        grid = await shown(app, pilot)
        await until(pilot, lambda: "■ ENDED" in screen_text(app))
        drawn = []
        for width in (80, 120):
            await pilot.resize_terminal(width, 40)
            await until(pilot, lambda width=width: grid.size.width == width)  # type: ignore[misc]
            await loaded(app, pilot)
            drawn.append(str(grid.query_one("#board", Static).content))
        assert max(map(len, drawn[0].splitlines())) <= 80
        assert max(map(len, drawn[1].splitlines())) > 80


TASKS = (
    "Learn which daily dose of metformin is safe",
    "Learn whether alcohol and metformin go together",
)
MODELS = ("medic-large-2026-11-01-instruct-preview", "medic-large-2026-11-01-instruct-stable")


@pytest.mark.parametrize(
    "width", [80, 160, *(pytest.param(width, marks=pytest.mark.long) for width in (100, 120))]
)
async def test_names_of_models_and_tasks_are_whole_on_the_board(width: int) -> None:
    services = batch_services()
    services.glances = [
        [
            replace(
                glance,
                job="kidney",
                model=MODELS[at % 2],
                tasks=tuple((task, 0.5) for task in TASKS),
            )
            for at, glance in enumerate(glances())
        ]
    ]
    async with opened(None, (width, 45), services=services) as (app, pilot):
        await shown(app, pilot)
        await loaded(app, pilot)
        board = str(app.screen.query_one("#board", Static).content)
        assert "…" not in board
        assert [task for task in TASKS if task not in board] == []
        assert [part for name in MODELS for part in name.split("-") if part not in board] == [], (
            "they go on below"
        )


@pytest.mark.long
async def test_an_ended_batch_says_what_all_its_jobs_are_about_and_shows_no_progress() -> None:
    services = batch_services()
    state = apply_all(RunState(), run_of_trials(2))
    found = next(glance.brief for glance in run_glances(state))
    assert found is not None
    brief = replace(
        found, about="Depends on a fact", facts=("The user takes 5 mg of warfarin every evening",)
    )
    services.glances = [[replace(glance, rank=Rank.DONE, brief=brief) for glance in glances(8)]]
    async with opened(None, NARROW, services=services) as (app, pilot):
        grid = await shown(app, pilot)
        await loaded(app, pilot)
        text = screen_text(app)
        assert "8 conversations" in text.splitlines()[0]
        assert "█" not in text
        for job in {glance.job for glance in grid.glances}:
            assert f"{job}  {brief.about}" in text
        assert text.count("   facts 1 ") == 1, "there is room for those of the selected job"


@pytest.mark.long
async def test_of_many_jobs_the_selected_one_is_described() -> None:
    state = run_of_trials(2)
    (first, *_) = run_glances(apply_all(RunState(), state))
    assert first.brief is not None
    jobs = [f"job_{at}" for at in range(6)]
    services = batch_services()
    services.glances = [
        [
            replace(first, key=first.key._replace(run_id=f"20261120-090000-00{at:02x}"), job=job)
            for at, job in enumerate(jobs)
        ]
    ]
    async with opened(None, (100, 40), services=services) as (app, pilot):
        await shown(app, pilot)
        await loaded(app, pilot)
        assert [
            job for job in jobs if f"{job}  {first.brief.topic_words[:20]}" in screen_text(app)
        ] == ["job_0"]
        await pilot.press("right")
        await loaded(app, pilot)
        assert [
            job for job in jobs if f"{job}  {first.brief.topic_words[:20]}" in screen_text(app)
        ] == ["job_1"]

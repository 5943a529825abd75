"""The history of runs: open, replay, mark, compare, report, delete and undo."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import history
import pytest
from driving import (
    NARROW,
    SIZES,
    WIDE,
    drawn_by,
    is_a,
    loaded,
    opened,
    press_without_effect,
    screen_text,
    sorted_by,
    until,
)
from fakes import FakeServices, FakeView
from run_script import scripted_run

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.record.events import MessageCompleted, RunEvent, TranscriptScored
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.findings import Gain
from bioeval_tui.report.result import result_of
from bioeval_tui.tui.run_form import RunForm
from bioeval_tui.tui.runs import runs_view
from bioeval_tui.tui.runs.passages import PassagesDialog
from tests.unit.report.recorded import Recorded, Talk


def given(**options: object) -> FakeServices:
    return history.filled_services(FakeView(scripted_run(), mode="replay"), **options)


@SIZES
async def test_runs_are_listed_newest_first_and_running_ones_counted(size: tuple[int, int]) -> None:
    async with opened(None, size, services=given(), start="runs") as (app, _):
        lines = screen_text(app).splitlines()
        assert "10 runs" in lines[0]
        assert "● 1 live" in lines[0]
        assert "● live" in lines[2]
        assert "enter open" in lines[-1]


async def test_enter_opens_a_run_on_the_live_screen() -> None:
    services = given()
    async with opened(None, WIDE, services=services, start="runs") as (app, pilot):
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.current_mode == "live")
    assert services.asked == [("open", (services.history[1].run_id, None))]


@pytest.mark.long
async def test_p_asks_for_a_replay_speed_and_remembers_it() -> None:
    services = given()
    async with opened(None, services=services, start="runs") as (app, pilot):
        await pilot.press("down", "space")
        await until(pilot, lambda: is_a(app.screen, "ReplayDialog"))
        await loaded(app, pilot)
        assert "as recorded" in screen_text(app)
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: app.current_mode == "live")
    assert services.asked == [("open", (services.history[1].run_id, 4.0))]
    assert services.preferences["runs.speed"] == 4.0


async def test_a_run_in_progress_can_be_opened_but_not_replayed_reported_or_deleted() -> None:
    services = given()
    async with opened(None, services=services, start="runs") as (app, pilot):
        footer = screen_text(app).splitlines()[-1]
        assert "replay" not in footer
        assert "delete" not in footer
        await pilot.press("space", "x", "D")
        await loaded(app, pilot)
        assert is_a(app.screen, "RunsScreen")
    assert services.asked == []


async def test_of_three_marked_runs_it_says_what_ranks_them() -> None:
    async with opened(None, services=given(), start="runs") as (app, pilot):
        await pilot.press("m", "m", "m", "equals_sign")
        await loaded(app, pilot)
        words = " ".join(screen_text(app).split())
        assert "Two runs are compared here; `bioeval-tui runs compare" in words
        assert is_a(app.screen, "RunsScreen")


@SIZES
async def test_two_marked_runs_are_compared_with_the_older_one_first(size: tuple[int, int]) -> None:
    services = given()
    async with opened(None, size, services=services, start="runs") as (app, pilot):
        assert "compare" not in screen_text(app).splitlines()[-1]
        await pilot.press("down", "m")
        await loaded(app, pilot)
        assert "mark another to compare" in screen_text(app)
        await pilot.press("m", "equals_sign")
        await until(pilot, lambda: is_a(app.screen, "CompareDialog"))
        await loaded(app, pilot)
        assert "WHAT  B scored higher: in 6 of 6 pairs without the facts" in screen_text(app)
        assert "▲ better" in screen_text(app)
        await pilot.press("escape")
        await loaded(app, pilot)
        assert is_a(app.screen, "RunsScreen")
    assert services.asked == [("compare", (services.history[2].run_id, services.history[1].run_id))]


@pytest.mark.skipif(os.name == "nt", reason="a script is a program where its first line says so")
async def test_the_job_of_a_run_is_edited_where_it_was_decided_and_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor, told, job = tmp_path / "vi", tmp_path / "told", tmp_path / "dose.yml"
    editor.write_text(f'#!/bin/sh\necho "$@" > "{told}"\n', encoding="utf-8")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    job.write_text("tasks:\n- task: one\n- task: two\n", encoding="utf-8")
    services = history.filled_services(FakeView(scripted_run()))
    services.again = job, RunForm(repeats="5")
    services.decided = Gain("task", 2, "two")
    async with opened(None, services=services, start="runs") as (app, pilot):
        monkeypatch.setattr(app, "suspend", nullcontext)
        await pilot.press("end")  # the first is in progress
        await until(pilot, lambda: "e edit the job" in screen_text(app))
        await pilot.press("e")
        await until(pilot, told.exists)
        await pilot.press("r")
        await until(pilot, lambda: is_a(app.screen, "RunDialog"))
        assert "5 trials: 10 conversations" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: bool(services.started))
    assert told.read_text(encoding="utf-8").split() == ["+3", str(job)]
    assert (services.started[0].jobs, services.started[0].trials) == ((job,), 5)


async def test_a_run_whose_job_is_gone_says_so_when_it_is_edited_or_run_again() -> None:
    for key in ("e", "r"):
        services = history.filled_services(FakeView(scripted_run()))
        async with opened(None, services=services, start="runs") as (app, pilot):
            await pilot.press("end", key)
            await until(pilot, lambda app=app: "is gone: /jobs/gone.yml" in screen_text(app))


async def test_marking_a_run_again_unmarks_it() -> None:
    async with opened(None, services=given(), start="runs") as (app, pilot):
        await pilot.press("m", "up", "m")
        await loaded(app, pilot)
        assert "marked" not in screen_text(app)


async def test_a_comparison_that_fails_says_why() -> None:
    async def failing(a: str, b: str) -> None:
        raise BioevalError("the recording is damaged at line 3")

    services = given(compare=failing)
    async with opened(None, services=services, start="runs") as (app, pilot):
        await pilot.press("m", "m", "equals_sign")
        await until(pilot, lambda: "damaged at line 3" in screen_text(app))
        assert is_a(app.screen, "WorkDialog")
        await pilot.press("escape")
        await loaded(app, pilot)
        assert is_a(app.screen, "RunsScreen")


async def test_x_writes_a_report_of_this_run_or_of_all_marked_runs() -> None:
    services = given()
    async with opened(None, services=services, start="runs") as (app, pilot):
        await pilot.press("down", "x")
        await until(pilot, lambda: "Wrote /reports/report.html" in screen_text(app))
        await pilot.press("m", "m", "x")
        await until(pilot, lambda: len(services.asked) == 2)
        ids = [run.run_id for run in services.history]
        services.error = BioevalError("the folder cannot be written")
        await pilot.press("x")
        await until(pilot, lambda: "cannot be written" in screen_text(app))
    assert services.asked == [("report", (ids[1],)), ("report", (ids[1], ids[2]))]


async def test_a_deleted_run_can_be_restored() -> None:
    services = given()
    gone = services.history[1].run_id
    async with opened(None, WIDE, services=services, start="runs") as (app, pilot):
        assert "undo" not in screen_text(app).splitlines()[-1]
        await pilot.press("down", "D")
        await until(pilot, lambda: "9 runs" in screen_text(app))
        assert [n.message for n in app._notifications] == [
            "Moved 1 run to the trash; in Runs, u restores it"
        ]
        listed = app.screen.listing.items  # type: ignore[attr-defined]
        assert gone not in [run.run_id for run in listed]
        await pilot.press("u")
        await until(pilot, lambda: "10 runs" in screen_text(app))
    assert services.asked == [("delete", (gone,))]


async def test_a_failed_delete_says_why() -> None:
    def failing(run_ids: object) -> None:
        raise BioevalError("1 run still in progress; cancel first")

    async with opened(None, services=given(_delete_runs=failing), start="runs") as (app, pilot):
        await pilot.press("m", "D")
        await until(pilot, lambda: "Could not delete" in screen_text(app))


@pytest.mark.parametrize("size", [WIDE, (100, 24)])
async def test_runs_can_be_filtered_sorted_and_reversed_with_exact_times(
    size: tuple[int, int],
) -> None:
    services = given()
    async with opened(None, size, services=services, start="runs") as (app, pilot):
        await pilot.press("slash", *"variant", "enter")
        await loaded(app, pilot)
        assert "3 shown" in screen_text(app)
        await pilot.press("escape")
        await loaded(app, pilot)
        await pilot.press("left")
        await loaded(app, pilot)
        assert "status▾" in screen_text(app)
        await pilot.press("R")
        await loaded(app, pilot)
        assert "status▴" in screen_text(app)
        assert "min ago" in screen_text(app)
        assert "yesterday" in screen_text(app)
        await pilot.press("w")
        await loaded(app, pilot)
        when = services.history[1].began.astimezone()
        assert f"{when:%m-%d %H:%M}" in screen_text(app)
    assert services.preferences["runs.exact"] is True
    assert services.preferences["runs.sorting"] == ["status", True]


async def test_a_wide_terminal_shows_the_run_and_its_trend() -> None:
    async with opened(None, WIDE, services=given(), start="runs") as (app, pilot):
        await pilot.press("j")
        await loaded(app, pilot)
        text = screen_text(app)
        assert "means of 6 runs of this job" in text
        assert text.index("WHAT") < text.index("means of 6 runs")
        assert "NEXT" in text


async def test_a_narrow_terminal_shows_the_conclusion_below_the_table() -> None:
    async with opened(None, NARROW, services=given(), start="runs") as (app, pilot):
        await pilot.press("j")
        await until(pilot, lambda: "What 20261120-090002-0002 found." in screen_text(app))


@pytest.mark.long
@pytest.mark.parametrize("start", ["jobs", "runs", "benchmarks", "medals"])
async def test_a_wider_terminal_never_shows_fewer_columns(start: str) -> None:
    async with opened(None, (60, 40), services=given(), start=start) as (app, pilot):
        seen: set[str] = set()
        for width in (80, 100, 120, 135, 160, 200):
            await pilot.resize_terminal(width, 40)
            await loaded(app, pilot)
            head = app.screen.query("TableHead").first()
            now = set(head.render().plain.split())
            assert now >= seen, f"{width}: {seen - now}"
            seen = now


async def test_a_run_that_ends_elsewhere_is_updated_and_the_cursor_stays_on_its_row() -> None:
    services = given()
    async with opened(None, services=services, start="runs") as (app, pilot):
        await pilot.press("down", "down")
        newer = history.run(77, "cohort_question", None, ago=timedelta(0), status="running")
        ended = services.history[0]._replace(status="completed", score=0.5)
        services.history = [newer, ended, *services.history[1:]]
        app.screen.refresh_items()  # type: ignore[attr-defined]
        await loaded(app, pilot)
        assert "11 runs" in screen_text(app)
        assert app.screen.query_one("RowList").cursor == 3
        assert app.screen.looked_at is services.history[3]  # type: ignore[attr-defined]


async def test_deleted_runs_lose_their_marks() -> None:
    services = given()
    async with opened(None, services=services, start="runs") as (app, pilot):
        await pilot.press("down", "m")
        services.history = [services.history[0], *services.history[2:]]
        app.screen.refresh_items()  # type: ignore[attr-defined]
        await loaded(app, pilot)
        assert "marked" not in screen_text(app)


@SIZES
async def test_an_empty_run_list_says_what_to_do_first(size: tuple[int, int]) -> None:
    services = given(history=[])
    async with opened(None, size, services=services, start="runs") as (app, pilot):
        assert "No runs yet" in screen_text(app)
        assert "1  opens the jobs" in screen_text(app)
        await press_without_effect(app, pilot, "enter", "m", "equals_sign", "space", "x", "D")


@pytest.mark.long
async def test_of_ten_thousand_runs_only_the_visible_rows_are_drawn() -> None:
    many = [history.run(n, f"job-{n % 7}", 0.5, ago=timedelta(minutes=n)) for n in range(10_000)]
    async with opened(None, services=given(history=many), start="runs") as (app, pilot):
        assert "10,000 runs" in screen_text(app)
        await pilot.press("end")
        await loaded(app, pilot)
        await pilot.press("slash", *"job-3")
        await loaded(app, pilot)
        assert "1,429 shown" in screen_text(app)


async def test_hostile_run_names_are_shown_literally() -> None:
    nasty = history.history()[1]._replace(
        job="[/x] [@click=app.quit]t[/]", model="[b +", fault="[/INST]"
    )
    async with opened(None, services=given(history=[nasty]), start="runs") as (app, pilot):
        assert "[/x] [@click=app.qui" in screen_text(app)
        await pilot.click("RowList", offset=(3, 0))
        await pilot.press("space")
        await loaded(app, pilot)
        assert is_a(app.screen, "ReplayDialog")
        assert "[/x] [@click=app.qui" in screen_text(app)
        assert not app._exit


@pytest.mark.long
@SIZES
async def test_the_cursor_marks_exactly_one_row_wherever_the_list_is_scrolled(
    size: tuple[int, int],
) -> None:
    many = [history.run(n, f"job-{n:03}", 0.5, ago=timedelta(minutes=n)) for n in range(200)]
    async with opened(None, size, services=given(history=many), start="runs") as (app, pilot):
        rows = app.screen.query_one("RowList")
        for key in ("pagedown", "pagedown", "up", "up", "down", "pageup", "down"):
            await pilot.press(key)
            await loaded(app, pilot)
        height = rows.size.height
        shades = [
            {segment.style.bgcolor for segment in rows.render_line(y) if segment.style}
            for y in range(height)
        ]
        drawn = [
            {segment.style.bgcolor for segment in strip.crop(2, 10) if segment.style}
            for strip in app.screen._compositor.render_strips()[rows.region.y : rows.region.bottom]
        ]
        assert [shade != shades[-1] for shade in shades].count(True) == 1
        assert [shade != drawn[-1] for shade in drawn].count(True) == 1
        assert (
            drawn.index(next(s for s in drawn if s != drawn[-1]))
            == rows.cursor - rows.scroll_offset.y
        )


@SIZES
async def test_enter_on_a_compared_row_shows_both_passages_side_by_side(
    size: tuple[int, int],
) -> None:
    services = given(reviewed_state=apply_all(RunState(), scripted_run()))
    async with opened(None, size, services=services, start="runs") as (app, pilot):
        await pilot.press("down", "m", "m", "equals_sign")
        await until(pilot, lambda: is_a(app.screen, "CompareDialog"))
        await loaded(app, pilot)
        await pilot.press("end", "up", "up", "up", "up", "enter")  # the assertion that differs
        await until(pilot, lambda: is_a(app.screen, "PassagesDialog"))
        await loaded(app, pilot)
        assert "reminder exists" in screen_text(app).splitlines()[0]
        for name in "AB":
            assert f"{name} · agent · trial 1" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: is_a(app.screen, "CompareDialog"))


@SIZES
async def test_a_run_without_a_passage_of_its_own_is_shown_where_its_agent_begins_to_differ(
    size: tuple[int, int],
) -> None:
    def better(event: RunEvent) -> RunEvent:
        if isinstance(event, TranscriptScored):
            tasks = tuple(
                task.model_copy(update={"score": 1.0, "evidence": ()}) for task in event.tasks
            )
            return event.model_copy(update={"tasks": tasks})
        if isinstance(event, MessageCompleted) and event.turn == 2 and event.role == "assistant":
            return event.model_copy(update={"content": "Nothing was saved."})
        return event

    one, other = (
        apply_all(RunState(), run) for run in (scripted_run(), map(better, scripted_run()))
    )
    found = [result_of(state) for state in (one, other)]
    async with opened(None, size, services=given(), start="runs") as (app, pilot):
        title = one.job["tasks"][0]["task"]
        dialog = PassagesDialog((found[0], found[1]), "withheld", title)  # type: ignore[arg-type]
        await app.push_screen(dialog)
        await loaded(app, pilot)
        shown = screen_text(app)
        assert "Nothing was saved." in shown
        assert "the conversations differ from here" in shown


async def test_a_comparison_can_show_only_the_differences() -> None:
    async with opened(None, WIDE, services=given(), start="runs") as (app, pilot):
        await pilot.press("down", "m", "m", "equals_sign")
        await until(pilot, lambda: is_a(app.screen, "CompareDialog"))
        await loaded(app, pilot)
        whole = drawn_by(app, "CompareDialog RowList")
        await pilot.press("O")
        await loaded(app, pilot)
        assert "O all rows" in screen_text(app)
        await pilot.press("O")
        await loaded(app, pilot)
        assert drawn_by(app, "CompareDialog RowList") == whole


async def test_runs_are_found_by_job_status_and_fault() -> None:
    async with opened(None, services=given(), start="runs") as (app, pilot):
        for words, count in (
            ("variant", 3),
            ("interrupted", 1),
            ("fault judge", 1),
            ("medication rehearsal", 2),
        ):
            await pilot.press("slash", *words, "enter")
            shown = f"{count} shown"
            await until(pilot, lambda shown=shown: shown in screen_text(app))  # type: ignore[misc]
            await pilot.press("escape")
            await loaded(app, pilot)


@pytest.mark.long
async def test_every_column_sorts_the_runs_and_missing_values_come_last() -> None:
    services = given()
    best = max(services.history, key=lambda run: run.score or 0.0)
    async with opened(None, (200, 40), services=services, start="runs") as (app, pilot):
        seen = set()
        for _ in range(12):
            listing = app.screen.listing  # type: ignore[attr-defined]
            assert len(listing.visible) == 10
            column = sorted_by(screen_text(app).splitlines()[1])
            seen.add(column)
            if column == "mean":
                assert listing.visible[0] is best
                assert listing.visible[-1].score is None
            await pilot.press("right")
            await loaded(app, pilot)
        assert {"job", "status", "started", "mean"} <= seen


async def card_of(services: FakeServices, place: int) -> list[str]:
    """Return the words beside the list with the cursor on one run, line by line, without the
    list.
    """
    async with opened(None, (200, 60), services=services, start="runs") as (app, pilot):
        await pilot.press(*["down"] * place)
        await loaded(app, pilot)
        await until(
            pilot, lambda: "means of" in screen_text(app) or "has ended yet" in screen_text(app)
        )
        return [line.rpartition("│")[2].strip() for line in screen_text(app).splitlines()]


async def test_a_card_shows_the_jobs_trend_and_the_runs_place_in_it() -> None:
    said = await card_of(given(), 1)
    assert "means of 6 runs of this job and agent, 0 to 1" in said
    assert "+0.07 since the previous run" in said
    assert "best 0.78   worst 0.31   last 0.78" in said
    assert not any("which differs in" in line for line in said)
    assert said[said.index("means of 6 runs of this job and agent, 0 to 1") + 2] == "▲"


async def test_a_trend_says_in_what_the_run_before_differs_besides_its_results() -> None:
    services = given()
    mine = {"agent": "a", "agent's model": "m", "program": "2"}
    theirs = {"agent": "a", "agent's model": "n", "program": "1"}
    runs = [run._replace(identity=mine) for run in services.history]
    runs[4] = runs[4]._replace(identity=theirs)
    services.history = runs
    said = await card_of(services, 1)
    at = said.index("+0.07 since the previous run")
    assert said[at + 1] == "which differs in agent's model, program"


async def test_a_card_says_why_points_were_lost_above_the_mean_and_nothing_twice() -> None:
    said = await card_of(given(), 1)
    labels = [line.partition(" ")[0] for line in said]
    assert labels.index("WHAT") < labels.index("SURE") < labels.index("WHY") < labels.index("NEXT")
    assert labels.index("NEXT") < labels.index("mean")
    assert not {"without", "with", "difference", "withheld"} & {*labels}, (
        "the answer says the scores"
    )


async def test_a_card_says_what_to_do_if_no_conversation_took_place() -> None:
    said = await card_of(given(), 3)
    assert said[said.index("what you can do") + 1] == "look at the agent's log"


async def test_a_first_run_has_no_trend_yet() -> None:
    said = await card_of(
        given(history=[history.run(1, "new", None, ago=timedelta(0), status="running")]), 0
    )
    assert "no run of this job with this agent has ended yet" in " ".join(said)


async def test_a_run_of_one_condition_is_not_part_of_the_trend() -> None:
    services = given()
    alone = services.history[1]._replace(score=None, scores={"supplied": 0.9})
    services.history = [services.history[0], alone, *services.history[2:]]
    said = "\n".join(await card_of(services, 1))
    assert "mean  " not in said, "it needs both conditions"
    assert "means of 5 runs of this job" in said
    services.history = [alone]
    assert "with both conditions has ended yet" in " ".join(await card_of(services, 0))


async def test_a_comparison_starts_with_its_conclusion_and_signs_every_difference() -> None:
    async with opened(None, (120, 100), services=given(), start="runs") as (app, pilot):
        await pilot.press("down", "m", "m", "equals_sign")
        await until(pilot, lambda: is_a(app.screen, "CompareDialog"))
        await loaded(app, pilot)
        said = screen_text(app)
        assert said.index("WHAT") < said.index("WITHOUT THE FACTS")
        for words in (
            "▲ better",
            "▲ fixed",
            "▼ broken",
            "50 %",
            "−0.39 s",
            "judge: A rules, B gpt-4.1-mini",
        ):
            assert words in said


async def test_compared_runs_without_a_common_condition_say_so() -> None:
    services = given(comparison=replace(history.compared(), conditions=()))
    async with opened(None, WIDE, services=services, start="runs") as (app, pilot):
        await pilot.press("down", "m", "m", "equals_sign")
        await until(pilot, lambda: "no condition in common" in screen_text(app))


@pytest.mark.parametrize(
    "width", [80, 160, *(pytest.param(width, marks=pytest.mark.long) for width in (100, 120))]
)
async def test_a_long_name_goes_on_below_instead_of_being_cut(width: int) -> None:
    agent, model = "agents.clinic.example:9405", "medic-large-2026-11-01-preview"
    runs = [run._replace(identity={"agent": agent}, model=model) for run in history.history()]
    async with opened(None, (width, 40), services=given(history=runs), start="runs") as (
        app,
        pilot,
    ):
        screen: Any = app.screen
        rows = screen.table.rows
        shown = "\n".join(rows.render_line(y).text for y in range(rows.size.height))
        assert "…" not in shown
        assert shown.count(agent) == shown.count(model) > 3
        await pilot.press("down")
        await loaded(app, pilot)
        assert screen.looked_at == runs[1]
        await pilot.click(rows, offset=(2, rows._span(2)[0]))
        await loaded(app, pilot)
        assert screen.looked_at == runs[2], "a click counts lines, not rows"


@pytest.mark.parametrize("width", [80, 120, 160])
async def test_the_column_that_is_sorted_by_is_always_shown(width: int) -> None:
    services = given()
    async with opened(None, (width, 40), services=services, start="runs") as (app, pilot):
        await loaded(app, pilot)
        screen: Any = app.screen
        for _ in screen.table.columns:
            await pilot.press("l")
            await loaded(app, pilot)
            assert screen.listing.sorting.column in screen.table.shown
            assert "▾" in screen_text(app).splitlines()[1]


async def test_a_kept_order_by_a_column_without_room_waits_until_it_is_shown() -> None:
    services = given()
    services.preferences["runs.sorting"] = ["messages", False]
    async with opened(None, (80, 40), services=services, start="runs") as (app, pilot):
        await loaded(app, pilot)
        screen: Any = app.screen
        await until(
            pilot, lambda: screen.table.columns[screen.listing.sorting.column].name == "started"
        )
        assert "by started" in screen_text(app)
        await pilot.resize_terminal(200, 40)
        await until(
            pilot, lambda: screen.table.columns[screen.listing.sorting.column].name == "messages"
        )
        assert "by messages" not in screen_text(app)


async def test_jobs_without_a_common_task_are_not_compared_and_say_which_runs_can_be() -> None:
    dose = Recorded([Talk()], job="dose", started={"agent": "one"}).loaded()
    other = Recorded([Talk()], job="reminder")
    job = dose.started.job | {"tasks": [{"task": "another"}]}
    other.started = {"job": job, "job_sha256": "1" * 64}
    services = given(comparison=compare(dose, other.loaded()))
    async with opened(None, (120, 40), services=services, start="runs") as (app, pilot):
        await pilot.press("down", "m", "m", "equals_sign")
        await until(pilot, lambda: is_a(app.screen, "CompareDialog"))
        await loaded(app, pilot)
        said = screen_text(app)
        assert (
            "WHAT  A and B are not compared: their jobs share no task (A dose, B reminder)." in said
        )
        assert "A can be compared with run " in said
        assert "only differences" not in said
        assert "not measured" not in said


async def test_charts_begin_at_three_values() -> None:
    def said(count: int) -> str:
        runs = [history.run(n, "new", 0.5, ago=timedelta(hours=n + 1)) for n in range(count)]
        lines = runs_view.trend_lines(runs_view.trend(runs, runs[0]), runs[0], 40)
        return "\n".join("".join(cell.text for cell in line) for line in lines)

    assert "means of" not in said(1) + said(2)
    assert "±0.00 since the previous run" in said(2)
    assert "means of 3 runs" in said(3)


def test_a_placebo_is_not_counted_in_the_mean_of_a_card() -> None:
    run = history.run(1, "job", 0.5, ago=timedelta(hours=1))
    run = run._replace(scores={**run.scores, "placebo": 0.4})
    lines = runs_view.card(run, [run], datetime.now(UTC), 80)
    said = ["".join(cell.text for cell in line) for line in lines]
    assert [line.split() for line in said if line.startswith("mean ")] == [
        ["mean", "0.50", "of", "both"]
    ]

"""The list of jobs: its keys, the run dialog, and its messages when it is empty or something is
wrong.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta
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
    line_with,
    loaded,
    opened,
    press_without_effect,
    screen_text,
    sorted_by,
    text_of,
    until,
)
from fakes import FakeServices, FakeView
from run_script import scripted_run
from textual.containers import Vertical
from textual.pilot import Pilot
from textual.widgets import Input

from bioeval_tui.base.errors import BioevalError, Problem
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.engine.interface import Resolved, RunRequest
from bioeval_tui.evaluation.wiring.doctor import ComponentState
from bioeval_tui.jobs.template import ASKS_FIRST, Answers
from bioeval_tui.sample.paths import sample_jobs
from bioeval_tui.tui.data.services import AppServices
from bioeval_tui.tui.job_items import JobItem


def own(*samples: str) -> list[JobItem]:
    """Return the jobs as one's own, all but these, which are samples and stand last."""
    return [replace(job, sample=job.name in samples) for job in history.jobs()]


def given(**options: object) -> FakeServices:
    return history.filled_services(FakeView(scripted_run(), hold_at=100), **options)


@SIZES
async def test_jobs_are_listed_with_their_check_results_and_text(size: tuple[int, int]) -> None:
    async with opened(None, size, services=given(), start="jobs") as (app, _):
        text = screen_text(app)
        assert "4 jobs" in text
        assert "✗ 2 errors" in text
        assert "evaluator:" in text
        assert "enter run" in text.splitlines()[-1]
        assert "0…5 screens" in text.splitlines()[-1]


@SIZES
async def test_problems_are_shown_under_their_lines(size: tuple[int, int]) -> None:
    async with opened(None, size, services=given(), start="jobs") as (app, pilot):
        await pilot.press("down")
        await loaded(app, pilot)
        assert "✗ 8:1  aspirationalAvarage: unknown key" in screen_text(app)


async def test_a_run_started_from_the_dialog_is_shown() -> None:
    services = given(job_items=own())
    services.history = [
        history.run(11, "variant_triage", None, ago=timedelta(0)),
        *services.history,
    ]
    async with opened(None, services=services, start="jobs") as (app, pilot):
        await pilot.press("end", "enter")
        await until(pilot, lambda: is_a(app.screen, "RunDialog"))
        await loaded(app, pilot)
        assert "2 conditions: 2 conversations" in screen_text(app)
        await pilot.press(
            "right", "right", "tab", *"http://a:1", "down", *"m1,m2", "down", "down", *"big"
        )
        # letters on a choice do nothing
        await pilot.press(
            "down", *"j1;j2", "down", "backspace", "3", "down", *"qsy?", "down", "right"
        )
        await pilot.press("down", "right", "down", "space", "down", "4")
        await loaded(app, pilot)
        assert "3 trials: no interval; 10 give an interval of about ±" in screen_text(app)
        assert (
            "judging by the last measured run: 3 trials about 2 m 00 s and $1.20, 10"
            in screen_text(app)
        )
        assert "2 models × 2 conditions × 3 trials: 12 conversations" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: bool(services.started))
        await until(pilot, lambda: app.current_mode == "live")
    path = Path("/home/ada/jobs/variant_triage.yml")
    assert services.started == [
        RunRequest(
            jobs=(path,),
            agent_url="http://a:1",
            agent_url_is_given=True,
            models=("m1", "m2"),
            evaluator_model=("big",),
            judge_model=("j1", "j2"),
            trials=3,
            concurrency=4,
            conditions=("withheld", "supplied"),
            order="withheld-first",
            parallel=True,
        )
    ]
    assert services.preferences["run.last"]["models"] == "m1,m2"
    assert list(services.preferences["run.by_job"]) == [str(path)]


@pytest.mark.long
async def test_the_dialog_remembers_your_choices_and_sample_jobs_use_the_sample_agent() -> None:
    services = given(job_items=own("medication_reminder"))
    services.preferences["run.last"] = {"agent": "url", "url": "http://kept:1", "repeats": "5"}
    async with opened(None, services=services, start="jobs") as (app, pilot):
        await pilot.press("end", "up", "r")
        await loaded(app, pilot)
        assert "http://kept:1" in screen_text(app)
        await pilot.press("escape", "down", "r")
        await loaded(app, pilot)
        assert "the sample agent" in screen_text(app)
        assert "rehearsal" in screen_text(app)
        await pilot.press("escape")
        await loaded(app, pilot)
        assert is_a(app.screen, "JobsScreen")
    assert services.started == []


@pytest.mark.long
async def test_the_chosen_condition_is_remembered_for_each_job() -> None:
    services = given()
    path = "/home/ada/jobs/variant_triage.yml"
    services.preferences["run.by_job"] = {path: {"order": "withheld-first", "agent": "job"}}
    async with opened(None, services=services, start="jobs") as (app, pilot):
        await pilot.press("end", "enter")
        await until(pilot, lambda: is_a(app.screen, "RunDialog"))
        app.screen.query_one("#repeats").focus()
        await loaded(app, pilot)
        assert "↑ ↓ next" in screen_text(app)  # in a line, too
        await pilot.press("down", "left")
        await loaded(app, pilot)
        text = screen_text(app)
        assert "‹ with the facts only: no mean, no difference ›" in text
        assert "1 condition: 1 conversation" in text
        assert "without the facts first" not in text  # there is no order of one
        await pilot.press("enter")
        await until(pilot, lambda: bool(services.started))
        await until(pilot, lambda: app.current_mode == "live")
        await pilot.press("1")
        await until(pilot, lambda: app.current_mode == "jobs")
        await pilot.press("end", "enter")
        await until(pilot, lambda: is_a(app.screen, "RunDialog"))
        await loaded(app, pilot)
        assert "‹ with the facts only" in screen_text(app)
    assert [(request.conditions, request.order) for request in services.started] == [
        (("supplied",), None)
    ]
    assert services.preferences["run.by_job"][path]["conditions"] == "supplied"


async def test_errors_in_the_dialog_are_shown_in_the_dialog() -> None:
    services = given(job_items=own())
    async with opened(None, services=services, start="jobs") as (app, pilot):
        await pilot.press("end", "enter", "left", "enter")
        await loaded(app, pilot)
        assert "address: it must begin with http://" in screen_text(app)
        await pilot.press(*"squally")  # meant for a line, but a choice has the focus
        await loaded(app, pilot)
        assert is_a(app.screen, "RunDialog")
        assert not app._notifications
    assert services.started == []


async def test_the_dialog_tests_connections_and_takes_the_folder_of_the_agents_code(
    tmp_path: Path,
) -> None:
    finding = ComponentState("agent", "broken", "127.0.0.1:8081 cannot be reached")
    item = replace(history.jobs()[3], runnable=False, needs_code=True)
    services = given(findings=[finding], job_items=[item])
    async with opened(None, services=services, start="jobs") as (app, pilot):
        assert "! needs code" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: is_a(app.screen, "RunDialog"))
        await pilot.press("enter")
        assert "code: give the folder" in screen_text(app)
        app.screen.query_one("#code", Input).value = str(tmp_path)
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "✗ agent: 127.0.0.1:8081 cannot be reached" in screen_text(app))
        assert services.started == []
        await pilot.press("enter")
        await until(pilot, lambda: bool(services.started))
    assert services.started[0].code == (str(tmp_path),)


async def test_the_dialog_says_before_the_run_that_a_model_has_no_key() -> None:
    services = given(job_items=own(), no_key="OPENAI_API_KEY is not set")
    async with opened(None, NARROW, services=services, start="jobs") as (app, pilot):
        await pilot.press("end", "enter")
        await until(pilot, lambda: "! OPENAI_API_KEY is not set" in screen_text(app))
        app.screen.query_one("#played").focus()
        await pilot.press("right")  # a rehearsal
        await loaded(app, pilot)
        assert "OPENAI_API_KEY" not in screen_text(app)


@SIZES
async def test_the_dialog_shows_what_will_happen_and_where_each_was_set(
    size: tuple[int, int],
) -> None:
    services = given(job_items=own())
    services.resolved = (
        Resolved("agent", "127.0.0.1:29102 · rest", "from variant_triage.yml"),
        Resolved(
            "user", "fake-large at 127.0.0.1:29109", "from BIOEVAL_EVALUATOR_MODEL", "fake-large"
        ),
        Resolved("judge", "judge-1 at 127.0.0.1:29109", "from variant_triage.yml", "judge-1"),
        Resolved("will send", "2 conversations, up to 20 calls of the agent; $0.02"),
    )
    async with opened(None, size, services=services, start="jobs") as (app, pilot):
        await pilot.press("end", "enter")
        await until(pilot, lambda: "will send  2 conversations" in screen_text(app))
        text = screen_text(app)
        assert "agent      127.0.0.1:29102 · rest         from variant_triage.yml" in text
        assert "user       fake-large at 127.0.0.1:29109  from BIOEVAL_EVALUATOR_MODEL" in text
        assert app.screen.query_one("#evaluator", Input).placeholder == "fake-large"
        app.screen.query_one("#repeats", Input).value = "none"
        await until(pilot, lambda: "will send" not in screen_text(app))
        assert "trials     1: too few to tell what the facts change; at least 5 are needed" in text
        assert "enter start" in text


async def test_a_dialog_that_closes_no_longer_waits_for_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    services, answered = given(job_items=own()), asyncio.Event()

    async def no_key(request: object) -> str:
        await answered.wait()
        return "OPENAI_API_KEY is not set"

    def on_unmount(box: Vertical) -> None:
        if box.has_class("dialog--box"):
            # it comes when the dialog's lines are gone, and the dialog itself is not
            answered.set()

    monkeypatch.setattr(services, "why_no_key", no_key)
    monkeypatch.setattr(Vertical, "on_unmount", on_unmount, raising=False)
    async with opened(None, services=services, start="jobs") as (app, pilot):
        await pilot.press("end", "enter")
        await until(pilot, lambda: is_a(app.screen, "RunDialog"))
        await pilot.press("escape")
        await until(pilot, answered.is_set)
        await loaded(app, pilot)
        assert is_a(app.screen, "JobsScreen")


async def test_a_job_with_errors_does_not_run_and_says_where_they_are() -> None:
    async with opened(None, services=given(), start="jobs") as (app, pilot):
        await pilot.press("down", "r")
        await until(pilot, lambda: "drug_interaction cannot run" in screen_text(app))
        told = [n.message for n in app._notifications]
        assert told == [
            "drug_interaction cannot run: 2 errors, the first at line 8; e edits it there"
        ]
        assert is_a(app.screen, "JobsScreen")


@pytest.mark.skipif(os.name == "nt", reason="a script is a program where its first line says so")
async def test_edit_opens_the_file_at_the_first_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor, told = tmp_path / "vi", tmp_path / "told"
    editor.write_text(f'#!/bin/sh\necho "$@" > "{told}"\n', encoding="utf-8")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    async with opened(None, services=given(), start="jobs") as (app, pilot):
        monkeypatch.setattr(app, "suspend", nullcontext)
        await pilot.press("down", "e")
        # the keys may still be on their way when the workers are done
        await until(pilot, told.exists)
    line, path = told.read_text(encoding="utf-8").split()
    assert (line, Path(path).name) == ("+8", "drug_interaction.yml")


async def test_edit_says_when_no_editor_can_be_opened() -> None:
    async with opened(None, services=given(), start="jobs") as (app, pilot):
        await pilot.press("e")
        await until(pilot, lambda: "editor cannot be opened" in screen_text(app))


async def test_jobs_can_be_filtered_sorted_and_reversed() -> None:
    services = given()
    async with opened(None, services=services, start="jobs") as (app, pilot):
        await pilot.press("slash", *"triage", "enter")
        await loaded(app, pilot)
        assert "1 shown" in screen_text(app)
        await pilot.press("escape")
        await loaded(app, pilot)
        assert "cohort_question" in screen_text(app)
        await pilot.press("right")
        await loaded(app, pilot)
        assert "check▾" in screen_text(app)
        await pilot.press("R")
        await loaded(app, pilot)
        assert "check▴" in screen_text(app)
    assert services.preferences["jobs.sorting"] == ["check", True]


@pytest.mark.long
@pytest.mark.parametrize("width", [80, 100, 160])
async def test_a_heading_that_fills_its_column_stays_whole_when_its_rows_are_sorted(
    width: int,
) -> None:
    async with opened(None, (width, 40), services=given(), start="jobs") as (app, pilot):
        head = drawn_by(app, "TableHead")[0]
        # some columns have no room at all
        shown = [name for name in ("check", "tasks", "facts", "assertions") if name in head]
        assert "tasks" in shown
        for name in shown:
            await pilot.press("right")
            await loaded(app, pilot)
            head = drawn_by(app, "TableHead")[0]
            assert "…" not in head
            assert sorted_by(head) == name


@pytest.mark.long
async def test_the_sort_order_is_remembered() -> None:
    services = given(preferences={"jobs.sorting": ["check", False]})
    async with opened(None, services=services, start="jobs") as (app, _):
        assert "check▾" in screen_text(app)
    for damaged in ("x", ["x", False], [1, False], ["check"], {"a": 1}):
        async with opened(
            None, services=given(preferences={"jobs.sorting": damaged}), start="jobs"
        ) as (
            app,
            _,
        ):
            assert "job▾" in screen_text(app)


async def test_clicking_a_heading_sorts_by_it() -> None:
    async with opened(None, services=given(), start="jobs") as (app, pilot):
        await pilot.click("TableHead", offset=(1, 0))
        await loaded(app, pilot)
        assert "job▴" in screen_text(app)


async def test_o_shows_the_runs_of_a_job() -> None:
    async with opened(None, services=given(), start="jobs") as (app, pilot):
        await pilot.press("end", "A")
        await until(pilot, lambda: app.current_mode == "runs")
        await loaded(app, pilot)
        assert "3 shown: “variant_triage”" in screen_text(app)


async def test_tab_switches_to_the_text_and_back_and_y_copies_the_path() -> None:
    async with opened(None, services=given(), start="jobs") as (app, pilot):
        await pilot.press("tab")
        assert is_a(app.screen.focused, "SourceView")
        await pilot.press("j", "k", "G", "tab")
        assert is_a(app.screen.focused, "RowList")
        await pilot.press("y", "y")
        assert app.clipboard == "/home/ada/jobs/cohort_question.yml"


async def test_a_changed_file_is_shown_again_and_the_cursor_stays_on_its_row() -> None:
    services = given()
    async with opened(None, services=services, start="jobs") as (app, pilot):
        await pilot.press("end")
        services.job_items = [
            JobItem(Path("/home/ada/jobs/another.yml"), "another", "tasks: []", 0, 0, 0),
            *(
                replace(job, problems=(), text="# changed") if job.name == "variant_triage" else job
                for job in services.job_items
            ),
        ]
        app.screen.refresh_items()  # type: ignore[attr-defined]
        await loaded(app, pilot)
        assert "5 jobs" in screen_text(app)
        assert "# changed" in screen_text(app)


async def test_a_key_acts_on_the_row_under_the_cursor_however_fast_you_press() -> None:
    services = given()
    async with opened(None, services=services, start="jobs") as (app, _):
        rows = app.screen.query_one("RowList")
        rows.action_move(2)
        assert app.screen.looked_at.name == "medication_reminder"  # type: ignore[attr-defined]
        app.screen.redraw()  # type: ignore[attr-defined]
        assert rows.cursor == 2


@SIZES
async def test_an_empty_job_list_says_what_to_do_first(size: tuple[int, int]) -> None:
    async with opened(None, size, services=given(job_items=[]), start="jobs") as (app, pilot):
        assert "No job files found" in screen_text(app)
        assert "bioeval-tui app FOLDER" in screen_text(app)
        assert "edit" not in screen_text(app).splitlines()[-1]
        await press_without_effect(app, pilot, "enter", "e", "tab")


async def test_an_unreadable_folder_is_explained_and_the_last_list_kept() -> None:
    services = given(error=BioevalError("the folder cannot be read"))
    async with opened(None, services=services, start="jobs") as (app, pilot):
        assert "the folder cannot be read" in screen_text(app)
        services.error = None
        app.screen.refresh_items()  # type: ignore[attr-defined]
        await loaded(app, pilot)
        services.error = BioevalError("gone again")
        app.screen.refresh_items()  # type: ignore[attr-defined]
        await loaded(app, pilot)
        assert "! gone again" in screen_text(app)
        assert "cohort_question" in screen_text(app)


async def test_hostile_job_files_are_shown_literally() -> None:
    nasty = "[/x] [@click=app.quit]t[/]: [b +\n\x1b]52;c;eA==\x07"
    problem = Problem("[/INST] [@click=app.quit]x", "", 1, 1, "[a]")
    job = JobItem(
        Path("/jobs/[bold].yml"), "[/x][@click=app.quit]", nasty, 1, 1, 1, (problem,), False
    )
    async with opened(None, services=given(job_items=[job]), start="jobs") as (app, pilot):
        assert "[/x] [@click=app.quit]t" in screen_text(app)
        await pilot.click("SourceView", offset=(8, 0))
        await pilot.click("RowList", offset=(3, 0), times=2)
        await pilot.press("e")
        await loaded(app, pilot)
        assert "[/x] [@click=app.quit]t" in screen_text(app)
        assert not app._exit


async def test_help_lists_the_keys_of_the_job_list() -> None:
    async with opened(None, services=given(), start="jobs") as (app, pilot):
        await pilot.press("question_mark")
        await until(pilot, lambda: is_a(app.screen, "HelpScreen"))
        text = screen_text(app)
        assert "Open the file in $EDITOR" in text
        assert "Go to the recorded runs" in text


async def test_number_keys_open_every_screen_and_escape_returns() -> None:
    async with opened(None, services=given(), start="jobs") as (app, pilot):
        for key, mode in (
            ("3", "runs"),
            ("4", "benchmarks"),
            ("5", "medals"),
            ("2", "live"),
            ("1", "jobs"),
        ):
            await pilot.press(key)
            await until(pilot, lambda mode=mode: app.current_mode == mode)
        await pilot.press("escape")
        await until(pilot, lambda: app.current_mode == "live")


@pytest.mark.parametrize("size", [pytest.param((20, 5), marks=pytest.mark.long), (1, 1)])
@pytest.mark.parametrize("start", ["jobs", "runs", "benchmarks"])
async def test_a_list_can_be_moved_through_and_filtered_in_a_tiny_terminal(
    size: tuple[int, int], start: str
) -> None:
    services = given()
    async with opened(None, size, services=services, start=start) as (app, pilot):
        assert is_a(app.screen, "ListScreen")
        listing = app.screen.listing
        every = listing.visible
        await pilot.press("end")
        assert app.screen.looked_at is every[-1]
        await pilot.press("slash", *"nothing", "enter")
        assert listing.visible == []
        await pilot.press("escape")
        assert listing.visible == every


@pytest.mark.long
async def test_of_two_thousand_jobs_only_the_visible_rows_are_drawn() -> None:
    many = [
        replace(history.jobs()[0], path=Path(f"/j/{n:04}.yml"), name=f"job-{n:04}")
        for n in range(2000)
    ]
    async with opened(None, services=given(job_items=many), start="jobs") as (app, pilot):
        await pilot.press("end")
        await loaded(app, pilot)
        assert "job-1999" in screen_text(app)


async def test_a_job_that_is_being_checked_becomes_ready_by_itself() -> None:
    services = given()
    whole = services.job_items
    services.job_items = [replace(job, checked=False, runnable=False, problems=()) for job in whole]
    async with opened(None, services=services, start="jobs") as (app, pilot):
        assert "… checking" in screen_text(app)
        assert "cannot run" not in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: "still being checked" in screen_text(app))
        services.job_items = whole
        await until(pilot, lambda: "✓ ready" in screen_text(app))


async def test_a_key_shows_exactly_when_a_job_last_ran() -> None:
    services = given()
    ran = services.job_items[0].last_run
    assert ran is not None
    async with opened(None, services=services, start="jobs") as (app, pilot):
        await pilot.press("end", "up")
        await loaded(app, pilot)
        assert "last run 12 min ago" in screen_text(app)
        await pilot.press("w")
        await loaded(app, pilot)
        assert f"{ran.astimezone():%m-%d %H:%M}" in screen_text(app)
    assert services.preferences["jobs.exact"] is True


async def test_a_job_for_your_own_agent_is_written_from_a_few_sentences_and_run_at_once() -> None:
    services = given()
    async with opened(None, WIDE, services=services, start="home") as (app, pilot):
        services.history.clear()
        await pilot.press("1")
        await loaded(app, pilot)
        await pilot.press("plus")
        await until(pilot, lambda: is_a(app.screen, "OwnAgentDialog"))
        form = app.screen
        assert "enter write the job" in screen_text(app)
        form.query_one("#url", Input).value = "my-agent"
        # the two sentences follow the address: six keys to the first run
        for field in (
            "task",
            "criteria",
        ):
            await pilot.press("down")
            assert form.focused is form.query_one(f"#{field}")
        await pilot.press("enter")
        await until(pilot, lambda: "address: it must begin with http://" in screen_text(app))
        form.query_one("#url", Input).value = "https://agent.example/chat"
        form.query_one("#path", Input).value = str(Path(__file__).parent / "my-agent.yml")
        await pilot.press("enter")
        await until(pilot, lambda: bool(services.asked))
    asked, (path, answers) = services.asked[0]
    assert asked == "write_job"
    assert path.endswith("my-agent.yml")
    assert answers.url == "https://agent.example/chat"
    assert answers.script is not None, "the first example can be rehearsed"


async def test_the_form_for_your_own_agent_begins_with_the_address_of_the_environment() -> None:
    services = given()
    environment = {"BIOEVAL_AGENT_URL": "http://127.0.0.1:9000"}
    services.settings = Settings.from_environment(environment)
    async with opened(None, WIDE, services=services, start="jobs") as (app, pilot):
        await pilot.press("plus")
        await until(pilot, lambda: is_a(app.screen, "OwnAgentDialog"))
        assert app.screen.query_one("#url", Input).value == environment["BIOEVAL_AGENT_URL"]


async def test_the_form_for_your_own_agent_takes_several_tasks() -> None:
    services = given()
    async with opened(None, WIDE, services=services, start="home") as (app, pilot):
        services.history.clear()
        await pilot.press("1", "plus")
        await until(pilot, lambda: is_a(app.screen, "OwnAgentDialog"))
        form = app.screen
        assert "2. the user wants to" not in screen_text(app)
        form.query_one("#path", Input).value = str(Path(__file__).parent / "my-agent.yml")
        form.query_one("#task", Input).value = "Learn whether two drugs interact"
        await until(pilot, lambda: "is still the example's" in screen_text(app))
        assert form.query_one("#withheld", Input).value == ASKS_FIRST, (
            "it spoke of the example's task"
        )
        form.query_one("#fact", Input).value = "The user takes warfarin"
        await pilot.press("ctrl+n", *"dose")
        await until(pilot, lambda: "2. the user wants to" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "say how to tell that “dose” was done well" in screen_text(app))
        await pilot.press("down", *"named", "enter")
        await until(pilot, lambda: bool(services.asked))
    _, (_, answers) = services.asked[0]
    assert answers.further == (("dose", "named"),)
    assert answers.script is None, "a rehearsal would need lines and rules for every task"


def test_a_new_job_is_valid_and_listed_wherever_it_is_saved(tmp_path: Path) -> None:
    for folder in ("listed", "elsewhere"):
        (tmp_path / folder).mkdir()
    services = AppServices(
        Settings(data_dir_override=str(tmp_path / "data")), job_places=[tmp_path / "listed"]
    )
    assert services.job_list.new_path() == tmp_path / "listed" / "my-agent.yml"
    for path in (services.job_list.new_path(), tmp_path / "elsewhere" / "other.yml"):
        services.job_list.write(path, Answers(url="https://agent.example", script=None))
        item = next(job for job in services.job_list.items() if job.path == path)
        assert item.checked
        assert not item.errors
    services.close()


async def test_a_sample_shows_its_facts_and_tasks_where_there_is_little_room(
    tmp_path: Path,
) -> None:
    services = AppServices(
        Settings(data_dir_override=str(tmp_path / "data")), job_places=[sample_jobs()]
    )
    async with opened(None, (80, 21), services=services, start="jobs") as (app, pilot):
        await until(pilot, lambda: "✓ sample" in screen_text(app))
        await loaded(app, pilot)
        text = screen_text(app)
        for words in (
            "Elderly means 65 years",
            "Count the elderly",
            "take apixaban",
            "Ask for a prognosis",
        ):
            assert words in text


async def test_a_row_shows_a_jobs_content_and_results() -> None:
    async with opened(None, services=given(job_items=own()), start="jobs") as (app, _):
        for job, words in (
            ("medication_reminder", ("12 min ago", "0.78", "·▇")),
            ("variant_triage", ("! 1 warning",)),
            ("drug_interaction", ("✗ 2 errors", "  –  ")),
            ("cohort_question", ("no run yet",)),
        ):
            row = line_with(app, job)
            assert [word for word in words if word not in row] == [], row


@pytest.mark.long
async def test_every_column_sorts_the_jobs() -> None:
    first = {"job": "cohort_question", "check": "drug_interaction", "score": "medication_reminder"}
    async with opened(None, (200, 40), services=given(job_items=own()), start="jobs") as (
        app,
        pilot,
    ):
        seen = set()
        for _ in range(8):
            heading, row, *_ = screen_text(app).splitlines()[1:]
            column = sorted_by(heading)
            seen.add(column)
            assert row.split()[0] == first.get(column, row.split()[0]), column
            if column == "score":
                await pilot.press("R")
                await loaded(app, pilot)
                assert screen_text(app).splitlines()[5].split()[0] == "medication_reminder"
                await pilot.press("R")
            await pilot.press("right")
            await loaded(app, pilot)
        assert {*first} <= seen
        await pilot.press("slash", *"warning triage", "enter")
        await loaded(app, pilot)
        assert "1 shown" in screen_text(app)


@pytest.mark.parametrize("line", [0, 99])
async def test_a_problem_without_a_line_is_shown_too(line: int) -> None:
    job = JobItem(
        Path("/j/a.yml"), "a", "a: 1", 0, 0, 0, (Problem("is odd", "", line, severity="warning"),)
    )
    async with opened(None, services=given(job_items=[job]), start="jobs") as (app, _):
        assert sum("is odd" in shown for shown in drawn_by(app, "SourceView")) == 1


@pytest.mark.parametrize("width", [60, 83, 160])
async def test_a_jobs_text_wraps_to_the_width_and_nothing_is_lost(width: int) -> None:
    text = "key: " + "word " * 40 + "x" * 100 + " 你好" * 30
    job = JobItem(Path("/j/a.yml"), "a", text, 0, 0, 0)
    async with opened(None, (width, 45), services=given(job_items=[job]), start="jobs") as (app, _):
        shown = "".join(drawn_by(app, "SourceView")).replace(" ", "")
        assert shown.removeprefix("1") == text.replace(" ", "")
        assert any(shown.endswith(" word") for shown in drawn_by(app, "SourceView")), (
            "words are kept whole"
        )


async def test_yaml_keys_and_comments_are_highlighted_but_not_inside_block_text() -> None:
    job = JobItem(Path("/j/a.yml"), "a", "# note\nkey: |\n  not: a key\nother: 1", 0, 0, 0)
    async with opened(None, services=given(job_items=[job]), start="jobs") as (app, _):
        view = app.screen.query_one("SourceView")

        def colour(y: int, word: str) -> Any:
            return next(
                part.style.color for part in view.render_line(y) if part.style and word in part.text
            )

        assert colour(1, "key") == colour(3, "other")
        assert len({colour(0, "# note"), colour(1, "key"), colour(2, "not")}) == 3
        assert colour(2, "a key") == colour(3, " 1")


@pytest.mark.parametrize(("lines", "said"), [(5_001, "… 1 more line "), (5_007, "… 7 more lines ")])
async def test_a_huge_job_file_is_cut_and_says_so(lines: int, said: str) -> None:
    job = JobItem(Path("/j/a.yml"), "a", "x: 1\n" * lines, 0, 0, 0)
    async with opened(None, services=given(job_items=[job]), start="jobs") as (app, pilot):
        await pilot.press("tab", "end")
        await until(pilot, lambda: said in screen_text(app))


@asynccontextmanager
async def run_dialog(**changes: Any) -> AsyncIterator[tuple[Any, Pilot[None], FakeServices]]:
    """Open the run dialog of a job with these changes; each field has its name as id."""
    services = given(job_items=[replace(history.jobs()[3], **changes)])
    async with opened(None, services=services, start="jobs") as (app, pilot):
        await pilot.press("enter")
        await until(pilot, lambda: is_a(app.screen, "RunDialog"))
        yield app, pilot, services


async def fill(app: Any, pilot: Pilot[None], **values: str) -> None:
    for name, value in values.items():
        field = app.screen.query_one(f"#{name}")
        if isinstance(field, Input):
            field.value = value
        else:
            while field.value != value:
                field.focus()
                await pilot.press("right")
    await loaded(app, pilot)


async def test_the_run_dialog_becomes_a_run_request() -> None:
    async with run_dialog() as (app, pilot, services):
        await fill(
            app, pilot, agent="url", url="http://127.0.0.1:8081/", models="m1, m2,m1",
            repeats=" 3 ",
            evaluator=" big ", judge="a,b", more="yes", order="random", at_once="yes",
            concurrency="4",
        )  # fmt: skip
        assert (
            "2 models × 2 conditions × 3 trials: 12 conversations, at most 4 at once"
            in screen_text(app)
        )
        await pilot.press("enter")
        await until(pilot, lambda: bool(services.started))
    (request,) = services.started
    assert (request.agent_url, request.agent_url_is_given) == ("http://127.0.0.1:8081", True)
    assert request.models == ("m1", "m2")
    assert (request.trials, request.order, request.parallel) == (3, "random", True)
    assert (request.evaluator_model, request.judge_model, request.concurrency) == (
        ("big",),
        ("a", "b"),
        4,
    )


@pytest.mark.long
async def test_a_rehearsal_asks_no_model_and_its_sample_agent_needs_no_address() -> None:
    async with run_dialog() as (app, pilot, services):
        await fill(app, pilot, agent="url", url="nonsense", evaluator="big", judge="a,b")
        await fill(app, pilot, agent="sample", played="rehearsal")
        await pilot.press("enter")
        await until(pilot, lambda: bool(services.started))
    (request,) = services.started
    assert (request.mode, request.sample_agent, request.agent_url) == ("rehearsal", True, None)
    # Whatever was typed for the time before.
    assert (request.evaluator_model, request.judge_model) == ((), ())


async def test_a_job_with_cases_can_be_run_on_some_of_them_and_receives_spans() -> None:
    async with run_dialog(cases=50) as (app, pilot, services):
        await fill(app, pilot, models="m1,m2", repeats="3", more="yes", concurrency="4")
        assert (
            "2 models × 50 cases × 2 conditions × 3 trials: 600 conversations, at most 4 at"
            in screen_text(app)
        )
        await fill(
            app, pilot, models="", cases=" 1-20,case_7 ", sample="5", spans="yes", repeats="2"
        )
        assert "the chosen cases × 2 conditions × 2 trials" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: bool(services.started))
    (request,) = services.started
    assert (request.cases, request.sample, request.otlp) == ("1-20,case_7", 5, 4318)


async def test_an_error_in_the_run_dialog_is_one_sentence_that_names_its_field() -> None:
    async with run_dialog(cases=50) as (app, pilot, services):
        await fill(app, pilot, more="yes")
        for values, about in (
            ({"agent": "url", "url": ""}, "address: it must begin with http://"),
            ({"url": "localhost:8081"}, "address: it must begin with http://"),
            ({"url": "file:///etc/passwd"}, "address: it must begin with http://"),
            ({"agent": "job", "repeats": "0"}, "trials: give"),
            ({"repeats": "²"}, "trials: give"),
            # as many as `--repeat` takes
            ({"repeats": "10001"}, "trials: give a whole number from 1 to 10,000"),
            ({"repeats": "99999999999999999999"}, "trials: give"),
            ({"repeats": "1", "concurrency": "many"}, "conversations: give"),
            ({"concurrency": "", "sample": "0"}, "sample: give"),
            ({"sample": "", "evaluator": "a, human"}, "evaluator: a person"),
        ):
            await fill(app, pilot, **values)
            await pilot.press("enter")
            assert text_of(app, "#hint").startswith(about), values
    assert services.started == []


@pytest.mark.long
@pytest.mark.parametrize(
    "kept", [[], {"agent": "nowhere", "repeats": 3, "url": None}, {"unknown": "x"}]
)
async def test_damaged_saved_choices_give_the_defaults(kept: object) -> None:
    services = given(job_items=own(), preferences={"run.last": kept, "run.by_job": kept})
    async with opened(None, services=services, start="jobs") as (app, pilot):
        await pilot.press("end", "enter")
        await until(pilot, lambda: is_a(app.screen, "RunDialog"))
        assert app.screen.query_one("#agent").value == "job"
        assert app.screen.query_one("#repeats", Input).value == "1"
        assert app.screen.query_one("#url", Input).value == ""

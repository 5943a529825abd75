"""The home screen: what to do next, recent runs with their results, and problems."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import history
from driving import NARROW, SIZES, WIDE, is_a, loaded, opened, screen_text, until
from fakes import FakeServices, FakeView
from run_script import scripted_run

from bioeval_tui.evaluation.wiring.doctor import ComponentState
from bioeval_tui.sample.paths import DEMO_JOB
from bioeval_tui.tui.home_entries import recent

NO_GRAPH = ComponentState(
    "embedded graph", "broken", "graphqlite is not installed", "`pip install graphqlite`"
)


def given(**options: object) -> FakeServices:
    return history.filled_services(FakeView(scripted_run(), mode="replay"), **options)


@SIZES
async def test_a_new_user_sees_three_ways_to_start_of_which_the_second_is_a_first_run(
    size: tuple[int, int],
) -> None:
    services = given(history=(), job_items=())
    async with opened(None, size, services=services, start="home") as (app, pilot):
        text = screen_text(app)
        for words in (
            "Start a first run",
            "Evaluate your own agent",
            "Grade submissions for medals",
        ):
            assert words in text
        assert "No runs yet" in text
        assert text.index("Evaluate your own agent") < text.index("Start a first run")
        await pilot.press("down", "enter")
        await until(pilot, lambda: bool(services.started))
    (request,) = services.started
    assert (request.jobs[0].name, request.sample_agent, request.mode) == (
        DEMO_JOB,
        True,
        "rehearsal",
    )


async def test_how_it_works_is_not_cut_at_120_columns() -> None:
    async with opened(None, (120, 40), services=FakeServices(), start="home") as (app, _):
        shown = screen_text(app)
    lines = shown[shown.index("How it works") :].splitlines()
    assert any("gains by asking." in line for line in lines)
    assert not any("…" in line.split("│")[1] for line in lines[1:-2] if "│" in line)


@SIZES
async def test_recent_runs_show_their_result_and_problems_show_their_fix(
    size: tuple[int, int],
) -> None:
    services = given(findings=[NO_GRAPH])
    async with opened(None, size, services=services, start="home") as (app, pilot):
        await until(pilot, lambda: "0.63 → 0.93" in screen_text(app))
        await until(pilot, lambda: "too few" in screen_text(app))
        await pilot.press("tab", "tab")
        await loaded(app, pilot)
        assert "✗ embedded graph: graphqlite is not installed" in screen_text(app)
        assert "`pip install graphqlite`" in screen_text(app)
        assert "enter" not in screen_text(app).splitlines()[-1]
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.current_mode == "jobs")
        await loaded(app, pilot)
        chosen = app.screen.looked_at  # type: ignore[attr-defined]
        assert chosen.path.name == "drug_interaction.yml"


@SIZES
async def test_a_job_whose_last_run_failed_is_a_problem_with_a_way_out(
    size: tuple[int, int],
) -> None:
    failed = history.run(11, "variant_triage", None, ago=timedelta(minutes=5), fault="agent")
    services = given(history=[failed, *history.history()], findings=[NO_GRAPH])
    async with opened(None, size, services=services, start="home") as (app, pilot):
        await until(
            pilot, lambda: "✗ variant_triage: the agent failed, 5 min ago" in screen_text(app)
        )
        await pilot.press("tab", "tab", "down", "down")
        way = "look at the agent's log" if size == WIDE else "NEXT  enter read the passage"
        await until(pilot, lambda: way in screen_text(app))
        assert "Scores over time" not in screen_text(app) or size == WIDE
        await pilot.press("enter")
        await until(pilot, lambda: services.asked == [("open", (failed.run_id, None))])


async def test_enter_suggests_trials_compares_two_runs_starts_an_unrun_job_or_opens_a_run() -> None:
    services = given()
    a, b, newest = services.history[4], services.history[1], services.history[0]
    async with opened(None, services=services, start="home") as (app, pilot):
        await until(pilot, lambda: "its last run had 2" in screen_text(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: is_a(app.screen, "RunDialog"))
        assert is_a(app.screen, "RunDialog")
        assert app.screen.form.repeats == "10"
        await pilot.press("escape", "0", "down", "enter")
        await until(pilot, lambda: is_a(app.screen, "CompareDialog"))
        await pilot.press("escape", "down", "down", "enter")
        await until(pilot, lambda: is_a(app.screen, "RunDialog"))
        assert "Run cohort_question" in screen_text(app)
        await pilot.press("escape", "0", "tab", "enter")
        await until(pilot, lambda: app.current_mode == "live")
    assert services.asked == [("compare", (a.run_id, b.run_id)), ("open", (newest.run_id, None))]


async def test_markup_in_file_names_is_shown_literally() -> None:
    nasty = history.run(1, "[/x] [@click=app.quit]t[/]", 0.5, ago=history.timedelta(0))
    broken = history.JobItem(
        Path("/[b]x.yml"), "[b]x", problems=(history.Problem("[/oh] no"),), runnable=False
    )
    services = given(history=[nasty], job_items=[broken])
    async with opened(None, WIDE, services=services, start="home") as (app, pilot):
        await pilot.press("tab", "tab")
        await loaded(app, pilot)
        assert "[/x] [@click=app.quit]t[" in screen_text(app)
        assert "[/oh] no" in screen_text(app)


async def test_a_long_name_in_one_row_cuts_neither_itself_nor_the_other_rows() -> None:
    job, agent = (
        "kidney-function-and-the-daily-dose-of-metformin",
        "agents.clinic.example:9405 · medic-large",
    )
    one = history.run(1, job, 0.6, ago=timedelta(hours=1))
    long = history.run(2, "reminder", 0.6, ago=timedelta(hours=1), agent=agent)
    short = history.run(3, "reminder", 0.6, ago=timedelta(hours=1))
    async with opened(None, NARROW, services=given(history=(one, long, short)), start="home") as (
        app,
        _,
    ):
        lines = screen_text(app).splitlines()
        assert any(job in line for line in lines)
        assert any("reminder" in line and "127.0.0.1:8081 · gpt-4.1-mini" in line for line in lines)


async def test_a_name_longer_than_a_line_leaves_no_row_without_words() -> None:
    name = "用药提醒_" + "a_very_long_job_title_" * 5
    run = history.run(1, name, 0.6, ago=timedelta(hours=1))
    job = history.JobItem(Path("/long.yml"), name, tasks=1, facts=1, runnable=True)
    services = given(history=[run], job_items=[job])
    async with opened(None, NARROW, services=services, start="home") as (app, _):
        text = screen_text(app)
        assert "▸ Run 用药提醒_a_very" in text
        assert "0.45 → 0.75  用药提醒_a_very" in text


async def test_what_came_out_stands_in_one_column_also_beside_a_longer_name() -> None:
    agents = ("127.0.0.1:9455", "clinic.example:9455", "agent.of.clinic.example")
    runs = [
        history.run(at, "reminder", 0.6, ago=timedelta(hours=1), agent=agent)
        for at, agent in enumerate(agents)
    ]
    async with opened(None, (120, 40), services=given(history=runs), start="home") as (app, _):
        lines = [
            line
            for line in screen_text(app).splitlines()
            if "gpt-4.1-mini" in line and "1 h ago" in line
        ]
        assert len(lines) == len(agents)
        assert len({line.index("1 h ago") for line in lines}) == 1


async def test_what_came_out_has_room_beside_the_longest_names() -> None:
    run = history.run(1, "long_job_" * 9, 0.6, ago=timedelta(hours=1), agent="long-agent-" * 9)
    more = [history.run(at, "reminder", 0.6, ago=timedelta(hours=1)) for at in range(2, 9)]
    services = given(history=[run, *more])
    async with opened(None, (120, 40), services=services, start="home") as (app, pilot):
        await loaded(app, pilot)
        rows = [line for line in screen_text(app).splitlines() if "long_job_" in line]
        assert any("long-agent-" in row and "1 h ago" in row for row in rows), rows


def test_nothing_leads_to_the_score_of_a_placebo() -> None:
    run = history.run(1, "job", 0.5, ago=timedelta(hours=1))
    run = run._replace(scores={**run.scores, "placebo": 0.4})
    entry = recent([run], {}, datetime.now(UTC), 120)[0]
    assert "".join(cell.text for cell in entry.row).startswith("0.35 → 0.65, 0.40  ")

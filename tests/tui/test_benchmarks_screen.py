"""The machine-learning tasks: description and leaderboard, prepare, validate and grade."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import history
import pytest
from driving import (
    SIZES,
    drawn_by,
    is_a,
    line_with,
    loaded,
    opened,
    press_without_effect,
    screen_text,
    until,
)
from fakes import FakeServices
from medal_rows import sample_rows
from textual.widgets import Input

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.grade.validation import Validation
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.grading_items import BenchmarkDetail


def given(**options: object) -> FakeServices:
    return history.filled_services(**{"rows": sample_rows(), **options})


@SIZES
async def test_tasks_are_listed_with_their_leaderboards(size: tuple[int, int]) -> None:
    async with opened(None, size, services=given(), start="benchmarks") as (app, pilot):
        await until(pilot, lambda: "1,043" in screen_text(app))
        text = screen_text(app)
        assert "6 tasks · 6 domains · 3 prepared" in text
        assert "! broken" in text
        assert "lower" in text
        assert "M grade" in text.splitlines()[-1]


async def test_a_wide_terminal_shows_the_leaderboard_and_the_description() -> None:
    async with opened(None, (160, 60), services=given(), start="benchmarks") as (app, pilot):
        await pilot.press("down", "down")
        words = (
            "median",
            "bronze",
            "silver",
            "gold",
            "human",
            "≥ 0.95086",
            "self-trained",
            "30 features",
        )
        # The leaderboard and the description are read side by side, so either may be there first.
        await until(pilot, lambda: all(word in screen_text(app) for word in words))
        assert "Tell malignant" in screen_text(app)


async def test_what_is_read_after_a_task_was_opened_appears_in_its_box() -> None:
    services, item = given(), history.benchmarks()[1]
    services.details, late = {}, BenchmarkDetail("Tell malignant from benign")
    read = asyncio.Event()

    async def benchmark(task_id: str) -> BenchmarkDetail:
        await read.wait()
        return late

    services._benchmark = benchmark  # type: ignore[method-assign, assignment]
    services.tasks = [item]
    app = BioevalApp(services, "benchmarks", clock=lambda: 0.0)
    async with app.run_test(size=(80, 14)) as pilot:  # too low for a card beside the table
        await until(pilot, lambda: item.task_id in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: is_a(app.screen, "BenchmarkDialog"))
        card = app.screen.query_one("BenchmarkCard")
        await pilot.press("end")
        await until(pilot, lambda: "reading the leaderboard" in screen_text(app))
        read.set()
        await until(
            pilot,
            lambda: (
                card.virtual_size.height > card.size.height and "reading" not in screen_text(app)
            ),
        )
        await pilot.press("end")
        await until(pilot, lambda: "Tell malignant from benign" in screen_text(app))


@SIZES
async def test_enter_opens_a_task_in_full(size: tuple[int, int]) -> None:
    async with opened(None, size, services=given(), start="benchmarks") as (app, pilot):
        await pilot.press("down")
        await loaded(app, pilot)  # the card beside the table follows the cursor once it rests
        await pilot.press("enter")
        await until(pilot, lambda: is_a(app.screen, "BenchmarkDialog"))
        await loaded(app, pilot)
        assert "Diabetes progression" in screen_text(app)
        await pilot.press("escape")
        await loaded(app, pilot)
        assert is_a(app.screen, "BenchmarksScreen")


@pytest.mark.long
async def test_links_in_a_description_cannot_be_followed() -> None:
    async with opened(None, (160, 60), services=given(), start="benchmarks") as (app, pilot):
        await pilot.press("down", "down")
        await until(pilot, lambda: "described by the authors" in screen_text(app))
        assert "https://example.org/paper" in screen_text(app)
        prose = app.screen.query_one("Prose")
        for strip in app.screen._compositor.render_strips():
            for segment in strip:
                assert segment.style is None or not segment.style.link
                assert segment.style is None or "@click" not in segment.style.meta
        await pilot.click(prose, offset=(20, 2))
        assert is_a(app.screen, "BenchmarksScreen")
        assert "https://example.org/paper" in screen_text(app)


async def test_preparing_shows_its_steps_and_finishes() -> None:
    services = given(steps=("getting the data", "preparing the split"))
    async with opened(None, services=services, start="benchmarks") as (app, pilot):
        assert "P prepare" in screen_text(app).splitlines()[-1]
        await pilot.press("P")
        await until(pilot, lambda: "is prepared" in screen_text(app))
        await until(pilot, lambda: "4 prepared" in screen_text(app))
    assert services.asked == [("prepare", "epidemiology/nhefs-mortality")]


async def test_preparing_can_be_stopped() -> None:
    services = given(steps=("getting the data",), hold=True)
    async with opened(None, services=services, start="benchmarks") as (app, pilot):
        await pilot.press("P")
        await until(pilot, lambda: "· getting the data" in screen_text(app))
        assert "esc stop" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: services.stopped == ["prepare"])
        await loaded(app, pilot)
        assert is_a(app.screen, "BenchmarksScreen")


async def test_preparing_that_fails_says_why() -> None:
    services = given(steps=("getting the data",))
    async with opened(None, services=services, start="benchmarks") as (app, pilot):
        services.error = BioevalError("no network: connect, or put the files into raw/")
        await pilot.press("P")
        await until(pilot, lambda: "✗ no network" in screen_text(app))
        services.error = None
        await pilot.press("escape")
        await loaded(app, pilot)
        assert is_a(app.screen, "BenchmarksScreen")


async def test_prepared_tasks_are_not_offered_again_and_broken_ones_never() -> None:
    services = given()
    async with opened(None, services=services, start="benchmarks") as (app, pilot):
        await pilot.press("down")
        await loaded(app, pilot)
        assert "P prepare" not in screen_text(app).splitlines()[-1]
        await pilot.press("down", "down", "down")
        await loaded(app, pilot)
        assert "M grade" not in screen_text(app).splitlines()[-1]
        await pilot.press("P", "V", "M")
        await loaded(app, pilot)
        assert is_a(app.screen, "BenchmarksScreen")
    assert services.asked == []


async def test_grading_a_submission_opens_its_medal_card() -> None:
    services = given()
    async with opened(None, services=services, start="benchmarks") as (app, pilot):
        await pilot.press("down", "down", "M")
        await until(pilot, lambda: is_a(app.screen, "PathDialog"))
        await loaded(app, pilot)
        assert "enter continue" in screen_text(app)
        await pilot.press(*"'/data/my file.csv'", "enter")
        await until(pilot, lambda: is_a(app.screen, "MedalDetail"))
        await loaded(app, pilot)
        assert "place 2 of 1,044" in screen_text(app)
    assert services.asked == [("grade", ("oncology/breast-cancer", "/data/my file.csv"))]
    assert services.preferences["benchmarks.files"] == {
        "oncology/breast-cancer": "/data/my file.csv"
    }


async def test_a_graded_file_is_an_unofficial_row_of_its_tasks_leaderboard() -> None:
    async with opened(None, (160, 45), services=given(), start="benchmarks") as (app, pilot):
        await pilot.press("down", "down", "M", *"/data/a.csv", "enter")
        await until(pilot, lambda: is_a(app.screen, "MedalDetail"))
        await pilot.press("escape")
        await until(pilot, lambda: "unofficial" in screen_text(app))
        line = next(line for line in screen_text(app).splitlines() if "unofficial" in line)
        assert "would place 2 of 1,044: ● gold" in line
        await pilot.press("up")
        await until(pilot, lambda: "unofficial" not in screen_text(app))


async def test_the_last_file_of_a_task_is_remembered() -> None:
    services = given(preferences={"benchmarks.files": {"oncology/breast-cancer": "/data/kept.csv"}})
    async with opened(None, services=services, start="benchmarks") as (app, pilot):
        await pilot.press("down", "down", "V")
        await loaded(app, pilot)
        assert "/data/kept.csv" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: is_a(app.screen, "FindingsDialog"))
    assert services.asked == [("examine", ("oncology/breast-cancer", "/data/kept.csv"))]


@SIZES
async def test_validating_lists_every_finding(size: tuple[int, int]) -> None:
    found = Validation(
        "invalid", ("3 ids are missing: a, b, c", "column `p` [/x] holds text in line 7")
    )
    async with opened(None, size, services=given(examined=found), start="benchmarks") as (
        app,
        pilot,
    ):
        await pilot.press("down", "V", *"/a.csv", "enter")
        await until(pilot, lambda: is_a(app.screen, "FindingsDialog"))
        await loaded(app, pilot)
        text = screen_text(app)
        assert "✗ invalid" in text
        assert "2 findings" in text
        assert "column `p` [/x] holds text in line 7" in text
        await pilot.press("escape")
        await loaded(app, pilot)
        assert is_a(app.screen, "BenchmarksScreen")


@pytest.mark.parametrize(("key", "what"), [("M", "grade"), ("V", "examine")])
async def test_grading_and_validating_can_be_stopped(key: str, what: str) -> None:
    services = given(hold=True)
    async with opened(None, services=services, start="benchmarks") as (app, pilot):
        await pilot.press("down", key, *"/a", "enter")
        await until(pilot, lambda: is_a(app.screen, "WorkDialog") and bool(services.asked))
        await pilot.press("escape")
        await until(pilot, lambda: services.stopped == [what])
        assert is_a(app.screen, "BenchmarksScreen")


async def test_an_empty_path_is_refused_and_escape_cancels() -> None:
    services = given()
    async with opened(None, services=services, start="benchmarks") as (app, pilot):
        await pilot.press("down", "M", "enter")
        await loaded(app, pilot)
        assert is_a(app.screen, "PathDialog")
        await pilot.press("escape")
        await loaded(app, pilot)
        assert is_a(app.screen, "BenchmarksScreen")
    assert services.asked == []


async def test_tasks_can_be_filtered_sorted_and_reversed() -> None:
    services = given()
    async with opened(None, services=services, start="benchmarks") as (app, pilot):
        await pilot.press("slash", *"regression", "enter")
        await loaded(app, pilot)
        assert "2 shown" in screen_text(app)
        await pilot.press("escape", "right", "R")
        await loaded(app, pilot)
        assert "ready▴" in screen_text(app)
    assert services.preferences["benchmarks.sorting"] == ["ready", True]


async def test_tasks_are_sorted_by_their_leaderboards_once_these_are_read() -> None:
    services = given(preferences={"benchmarks.sorting": ["entries", False]})
    async with opened(None, (220, 40), services=services, start="benchmarks") as (app, pilot):
        await until(pilot, lambda: "entries▾" in screen_text(app) and "1,043" in screen_text(app))
        await loaded(app, pilot)
        text = screen_text(app)
        places = [text.index(name) for name in ("breast", "nhefs", "diabetes", "pbmc")]
        assert places == sorted(places)


async def test_tab_switches_to_the_description_and_y_copies_the_id() -> None:
    async with opened(None, services=given(), start="benchmarks") as (app, pilot):
        await pilot.press("tab")
        assert is_a(app.screen.focused, "BenchmarkCard")
        await pilot.press("tab", "y", "y")
        assert app.clipboard == "epidemiology/nhefs-mortality"


@SIZES
async def test_without_tasks_the_screen_says_where_to_get_them(size: tuple[int, int]) -> None:
    async with opened(None, size, services=given(tasks=[]), start="benchmarks") as (app, pilot):
        assert "BIOEVAL_TASKS_DIR" in screen_text(app)
        await press_without_effect(app, pilot, "enter", "P", "M", "tab")


async def test_tasks_that_cannot_be_read_say_why() -> None:
    services = given(error=BioevalError("the tasks folder cannot be read"))
    async with opened(None, services=services, start="benchmarks") as (app, _):
        assert "the tasks folder cannot be read" in screen_text(app)


async def test_hostile_descriptions_are_shown_literally() -> None:
    nasty = "# [/x]\n\n[@click=app.quit]t[/] <script>x</script> [b +\n\n```\n" + "[/INST]\n" * 50
    item = replace(history.benchmarks()[1], name="[/x] [@click=app.quit]", metric="[b +")
    details = {item.task_id: BenchmarkDetail(nasty, None, "[/y]")}
    async with opened(None, services=given(tasks=[item], details=details), start="benchmarks") as (
        app,
        pilot,
    ):
        await until(pilot, lambda: "<script>" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: is_a(app.screen, "BenchmarkDialog"))
        await until(pilot, lambda: "[@click=app.quit]t" in screen_text(app))
        await pilot.click("Prose", offset=(2, 2))
        assert not app._exit


@pytest.mark.long
async def test_a_very_long_description_is_cut_and_says_so() -> None:
    item = history.benchmarks()[1]
    details = {item.task_id: BenchmarkDetail("A paragraph.\n\n" * 10_000)}
    async with opened(None, services=given(tasks=[item], details=details), start="benchmarks") as (
        app,
        pilot,
    ):
        await until(pilot, lambda: "A paragraph." in screen_text(app))
        await pilot.press("tab", "end")
        await until(pilot, lambda: "characters in total" in screen_text(app))


CANCER, DIABETES, CACO, UNFINISHED = (
    "oncology/breast-cancer", "metabolism/diabetes-progression", "polarishub/tdcommons-caco2-wang",
    "proteins/unfinished",
)  # fmt: skip


async def shown_card(task: str, **options: object) -> str:
    """Return the screen with the cursor on a task, its words in one line."""
    services = given(**options)
    place = [item.task_id for item in services.tasks].index(task)
    async with opened(None, (170, 60), services=services, start="benchmarks") as (app, pilot):
        await pilot.press(*["down"] * place)
        await loaded(app, pilot)
        return "\n".join(drawn_by(app, "BenchmarkCard"))


async def test_a_card_names_thresholds_in_the_direction_of_the_score() -> None:
    cancer, diabetes = await shown_card(CANCER), await shown_card(DIABETES)
    assert re.search(r"gold +≥", cancer)
    assert "median of 3 human baselines" in cancer
    assert re.search(r"gold +≤", diabetes)
    assert "lower is better" in diabetes


async def test_a_card_says_how_to_prepare_a_task_and_what_is_wrong_with_a_broken_one() -> None:
    caco = " ".join((await shown_card(CACO)).split())
    assert "downloaded from the Polaris hub" in caco
    assert "the leaderboard is missing" in caco
    assert "`dataset` is missing" in await shown_card(UNFINISHED)


@pytest.mark.long
async def test_a_description_does_not_repeat_the_name() -> None:
    title = "# Breast cancer"
    assert (
        "Breast cancer diagnosis from cell nuclei\n"
        not in (await shown_card(CANCER)).partition("Tell malignant")[0][-60:]
    )
    tasks = [
        replace(item, name="Another name") if item.task_id == CANCER else item
        for item in history.benchmarks()
    ]
    assert title.removeprefix("# ") in await shown_card(CANCER, tasks=tasks)


async def test_rows_and_searches_know_what_was_read_so_far() -> None:
    async with opened(None, (170, 40), services=given(), start="benchmarks") as (app, pilot):
        await until(pilot, lambda: "1,043" in line_with(app, "oncology/breast-cancer "))
        for words, count in (
            ("oncology", 1),
            ("classification", 2),
            ("prepared easy", 2),
            ("broken", 1),
            ("polaris", 1),
        ):
            await pilot.press("slash", *words, "enter")
            shown = f"{count} shown"
            await until(pilot, lambda shown=shown: shown in screen_text(app))  # type: ignore[misc]
            await pilot.press("escape")
            await loaded(app, pilot)


async def test_a_picture_of_a_task_says_what_gold_needs() -> None:
    async with opened(None, (170, 40), services=given(), start="benchmarks") as (app, pilot):
        await pilot.press("down", "down")
        await loaded(app, pilot)
        await until(pilot, lambda: "1,043" in screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: is_a(app.screen, "ShareDialog"))
        said = app.screen.query_one("#caption", Input).value
        assert said.startswith(
            "Breast cancer diagnosis from cell nuclei (oncology/breast-cancer): gold needs a"
            " roc-auc of at least 0.9"
        )
        assert said.endswith(", among 1,043 entries.")


@pytest.mark.long
async def test_a_file_dropped_on_the_terminal_becomes_its_path() -> None:
    files = (
        ("/data/a.csv", "/data/a.csv"),
        ("  /data/a.csv\n", "/data/a.csv"),
        ("'/data/my file.csv'", "/data/my file.csv"),
        ('"/data/my file.csv"', "/data/my file.csv"),
        ("/data/my\\ file\\ (1).csv", "/data/my file (1).csv"),
        ("file:///data/my%20file.csv", "/data/my file.csv"),
        ("file:///C:/data/a.csv", "C:/data/a.csv"),
        ("'/data/it'\\''s.csv'", "/data/it's.csv"),
        ("C:\\data\\a.csv", "C:\\data\\a.csv"),
        ("results/my file.csv", "results/my file.csv"),
    )
    services = given(hold=True)
    async with opened(None, services=services, start="benchmarks") as (app, pilot):
        await pilot.press("down", "down")
        for pasted, path in files:
            await pilot.press("M")
            await until(pilot, lambda: is_a(app.screen, "PathDialog"))
            app.screen.query_one(Input).value = pasted
            services.asked.clear()
            await pilot.press("enter")
            await until(pilot, lambda: bool(services.asked))
            assert services.asked == [("grade", (CANCER, path))], pasted
            await pilot.press("escape")
            await until(pilot, lambda: is_a(app.screen, "BenchmarksScreen"))

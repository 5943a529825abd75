"""The medal table's keys and states."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from driving import NARROW, SIZES, WIDE, is_a, loaded, opened, screen_text, until
from fakes import FakeServices
from medal_rows import board, graded, invalid, sample_rows
from textual.pilot import Pilot

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.settings import Settings
from bioeval_tui.grade.explaining.sections import Section
from bioeval_tui.grade.validation import Validation
from bioeval_tui.grading import Uncertainty
from bioeval_tui.report.agents import agent_entry, agents_in_order
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.grading_items import MedalRow


def head_of(app: BioevalApp) -> str:
    """Return the names of the columns."""
    return next(
        line
        for line in screen_text(app).splitlines()
        if re.match(r"\W*(task|agent, domain)[▾▴ ]", line)
    )


def rows_of(app: BioevalApp) -> list[str]:
    """Return the lines of the table, without its head, and what is below."""
    lines = screen_text(app).splitlines()
    return lines[lines.index(head_of(app)) + 1 :]


@SIZES
async def test_medal_rows_are_shown_best_first_below_their_answer(size: tuple[int, int]) -> None:
    async with opened(None, size, services=FakeServices(rows=sample_rows()), start="medals") as (
        app,
        _,
    ):
        assert rows_of(app)[0].split()[2:4] == ["●", "gold"]
        text = " ".join(screen_text(app).split())
        first = "aide leads 3 agents on 2 shared tasks: mean percentile 99.1, then stella 80.9;"
        what = "1 gold, 2 silver, 1 bronze, 2 no medal, 1 invalid, 1 not graded of 8"
        average = "average percentile 82.8 (62.1 with 2 without a score as 0);"
        assert f"WHAT {first} {what}; {average}" in text, "also at 80 columns"
        assert "SURE no: 1 score over a part of the rows; ranks need 10 tasks" in text
        why = (
            "WHY metabolic/diabetes-progression by biomni: invalid: 17 ids of the answers are"
            " missing"
        )
        assert (why in text) == (size == WIDE), "without room, it stands in its row alone"
        assert "NEXT ! go to the invalid file" in text
        assert text.count("average percentile") == 1


@pytest.mark.parametrize(
    "width", [90, 160, *(pytest.param(width, marks=pytest.mark.long) for width in (100, 120))]
)
async def test_why_there_is_no_score_is_not_cut_beside_empty_columns(width: int) -> None:
    rows = [
        *sample_rows(),
        invalid("oncology/breast-cancer", "hasty", "7 ids are missing from the file"),
    ]
    async with opened(None, (width, 24), services=FakeServices(rows=rows), start="medals") as (
        app,
        _,
    ):
        lines = rows_of(app)
        assert any(
            "! invalid" in line and "7 ids are missing from the file" in line for line in lines
        )


async def test_a_long_agent_has_the_room_that_the_next_medal_does_not_need() -> None:
    scores = board(300, 0.51, 0.74)
    rows = [graded("oncology/breast-cancer", "gpt-5-scaffold-v2-with-tools", 0.57, scores)]
    services = FakeServices(rows=[*sample_rows(), *rows])
    async with opened(None, (160, 30), services=services, start="medals") as (app, _):
        (line,) = [line for line in rows_of(app) if " gpt-5-scaffold-v2-with-tools " in line]
        assert re.search(r"bronze \+0\.\d+ ", line), "and that is whole, too"


async def test_a_wide_terminal_shows_the_card_of_the_selected_row() -> None:
    async with opened(None, services=FakeServices(rows=sample_rows()), start="medals") as (
        app,
        pilot,
    ):
        assert "place 2 of 1,044" in " ".join(screen_text(app).split())
        await pilot.press("down")
        await loaded(app, pilot)
        assert "lower is better" in screen_text(app)


@SIZES
async def test_enter_opens_what_is_not_shown_yet_and_escape_closes_it(
    size: tuple[int, int],
) -> None:
    async with opened(
        None,
        size if size == NARROW else (160, 70),
        services=FakeServices(rows=sample_rows()),
        start="medals",
    ) as (app, pilot):
        await pilot.press("enter")
        # where the card is whole below the table, what it lacks
        box = "ErrorView" if size == WIDE else "MedalDetail"
        await until(pilot, lambda: is_a(app.screen, box))
        await loaded(app, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: not is_a(app.screen, box))


async def test_filter_shows_only_matching_rows_and_escape_clears_it() -> None:
    async with opened(None, services=FakeServices(rows=sample_rows()), start="medals") as (
        app,
        pilot,
    ):
        await pilot.press("slash", *"stella")
        await loaded(app, pilot)
        assert "biomni" not in "".join(rows_of(app))
        await pilot.press("enter")
        await loaded(app, pilot)
        assert "2 shown" in screen_text(app) or "biomni" not in "".join(rows_of(app))
        await pilot.press("escape")
        await loaded(app, pilot)
        assert "biomni" in screen_text(app)


async def test_arrows_choose_the_sort_column_and_r_reverses_it() -> None:
    async with opened(None, services=FakeServices(rows=sample_rows()), start="medals") as (
        app,
        pilot,
    ):
        await pilot.press("left", "left")
        await loaded(app, pilot)
        assert "task▾" in screen_text(app)
        first = rows_of(app)[0]
        assert "diabetes-progress" in first.split("│")[0], (
            "metabolic/… comes first, by its whole name"
        )
        await pilot.press("R")
        await loaded(app, pilot)
        assert "task▴" in screen_text(app)
        assert "pbmc" in rows_of(app)[0].split("│")[0], "single-cell/… does"
        await pilot.press("right")
        await loaded(app, pilot)
        assert "agent▾" in screen_text(app)


@asynccontextmanager
async def opened_on_rows(services: FakeServices) -> AsyncIterator[tuple[BioevalApp, Pilot[None]]]:
    """Open the table while rows still come: its worker never ends by itself."""
    app = BioevalApp(services, "medals", clock=lambda: 0.0)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await until(pilot, lambda: app.current_mode == "medals")
        yield app, pilot


class Arriving:
    """Rows that come when they are let in."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[MedalRow | None] = asyncio.Queue()

    async def __call__(self) -> AsyncIterator[MedalRow | None]:
        while True:
            yield await self.queue.get()


async def test_the_cursor_stays_on_the_first_row_until_you_move_it() -> None:
    rows = sample_rows()
    services, arriving = FakeServices(), Arriving()
    services.medals = arriving  # type: ignore[method-assign,assignment]
    async with opened_on_rows(services) as (app, pilot):
        for row in reversed(rows[1:]):
            arriving.queue.put_nowait(row)
        await until(pilot, lambda: len(app.screen.table.visible) == 7)
        assert app.screen.submissions.rows.cursor == 0
        assert app.screen.looked_at is app.screen.table.visible[0]
        assert app.screen.looked_at.standing == "silver"
        await pilot.press("end")
        last = app.screen.looked_at.row
        arriving.queue.put_nowait(None)
        await until(pilot, lambda: "● watching" in screen_text(app))
        arriving.queue.put_nowait(rows[0])
        await until(pilot, lambda: len(app.screen.table.visible) == 8)
        assert app.screen.looked_at.row is last
        assert app.screen.submissions.rows.cursor == 7


async def test_clicking_a_heading_sorts_and_clicking_again_reverses() -> None:
    services = FakeServices(rows=sample_rows())
    async with opened(None, services=services, start="medals") as (app, pilot):
        await pilot.click("#medals TableHead", offset=(1, 0))
        await loaded(app, pilot)
        assert "task▾" in screen_text(app)
        await pilot.click("#medals TableHead", offset=(1, 0))
        await loaded(app, pilot)
        assert "task▴" in screen_text(app)
    assert services.preferences["medals.sorting"] == [0, True]


@pytest.mark.long
async def test_the_sort_order_is_remembered() -> None:
    services = FakeServices(rows=sample_rows())
    async with opened(None, services=services, start="medals") as (_, pilot):
        await pilot.press("left")
    async with opened(None, services=services, start="medals") as (app, _):
        assert "agent▾" in head_of(app)


async def test_the_column_that_is_sorted_by_is_always_shown() -> None:
    services = FakeServices(rows=sample_rows())
    services.preferences["medals.sorting"] = [4, False]
    async with opened(None, NARROW, services=services, start="medals") as (app, pilot):
        await loaded(app, pilot)
        assert "95 % interval" not in head_of(app)
        assert "medal▾" in head_of(app)
        for _ in app.screen.table.columns:
            await pilot.press("right")
            await loaded(app, pilot)
            assert "▾" in head_of(app)
        await pilot.resize_terminal(220, 40)
        await loaded(app, pilot)
        assert "▾" in head_of(app)


@SIZES
async def test_g_groups_by_agent_or_domain_and_enter_shows_the_rows(size: tuple[int, int]) -> None:
    services = FakeServices(rows=sample_rows())
    async with opened(None, size, services=services, start="medals") as (app, pilot):
        await pilot.press("tab")
        await loaded(app, pilot)
        assert "agent, domain" in head_of(app)
        lines = rows_of(app)
        assert lines[0].split()[:3] == ["aide", "!", "3"], "one is scored on a part of the rows"
        assert lines[1].split()[:2] == ["metabolic", "1"]
        await pilot.press("down", "enter")
        await loaded(app, pilot)
        assert [e.row.task_id for e in app.screen.table.visible] == [
            "metabolic/diabetes-progression"
        ]
        await pilot.press("escape", "tab", "escape")
        await loaded(app, pilot)
        assert len(app.screen.table.visible) == 8
        assert not app.screen.grouped


@pytest.mark.parametrize(("key", "suffix"), [("c", "csv"), ("m", "md")])
async def test_x_exports_the_rows_that_are_shown(tmp_path: Path, key: str, suffix: str) -> None:
    services = FakeServices(rows=sample_rows())
    async with opened(None, services=services, start="medals", pictures=tmp_path) as (app, pilot):
        await pilot.press("slash", *"stella", "enter", "x", key)
        await until(pilot, lambda: "Saved 2 rows" in screen_text(app))
    [path] = tmp_path.glob(f"*.{suffix}")
    assert path.stat().st_mode & 0o077 == 0
    assert path.read_text(encoding="utf-8").count("stella") >= 2


async def test_an_export_names_the_folders_without_which_its_commands_fail(tmp_path: Path) -> None:
    bad = replace(invalid("lab/a", "aide", "the file is empty"), file="runs/bad.csv")
    services = FakeServices(rows=[bad])
    services.settings = Settings(tasks_dirs=(Path("my tasks"),))
    async with opened(None, services=services, start="medals", pictures=tmp_path) as (app, pilot):
        await pilot.press("x", "m")
        await until(pilot, lambda: "Saved 1 row" in screen_text(app))
    [path] = tmp_path.glob("*.md")
    assert " lab/a --tasks-dir 'my tasks'" in path.read_text(encoding="utf-8")


async def test_a_failed_export_says_why(tmp_path: Path) -> None:
    services = FakeServices(rows=sample_rows())
    async with opened(None, services=services, start="medals", pictures=tmp_path / "no") as (
        app,
        pilot,
    ):
        await pilot.press("x", "m")
        await until(pilot, lambda: "Could not write the table" in screen_text(app))


async def test_y_copies_the_selected_row() -> None:
    async with opened(None, services=FakeServices(rows=sample_rows()), start="medals") as (
        app,
        pilot,
    ):
        await pilot.press("y", "y")
        await until(pilot, lambda: "Sent this submission" in screen_text(app))
        head, row = (line.split("\t") for line in app.clipboard.splitlines())
        assert (head[:3], row[:3]) == (
            ["task_id", "agent", "medal"],
            ["oncology/breast-cancer", "aide", "gold"],
        )


async def test_the_medal_scale_fits_beside_the_cards_scrollbar() -> None:
    async with opened(
        None, (132, 44), services=FakeServices(rows=sample_rows()), start="medals"
    ) as (
        app,
        pilot,
    ):
        await until(pilot, lambda: app.screen.query_one("MedalCard").show_vertical_scrollbar)
        await until(pilot, lambda: re.search(r"worse .* better", screen_text(app)) is not None)


async def test_d_lists_everything_that_is_wrong_with_an_invalid_file() -> None:
    services = FakeServices(rows=sample_rows())
    asked: list[tuple[str, str]] = []

    def examine(task_id: str, file: str) -> Validation:
        asked.append((task_id, file))
        return Validation("invalid", ("17 ids are missing", "column y has NaN in row 3 [/x]"))

    services._examine = examine  # type: ignore[method-assign]
    async with opened(None, services=services, start="medals") as (app, pilot):
        await pilot.press("V")
        assert asked == []
        await pilot.press("end", "up", "V")
        await until(pilot, lambda: "column y has NaN in row 3 [/x]" in screen_text(app))
        # the card below the table is whole: what is wrong comes at once
        await pilot.press("escape", "enter")
        await until(pilot, lambda: "column y has NaN in row 3 [/x]" in screen_text(app))
    assert (
        asked
        == [("metabolic/diabetes-progression", "biomni/metabolic/diabetes-progression.csv")] * 2
    )


async def test_a_run_that_left_no_file_has_no_file_to_look_into() -> None:
    # It looked like the working folder: `.` on the card, and “is a folder” as its finding.
    row = invalid("oncology/breast-cancer", "aide", "nothing was submitted")
    assert row.report is not None
    report = replace(row.report, submission_exists=False, submission_path="")
    services = FakeServices(rows=[replace(row, file="", report=report)])
    services._examine = lambda task_id, file: pytest.fail(file)  # type: ignore[method-assign]
    async with opened(None, services=services, start="medals") as (app, pilot):
        await pilot.press("V", "enter")
        await loaded(app, pilot)
        lines = [line.strip() for line in screen_text(app).splitlines()]
        assert is_a(app.screen, "MedalsScreen")
        assert "WHAT  Nothing was submitted for oncology/breast-cancer." in lines
        assert not {".", "NEXT  enter explain the score"} & set(lines)


async def test_score_intervals_are_computed_in_the_background() -> None:
    row = sample_rows()[0]
    services = FakeServices(rows=[row])
    services.sure = {
        row.task_id: Uncertainty(
            low=0.91234,
            high=0.95,
            gold=0.7,
            silver=0.272,
            bronze=0.001,
            place_best=1,
            place_worst=14,
            rows=171,
        )
    }
    async with opened(None, services=services, start="medals") as (app, pilot):
        await until(pilot, lambda: "0.9123 to 0.9500" in screen_text(app))
        text = screen_text(app)
        assert "place 1 to 14" in text
        assert "▓ silver 27 %" in text
        assert "▒ bronze < 1 %" in text
        assert "● gold" in text, "the row itself stays"


async def test_an_empty_medal_table_says_what_to_do() -> None:
    async with opened(None, services=FakeServices(), start="medals") as (app, _):
        text = screen_text(app)
        assert "Nothing is graded yet" in text
        assert "bioeval-tui grade" in text


async def test_while_reports_are_read_it_says_how_many_and_there_is_no_answer() -> None:
    let_go = asyncio.Event()

    async def reading() -> AsyncIterator[MedalRow | None]:
        services.reading = (1, 2)
        yield sample_rows()[0]
        await let_go.wait()
        services.reading = (2, 2)
        yield sample_rows()[1]
        services.reading = None

    services = FakeServices()
    services.medals = reading  # type: ignore[method-assign]
    async with opened_on_rows(services) as (app, pilot):
        await until(pilot, lambda: "● reading 1 of 2" in screen_text(app))
        assert screen_text(app).count("WHAT  ") == 1, "on the card of the row alone"
        let_go.set()
        await until(pilot, lambda: screen_text(app).count("WHAT  ") == 2)
        assert "2 reports" in screen_text(app)
        assert "reading" not in screen_text(app)


async def test_grading_that_stops_says_why_and_keeps_its_rows() -> None:
    async def breaking() -> AsyncIterator[MedalRow]:
        yield sample_rows()[0]
        raise BioevalError("the results folder cannot be read")

    services = FakeServices()
    services.medals = breaking  # type: ignore[method-assign]
    async with opened(None, services=services, start="medals") as (app, _):
        text = screen_text(app)
        assert "the results folder cannot be read" in text
        assert "● gold" in text


@pytest.mark.long
async def test_of_ten_thousand_submissions_only_the_visible_rows_are_drawn() -> None:
    scores = board(300, 0.1, 0.9)
    rows = [
        graded(f"t/{number:05}", "aide", 0.1 + number / 20_000, scores) for number in range(10_000)
    ]
    async with opened(None, services=FakeServices(rows=rows), start="medals") as (app, pilot):
        assert "10,000 reports" in screen_text(app)
        await pilot.press("end")
        await loaded(app, pilot)
        assert "▾" in screen_text(app)
        await pilot.press("slash", *"09999")
        await loaded(app, pilot)
        assert "t/09999" in screen_text(app)


async def test_the_heading_keeps_above_its_columns_as_longer_names_arrive() -> None:
    row = next(row for row in sample_rows() if row.report is not None)
    long = replace(row, agent="an-agent-with-a-name-of-forty-characters", task_id="b")
    services = FakeServices(None, [replace(row, agent="short", task_id="a"), long])
    async with opened(None, WIDE, services=services, start="medals") as (app, _):
        (shown,) = [line for line in rows_of(app) if "an-agent-with" in line]
        assert head_of(app).index("medal") == shown.index("●")


async def test_hostile_submission_names_are_shown_literally() -> None:
    row = graded("[/x] [@click=app.quit]t[/]", "[b +", 0.5, board(50, 0.1, 0.9))
    async with opened(None, NARROW, services=FakeServices(rows=[row]), start="medals") as (
        app,
        pilot,
    ):
        await pilot.click("Submissions RowList", offset=(3, 0), times=2)
        await loaded(app, pilot)
        assert is_a(app.screen, "MedalDetail")
        assert "[/x] [@click=app.quit]" in screen_text(app)
        assert "[b +" in screen_text(app)


@pytest.mark.long
@pytest.mark.parametrize("size", [(20, 5), (1, 1)])
async def test_medals_can_be_moved_through_and_filtered_in_a_tiny_terminal(
    size: tuple[int, int],
) -> None:
    async with opened(None, size, services=FakeServices(rows=sample_rows()), start="medals") as (
        app,
        pilot,
    ):
        table = app.screen.table
        every = table.visible
        await pilot.press("end")
        assert app.screen.looked_at is every[-1]
        await pilot.press("slash", *"nothing", "enter")
        assert table.visible == []
        await pilot.press("escape")
        assert table.visible == every


async def test_stopped_grading_keeps_its_results_and_can_start_again() -> None:
    ended, let_go = asyncio.Event(), asyncio.Event()

    async def grading() -> AsyncIterator[MedalRow | None]:
        try:
            yield sample_rows()[0]
            await let_go.wait()
            yield sample_rows()[1]
        finally:
            ended.set()

    services = FakeServices()
    services.medals = grading  # type: ignore[method-assign]
    async with opened_on_rows(services) as (app, pilot):
        await until(pilot, lambda: "C stop" in screen_text(app))
        await pilot.press("C")
        await until(pilot, ended.is_set)
        await until(pilot, lambda: "■ stopped" in screen_text(app))
        assert "1 report" in screen_text(app)
        assert "r grade again" in screen_text(app)
        let_go.set()
        await pilot.press("r")
        await until(pilot, lambda: "■ all graded" in screen_text(app))
        assert "2 reports" in screen_text(app)
        assert "C " not in screen_text(app).splitlines()[-1]


async def test_a_row_without_prepared_data_offers_to_prepare_and_grade() -> None:
    """The other rows stay as they are; the key is there only where it helps."""
    first = sample_rows()[0]
    waiting = MedalRow(
        "lab/away",
        "ada",
        "away.csv",
        not_graded="task lab/away is not prepared",
        path=Path("away.csv"),
        lacks_data=True,
    )
    services = FakeServices(rows=[first, waiting])
    services.steps = ["getting the data"]
    async with opened(None, services=services, start="medals") as (app, pilot):
        assert "P prepare" not in screen_text(app)
        await pilot.press("down")
        await until(pilot, lambda: "P prepare" in screen_text(app))
        assert "you can prepare its data here" in screen_text(app)
        await pilot.press("P")
        await until(pilot, lambda: ("grade", ("lab/away", "away.csv")) in services.asked)
        await until(pilot, lambda: "1 not graded" not in screen_text(app))
        assert services.asked[0] == ("prepare", "lab/away")


async def test_an_empty_medal_table_says_where_it_looked() -> None:
    services = FakeServices(rows=[])
    services.looked = (
        "submissions: 0 in 1 run group below ~/biomlbench/runs",
        "tasks: ~/biomlbench/biomlbench/tasks",
    )
    async with opened(None, services=services, start="medals") as (app, _):
        assert "tasks: ~/biomlbench/biomlbench/tasks" in screen_text(app)


async def test_grouping_by_agent_shows_each_agents_medals_and_rank() -> None:
    async with opened(
        None, (220, 45), services=FakeServices(rows=sample_rows()), start="medals"
    ) as (
        app,
        pilot,
    ):
        await pilot.press("tab")
        await until(pilot, lambda: re.search(r"% +–\W", screen_text(app)))
        assert "any medal" in screen_text(app)
        await pilot.press("end")
        await until(pilot, lambda: "? not graded  oncology/breast-cancer" not in screen_text(app))
        assert "submissions of biomni single-cell" in screen_text(app)


@pytest.mark.parametrize(("width", "share"), [(80, ""), (120, r"90\.0 % \[55\.5, 99\.7\] ")])
async def test_by_agent_the_rank_and_the_whole_interval_of_medals_have_room(
    width: int, share: str
) -> None:
    scores = board(20, 0.5, 0.9)
    rows = [graded(f"t/{task}", "aide", 0.9 - 0.4 * (task == 9), scores) for task in range(10)]
    rows += [graded(f"t/{task}", "stella", 0.5, scores) for task in range(10)]
    services = FakeServices(rows=rows)
    async with opened(None, (width, 40), services=services, start="medals") as (app, pilot):
        await pilot.press("tab")
        await until(pilot, lambda: re.search(rf"aide .* {share}1 ", screen_text(app)))
        # No column is marked: agents with more gold come first, whatever their rank.
        assert head_of(app).rstrip("│ ").endswith("rank")


async def test_a_submission_of_no_agent_takes_no_agents_rank() -> None:
    scores = board(20, 0.5, 0.9)
    rows = [graded(f"t/{task}", "aide", 0.9, scores) for task in range(10)]
    rows += [graded(f"t/{task}", "stella", 0.6, scores) for task in range(10)]
    rows.append(MedalRow("t/0", "unknown", "", not_graded="nothing was handed in"))
    services = FakeServices(rows=rows)
    async with opened(None, (220, 45), services=services, start="medals") as (app, pilot):
        assert " 2 agents" in screen_text(app)
        await pilot.press("tab")
        await until(pilot, lambda: re.search(r"aide .* 1 +│?$", screen_text(app), re.MULTILINE))
        lines = [line.split() for line in rows_of(app)]
        found = [(line[0], line[-1]) for line in lines if line and line[-1] in ("1", "2", "–")]
        assert found[:3] == [("aide", "1"), ("stella", "2"), ("unknown", "–")]


async def test_nothing_is_graded_without_asking_and_samples_are_labelled() -> None:
    services = FakeServices(None, sample_rows())
    services.has_submissions = False
    async with opened(None, services=services, start="medals") as (app, pilot):
        assert "Nothing is graded yet" in screen_text(app)
        assert "M  grade three sample submissions" in screen_text(app)
        await pilot.press("M")
        await until(pilot, lambda: "shipped samples" in screen_text(app))
        await until(pilot, lambda: "■ all graded" in screen_text(app))


async def test_private_answers_are_explained_only_when_asked() -> None:
    services = FakeServices(rows=sample_rows())
    services.private = True
    services.sections = (Section("residuals of y", ("residual",), (("0 to 1",),)),)
    async with opened(None, NARROW, services=services, start="medals") as (app, pilot):
        await pilot.press("enter")
        await until(pilot, lambda: is_a(app.screen, "MedalDetail"))
        await pilot.press("enter")
        await until(pilot, lambda: "keeps its answers private" in screen_text(app))
        assert "residuals of y" not in screen_text(app)
        await pilot.press("A")
        await until(pilot, lambda: "residuals of y" in screen_text(app))
        assert "show private answers" not in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: is_a(app.screen, "MedalDetail"))


async def test_enter_on_a_card_explains_its_score() -> None:
    services = FakeServices(rows=sample_rows())
    services.sections = (
        Section(
            "residuals of y",
            ("residual", "rows"),
            (("−1 to 0", "10"), ("0 to 1", "20")),
            (0.5, 1.0),
            "private",
        ),
    )
    async with opened(None, NARROW, services=services, start="medals") as (app, pilot):
        await pilot.press("enter")
        await until(pilot, lambda: is_a(app.screen, "MedalDetail"))
        await pilot.press("enter")
        await until(pilot, lambda: "residuals of y" in screen_text(app))
        text = screen_text(app)
        assert re.search(r"0 to 1 +20  █{24}", text)
        assert "private" in text
        await pilot.press("escape")
        await until(pilot, lambda: is_a(app.screen, "MedalDetail"))


def standings(app: BioevalApp) -> list[str]:
    return [entry.standing for entry in app.screen.table.visible]


@pytest.mark.long
async def test_the_best_medals_come_first_and_every_column_sorts_both_ways() -> None:
    rows = sample_rows()
    for place, high in ((0, 0.9), (1, 0.8)):
        report = rows[place].report
        assert report is not None
        rows[place] = replace(
            rows[place], report=replace(report, uncertainty=Uncertainty(low=0.7, high=high))
        )
    async with opened(None, (220, 40), services=FakeServices(rows=rows), start="medals") as (
        app,
        pilot,
    ):
        assert standings(app) == [
            "gold", "silver", "silver", "bronze", "none", "none", "invalid", "not_graded",
        ]  # fmt: skip
        seen = set()
        for _ in range(9):
            await pilot.press("right")
            await loaded(app, pilot)
            column = next(word[:-1] for word in head_of(app).split() if word[-1] in "▾▴")
            seen.add(column)
            first = [entry.row for entry in app.screen.table.visible]
            if column == "score":
                assert standings(app)[-2:] == ["invalid", "not_graded"]
                scores = [row.report.score for row in first[:-2] if row.report]
                assert scores == sorted(scores, reverse=True)
            await pilot.press("R")
            await loaded(app, pilot)
            assert [entry.row for entry in app.screen.table.visible] != first, column
            await pilot.press("R")
            await loaded(app, pilot)
        assert {"task", "agent", "medal", "score", "pctl"} <= seen


async def test_every_word_of_the_filter_must_be_found() -> None:
    async with opened(None, services=FakeServices(rows=sample_rows()), start="medals") as (
        app,
        pilot,
    ):
        for words, found in (
            ("diabetes AIDE", [("metabolic/diabetes-progression", "aide")]),
            ("invalid", [("metabolic/diabetes-progression", "biomni")]),
        ):
            await pilot.press("slash", *words, "enter")
            await loaded(app, pilot)
            assert [(e.row.task_id, e.row.agent) for e in app.screen.table.visible] == found
            await pilot.press("escape")
            await loaded(app, pilot)
        assert len(app.screen.table.visible) == 8


async def test_rows_that_arrive_later_are_sorted_in_and_found() -> None:
    services, arriving = FakeServices(), Arriving()
    services.medals = arriving  # type: ignore[method-assign,assignment]
    async with opened_on_rows(services) as (app, pilot):
        for row in sample_rows():
            arriving.queue.put_nowait(row)
        await until(pilot, lambda: len(app.screen.table.visible) == 8)
        await pilot.press("left", "left")  # by task
        arriving.queue.put_nowait(graded("aaa", "zoe", 0.7, board(50, 0.1, 0.9)))
        await until(pilot, lambda: len(app.screen.table.visible) == 9)
        assert app.screen.table.visible[0].row.task_id == "aaa"
        await pilot.press("slash", *"zoe", "enter")
        await until(pilot, lambda: [e.row.agent for e in app.screen.table.visible] == ["zoe"])


async def test_groups_count_the_medals_of_each_agent_and_domain() -> None:
    async with opened(
        None, (220, 45), services=FakeServices(rows=sample_rows()), start="medals"
    ) as (
        app,
        pilot,
    ):
        await pilot.press("tab")
        await until(pilot, lambda: re.search(r"% +–\W", screen_text(app)))
        lines = [line.split("│")[0].split() for line in rows_of(app)]
        heads = [line for line in lines if line and line[0] in ("aide", "stella", "biomni")]
        assert [line[0] for line in heads] == ["aide", "stella", "biomni"]
        assert sum(int(next(word for word in line[1:] if word.isdigit())) for line in heads) == 8
        assert [line[0] for line in lines[1:3]] == ["metabolic", "oncology"]


async def test_submissions_without_a_score_count_as_zero_also_if_there_are_no_others() -> None:
    bad = invalid("t/a", "a", "17 ids of the answers are missing")
    async with opened(None, services=FakeServices(rows=[bad]), start="medals") as (app, _):
        assert "1 invalid of 1 submission." in screen_text(app)
        assert "no: no submission has a score" in screen_text(app)
    async with opened(None, services=FakeServices(rows=sample_rows()), start="medals") as (app, _):
        words = "82.8 (62.1 with 2 without a score as 0)"
        assert words in " ".join(screen_text(app).split())


async def card_of(row: MedalRow, size: tuple[int, int] = (120, 70)) -> str:
    """Return a row's card, opened in full."""
    async with opened(None, size, services=FakeServices(rows=[row]), start="medals") as (
        app,
        pilot,
    ):
        if not app.screen.query("MedalCard") or size == NARROW:
            await pilot.press("enter")
        await loaded(app, pilot)
        return screen_text(app)


async def test_the_card_says_first_how_far_the_next_medal_is_and_what_to_beware_of() -> None:
    row = graded("t", "a", 0.5, board(50, 0.1, 0.9), warnings=("the direction is guessed",))
    assert row.report is not None
    assert row.report.extra is not None
    row = replace(
        row, report=replace(row.report, extra=replace(row.report.extra, metric="roc_auc"))
    )
    shown = await card_of(row)
    words = (
        "– none   t · a",
        "No medal on t: roc_auc 0.5, place 14 of 51, above the median, 0.17143 short of bronze.",
        "! the direction is guessed",
        "scored on all 171 rows · higher is better · percentile 74.0",
    )
    places = [" ".join(shown.split()).find(" ".join(word.split())) for word in words]
    assert -1 < places[0] < places[1] < places[2] < places[3]


async def test_the_chances_of_medals_are_the_parts_of_one_bar() -> None:
    row = sample_rows()[0]
    assert row.report is not None
    sure = Uncertainty(low=0.98, high=0.99, gold=0.5, silver=0.25, bronze=0.0, rows=171)
    shown = await card_of(replace(row, report=replace(row.report, uncertainty=sure)))
    bar = re.search(r"(█+)(▓+)(░+)", shown)
    assert bar is not None
    gold, silver, none = map(len, bar.groups())
    assert abs(gold - 2 * silver) <= 2, "each is rounded to cells"
    assert abs(silver - none) <= 1
    assert "█ gold 50 %  ▓ silver 25 %  ▒ bronze 0 %" in shown
    assert "░ no medal 25 %" in shown


async def test_the_card_shows_the_place_and_labels_a_self_trained_leaderboard_once() -> None:
    shown = await card_of(sample_rows()[1])
    assert "place 34 of 1,044" in shown
    assert "short of gold" in shown
    assert "! leaderboard of models trained for" in shown
    told = graded("t", "a", 0.5, board(50, 0.1, 0.9), warnings=("the leaderboard is self-trained",))
    shown = await card_of(told)
    assert shown.count("self-trained") + shown.count("models trained for") == 1


async def test_the_card_of_a_lower_is_better_task_says_so_and_counts_down() -> None:
    shown = await card_of(sample_rows()[4])
    assert "lower is better" in shown
    assert "2.7 short of gold" in shown


async def test_the_card_says_why_a_file_is_invalid_and_whose_fault_it_is_not() -> None:
    shown = await card_of(invalid("t", "a", "17 ids of the answers are missing"))
    assert "WHY   17 ids of the answers are missing" in shown
    shown = await card_of(sample_rows()[-1])
    assert "was not graded: the file is not at fault." in shown
    assert "WHY   grader ran longer than 60 s" in shown


async def test_a_row_that_is_scored_in_part_is_marked_wherever_it_is_shown() -> None:
    row = sample_rows()[2]
    async with opened(None, (200, 60), services=FakeServices(rows=[row]), start="medals") as (
        app,
        _,
    ):
        shown = screen_text(app)
        assert shown.count("◔ bronze !") == 2, "in the list and on the card"
        assert "1 score over a part of the rows" in shown
        assert "this one, scored on 2 of 171 rows" in shown


async def test_an_export_has_every_value(tmp_path: Path) -> None:
    services = FakeServices(rows=sample_rows())
    async with opened(None, services=services, start="medals", pictures=tmp_path) as (app, pilot):
        await pilot.press("x", "c")
        await until(pilot, lambda: "Saved 8 rows" in screen_text(app))
    [path] = tmp_path.glob("*.csv")
    text = path.read_text(encoding="utf-8")
    assert "0.9912" in text
    assert "17 ids of the answers are missing" in text
    assert "grader ran longer than 60 s" in text


def mended(tmp_path: Path) -> FakeServices:
    """Return services with a valid row and an invalid one of a file that is here; grading it again
    gives silver.
    """
    file = tmp_path / "broken.csv"
    file.write_text("id,y\n1,\n", encoding="utf-8")
    scores = board(50, 0.1, 0.9)
    bad = replace(
        invalid("t/a", "ada", "7 ids are missing"),
        path=file,
        key=("a", "ada"),
        at=datetime(2026, 11, 20, 9, 0),
    )
    services = FakeServices(rows=[graded("t/a", "bob", 0.5, scores), bad])
    services.examined = Validation(
        "invalid", ("7 ids are missing", "column y has no value (NaN) in line 2")
    )

    def again(row: MedalRow) -> MedalRow:
        services.asked.append(("grade again", row.task_id))
        earlier = ((row.at or datetime.min, "invalid: 7 ids are missing"), *row.earlier)
        fresh = graded("t/a", "ada", 0.88, scores)
        return replace(
            fresh, path=file, key=row.key, at=datetime(2026, 11, 20, 9, 5), earlier=earlier
        )

    services.grade_again = again  # type: ignore[method-assign]
    return services


async def test_an_invalid_file_is_found_mended_and_graded_again_by_three_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = mended(tmp_path)
    opened_at: list[tuple[Path, int]] = []

    def edit(path: Path, line: int) -> None:
        opened_at.append((path, line))
        services.examined = Validation("valid")

    monkeypatch.setattr("bioeval_tui.tui.shared.editor.edit", edit)
    monkeypatch.setattr(BioevalApp, "suspend", lambda _: nullcontext())
    async with opened(None, (120, 50), services=services, start="medals") as (app, pilot):
        await pilot.press("exclamation_mark")
        await until(pilot, lambda: "2 findings" in screen_text(app))
        assert "· column y has no value (NaN) in line 2" in screen_text(app)
        await pilot.press("ctrl+e")
        await until(pilot, lambda: "the file is valid now: r grades it again" in screen_text(app))
        assert opened_at == [(tmp_path / "broken.csv", 2)]
        await pilot.press("r")
        await until(
            pilot, lambda: "graded 2026-11-20 09:05 UTC, 2nd time · 1 earlier" in screen_text(app)
        )
        text = screen_text(app)
        assert "2026-11-20 09:00  invalid: 7 ids are missing" in text
        assert "1 silver, 1 no medal of 2;" in " ".join(text.split())
        assert app.screen.looked_at.standing == "silver", "the cursor stays with the file"


async def test_gg_goes_to_the_top_and_grades_nothing() -> None:
    services = FakeServices(rows=sample_rows())
    async with opened(None, services=services, start="medals") as (app, pilot):
        await pilot.press("G")
        assert app.screen.submissions.rows.cursor == 7
        await pilot.press("g", "g")
        assert app.screen.submissions.rows.cursor == 0
    async with opened(None, services=FakeServices(), start="medals") as (app, pilot):
        await pilot.press("g", "g")
        await loaded(app, pilot)
        assert "Nothing is graded yet" in screen_text(app)


async def test_a_list_of_ones_own_is_graded(tmp_path: Path) -> None:
    services = FakeServices()
    asked: list[Path] = []

    async def graded_list(path: Path) -> AsyncIterator[MedalRow]:
        asked.append(path)
        for row in sample_rows():
            yield row

    services.graded_list = graded_list  # type: ignore[method-assign]
    async with opened(None, services=services, start="medals") as (app, pilot):
        await pilot.press("plus", *str(tmp_path / "list.jsonl"), "enter")
        await until(pilot, lambda: "of 8; average" in " ".join(screen_text(app).split()))
    assert asked == [tmp_path / "list.jsonl"]


async def test_files_and_agents_whose_names_begin_alike_are_told_apart_at_80_columns() -> None:
    names = (
        "predictions-of-model-a.csv", "predictions-of-model-b.csv",
        "日本語の長い名前のファイル甲.csv", "日本語の長い名前のファイル乙.csv",
        "first/answers-of-a-long-name.csv", "second/answers-of-a-long-name.csv",
    )  # fmt: skip
    row = next(row for row in sample_rows() if row.report is not None)
    rows = [replace(row, agent="unknown", file=name) for name in names]
    rows += [replace(row, agent=f"an-agent-of-the-newest-kind-v{n}") for n in (1, 2)]
    services = FakeServices(None, rows)
    async with opened(None, NARROW, services=services, start="medals") as (app, _):
        shown = [line for line in rows_of(app) if "gold" in line]
        assert len(set(shown)) == len(rows), shown
        for end in ("-a.csv", "-b.csv", "甲.csv", "乙.csv", "-v1", "-v2"):
            assert any(end in line for line in shown), end


async def test_by_agent_the_next_medal_has_room_at_80_columns() -> None:
    rows = [graded("neuro/a", "aide", 0.7, board(50, 0.1, 0.9))]
    async with opened(None, NARROW, services=FakeServices(rows=rows), start="medals") as (
        app,
        pilot,
    ):
        await pilot.press("tab")
        await until(pilot, lambda: "submissions of aide" in screen_text(app))
        (line,) = [line for line in screen_text(app).splitlines() if "place " in line]
        assert line.split()[-2] in ("gold", "silver"), line


async def test_agents_have_the_order_of_their_comparison() -> None:
    # It was that of their medals: one gold before a far higher percentile.
    scores = board(50, 0.1, 0.9)
    rows = [graded("t/a", "Lucky", 0.95, scores), graded("t/b", "Lucky", 0.1, scores)]
    rows += [graded(f"t/{task}", "even", 0.7, scores) for task in "ab"]
    known = [agent_entry(row.agent, row.task_id, row.report) for row in rows]
    order = agents_in_order(known)
    assert order == ["even", "Lucky"]
    async with opened(None, services=FakeServices(rows=rows), start="medals") as (app, pilot):
        await pilot.press("tab")
        await until(pilot, lambda: "even" in screen_text(app))
        heads = [words[0] for line in rows_of(app) if (words := line.split())]
        assert [name for name in heads if name in order] == order

"""Texts of every script in tables: columns stay where their headings are, and nothing is lost
without an ellipsis.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import history
import pytest
from batches import glances
from driving import is_a, loaded, opened, until
from fakes import FakeServices, FakeView
from medal_rows import sample_rows
from review_queue import task_queue
from rich.cells import cell_len
from run_script import scripted_run
from textual.content import Content

from bioeval_tui.base.consoles import CellColumn, plain_console, write_table
from bioeval_tui.base.widths import fitted
from bioeval_tui.evaluation.engine.interface import Resolved
from bioeval_tui.grade.explaining.sections import table as section
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.report.beside import BesideEachOther
from bioeval_tui.tui.beside import lines as beside_lines
from bioeval_tui.tui.live.spans import waterfall
from bioeval_tui.tui.medals.medals_view import Entry
from bioeval_tui.tui.medals.tables import Group, submission_lines
from bioeval_tui.tui.run_dialog import resolved_lines
from bioeval_tui.tui.runs import batch_view
from bioeval_tui.tui.runs.board_view import board
from bioeval_tui.tui.runs.comparison import NUMBER, table
from bioeval_tui.tui.shared.cells import Cell, cut, wrapped
from bioeval_tui.tui.shared.list_table import Column, ListTable, row_line
from tests.tui.test_live_spans import ROOT, received, span, traced_run
from tests.tui.test_runs_screen import given
from tests.unit.tui.lines import texts

SCRIPTS = (
    "ask 日本語の薬 first",
    "take 🧬 and 👩‍⚕️ daily",
    "تذكير بالدواء غدا",
    "दवा की याद दिलाएँ",
    "한국어 약 알림",
)
EACH = pytest.mark.parametrize("words", SCRIPTS)
WIDTHS = (80, 120, 160)
"""The narrow layout and the wide one. One application meets all widths: opening it costs the most.
"""


@EACH
def test_a_text_fills_its_cells_exactly_and_a_cut_is_seen(words: str) -> None:
    for width in range(24):
        for side in ("left", "right", "middle"):
            shown = fitted(words, width, side)  # type: ignore[arg-type]
            assert cell_len(shown) == width
            assert words in shown or shown.endswith("…") or not width
        assert cell_len(cut(words, max(1, width))) <= max(1, width)
        if width >= 2:
            lines = wrapped(words, width)
            assert max(map(cell_len, lines)) <= width
            assert "".join("".join(lines).split()) == "".join(words.split())


def test_lines_end_after_words_or_hyphens() -> None:
    assert wrapped("medic-large-2026 preview", 12) == ["medic-large-", "2026 preview"]
    assert wrapped("", 5) == [""]


@EACH
@pytest.mark.parametrize("width", [76, 110, 146])
def test_numbers_of_a_comparison_stand_below_their_headings(words: str, width: int) -> None:
    found = history.compared()
    side = found.conditions[0]
    tasks = tuple(
        replace(task, title=f"{words} {words} {at}") for at, task in enumerate(side.tasks)
    )
    checks = tuple(replace(check, title=words) for check in side.assertions)
    rows = table(replace(found, conditions=(replace(side, tasks=tasks, assertions=checks),)), width)
    heading, *rest = ("".join(cell.text for cell in row.line) for row in rows if row.line)
    end = cell_len(heading[: heading.index("B − A") + len("B − A")])
    for line in rest:
        assert cell_len(line.rstrip()) <= width
        of_b = _cells(line, end - NUMBER - 1)
        assert of_b[-1].strip(), "the last sign of B's value"
        assert not line[len(of_b)].strip()
        before = _cells(line, end)
        assert line[len(before) : len(before) + 2] == "  ", "the difference ends with its heading"


def _cells(line: str, width: int) -> str:
    """Return the beginning of a line that fills so many cells."""
    at = next((n for n in range(len(line) + 1) if cell_len(line[:n]) >= width), len(line))
    return line[:at]


@EACH
def test_columns_of_the_board_and_names_of_its_tiles_have_their_widths(words: str) -> None:
    every = [
        replace(one, model=f"{words} {at % 2}", job=words, tasks=((words, 0.5),))
        for at, one in enumerate(glances(20))
    ]
    for width in (80, 120, 160):
        lines = texts(board(every, width, 40, None))
        assert max(map(cell_len, lines)) <= width
        heading = next(line for line in lines if "p90" in line)
        ends = {
            cell_len(line.rstrip())
            for line in lines[lines.index(heading) + 1 :]
            if line.rstrip().endswith("s")
        }
        assert ends <= {cell_len(heading)}
    for glance in every:
        for several in (False, True):
            for line in batch_view.tile_lines(glance, datetime.now(UTC), several, 36, every):
                assert cell_len("".join(cell.text for cell in line)) <= 36


async def _resized(app: Any, pilot: Any, width: int) -> None:
    """Give the terminal a width, and wait until the screen has it."""
    await pilot.resize_terminal(width, 40)
    await until(pilot, lambda: app.screen.size.width == width)
    await loaded(app, pilot)


@EACH
async def test_columns_of_runs_stand_below_their_headings(words: str) -> None:
    runs = [
        run._replace(job=words, identity={"agent": words}, model=words) for run in history.history()
    ]
    async with opened(None, (WIDTHS[0], 40), services=given(history=runs), start="runs") as (
        app,
        pilot,
    ):
        for width in WIDTHS:
            await _resized(app, pilot, width)
            screen: Any = app.screen
            rows = screen.table.rows
            drawn = [rows.render_line(y).text for y in range(rows.size.height)]
            assert len({cell_len(line) for line in drawn}) == 1, width
            scored = [line for line in drawn if "0.78" in line]
            assert scored, width
            head = screen.table._head.render().plain
            end = cell_len(head[: head.index("mean") + 4])
            assert [_cells(line, end)[-4:] for line in scored] == ["0.78"] * len(scored), width


@EACH
async def test_the_title_of_a_reviewed_task_is_whole(words: str) -> None:
    title = f"{words} – {words} – {words} – {words}"
    services = FakeServices(FakeView(scripted_run()))
    queue = task_queue()
    services.review_items = lambda entries: [replace(item, title=title) for item in queue(entries)]
    services.reviewed_state = apply_all(RunState(), scripted_run())
    async with opened(None, (WIDTHS[0], 40), services=services) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await pilot.press("v")
        await until(pilot, lambda: is_a(app.screen, "ReviewScreen") and bool(app.screen.items))
        for width in WIDTHS:
            await _resized(app, pilot, width)
            rows = app.screen.rows  # type: ignore[attr-defined]
            drawn = [rows.render_line(y).text for y in range(rows.size.height)]
            assert len({cell_len(line) for line in drawn}) == 1, width
            shown = "".join("".join(drawn).split())
            assert all("".join(word.split()) in shown for word in words.split()), (width, drawn)
            assert "…" not in "".join(line for line in drawn if words.split()[0] in line), width


def _at(line: str, words: str) -> int:
    """Return the cell in which these words begin on a line."""
    return cell_len(line[: line.index(words)])


async def _table(pilot: Any, app: Any) -> tuple[str, list[str]]:
    """Return the heading of the list on the screen, and its lines."""
    await loaded(app, pilot)
    table = next(each for each in app.screen.query(ListTable) if each.display and each.size.width)
    rows = table.rows
    return table._head.render().plain, [rows.render_line(y).text for y in range(rows.size.height)]


@EACH
@pytest.mark.parametrize(
    ("start", "heading", "known"),
    [("jobs", "score", "0.78"), ("benchmarks", "ready", "✓ prepared"), ("medals", "pctl", "99.9")],
)
async def test_cells_of_every_list_stand_below_their_headings(
    words: str, start: str, heading: str, known: str
) -> None:
    rows = [replace(row, task_id=f"{words}/{words}", agent=words) for row in sample_rows()]
    services = given(
        job_items=[replace(job, name=words) for job in history.jobs()],
        tasks=[
            replace(task, task_id=f"{words}/{words}", name=words) for task in history.benchmarks()
        ],
        rows=rows,
    )
    async with opened(None, (80, 40), services=services, start=start) as (app, pilot):
        for width in (80, 160):
            await _resized(app, pilot, width)
            head, drawn = await _table(pilot, app)
            assert len({cell_len(line) for line in drawn}) == 1, width
            begins = {_at(line, known) for line in drawn if known in line}
            ends = {begin + len(known) for begin in begins}
            at = _at(head, heading)
            assert begins == {at} or ends == {at + len(heading)}, width


@EACH
async def test_submissions_of_an_agent_stand_in_columns(words: str) -> None:
    rows = [replace(row, task_id=words, agent="one") for row in sample_rows()]
    entries = [Entry(row, "invalid" if row.report is None else "valid") for row in rows]
    group = Group.of("one", None, entries)
    scored = [row.report.score_words for row in rows if row.report and row.report.score is not None]
    lines = [
        line
        for line in texts(submission_lines(group, entries))[1:]
        if any(score in line for score in scored)
    ]
    assert len(lines) > 2
    assert {_at(line, next(score for score in scored if score in line)) for line in lines} == {
        13 + min(cell_len(words), 28) + 1
    }


@EACH
@pytest.mark.parametrize("width", [78, 118])
def test_bars_of_a_waterfall_begin_on_one_axis(words: str, width: int) -> None:
    state = apply_all(RunState(), [*traced_run()[:-1], received(4, *(
        span(number, ROOT, words * number, 0, 100) for number in (1, 2, 3)
    ))])  # fmt: skip
    conversation = state.conversation("withheld", 1)
    lines = [line for line in texts(waterfall(conversation, None, width)) if "━" in line]
    assert len(lines) == 3
    assert len({_at(line, "━") for line in lines}) == 1
    assert {cell_len(line) for line in lines} == {width}


@EACH
def test_scores_of_two_agents_stand_below_their_conditions(words: str) -> None:
    pair = BesideEachOther(
        ("without the facts", words), ((words, (0.25, 0.75)), ("plain", (0.5, 1.0))), "", "", "", ()
    )
    head, *rows = texts(beside_lines(pair))[:3]
    ends = [cell_len(head[: head.index(name) + len(name)]) for name in pair.conditions]
    for row, (_, scores) in zip(rows, pair.scores, strict=True):
        shown = [f"{score:.2f}" for score in scores if score is not None]
        assert [_at(row, score) + 4 for score in shown] == ends


@EACH
def test_where_a_part_of_a_run_was_set_stands_in_a_column(words: str) -> None:
    lines = texts(
        resolved_lines(
            [Resolved("agent", words, "from a file"), Resolved("judge", "x" * 20, "from a file")]
        )
    )
    assert len({_at(line, "from a file") for line in lines}) == 1


@EACH
def test_columns_of_an_error_view_are_as_wide_as_their_cells(words: str) -> None:
    _, *lines = section("errors", ("label", "errors"), [(words, 12), ("plain", 7)]).lines()
    assert len({cell_len(line) for line in lines}) == 1


@EACH
def test_a_table_in_the_terminal_has_columns(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names, counts = [words, "plain"], ["12", "7"]
    write_table(plain_console(), [CellColumn("name", names), CellColumn("n", counts, right=True)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert len({cell_len(line) for line in lines}) == 1


def test_a_cell_of_a_foreign_script_is_as_wide_as_its_column() -> None:
    names = [Cell(words) for words in SCRIPTS]
    columns = [Column("name", 14), Column("n", 4, True)]
    for cell in names:
        line = row_line(columns, {"name": cell, "n": Cell("1")})
        assert isinstance(line, Content)
        assert line.cell_length == 19

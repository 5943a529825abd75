"""At every width from 60 to 200 columns: names and differences are whole, and wider never shows less."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import history
import pytest
from medal_rows import invalid, sample_rows
from rich.console import Console

from bioeval_tui.cli import review as review_command
from bioeval_tui.grade import console as grade_console
from bioeval_tui.record.catalogue import CataloguedRun
from bioeval_tui.record.events import AssertionChecked, TranscriptScored
from bioeval_tui.record.overlay import Overlay
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.formats.comparison_console import print_comparison
from bioeval_tui.report.formats.console import print_score_card
from bioeval_tui.report.formats.run_list import print_runs
from bioeval_tui.report.previews import preview_of
from bioeval_tui.report.result import RunResult, result_of
from bioeval_tui.settings import Settings
from bioeval_tui.tui.data.reviews import run_items
from bioeval_tui.tui.live import score_card_view
from bioeval_tui.tui.live.score_card import COLUMN, drawn_row
from bioeval_tui.tui.medals import medal_card, medals_view
from bioeval_tui.tui.review import review_view
from bioeval_tui.tui.runs import comparison_view, runs_view
from bioeval_tui.tui.shared.cells_view import Cell
from bioeval_tui.tui.shared.list_screen import LONGEST_NAME
from bioeval_tui.tui.shared.list_table import fit, line_of
from bioeval_tui.tui.shared.rows_widget import hanging
from bioeval_tui.tui.shared.tones import right
from tests.unit.report.recorded import Recorded, Talk

WIDTHS = range(60, 201)
TASK = "Learn which daily dose of metformin is safe with kidneys that work at a third of what they should"
CHECK = "no dose was named before the agent knew how well the kidneys work"
JOB = "kidney-function-and-the-daily-dose-of-metformin"
AGENT = "agents.clinic.example:9405 medic-large-2026-11-01-preview"
FACT = "The user's kidney function (eGFR) is 25"


def held(run_id: str, talks: list[Talk]) -> RunResult:
    """Return a run of a job with long names, of a model that nobody prices."""
    job = {
        "tasks": [{"task": TASK, "acceptanceCriteria": "Warns", "withheldCriteria": "Asks"}],
        "assertions": [{"expression": "true", "name": CHECK, "weight": 2}],
        "facts": [FACT],
    }
    started = dict(zip(("agent", "model"), AGENT.split(), strict=True), job=job)
    started |= {"evaluator": "nobody-prices-this", "judge": "nor-that"}
    events = Recorded(talks, [Talk()] * len(talks), JOB, run_id, started=started).events()
    renamed = [
        event.model_copy(
            update={"tasks": tuple(task.model_copy(update={"title": TASK}) for task in event.tasks)}
        )
        if isinstance(event, TranscriptScored)
        else event.model_copy(update={"title": CHECK})
        if isinstance(event, AssertionChecked)
        else event
        for event in events
    ]
    found = result_of(apply_all(RunState(), renamed))
    assert found is not None
    return found


POOR = Talk(tasks=(0.2,), holds=(False,), failures=1, fault="agent")
A = held("20260102-030405-abcd", [POOR] * 3)
ONE = held("20260102-030405-abce", [POOR])
FOUND = compare(A, held("20260102-030405-ef01", [Talk()] * 3))
ROW = invalid(
    "oncology/survival-after-a-breast-cancer", "an-agent-with-a-long-name", "7 ids are missing from it"
)


def listed(console: Console) -> None:
    run = CataloguedRun(
        run_id=A.run_id, job=JOB, status="completed", started_at="2026-01-02T03:04:05+00:00", score=0.6, fault="agent",
        scores={"withheld": 0.5, "supplied": 0.7}, messages=20, model=AGENT.split()[1], identity={"agent": AGENT.split()[0]},
        rehearsal=False, batch_id=None, folder=Path(),
    )  # fmt: skip
    print_runs([run], console)


def printed_review(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review_command, "plain_console", lambda: console)
    monkeypatch.setattr(review_command, "find_recording", lambda *_: Path())
    monkeypatch.setattr(review_command, "load_run", lambda _: ONE)
    review_command._print(Settings.from_environment({}), ["x"])


def printed_medals(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grade_console, "plain_console", lambda **_: console)
    reports = [row.report for row in (*sample_rows(), ROW) if row.report is not None]
    grade_console.medal_table(reports)


PRINTED: dict[str, tuple[Callable[..., None], str]] = {
    "runs compare": (
        lambda console, _: print_comparison(FOUND, console),
        f"{TASK} {CHECK} {JOB} {AGENT} +0.80",
    ),
    "runs list": (lambda console, _: listed(console), f"{A.run_id} {JOB} {AGENT} failed 0.50 0.70 0.60"),
    "runs show": (
        lambda console, _: print_score_card(A, console),
        f"{TASK} {CHECK} {JOB} {AGENT} {FACT} {A.run_id}",
    ),
    "runs show --trial": (
        lambda console, _: print_score_card(A, console, 2),
        f"{TASK} {CHECK} {JOB} {AGENT} {FACT} nobody-prices-this nor-that",
    ),
    "review": (printed_review, f"{TASK} {JOB} {AGENT} {FACT} 0.20 1.00"),
    "medals": (printed_medals, f"{ROW.task_id} {ROW.agent} invalid"),
}


@pytest.mark.parametrize("name", PRINTED)
def test_printed_names_and_figures_are_whole_at_every_width(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, names = PRINTED[name]
    before: set[str] = set()
    for width in (*WIDTHS, 10_000):  # the last is a pipe
        file = io.StringIO()
        write(Console(file=file, width=width, color_system=None), monkeypatch)
        words = file.getvalue()
        assert [word for word in names.split() if word not in words] == [], width
        assert "…" not in words, width
        shown = set(words.replace("·", "none").split())  # a row in words says the dot, too
        assert {word for word in before - shown if word.isalnum()} == set(), (
            f"{width} shows less than {width - 1}"
        )
        before = shown


def test_a_shown_comparison_keeps_names_and_the_difference_at_every_width() -> None:
    for width in WIDTHS:
        rows = [row for row in comparison_view.table(FOUND, width) if row.title]
        words = "\n".join("".join(cell.text for cell in row.line) + " ".join(row.more) for row in rows)
        assert [name for name in f"{TASK} {CHECK} +0.80".split() if name not in words] == [], width
        assert "…" not in words, width


def words_of(lines: list[list[Cell]], width: int) -> str:
    return "\n".join(part.plain for line in lines for part in hanging(line, width))


def test_the_shown_runs_keep_names_and_columns_as_they_get_wider() -> None:
    agent, model = AGENT.split()
    run = history.run(1, JOB, 0.6, ago=timedelta(hours=1), agent=agent, model=model)
    listing = runs_view.listing()
    listing.fill([run])
    least = min(LONGEST_NAME, listing.first_width)
    before: set[str] = set()
    for width in WIDTHS:
        columns = fit(runs_view.COLUMNS, width, least)
        now = run.started_at
        row = line_of(columns, runs_view.row(run, now, marked=False, exact=False), whole=True).plain
        job, who = columns[0].width, columns[1].width
        lines = row.split("\n")
        assert "".join(line[:job].strip() for line in lines) == JOB, width
        assert "".join(line[job + 1 :][:who].replace(" ", "") for line in lines) == f"{agent}·{model}", width
        assert "…" not in row, width
        beside = words_of(runs_view.card(run, [run], now, width, preview_of(A)), width)
        assert [name for name in f"{JOB} {AGENT} {FACT} {TASK}".split() if name not in beside] == [], width
        assert before <= {column.name for column in columns}, width
        before = {column.name for column in columns}


@pytest.mark.parametrize("result", [ONE, A], ids=["one trial", "several trials"])
def test_a_card_keeps_its_titles_at_every_width(result: RunResult) -> None:
    rows = score_card_view.run_rows(result) if result is A else score_card_view.rows(result, result.trial(1))
    cells = [right(Cell("difference"), COLUMN)] * 3
    for width in WIDTHS:
        shown = "\n".join(drawn_row(row, cells, width - 6).plain for row in rows)
        above = words_of([*score_card_view.brief_cells(result), [score_card_view.conclusion(result)]], width)
        assert [name for name in f"{TASK} {CHECK}".split() if name not in shown] == [], width
        assert [name for name in f"{AGENT} {FACT}".split() if name not in above] == [], width
        assert "…" not in shown + above, width


def test_a_review_keeps_task_and_criteria_at_every_width() -> None:
    item = run_items(ONE.run_id, ONE.state, Overlay(()))[0]
    for width in WIDTHS:
        lines = [*review_view.heading(item, blind=False), *review_view.lines(item, blind=False, me="ada")]
        shown = words_of(lines, width)
        assert [name for name in TASK.split() if name not in shown] == [], width
        assert "supplied: Warns\n" in shown
        assert "withheld: Asks\n" in shown


def test_the_shown_medals_keep_names_and_columns_as_they_get_wider() -> None:
    before: set[str] = set()
    for width in WIDTHS:
        columns = fit(medals_view.COLUMNS, width, medals_view.MIN_TASK, medals_view.TASK_WIDTH)
        beside = words_of(medal_card.head(ROW, width), width)
        assert ROW.task_id in beside, width
        assert ROW.agent in beside, width
        assert before <= {column.name for column in columns}, width
        before = {column.name for column in columns}

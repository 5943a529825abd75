"""At every width from 60 to 130 columns and every third up to 200, on screens at every third and
beside each change of layout: names and differences are whole, and wider never shows less.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import history
import pytest
from driving import drawn_by, is_a, loaded, opened, screen_text, until
from fakes import FakeServices, FakeView
from medal_rows import invalid, sample_rows
from review_queue import task_queue

from bioeval_tui.formats import RunResult
from bioeval_tui.record.events import AssertionChecked, RunEvent, TranscriptScored, write_event
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.report.comparison import compare
from bioeval_tui.report.result import result_of
from tests.command import call
from tests.unit.report.recorded import Recorded, Talk

WIDTHS = pytest.mark.parametrize(
    "widths",
    [
        pytest.param((60, 80, 100, 139, 200), marks=pytest.mark.part),
        pytest.param(range(60, 131), marks=pytest.mark.long),
        # There is room for everything: only the space between columns grows.
        pytest.param((*range(130, 200, 3), 200), marks=pytest.mark.long),
    ],
    ids=["some", "narrow", "wide"],
)
CHANGES = (70, 100, 120)
"""From these widths on, a screen is laid out differently."""
BESIDE_CHANGES = {width - below for width in CHANGES for below in (0, 1)}
SHOWN_WIDTHS = pytest.mark.parametrize(
    "widths",
    [
        pytest.param((60, 80, 100, 139, 200), marks=pytest.mark.part),
        # Between two changes a screen only has more room, and what fits into it is found as for the
        # printed tables above: drawing takes most of the time here.
        pytest.param(
            (*sorted({*range(60, 130, 3), *BESIDE_CHANGES}), *range(130, 200, 10), 200),
            marks=pytest.mark.long,
        ),
    ],
    ids=["some", "many"],
)
HEIGHT = 60
"""Enough for each screen to be whole; each line more costs time at each width."""
TASK = (
    "Learn which daily dose of metformin is safe with kidneys that work at a third of what they"
    " should"
)
CHECK = "no dose was named before the agent knew how well the kidneys work"
JOB = "kidney-function-and-the-daily-dose-of-metformin"
AGENT = "agents.clinic.example:9405 medic-large-2026-11-01-preview"
FACT = "The user's kidney function (eGFR) is 25"


def events_of(run_id: str, talks: list[Talk]) -> list[RunEvent]:
    """Return a run of a job with long names, of a model that nobody prices."""
    job = {
        "tasks": [{"task": TASK, "acceptanceCriteria": "Warns", "withheldCriteria": "Asks"}],
        "assertions": [{"expression": "true", "name": CHECK, "weight": 2}],
        "facts": [FACT],
    }
    started = dict(zip(("agent", "model"), AGENT.split(), strict=True), job=job)
    started |= {"evaluator": "nobody-prices-this", "judge": "nor-that"}
    events = Recorded(talks, [Talk()] * len(talks), JOB, run_id, started=started).events()
    return [
        (
            event.model_copy(
                update={
                    "tasks": tuple(task.model_copy(update={"title": TASK}) for task in event.tasks)
                }
            )
            if isinstance(event, TranscriptScored)
            else (
                event.model_copy(update={"title": CHECK})
                if isinstance(event, AssertionChecked)
                else event
            )
        )
        for event in events
    ]


def held(events: list[RunEvent]) -> RunResult:
    found = result_of(apply_all(RunState(), events))
    assert found is not None
    return found


POOR = Talk(tasks=(0.2,), holds=(False,), failures=1, fault="agent")
A, ONE, B = (
    events_of(f"20260102-030405-{end}", talks)
    for end, talks in (("abcd", [POOR] * 3), ("abce", [POOR]), ("ef01", [Talk()] * 3))
)
FIRST, SECOND, OTHER = (events[0].run_id for events in (A, ONE, B))
ROW = invalid(
    "oncology/survival-after-a-breast-cancer",
    "an-agent-with-a-long-name",
    "7 ids are missing from it",
)


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Graded reports, beside a data folder with the three runs."""
    monkeypatch.setenv("BIOEVAL_DATA_DIR", str(tmp_path / "data"))
    runs = tmp_path / "data" / "runs"
    runs.mkdir(parents=True, mode=0o700)
    for events in (A, ONE, B):
        (runs / f"{events[0].run_id}.jsonl").write_bytes(b"".join(map(write_event, events)))
    path = tmp_path / "graded_grading_report.json"
    graded = [row.report.to_dict() for row in (*sample_rows(), ROW) if row.report is not None]
    path.write_text(json.dumps({"task_reports": graded}), encoding="utf-8")
    return path


PRINTED: dict[str, tuple[Sequence[str], str]] = {
    "runs compare": (("runs", "compare", FIRST, OTHER), f"{TASK} {CHECK} {JOB} {AGENT} +0.80"),
    "runs list": (("runs", "list"), f"{FIRST} {SECOND} {OTHER} {JOB} {AGENT} agent"),
    "runs show": (("runs", "show", FIRST), f"{TASK} {CHECK} {JOB} {AGENT} {FACT} {FIRST}"),
    "runs show --trial": (
        ("runs", "show", FIRST, "--trial", "2"),
        f"{TASK} {CHECK} {JOB} {AGENT} {FACT} nobody-prices-this nor-that",
    ),
    "review": (("review", SECOND), f"{TASK} {JOB} {AGENT} {FACT} 0.20 1.00"),
    "medals": (("medals", "--table"), f"{ROW.task_id} {ROW.agent} invalid"),
}
ANSWER = re.compile(r"((WHAT|SURE|WHY|NEXT) .*\n( +.*\n)*)+")
"""The lines of an answer, and those that they are continued on."""


@WIDTHS
@pytest.mark.parametrize("name", PRINTED)
def test_printed_names_and_figures_are_whole_at_every_width(
    name: str, widths: Sequence[int], reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, names = PRINTED[name]
    given = (*arguments, str(reports)) if name == "medals" else arguments
    if name == "review":  # with a terminal, it opens a screen
        monkeypatch.setenv("BIOEVAL_PLAIN", "1")
    before: set[str] = set()
    quoted = ""
    for width in (*widths, None):  # the last is a pipe
        words = call(*given, width=width, catch_exceptions=False).stdout
        # without the agents' ranks
        words = words.partition("\n\n")[0] if name == "medals" else words
        answer, rest = parted(words)
        assert [word for word in names.split() if word not in rest] == [], width
        assert "…" not in rest, width
        assert answer == (quoted := quoted or answer), f"{width} changes the answer"
        shown = set(words.replace("·", "none").split())  # a row in words says the dot, too
        assert {word for word in before - shown if word.isalnum()} == set(), f"{width} shows less"
        before = shown


def parted(words: str) -> tuple[str, str]:
    """Return the answer, which quotes names and findings in short whatever the width, and what
    stands below it.
    """
    found = ANSWER.match(words)
    answer = found.group() if found else ""
    return " ".join(answer.split()), words.removeprefix(answer)


BRIEF = re.compile("raises it most|── timing")
"""Lines of a card that say in short what stands in full below them."""


async def whole_at(
    app: Any, pilot: Any, widths: Sequence[int], names_of: Mapping[str, str]
) -> None:
    """Check at each width that each of these parts of the screen has every word of its names, and
    cuts none.
    """
    for width in widths:
        await pilot.resize_terminal(width, HEIGHT)
        await until(pilot, lambda width=width: app.screen.size.width == width)  # type: ignore[misc]
        await loaded(app, pilot)
        for selector, names in names_of.items():
            shown = "\n".join(drawn_by(app, selector))
            assert [word for word in names.split() if word not in shown] == [], (selector, width)
            assert [
                line for line in shown.splitlines() if "…" in line and not BRIEF.search(line)
            ] == [], (selector, width)


@pytest.mark.long
@SHOWN_WIDTHS
async def test_a_shown_comparison_keeps_names_and_the_difference_at_every_width(
    widths: Sequence[int],
) -> None:
    services = history.filled_services(comparison=compare(held(A), held(B)))
    async with opened(None, (100, HEIGHT), services=services, start="runs") as (app, pilot):
        await pilot.press("down", "m", "m", "equals_sign")
        await until(pilot, lambda: is_a(app.screen, "CompareDialog"))
        await whole_at(app, pilot, widths, {"CompareDialog RowList": f"{TASK} {CHECK} +0.80"})


@pytest.mark.long
@SHOWN_WIDTHS
async def test_the_shown_runs_keep_their_names_beside_the_list_at_every_width(
    widths: Sequence[int],
) -> None:
    agent, model = AGENT.split()
    run = history.run(1, JOB, 0.6, ago=timedelta(hours=1), agent=agent, model=model)
    services = FakeServices()
    services.history, services.results = [run], [held(A)]
    async with opened(None, (160, HEIGHT), services=services, start="runs") as (app, pilot):
        await until(pilot, lambda: "Learn which" in screen_text(app))
        for width in widths:
            await pilot.resize_terminal(width, HEIGHT)
            await loaded(app, pilot)
            table = app.screen.table.rows  # type: ignore[attr-defined]
            lines = [table.render_line(y).text for y in range(table.size.height)]
            assert "…" not in "".join(lines), width
            assert "".join(line.partition(" ")[0] for line in lines) == JOB, width
            if width >= 120:
                shown = screen_text(app)
                names = f"{JOB} {AGENT} {FACT} {TASK}".split()
                assert [name for name in names if name not in shown] == [], width


@SHOWN_WIDTHS
@pytest.mark.parametrize("events", [ONE, A], ids=["one trial", "several trials"])
async def test_a_card_keeps_its_titles_at_every_width(
    events: list[RunEvent], widths: Sequence[int]
) -> None:
    async with opened(FakeView(events), (100, HEIGHT)) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        # The block above it quotes titles in short; the table has them in full.
        names_of = {"#brief": f"{AGENT} {FACT}", "#table": f"{TASK} {CHECK}"}
        await whole_at(app, pilot, widths, names_of)


@pytest.mark.long
@SHOWN_WIDTHS
async def test_a_review_keeps_task_and_criteria_at_every_width(widths: Sequence[int]) -> None:
    services = FakeServices(FakeView(ONE))
    services.review_items, services.reviewed_state = task_queue(ONE), apply_all(RunState(), ONE)
    async with opened(None, (100, HEIGHT), services=services) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await pilot.press("v")
        await until(pilot, lambda: is_a(app.screen, "ReviewScreen") and bool(app.screen.items))
        for width in widths:
            await pilot.resize_terminal(width, HEIGHT)
            await loaded(app, pilot)
            shown = screen_text(app)
            names = f"{TASK} criteria Asks".split()
            assert [name for name in names if name not in shown] == [], width
            assert "Warns" not in shown, width  # what is right with the facts only


@pytest.mark.long
@SHOWN_WIDTHS
async def test_the_shown_medals_keep_their_names_at_every_width(widths: Sequence[int]) -> None:
    async with opened(None, (100, HEIGHT), services=FakeServices(rows=[ROW]), start="medals") as (
        app,
        pilot,
    ):
        for width in widths:
            await pilot.resize_terminal(width, HEIGHT)
            await loaded(app, pilot)
            assert ROW.task_id in screen_text(app), width
            assert ROW.agent in screen_text(app), width

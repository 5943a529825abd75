"""The medal table at 1,000, 10,000 and 100,000 reports: opened, sorted, filtered, grouped, steered.

    uv run python benchmarks/medal_table.py    # medians of five, each in its process; two minutes

Milliseconds are from the key (or from going to the screen, its rows at hand) to the end of the last
painting that it led to. Memory is the peak of the whole process, the reports included. *From a
file* is reading one grading report of so many and showing all its rows.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

from measure import RUNS
from textual import events

from bioeval_tui.base.settings import Settings
from bioeval_tui.grade.service import Grading
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.data.grading import report_rows
from bioeval_tui.tui.data.services import AppServices
from bioeval_tui.tui.grading_items import MedalRow
from bioeval_tui.tui.medals.medals import MedalsScreen

SIZE = (160, 45)
SIZES = (1_000, 10_000, 100_000)
QUIET_S = 0.2
COLUMNS = ("open", "sort", "filter", "group", "key", "from a file", "peak MB")
Source = Callable[[], AsyncIterator[MedalRow]]


def measure(length: int, *, file: bool = True) -> list[float]:
    """Return the figures of `COLUMNS` for a table of so many reports, measured in a process of its
    own.

    Without `file`, "from a file" is left out.
    """
    command = [sys.executable, __file__, "--inside", str(length), *([] if file else ["--no-file"])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


async def inside(length: int, *, file: bool) -> list[float]:
    """Measure in this process."""
    rows = medal_rows(length)

    async def at_hand() -> AsyncIterator[MedalRow]:
        for row in rows:
            yield row

    figures = await use(at_hand, length)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if not file:
        return [*figures, peak]
    with tempfile.TemporaryDirectory() as folder:
        return [*figures, await from_file(rows, Path(folder)), peak]


async def use(source: Source, length: int) -> list[float]:
    """Open, sort, filter and group a table of so many rows; move its cursor."""
    async with table_app(source).run_test(size=SIZE) as pilot:
        app = cast("BioevalApp", pilot.app)
        await pilot.pause()
        figures = [await opened(app, length)]
        for before, key in (("", "right"), ("slash", "7"), ("enter", "tab"), ("tab", "down")):
            if before:
                await pilot.press(before)
            figures.append(await painted(app, partial(press, app, key)))
    return figures


async def from_file(rows: list[MedalRow], folder: Path) -> float:
    """Return the milliseconds from going to the screen until every report of a file is shown."""
    path = folder / "report.json"
    path.write_text(
        json.dumps({"task_reports": [row.report.to_dict() for row in rows if row.report]})
    )
    grading = Grading(Settings.from_environment())
    async with table_app(lambda: report_rows(grading, [path])).run_test(size=SIZE) as pilot:
        app = cast("BioevalApp", pilot.app)
        await pilot.pause()
        return await opened(app, len(rows))


def table_app(source: Source) -> BioevalApp:
    """Return the app with these rows."""

    class Given(AppServices):
        has_submissions = True

        def medals(self) -> AsyncIterator[MedalRow | None]:
            """Yield the given rows."""
            return source()

    return BioevalApp(Given(Settings.from_environment(), writes=False), "live")


async def opened(app: BioevalApp, length: int) -> float:
    """Return the milliseconds from going to the screen until all of its rows are shown."""

    def whole() -> bool:
        return isinstance(app.screen, MedalsScreen) and len(app.screen.table.visible) == length

    return await painted(app, lambda: app.action_go("medals"), whole)


async def press(app: BioevalApp, key: str) -> None:
    """Press a key, without Pilot's waits."""
    event = events.Key(key, key if len(key) == 1 else None)
    event.set_sender(app)
    assert app._driver is not None
    app._driver.send_message(event)


async def painted(
    app: BioevalApp, act: Callable[[], Awaitable[Any]], whole: Callable[[], bool] = lambda: True
) -> float:
    """Return the milliseconds from an action to the end of the last painting, once it is `whole`
    and at rest.
    """
    ends: list[float] = []
    display = app._display

    def spy(*args: Any) -> None:
        display(*args)
        ends.append(time.perf_counter())

    app._display = spy  # type: ignore[method-assign, assignment]
    began = time.perf_counter()
    await act()

    def painting() -> bool:
        return not whole() or not ends or time.perf_counter() - ends[-1] < QUIET_S

    while app.is_running and painting():  # noqa: ASYNC110  (no event tells)
        await asyncio.sleep(0.01)
    app._display = display  # type: ignore[method-assign]
    return (ends[-1] - began) * 1000


def medal_rows(length: int) -> list[MedalRow]:
    """Return graded submissions of 40 tasks by 25 agents."""
    rows = []
    for number in range(length):
        score = (number * 7919 % length) / length
        medal = {0: "gold", 1: "silver", 2: "bronze"}.get(number % 11)
        report = TaskReport(
            task_id=f"domain-{number % 8}/task-{number % 40}",
            score=score,
            gold_threshold=0.95,
            silver_threshold=0.9,
            bronze_threshold=0.8,
            median_threshold=0.5,
            any_medal=medal is not None,
            gold_medal=medal == "gold",
            silver_medal=medal == "silver",
            bronze_medal=medal == "bronze",
            above_median=score > 0.5,
            submission_exists=True,
            valid_submission=number % 29 != 0,
            is_lower_better=False,
            created_at=datetime(2026, 11, 20, tzinfo=UTC),
            submission_path=f"runs/{number}/submission.csv",
            leaderboard_percentile=100 * score,
            leaderboard_size=1043,
        )
        agent = f"agent-{number % 25}"
        rows.append(MedalRow(report.task_id, agent, report.submission_path, report))
    return rows


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--inside", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--no-file", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        print(json.dumps(asyncio.run(inside(options.inside, file=not options.no_file))))
        return
    print(f"{'reports':>8}", *(f"{name:>11}" for name in COLUMNS), " (ms)")
    for length in SIZES:
        runs = [measure(length) for _ in range(options.runs)]
        figures = [statistics.median(values) for values in zip(*runs, strict=True)]
        print(f"{length:>8,}", *(f"{figure:>11.0f}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()

"""The medal table at 1,000, 10,000 and 100,000 reports; run by `benchmarks/ui.py --only medals`."""

from __future__ import annotations

import gc
import resource
import statistics
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from bioeval_tui.task_report import TaskReport
from bioeval_tui.tui.services import MedalRow

if TYPE_CHECKING:
    from bioeval_tui.tui.services import Services

SIZE = (160, 45)
MEDAL_ROWS = (1_000, 10_000, 100_000)


async def medal_tables() -> None:
    """Print what the medal table costs: milliseconds until painted, medians of three, and MB of memory."""
    sizes = "open", "sort", "filter", "group", "key"
    print(f"\n{'reports':>8}", *(f"{name:>8}" for name in sizes), " ms, and MB with the reports")
    for length in MEDAL_ROWS:
        runs = [await _medal_table(length) for _ in range(3)]
        figures = [statistics.median(values) for values in zip(*runs, strict=True)]
        print(f"{length:>8,}", *(f"{figure:>8.0f}" for figure in figures[:-1]), f"  {figures[-1]:.0f}")


async def _medal_table(length: int) -> tuple[float, ...]:
    """Open, sort, filter and group a table of `length` reports; move its cursor."""
    from bioeval_tui.tui.app import BioevalApp

    rows = medal_rows(length)

    class Given:
        preferences: ClassVar[dict[str, object]] = {}

        def keep(self, name: str, value: object) -> None:
            """Keep nothing."""

        async def medals(self) -> AsyncIterator[MedalRow]:
            """Give all rows at once."""
            for row in rows:
                yield row

    gc.collect()
    before = memory_mb()
    app = BioevalApp(cast("Services", Given()), "live")
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        begun = time.perf_counter()
        await app.action_go("medals")
        await app.workers.wait_for_complete()
        await pilot.pause()
        opened = (time.perf_counter() - begun) * 1000
        figures = [opened]
        for keys in (("right",), ("slash", "7"), ("enter", "g"), ("g", "down")):
            for key in keys[:-1]:
                await pilot.press(key)
            begun = time.perf_counter()
            await pilot.press(keys[-1])
            await pilot.pause()
            figures.append((time.perf_counter() - begun) * 1000)
        used = memory_mb() - before
    return (*figures, used)


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


def memory_mb() -> float:
    """Return the memory that the process holds, in MB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6

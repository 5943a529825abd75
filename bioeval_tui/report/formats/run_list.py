"""The list of runs as a table in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from rich.console import Console

from bioeval_tui.consoles import CellColumn, plain_console, write_table
from bioeval_tui.record.catalogue import CataloguedRun
from bioeval_tui.report.run_summary import agent_words
from bioeval_tui.text import clean_line
from bioeval_tui.units import date, date_short, number

SIGNS = {
    "running": "● live",
    "completed": "■ completed",
    "cancelled": "– cancelled",
    "failed": "✗ failed",
    "interrupted": "◐ interrupted",
}


TINY = 72
"""Terminal width below which only the run, the sign of its status, its job and its mean are shown: 40 columns are enough."""

NARROW = 110
"""Terminal width below which some columns are left out."""

WIDE = 140
"""Terminal width from which there is room for optional columns."""


class RunColumn(NamedTuple):
    """A column of the list: its title, its cells, whether it is right-aligned, and its minimum width."""

    title: str
    cell: Callable[[CataloguedRun], str]
    right: bool = False
    least: int = 0


def print_runs(runs: Iterable[CataloguedRun], console: Console | None = None) -> None:
    """Print one row for each run: scores right-aligned, local times. Ids are never shortened, because people copy them.

    If there is room, the reviewed mean is shown beside the judge's if there are reviews.
    """
    console = console or plain_console()
    runs = list(runs)
    columns = _columns(runs, console.width)
    found = [
        CellColumn(
            column.title,
            [*map(column.cell, runs)],
            column.right,
            column.least,
            column.title in ("job", "agent"),
        )
        for column in columns
    ]
    write_table(console, found)


def _columns(runs: Sequence[CataloguedRun], width: int) -> list[RunColumn]:
    """Return the columns for a terminal of that width."""
    narrow, wide = width < NARROW, width >= WIDE
    written = date_short if narrow else date

    def number_of(title: str, value: Callable[[CataloguedRun], float | None]) -> RunColumn:
        return RunColumn(title, lambda run: number(value(run)), right=True)

    found = [
        RunColumn("run", lambda run: run.run_id, least=20),
        RunColumn("job", lambda run: _safe(run.job), least=6),
        RunColumn("agent", lambda run: _safe(agent_words(run.agent, run.model)), least=10),
        RunColumn("status", status_words, least=14),
        RunColumn("started", lambda run: written(datetime.fromisoformat(run.started_at))),
        number_of("withheld", lambda run: run.scores.get("withheld")),
        number_of("supplied", lambda run: run.scores.get("supplied")),
        number_of("mean", lambda run: run.score),
        RunColumn("reviewed", _reviewed, right=True),
        RunColumn("messages", lambda run: str(run.messages), right=True),
        RunColumn("fault", lambda run: _safe(run.fault)),
    ]
    if width < TINY:
        return [
            found[0],
            RunColumn("", lambda run: status_words(run)[:1]),
            found[1],
            number_of("mean", lambda run: run.score),
        ]
    left_out = {"started", "mean", "messages", "fault"} if narrow else set()  # an id begins with the time
    if not wide or not any(run.reviewed for run in runs):
        left_out.add("reviewed")
    return [column for column in found if column.title not in left_out]


def _safe(text: str) -> str:
    return text if text.isprintable() else clean_line(text)


def _reviewed(run: CataloguedRun) -> str:
    """Return the change of the mean, such as `0.60 → 0.80`; of a reviewed sample only that there is one."""
    if not run.reviewed:
        return ""
    after = run.reviewed.get("score")
    return "a sample" if after is None else f"{number(run.score)} → {number(after)}"


def status_words(run: CataloguedRun) -> str:
    """Return a run's status, as the screen of runs does: a completed run is marked if its agent failed or it has no score."""
    if run.status != "completed":
        return SIGNS[run.status]
    if run.imported:
        return "↓ imported"
    if "agent" in run.fault.split(", "):
        return "✗ agent failed"
    if not run.measured:
        return "? not measured"
    return "■ rehearsal" if run.rehearsal else SIGNS["completed"]

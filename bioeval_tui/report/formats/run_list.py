"""The list of runs as a table in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from bioeval_tui.consoles import CellColumn, plain_console, write_table
from bioeval_tui.record.catalogued_run import CataloguedRun
from bioeval_tui.text import clean_line
from bioeval_tui.units import date, number

SIGNS = {
    "running": "● live",
    "completed": "■ completed",
    "cancelled": "– cancelled",
    "failed": "✗ failed",
    "interrupted": "◐ interrupted",
}


def print_runs(runs: Iterable[CataloguedRun]) -> None:
    """Print one row for each run: scores right-aligned, local times. Nothing is shortened: people copy ids and names.

    If there is room, the reviewed mean is shown beside the judge's if there are reviews.
    """
    runs = list(runs)

    def column(title: str, cell: Callable[[CataloguedRun], str], **kind: bool) -> CellColumn:
        return CellColumn(title, [*map(cell, runs)], **kind)

    def numbers(title: str, value: Callable[[CataloguedRun], float | None]) -> CellColumn:
        return column(title, lambda run: number(value(run)), right=True)

    columns = [
        column("run", lambda run: run.run_id),
        column("job", lambda run: _safe(run.job), lead=True),
        column("agent", lambda run: _safe(run.agent_words), lead=True),
        column("status", status_words),
        column("started", lambda run: date(datetime.fromisoformat(run.started_at)), spare=True),
        numbers("withheld", lambda run: run.scores.get("withheld")),
        numbers("supplied", lambda run: run.scores.get("supplied")),
        numbers("mean", lambda run: run.score),
        *(
            [column("reviewed", _reviewed, right=True, spare=True)]
            if any(run.reviewed for run in runs)
            else []
        ),
        column("messages", lambda run: str(run.messages), right=True, spare=True),
        column("fault", lambda run: _safe(run.fault), spare=True),
    ]
    write_table(plain_console(), columns)


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

"""The list of runs as a table in the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bioeval_tui.recordings.catalogue import CataloguedRun
from bioeval_tui.reports.numbers import number
from bioeval_tui.terminal import plain_console
from bioeval_tui.text import shorten

SIGNS = {
    "running": "● live",
    "completed": "✓ completed",
    "cancelled": "– cancelled",
    "failed": "✗ failed",
    "interrupted": "◐ interrupted",
}


NARROW = 110
"""Columns of a terminal below which some of the table's are left out."""

WIDE = 140
"""Columns from which there is room for more than always stands there."""


def print_runs(runs: Iterable[CataloguedRun], console: Console | None = None) -> None:
    """Print one row a run: scores right-aligned, times local. Ids stay whole: people copy them.

    Where there is room, the model stands beside the job when the runs differ in it, and the reviewed mean beside
    the judge's when somebody reviewed one.
    """
    console = console or plain_console()
    runs = list(runs)
    narrow, wide = console.width < NARROW, console.width >= WIDE
    models = wide and len({run.model for run in runs}) > 1
    reviewed = wide and any(run.reviewed for run in runs)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for title, width in (("run", 20), ("job", 6), *([("model", 6)] if models else []), ("status", 14)):
        table.add_column(title, no_wrap=True, min_width=width)
    table.add_column("started", no_wrap=True, min_width=11 if narrow else 16)
    for title in ("withheld", "supplied") if narrow else ("withheld", "supplied", "mean"):
        table.add_column(title, justify="right", no_wrap=True, min_width=len(title))
    if reviewed:
        table.add_column("reviewed", justify="right", no_wrap=True)
    if not narrow:
        table.add_column("messages", justify="right", no_wrap=True)
        table.add_column("fault", no_wrap=True)
    for run in runs:
        started = datetime.fromisoformat(run.started_at).astimezone()
        when = f"{started:%m-%d %H:%M}" if narrow else f"{started:%Y-%m-%d %H:%M}"
        cells = [run.run_id, shorten(run.job, 14 if narrow else 40)]
        cells += [shorten(run.model or "", 30)] if models else []
        cells += [
            status_words(run),
            when,
            number(run.scores.get("withheld")),
            number(run.scores.get("supplied")),
        ]
        cells += [] if narrow else [number(run.score)]
        cells += [_reviewed(run)] if reviewed else []
        cells += [] if narrow else [str(run.messages), run.fault]
        table.add_row(*map(Text, cells))
    console.print(table)


def _reviewed(run: CataloguedRun) -> str:
    """Return the change of the mean, such as `0.60 → 0.80`."""
    return f"{number(run.score)} → {number(run.reviewed.get('score'))}" if run.reviewed else ""


def status_words(run: CataloguedRun) -> str:
    """Return how a run ended. One that went through and has no score was not a success: say so."""
    if run.status != "completed" or run.measured:
        return SIGNS[run.status]
    return "✗ agent failed" if "agent" in run.fault.split(", ") else "? not measured"

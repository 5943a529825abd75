"""`runs list`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import click

from bioeval_tui.errors import ExitCode
from bioeval_tui.printed import Fields
from bioeval_tui.record.catalogue import Catalogue, RunFilter
from bioeval_tui.record.catalogued_run import CataloguedRun
from bioeval_tui.record.times import parse_time
from bioeval_tui.report.formats.run_list import print_runs
from bioeval_tui.settings import Settings
from bioeval_tui.terminal import print_json_text, say

SHOWN = 50
"""The default number of rows in the terminal."""

PrintedRun = Annotated[dict[str, Any], Fields(CataloguedRun, without=("folder",), path=str)]
"""A run in the list; `path` is its recording."""


@click.command(
    "list",
    epilog="\b\nExamples:\n  bioeval-tui runs list --since 7d --status completed\n  bioeval-tui runs list --json",
)
@click.option("--job", help="Only runs whose job name contains this.")
@click.option("--model", help="Only runs whose agent's model contains this.")
@click.option("--since", metavar="TIME", help="Only runs started since then: 7d, 12h, or a date.")
@click.option(
    "--status",
    type=click.Choice(
        ["running", "completed", "rehearsal", "imported", "cancelled", "failed", "interrupted"]
    ),
    help="Only runs with this status; completed includes rehearsals, imported runs, and runs whose agent failed.",
)
@click.option(
    "--fault",
    type=click.Choice(["agent", "evaluator", "judge", "infrastructure", "none"]),
    help="Only runs with this fault.",
)
@click.option("--min-score", type=click.FloatRange(0, 1), help="Only runs with at least this mean.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects.")
@click.option("--limit", type=click.IntRange(1), help="Maximum number of runs [50; with --json, all].")
def list_runs(as_json: bool, limit: int | None, since: str | None, **wanted: Any) -> int:
    """List the recorded runs, newest first."""
    start = parse_time(since, datetime.now(UTC)) if since else None
    catalogue, filters = Catalogue(Settings.from_environment().runs_dir), RunFilter(since=start, **wanted)
    if as_json:
        # One run per line: indenting ten thousand takes longer than finding them.
        rows = catalogue.json_lines(filters, limit)
        print_json_text("[\n" + ",\n".join(rows) + "\n]" if rows else "[]")
        return ExitCode.OK
    runs = catalogue.runs(filters, limit or SHOWN)
    if not runs:
        asked = start is not None or any(value is not None for value in wanted.values())
        say("no run matches" if asked else "no runs yet; `bioeval-tui demo` creates one", err=True)
    else:
        print_runs(runs)
    return ExitCode.OK


COMMANDS: list[click.Command] = [list_runs]

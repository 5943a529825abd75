"""`runs`: the group of the commands about recorded runs, and `runs list`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import chain
from typing import Annotated, Any, get_args

import click

from bioeval_tui.base.consoles import CellColumn, plain_console, write_table
from bioeval_tui.base.errors import ExitCode
from bioeval_tui.base.printed import Fields
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.terminal import print_json_text, say
from bioeval_tui.base.text import clean_line
from bioeval_tui.base.units import date, number
from bioeval_tui.cli.common_options import LazyGroup, Table, with_env_file, with_redact
from bioeval_tui.cli.options import JSON_LIST
from bioeval_tui.record.catalogue import Catalogue, RunFilter, parse_time
from bioeval_tui.record.condition_names import PUBLISHED_NAMES, Condition, published_title
from bioeval_tui.record.participants import Fault
from bioeval_tui.record.runs import CataloguedRun

SHOWN = 50
"""The default number of rows in the terminal."""

PrintedRun = Annotated[
    dict[str, Any], Fields(CataloguedRun, without=("folder", "names_chatbot"), path=str)
]
"""A run in the list; `path` is its recording."""


@click.command(
    "list",
    epilog=(
        "\b\nExamples:\n  bioeval-tui runs list --since 7d --status completed\n  bioeval-tui runs"
        " list --json"
    ),
)
@click.option("--job", help="Only runs whose job name contains this.")
@click.option("--model", help="Only runs whose agent's model contains this.")
@click.option("--since", metavar="TIME", help="Only runs started since then: 7d, 12h, or a date.")
@click.option(
    "--status",
    type=click.Choice(
        ["running", "completed", "rehearsal", "imported", "cancelled", "failed", "interrupted"]
    ),
    help=(
        "Only runs with this status; completed includes rehearsals, imported runs, and runs whose"
        " agent failed."
    ),
)
@click.option("--fault", type=click.Choice(get_args(Fault)), help="Only runs with this fault.")
@click.option("--min-score", type=click.FloatRange(0, 1), help="Only runs with at least this mean.")
@JSON_LIST
@click.option(
    "--limit", type=click.IntRange(1), help="Maximum number of runs [50; with --json, all]."
)
def list_runs(as_json: bool, limit: int | None, since: str | None, **wanted: Any) -> int:
    """List the recorded runs, newest first."""
    start = parse_time(since, datetime.now(UTC)) if since else None
    if limit is None and not as_json:
        limit = SHOWN
    runs = Catalogue(Settings.from_environment().runs_dir).runs(
        RunFilter(since=start, **wanted), limit
    )
    if as_json:
        # One run per line: indenting ten thousand takes longer than finding them.
        rows = [json.dumps(run.to_dict(), ensure_ascii=False) for run in runs]
        print_json_text("[\n" + ",\n".join(rows) + "\n]" if rows else "[]")
        return ExitCode.OK
    if not runs:
        asked = start is not None or any(value is not None for value in wanted.values())
        say("no run matches" if asked else "no runs yet; `bioeval-tui demo` creates one", err=True)
    else:
        print_runs(runs)
    return ExitCode.OK


RUNS: Table = {
    "agreement": ("runs_report", "Compare judges with people's reviews."),
    "compare": ("runs_report", "Compare two runs side by side, or rank several."),
    "delete": ("runs_manage", "Delete runs permanently."),
    "explain": ("runs_report", "Explain a run's score, and what would reach a target."),
    "export": ("runs_report", "Export recorded runs for other tools."),
    "gate": ("runs_report", "Check recorded runs against thresholds, for CI."),
    "import": ("runs_manage", "Import a recording, or another tool's conversations."),
    "list": ("runs", "List the recorded runs, newest first."),
    "prune": ("runs_manage", "Delete old runs permanently."),
    "record-to": ("runs_manage", "Move the recording of a run in progress to another folder."),
    "replay": ("watch", "Replay a run on the live screen, or write the replay to a file."),
    "report": ("runs_report", "Write a report of one or more runs."),
    "rescore": ("runs_again", "Judge recorded transcripts again, without calling the agent."),
    "resume": ("runs_again", "Resume an interrupted or stopped run."),
    "show": ("runs_report", "Show a run's score card."),
}


@click.group(
    cls=LazyGroup,
    table=RUNS,
    change=lambda _name, command: with_env_file(with_redact(command)),
    epilog="\b\nExamples:\n  bioeval-tui runs list\n  bioeval-tui runs replay 7f3a --speed 4",
)
def runs() -> None:
    """List, show, replay, resume, judge again, import and delete recorded runs."""


def print_runs(runs: Iterable[CataloguedRun]) -> None:
    """Print one row for each run: scores right-aligned, local times. Nothing is shortened: people
    copy ids and names.

    If there is room, the reviewed mean is shown beside the judge's if there are reviews.
    """
    runs = list(runs)

    def column(title: str, cell: Callable[[CataloguedRun], str], **kind: bool) -> CellColumn:
        return CellColumn(title, [*map(cell, runs)], **kind)

    def numbers(title: str, value: Callable[[CataloguedRun], float | None]) -> CellColumn:
        return column(title, lambda run: number(value(run)), right=True)

    def scores(name: Condition) -> CellColumn:
        return numbers(published_title(name), lambda run: run.scores.get(name))

    names = dict.fromkeys([*PUBLISHED_NAMES, *chain.from_iterable(run.scores for run in runs)])
    columns = [
        column("run", lambda run: run.run_id),
        column("job", lambda run: _safe(run.job), lead=True),
        column("agent", lambda run: _safe(run.agent_words), lead=True),
        column("status", lambda run: run.status_words),
        column("started", lambda run: date(datetime.fromisoformat(run.started_at)), spare=True),
        *(scores(name) for name in names),
        numbers("mean", lambda run: run.score),
        column("messages", lambda run: str(run.messages), right=True, spare=True),
        column("fault", lambda run: _safe(run.fault), spare=True),
    ]
    if any(run.reviewed for run in runs):
        columns.insert(-2, column("reviewed", _reviewed, right=True, spare=True))
    write_table(plain_console(), columns)


def _safe(text: str) -> str:
    if text.isprintable():
        return text
    return clean_line(text)


def _reviewed(run: CataloguedRun) -> str:
    """Return the change of the mean, such as `0.60 → 0.80`; of a reviewed sample only that there is
    one.
    """
    if not run.reviewed:
        return ""
    after = run.reviewed.get("score")
    if after is None:
        return "a sample"
    return f"{number(run.score)} → {number(after)}"

"""`medals`: graded reports and runs of agents as a medal table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from bioeval_tui.cli.grade import ready_shipped, with_additions
from bioeval_tui.cli.options import BOARD, FOLLOW, WHERE, OutputFile, settings_for, with_runs
from bioeval_tui.cli.terminal import need_terminal
from bioeval_tui.consoles import CellColumn, plain_console, write_table
from bioeval_tui.errors import ExitCode
from bioeval_tui.files import write_or_print
from bioeval_tui.grade import GraderPool, Invalid, NotGraded, Outcome, Registry, load_outcomes
from bioeval_tui.grade.console import LISTED, long_work, medal_table
from bioeval_tui.grade.outcomes import Loaded
from bioeval_tui.grade.runs import Runs
from bioeval_tui.record.masking import current, masked
from bioeval_tui.report.agents import Standings, entries_of, standings
from bioeval_tui.report.formats.medal_pages import AGENT_COLUMNS, AGENTS_NOTE, agent_rows, medals_dicts
from bioeval_tui.report.formats.registry import choose, names
from bioeval_tui.report.reviews import marks_at
from bioeval_tui.settings import Settings
from bioeval_tui.streams import has_screen
from bioeval_tui.terminal import print_json, say
from bioeval_tui.text import clean_line
from bioeval_tui.tui.data.services import AppServices


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui medals results/\n  bioeval-tui medals results/ --output medals.html"
    "\n  bioeval-tui medals biomlbench/runs"
)
@click.argument(
    "places", metavar="REPORT_OR_RUNS...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@WHERE
@BOARD
@FOLLOW
@click.option("--json", "as_json", is_flag=True, help="Print a list of reports.")
@click.option("--table", is_flag=True, help="Print a table instead of opening the screen.")
@click.option(
    "--agents",
    is_flag=True,
    help="Compare agents: shares of medals, ranks and differences. Works with --json.",
)
@click.option(
    "--format", "kind", type=click.Choice(names("medals")),
    help="The format [by the extension of --output].",
)  # fmt: skip
@click.option("--output", type=OutputFile(path_type=Path, dir_okay=False), help="The file to write [stdout].")
def medals(
    places: tuple[Path, ...],
    as_json: bool,
    table: bool,
    agents: bool,
    kind: str | None,
    output: Path | None,
    **given: Any,
) -> int:
    """Show graded reports as a medal table. Reports are files or folders of this program, BioML-bench or MLE-bench.

    A folder of runs, such as `runs` in a BioML-bench checkout, is graded first. Its tasks and data are found
    automatically.

    In a terminal this opens the medal screen. With --format or --output it writes HTML, Markdown, CSV or JSON.
    """
    settings, runs, reports = with_runs(
        replace(settings_for(given), follow_links=given["follow_links"]), places
    )
    on_screen = not (as_json or table or agents or kind or output) and has_screen()
    if on_screen:
        need_terminal("give --table")
        from bioeval_tui.cli.app import show  # tables and files need no screen

        show(AppServices(settings, reports=reports, runs=runs), "medals", "leave")
        return ExitCode.OK
    outcomes = [(path, load_outcomes(path)) for path in reports]
    if runs is not None:
        outcomes.append((places[0], _graded(runs, settings)))
    reviews = [words for path, some in outcomes for words in marks_at(path, some.reports)]
    # Reports that were read were cleaned then; masking them only cleans where nothing is masked.
    shown = masked if runs is None else current().value
    read = shown([report for _, some in outcomes for report in some.reports])
    loaded = [replace(report, task_id=masked(report.task_id)) for report in read]
    read_failed = shown([item for _, some in outcomes for item in some.not_graded])
    failed = [replace(item, task_id=masked(item.task_id)) for item in read_failed]
    if kind is not None or output is not None:
        write_or_print(choose(output, kind, "medals").write("medals", loaded, reviews, failed), output)
        return ExitCode.OK
    known = entries_of(loaded, failed)
    if as_json:
        print_json(
            [one.to_dict() for one in standings(known).agents] if agents else medals_dicts(loaded, failed)
        )
        return ExitCode.OK
    if not agents:
        medal_table(loaded, reviews, failed)
    if agents or len({entry.agent for entry in known}) > 1:
        _agents_table(standings(known))
    return ExitCode.OK


def _agents_table(standings: Standings) -> None:
    console = plain_console()
    console.print()
    if not standings.agents:
        console.print("no submission says which agent made it, so no agents are compared")
        return
    cells = zip(*agent_rows(standings), strict=True)
    columns = [
        CellColumn(title, [clean_line(cell, 200) for cell in column], lead=title == "agent")
        for title, column in zip(AGENT_COLUMNS, cells, strict=True)
    ]
    write_table(console, columns, gap=2)
    console.print(f"{standings.words}; {AGENTS_NOTE}")
    doubts = [(one.agent, words) for one in standings.agents for words in one.in_doubt]
    for agent, words in doubts[:LISTED]:
        say(f"in doubt: {clean_line(agent, 60)}, {clean_line(words, 1000)}")
    if len(doubts) > LISTED:
        say(f"… and {len(doubts) - LISTED:,} more in doubt, in the medal table")


def _graded(runs: Runs, settings: Settings) -> Loaded:
    """Grade the submissions of runs in order, and print which folders were searched."""
    for line in runs.looked:
        say(line, err=True)
    registry = Registry(settings.tasks_dirs, settings.tasks_data_dir, settings.leaderboard)
    ready_shipped(registry, (item.task_id for item in runs.submissions))
    outcomes: dict[int, Outcome] = {}
    pairs = [(item.task_id, item.path) for item in runs.submissions]
    with GraderPool(registry) as pool:
        with long_work("grading", len(pairs)) as advance:
            for number, outcome in pool.grade_many(pairs, settings.follow_links):
                outcomes[number] = outcome
                advance()
        ordered = [outcomes[number] for number in sorted(outcomes)]
        failed = tuple(item for item in ordered if isinstance(item, NotGraded))
        graded = (item for item in ordered if not isinstance(item, NotGraded))
        reports = [item.report if isinstance(item, Invalid) else item for item in graded]
        for number, report in with_additions(reports, pool, {"intervals": "declared", "explain": False}):
            reports[number] = report
    return Loaded(tuple(reports), failed)

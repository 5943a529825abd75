"""`medals`: graded reports and runs of agents as a medal table."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from bioeval_tui.base.consoles import CellColumn, plain_console, write_table
from bioeval_tui.base.errors import ExitCode, InputError
from bioeval_tui.base.files import write_or_print
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.streams import has_screen
from bioeval_tui.base.terminal import print_json, say
from bioeval_tui.base.text import clean_line
from bioeval_tui.cli.grade import added_reports, ready_shipped
from bioeval_tui.cli.options import (
    BOARD,
    FOLLOW,
    OF_VALIDATE,
    OUTPUT_FILE,
    WHERE,
    given_settings,
    options_given,
    split_runs,
)
from bioeval_tui.cli.terminal import need_terminal
from bioeval_tui.grade import GraderPool, Outcome, Registry, TaskReport
from bioeval_tui.grade.printing.progress import long_work
from bioeval_tui.grade.printing.reports import LISTED, medal_table
from bioeval_tui.grade.report_files import (
    Graded,
    Loaded,
    graded_now,
    read_outcomes,
    unread_sentence,
)
from bioeval_tui.grade.runs import Runs
from bioeval_tui.record.masking import current, masked
from bioeval_tui.report.agents import Standings, entries_of, standings
from bioeval_tui.report.answer import answer_medals
from bioeval_tui.report.formats.console import print_answer
from bioeval_tui.report.formats.medal_pages import (
    AGENT_COLUMNS,
    AGENTS_NOTE,
    agent_rows,
    medals_dicts,
)
from bioeval_tui.report.formats.registry import choose, names
from bioeval_tui.report.reviews import report_marks
from bioeval_tui.statistics.estimates import grouped
from bioeval_tui.tui.data.services import AppServices


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui medals results/\n  bioeval-tui medals results/ --output"
        " medals.html\n  bioeval-tui medals biomlbench/runs"
    )
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
@OUTPUT_FILE
def medals(
    places: tuple[Path, ...],
    as_json: bool,
    table: bool,
    agents: bool,
    kind: str | None,
    output: Path | None,
    **given: Any,
) -> int:
    """Show graded reports as a medal table. Reports are files or folders of this program,
    BioML-bench or MLE-bench.

    A folder of runs, such as `runs` in a BioML-bench checkout, is graded first. Its tasks and data
    are found automatically. Reports in it, in its run groups and in their `hourly` are read, too. A
    submission that was graded several times counts once, by its newest grading; a run that left no
    file counts as invalid.

    In a terminal this opens the medal screen. With --format or --output it writes HTML, Markdown,
    CSV or JSON.
    """
    settings, runs, reports = split_runs(
        replace(given_settings(given), follow_links=given["follow_links"]), places
    )
    on_screen = not (as_json or table or agents or kind or output) and has_screen()
    if runs is not None and not (runs.submissions or runs.reports or reports):
        raise InputError(_nothing(runs, places))
    if on_screen:
        need_terminal("--table prints the medals")
        from bioeval_tui.cli.app import show  # tables and files need no screen

        show(AppServices(settings, reports=reports, runs=runs), "medals", "leave")
        return ExitCode.OK
    graded = [] if runs is None else _graded(runs, settings)
    found = read_outcomes([*reports, *(runs.reports if runs is not None else ())], graded)
    if not found.results:
        raise InputError(unread_sentence(found, places))
    reviews = _reviews(found.results)
    # Reports that were read were cleaned then; masking them only cleans where nothing is masked.
    shown = masked if runs is None else current().value
    read = shown(list(found.reports))
    loaded = [replace(report, task_id=masked(report.task_id)) for report in read]
    read_failed = shown(list(found.not_graded))
    failed = [replace(item, task_id=masked(item.task_id)) for item in read_failed]
    for words in (found.awaited_words, found.superseded_words, found.unread_words):
        if words:
            say(masked(words), err=True)
    # The tasks of a folder of runs were found beside it: `validate` alone would not look there.
    where = masked(options_given(OF_VALIDATE) if runs is None else settings.where_words)
    if kind is not None or output is not None:
        chosen = choose(output, kind, "medals")
        write_or_print(chosen.write("medals", loaded, reviews, failed, where), output)
        return ExitCode.OK
    known = entries_of(loaded, failed)
    if as_json:
        print_json(
            [one.to_dict() for one in standings(known).agents]
            if agents
            else medals_dicts(loaded, failed)
        )
        return ExitCode.OK
    if agents:
        compared = standings(known)
        _agents_table(compared, f"{compared.words}; {AGENTS_NOTE}")
        return ExitCode.OK
    answer = answer_medals([*loaded, *failed], where)
    print_answer(answer, plain_console())
    medal_table(loaded, reviews, failed)
    if len({entry.agent for entry in known}) > 1:
        _agents_table(standings(known), AGENTS_NOTE)  # the answer says what ranks rest on
    return ExitCode.OK


def _agents_table(standings: Standings, note: str) -> None:
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
    console.print(note)
    doubts: list[tuple[str, str]] = []
    for one in standings.agents:
        doubts += [(one.agent, words) for words in one.in_doubt]
    for agent, words in doubts[:LISTED]:
        say(f"in doubt: {clean_line(agent, 60)}, {clean_line(words, 1000)}")
    if len(doubts) > LISTED:
        say(f"… and {len(doubts) - LISTED:,} more in doubt, in the medal table")


def _nothing(runs: Runs, places: Sequence[Path]) -> str:
    """Return why a folder of runs has nothing to show: what lies in it instead is named."""
    with contextlib.suppress(InputError):
        if (found := read_outcomes(places)).unread:
            return unread_sentence(found, places)
    return "; ".join([unread_sentence(Loaded(()), places), *runs.problems])


def _reviews(results: Sequence[Graded]) -> list[str]:
    """Return the reviews of each report, which stand beside its file."""
    by_file = grouped(
        (one.file, one.outcome) for one in results if isinstance(one.outcome, TaskReport)
    )
    words: dict[int, str] = {}
    for file, reports in by_file.items():
        words |= zip(map(id, reports), report_marks(file, reports), strict=True)
    return [words[id(one.outcome)] for one in results if isinstance(one.outcome, TaskReport)]


def _graded(runs: Runs, settings: Settings) -> list[Graded]:
    """Grade the submissions of runs in order, and print which folders were searched."""
    for line in (*runs.looked, *runs.problems):
        say(masked(line), err=True)
    registry = Registry(settings.tasks_dirs, settings.tasks_data_dir, settings.leaderboard)
    ready_shipped(registry, (item.task_id for item in runs.submissions))
    outcomes: dict[int, Outcome] = {}
    pairs = [(item.task_id, item.path) for item in runs.submissions]
    agents = [item.agent for item in runs.submissions]
    with GraderPool(registry) as pool:
        with long_work("grading", len(pairs)) as advance:
            for number, outcome in pool.grade_many(pairs, settings.follow_links, agents):
                outcomes[number] = outcome
                advance()
        graded = graded_now((item, outcomes[item.number]) for item in runs.submissions)
        places = [at for at, one in enumerate(graded) if isinstance(one.outcome, TaskReport)]
        reports = [one.outcome for one in graded if isinstance(one.outcome, TaskReport)]
        for number, report in added_reports(
            reports, pool, {"intervals": "declared", "explain": False}
        ):
            graded[places[number]] = replace(graded[places[number]], outcome=report)
    return graded

"""Commands about recorded runs."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import click

from bioeval_tui.cli.completion import complete_run
from bioeval_tui.errors import ExitCode

SHOWN = 50
"""Rows of the list in the terminal unless more are asked for."""


@click.group(epilog="\b\nExamples:\n  bioeval-tui runs list\n  bioeval-tui runs replay 7f3a --speed 4")
def runs() -> None:
    """List, show, replay, resume, judge again, import and delete recorded runs."""


@runs.command(
    "list",
    epilog="\b\nExamples:\n  bioeval-tui runs list --since 7d --status completed\n  bioeval-tui runs list --json",
)
@click.option("--job", help="Runs whose job's name has this in it.")
@click.option("--model", help="Runs whose agent's model has this in its name.")
@click.option("--since", metavar="TIME", help="Runs that began since: 7d, 12h, or a date.")
@click.option("--status", type=click.Choice(["running", "completed", "cancelled", "failed", "interrupted"]))
@click.option(
    "--fault",
    type=click.Choice(["agent", "evaluator", "judge", "infrastructure", "none"]),
    help="Whose fault it was.",
)
@click.option("--min-score", type=click.FloatRange(0, 1), help="Runs whose mean is at least this.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects.")
@click.option("--limit", type=click.IntRange(1), help="How many, newest first [50; all of them as JSON].")
def list_runs(as_json: bool, limit: int | None, since: str | None, **wanted: Any) -> int:
    """List the recorded runs, newest first; interrupted ones too."""
    from datetime import UTC, datetime

    from bioeval_tui.record.ages import moment
    from bioeval_tui.record.catalogue import Catalogue, RunFilter
    from bioeval_tui.settings import Settings

    start = moment(since, datetime.now(UTC)) if since else None
    catalogue, filters = Catalogue(Settings.from_environment().runs_dir), RunFilter(since=start, **wanted)
    if as_json:
        # A run a line: ten thousand of them would take longer to indent than to find.
        rows = catalogue.json_lines(filters, limit)
        click.echo("[\n" + ",\n".join(rows) + "\n]" if rows else "[]")
        return ExitCode.OK
    found = catalogue.runs(filters, limit or SHOWN)
    if not found:
        asked = start is not None or any(value is not None for value in wanted.values())
        click.echo("no run matches" if asked else "no runs yet; `bioeval-tui demo` makes one", err=True)
    else:
        from bioeval_tui.report.formats.run_list import print_runs

        print_runs(found)
    return ExitCode.OK


@runs.command(epilog="\b\nExample:\n  bioeval-tui runs show 7f3a --json")
@click.argument("run_id", shell_complete=complete_run)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object (see `bioeval-tui schema result`)."
)
@click.option(
    "--as-recorded", is_flag=True, help="Count the recorded verdicts where transcripts were judged again."
)
def show(run_id: str, as_json: bool, as_recorded: bool) -> int:
    """Show a run's score card. RUN_ID is the id, or the beginning or end of it."""
    from bioeval_tui.consoles import plain_console
    from bioeval_tui.evaluate.engine.resume import excluded_trials
    from bioeval_tui.evaluate.prices import FILE_NAME, load_prices
    from bioeval_tui.evaluate.wiring.resume import rerun_offer
    from bioeval_tui.record.catalogue import Catalogue
    from bioeval_tui.report.formats.console import print_judged_again, print_score_card
    from bioeval_tui.report.loading import load_run
    from bioeval_tui.report.result import run_result
    from bioeval_tui.report.words import reviewed_words
    from bioeval_tui.settings import Settings

    settings = Settings.from_environment()
    path = Catalogue(settings.runs_dir).find(run_id)
    run = load_run(path, prices=load_prices(settings.data_dir / FILE_NAME), as_recorded=as_recorded)
    for problem in run.problems:
        click.echo(f"note: {problem}", err=True)
    if excluded_trials(run.state) and (offer := rerun_offer(path)):
        click.echo(f"note: {offer}", err=True)
    if as_json:
        click.echo(json.dumps(run_result(run), indent=2, ensure_ascii=False))
        return ExitCode.OK
    console = plain_console()
    print_score_card(run.state, console, run.prices)
    print_judged_again(run, console)
    if said := reviewed_words(run):
        click.echo(f"\nreviewed: {said}")
    return ExitCode.OK


@runs.command(epilog="\b\nExample:\n  bioeval-tui runs replay 7f3a --speed 4")
@click.argument("run_id", shell_complete=complete_run)
@click.option(
    "--speed",
    type=click.FloatRange(0.5, 32),
    default=1.0,
    show_default=True,
    help="1 is true to the recorded times.",
)
def replay(run_id: str, speed: float) -> int:
    """Play a run again on the live screen, true to its recorded times."""
    from bioeval_tui.cli.open_screen import show_recording
    from bioeval_tui.record.catalogue import Catalogue
    from bioeval_tui.settings import Settings

    settings = Settings.from_environment()
    return show_recording(settings, Catalogue(settings.runs_dir).find(run_id), speed=speed)


for _name in ("runs_report", "runs_manage", "runs_agreement"):
    for _command in import_module(f"bioeval_tui.cli.{_name}").COMMANDS:
        runs.add_command(_command)

COMMANDS: list[click.Command] = [runs]

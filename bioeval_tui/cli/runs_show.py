"""`runs show`: a run's score card."""

from __future__ import annotations

import click

from bioeval_tui.cli.options import AS_RECORDED, complete_run
from bioeval_tui.consoles import plain_console
from bioeval_tui.errors import ExitCode, UsageError
from bioeval_tui.evaluation.engine.resume import excluded_trials
from bioeval_tui.evaluation.spending import FILE_NAME, load_prices
from bioeval_tui.evaluation.wiring.resume import rerun_offer
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.report.document import run_document
from bioeval_tui.report.formats.console import print_judged_again, print_manner, print_score_card
from bioeval_tui.report.result import load_run
from bioeval_tui.settings import Settings
from bioeval_tui.terminal import print_json, say
from bioeval_tui.text import plural


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui runs show 7f3a --trial 2\n  bioeval-tui runs show 7f3a --json"
)
@click.argument("run_id", shell_complete=complete_run)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object (see `bioeval-tui schema result`)."
)
@AS_RECORDED
@click.option(
    "--trial", type=click.IntRange(1), help="Show this trial's parts, tasks and assertions [all, by count]."
)
def show(run_id: str, as_json: bool, as_recorded: bool, trial: int | None) -> int:
    """Show a run's score card. RUN_ID is its id, or the beginning or end of it."""
    settings = Settings.from_environment()
    path = Catalogue(settings.runs_dir).find(run_id)
    run = load_run(path, prices=load_prices(settings.data_dir / FILE_NAME), as_recorded=as_recorded)
    if trial is not None and as_json:
        raise UsageError("--trial is for the score card; --json has all trials")
    if trial is not None and trial > run.planned_trials:
        raise UsageError(f"there is no trial {trial}: the run has {plural(run.planned_trials, 'trial')}")
    for problem in run.problems:
        say(f"note: {problem}", err=True)
    if excluded_trials(run.state) and (offer := rerun_offer(path)):
        say(f"note: {offer}", err=True)
    if as_json:
        print_json(run_document(run), indent=2)
        return ExitCode.OK
    console = plain_console()
    print_score_card(run, console, trial)
    print_judged_again(run, console)
    print_manner(run, console)
    if run.reviewed_words:
        say(f"\nreviewed: {run.reviewed_words}")
    return ExitCode.OK


COMMANDS: list[click.Command] = [show]

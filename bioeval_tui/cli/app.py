"""`app`: the terminal application."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bioeval_tui.cli.open_screen import show
from bioeval_tui.cli.options import BOARD, WHERE, settings_for, with_runs
from bioeval_tui.cli.terminal import need_terminal
from bioeval_tui.errors import ExitCode, UsageError
from bioeval_tui.settings import Settings
from bioeval_tui.text import clean_line
from bioeval_tui.tui.data.services import AppServices

EXAMPLES = "\b\nExamples:\n  bioeval-tui app\n  bioeval-tui app jobs/ more/job.yml\n  bioeval-tui app biomlbench/runs"


@click.command("app", epilog=EXAMPLES)
@click.argument("places", metavar="[FOLDER_OR_JOB]...", nargs=-1, type=click.Path(path_type=Path))
@WHERE
@BOARD
def app(places: tuple[Path, ...], **given: Any) -> int:
    """Open the terminal application: what to do next, jobs, live run, runs, benchmarks, medals.

    Looks for job files in the given folders; by default here, in data/eval and among the samples. A folder of runs, such
    as `runs` in a BioML-bench checkout, opens as a medal table.
    """
    return open_app(places, settings_for(given))


@click.command("tui", hidden=True)
@click.argument("places", nargs=-1, type=click.Path(path_type=Path))
def tui(places: tuple[Path, ...]) -> int:
    """Open the terminal application; an alias of `app`."""
    return open_app(places)


def open_app(places: tuple[Path, ...] = (), settings: Settings | None = None) -> int:
    """Open the application on its home screen, on the jobs or runs that are given; return the exit code.

    Raises:
        UsageError: there is no terminal, or a place does not exist.
    """
    for place in places:
        if not place.exists():
            raise UsageError(f"{clean_line(str(place))} does not exist; give folders or job files")
    settings, runs, others = with_runs(settings or Settings.from_environment(), places)
    need_terminal("`bioeval-tui --help` lists the commands that print")
    start = "jobs" if others else "home" if runs is None else "medals"
    show(AppServices(settings, job_places=others, runs=runs), start, "ask")
    return ExitCode.OK


COMMANDS: list[click.Command] = [app, tui]

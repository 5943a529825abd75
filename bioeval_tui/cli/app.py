"""The terminal application: all screens, from the job files on."""

from __future__ import annotations

from pathlib import Path

import click

from bioeval_tui.errors import ExitCode, UsageError

EXAMPLES = "\b\nExamples:\n  bioeval-tui app\n  bioeval-tui app jobs/ more/job.yml"


@click.command("app", epilog=EXAMPLES)
@click.argument("places", metavar="[FOLDER_OR_JOB]...", nargs=-1, type=click.Path(path_type=Path))
def app(places: tuple[Path, ...]) -> int:
    """Open the terminal application: jobs, live run, runs, benchmarks, medals.

    Job files are looked for in the folders given; without any, here, in data/eval and among the samples.
    """
    return open_app(places)


@click.command("tui", hidden=True)
@click.argument("places", nargs=-1, type=click.Path(path_type=Path))
def tui(places: tuple[Path, ...]) -> int:
    """Open the terminal application: another name of `app`."""
    return open_app(places)


def open_app(places: tuple[Path, ...] = ()) -> int:
    """Open the application on the screen of jobs, and return the exit code.

    Raises:
        UsageError: there is no terminal, or a place does not exist.
    """
    from bioeval_tui.text import clean_line

    for place in places:
        if not place.exists():
            raise UsageError(f"{clean_line(str(place))} does not exist; give folders or job files")
    from bioeval_tui.cli.open_screen import show_app
    from bioeval_tui.settings import Settings

    show_app(Settings.from_environment(), places)
    return ExitCode.OK


COMMANDS: list[click.Command] = [app, tui]

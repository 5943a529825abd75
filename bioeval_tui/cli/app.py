"""`app`: the terminal application, in a terminal or in a tab of `serve`; and how every command
opens a screen.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from bioeval_tui.base.errors import ExitCode, ScreenCrashError
from bioeval_tui.base.settings import Settings
from bioeval_tui.cli.options import BOARD, WHERE, given_settings, require_places, split_runs
from bioeval_tui.cli.terminal import need_terminal
from bioeval_tui.tui.app import BioevalApp, OnQuit
from bioeval_tui.tui.data.services import AppServices

# Imports above delay the first paint.
if TYPE_CHECKING:
    from bioeval_tui.evaluation.engine.attach import FollowedRun
    from bioeval_tui.evaluation.engine.interface import EngineSpec, Opener, RunView


EXAMPLES = (
    "\b\nExamples:\n  bioeval-tui app\n  bioeval-tui app jobs/ more/job.yml\n  bioeval-tui app"
    " biomlbench/runs"
)


@click.command("app", epilog=EXAMPLES)
@click.argument("places", metavar="[FOLDER_OR_JOB]...", nargs=-1, type=click.Path(path_type=Path))
@WHERE
@BOARD
def app(places: tuple[Path, ...], **given: Any) -> int:
    """Open the terminal application: what to do next, jobs, live run, runs, benchmarks, medals.

    Looks for job files in the given folders; by default here, in data/eval and among the samples. A
    folder of runs, such as `runs` in a BioML-bench checkout, opens as a medal table.
    """
    return open_app(places, given_settings(given))


@click.command("tui", hidden=True)
@click.argument("places", nargs=-1, type=click.Path(path_type=Path))
def tui(places: tuple[Path, ...]) -> int:
    """Open the terminal application; an alias of `app`."""
    return open_app(places)


def open_app(places: tuple[Path, ...], settings: Settings | None = None) -> int:
    """Open the application on its home screen, on the jobs or runs that are given; return the exit
    code.

    Raises:
        UsageError: there is no terminal, or a place does not exist.
    """
    require_places(places)
    settings, runs, others = split_runs(settings or Settings.from_environment(), places)
    need_terminal("`bioeval-tui --help` lists the commands that print")
    start = "home" if runs is None else "medals"
    if others:
        start = "jobs"
    show(AppServices(settings, job_places=others, runs=runs), start, "ask")
    return ExitCode.OK


def show(services: AppServices, start: Opener | str, on_quit: OnQuit) -> None:
    """Run the application, starting with a run or the screen of that name.

    Raises:
        ScreenCrashError: a screen crashed; the terminal is restored.
    """
    run_app(BioevalApp(services, start, on_quit=on_quit))


def view_opener(view: RunView) -> Opener:
    """Return what opens a run that is open already."""

    async def open_view() -> RunView:
        return view

    return open_view


def show_started(spec: EngineSpec, settings: Settings, view: FollowedRun, on_quit: OnQuit) -> None:
    """Run the application, showing the first run of a batch that was just started.

    Raises:
        ScreenCrashError: a screen crashed; the terminal is restored.
    """
    services = AppServices(settings, spec=spec)
    services.note(spec, view)
    show(services, view_opener(view), on_quit)


def run_app(app: BioevalApp) -> None:
    """Run the application until the user quits, and close its services.

    Raises:
        ScreenCrashError: a screen crashed; the terminal is restored.
    """
    try:
        app.run()
    finally:
        app.services.close()
    if app.crash is not None:
        raise ScreenCrashError(f"{type(app.crash).__name__}: {app.crash}") from app.crash


@click.command("serve-tab", hidden=True)
@click.argument("places", nargs=-1, type=click.Path(path_type=Path))
@click.option("--read-only", is_flag=True)
@click.option("--run", "run_id")
def serve_tab(places: tuple[Path, ...], read_only: bool, run_id: str | None) -> int:
    """Draw one tab (started by `serve`); with --read-only it shows only recordings, with --run the
    replay of one.
    """
    settings = Settings.from_environment()
    if read_only:
        # other tabs do not need it
        from bioeval_tui.tui.read_only import (
            ReadOnlyApp,
            ReadOnlyServices,
        )

        services = cast(AppServices, ReadOnlyServices(settings))
        shown: type[BioevalApp] = ReadOnlyApp
        screen = "runs"
    else:
        services, shown = AppServices(settings, job_places=places), BioevalApp
        screen = "jobs" if places else "home"
    start = partial(services.open_recording, run_id, speed=1.0) if run_id else screen
    run_app(shown(services, start, on_quit="leave" if read_only else "ask"))
    return ExitCode.OK

"""`watch` and `runs replay`: a run in progress or a recorded one on the live screen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from bioeval_tui.base.errors import ExitCode
from bioeval_tui.base.settings import Settings
from bioeval_tui.cli.app import show
from bioeval_tui.cli.options import OutputFile
from bioeval_tui.cli.recorded_runs import complete_run
from bioeval_tui.cli.terminal import need_terminal
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.tui.data.services import AppServices

_Command = TypeVar("_Command", bound=Callable[..., Any])


@click.command(epilog="\b\nExample:\n  bioeval-tui watch 7f3a")
@click.argument("run_id")
def watch(run_id: str) -> int:
    """Attach to a run in progress: watch, pause or cancel it.

    RUN_ID is its id, or the beginning or end of it; see `bioeval-tui runs list`.
    """
    settings = Settings.from_environment()
    return _show(settings, Catalogue(settings.runs_dir).find(run_id))


def _written(ending: str, about: str) -> Callable[[_Command], _Command]:
    """Return the option that writes the replay to a file with this ending."""
    kind = OutputFile(dir_okay=False, path_type=Path)
    return click.option(f"--{ending}", type=kind, metavar=f"FILE.{ending}", help=about)


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui runs replay 7f3a --speed 4\n  bioeval-tui runs replay 7f3a"
        " --html talk.html\n  bioeval-tui runs replay 7f3a --cast talk.cast --size 100x30 --theme"
        " light"
    )
)
@click.argument("run_id", shell_complete=complete_run)
@click.option(
    "--speed",
    type=click.FloatRange(0.5, 32),
    default=1.0,
    help="Playback speed.",
)
@_written(
    "cast",
    "Write an asciicast (version 3) with a marker for each turn, instead of playing; agg makes a"
    " GIF of it.",
)
@_written("html", "Write one HTML file that plays offline, instead of playing.")
@click.option("--size", default="120x40", help="Size of a written replay: columns x rows.")
@click.option("--theme", default="dark", help="Theme of a written replay.")
@click.option(
    "--times",
    type=click.Choice(["reading", "recorded"]),
    default="reading",
    help="Timing of a written replay: reading pace or recorded times.",
)
def replay(
    run_id: str, speed: float, size: str, theme: str, times: str, **written: Path | None
) -> int:
    """Replay a run on the live screen with its recorded times, or write the replay to a file."""
    settings = Settings.from_environment()
    files = {kind: file for kind, file in written.items() if file is not None}
    if files:
        # only for a file: the live screen opens without what it loads
        from bioeval_tui.cli.write_replay import write_replay

        return write_replay(settings, run_id, files, size=size, theme=theme, times=times)
    return _show(settings, Catalogue(settings.runs_dir).find(run_id), speed=speed)


def _show(settings: Settings, path: Path, *, speed: float | None = None) -> int:
    """Attach to the run if it is in progress, otherwise replay it; return the exit code."""
    need_terminal(f"`bioeval-tui runs show {path.stem}` prints the score card")
    services = AppServices(settings)
    show(services, partial(services.open_file, path, speed=speed), "leave")
    return ExitCode.OK

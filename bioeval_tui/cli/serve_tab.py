"""`serve-tab`: the process of one tab of `serve`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import cast

import click

from bioeval_tui.cli.open_screen import run_app
from bioeval_tui.errors import ExitCode
from bioeval_tui.settings import Settings
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.data.services import AppServices
from bioeval_tui.tui.read_only import ReadOnlyApp, ReadOnlyServices


@click.command("serve-tab", hidden=True)
@click.argument("places", nargs=-1, type=click.Path(path_type=Path))
@click.option("--read-only", is_flag=True)
@click.option("--run", "run_id")
def serve_tab(places: tuple[Path, ...], read_only: bool, run_id: str | None) -> int:
    """Draw one tab (started by `serve`)."""
    _show(Settings.from_environment(), places, read_only=read_only, run_id=run_id)
    return ExitCode.OK


def _show(
    settings: Settings, places: Sequence[Path] = (), *, read_only: bool = False, run_id: str | None = None
) -> None:
    """Run the application in one tab; with `read_only`, show recordings only. `run_id` opens a replay."""
    services = AppServices(settings, job_places=places)
    if read_only:
        services = cast(AppServices, ReadOnlyServices(settings))
    screen = "runs" if read_only else "jobs" if places else "home"
    start = partial(services.open_recording, run_id, speed=1.0) if run_id else screen
    app = ReadOnlyApp if read_only else BioevalApp
    try:
        run_app(app(services, start, on_quit="leave" if read_only else "ask"))
    finally:
        services.close()


COMMANDS: list[click.Command] = [serve_tab]

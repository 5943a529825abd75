"""`runs record-to`: move the recording of a run in progress."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from bioeval_tui.cli.find_run import complete_run, find_run
from bioeval_tui.errors import ExitCode, UsageError
from bioeval_tui.evaluation.engine.attach import sender_name
from bioeval_tui.evaluation.engine.intents import RECORD_TO, send_intent
from bioeval_tui.record.live import read_live
from bioeval_tui.terminal import say


@click.command("record-to", epilog="\b\nExample:\n  bioeval-tui runs record-to 7f3a /mnt/large/recordings")
@click.argument("run_id", metavar="RUN", shell_complete=complete_run)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def record_to(run_id: str, folder: Path) -> int:
    """Move the recording of a run in progress to FOLDER, for example because its disk is full.

    A link stays in its place, so that all commands still find it.
    """
    path = find_run(run_id)[1]
    info = read_live(path)
    if info is None or not info.alive():
        raise UsageError(f"{path.stem} is not running; `bioeval-tui runs resume {path.stem}` resumes it")
    refused = asyncio.run(send_intent(info, RECORD_TO, text=str(folder.absolute()), sender=sender_name()))
    if refused is not None:
        raise UsageError(refused)
    say(f"{path.stem} is now recorded in {folder.absolute()}", err=True)
    return ExitCode.OK


COMMANDS: list[click.Command] = [record_to]

"""`runs record-to`: the folder in which a run under way is recorded."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from bioeval_tui.cli.find_run import complete_run, find_run
from bioeval_tui.errors import ExitCode, UsageError
from bioeval_tui.evaluate.engine.attach import sender_name
from bioeval_tui.evaluate.engine.intents import RECORD_TO, send_intent
from bioeval_tui.record.live import read_live
from bioeval_tui.terminal import say


@click.command("record-to", epilog="\b\nExample:\n  bioeval-tui runs record-to 7f3a /mnt/large/recordings")
@click.argument("run_id", metavar="RUN", shell_complete=complete_run)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def record_to(run_id: str, folder: Path) -> int:
    """Let a run that goes on be recorded in another FOLDER, as when its disk is full.

    What is recorded so far goes along; a link stays where it was, so that everything finds it as before.
    """
    path = find_run(run_id)[1]
    info = read_live(path)
    if info is None or not info.alive():
        raise UsageError(f"{path.stem} does not go on now; `bioeval-tui runs resume {path.stem}` lets it")
    refused = asyncio.run(send_intent(info, RECORD_TO, text=str(folder.absolute()), sender=sender_name()))
    if refused is not None:
        raise UsageError(refused)
    say(f"{path.stem} is recorded in {folder.absolute()} now", err=True)
    return ExitCode.OK


COMMANDS: list[click.Command] = [record_to]

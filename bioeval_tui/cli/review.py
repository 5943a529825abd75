"""The command that opens the review screen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from bioeval_tui.cli.find_run import complete_run
from bioeval_tui.cli.open_screen import run_app
from bioeval_tui.cli.terminal import need_terminal
from bioeval_tui.errors import ExitCode
from bioeval_tui.report.loading import find_recording
from bioeval_tui.settings import Settings
from bioeval_tui.text import clean_line
from bioeval_tui.tui.data.services import AppServices
from bioeval_tui.tui.review.review_app import ReviewApp
from bioeval_tui.tui.review.review_items import ReviewSource


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui review 7f3a 91c2 --blind\n  bioeval-tui review results/ --as ada"
)
@click.argument("what", metavar="RUN|REPORT...", nargs=-1, required=True, shell_complete=complete_run)
@click.option("--blind", is_flag=True, help="Keep the judge's word back until you have given yours.")
@click.option("--as", "name", default="", help="Your name as a reviewer [user and host].")
def review(what: tuple[str, ...], blind: bool, name: str) -> int:
    """Review judged tasks and graded submissions: accept, judge otherwise, assign fault, add notes, undo.

    RUN is a run's id, the beginning or end of it, or a recording's file; REPORT a grading report or a folder of
    them. Reviews are kept beside the recording or the report, which never change; works offline, without keys.
    """
    return _show(Settings.from_environment(), what, reviewer=name, blind=blind)


def _show(settings: Settings, what: Sequence[str], *, reviewer: str = "", blind: bool = False) -> int:
    """Open the review screen on runs (ids or recordings) and grading reports (files or folders).

    Raises:
        UsageError: something of these is neither, or there is no terminal.
    """
    need_terminal("`bioeval-tui runs show RUN` prints what was judged")

    reports = [text for text in what if Path(text).is_dir() or text.endswith(".json")]
    runs = [text for text in what if text not in reports]
    for text in runs:
        find_recording(text, settings.runs_dir)
    services = AppServices(settings, reviewer=clean_line(reviewer, 80))
    source = ReviewSource(tuple(runs), reports=tuple(map(Path, reports)))
    try:
        run_app(ReviewApp(services, source, blind=blind))
    finally:
        services.close()
    return ExitCode.OK


COMMANDS: list[click.Command] = [review]

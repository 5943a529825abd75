"""The command that opens the review screen."""

from __future__ import annotations

import click

from bioeval_tui.cli.completion import complete_run


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
    from bioeval_tui.cli.open_screen import show_review
    from bioeval_tui.settings import Settings

    return show_review(Settings.from_environment(), what, reviewer=name, blind=blind)


COMMANDS: list[click.Command] = [review]

"""`guards`: check transcripts."""

from __future__ import annotations

import io
import sys
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

import click

from bioeval_tui.base.errors import ExitCode, InputError, UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.terminal import print_json, say
from bioeval_tui.base.text import plural
from bioeval_tui.cli.recorded_runs import complete_run
from bioeval_tui.guards import NOT_LOOKED_FOR, GuardTotals, Hit, check_transcripts
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.record.masking import current
from bioeval_tui.report.frames import transcript_lines
from bioeval_tui.report.result import load_run


@click.command(
    epilog=(
        "\b\nEach line of FILE is a JSON object: `id`; `messages` with `role` (user: the simulated"
        " user, assistant:\nthe agent) and `content`; optional: `facts` or `vignette`, `tasks`, and"
        " `condition` [supplied].\n\n\b\nExamples:\n  bioeval-tui guards transcripts.jsonl\n "
        " bioeval-tui guards transcripts.jsonl --json | tail -1\n  bioeval-tui guards 7f3a"
    )
)
@click.argument(
    "transcripts",
    metavar="FILE|RUN",
    type=click.Path(path_type=Path, allow_dash=True),
    shell_complete=complete_run,
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON Lines [if stdout is not a terminal]."
)
def guards(transcripts: Path, as_json: bool) -> int:
    """Check the simulated user's messages: print one line for each finding, then the totals.

    RUN is the id of a recorded or imported run, or its beginning or end. Exit codes: 0 every line
    was read, 2 a line could not be read.
    """
    if not transcripts.exists() and (path := _run(str(transcripts))) is not None:
        lines = transcript_lines(load_run(path, whole=True)).encode("utf-8", "replace")
        return _check(io.BytesIO(lines), path.stem, as_json)
    if str(transcripts) == "-":
        return _check(sys.stdin.buffer, "stdin", as_json)
    try:
        file = transcripts.open("rb")
    except OSError as problem:
        raise UsageError(f"{transcripts} cannot be read: {problem.strerror}") from None
    with file:
        return _check(file, str(transcripts), as_json)


def _run(name: str) -> Path | None:
    """Return the recording of the run with this id; None if the name looks like a file."""
    if "." in name or "/" in name or name == "-":
        return None
    return Catalogue(Settings.from_environment().runs_dir).find(name)


def _check(lines: BinaryIO, name: str, as_json: bool) -> int:
    as_json = as_json or not sys.stdout.isatty()
    code = ExitCode.OK
    for checked in check_transcripts(lines, name):
        if isinstance(checked, InputError):
            say(f"error: {checked}", err=True)
            code = ExitCode.BAD_INPUT
        elif as_json:
            found = checked.to_dict() if isinstance(checked, Hit) else asdict(checked)
            print_json(current().value(found))
            _say_what_is_unread(checked)
        elif isinstance(checked, Hit):
            found = current().value(checked.to_dict())
            say(
                f"{found['id']}, message {found['message']}: {found['effect']}, {found['rule']}:"
                f" {found['detail']}"
            )
        else:
            rules = ", ".join(f"{rule} {count}" for rule, count in checked.by_rule.items() if count)
            say(
                f"{plural(checked.conversations, 'conversation')},"
                f" {plural(checked.user_messages, 'message')} of the user:"
                f" {checked.marked:,} marked, {checked.void:,} void"
                + (f" ({rules})" if rules else "")
            )
            _say_what_is_unread(checked)
    return code


def _say_what_is_unread(checked: Hit | GuardTotals) -> None:
    """Say once for each language that cannot be read what was not looked for."""
    if isinstance(checked, Hit):
        return
    for name, count in checked.unread.items():
        say(
            f"warning: {plural(count, 'conversation')} in {name}, in which {NOT_LOOKED_FOR[False]}"
            " (docs/guards.md)",
            err=True,
        )

"""`ledger`: check the ledger of graded submissions."""

from __future__ import annotations

from pathlib import Path

import click
from typing_extensions import TypedDict

from bioeval_tui.cli.options import JSON, settings_for
from bioeval_tui.errors import ExitCode
from bioeval_tui.grade.ledger import NAME, verify
from bioeval_tui.terminal import print_json, say
from bioeval_tui.text import clean_line, plural


class PrintedLedger(TypedDict):
    """Whether a ledger is intact, as `ledger verify --json` prints it."""

    file: str
    lines: int
    whole: bool
    head: str
    problems: list[str]


@click.group(epilog="\b\nExample:\n  bioeval-tui ledger verify")
def ledger() -> None:
    """Check the ledger of graded submissions."""


@ledger.command(
    "verify", epilog="\b\nExample:\n  bioeval-tui ledger verify --data-dir ~/.cache/bioml-bench/data"
)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--data-dir", type=click.Path(file_okay=False, path_type=Path), help="The folder of the tasks' data."
)
@click.option(
    "--head",
    metavar="NUMBER:HASH",
    default="",
    show_default=False,
    help="A head that this ledger printed earlier: check that the lines up to it are still the same.",
)
@JSON
def ledger_verify(file: Path | None, data_dir: Path | None, head: str, as_json: bool) -> int:
    """Check that no line of a ledger was changed, moved, removed or added by hand.

    Whoever rewrites both the ledger and its head (grading-ledger.head) leaves no trace, unless others know an earlier
    head: publish the one that this prints, and check with --head.

    The default FILE is the ledger in the folder of the tasks' data. Exit codes: 0 intact, 1 changed, 2 no ledger found.
    """
    settings = settings_for({"tasks_dirs": (), "data_dir": data_dir, "leaderboard": None})
    path = file or settings.tasks_data_dir / NAME
    verified = verify(path, head)
    if as_json:
        printed: PrintedLedger = {
            "file": str(path),
            "lines": verified.lines,
            "whole": not verified.problems,
            "head": verified.head,
            "problems": list(verified.problems),
        }
        print_json(printed)
    else:
        whole = "intact" if not verified.problems else "changed"
        say(f"{clean_line(str(path), 300)}: {plural(verified.lines, 'line')}, {whole}")
        for problem in verified.problems:
            say(f"  · {problem}")
        if verified.head:
            say(f"head: {verified.head}")
    return ExitCode.BELOW if verified.problems else ExitCode.OK


COMMANDS: list[click.Command] = [ledger]

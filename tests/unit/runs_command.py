"""`bioeval-tui runs`, called in the process of the test."""

from __future__ import annotations

from click.testing import CliRunner, Result

from bioeval_tui.cli.runs import runs


def call(*arguments: str) -> Result:
    """Call a command of the group; its exit code is the result's `return_value` or `exception`."""
    return CliRunner().invoke(runs, list(arguments), standalone_mode=False)

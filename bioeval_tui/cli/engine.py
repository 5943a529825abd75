"""`engine`: the process that runs conversations. It is started by the program, not by users."""

from __future__ import annotations

from pathlib import Path

import click

from bioeval_tui.base.errors import ExitCode
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.wiring.start import run_spec_file
from bioeval_tui.report.deciding import make_decider


@click.command(hidden=True)
@click.argument("spec", type=click.Path(exists=True, path_type=Path))
def engine(spec: Path) -> int:
    """Run the engine process (started by the program itself)."""
    ended = run_spec_file(spec, Settings.from_environment(), make_decider)
    if all(end.status == "completed" for end in ended):
        return ExitCode.OK
    return ExitCode.NOT_MEASURED

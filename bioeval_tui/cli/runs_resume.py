"""`runs resume`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bioeval_tui.cli.options import HEADLESS, complete_run, find_run, with_options
from bioeval_tui.errors import ExitCode
from bioeval_tui.evaluation.wiring.resume import rerun_offer, resume_spec
from bioeval_tui.streams import has_screen
from bioeval_tui.terminal import say


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui runs resume 7f3a\n  bioeval-tui runs resume 7f3a --headless --rerun"
)
@click.argument("run_id", metavar="RUN", shell_complete=complete_run)
@with_options("agent_url", "allow_hosts", "submissions", "code")
@click.option(
    "--job",
    "job_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The job file [as recorded]. Required for an imported run.",
)
@click.option("--force", is_flag=True, help="Resume with the job as recorded, even if its file has changed.")
@click.option(
    "--rerun",
    is_flag=True,
    help="Add a trial for each one that failed because of the evaluator, the judge or the infrastructure.",
)
@with_options("max_calls", "max_cost", "unrestricted_setups")
@HEADLESS
@click.option("--json", "as_json", is_flag=True, help="Headless: print one JSON object.")
def resume(run_id: str, headless: bool, as_json: bool, **options: Any) -> int:
    """Resume an interrupted or stopped run: run only the missing conversations.

    Finished conversations are not repeated; where some could not be measured, the command that makes up for them is
    shown. RUN is a run's id, or its beginning or end.
    """
    settings, path = find_run(run_id)
    spec = resume_spec(path, **options)
    if spec is None:
        complete = f"{path.stem}: already complete; show it with `bioeval-tui runs show {path.stem}`"
        say(rerun_offer(path) or complete, err=True)
        return ExitCode.OK
    if headless or as_json or not has_screen():
        from bioeval_tui.cli.headless import run_headless  # the screen does not need it

        return run_headless(spec, settings, as_json=as_json)
    from bioeval_tui.cli.show_run import announce, show_run  # a headless run does not need it

    announce(spec, settings)
    return show_run(spec, settings, leave_running=True)


COMMANDS: list[click.Command] = [resume]

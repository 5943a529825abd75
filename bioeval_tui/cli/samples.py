"""`samples`: what to try the program on, wherever it is installed."""

from __future__ import annotations

import json
from pathlib import Path

import click

from bioeval_tui.errors import ExitCode
from bioeval_tui.sample.paths import agent_names, copy_samples, job_names, list_names
from bioeval_tui.text import clean_line


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui samples\n  bioeval-tui samples try-it\n  bioeval-tui run medication_reminder --agent-url http://127.0.0.1:8081"
)
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite files that were changed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def samples(folder: Path | None, force: bool, as_json: bool) -> int:
    """List the sample jobs and submissions, or copy them into DIR.

    Commands take them by name, without a copy: `run` and `check` a job, `grade` a list, `validate` and `grade-sample`
    an agent.
    """
    if folder is not None:
        written = copy_samples(folder, force=force)
        if as_json:
            click.echo(json.dumps({"written": [str(path) for path in written]}, ensure_ascii=False))
        else:
            here = clean_line(str(folder), 300)
            click.echo(f"{len(written)} files written to {here}: sample_jobs/ and sample_submissions/")
        return ExitCode.OK
    found = {"jobs": job_names(), "submission_lists": list_names(), "submission_agents": agent_names()}
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
        return ExitCode.OK
    click.echo("Jobs:         " + ", ".join(found["jobs"]))
    click.echo("Submissions:  " + ", ".join(found["submission_lists"]) + " (lists)")
    click.echo("              " + ", ".join(found["submission_agents"]) + " (agents)")
    click.echo("\nTry:")
    click.echo("  bioeval-tui check medication_reminder")
    click.echo("  bioeval-tui grade submissions --output-dir results")
    click.echo("  bioeval-tui validate broken oncology/breast-cancer")
    click.echo("  bioeval-tui samples DIR       copies the files, to read and to change")
    return ExitCode.OK


COMMANDS: list[click.Command] = [samples]

"""`samples`: sample jobs and submissions."""

from __future__ import annotations

from pathlib import Path

import click
from typing_extensions import TypedDict

from bioeval_tui import plugins
from bioeval_tui.errors import ExitCode
from bioeval_tui.sample.paths import agent_names, copy_samples, job_names, list_names
from bioeval_tui.terminal import print_json, say
from bioeval_tui.text import clean_line


class PrintedSamples(TypedDict):
    """The names of the samples, as `samples --json` prints them."""

    jobs: list[str]
    benchmarks: list[str]
    submission_lists: list[str]
    submission_agents: list[str]


class PrintedCopies(TypedDict):
    """The files that `samples DIR --json` has written."""

    written: list[str]


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui samples\n  bioeval-tui samples try-it\n  bioeval-tui run medication_reminder --agent-url http://127.0.0.1:8081"
)
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite changed files.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def samples(folder: Path | None, force: bool, as_json: bool) -> int:
    """List the sample jobs and submissions, or copy them into DIR. Also list the published benchmarks.

    You can use them by name, without copying them: jobs and benchmarks with `run` and `check`, lists with `grade`, and
    agents with `validate` and `grade-sample`.
    """
    if folder is not None:
        written = copy_samples(folder, force=force)
        if as_json:
            copies: PrintedCopies = {"written": [str(path) for path in written]}
            print_json(copies)
        else:
            here = clean_line(str(folder), 300)
            say(f"{len(written)} files written to {here}: sample_jobs/, sample_submissions/ and benchmarks/")
        return ExitCode.OK
    copied: PrintedSamples = {
        "jobs": job_names(),
        "benchmarks": plugins.names("jobs"),
        "submission_lists": list_names(),
        "submission_agents": agent_names(),
    }
    if as_json:
        print_json(copied)
        return ExitCode.OK
    say("Jobs:         " + ", ".join(copied["jobs"]))
    say("Benchmarks:   " + ", ".join(copied["benchmarks"]))
    say("Submissions:  " + ", ".join(copied["submission_lists"]) + " (lists)")
    say("              " + ", ".join(copied["submission_agents"]) + " (agents)")
    say("\nTry:")
    say("  bioeval-tui check medication_reminder")
    say("  bioeval-tui grade submissions --output-dir results")
    say("  bioeval-tui validate broken oncology/breast-cancer")
    say("  bioeval-tui samples DIR       copies the files, to read and change")
    return ExitCode.OK


COMMANDS: list[click.Command] = [samples]

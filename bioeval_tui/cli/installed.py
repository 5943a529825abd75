"""`docs`, `samples` and `doctor`: what comes with the program, and whether it works here."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from typing_extensions import TypedDict

import bioeval_tui
from bioeval_tui import plugins
from bioeval_tui.base.errors import ExitCode, UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.streams import has_screen
from bioeval_tui.base.terminal import print_json, say
from bioeval_tui.base.text import clean_line
from bioeval_tui.base.widths import padded
from bioeval_tui.cli.options import JSON_LIST
from bioeval_tui.cli.run_options import with_options
from bioeval_tui.evaluation.engine.interface import RunRequest
from bioeval_tui.sample.named import agent_names, copy_samples, find_job, job_names, list_names


@click.command(
    "docs",
    epilog=(
        "\b\nExamples:\n  bioeval-tui docs\n  bioeval-tui docs scoring\n  bioeval-tui docs grading"
        " | less"
    ),
)
@click.argument("page", required=False)
@click.option("--list", "as_list", is_flag=True, help="List the pages.")
def docs(page: str | None, as_list: bool) -> int:
    """Read the documentation in the terminal, offline. PAGE is a page's name, such as `scoring`.

    When the output is piped, prints the page's Markdown instead.
    """
    folder = docs_folder()
    names = sorted(path.stem for path in folder.glob("*.md"))
    if as_list:
        for name in names:
            say(name)
        return ExitCode.OK
    name = (page or "index").removesuffix(".md")
    if name not in names:
        near = difflib.get_close_matches(name, names, 1)
        hint = f"did you mean {near[0]}?" if near else "`bioeval-tui docs --list` shows the pages"
        raise UsageError(f"there is no page called {clean_line(name, 80)}; {hint}")
    if has_screen():
        from bioeval_tui.tui.docs_app import DocsApp  # a pipe needs no screen

        DocsApp(folder, f"{name}.md").run()
    else:
        say((folder / f"{name}.md").read_text(encoding="utf-8").rstrip("\n"))
    return ExitCode.OK


def docs_folder() -> Path:
    """Return the folder of the pages: inside an installed package, or in the checkout."""
    package = Path(bioeval_tui.__file__).parent
    installed = package / "docs"
    if installed.is_dir():
        return installed
    return package.parent / "docs"


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
    epilog=(
        "\b\nExamples:\n  bioeval-tui samples\n  bioeval-tui samples try-it\n  bioeval-tui run"
        " medication_reminder --agent-url http://127.0.0.1:8081"
    )
)
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite changed files.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def samples(folder: Path | None, force: bool, as_json: bool) -> int:
    """List the sample jobs and submissions, or copy them into DIR. Also list the published
    benchmarks.

    You can use them by name, without copying them: jobs and benchmarks with `run` and `check`,
    lists with `grade`, and agents with `validate` and `grade-sample`.
    """
    if folder is not None:
        written = copy_samples(folder, force=force)
        if as_json:
            copies: PrintedCopies = {"written": [str(path) for path in written]}
            print_json(copies)
        else:
            here = clean_line(str(folder), 300)
            say(
                f"{len(written)} files written to {here}: sample_jobs/, sample_submissions/ and"
                " benchmarks/"
            )
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


@click.command(epilog="\b\nExamples:\n  bioeval-tui doctor --json\n  bioeval-tui doctor job.yml")
@click.argument("job", required=False, type=click.Path(path_type=Path))
@with_options("models", "agent_url", "evaluator_model", "judge_model", "allow_hosts", "code")
@JSON_LIST
def doctor(job: Path | None, as_json: bool, **options: Any) -> int:
    """Check each component, and print the command that installs it if it is missing.

    With JOB, its agent is asked whether it is there, and its model servers whether they serve the
    job's models.

    Exit codes: 0 everything that is needed works; 3 something is missing or broken.
    """
    # which need nearly everything
    from bioeval_tui.evaluation.wiring.doctor import (
        connections,
        examine,
    )

    settings = Settings.from_environment()
    findings = examine(settings)
    if job is not None:
        is_given = options["agent_url"] is not None
        asked = RunRequest(jobs=(find_job(job),), agent_url_is_given=is_given, **options)
        findings += [
            replace(found, part=f"job: {found.part}") for found in connections(asked, settings)
        ]
    if as_json:
        print_json([finding.to_dict() for finding in findings], indent=2)
    else:
        for finding in findings:
            sign = {"works": "✓", "broken": "✗", "absent": "–"}[finding.state]
            say(f"{sign} {padded(finding.part, 18)} {finding.said}")
            if finding.to_do:
                say(f"{' ' * 21}→ {finding.to_do}")
    if any(finding.state == "broken" for finding in findings):
        return ExitCode.NOT_MEASURED
    return ExitCode.OK

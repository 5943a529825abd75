"""`check`: what is wrong with job files."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import click

from bioeval_tui.base.errors import ExitCode, Problem
from bioeval_tui.base.printed import Fields
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.terminal import print_json, say
from bioeval_tui.base.text import plural
from bioeval_tui.base.units import count
from bioeval_tui.cli.options import JSON_LIST
from bioeval_tui.cli.run_options import with_options
from bioeval_tui.evaluation.wiring.case_table import CaseChoice
from bioeval_tui.evaluation.wiring.check_job import CheckedJob, check_job
from bioeval_tui.evaluation.wiring.graphs import is_embedded
from bioeval_tui.sample.named import find_job


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui check job.yml\n  bioeval-tui check medication_reminder"
)
@click.argument("jobs", nargs=-1, required=True, type=click.Path(path_type=Path))
@with_options("code", "cases", "cases_file")
@JSON_LIST
def check(jobs: tuple[Path, ...], code: tuple[str, ...], as_json: bool, **cases: Any) -> int:
    """Check job files and their cases: keys, types, expressions and Cypher. All problems are listed
    at once.

    No server is asked: `bioeval-tui doctor JOB` looks whether the agent is there and the models are
    served.
    """
    settings = Settings.from_environment()
    embedded = is_embedded(settings)
    choice = CaseChoice(cases["cases_file"], cases["cases"], None, None)
    checked = [
        check_job(
            path, embedded=embedded, code=[*map(Path, code)], choice=choice, settings=settings
        )
        for path in map(find_job, jobs)
    ]
    if as_json:
        problems = chain.from_iterable(job.problems for job in checked)
        print_json([*map(_printed_problem, problems)], indent=2)
    else:
        for job in checked:
            for problem in job.problems:
                prefix = "warning: " if problem.severity == "warning" else ""
                say(f"{prefix}{problem}")
            if not job.problems:
                for hint in job.hints:
                    say(f"hint: {hint}")
                say(f"{job.path}: no problems{_cases_words(job)}")
        if not any(job.problems for job in checked):
            say(
                "no server was asked: `bioeval-tui doctor"
                f" {checked[0].path if len(checked) == 1 else 'JOB'}` does that"
            )
    if any(job.errors for job in checked):
        return ExitCode.BAD_INPUT
    return ExitCode.OK


PrintedProblem = Annotated[dict[str, Any], Fields(Problem)]
"""A problem of a job file, as `check --json` prints it."""


def _cases_words(checked: CheckedJob) -> str:
    """Return how many cases a job has, and how many of them are the same in both conditions."""
    if not checked.cases or checked.loaded is None:
        return ""
    bare = sum(not case.job.facts for case in checked.cases) if checked.loaded.job.facts else 0
    alone = (
        f", {count(bare)} of them without facts to withhold, and so without a difference"
        if bare
        else ""
    )
    return f", {plural(len(checked.cases), 'case')}{alone}"


def _printed_problem(problem: Problem) -> dict[str, Any]:
    names = ("file", "line", "column", "field", "severity", "message")
    return {name: getattr(problem, name) for name in names}

"""`new`: a commented job file from a few questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bioeval_tui.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from bioeval_tui.jobs.template import Answers


@click.command(epilog="\b\nExamples:\n  bioeval-tui new job.yml\n  bioeval-tui new job.yml --yes")
@click.argument("job", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Ask nothing; write the defaults.")
@click.option("--force", is_flag=True, help="Overwrite a file that exists.")
def new(job: Path, yes: bool, force: bool) -> int:
    """Ask a few questions and write a commented job file, ready to check and run."""
    from bioeval_tui.jobs.template import Answers, job_text
    from bioeval_tui.wiring.jobs import check_job

    if job.exists() and not force:
        raise UsageError(f"{job} exists; give --force to overwrite it")
    if not job.parent.is_dir():
        raise UsageError(f"{job.parent} is no folder")
    answers = Answers() if yes else _ask(Answers())
    job.write_text(job_text(answers), encoding="utf-8")
    problems = check_job(job).errors
    for problem in problems:
        click.echo(str(problem), err=True)
    click.echo(f"wrote {job}; next: bioeval-tui check {job}, then bioeval-tui run {job}")
    return ExitCode.BAD_INPUT if problems else ExitCode.OK


def _ask(defaults: Answers) -> Answers:
    from bioeval_tui.jobs.template import Answers

    def ask(question: str, default: str) -> str:
        return str(click.prompt(question, default=default, show_default=bool(default))).strip()

    return Answers(
        user=ask("Name of the user that the evaluator plays", defaults.user),
        chatbot=ask("Name of the chatbot, as your agent knows it", defaults.chatbot),
        url=ask("Where your agent listens", defaults.url),
        protocol=str(
            click.prompt("Its protocol", default=defaults.protocol, type=click.Choice(["rest", "openai"]))
        ),
        seconds=float(
            click.prompt("The average answer time you wish for, in seconds", default=defaults.seconds)
        ),
        task=ask("One thing to ask the agent for", defaults.task),
        criteria=ask("How one can tell that it was done well", defaults.criteria),
        fact=ask("One fact that the user knows and the agent has to ask for (empty: none)", defaults.fact),
        rehearsal=bool(
            click.confirm(
                "Work offline, with a scripted evaluator and a rules judge", default=defaults.rehearsal
            )
        ),
    )


COMMANDS: list[click.Command] = [new]

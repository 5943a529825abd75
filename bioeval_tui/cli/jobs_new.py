"""`new`: a commented job file from a few questions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from bioeval_tui import plugins
from bioeval_tui.cli.jobs import schema_text
from bioeval_tui.errors import ExitCode, UsageError
from bioeval_tui.evaluation.job.template import (
    Answers,
    Script,
    cases_text,
    in_first_person,
    job_text,
    script_for,
)
from bioeval_tui.evaluation.wiring.case_file import CaseChoice, read_cases
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.files import write_whole
from bioeval_tui.settings import env_file_hint
from bioeval_tui.terminal import say


@click.command(
    epilog="\b\nExamples:\n  bioeval-tui new job.yml\n  bioeval-tui new job.yml --yes --offline"
    "\n  bioeval-tui new healthbench.yml --cases 2025-05-07-06-14-12_oss_eval.jsonl"
)
@click.argument("job", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Ask nothing, and use the defaults.")
@click.option("--offline", is_flag=True, help="Use a scripted user and a rules judge: no model, no API key.")
@click.option(
    "--cases",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Write a job for this table of cases (CSV, JSONL, Parquet), such as HealthBench's, without asking.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def new(job: Path, yes: bool, offline: bool, cases: Path | None, force: bool) -> int:
    """Create a job file with comments from a few questions."""
    if job.exists() and not force:
        raise UsageError(f"{job} exists; give --force to overwrite it")
    if not job.parent.is_dir():
        raise UsageError(f"{job.parent} is not a folder")
    if cases is not None and offline:
        raise UsageError("give --cases or --offline, not both: a script cannot be written for each case")
    answers = Answers(offline=offline) if yes or cases else _ask(Answers(offline=offline))
    write_whole(job, _cases_text(job, cases) if cases is not None else job_text(answers))
    beside = job.parent / "job.schema.json"  # the file's first lines name it
    if not beside.exists():
        write_whole(beside, schema_text())
    problems = check_job(job, choice=CaseChoice(file=str(cases) if cases is not None else None)).errors
    for problem in problems:
        say(str(problem), err=True)
    say(f"wrote {job}; next: bioeval-tui check {job}, then bioeval-tui run {job}")
    if not answers.offline:
        if cases is not None and not _beside(job, cases):
            say(f"the table is in another folder: add --cases-file {cases} to both commands")
        instead = (
            f"; without one: bioeval-tui run {job} --rehearsal" if answers.script and cases is None else ""
        )
        say(
            "the user and the judge are models: set OPENAI_API_KEY first, or OPENAI_BASE_URL for a model server on this "
            f"machine{instead}{env_file_hint()}"
        )
    return ExitCode.BAD_INPUT if problems else ExitCode.OK


def _cases_text(job: Path, cases: Path) -> str:
    columns = read_cases(cases, None).columns
    return cases_text(Answers(), cases.name if _beside(job, cases) else "", columns)


def _beside(job: Path, cases: Path) -> bool:
    return cases.resolve().parent == job.resolve().parent


def _ask(defaults: Answers) -> Answers:
    spoken = [one.name for one in plugins.own_agent_protocols() if not one.is_function]
    answers = replace(
        defaults,
        user=_question("Name of the user that the evaluator plays", defaults.user),
        chatbot=_question("Name of the chatbot in your agent", defaults.chatbot),
        url=_question("URL of your agent", defaults.url),
        protocol=str(click.prompt("Its protocol", default=defaults.protocol, type=click.Choice(spoken))),
        seconds=float(
            click.prompt(
                "Target for the average answer time, in seconds",
                default=defaults.seconds,
                type=click.FloatRange(0, min_open=True),
            )
        ),
        task=_question("One thing to ask the agent for", defaults.task),
        criteria=_question("How to tell that it was done well", defaults.criteria),
        fact=_question("One fact that the user knows and the agent must ask for (- for none)", defaults.fact),
    )
    answers = replace(answers, fact="" if answers.fact == "-" else answers.fact)
    offline = defaults.offline or click.confirm("Work offline, with a scripted user and a rules judge")
    script = _ask_script(answers) if offline else script_for(answers)
    return replace(answers, offline=offline, script=script)


def _ask_script(answers: Answers) -> Script:
    """Ask for the script: only the user knows what their agent says."""
    known = script_for(answers)
    script = known or Script(ask=answers.task, tell=in_first_person(answers.fact), asked="", done="")
    ask = _question("What the user says to ask for it", script.ask)
    tell, asked = script.tell, script.asked
    if answers.fact:
        tell = _question("How the user gives the fact", script.tell)
        asked = _question("Words in the agent's question for it, such as: which time zone", script.asked)
    done = _question("Words in the agent's message when it is done, such as: reminder is set", script.done)
    return Script(ask, tell, asked, done)


def _question(question: str, default: str) -> str:
    return str(click.prompt(question, default=default or None)).strip()


COMMANDS: list[click.Command] = [new]

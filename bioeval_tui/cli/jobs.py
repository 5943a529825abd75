"""`new`: create a job file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from bioeval_tui import plugins
from bioeval_tui.base.errors import ExitCode, UsageError
from bioeval_tui.base.files import below, real, write_named, write_whole
from bioeval_tui.base.settings import Settings, env_file_hint
from bioeval_tui.base.terminal import say
from bioeval_tui.base.text import clean_line
from bioeval_tui.cli.options import EXISTING_FILE, OutputFile
from bioeval_tui.cli.recorded_runs import complete_run, find_run
from bioeval_tui.cli.schemas import schema_text
from bioeval_tui.evaluation.wiring.case_table import CaseChoice, read_cases
from bioeval_tui.evaluation.wiring.cases_from_run import build_cases, is_unjudged
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.evaluation.wiring.job_from_run import draft_job
from bioeval_tui.jobs.template import (
    ASKS_FIRST,
    Answers,
    Script,
    cases_text,
    in_first_person,
    is_published_table,
    job_text,
    known_script,
    usual_answers,
)


@click.command(
    epilog=(
        "\b\nExamples:\n  bioeval-tui new job.yml\n  bioeval-tui new job.yml --yes --offline"
        "\n  bioeval-tui new healthbench.yml --cases 2025-05-07-06-14-12_oss_eval.jsonl"
        "\n  bioeval-tui new regression.yml --from 7f3a --trial 12"
    )
)
@click.argument("job", type=OutputFile(path_type=Path))
@click.option("--yes", is_flag=True, help="Ask nothing, and use the defaults.")
@click.option(
    "--offline", is_flag=True, help="Use a scripted user and a rules judge: no model, no API key."
)
@click.option(
    "--cases",
    type=EXISTING_FILE,
    help=(
        "Write a job for this table of cases (CSV, JSON, JSONL, Parquet), such as HealthBench's,"
        " without asking."
    ),
)
@click.option(
    "--from",
    "source",
    metavar="RUN",
    shell_complete=complete_run,
    help=(
        "Write a job from a failed conversation of this run, recorded or imported: the same"
        " requests and facts, and an assertion for what went wrong. Of an imported run without"
        " scores, each conversation becomes a case."
    ),
)
@click.option(
    "--trial",
    type=click.IntRange(1),
    help="With --from: this trial [the one with the lowest score].",
)
@click.option(
    "--each",
    is_flag=True,
    help=(
        "With --from: make each conversation a case, of what its user asked first and told after,"
        " in a table beside the job."
    ),
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def new(
    job: Path,
    yes: bool,
    offline: bool,
    cases: Path | None,
    source: str | None,
    trial: int | None,
    each: bool,
    force: bool,
) -> int:
    """Create a job file with comments, from a few questions or from recorded conversations."""
    if job.exists() and not force:
        raise UsageError(f"{job} exists; give --force to overwrite it")
    if not job.parent.is_dir():
        raise UsageError(f"{job.parent} is not a folder")
    if cases is not None and offline:
        raise UsageError(
            "give --cases or --offline, not both: a script cannot be written for each case"
        )
    if source is not None and (cases is not None or offline):
        raise UsageError("give --from alone: the job it writes has both a script and a model")
    if trial is not None and source is None:
        raise UsageError("--trial needs --from RUN")
    if each and (source is None or trial is not None):
        raise UsageError("--each needs --from RUN, without --trial")
    if source is not None:
        path = Path(source)
        recording = path if path.is_file() else find_run(source)[1]
        runs_dir = Settings.from_environment().runs_dir
        if each or (trial is None and is_unjudged(recording, runs_dir)):
            text = _write_case_table(job, recording, force)
        else:
            text = draft_job(recording, runs_dir, trial)
    elif cases is not None:
        text = _cases_text(job, cases)
    else:
        usual = replace(usual_answers(Settings.from_environment()), offline=offline)
        text = job_text(usual if yes else _answered(usual))
    write_named(job, text)
    beside = below(job.parent, "job.schema.json")  # the file's first lines name it
    if not (beside.exists() or beside.is_symlink()):
        write_whole(beside, schema_text("job"))
    checked = check_job(job, choice=CaseChoice(file=str(cases) if cases is not None else None))
    for problem in checked.errors:
        say(str(problem), err=True)
    say(f"wrote {job}; next: bioeval-tui check {job}, then bioeval-tui run {job}")
    if cases is not None and not _is_same_folder(job, cases):
        say(f"the table is in another folder: add --cases-file {cases} to both commands")
    written = checked.loaded.job if checked.loaded is not None else None
    if written is None or "llm" in (written.evaluator.kind, written.scorer.kind):
        instead = ""
        if written is not None and written.can_be_rehearsed:
            instead = f"; without one: bioeval-tui run {job} --rehearsal"
        say(
            "the user and the judge are models: set OPENAI_API_KEY first, or OPENAI_BASE_URL for a"
            f" model server on this machine{instead}{env_file_hint()}"
        )
    if checked.errors:
        return ExitCode.BAD_INPUT
    return ExitCode.OK


def _write_case_table(job: Path, recording: Path, force: bool) -> str:
    """Write a run's conversations as a table of cases beside the job, and return the job."""
    table = job.with_name(f"{job.stem}.cases.jsonl")
    if table.exists() and not force:
        raise UsageError(f"{table} exists; give --force to overwrite it")
    made = build_cases(recording, table.name)
    write_named(table, made.table, mode=0o600)
    for note in made.notes:
        say(f"note: {note}", err=True)
    say(f"wrote {table}")
    return made.job


def _cases_text(job: Path, cases: Path) -> str:
    table = read_cases(cases, None)
    places = table.places()
    if not places and not is_published_table(table.columns):
        raise UsageError(
            f"{clean_line(str(cases))}: no text or number is in every row; a row must have one that"
            " makes its task"
        )
    return cases_text(
        Answers(), cases.name if _is_same_folder(job, cases) else "", table.columns, places
    )


def _is_same_folder(job: Path, cases: Path) -> bool:
    return real(cases).parent == real(job).parent


def _answered(defaults: Answers) -> Answers:
    """Ask the questions. Raises `UsageError` if nobody can answer them, because there is no more
    input.
    """
    try:
        return _ask(defaults)
    except click.Abort as abort:
        if isinstance(abort.__context__, EOFError):
            why = "new asks questions, and its input has ended; pass --yes for the usual answers"
            raise UsageError(why) from None
        raise


def _ask(defaults: Answers) -> Answers:
    spoken = [one.name for one in plugins.own_agent_protocols() if not one.is_function]
    answers = replace(
        defaults,
        user=_question("A name for the simulated user", defaults.user),
        chatbot=_question(
            "What your agent's server calls the chatbot to test (any name if it has only one)",
            defaults.chatbot,
        ),
        url=_question("URL of your agent", defaults.url),
        protocol=str(
            click.prompt("Its protocol", default=defaults.protocol, type=click.Choice(spoken))
        ),
        seconds=float(
            click.prompt(
                "Target for the average answer time, in seconds",
                default=defaults.seconds,
                type=click.FloatRange(0, min_open=True),
            )
        ),
        task=_question("One thing to ask the agent for", defaults.task),
        criteria=_question("How to tell that it was done well", defaults.criteria),
        fact=_question(
            "One fact that the user knows and the agent must ask for (- for none)", defaults.fact
        ),
    )
    answers = replace(answers, fact="" if answers.fact == "-" else answers.fact)
    if known_script(answers) is None:
        answers = replace(answers, withheld=ASKS_FIRST)
    offline = defaults.offline or click.confirm(
        "Work offline, with a scripted user and a rules judge"
    )
    script = known_script(answers) or (_ask_script(answers) if offline else None)
    return replace(answers, offline=offline, script=script)


def _ask_script(answers: Answers) -> Script:
    """Ask for the script: only the user knows what their agent says."""
    # These are the answers that are offered; where one is blank, nothing is.
    script = Script(ask=answers.task, tell=in_first_person(answers.fact), asked="", done="")
    ask = _question("What the user says to ask for it", script.ask)
    tell, asked = script.tell, script.asked
    if answers.fact:
        tell = _question("How the user gives the fact", script.tell)
        asked = _question(
            "Words in the agent's question for it, such as: which time zone", script.asked
        )
    done = _question(
        "Words in the agent's message when it is done, such as: reminder is set", script.done
    )
    return Script(ask, tell, asked, done)


def _question(question: str, default: str) -> str:
    return str(click.prompt(question, default=default or None)).strip()

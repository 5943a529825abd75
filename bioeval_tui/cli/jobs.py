"""`new`, `check` and `assert`: commands for writing jobs."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from bioeval_tui import plugins
from bioeval_tui.base.errors import (
    ExitCode,
    ExpressionError,
    InputError,
    NotMeasuredError,
    Problem,
    QueryError,
    UsageError,
)
from bioeval_tui.base.files import below, write_named, write_whole
from bioeval_tui.base.printed import Fields
from bioeval_tui.base.settings import Settings, env_file_hint
from bioeval_tui.base.terminal import print_json, say
from bioeval_tui.base.text import clean_line, compact_json, listed, plural, shorten
from bioeval_tui.base.units import count
from bioeval_tui.cli.options import JSON_LIST, OutputFile, complete_run, find_run, with_options
from bioeval_tui.cli.schemas import schema_text
from bioeval_tui.evaluation.assertions import compare
from bioeval_tui.evaluation.engine.interface import EngineSpec
from bioeval_tui.evaluation.wiring.case_table import CaseChoice, read_cases
from bioeval_tui.evaluation.wiring.cases_from_run import build_cases, is_unjudged
from bioeval_tui.evaluation.wiring.check_job import CheckedJob, check_job
from bioeval_tui.evaluation.wiring.graphs import is_embedded, open_graph, require_name
from bioeval_tui.evaluation.wiring.job_from_run import draft_job
from bioeval_tui.expressions import caret, evaluate, explain, parse, scope
from bioeval_tui.jobs.loading import recorded_job
from bioeval_tui.jobs.template import (
    ASKS_FIRST,
    Answers,
    Script,
    cases_text,
    in_first_person,
    is_published_table,
    job_text,
    known_script,
)
from bioeval_tui.peers.transcript import recorded_transcript
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.record.condition_names import PUBLISHED_NAMES, Condition
from bioeval_tui.record.events import RunStarted
from bioeval_tui.record.reading import started_run
from bioeval_tui.record.state import ConversationState
from bioeval_tui.sample.paths import find_job

if TYPE_CHECKING:
    from bioeval_tui.expressions import Part


_NO_OPTION = re.compile(r"-(?!-?[a-z][a-z-]*(?:=|$)|$)")


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


class _TakesExpression(click.Command):
    """A command whose argument may start with a minus sign: `-7 / 2 == -3` is not an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move the expression behind `--`."""
        place = next((at for at, arg in enumerate(args) if _NO_OPTION.match(arg)), None)
        if place is not None and "--" not in args:
            args = [*args[:place], *args[place + 1 :], "--", args[place]]
        return super().parse_args(ctx, args)


@click.command(
    "assert",
    cls=_TakesExpression,
    epilog=(
        "\b\nExamples:\n  bioeval-tui assert 'objectContext.resources.size == 1' --context"
        " state.json\n  bioeval-tui assert --cypher 'MATCH (r:Reminder) RETURN count(r)' --expected"
        " 1\n  bioeval-tui assert 'evaluation.failureCount == 0' --context 7f3a --after-turn 2"
    ),
)
@click.argument("expression", required=False)
@click.option(
    "--context", help="A JSON file {objectContext, evaluation}, or a run's id or recording file."
)
@click.option(
    "--after-turn",
    type=click.IntRange(0),
    help="With a recording: use the state after this turn [the last].",
)
@click.option(
    "--condition",
    default=PUBLISHED_NAMES[-1],
    help="With a recording: use this condition.",
)
@click.option("--cypher", help="A Cypher query for the configured graph, instead of an expression.")
@click.option("--expected", help="The expected result, as JSON (a bare word is text).")
@click.option(
    "--graph",
    metavar="NAME",
    help="The graph: embedded, neo4j or a plug-in [neo4j if NEO_URI is set].",
)
def assert_(expression: str | None, cypher: str | None, **options: Any) -> int:
    """Evaluate one assertion and print its value as JSON. If it fails, prints what it compared on
    stderr.

    Exit codes: 0 passed, 1 failed, 2 syntax or type error (a caret marks the column).
    """
    if (expression is None) == (cypher is None):
        raise UsageError("give an expression or --cypher, not both")
    try:
        if expression is not None:
            return _expression(expression, options)
        assert cypher is not None
        return _cypher(cypher, options)
    except (ExpressionError, QueryError) as error:
        say(f"error: {error.message}", err=True)
        if error.column:
            text = expression if cypher is None else cypher
            say(caret(ExpressionError(error.message, text or "", error.column)), err=True)
        return ExitCode.BAD_INPUT


def _expression(text: str, options: dict[str, Any]) -> int:
    parsed = parse(text)
    if options["context"] is None:
        raise UsageError("an expression needs --context: a JSON file, or a run's id")
    context, evaluation = read_context(
        options["context"], options["condition"], options["after_turn"]
    )
    names = scope(context, evaluation)
    value = evaluate(parsed, names)
    _print_value(value)
    if value is True:
        return ExitCode.OK
    _say_why(explain(parsed, names))
    return ExitCode.BELOW


def _say_why(parts: Sequence[Part]) -> None:
    """Print on stderr what each condition compared; stdout has only the value."""
    for part in parts:
        if len(parts) > 1 or part.sides:
            say(f"{_shown(part.value)}: {clean_line(part.text, 200)}", err=True)
        for text, value in part.sides:
            say(f"  {clean_line(text, 200)} is {_shown(value)}", err=True)


def _print_value(value: object) -> None:
    print_json(json.loads(compact_json(value), parse_constant=str))  # JSON has no NaN


def _shown(value: object) -> str:
    return shorten(clean_line(compact_json(value), 2_000), 300)


def _cypher(query: str, options: dict[str, Any]) -> int:
    expected: Any = None
    if options["expected"] is not None:
        try:
            expected = json.loads(options["expected"])
        except ValueError:
            expected = options["expected"]
    value, passed = ask_graph(query, expected, options["graph"])
    _print_value(value)
    if options["expected"] is None or passed:
        return ExitCode.OK
    say(f"  the query returned {_shown(value)}, expected {_shown(expected)}", err=True)
    return ExitCode.BELOW


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
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
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
        usual = Answers(offline=offline)
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
    return cases.resolve().parent == job.resolve().parent


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


def read_context(
    source: str, condition: Condition, after_turn: int | None
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return `(objectContext, evaluation)` of a JSON file or of a recording's conversation.

    Raises:
        InputError, UsageError: the source cannot be found or read.
    """
    path = Path(source)
    if path.is_file() and path.suffix != ".jsonl":
        return _read_json(path)
    recording = (
        path if path.is_file() else Catalogue(Settings.from_environment().runs_dir).find(source)
    )
    state, started, _ = started_run(recording)
    talk = state.conversation(condition)
    if talk is None:
        held = listed(state.conditions)
        raise UsageError(
            f"the recording has no conversation of the condition {condition!r}; it has {held}"
        )
    return _read_conversation(started, talk, after_turn)


def ask_graph(query: str, expected: Any, graph: str | None) -> tuple[Any, bool]:
    """Return the first value of a query's only row, and whether it equals `expected`."""
    settings = Settings.from_environment()
    if graph is not None:
        require_name(graph)
    choice = graph or ("neo4j" if settings.neo_uri_is_set or settings.neo_password else "embedded")
    return asyncio.run(_query(query, expected, EngineSpec(runs=(), graph=choice), settings))


async def _query(
    query: str, expected: Any, spec: EngineSpec, settings: Settings
) -> tuple[Any, bool]:
    graph, why_not = await open_graph(spec, settings, settings.agent_url)
    if graph is None:
        raise NotMeasuredError(why_not)
    try:
        result = await graph.query(query)
    finally:
        await graph.aclose()
    if len(result.rows) != 1 or not result.rows[0]:
        raise InputError(
            f"the query returned {len(result.rows)} rows; an assertion needs exactly one"
        )
    value = result.rows[0][0]
    return value, compare(value, expected)[0]


def _read_json(path: Path) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not readable as JSON: {error}") from None
    if not isinstance(data, dict) or not {"objectContext", "evaluation"} & data.keys():
        raise InputError(f'{path}: must be an object {{"objectContext": …, "evaluation": …}}')
    return data.get("objectContext"), data.get("evaluation") or {}


def _read_conversation(
    started: RunStarted, talk: ConversationState, after_turn: int | None
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    last = max((seen.after_turn for seen in talk.observations), default=0)
    turn = last if after_turn is None else after_turn
    seen = next((seen for seen in reversed(talk.observations) if seen.after_turn == turn), None)
    if seen is None:
        raise UsageError(f"there is no state after turn {turn}; the last turn is {last}")
    job = recorded_job(started, started.run_id, talk.case)
    transcript = recorded_transcript(job, talk, started.model, after_turn)
    return seen.object_context, transcript.as_evaluation()

"""`assert`: try an assertion on a saved state, a recorded run or the graph."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bioeval_tui.base.errors import (
    ExitCode,
    ExpressionError,
    InputError,
    NotMeasuredError,
    QueryError,
    UsageError,
)
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.terminal import print_json, say
from bioeval_tui.base.text import clean_line, compact_json, json_problem, listed, shorten
from bioeval_tui.evaluation.assertions import compare, only_value
from bioeval_tui.evaluation.engine.interface import EngineSpec
from bioeval_tui.evaluation.wiring.graphs import open_graph, require_name
from bioeval_tui.expressions import caret, evaluate, explain, parse, scope
from bioeval_tui.jobs.loading import recorded_job
from bioeval_tui.peers.transcript import recorded_transcript
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.record.condition_names import PUBLISHED_NAMES, Condition
from bioeval_tui.record.events import RunStarted
from bioeval_tui.record.reading import started_run
from bioeval_tui.record.state import ConversationState

if TYPE_CHECKING:
    from bioeval_tui.expressions import Part

_NO_OPTION = re.compile(r"-(?!-?[a-z][a-z-]*(?:=|$)|$)")


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
        except (ValueError, RecursionError):
            expected = options["expected"]
    value, passed = ask_graph(query, expected, options["graph"])
    _print_value(value)
    if options["expected"] is None or passed:
        return ExitCode.OK
    say(f"  the query returned {_shown(value)}, expected {_shown(expected)}", err=True)
    return ExitCode.BELOW


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
    value = only_value(result)
    return value, compare(value, expected)[0]


def _read_json(path: Path) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    try:
        data = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {json_problem(error)}") from None
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
    transcript = recorded_transcript(job, talk, started.model, after_turn, with_states=True)
    return seen.object_context, transcript.as_evaluation()

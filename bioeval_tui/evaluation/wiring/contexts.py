"""States to try an assertion on: a JSON file, a recording after some turn, or the configured graph."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from bioeval_tui.errors import InputError, NotMeasuredError, UsageError
from bioeval_tui.evaluation.assertions.checker import compare
from bioeval_tui.evaluation.conversation.transcript import SpokenTranscript, recorded_signoff, sent_messages
from bioeval_tui.evaluation.engine.spec import EngineSpec
from bioeval_tui.evaluation.job.loading import recorded_job
from bioeval_tui.evaluation.wiring.graphs import open_graph, require_name
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.record.events import RunStarted
from bioeval_tui.record.names import Condition
from bioeval_tui.record.outline import started_run
from bioeval_tui.record.state import ConversationState
from bioeval_tui.settings import Settings


def read_context(
    source: str, condition: Condition, after_turn: int | None
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return `(objectContext, evaluation)` of a JSON file or of a recording's conversation.

    Raises:
        InputError, UsageError: the source cannot be found or read.
    """
    path = Path(source)
    if path.is_file() and path.suffix != ".jsonl":
        return _from_json(path)
    recording = path if path.is_file() else Catalogue(Settings.from_environment().runs_dir).find(source)
    state, started = started_run(recording)
    talk = state.conversation(condition)
    if talk is None:
        raise UsageError(f"the recording has no conversation with facts {condition}")
    return _from_conversation(started, talk, after_turn)


def ask_graph(query: str, expected: Any, graph: str | None) -> tuple[Any, bool]:
    """Return the first value of a query's only row, and whether it equals `expected`."""
    settings = Settings.from_environment()
    if graph is not None:
        require_name(graph)
    choice = graph or ("neo4j" if settings.neo_uri_is_set or settings.neo_password else "embedded")
    return asyncio.run(_ask(query, expected, EngineSpec(runs=(), graph=choice), settings))


async def _ask(query: str, expected: Any, spec: EngineSpec, settings: Settings) -> tuple[Any, bool]:
    graph, why_not = await open_graph(spec, settings, settings.agent_url)
    if graph is None:
        raise NotMeasuredError(why_not)
    try:
        result = await graph.query(query)
    finally:
        await graph.aclose()
    if len(result.rows) != 1 or not result.rows[0]:
        raise InputError(f"the query returned {len(result.rows)} rows; an assertion needs exactly one")
    value = result.rows[0][0]
    return value, compare(value, expected)[0]


def _from_json(path: Path) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not readable as JSON: {error}") from None
    if not isinstance(data, dict) or not {"objectContext", "evaluation"} & data.keys():
        raise InputError(f'{path}: must be an object {{"objectContext": …, "evaluation": …}}')
    return data.get("objectContext"), data.get("evaluation") or {}


def _from_conversation(
    started: RunStarted, talk: ConversationState, after_turn: int | None
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    last = max((seen.after_turn for seen in talk.observations), default=0)
    turn = last if after_turn is None else after_turn
    seen = next((seen for seen in reversed(talk.observations) if seen.after_turn == turn), None)
    if seen is None:
        raise UsageError(f"there is no state after turn {turn}; the last turn is {last}")
    transcript = SpokenTranscript(
        recorded_job(started, started.run_id, talk.case), talk.key.condition, talk.key.trial, started.model
    )
    transcript.session_id = talk.session_id or ""
    transcript.failures = talk.failures
    transcript.done = after_turn is None and talk.ended is not None and talk.ended.reason == "signed_off"
    turns = {m.message: m.turn for m in talk.messages}
    sent = sent_messages(talk, transcript.job.evaluator.signoff)
    transcript.messages = [message for message in sent if turns[message.message] <= turn]
    if transcript.done:
        transcript.signoff = recorded_signoff(talk)
    return seen.object_context, transcript.as_evaluation()

"""Observation of the agent after a turn: its object context, its graph, and the assertions."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from bioeval_tui.base.errors import QueryError
from bioeval_tui.base.peer_limits import MAX_EVENT_TEXT, MAX_STATE
from bioeval_tui.base.text import (
    clean_line,
    clean_value,
    compact_json,
    excess_of,
    is_large,
    plural,
    shorten,
)
from bioeval_tui.evaluation.assertions import holds_on_nothing
from bioeval_tui.evaluation.conversation.attempts import recorded_attempts
from bioeval_tui.evaluation.conversation.plan import ConversationEmitter, Parts, RunLimits
from bioeval_tui.jobs.models import (
    Assertion,
    CypherAssertion,
    EvaluationJob,
    ExpressionAssertion,
    MedalAssertion,
)
from bioeval_tui.peers.seams import (
    Agent,
    AssertionView,
    CheckResult,
    GraphSnapshot,
    PeerError,
    RecordSnapshot,
)
from bioeval_tui.peers.transcript import SpokenTranscript
from bioeval_tui.record import events

OBJECT_CONTEXT = "object context"
GRAPH = "graph"
RECORDS = "patients' records"
MIN_SESSION = 8
"""Minimum number of characters of a session id that is looked for in a state; shorter ones may
occur by chance.
"""
MOST_PLACES = 3
"""Maximum number of differences between two states that are listed."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The state at one moment; `error` says what could not be read.

    `unseen` is true if the object context was requested but not received (an agent without one is
    not `unseen`), and `refused` if that is the agent's doing: it answered with an error, or with
    something that is no object context. `digests` has one for each part that was seen (`object
    context`, `graph`, `patients' records`), to compare states. `session` is the conversation's id,
    which a state may contain.
    """

    object_context: dict[str, Any] | None
    graph: GraphSnapshot | None
    error: str | None
    unseen: bool = False
    digests: Mapping[str, str] = field(default_factory=dict)
    session: str = ""
    refused: bool = False
    records: RecordSnapshot | None = None


def what_differs(one: Observation, other: Observation) -> str:
    """Return how two observed starting states differ, and how to make them equal, as one message.

    Empty if everything observed in both is equal.
    """
    different = {
        name
        for name in one.digests
        if one.digests[name] != other.digests.get(name, one.digests[name])
    }
    differences = []
    if GRAPH in different:
        differences.append("the graph differs: a setup that clears it makes them the same")
    if RECORDS in different:
        differences.append(
            "the patients' records differ: setups that write and delete them make them the same"
        )
    if OBJECT_CONTEXT in different:
        left, right = (
            {
                name: [json.loads(item) for item in items]
                for name, items in _comparable_parts(start.object_context, start.session).items()
            }
            for start in (one, other)
        )
        places = list(_places(left, right, ""))
        where = ", ".join(places[:MOST_PLACES])
        if len(places) > MOST_PLACES:
            where += f" and {plural(len(places) - MOST_PLACES, 'more place')}"
        differences.append(
            f"the agent's object context differs at {where}: it must not contain values of one"
            " session, such as an id or a time, or data from an earlier session"
        )
    return "; ".join(differences)


def _places(one: Any, other: Any, where: str) -> Iterator[str]:
    """Yield where two values differ, as paths."""
    if isinstance(one, dict) and isinstance(other, dict):
        before = where and f"{where}."
        for key in {**one, **other}:
            yield from _places(one.get(key), other.get(key), f"{before}{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _places(left, right, f"{where}[{number}]")
    elif one != other and where:
        yield f"`{shorten(clean_line(where), 80)}`"
    elif one != other:
        yield "its whole"


class Observer:
    """Observes one conversation, without affecting the latency of this or any other conversation:
    large states are cleaned and checked in threads.
    """

    def __init__(
        self,
        agent: Agent,
        parts: Parts,
        emitter: ConversationEmitter,
        limits: RunLimits,
        job: EvaluationJob,
    ) -> None:
        self._agent = agent
        self._parts = parts
        self._emitter = emitter
        self._limits = limits
        self._record_queries = job.record_queries
        self._session = ""
        self._files_before: Mapping[str, str] = {}
        self._was_readable = False
        """Whether the agent's object context could be read before the greeting."""
        self._held: frozenset[int] = frozenset()
        """The assertions that passed before the greeting."""
        self.at_end: Observation | None = None
        """The object context that `final` read."""

    async def note_files(self) -> None:
        """Note the files that medal assertions name: those that are there already count only if
        they change.
        """
        if self._parts.files_before is not None:
            self._files_before = await self._parts.files_before()

    async def start(self, session_id: str = "") -> Observation:
        """Observe the starting state of the conversation; a failure may be retried.

        A session id in the state differs in every conversation, so it does not count as a
        difference.
        """
        self._session = session_id
        seen = await self._observe_timed(self._limits.final_check_s, 0, persistently=True)
        self._was_readable = seen.object_context is not None
        return seen

    async def after_turn(self, transcript: SpokenTranscript, turn: int) -> Observation:
        """Observe the state and check the timeline's assertions within one time budget; record
        those that took too long.
        """
        until = asyncio.get_running_loop().time() + self._limits.observe_s
        observation = await self._observe_timed(self._limits.observe_s, turn)
        transcript.note_state(observation.object_context)
        left = until - asyncio.get_running_loop().time()
        await self._check_all(transcript, observation, turn, final=False, within_s=left)
        return observation

    async def final(
        self, transcript: SpokenTranscript, turn: int, *, agent_gone: bool = False
    ) -> dict[int, CheckResult]:
        """Observe once more, with retries, and check every assertion; these results count.

        An unreadable state is the agent's fault if it was readable before the greeting, or with
        `agent_gone`: the assertions that need it fail. If the agent was started again with another
        graph meanwhile, Cypher is not measured.
        """
        seen = await self._observe_timed(
            self._limits.final_check_s, turn, persistently=not agent_gone
        )
        self.at_end = seen
        asked = any(
            isinstance(assertion, CypherAssertion) for _, assertion in _own_assertions(transcript)
        )
        other: str | None = ""
        if asked and self._parts.graph is not None:
            other = await self._parts.other_graph()
        within = self._limits.final_check_s
        return await self._check_all(
            transcript,
            seen,
            turn,
            final=True,
            within_s=within,
            agent_gone=agent_gone,
            other_graph=other,
        )

    def not_observed(self, transcript: SpokenTranscript, why: str) -> None:
        """Record every assertion as not measured: there was no conversation to check."""
        for index, assertion in _own_assertions(transcript):
            self._emit_check(index, assertion, CheckResult(None, error=why), 0, final=True)

    async def already_holding(self, transcript: SpokenTranscript, start: Observation) -> list[str]:
        """Note the assertions that pass before the first message; return the titles of those that
        are no invariants.
        """
        held = {}
        view = AssertionView(start.object_context, transcript.as_evaluation())
        for index, assertion in _own_assertions(transcript):
            if isinstance(assertion, MedalAssertion):
                continue  # no file that is there already counts
            if not _needs_what_is_unseen(assertion, start):
                result = await self._check(assertion, view, self._limits.final_check_s)
                if result.passed:
                    held[index] = assertion
        self._held = frozenset(held)
        return [one.title for one in held.values() if not holds_on_nothing(one)]

    async def _observe_timed(
        self, budget_s: float, turn: int, *, persistently: bool = False
    ) -> Observation:
        """Observe within a time budget, and record the result, or that nothing was observed."""
        began = time.monotonic()
        kept: dict[str, Any] | None = None
        try:
            async with asyncio.timeout(budget_s):
                observation, kept = await self._observe(persistently=persistently)
        except TimeoutError:
            observation = Observation(
                None, None, f"not observed within {budget_s:g} s", unseen=True
            )
        error = observation.error
        if error is None and observation.object_context is not None and kept is None:
            error = f"the object context is larger than {MAX_STATE:,} characters and is not kept"
        self._emitter.emit(
            events.StateObserved,
            after_turn=turn,
            object_context=kept,
            graph=asdict(observation.graph) if observation.graph else None,
            fhir=asdict(observation.records) if observation.records else None,
            digests=dict(observation.digests),
            elapsed_ms=(time.monotonic() - began) * 1000,
            error=error,
        )
        return observation

    async def _observe(self, *, persistently: bool) -> tuple[Observation, dict[str, Any] | None]:
        """Return the current observation, and the object context as far as it is recorded."""
        parts = await self._read_parts(persistently)
        observed, graph, record = parts
        for item in parts:
            if isinstance(item, BaseException) and not isinstance(item, PeerError | QueryError):
                raise item
        errors = [clean_line(str(item)) for item in parts if isinstance(item, BaseException)]
        context = observed if isinstance(observed, dict) else None
        snapshot = graph if isinstance(graph, GraphSnapshot) else None
        # The event loop, and every other conversation's clock, must not wait for a large state.
        if is_large(context):
            taken_in = await asyncio.to_thread(_clean_state, context, snapshot, self._session)
        else:
            taken_in = _clean_state(context, snapshot, self._session)
        cleaned, kept, digests, excess = taken_in
        records = record if isinstance(record, RecordSnapshot) else None
        if records is not None:
            digests[RECORDS] = records.digest
        if excess:
            errors.append(f"the agent's object context is JSON {excess}")
        unseen = isinstance(observed, BaseException) or bool(excess)
        refused = bool(excess) or (isinstance(observed, PeerError) and not _is_ours(observed))
        error = "; ".join(errors) or None
        seen = Observation(
            cleaned, snapshot, error, unseen, digests, self._session, refused, records
        )
        return seen, kept

    async def _read_parts(self, persistently: bool) -> tuple[object, object, object]:
        """Return the object context, the graph and the records; of each that could not be read, the
        error.
        """
        if self._parts.graph is None and self._parts.records is None:
            # Most jobs have neither, so that tasks after each answer would be made for nothing.
            try:
                return await self._context(persistently), None, None
            except (PeerError, QueryError) as error:
                return error, None, None
        observed, graph, record = await asyncio.gather(
            self._context(persistently), self._graph(), self._records(), return_exceptions=True
        )
        return observed, graph, record

    async def _context(self, persistently: bool) -> dict[str, Any] | None:
        if not persistently:
            return await self._agent.observe()
        async for attempt in recorded_attempts(
            self._emitter, self._limits, self._limits.agent_retries, counts=lambda error: False
        ):
            with attempt:
                return await self._agent.observe()
        raise AssertionError("the last attempt gives a state, or raises")

    async def _graph(self) -> GraphSnapshot | None:
        if self._parts.graph is None:
            return None
        return await self._parts.graph.snapshot()

    async def _records(self) -> RecordSnapshot | None:
        if self._parts.records is None or not self._record_queries:
            return None
        return await self._parts.records.snapshot(self._record_queries)

    async def _check_all(
        self,
        transcript: SpokenTranscript,
        seen: Observation,
        turn: int,
        *,
        final: bool,
        within_s: float,
        agent_gone: bool = False,
        other_graph: str | None = None,
    ) -> dict[int, CheckResult]:
        results: dict[int, CheckResult] = {}
        due = [
            (index, assertion)
            for index, assertion in _own_assertions(transcript)
            if final or (assertion.timeline and not isinstance(assertion, MedalAssertion))
        ]
        if not due:
            return results
        view = AssertionView(
            seen.object_context,
            transcript.as_evaluation(),
            transcript.untraced_turns,
            agent_gone,
            self._files_before,
        )
        unseen = CheckResult(None, error=seen.error)
        if agent_gone or (final and seen.refused and self._was_readable):
            unseen = CheckResult(False, error=seen.error)
        left = within_s
        until = asyncio.get_running_loop().time() + within_s
        for index, assertion in due:
            if _needs_what_is_unseen(assertion, seen):
                result = unseen
            elif other_graph and isinstance(assertion, CypherAssertion):
                result = CheckResult(None, error=other_graph)
            else:
                if not final:
                    left = until - asyncio.get_running_loop().time()
                result = await self._check(assertion, view, left)
            results[index] = result
            self._emit_check(index, assertion, result, turn, final=final)
        return results

    async def _check(
        self, assertion: Assertion, view: AssertionView, within_s: float
    ) -> CheckResult:
        if isinstance(assertion, MedalAssertion):
            return await self._parts.check(assertion, view)  # the grader has a limit of its own
        try:
            async with asyncio.timeout(within_s):
                return await self._parts.check(assertion, view)
        except TimeoutError:
            return CheckResult(None, error="not checked within the time that was left")

    def _emit_check(
        self, index: int, assertion: Assertion, result: CheckResult, turn: int, *, final: bool
    ) -> None:
        held = final and index in self._held
        fields = check_fields(index, assertion, result, turn, final=final, held_from_start=held)
        self._emitter.emit(events.AssertionChecked, **fields)
        if final and isinstance(assertion, MedalAssertion):
            report = dict(result.report) if result.report is not None else None
            self._emitter.emit(
                events.SubmissionGraded, assertion=index, report=report, error=result.error
            )


def check_fields(
    index: int,
    assertion: Assertion,
    result: CheckResult,
    turn: int,
    *,
    final: bool,
    held_from_start: bool,
) -> dict[str, Any]:
    """Return the fields of `AssertionChecked` for one outcome."""
    fields = {
        "index": index,
        "title": clean_line(assertion.title),
        "weight": assertion.weight,
        "after_turn": turn,
        "final": final,
        "from_start": held_from_start and bool(result.passed),
        "status": _STATUS[result.passed],
        "observed": _bounded_value(result.observed),
        "expected": _bounded_value(result.expected),
        "error": result.error,
        "warning": result.warning,
        "why": result.why,
    }
    if result.passed is None:
        fields["fault"] = result.fault
    return fields


_STATUS = {True: "passed", False: "failed", None: "not_measured"}


def _is_ours(error: PeerError) -> bool:
    """Return whether this program or machine kept a state from being read: no free sockets, or a
    queue of our requests.
    """
    return error.exhausted or error.crowded


def _needs_what_is_unseen(assertion: Assertion, seen: Observation) -> bool:
    """Return whether an expression needs an object context that could not be read."""
    return (
        seen.unseen
        and isinstance(assertion, ExpressionAssertion)
        and "objectContext" in assertion.expression
    )


def _clean_state(
    context: dict[str, Any] | None, graph: GraphSnapshot | None, session: str
) -> tuple[dict[str, Any] | None, dict[str, Any] | None, dict[str, str], str]:
    """Return the cleaned context, the context to record (None if too large), the digest of each
    observed part, and how the context exceeds what any JSON of a peer may be; it is left out then.
    """
    excess = excess_of(context)
    cleaned: dict[str, Any] | None = None
    if context is not None and not excess:
        cleaned = clean_value(context, MAX_EVENT_TEXT)
    digests: dict[str, str] = {}
    if cleaned is not None:
        digests[OBJECT_CONTEXT] = _hash(_comparable_parts(cleaned, session))
    if graph is not None and graph.digest:
        digests[GRAPH] = graph.digest
    kept = cleaned
    if cleaned is not None and len(compact_json(cleaned)) > MAX_STATE:
        kept = None
    return cleaned, kept, digests, excess


def _mask_session(text: str, session: str) -> str:
    if len(session) >= MIN_SESSION:
        return text.replace(session, "{sessionId}")
    return text


def _hash(parts: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _comparable_parts(context: dict[str, Any] | None, session: str) -> dict[str, list[str]]:
    """Return the parts of an object context that are compared, as canonical JSON."""
    parts: dict[str, list[str]] = {"resources": [], "functions": []}
    for name in parts:
        items = (context or {}).get(name)
        if isinstance(items, list):
            parts[name] = sorted(_mask_session(compact_json(item), session) for item in items)
    return parts


def _bounded_value(value: Any) -> Any:
    """Return a value in the form of an event: JSON-like, cleaned and not too long."""
    text = compact_json(clean_value(value, 2_000))
    if len(text) <= 10_000:
        return json.loads(text)
    return text[:10_000] + "…"


def _own_assertions(transcript: SpokenTranscript) -> Iterator[tuple[int, Assertion]]:
    """Yield the assertions of the conversation's condition, with their places in the job."""
    for index, assertion in enumerate(transcript.job.assertions):
        if assertion.applies(transcript.condition):
            yield index, assertion

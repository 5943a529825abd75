"""The versioned union of all run events. Everything in a run is emitted once, in order.

A recording is these events as JSON Lines. `read_event` never fails on a kind that it does not know:
a newer program's event is kept as `UnknownEvent` and shown as such. Times are UTC and aware; names
ending in `_ms` are milliseconds. Messages and turns count from 1; turn 0 is the state before the
greeting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache, partial
from itertools import chain
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from bioeval_tui.base.settings import DEFAULT_MODEL
from bioeval_tui.base.text import clean_line, compact_json, shorten
from bioeval_tui.base.units import number
from bioeval_tui.record.agent_span import AgentSpan
from bioeval_tui.record.cases import (
    MET_ABOVE,
    MOST_TRIALS,
    Case,
    JobCase,
    Trial,
    job_part,
    require_lists,
)
from bioeval_tui.record.condition_names import PUBLISHED_NAMES
from bioeval_tui.record.conditions import ConditionName, Conditions, job_conditions
from bioeval_tui.record.participants import SAMPLE_AGENT, Fault as Fault, Peer, Role
from bioeval_tui.record.persona_facts import PersonaFacts
from bioeval_tui.record.run_options import Kind, Option, kinds, tupled
from bioeval_tui.statistics.means import reaches

SCHEMA_VERSION = 2
"""Version 2 added the run's options and the authors of events; recordings of version 1 open
unchanged.
"""

EndReason = Literal[
    "signed_off",
    "max_turns",
    "agent_failed",
    "evaluator_failed",
    "timed_out",
    "cancelled",
    "unknown",
]
"""`unknown`: the imported file does not say why."""
RESULT_REASONS: frozenset[EndReason] = frozenset(
    {"signed_off", "max_turns", "agent_failed", "timed_out", "unknown"}
)
"""Ends after which a conversation counts as a result of the agent."""
EXCUSED: frozenset[Fault] = frozenset({"evaluator", "judge", "infrastructure"})
"""A gate allows for some of these if its threshold is met even where they count 0: what an agent
says may make a user or judge fail.
"""
RunStatus = Literal["completed", "cancelled", "failed"]
CANCELLED_AT_START = "cancelled before it started"
"""Why a run has no result if a person stopped it while its parts were prepared."""
CheckStatus = Literal["passed", "failed", "not_measured"]
KeptBy = Literal["user", "turns", "agent"]
PartName = Literal["timing", "task", "assertion"]
"""The parts of the composite score."""
IntentKind = Literal["pause", "resume", "step", "take_over", "say", "give_back", "cancel"]
"""What an operator may ask of a run."""
ReviewAction = Literal["accept", "override", "fault", "note", "undo"]
Mark = Literal["valid", "invalid", "suspicious"]
LARGEST = 1e15
Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
"""A number in a recording.

Larger or infinite numbers, which only foreign files have, are rejected, because reports sum them.
"""


Share = Annotated[float, Field(ge=0, le=1)]
"""A score, or a part of one.

Another number, which only a file that somebody changed has, would meet any threshold.
"""
LONGEST_CHATBOT = 40
"""The most characters of a chatbot's name."""
MOST_MESSAGES = 1_000_000
Place = Annotated[int, Field(ge=0, le=MOST_MESSAGES)]
"""The number of a message, turn, attempt, task or assertion.

Views iterate up to it, so larger numbers are rejected.
"""
MAX_TOKENS = int(LARGEST)
Tokens = Annotated[int, Field(ge=0, le=MAX_TOKENS)]


class EventBase(BaseModel):
    """The fields of every event."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        allow_inf_nan=False,
        defer_build=True,  # a program that only starts needs none, or few
    )

    run_id: str
    seq: Annotated[int, Field(ge=0, le=int(LARGEST))]
    at: datetime
    condition: ConditionName | None = None
    trial: Trial | None = None
    attempt: Place | None = None
    author: str | None = None
    """Who wrote an event of an overlay: a reviewer, or a command that judged again.

    None in recordings.
    """


def place_of(event: EventBase) -> dict[str, Any]:
    """Return the fields that say where in which run an event is, for another one in its place."""
    return event.model_dump(include={"run_id", "seq", "at", "condition", "trial", "attempt"})


Texts = Annotated[list[str] | tuple[str, ...], Field(max_length=1000)]


class WhatCameOfOptions(TypedDict, total=False):
    """The keys of `RunStarted.options` that are no options: what they and the job came to."""

    job_file: str | None
    evaluator_host: str | None
    judge_host: str | None
    agent_function: str | None
    """The agent, if it is a Python object that only the calling program has."""


def _asked_options(options: dict[str, Any]) -> dict[str, Any]:
    try:
        _recorded_options().validate_python(
            {
                name: tupled(value) if isinstance(value, list) or _is_alone(name, value) else value
                for name, value in options.items()
            }
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"options.{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return options


def _is_alone(name: str, value: Any) -> bool:
    """Return whether a value is the only user of a recording from before there could be several."""
    return name == "evaluator_model" and isinstance(value, str)


@cache
def _recorded_options() -> TypeAdapter[Any]:
    """Return what checks the types of the recorded options; unknown keys of newer versions are left
    alone.
    """
    types: dict[str, Any] = get_type_hints(WhatCameOfOptions)
    for kind in kinds():
        if kind.option.recorded:
            types[kind.name] = checked_type(kind) | None
    keys = TypedDict("keys", types, total=False)  # type: ignore[misc]
    config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)
    keys.__pydantic_config__ = config  # type: ignore[attr-defined]  # where pydantic looks for it
    return TypeAdapter(keys)


def checked_type(kind: Kind) -> Any:
    """Return an option's type with its bounds, as pydantic checks them."""
    if kind.is_several:
        return Annotated[kind.type, Field(max_length=1000)]
    option = kind.option
    if option.pattern is not None:
        return Annotated[kind.type, AfterValidator(partial(_matching, option))]
    return Annotated[kind.type, Field(ge=option.least, gt=option.above, le=option.most)]


def _matching(option: Option, text: str) -> str:
    if re.fullmatch(option.pattern or "", text) is None:
        raise ValueError(f"must be {option.form}")
    return text


class ImportedFrom(BaseModel):
    """The imported file of a run. `record` has its data about the whole that no other field has."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    format: str
    file: str
    sha256: str
    licence: str = "unknown"
    origin: str = "unknown"
    times: Literal["told", "unknown"] = "unknown"
    """Whether the times of the conversations come from the file; otherwise every event has the time
    of the import.
    """
    record: dict[str, Any] | None = None


def _checked_job(job: dict[str, Any]) -> dict[str, Any]:
    try:
        job_conditions(job)
    except (ValidationError, TypeError):
        raise ValueError("the job's conditions are no list of conditions") from None
    return require_lists(job)


class RunStarted(EventBase):
    """The first event: everything needed to understand, repeat or judge the run without any other
    file.
    """

    kind: Literal["run_started"] = "run_started"
    schema_version: int = SCHEMA_VERSION
    job_name: str
    job_path: str
    job: Annotated[dict[str, Any], AfterValidator(_checked_job)]
    job_sha256: str
    program_version: str
    agent: str
    evaluator: str
    judge: str
    graph: str | None = None
    fhir: str | None = None
    """The FHIR server of the job's setups and assertions."""
    rehearsal: bool = False
    hosts: tuple[str, ...] = ()
    prompts: dict[str, str] = Field(default_factory=dict)
    model: str | None = None
    agent_is_model: bool | None = None
    """Whether the agent is a model's endpoint, so that its tokens have a price; None in recordings
    from before it was recorded.
    """
    seed: int
    trials: Trial = 1
    conditions: Conditions = PUBLISHED_NAMES
    """The conditions of each trial, in this order: those of the job, or some of them."""
    concurrency: Trial = 1
    batch_id: str | None = None
    git_revision: str | None = None
    options: Annotated[dict[str, Any], AfterValidator(_asked_options)] = Field(default_factory=dict)
    """The run's options that are recorded, and what they came to (`WhatCameOfOptions`), without
    credentials.
    """
    source: ImportedFrom | None = None
    """The foreign file that the run was made of; None for one of this program's."""
    cases: Annotated[tuple[JobCase, ...], Field(max_length=MOST_TRIALS)] = ()
    """The cases of the trials, in order and then again from the first; empty if the job has none.
    """

    @property
    def asked_model(self) -> str | None:
        """The model that the agent is, or that somebody named for it; None where only the agent
        knows.

        Older recordings also hold the usual model where nobody named one.
        """
        told = self.is_model or self.source is not None or self._target.get("model")
        if told or self.model != DEFAULT_MODEL:
            return self.model
        return None

    @property
    def is_model(self) -> bool:
        """Whether the agent is a model's endpoint, whose tokens have a price; older recordings tell
        by the protocol.
        """
        recorded = self.agent_is_model
        if recorded is None:
            return self._target.get("protocol") == "openai"
        return recorded

    @property
    def _target(self) -> dict[str, Any]:
        return job_part(self.job, "target")

    @property
    def identity(self) -> dict[str, str]:
        """Who was to be tested by whom, and with what; empty where there is none."""
        return {
            "agent": self.agent,
            "agent's model": self.asked_model or "",
            "evaluator": self.evaluator,
            "judge": self.judge,
            "prompts": ", ".join(
                f"{name} {digest[:8]}" for name, digest in sorted(self.prompts.items())
            ),
            "graph": self.graph or "",
            "FHIR server": self.fhir or "",
            "program": self.program_version,
        }

    @property
    def chatbot(self) -> str:
        """Which of its server's agents was tested; empty in protocols that do not ask for one."""
        if self._target.get("protocol", "rest") == "rest":
            return clean_line(str(self._target.get("chatbot") or ""), LONGEST_CHATBOT)
        return ""

    @property
    def conversations(self) -> int:
        """How many conversations the run is to have."""
        return self.trials * len(self.conditions)

    @property
    def had_sample_agent(self) -> bool:
        """Whether the run started the sample agent."""
        # Recordings of version 1 have only the agent's name.
        return bool(self.options.get("sample_agent", self.agent == SAMPLE_AGENT))

    @property
    def judge_prompt(self) -> str:
        """The judge's prompt and its version, such as `eval/score 1a2b3c4d`; empty if no model
        judges.
        """
        name = job_part(self.job, "scorer").get("prompt", "")
        if name in self.prompts:
            return f"{name} {self.prompts[name][:8]}"
        return ""


class RunResumed(EventBase):
    """An interrupted run was resumed; unfinished conversations start again.

    It has only what is not as in `RunStarted`.
    """

    kind: Literal["run_resumed"] = "run_resumed"
    program_version: str
    trials: Trial | None = None
    """The new number of trials; None if unchanged."""
    cases: tuple[Place, ...] = ()
    """The index of the case of each additional trial, from 0."""


class SetupApplied(EventBase):
    """A setup ran before a condition, or failed: a statement of `cypher`, or the method and path of
    what was written to the FHIR server (`fhir`).
    """

    kind: Literal["setup_applied"] = "setup_applied"
    index: Place
    cypher: str = ""
    fhir: str | None = None
    elapsed_ms: Number
    error: str | None = None


class SeedApplied(EventBase):
    """A seed was sent to the agent, or could not be."""

    kind: Literal["seed_applied"] = "seed_applied"
    index: Place
    what: Literal["text", "conversation"]
    applied: bool
    detail: str = ""


AgentsGraph = Literal["same", "unknown"]
"""`unknown`: the agent does not say which graph it uses.

With another graph, no conversation is held.
"""


class ConversationStarted(EventBase):
    """A session with the agent exists and the greeting is drawn."""

    kind: Literal["conversation_started"] = "conversation_started"
    session_id: str
    greeting: str
    max_messages: Place
    case: Case | None = None
    agents_graph: AgentsGraph | None = None
    """Whether the agent says that it uses the knowledge graph of the run; None if the job does not
    query one.
    """
    agent_identity: str = ""
    """The name and version that the agent gave itself, such as in its A2A card; empty if it gave
    none.
    """
    persona_facts: PersonaFacts | None = None
    """Which facts the user's persona holds back or gets wrong; None if it tells them as they are.
    """
    record: dict[str, Any] | None = None
    """Data of an imported file about the conversation that no other field has."""


class MessageStarted(EventBase):
    """One side starts to answer: the evaluator is working, or the agent was sent a message.

    `traceparent` (W3C Trace Context) was sent to the agent, to join its spans; None if no spans are
    received.
    """

    kind: Literal["message_started"] = "message_started"
    message: Place
    turn: Place
    role: Role
    speaker: str
    traceparent: Annotated[str, Field(pattern=r"^00-[0-9a-f]{32}-[0-9a-f]{16}-01$")] | None = None


class MessageDelta(EventBase):
    """Text and generation events that arrived since the last delta."""

    kind: Literal["message_delta"] = "message_delta"
    message: Place
    text: str = ""
    generation: tuple[dict[str, Any], ...] = ()


class MessageCompleted(EventBase):
    """A complete message.

    `latency_ms` covers only the successful attempt; `waited_ms` the failed attempts and waits.

    Whose it is stands here and in `MessageStarted`: each line of a recording is read by itself, and
    imports have no start. `thought_ms` is how long the evaluator took over a user message.
    `cut_off`: the agent's model ended its answer at its length limit. `blocked_ms` is set if this
    program was suspended for so long of the latency that it does not count: then `latency_ms` is
    None.
    """

    kind: Literal["message_completed"] = "message_completed"
    message: Place
    turn: Place
    role: Role
    speaker: str
    content: str
    latency_ms: Number | None = None
    blocked_ms: Number | None = None
    waited_ms: Number = 0.0
    thought_ms: Number | None = None
    first_token_ms: Number | None = None
    tokens_in: Tokens | None = None
    tokens_out: Tokens | None = None
    generation: tuple[dict[str, Any], ...] = ()
    operator: bool = False
    signs_off: bool = False
    cut_off: bool = False
    session_id: str | None = None
    """The id of the session, if the agent gives it, or another one, with this answer."""
    record: dict[str, Any] | None = None
    """The message in the imported file, if the other fields lack parts of it."""


class SpansReceived(EventBase):
    """Spans of an answer's trace, received by OTLP.

    `late`: after the conversation was checked and judged.

    `doubled` are ids of spans that had come before; they are kept and counted once.
    """

    kind: Literal["spans_received"] = "spans_received"
    message: Place
    spans: tuple[AgentSpan, ...] = ()
    doubled: tuple[str, ...] = ()
    late: bool = False


class CallsTraced(EventBase):
    """Tool calls of an answer that only spans report, in the form of `MessageCompleted.generation`.

    Written once all spans have arrived or the wait has ended: assertions and the judge see these
    calls.
    """

    kind: Literal["calls_traced"] = "calls_traced"
    message: Place
    generation: tuple[dict[str, Any], ...]


class RequestFailed(EventBase):
    """One attempt failed.

    `counted`: it counts as the agent's failure. `wait_ms`: the wait after it.

    `received` is the beginning of what arrived instead of an answer; `unreachable`: there was no
    connection; `crowded`: a timeout while this program had other requests under way at the same
    host.
    """

    kind: Literal["request_failed"] = "request_failed"
    peer: Peer
    request_attempt: Place
    error: str
    received: str | None = None
    status: int | None = None
    wait_ms: Number | None = None
    counted: bool = False
    unreachable: bool = False
    crowded: bool = False
    message: Place | None = None


class AnswersUnused(EventBase):
    """Answers of models that a server may charge for, although they were not used: void, cut off,
    malformed, late.

    `tokens_in` and `tokens_out` are sums; `uncounted` of the answers have no token count. `message`
    was to be answered.
    """

    kind: Literal["answers_unused"] = "answers_unused"
    peer: Peer
    answers: Place
    uncounted: Place = 0
    tokens_in: Tokens | None = None
    tokens_out: Tokens | None = None
    message: Place | None = None


class ModelServed(EventBase):
    """The first answer of a peer's model in the run that names `served` as its model, where `asked`
    was asked for.
    """

    kind: Literal["model_served"] = "model_served"
    peer: Peer
    asked: str
    served: str


class StateObserved(EventBase):
    """The agent's observable state after a turn; `graph` counts nodes by label and relationships by
    type, `fhir` the resources of the patients' records by type.

    `digests` distinguish two states by part, even if the object context is too large to
    be kept. Older recordings have one `digest` of all parts together.
    """

    kind: Literal["state_observed"] = "state_observed"
    after_turn: Place
    object_context: dict[str, Any] | None = None
    graph: dict[str, Any] | None = None
    fhir: dict[str, Any] | None = None
    digest: str | None = None
    digests: dict[str, str] = Field(default_factory=dict)
    elapsed_ms: Number = 0.0
    error: str | None = None


class AssertionChecked(EventBase):
    """One assertion, after a turn or at the end (`final`). `index` counts from 0 in the job's list.

    `why` has the values that the condition compared, or the query's result.
    """

    kind: Literal["assertion_checked"] = "assertion_checked"
    index: Place
    title: str
    weight: Number
    after_turn: Place
    final: bool = False
    from_start: bool = False
    """Whether it passed before the greeting already, so that the agent had to do nothing for it."""
    status: CheckStatus
    observed: Any = None
    expected: Any = None
    error: str | None = None
    warning: str | None = None
    why: str | None = None
    """What was observed instead, if it failed."""
    fault: Fault = "infrastructure"
    """Who is to blame if it was not measured; `none` if nothing failed, such as for calls that the
    agent does not report.
    """

    @property
    def reason(self) -> str:
        """Why it failed or was not measured, as a sentence; empty if it passed."""
        return self.error or self.why or ""


class FactDisclosed(EventBase):
    """The evaluator's message disclosed a fact."""

    kind: Literal["fact_disclosed"] = "fact_disclosed"
    fact: Place
    """Its number in the job, from 1."""
    text: str
    message: Place
    turn: Place
    asked: bool | None = None
    """Whether the agent had asked for it; null if it asks in a language that is not read."""

    @property
    def asked_words(self) -> str:
        """What is said after the fact's number: `, asked`; empty if it is not known."""
        return {True: ", asked", False: ", not asked", None: ""}[self.asked]


ROLE_RULES = ("leak", "out_of_role", "role_swap")
"""The kinds of faults with which a simulated user leaves its role."""


class UserFault(BaseModel):
    """What a simulated user did wrong, in a message that was sent or was to be sent.

    `kind` is a guard's rule or one of the judge's kinds.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)
    kind: str
    message: Place
    quote: str
    """The user's words that show it."""
    found_by: str = "check"
    """`check` for a guard, otherwise the judge's name."""
    reason: str = ""


class EvaluatorViolated(EventBase):
    """A guard found a violation in the simulated user's message.

    `quote` are the message's words that show it; empty if the whole message does. What a guard
    finds (`seams.Violation`) is for the evaluator, and other people's guards make it; this is what
    is kept of it.
    """

    kind: Literal["evaluator_violated"] = "evaluator_violated"
    rule: str
    detail: str
    message: Place
    content: str
    mended: bool = False
    """After `void`: whether the evaluator's second attempt was sent."""
    effect: Literal["mark", "void"] = "void"
    """`mark`: the message was sent anyway. `void`: it was not sent."""
    quote: str = ""

    @property
    def user_fault(self) -> UserFault:
        """The finding as a fault of the user, with the words that show it."""
        quote = self.quote or shorten(clean_line(self.content), 200)
        return UserFault(kind=self.rule, message=self.message, quote=quote, reason=self.detail)

    @property
    def outcome(self) -> str:
        """What happened to the message, as text."""
        if self.effect == "mark":
            return "marked"
        if self.mended:
            return "said again without it"
        return "not sent"


class OperatorActed(EventBase):
    """A person paused, stepped, took over, said something, gave back or cancelled."""

    kind: Literal["operator_acted"] = "operator_acted"
    action: str
    sender: str
    text: str = ""


class Warned(EventBase):
    """A warning about the result. `code` is stable, `message` one sentence."""

    kind: Literal["warned"] = "warned"
    code: str
    message: str


class Ending(BaseModel):
    """Why a conversation ended, and whose fault it was.

    `ways` says what you can do if no conversation took place, and `received` what came instead of
    an answer.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)
    kind: Literal["conversation_ended"] = "conversation_ended"
    reason: EndReason
    fault: Fault
    detail: str = ""
    ways: tuple[str, ...] = ()
    received: str = ""

    @property
    def advice(self) -> str:
        """What follows the detail on one line: what you can do, and what came instead of an
        answer.
        """
        more = [*self.ways, f"it sent: {self.received}"] if self.received else self.ways
        return "".join(f"; {each}" for each in more)

    @property
    def explained(self) -> str:
        """The detail and the advice on one line."""
        return f"{self.detail}{self.advice}"

    @property
    def how(self) -> EndReason | Literal["not_held"]:
        """The reason; `not_held` if something failed before or between the turns and nobody
        cancelled it.
        """
        if self.reason == "cancelled" and self.fault != "none":
            return "not_held"
        return self.reason


class ConversationEnded(Ending, EventBase):
    """A conversation ended so."""

    duration_ms: Number = 0.0


class EvidenceQuoted(BaseModel):
    """A quotation from the transcript."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    quote: str
    message: Place | None = None
    """The number of the quoted message; null if the passage is not in the transcript."""


class TaskScored(BaseModel):
    """One task's score in [0, 1].

    `points` count if the item of a rubric is met (a score above 0.5), and are below 0 for something
    undesired.
    """

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, defer_build=True)
    task: Place
    """Its number in the job, from 1."""
    title: str
    score: Share
    reason: str = ""
    evidence: tuple[EvidenceQuoted, ...] = ()
    only_of_user: bool = False
    """Whether the judge names only what the user said as evidence of what the agent did."""
    passed: bool = False
    spread: Number = 0.0
    """The largest score minus the smallest, if there are several verdicts."""
    points: Number | None = None
    """The points of an item of a rubric; null for a task."""
    tags: tuple[str, ...] = ()
    """The tags of an item of a rubric."""
    weight: Annotated[float, Field(gt=0, le=LARGEST)] = 1.0
    """Its weight in the mean of the tasks."""
    asked: Place | None = None
    """The number of the user's message that asks for the task, 0 if none does; null if that is
    unknown.
    """
    asked_words: str = ""
    """The words of that message."""
    kept_by: KeptBy | None = None
    """Why the user never asked for it: could have, and ended (`user`), the turns were used up, or
    the agent failed.
    """

    @property
    def measured(self) -> bool:
        """Whether the score says something about the agent: not if the user never asked and could
        have.
        """
        return self.kept_by != "user"

    @property
    def outcome(self) -> CheckStatus:
        """Whether the task was passed, failed, or says nothing about the agent."""
        if not self.measured:
            return "not_measured"
        if self.passed:
            return "passed"
        return "failed"

    @property
    def earned(self) -> float:
        """The points of a rubric item if it is met, otherwise 0; 0 for a task."""
        if self.score > MET_ABOVE:
            return self.points or 0.0
        return 0.0

    @property
    def words(self) -> str:
        """The score, such as `0.90`; for a rubric item, its points: `+5`, or `0 of +5`."""
        if not self.measured:
            return "unasked"
        if self.points is None:
            return number(self.score)
        if self.score > MET_ABOVE:
            return f"{self.points:+g}"
        return f"0 of {self.points:+g}"

    @property
    def fabricated(self) -> tuple[str, ...]:
        """The quotations that are not in the transcript."""
        return tuple(item.quote for item in self.evidence if item.message is None)

    @property
    def unproved(self) -> bool:
        """Whether the judge quoted words that are not in the transcript, or only the user's."""
        return self.only_of_user or any(item.message is None for item in self.evidence)


class TranscriptScored(EventBase):
    """The judge's verdict: the median per task over all `verdicts`.

    `error` if it could not be measured.
    """

    kind: Literal["transcript_scored"] = "transcript_scored"
    judge: str
    tone: Number | None = None
    tasks: tuple[TaskScored, ...] = ()
    verdicts: tuple[dict[str, Any], ...] = ()
    error: str | None = None
    tokens_in: Tokens | None = None
    tokens_out: Tokens | None = None
    prompts: dict[str, str] = Field(default_factory=dict)
    """Hashes of the prompts of a later judge, or of a resumed run's, if they differ from those of
    `RunStarted`.
    """
    user_faults: tuple[UserFault, ...] = ()
    """What the judge says that the simulated user did wrong, each with words of the user that are
    in the conversation.
    """
    user_faults_refused: Place = 0
    """How many more the judge listed, with words that are not there, or of no known kind."""
    question: str = ""
    """The SHA-256 of what the judge was asked (`cases.question_hash`); empty in older recordings
    and imported files.
    """
    judging: str = ""
    """The id of the judging of a later verdict; empty for a recorded one."""
    kept: Literal[True] | None = None
    """Set if it is an earlier verdict, because the judge would have been asked the same: only
    assertions were checked again.
    """
    by_given: bool = False
    """Whether that judging has a `CriteriaGiven`; else it is by the recorded criteria."""

    @property
    def unproved(self) -> int:
        """How many tasks' verdicts are unproved."""
        return sum(task.unproved for task in self.tasks)


class SubmissionGraded(EventBase):
    """A file that the agent left was graded for a medal assertion; `report` is a TaskReport's
    dict.
    """

    kind: Literal["submission_graded"] = "submission_graded"
    assertion: Place
    report: dict[str, Any] | None = None
    error: str | None = None


class ScorePart(BaseModel):
    """One part of the composite: `value` in [0, 1], or None with the `reason` when it could not be
    measured.
    """

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, defer_build=True)
    name: PartName
    weight: Annotated[float, Field(ge=0, le=LARGEST)]
    value: Share | None = None
    left_out: bool = False
    """The job does not have this part, so it has no weight."""
    reason: str = ""
    """Why it could not be measured; empty otherwise."""


class ConversationScored(EventBase):
    """The composite with its parts.

    `score` is None when a part could not be measured, with the reason.
    """

    kind: Literal["conversation_scored"] = "conversation_scored"
    score: Share | None = None
    parts: tuple[ScorePart, ...]
    penalty: Number
    failures: Place
    average_latency_ms: Number | None = None
    reason: str = ""
    fault: Fault = "none"
    cancelled: bool = False
    given: dict[str, Any] | None = None
    """The conversation's scores in an imported file, by name and unchanged."""


class RunEnded(EventBase):
    """The last event.

    `mean` is the published formula's, over both conditions; None if either score is missing.
    """

    kind: Literal["run_ended"] = "run_ended"
    status: RunStatus
    detail: str = ""
    scores: dict[str, Share | None] = Field(default_factory=dict)
    mean: Share | None = None
    clean: bool = True
    """Whether both conditions are known to have started from the same state."""
    compared: tuple[str, ...] = ()
    """What of the starting states was compared: the agent's `object context`, its `graph`, the
    `patients' records`.
    """
    trials: Trial | None = None
    """The number of trials if the run stopped early; None for the planned number."""

    @property
    def measured(self) -> bool:
        """Whether the run has its main score: the mean of both conditions, or the score of its only
        one.
        """
        return self.mean is not None or (len(self.scores) == 1 and None not in self.scores.values())


class CriteriaGiven(EventBase):
    """Transcripts are judged again by other criteria than the recorded ones; in overlays only.

    `judging` is the id that the verdicts have. Unlike in `RunStarted`, `job` has only the `tasks`
    and `rubric` of the job file `job_name`, and `cases` those of each case where they differ. If
    the assertions differ, `job` has them, too, and each verdict is followed by an
    `AssertionChecked` for each of them.
    """

    kind: Literal["criteria_given"] = "criteria_given"
    judging: str
    job_name: str
    job: Annotated[dict[str, Any], AfterValidator(require_lists)]
    cases: Annotated[tuple[JobCase, ...], Field(max_length=MOST_TRIALS)] = ()

    @property
    def has_assertions(self) -> bool:
        """Whether the assertions are other than the recorded ones, too."""
        return "assertions" in self.job

    @property
    def criteria(self) -> str:
        """A text by which the criteria of two judgings are told apart."""
        return compact_json([self.job, *(case.model_dump() for case in self.cases)])


class SentinelScored(BaseModel):
    """One task of a conversation with known verdicts as the judge scored it; `met` is what is
    right.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)
    sentinel: str
    task: Place
    met: bool
    score: float = Field(ge=0, le=1)
    invented: bool = False
    """Whether the judge quoted what nobody said."""


class SentinelsJudged(EventBase):
    """The judge was asked about conversations with known verdicts, before or after all others."""

    kind: Literal["sentinels_judged"] = "sentinels_judged"
    after: bool
    judge: str
    tasks: tuple[SentinelScored, ...]
    errors: tuple[str, ...] = ()
    """Why others have no score."""


Control = Literal["off_topic", "repeats", "empty"]
"""A conversation that deserves nothing: its agent answers nothing to the point, repeats the user,
or says nothing.
"""
CONTROLS: dict[Control, str] = {
    "off_topic": "an agent that answers nothing to the point",
    "repeats": "an agent that only repeats the user",
    "empty": "an agent that says nothing after the greeting",
}


class ControlJudged(BaseModel):
    """The judge's mean score of one control over the tasks of the exam, and the mark that it must
    not reach.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)
    control: Control
    in_condition: ConditionName
    """The condition whose criteria were asked about."""
    score: float | None = Field(default=None, ge=0, le=1)
    """None if the judge gave no usable verdict; `error` says why."""
    pass_mark: float = Field(ge=0, le=1)
    error: str = ""
    unusable: bool = False
    """Whether the judge answered, and gave no usable verdict."""

    @property
    def is_believed(self) -> bool:
        """Whether the score reaches the mark; nothing is believed with a score of 0."""
        return bool(self.score) and self.score is not None and reaches(self.score, self.pass_mark)


class JudgeExamined(EventBase):
    """The judge was asked about controls: conversations that deserve nothing, by the job's own
    criteria.

    `why_not` says why there was no exam, or why it was not finished. In overlays, `judging` is the
    id that its verdicts have.
    """

    kind: Literal["judge_examined"] = "judge_examined"
    judge: str
    """The judge as served."""
    controls: tuple[ControlJudged, ...] = ()
    left_out: tuple[Place, ...] = ()
    """The tasks that an agent meets by saying nothing, which are in no exam."""
    case: str = ""
    """The case whose criteria were asked about; empty in a job without cases."""
    remembered: bool = False
    """Whether the scores are those of an earlier run, of the same judge, prompt and criteria."""
    why_not: str = ""
    judging: str = ""

    @property
    def believed(self) -> ControlJudged | None:
        """The first control that the judge believes."""
        return next((each for each in self.controls if each.is_believed), None)

    @property
    def refusal(self) -> str:
        """Why the judge's verdicts do not count, as a sentence; empty if they do."""
        believed = self.believed
        if believed is None and self.controls and all(each.unusable for each in self.controls):
            return "the judge gives no usable verdict on any control, so its verdicts do not count"
        if believed is None:
            return ""
        who, mark = CONTROLS[believed.control], f"{believed.pass_mark:g}"
        return (
            f"the judge believes a control: it gives {number(believed.score)} to {who} "
            f"(pass mark {mark}), so its verdicts do not count"
        )


class Reviewed(EventBase):
    """A person's review of a judged task, a conversation's fault or a graded submission; in
    overlays only.

    `author` is the reviewer. `review` is this entry's id; an `undo` names the entry that it undoes.
    The values before the review are `before`, `fault_before` and `mark_before`, and those after it
    `after`, `fault` and `mark`. `task` counts from 1; `submission` is a graded submission's key;
    `judge` gave the score `before`.
    """

    kind: Literal["reviewed"] = "reviewed"
    review: str
    action: ReviewAction
    task: Place | None = None
    submission: str | None = None
    before: float | None = Field(default=None, ge=0, le=1)
    after: float | None = Field(default=None, ge=0, le=1)
    fault_before: Fault | None = None
    fault: Fault | None = None
    mark_before: Mark | None = None
    mark: Mark | None = None
    why: str = ""
    blind: bool = False
    """Whether the score was given before the judge's was seen."""
    judge: str | None = None
    judging: str = ""
    """The judging by whose `CriteriaGiven` the task was reviewed; empty for the recorded criteria.
    """
    undoes: str | None = None


class Drawn(BaseModel):
    """A task that was sampled for review, with its position in the order and its stratum."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    condition: ConditionName
    trial: Trial
    task: Place
    place: Place
    stratum: str = ""


class ReviewsDrawn(EventBase):
    """Judged tasks were sampled at random for review; in overlays only.

    Each run has its own part of the sample.

    `population` is the number of judged tasks of the run. `strata` says how the sample is
    stratified.
    """

    kind: Literal["reviews_drawn"] = "reviews_drawn"
    draw: str
    seed: int
    asked: Place
    strata: str = ""
    runs: tuple[str, ...]
    population: Place
    items: tuple[Drawn, ...]


def job_number(job: dict[str, Any], key: str, default: float) -> float:
    """Return a number of a recorded job, as a `Number`; the default where a foreign recording has
    none.
    """
    value = job.get(key)
    if isinstance(value, int | float) and abs(value) <= LARGEST:
        return float(value)
    return default


class UnknownEvent(EventBase):
    """An event of an unknown kind, kept unchanged."""

    kind: str
    data: dict[str, Any] = Field(default_factory=dict)


KnownEvent = Annotated[
    RunStarted
    | RunResumed
    | SetupApplied
    | SeedApplied
    | ConversationStarted
    | MessageStarted
    | MessageDelta
    | MessageCompleted
    | SpansReceived
    | CallsTraced
    | RequestFailed
    | AnswersUnused
    | ModelServed
    | StateObserved
    | AssertionChecked
    | FactDisclosed
    | EvaluatorViolated
    | OperatorActed
    | Warned
    | ConversationEnded
    | TranscriptScored
    | SubmissionGraded
    | ConversationScored
    | SentinelsJudged
    | JudgeExamined
    | RunEnded
    | CriteriaGiven
    | Reviewed
    | ReviewsDrawn,
    Field(discriminator="kind"),
]
RunEvent = KnownEvent | UnknownEvent

_KNOWN: TypeAdapter[Any] = TypeAdapter(KnownEvent, config=ConfigDict(defer_build=True))
_ANY_JSON: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])


_NOT_NOTED: set[str] = set()
"""Shared by all events that were read, and by what `with_fields` made of them."""


_PARTS: dict[type, Callable[[Any], Iterable[BaseModel]]] = {
    RunStarted: lambda started: started.cases,
    CriteriaGiven: lambda judging: judging.cases,
    ConversationScored: lambda scored: scored.parts,
    TranscriptScored: lambda verdict: chain(
        verdict.tasks, *(task.evidence for task in verdict.tasks)
    ),
}
"""The models within an event, where there are many."""


def _forget_what_was_set(*models: BaseModel) -> None:
    """Forget which fields were set, which pydantic notes in a set as large as the model itself.

    Nobody uses it, and a long recording is kept in memory.
    """
    for model in models:
        object.__setattr__(model, "__pydantic_fields_set__", _NOT_NOTED)


Model = TypeVar("Model", bound=BaseModel)


def with_fields(model: Model, **fields: Any) -> Model:
    """Return an event, or a part of one, with these fields in place of its own; as small in memory
    as one that was read.
    """
    copy = model.model_copy(update=fields)
    _forget_what_was_set(copy)
    return copy


def read_event(line: bytes | str) -> RunEvent:
    """Read one line of a recording.

    Raises:
        ValueError: the line is not JSON, or a known kind lacks a field.
    """
    try:
        event: RunEvent = _KNOWN.validate_json(line)
    except ValidationError as error:
        if not any(
            detail["type"] == "union_tag_invalid" for detail in error.errors(include_url=False)
        ):
            raise
    else:
        _forget_what_was_set(event)
        if (parts := _PARTS.get(type(event))) is not None:
            _forget_what_was_set(*parts(event))
        return event
    data = _ANY_JSON.validate_json(line)
    return UnknownEvent.model_validate({**data, "data": data})


def write_event(event: RunEvent) -> bytes:
    """Return the event as one line of JSON, including the newline.

    Unset fields (None) are left out.
    """
    if isinstance(event, UnknownEvent):
        return _ANY_JSON.dump_json(event.data) + b"\n"
    return (
        event.__pydantic_serializer__.to_json(event, exclude_none=True, exclude_defaults=False)
        + b"\n"
    )

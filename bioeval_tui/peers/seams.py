"""The four seams: Agent (made from AgentTerms), Evaluator, Judge and KnowledgeGraph, and the values
that cross them.

Read this first. The conversation is given one implementation of each; it never names one. A peer
that fails raises `PeerError`; the conversation decides whether to try again, and whose fault it
was.

Plug-ins make or get these values, so they stay as they are when a recording's events, which hold
them checked and cleaned, get more fields: `TranscriptMessage`, `TaskVerdict`, `Verdict`,
`Violation` and `CheckResult` are no events.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from bioeval_tui.base.errors import BioevalError, UnavailableError
from bioeval_tui.base.settings import Provider
from bioeval_tui.base.text import clean_line
from bioeval_tui.base.typed import as_type
from bioeval_tui.jobs.models import EvaluationJob, FhirWrite, ScorerConfig, TargetConfig
from bioeval_tui.peers.arrivals import MOST_S
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.participants import Peer, Role
from bioeval_tui.record.persona_facts import PersonaFacts

if TYPE_CHECKING:
    from bioeval_tui.record.events import Fault, UserFault


class PeerError(UnavailableError):
    """One attempt to talk to a peer failed.

    `retryable` is true if the same request may be sent again: it was never sent (a refused
    connection), or the answer was 408, 425, 429 or 5xx. One that may have been delivered (a
    timeout, a broken connection) is never sent again. `retry_after_s` is the peer's Retry-After, if
    any. `received` is what arrived instead of an answer, shortened and cleaned. `unusable` is true
    for a complete but unusable answer (a refusal, cut off, empty), which is not the network's
    fault. `unreachable` is true if no connection could be made at all. `exhausted` is true if this
    machine had no file descriptor or memory left for a connection. `again` tells the evaluator what
    to change if it is asked once more for an unusable message; empty if it should not be.
    `disagrees` is true if a model's endpoint does not have or understand what this program asks
    for, or if an answer was compressed on the way. `too_long` is true if a conversation does not
    fit the context of a model, or a message takes a pattern too long: the limit, and what the agent
    said. `over_content` is true if a provider's content filter or a model's refusal stopped the
    answer: it may be over what the agent said. `broken` is true of a connection that broke after
    the request was sent, without saying who broke it. `crowded` is true of a timeout during which
    this program had other requests under way at the same host.
    """

    def __init__(
        self,
        peer: Peer,
        message: str,
        *,
        retryable: bool = False,
        status: int | None = None,
        retry_after_s: float | None = None,
        received: str = "",
        unusable: bool = False,
        unreachable: bool = False,
        exhausted: bool = False,
        again: str = "",
        disagrees: bool = False,
        crowded: bool = False,
        broken: bool = False,
        too_long: bool = False,
        over_content: bool = False,
    ) -> None:
        super().__init__(message)
        self.peer = peer
        self.retryable = retryable
        self.status = status
        self.retry_after_s = retry_after_s
        self.received = received
        self.unusable = unusable
        self.unreachable = unreachable
        self.exhausted = exhausted
        self.again = again
        self.disagrees = disagrees
        self.crowded = crowded
        self.broken = broken
        self.too_long = too_long
        self.over_content = over_content

    @property
    def fault(self) -> Fault:
        """Whose fault it is that a peer other than the agent did not answer: its own if what it
        sent is unusable.

        Unclear if what the agent said may be why: otherwise an agent could choose which of its
        conversations count.
        """
        if self.too_long or self.over_content:
            return "unclear"
        if not self.unusable:
            return "infrastructure"
        if self.peer == "judge":
            return "judge"
        return "evaluator"


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a message as it streams in."""

    text: str


@dataclass(frozen=True, slots=True)
class Generation:
    """Something an agent did while answering: a function call, a result, a prompt, a request for
    knowledge.
    """

    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """An agent's complete answer, which `Agent.send` always yields last.

    `started` and `ended` are monotonic seconds: request sent and last byte read; `first_token` is
    when the first piece of text arrived, None when the answer was not streamed. `cut_off`: the
    model's length limit ended it. `session` is the id of the session, if only the answer tells it;
    `history` is the conversation as the answer repeats it.
    """

    content: str
    started: float
    ended: float
    first_token: float | None = None
    generation: Sequence[Mapping[str, Any]] = ()
    tokens_in: int | None = None
    tokens_out: int | None = None
    cut_off: bool = False
    session: str = ""
    history: Sequence[tuple[Role, str]] = ()

    @property
    def latency_ms(self) -> float:
        """Milliseconds from the request sent to the last byte of the answer; 0 where the clock was
        set meanwhile, so that it seems to have come before.
        """
        return max(0.0, self.ended - self.started) * 1000

    @property
    def is_early(self) -> bool:
        """Whether it came before its question, by more than a clock that was set can explain."""
        return self.ended < self.started - MOST_S


class Agent(Protocol):
    """The system under test, for one conversation."""

    async def open(self) -> str:
        """Create a session and return its id, which no other conversation has; empty if the agent
        gives it none yet.
        """
        ...

    def send(self, content: str) -> AsyncIterator[Delta | Generation | Reply]:
        """Send one user message; yield pieces as they arrive and, last, one `Reply`."""
        ...

    async def observe(self) -> dict[str, Any] | None:
        """Return the session's object context; None if the agent has none."""
        ...

    async def seed_text(self, text: str) -> None:
        """Send a text to the agent's knowledge service. Raises `PeerError` if it has none."""
        ...

    async def seed_history(self, role: Role, content: str) -> bool:
        """Record a message as history, without an answer; return False if the protocol cannot do
        that.
        """
        ...

    async def aclose(self) -> None:
        """Close every connection of this conversation."""
        ...


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    """One complete message.

    `message` counts from 1; `operator` is true if a person who took over typed it.

    `latency_ms` of a user message is how long the evaluator took.
    """

    message: int
    role: Role
    content: str
    latency_ms: float | None = None
    operator: bool = False
    generation: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class EvaluatorView:
    """Everything that an evaluator may know.

    `facts` is empty if they are withheld; criteria are never included.
    """

    job: EvaluationJob
    condition: Condition
    trial: int
    facts: tuple[str, ...]
    transcript: Sequence[TranscriptMessage]
    note: str = ""
    placebo: tuple[str, ...] = ()
    """In the condition placebo, what the user tells in the place of each fact; else empty."""
    held_back: frozenset[int] = frozenset()
    """The numbers (from 1) of the job's facts that the persona holds back at this point, for
    guards; they are not in `facts`.
    """
    persona_facts: PersonaFacts | None = None
    """What the persona does to the facts, for guards; their `job` has its facts as it says them."""
    readers: dict[Any, tuple[Any, int]] = field(default_factory=dict, compare=False, repr=False)
    """What guards know of the messages so far, and of how many; shared by the views that guards get
    of one conversation.
    """


@dataclass(frozen=True, slots=True)
class Utterance:
    """An evaluator's complete message, which `Evaluator.speak` always yields last."""

    content: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str | None = None
    facts: tuple[int, ...] = ()
    """Which facts of its view (from 1) the evaluator says it gave; the ledger finds others in the
    text.
    """
    no_other_facts: bool = False
    """Whether these are all of them, so that the ledger need not look for others."""
    cut: str = ""
    """Why this is only the beginning of what the model wrote: "repeats …", "was cut off …"; empty
    if it is all of it.
    """


class Evaluator(Protocol):
    """Plays the user: a model, a script, or a person."""

    identity: str

    def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
        """Yield pieces of the next message and, last, one `Utterance`."""
        ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quotation from the transcript, by the judge or from a message that it named.

    `message` is the number of its message, or None if the words are not there.
    """

    quote: str
    message: int | None = None


@dataclass(frozen=True, slots=True)
class TaskVerdict:
    """One task's score in [0, 1], with the judge's reason. `task` counts from 1.

    `asked` is the number of the user's message that asks for the task, 0 if none does; None if the
    judge does not say.
    """

    task: int
    score: float
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    asked: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judge's verdict on one transcript.

    Tone is in [0, 1] or None, and never part of the score.
    """

    judge: str
    tasks: tuple[TaskVerdict, ...]
    tone: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    error: str = ""
    """Why a member of a panel gave no verdict; then `tasks` is empty, and the others count."""
    note: str = ""
    """What was left out of the judge's answer, as a sentence for the user."""
    shortened: str = ""
    """What of the conversation the judge was not shown, because it is too long, as a sentence for
    the user.
    """


@dataclass(frozen=True, slots=True)
class JudgeView:
    """Everything that a judge may know: the job with its facts and criteria, the finished
    transcript, and the agent's events.

    As `scorer.context` allows: messages have their `generation` unless that is `none`; the object
    contexts before the greeting and after the last message are there only with `all`. Made by
    `conversation.transcript.judge_view`.
    """

    job: EvaluationJob
    condition: Condition
    transcript: Sequence[TranscriptMessage]
    state_before: Mapping[str, Any] | None = None
    state_after: Mapping[str, Any] | None = None
    persona_facts: PersonaFacts | None = None
    """What the user's persona did to the facts; None if it told them as they are."""


@dataclass(frozen=True, slots=True)
class ListedFaults:
    """What a judge says that the simulated user did wrong, and how many entries were refused: no
    such words, or no such kind.
    """

    faults: tuple[UserFault, ...] = ()
    refused: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None


class Judge(Protocol):
    """Scores a finished transcript. Raises `NotMeasuredError` if it cannot.

    It may also have `async def user_faults(self, view: JudgeView) -> ListedFaults`, which
    `scorer.userFaults` asks for.
    """

    identity: str

    async def score(self, view: JudgeView) -> Sequence[Verdict]:
        """Return one verdict per judge and repeat; the caller takes the median per task."""
        ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Rows:
    """A query's result: column names and rows of JSON-like values."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class GraphSnapshot:
    """Counts of a graph's content, and a digest that differs if the content does."""

    labels: Mapping[str, int] = field(default_factory=dict)
    relationships: Mapping[str, int] = field(default_factory=dict)
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Violation:
    """A guard's finding about an evaluator's message. `note` tells the evaluator what to change.

    A `void` message is not sent, and the evaluator tries again. A marked one is sent unchanged.
    `quote` are the words that show it; empty if the whole message does.
    """

    rule: str
    detail: str
    note: str
    effect: Literal["mark", "void"] = "void"
    quote: str = ""


@dataclass(frozen=True, slots=True)
class AssertionView:
    """The variables of an assertion: the agent's object context, and the evaluation so far."""

    object_context: Mapping[str, Any] | None
    evaluation: Mapping[str, Any]
    untraced_turns: tuple[int, ...] = ()
    """Turns (the user's first message is 1) with missing spans, so that tool calls may be missing.
    """
    agent_failed: bool = False
    """Whether the agent's failure ended the conversation, so that the calls of its last turn are
    unknown.
    """
    files_before: Mapping[str, str] = field(default_factory=dict)
    """The state of each file that a medal assertion names, before the conversation: it counts only
    if it has changed.
    """


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One assertion's outcome. `passed` is None if it could not be measured; `error` says why.

    `fault` is then who is to blame: `none` if nothing failed, such as for calls that the agent does
    not report, and `infrastructure` only if the agent cannot have caused it.
    """

    passed: bool | None
    observed: Any = None
    expected: Any = None
    error: str | None = None
    warning: str | None = None
    why: str | None = None
    """What was observed, as a sentence, if the assertion failed."""
    report: Mapping[str, Any] | None = None
    """A TaskReport's dict, for medal assertions."""
    fault: Fault = "unclear"


class KnowledgeGraph(Protocol):
    """A property graph that is queried with Cypher.

    Both methods raise `QueryError` when the query is wrong, refused or not supported, and
    `PeerError` (peer `graph`) when the graph is unreachable or too slow.
    """

    identity: str

    async def query(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, timeout_s: float = 10.0
    ) -> Rows:
        """Run one read-only query."""
        ...

    async def execute(self, cypher: str, *, timeout_s: float = 30.0) -> None:
        """Run one setup query, which may write."""
        ...

    async def snapshot(self) -> GraphSnapshot:
        """Return a summary of the content, to check whether a run starts clean."""
        ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Found:
    """What a FHIRPath found in what a query returned: JSON-like values, and what the server noted
    about its answer.
    """

    values: tuple[Any, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class RecordSnapshot:
    """How many resources of each type a patient's record has, and a digest that differs if their
    content does.
    """

    resources: Mapping[str, int] = field(default_factory=dict)
    digest: str = ""


class PatientRecords(Protocol):
    """Patients' records on a FHIR server.

    All methods raise `QueryError` when a query, path or setup is wrong, refused or asks for too
    much (`InvalidQueryError` if it is wrong whatever the server has), and `PeerError` (peer `fhir`)
    when the server is unreachable, too slow or does not answer as FHIR says.
    """

    identity: str

    async def examine(self, queries: Sequence[str]) -> tuple[str, ...]:
        """Find out whether the server can answer these queries; return what may not be meant, as
        sentences.
        """
        ...

    async def look_up(self, query: str, path: str, *, timeout_s: float = 10.0) -> Found:
        """Return what a path finds in what a query returns."""
        ...

    async def write(self, setup: FhirWrite, *, timeout_s: float = 30.0) -> None:
        """Run one setup."""
        ...

    async def snapshot(self, queries: Sequence[str]) -> RecordSnapshot:
        """Return a summary of the records that these queries are about, to check whether a run
        starts clean.
        """
        ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTerms:
    """How to call the agent under test. `key` belongs to the host of `url`, or is None.

    `headers` are the job's; `secrets` are those whose values came from the environment and that
    belong to that host, too. `may_call` returns whether another URL, named by the agent itself, may
    be called with them. `account`: `url` is the user's OPENAI_BASE_URL, so organisation and project
    are sent too.
    """

    target: TargetConfig
    url: str
    model: str
    named_model: str | None = None
    """The requested model; otherwise `model` is the default."""
    key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    may_call: Callable[[str], bool] = lambda url: False
    function: Callable[..., Any] | None = None
    """The agent itself, if a Python program passed it; it replaces `target.function`."""
    code: tuple[Path, ...] = ()
    """The folders of `--code`, from which the job's functions may be loaded in addition to
    installed packages.
    """
    python: Path | None = None
    """The interpreter that runs the function, if the job names another one than this."""
    knowledge_url: str = ""
    provider: Provider = "openai"
    account: bool = False
    drawn_by: str = ""
    """What random draws of the trial begin with: its seed and number, the same in all
    conditions.
    """
    refused: dict[str, set[str]] = field(default_factory=dict)
    """What the endpoint of each model does without, as the run's earlier conversations found out;
    shared by all of them.
    """

    @property
    def timeout_s(self) -> float | None:
        """Timeout for a complete answer, in seconds; None for the default."""
        if self.target.timeout_ms:
            return self.target.timeout_ms / 1000
        return None


def evaluator_job(job: EvaluationJob, facts: Sequence[str], condition: Condition) -> EvaluationJob:
    """Return the job as an evaluator may see it, with the given facts and no others, and the tasks
    of the condition.

    This is the only place that withholds facts.

    Acceptance criteria, rules, the rubric, assertions, setups, seeds, the judge's settings, the
    lines of a script, and the tools, instructions, headers and options of the agent, the names of
    the conditions and what personas do to facts could reveal withheld facts, so they are present
    but empty.
    """
    hidden = {
        "acceptance_criteria": "",
        "withheld_criteria": "",
        "rules": (),
        "only": None,
        "weight": 1.0,
    }
    tasks = tuple(task.model_copy(update=hidden) for task in job.tasks if task.applies(condition))
    return job.model_copy(
        update={
            "tasks": tasks,
            "facts": tuple(facts),
            "personas": tuple(
                persona.model_copy(update={"facts": None}) for persona in job.personas
            ),
            "evaluator": job.evaluator.model_copy(update={"lines": ()}),
            "rubric": (),
            "scorer": ScorerConfig(),
            "target": job.target.model_copy(
                update={
                    "tools": (),
                    "extra_body": {},
                    "stop": (),
                    "options": {},
                    "system_prompt": None,
                    "headers": {},
                }
            ),
            "assertions": (),
            "setups": (),
            "fhir": None,
            "seeds": (),
            "conditions": None,
            "controls": False,
            "placebo_facts": (),
        }
    )


AnyPeer = TypeVar("AnyPeer")
Around = Callable[[str], AbstractAsyncContextManager[None]]
"""Returns what is entered around a call of that name."""
_ALWAYS_CALLED: Mapping[Peer, tuple[str, ...]] = {
    "agent": ("open", "send", "observe", "aclose"),
    "evaluator": ("identity", "speak", "aclose"),
    "judge": ("identity", "score", "aclose"),
    "graph": ("identity", "query", "execute", "snapshot", "aclose"),
}
"""What a plug-in's must have; without, the first call would look like a bug in this program."""
_GIVEN: Mapping[str, Any] = {
    "open": str,
    "observe": Mapping[str, Any] | None,
    "score": Sequence[Verdict],
    "query": Rows,
    "snapshot": GraphSnapshot,
}
"""What a plug-in's calls give, of those that give something."""
STREAMS = ("send", "speak")
"""The calls that yield pieces; all others are awaited."""
_LAST: Mapping[str, type] = {"send": Reply, "speak": Utterance}
"""What each of them yields last."""


def wrap_plugin(peer: Peer, name: str, make: Callable[[], AnyPeer]) -> AnyPeer:
    """Return what a plug-in makes; what it raises, then and in each of its calls, becomes a
    `PeerError` with its name, and so does what it gives of another type than these seams say.
    """
    with _blaming(peer, name):
        made = make()
        lacking = [each for each in _ALWAYS_CALLED.get(peer, ()) if not hasattr(made, each)]
        if lacking:
            raise TypeError(f"a {type(made).__name__} has no `{'`, no `'.join(lacking)}`")
        if peer != "agent":
            as_type(str, made.identity, "`identity`")  # type: ignore[attr-defined]

    @asynccontextmanager
    async def around(call: str) -> AsyncIterator[None]:
        with _blaming(peer, name):
            yield

    return wrap(cast(AnyPeer, _Typed(made)), around)


class _Typed:
    """A plug-in's agent, evaluator, judge or graph, whose calls give what these seams say, or raise
    `TypeError`. What else it has stays as it is.
    """

    def __init__(self, peer: Any) -> None:
        self._peer = peer

    def __getattr__(self, name: str) -> Any:
        own = getattr(self._peer, name)

        async def stream(*given: Any) -> AsyncIterator[Any]:
            last = _LAST[name]
            pieces = own(*given)
            if not hasattr(pieces, "__aiter__"):
                if isinstance(pieces, Coroutine):
                    pieces.close()
                raise TypeError(f"`{name}` must be an async generator, which yields")
            async with aclosing(pieces):
                async for piece in pieces:
                    yield (typed := _typed_piece(name, piece))
                    if isinstance(typed, last):
                        return
            raise TypeError(f"`{name}` must yield a {last.__name__} last")

        async def call(*given: Any, **named: Any) -> Any:
            waited = own(*given, **named)
            if not isawaitable(waited):
                raise TypeError(f"`{name}` must be `async`")
            typed = as_type(_GIVEN[name], await waited, f"`{name}`")
            return _as_json(typed) if name == "observe" else typed

        if name in STREAMS:
            return stream
        return call if name in _GIVEN else own


def _typed_piece(call: str, piece: object) -> Any:
    kinds = (Delta, Generation, Reply) if call == "send" else (Delta, Utterance)
    kind = next((each for each in kinds if isinstance(piece, each)), None)
    if kind is None:
        names = " or ".join(each.__name__ for each in kinds)
        raise TypeError(f"`{call}` must yield a {names}, not a {type(piece).__name__}")
    typed = as_type(kind, piece, f"the {kind.__name__} of `{call}`")
    if isinstance(typed, Reply) and typed.is_early:
        raise TypeError(
            f"the Reply of `{call}` ended before it started: both are times of time.monotonic()"
        )
    match typed:
        case Generation():
            return replace(typed, data=_as_json(typed.data))
        case Reply():
            return replace(typed, generation=_as_json(typed.generation))
    return typed


def _as_json(value: Any) -> Any:
    """Return a value as JSON has it, such as the ISO form of a date, or raise `TypeError`."""
    try:
        return to_jsonable_python(value)
    except PydanticSerializationError as problem:
        raise TypeError(str(problem)) from None
    except ValueError:  # nested too deep, as whoever records it says
        return value


def is_cancelled() -> bool:
    """Return whether somebody cancels this task.

    Else a `CancelledError` is a failure of the code that was called, which must not take the
    conversation out of the results as one that an operator cancelled.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


@contextmanager
def _blaming(peer: Peer, name: str) -> Iterator[None]:
    """Convert what a plug-in raises, except this program's own errors, to a `PeerError` that names
    the plug-in.
    """
    try:
        yield
    except BioevalError:
        raise
    # A plug-in is other people's code and may raise anything. It may not end this program with an
    # exit code of its own, either: that of success would pass a gate.
    except (Exception, SystemExit, asyncio.CancelledError) as problem:
        if isinstance(problem, asyncio.CancelledError) and is_cancelled():
            raise
        refused = isinstance(problem, ConnectionRefusedError)
        why = clean_line(f"{type(problem).__name__}: {problem}", 300)
        message = f"the {peer} plug-in {clean_line(name, 100)} failed: {why}"
        raise PeerError(peer, message, retryable=refused, unreachable=refused) from problem


class Wrapped:
    """An agent, evaluator, judge or graph with something around each of its calls.

    What else it has stays as it is.

    Waiting there is in no latency: the agent's own clock starts when its request goes out.
    """

    def __init__(self, peer: Any, around: Around) -> None:
        self._peer = peer
        self._around = around

    def __getattr__(self, name: str) -> Any:
        own = getattr(self._peer, name)
        if name == "aclose" or not callable(own):
            return own

        async def stream(*given: Any) -> AsyncIterator[Any]:
            async with self._around(name), aclosing(own(*given)) as pieces:
                async for piece in pieces:
                    yield piece

        async def call(*given: Any, **named: Any) -> Any:
            async with self._around(name):
                return await own(*given, **named)

        if name in STREAMS:
            return stream
        return call

    async def graph_id(self) -> str:
        """Return the id that a graph's agent can report; empty if the plug-in does not tell one."""
        own = getattr(self._peer, "graph_id", None)
        if own is None:
            return ""
        async with self._around("graph_id"):
            return clean_line(str(await own()))


def wrap(peer: AnyPeer, around: Around) -> AnyPeer:
    """Return the peer with something around each of its calls, except `aclose`."""
    return cast(AnyPeer, Wrapped(peer, around))

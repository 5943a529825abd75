"""The plan of a run, the parts that it uses, and the emitter of its events."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

from bioeval_tui.evaluation.conversation.sessions import Sessions
from bioeval_tui.evaluation.conversation.standstill import Watchdog
from bioeval_tui.jobs.models import Assertion, EvaluationJob
from bioeval_tui.peers.persona_facts import draw_persona_facts
from bioeval_tui.peers.retry import AGENT_RULE, MODEL_RULE, RetryRule
from bioeval_tui.peers.seams import (
    Agent,
    AssertionView,
    CheckResult,
    Evaluator,
    EvaluatorView,
    Judge,
    KnowledgeGraph,
    PatientRecords,
    Violation,
)
from bioeval_tui.peers.spending import UNLIMITED, SpendingBudget
from bioeval_tui.peers.traces import RunTraces
from bioeval_tui.record.cases import JobCase
from bioeval_tui.record.condition_names import PUBLISHED_NAMES, Condition
from bioeval_tui.record.events import EventBase, ModelServed, RunEvent, with_fields
from bioeval_tui.record.participants import Peer
from bioeval_tui.record.persona_facts import PersonaFacts

CheckAssertion = Callable[[Assertion, AssertionView], Awaitable[CheckResult]]
Guard = Callable[[EvaluatorView, str], Sequence[Violation]]


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Bounds of a conversation. Times are in seconds."""

    agent_retries: RetryRule = AGENT_RULE
    model_retries: RetryRule = MODEL_RULE
    throttled_s: float = 600.0
    """How long one request may be delayed because our own conversations exceed a rate limit."""
    observe_s: float = 2.0
    final_check_s: float = 20.0
    evaluator_s: float = 120.0
    judge_s: float = 300.0
    setup_s: float = 30.0
    conversation_s: float = 3600.0
    spans_s: float = 6.0
    """How long to wait for spans after the last answer, in seconds.

    SDKs send them every five seconds.
    """


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One run: a job against one model, its conditions in order, its trials.

    `run_job.started_fields` takes over what `RunStarted` records: a plan has the job itself, and is
    known only bit by bit.
    """

    run_id: str
    job: EvaluationJob
    job_name: str
    job_path: str
    job_sha256: str
    seed: int
    agent: str = ""
    evaluator: str = ""
    judge: str = ""
    graph: str | None = None
    fhir: str | None = None
    """The names of the five on screens and in reports."""
    conditions: tuple[Condition, ...] = PUBLISHED_NAMES
    trials: int = 1
    model: str | None = None
    agent_is_model: bool = False
    parallel: bool = False
    shared_agent: int = 1
    """How many conversations use the agent at the same time; shown with every timing statistic."""
    rehearsal: bool = False
    random_order: bool = False
    hosts: tuple[str, ...] = ()
    prompts: dict[str, str] = field(default_factory=dict)
    later_prompt: dict[str, str] = field(default_factory=dict)
    """The judge's prompt of a resumed run, if it differs from that of `RunStarted`."""
    judge_sees: str = ""
    """A sentence on what the judge sees besides the transcript, and which hosts receive it; empty
    if nothing.
    """
    judge_family: str = ""
    """A sentence on a judge of the agent's or the user's model family; empty if it is of another.
    """
    batch_id: str | None = None
    git_revision: str | None = None
    exam: bool = False
    """Whether the judge is examined before its verdicts count."""
    options: dict[str, Any] = field(default_factory=dict)
    """The run's options, recorded in `RunStarted` so that it can be resumed."""
    limits: RunLimits = RunLimits()
    cases: tuple[JobCase, ...] = ()
    """The cases in the form of the recording; empty if the job has no cases."""
    case_jobs: Sequence[EvaluationJob] = ()
    """The job of each case."""
    case_order: tuple[int, ...] = ()
    """The index of each trial's case, from 0."""
    further: tuple[int, ...] = ()
    """The cases of the trials that `--rerun` added, which come last in `case_order`."""

    def trial_plan(self, trial: int) -> RunPlan:
        """Return the plan with the job of a trial's case."""
        if not self.case_jobs:
            return self
        at = self.case_order[trial - 1] if trial <= len(self.case_order) else trial - 1
        return replace(self, job=self.case_jobs[at % len(self.case_jobs)])

    @property
    def judge_prompt(self) -> dict[str, str]:
        """The hash of the judge's prompt, by its name; empty where no model judges."""
        return {name: text for name, text in self.prompts.items() if name == self.job.scorer.prompt}

    def persona_facts(self, trial: int, condition: Condition) -> PersonaFacts | None:
        """Return which of the facts that the user has its persona holds back or gets wrong."""
        known = self.job.facts_known_in(condition)
        return draw_persona_facts(self.job, self.seed, trial, known)

    def greeting(self, trial: int, condition: Condition, facts: Sequence[str]) -> str:
        """Return the trial's greeting: drawn with the seed, the same for all conditions.

        In a condition that tells the `facts` at once, these follow it in a line of their own.
        """
        drawing = random.Random(f"{self.seed}/{trial}/greeting")  # noqa: S311
        drawn = drawing.choice(self.job.greetings)
        held = self.job.condition(condition)
        if held.tells != "all" or not facts:
            return drawn
        return f"{drawn}\n{' '.join(facts)}"

    def order(self, trial: int) -> tuple[Condition, ...]:
        """Return the order of the trial's conditions."""
        if self.random_order:
            shuffled = list(self.conditions)
            random.Random(f"{self.seed}/{trial}/order").shuffle(shuffled)  # noqa: S311
            return tuple(shuffled)
        return self.conditions


async def _not_told() -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a run.

    Agents and evaluators are created for each conversation; the rest is shared.
    """

    open_agent: Callable[[Condition, int], Agent]
    open_evaluator: Callable[[Condition, int], Evaluator]
    judge: Judge
    check: CheckAssertion
    graph: KnowledgeGraph | None = None
    no_graph: str = "no knowledge graph is configured"
    does_without_graph: bool = False
    """Whether the user passed `--graph none`: Cypher assertions are not measured, and conversations
    still run.
    """
    other_graph: Callable[[], Awaitable[str | None]] = _not_told
    """Returns why the agent uses another graph than `graph`, with the ways out; empty if it says
    that it uses this one, None if it does not say.
    """
    records: PatientRecords | None = None
    """The FHIR server of the job's setups and assertions."""
    guard: Guard | None = None
    """Checks the messages of a model that plays the user; None if it is not checked, and a user who
    brought up nothing is not at fault either.
    """
    placebo: Callable[[EvaluationJob, int], tuple[str, ...]] = lambda job, trial: ()
    """Returns what the placebo's user tells in a trial in the place of each fact."""
    files_before: Callable[[], Awaitable[dict[str, str]]] | None = None
    """Returns the state of the files that medal assertions name, by path; None if there are no such
    assertions.
    """
    exams: Path | None = None
    """The folder with what judges gave in their exams; None remembers nothing."""
    slot: Callable[[], AbstractAsyncContextManager[object]] = nullcontext
    """Entered for the duration of each conversation: the batch limits how many run concurrently."""
    watchdog: Watchdog = field(default_factory=Watchdog)
    """Knows when this program did not run."""
    next_round: Callable[[int], Awaitable[bool]] | None = None
    """Waits until this trial may start, and returns whether it is needed; None if all trials start
    immediately.
    """
    decision: Callable[[], str] = lambda: ""
    """Returns what the rounds decided, as a sentence."""
    traces: RunTraces | None = None
    """The receiver of the agent's spans; None if none are received."""
    sessions: Sessions = field(default_factory=Sessions)
    """The sessions of all conversations with the agents of the batch."""
    may_begin: Callable[[], str | None] = lambda: None
    """Returns why no further conversation may begin (calls or cost spent); None if one may."""
    budget: SpendingBudget = UNLIMITED
    """Counts calls and cost, and refuses a call once the limit is reached."""


EventType = TypeVar("EventType", bound=EventBase)


class Sink(Protocol):
    """Where events go: a recorder, or a list in tests."""

    def append(self, event: RunEvent) -> None: ...

    async def written(self) -> None:
        """Return when everything appended is safe in the file."""
        ...


class Emitter:
    """Numbers and times the events of one run."""

    def __init__(
        self,
        run_id: str,
        sink: Sink,
        *,
        after_seq: int = 0,
        on_event: Callable[[RunEvent], None] = lambda event: None,
    ) -> None:
        """`on_event` is called with every event after the sink."""
        self.run_id = run_id
        self.sink = sink
        self._on_event = on_event
        self._seq = after_seq
        self._served: set[tuple[Peer, str, str]] = set()

    def emit(self, event_type: type[EventType], **fields: Any) -> EventType:
        """Create an event, pass it to the sink and return it."""
        self._seq += 1
        event = event_type(run_id=self.run_id, seq=self._seq, at=datetime.now(UTC), **fields)
        self.sink.append(event)  # type: ignore[arg-type]
        self._on_event(event)  # type: ignore[arg-type]
        return event

    def take(self, event: RunEvent) -> None:
        """Pass an event on that was recorded elsewhere, with the next number of this run.

        Which model answered is recorded once for each name, whoever saw it.
        """
        if isinstance(event, ModelServed):
            self.model_served(event.peer, event.asked, event.served)
            return
        self._seq += 1
        self.sink.append(with_fields(event, seq=self._seq))

    def model_served(self, peer: Peer, asked: str, served: str) -> None:
        """Record which model answered, once for each name."""
        if (peer, asked, served) not in self._served:
            self._served.add((peer, asked, served))
            self.emit(ModelServed, peer=peer, asked=asked, served=served)

    async def written(self) -> None:
        """Return when everything emitted so far is safe in the file."""
        await self.sink.written()

    def of(self, condition: Condition, trial: int, attempt: int = 1) -> ConversationEmitter:
        """Return an emitter whose events carry the conversation they belong to."""
        return ConversationEmitter(self, condition, trial, attempt)


class ConversationEmitter:
    """Emits events of one conversation."""

    def __init__(self, of_run: Emitter, condition: Condition, trial: int, attempt: int) -> None:
        self.of_run = of_run
        self.condition = condition
        self.trial = trial
        self.attempt = attempt

    def emit(self, event_type: type[EventType], **fields: Any) -> EventType:
        """Create an event of this conversation."""
        return self.of_run.emit(
            event_type, condition=self.condition, trial=self.trial, attempt=self.attempt, **fields
        )

    async def written(self) -> None:
        """Return when everything emitted so far is safe in the file."""
        await self.of_run.written()

"""Peers that answer from a list, and a sink that keeps its events."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import yaml

from bioeval_tui.base.errors import NotMeasuredError
from bioeval_tui.evaluation.conversation.control import Control
from bioeval_tui.evaluation.conversation.plan import Emitter, Parts, RunLimits, RunPlan
from bioeval_tui.evaluation.conversation.resume import Earlier
from bioeval_tui.evaluation.conversation.run_job import JobRun, started_fields
from bioeval_tui.jobs.loading import job_from_data
from bioeval_tui.jobs.models import Assertion, EvaluationJob
from bioeval_tui.peers.retry import RetryRule
from bioeval_tui.protocols import (
    AssertionView,
    CheckResult,
    Delta,
    EvaluatorView,
    Evidence,
    Generation,
    GraphSnapshot,
    JudgeView,
    PeerError,
    Reply,
    Rows,
    TaskVerdict,
    Utterance,
    Verdict,
)
from bioeval_tui.record.events import RunEvent, RunStarted
from bioeval_tui.record.state import RunState, apply_all

WITHOUT_WAITS = RetryRule(first_wait_s=0.0, longest_wait_s=0.0)
SIGNOFF = "So Long, and Thanks for All the Fish"
AT = datetime(2026, 1, 1, tzinfo=UTC)
SENTINELS = yaml.safe_load(
    files("bioeval_tui").joinpath("evaluation/conversation/sentinels.yml").read_text("utf-8")
)
"""The conversations with known verdicts that a judge is asked about."""


def where(**more: Any) -> dict[str, Any]:
    """Return the fields of an event that say where in a run it happened, and more."""
    return {
        "run_id": "r",
        "seq": 1,
        "at": AT,
        "condition": "withheld",
        "trial": 1,
        "attempt": 1,
        **more,
    }


def job(**changes: Any) -> EvaluationJob:
    """Return a small job; `changes` are published keys."""
    data = {
        "target": {"user": "bob", "chatbot": "bot"},
        "aspirationalAverage": 1000,
        "tasks": [{"task": "set a reminder"}],
        "facts": ["I live in Sydney"],
        "greetings": ["Hello"],
        **changes,
    }
    return job_from_data(data)


@dataclass
class FakeAgent:
    """Answers from a list of texts or errors; an exhausted list answers "ok"."""

    answers: list[str | PeerError] = field(default_factory=list)
    contexts: list[dict[str, Any]] = field(default_factory=list)
    received: list[str] = field(default_factory=list)
    closed: bool = False
    stall: asyncio.Event | None = None
    history_is_kept: bool = False
    texts: list[str] = field(default_factory=list)
    has_context: bool = True

    async def open(self) -> str:
        return f"session-{uuid.uuid4()}"

    async def send(self, content: str) -> AsyncIterator[Delta | Generation | Reply]:
        self.received.append(content)
        started = time.monotonic()
        if self.stall is not None:
            await self.stall.wait()
        answer = self.answers.pop(0) if self.answers else "ok"
        if isinstance(answer, Exception):
            yield Delta("half an ans")
            raise answer
        yield Delta(answer)
        call = {"request": {"function": {"name": "look"}, "arguments": {"at": "it"}}}
        yield Generation(call)
        yield Reply(answer, started, started + 0.25, started + 0.1, (call,))

    async def observe(self) -> dict[str, Any] | None:
        if not self.has_context:
            return None
        return self.contexts.pop(0) if self.contexts else {"resources": [], "functions": []}

    async def seed_text(self, text: str) -> None:
        self.texts.append(text)

    async def seed_history(self, role: str, content: str) -> bool:
        return self.history_is_kept

    async def aclose(self) -> None:
        self.closed = True


@dataclass
class FakeEvaluator:
    """Says a list of texts (or raises errors), then signs off; keeps what it was shown."""

    says: list[str | PeerError] = field(default_factory=list)
    views: list[EvaluatorView] = field(default_factory=list)
    identity: str = "fake evaluator"

    async def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
        self.views.append(view)
        text = self.says.pop(0) if self.says else SIGNOFF
        if isinstance(text, PeerError):
            raise text
        yield Delta(text)
        yield Utterance(text)

    async def aclose(self) -> None:
        pass


@dataclass
class FakeJudge:
    """Gives every task the same score, or fails."""

    value: float | Exception = 1.0
    views: list[JudgeView] = field(default_factory=list)
    identity: str = "fake judge"
    quote: str = ""
    """What it quotes for every task."""

    async def score(self, view: JudgeView) -> Sequence[Verdict]:
        self.views.append(view)
        if isinstance(self.value, Exception):
            raise self.value
        quoted = (Evidence(self.quote, 1),) if self.quote else ()
        numbers = range(1, len(view.job.tasks) + 1)
        tasks = tuple(TaskVerdict(number, self.value, evidence=quoted) for number in numbers)
        return [Verdict("fake judge", tasks, tone=0.9)]

    async def aclose(self) -> None:
        pass


def known_verdicts(view: JudgeView) -> list[bool] | None:
    """Return whether each task of a sentinel is met; None for any other conversation."""
    said = [message.content for message in view.transcript]
    return next(
        ([task["met"] for task in one["tasks"]] for one in SENTINELS if one["messages"] == said),
        None,
    )


@dataclass
class FakeGraph:
    """Keeps the setups it was given; its digest can be made to differ from call to call."""

    digests: list[str] = field(default_factory=list)
    executed: list[str] = field(default_factory=list)
    fails: PeerError | None = None
    away: PeerError | None = None
    identity: str = "fake graph"

    async def query(self, cypher: str, parameters: Any = None, *, timeout_s: float = 10.0) -> Rows:
        if self.away:
            raise self.away
        return Rows(("n",), ((1,),))

    async def execute(self, cypher: str, *, timeout_s: float = 30.0) -> None:
        if self.fails:
            raise self.fails
        self.executed.append(cypher)

    async def snapshot(self) -> GraphSnapshot:
        return GraphSnapshot({}, {}, self.digests.pop(0) if self.digests else "same")

    async def aclose(self) -> None:
        pass


@dataclass
class ListSink:
    """Keeps events in memory; `safe` of them were there when the runner last waited for the
    file.
    """

    events: list[RunEvent] = field(default_factory=list)
    safe: int = 0

    def append(self, event: RunEvent) -> None:
        self.events.append(event)

    async def written(self) -> None:
        self.safe = len(self.events)

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.kind == kind]


@dataclass
class Stage:
    """A run with fake peers: `await stage.run()` gives its folded state."""

    job: EvaluationJob
    agents: dict[str, FakeAgent] = field(default_factory=dict)
    evaluators: dict[str, FakeEvaluator] = field(default_factory=dict)
    judge: FakeJudge = field(default_factory=FakeJudge)
    graph: FakeGraph | None = None
    outcomes: dict[str, bool | None] = field(default_factory=dict)
    sink: ListSink = field(default_factory=ListSink)
    control: Control = field(default_factory=Control)
    earlier: Earlier | None = None
    options: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, Any] = field(default_factory=dict)

    async def check(self, assertion: Assertion, view: AssertionView) -> CheckResult:
        return CheckResult(
            self.outcomes.get(assertion.title, True), observed=len(view.evaluation["transcript"])
        )

    async def run(self, **options: Any) -> RunState:
        plan = RunPlan(
            "20260101-000000-abcd", self.job, "job", "job.yml", "0" * 64, agent="agent",
            evaluator="evaluator", judge="judge",
            **({"seed": 1, "limits": RunLimits(agent_retries=WITHOUT_WAITS,
                        model_retries=WITHOUT_WAITS)} | self.options | options),
        )  # fmt: skip
        given: dict[str, Any] = {
            "open_agent": lambda condition, trial: self.agents.setdefault(condition, FakeAgent()),
            "open_evaluator": lambda condition, trial: self.evaluators.setdefault(
                condition, FakeEvaluator()
            ),
            "judge": self.judge,
            "check": self.check,
            "graph": self.graph,
        }
        parts = Parts(**(given | self.parts))
        emitter = Emitter(plan.run_id, self.sink)
        emitter.emit(RunStarted, **started_fields(plan))
        await JobRun(plan, parts, emitter, self.control, self.earlier).run()
        return apply_all(RunState(), self.sink.events)


__all__ = [
    "SIGNOFF",
    "FakeAgent",
    "FakeEvaluator",
    "FakeGraph",
    "FakeJudge",
    "NotMeasuredError",
    "Stage",
    "job",
]

"""RunState and `apply`, the reducer that every view of a run shares. Deterministic, no I/O.

The state is mutable and owned by the caller of `apply`, which updates it in place and returns the
changes. Views only read. Events of an abandoned attempt are ignored.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import Any, Literal, NamedTuple

from bioeval_tui.base.text import clean_line
from bioeval_tui.languages.segments import word_count
from bioeval_tui.languages.speech import asks_question
from bioeval_tui.record import cases, events, score as composite
from bioeval_tui.record.agent_span import AgentSpan
from bioeval_tui.record.attachments import has_contents
from bioeval_tui.record.cases import Case, CaseKey
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.conditions import (
    ConditionConfig,
    Contrast,
    condition_names,
    job_conditions,
    job_contrast,
    named,
    scored_conditions,
    sort_conditions,
)
from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.participants import Peer, Role, add_served
from bioeval_tui.record.persona_facts import PersonaFacts
from bioeval_tui.record.spans import trace_tokens, was_cut_off
from bioeval_tui.record.warning_codes import NOT_CLEAN, NOTHING_OBSERVED, STARTS_DIFFER

Phase = Literal["waiting", "preparing", "evaluator", "agent", "checking", "judging", "ended"]


@dataclass(slots=True)
class WorkClock:
    """The times in which a run stood still.

    A turn that runs when a pause begins is finished, and counts.
    """

    _times: list[tuple[datetime, datetime]] = field(default_factory=list)
    _since: datetime | None = None

    def stop(self, at: datetime) -> None:
        """Stand still from now on. A time that began and has not ended was work."""
        self._since = at

    def resume(self, at: datetime) -> None:
        """Work from now on."""
        if self._since is not None:
            self._times.append((self._since, at))
        self._since = None

    def seconds(self, begin: datetime, end: datetime) -> float:
        """Return the seconds of work between two times."""
        times = [*self._times, (self._since, end)] if self._since is not None else self._times
        lost = sum(
            max(0.0, (min(until, end) - max(since, begin)).total_seconds())
            for since, until in times
        )
        return max(0.0, (end - begin).total_seconds() - lost)


TokenCounts = tuple[int | None, int | None]
"""Tokens in and out of an answer; None if unknown."""


class ConversationKey(NamedTuple):
    """Identifies a conversation of a run."""

    condition: Condition
    trial: int


class Change(NamedTuple):
    """What one event changed: its kind and, if applicable, the conversation and message."""

    kind: str
    key: ConversationKey | None = None
    message: int | None = None


@dataclass(slots=True)
class MessageState:
    """One utterance, finished or streaming.

    It copies what its events say instead of holding them: of many long runs, only these few values
    stay in memory (`lighten`).
    """

    message: int
    turn: int
    role: Role
    speaker: str
    started_at: datetime
    done: bool = False
    latency_ms: float | None = None
    """From the request to the last byte of the answer, for the successful attempt; null if it does
    not count.
    """
    blocked_ms: float | None = None
    """How long this program did not run meanwhile, if that is why the latency does not count."""
    waited_ms: float = 0.0
    """Time of failed attempts and the waits between them; not part of the latency."""
    thought_ms: float | None = None
    first_token_ms: float | None = None
    """From the request to the first text; null if the answer was not streamed."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    operator: bool = False
    """A person typed it."""
    signs_off: bool = False
    told_cut_off: bool = False
    """Whether the agent's endpoint said that the answer ended at its model's length limit."""
    generation: list[dict[str, Any]] = field(default_factory=list)
    facts: tuple[events.FactDisclosed, ...] = ()
    failures: tuple[events.RequestFailed, ...] = ()
    violations: tuple[events.EvaluatorViolated, ...] = ()
    record: dict[str, Any] | None = None
    traceparent: str | None = None
    """The trace ids that were sent to the agent with the last attempt to answer."""
    spans: list[AgentSpan] = field(default_factory=list)
    late_spans: frozenset[str] = frozenset()
    doubled_spans: frozenset[str] = frozenset()
    _pieces: list[str] = field(default_factory=list)
    _asked: bool | None = None
    _words: int = 0
    _is_light: bool = False

    @property
    def text(self) -> str:
        """The text so far."""
        if len(self._pieces) > 1:
            self._pieces[:] = ["".join(self._pieces)]
        if self._pieces:
            return self._pieces[0]
        return ""

    @property
    def tokens(self) -> TokenCounts:
        """The tokens (input, output) as the endpoint reported them, otherwise as the answer's spans
        do; None if unknown.
        """
        if (self.tokens_in, self.tokens_out) == (None, None) and self.spans and self.traceparent:
            return trace_tokens(self.spans, self.traceparent.split("-")[1])
        return self.tokens_in, self.tokens_out

    @property
    def cut_off(self) -> bool:
        """Whether the agent's model ended the answer at its length limit, as the endpoint or the
        answer's spans say.
        """
        if self.told_cut_off or not (self.spans and self.traceparent):
            return self.told_cut_off
        return was_cut_off(self.spans, self.traceparent.split("-")[1])

    @property
    def asks(self) -> bool | None:
        """Whether the agent's message asks something; known even of one whose text was dropped.

        None if its language is not read.
        """
        if self._is_light:
            return self._asked
        return asks_question(self.text)

    @property
    def words(self) -> int:
        """How many words a user's message has; known even of one whose text was dropped."""
        if self._is_light or self.role != "user":
            return self._words
        return word_count(self.text)

    @property
    def is_empty(self) -> bool:
        """Whether the agent answered without a word, and without a file."""
        is_silent = self.role == "assistant" and self.done and not self.text.strip()
        return is_silent and not has_contents(self.generation)

    def add(self, text: str) -> None:
        """Append streamed text."""
        if text:
            self._pieces.append(text)

    def replace(self, text: str) -> None:
        """Set the whole text."""
        self._pieces[:] = [text]

    def lighten(self, *, counts_questions: bool = True) -> None:
        """Drop the text and what else only a transcript needs."""
        if counts_questions and self.role == "assistant":
            self._asked = self.asks
        if counts_questions:
            self._words = self.words
        self._is_light = True
        self.tokens_in, self.tokens_out = self.tokens
        self.replace("")
        self.generation.clear()
        self.spans.clear()
        self.record = None


@dataclass(slots=True)
class ConversationState:
    """One conversation, folded."""

    key: ConversationKey
    attempt: int = 1
    phase: Phase = "waiting"
    session_id: str | None = None
    case: Case | None = None
    begun: events.ConversationStarted | None = None
    """The event that began it; None before, while the setups and seeds are applied."""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    messages: list[MessageState] = field(default_factory=list)
    checks: dict[int, list[events.AssertionChecked]] = field(default_factory=dict)
    final_checks: dict[int, events.AssertionChecked] = field(default_factory=dict)
    observations: list[events.StateObserved] = field(default_factory=list)
    setups: list[events.SetupApplied] = field(default_factory=list)
    seeds: list[events.SeedApplied] = field(default_factory=list)
    warnings: list[events.Warned] = field(default_factory=list)
    submissions: list[events.SubmissionGraded] = field(default_factory=list)
    request_failures: list[events.RequestFailed] = field(default_factory=list)
    unused: list[events.AnswersUnused] = field(default_factory=list)
    abandoned: ConversationState | None = field(default=None, compare=False)
    """The attempt before this one, without its texts: what it used was paid for."""
    ended: events.ConversationEnded | None = None
    verdict: events.TranscriptScored | None = None
    score: events.ConversationScored | None = None
    _highest: int = 0

    @property
    def max_messages(self) -> int:
        """The most messages that it may have; 0 before it began."""
        if self.begun:
            return self.begun.max_messages
        return 0

    @property
    def agents_graph(self) -> events.AgentsGraph | None:
        """Whether the agent says that it uses the run's graph; None before it began, or if the job
        queries none.
        """
        if self.begun:
            return self.begun.agents_graph
        return None

    @property
    def agent_identity(self) -> str:
        """The name and version that the agent gave itself; empty if it gave none."""
        if self.begun:
            return self.begun.agent_identity
        return ""

    @property
    def persona_facts(self) -> PersonaFacts | None:
        """Which facts the user's persona holds back or gets wrong; None if none, or before it
        began.
        """
        if self.begun:
            return self.begun.persona_facts
        return None

    @property
    def record(self) -> dict[str, Any] | None:
        """What no other field has of a conversation from an imported file; None of others, and once
        it is light.
        """
        if self.begun:
            return self.begun.record
        return None

    @property
    def trial_words(self) -> str:
        """How the trial is called: `trial 3`, `case 17`, or `case 17, trial 2`."""
        if self.case is not None:
            return self.case.title
        return f"trial {self.key.trial}"

    @property
    def start(self) -> events.StateObserved | None:
        """The agent's state before the first message; None if nobody looked."""
        return next((seen for seen in self.observations if seen.after_turn == 0), None)

    @property
    def start_parts(self) -> frozenset[str] | None:
        """Which parts of that state could be compared with another's; None if nobody looked."""
        return None if self.start is None else frozenset(self.start.digests)

    @property
    def turns(self) -> int:
        """The number of the newest turn.

        It begins when the user's message is sent: a sign-off never is.
        """
        return next((message.turn for message in reversed(self.messages) if self.sent(message)), 0)

    @property
    def attempts(self) -> Iterator[ConversationState]:
        """This attempt at the conversation, and those that were abandoned."""
        talk: ConversationState | None = self
        while talk is not None:
            yield talk
            talk = talk.abandoned

    @property
    def answers(self) -> list[MessageState]:
        """The agent's messages."""
        return [message for message in self.messages if message.role == "assistant"]

    @property
    def latencies_ms(self) -> list[float]:
        """The agent's latencies in ms, one per turn, in order."""
        return [m.latency_ms for m in self.answers if m.latency_ms is not None]

    @property
    def first_tokens_ms(self) -> list[float]:
        """The times until the first text of the agent's answers that were streamed, in ms, in
        order.
        """
        return [m.first_token_ms for m in self.answers if m.first_token_ms is not None]

    @property
    def answers_ask(self) -> list[bool | None]:
        """Whether each of the agent's messages asks something, as `MessageState.asks`."""
        return [m.asks for m in self.answers]

    @property
    def user_replies(self) -> bool:
        """Whether the user says anything after the agent did."""
        roles = [message.role for message in self.messages]
        return "assistant" in roles and "user" in roles[roles.index("assistant") :]

    def words_told(self, *, without_greeting: bool) -> int:
        """Return how many words the user told the agent, without the message with the sign-off and,
        where the first message is a greeting that the job says, without that.
        """
        return sum(
            message.words
            for message in self.messages
            if message.role == "user"
            and self.sent(message)
            and not message.signs_off
            and not (without_greeting and message.message == 1)
        )

    def tokens_of(self, peer: Literal["agent", "evaluator"]) -> list[TokenCounts]:
        """Return the tokens of each complete message that a peer's model may have written.

        The greeting is drawn from the job and an operator's messages are typed, so no model is
        called for them.
        """
        if peer == "agent":
            return [m.tokens for m in self.answers if m.done]
        written = [m for m in self.messages if m.done and m.role == "user" and not m.operator]
        return [m.tokens for m in written if m.message > 1 or m.tokens_in is not None]

    @property
    def blocked_answers(self) -> int:
        """How many of the agent's answers came while this program did not run, so that their
        latency does not count.
        """
        return sum(m.blocked_ms is not None for m in self.messages)

    @property
    def failures(self) -> int:
        """How many failures count against the agent so far."""
        return sum(1 for failure in self.request_failures if failure.counted)

    @property
    def fault(self) -> events.Fault | None:
        """Who caused it to end early or, if nobody did, to have no score; None before it ended."""
        if self.ended is None or self.ended.fault != "none" or self.score is None:
            if self.ended is None:
                return None
            return self.ended.fault
        return self.score.fault

    @property
    def facts(self) -> list[events.FactDisclosed]:
        """The facts ledger: the disclosed facts, in order."""
        return [*chain.from_iterable(message.facts for message in self.messages)]

    @property
    def violations(self) -> list[events.EvaluatorViolated]:
        """The evaluator's violations, in order."""
        return [*chain.from_iterable(message.violations for message in self.messages)]

    @property
    def user_faults(self) -> list[events.UserFault]:
        """What the simulated user did wrong: what checks found and then, where they did not, what
        the judge did.
        """
        checked = [violation.user_fault for violation in self.violations]
        known = {(fault.kind, fault.message) for fault in checked}
        judged = self.verdict.user_faults if self.verdict is not None else ()
        return [*checked, *(fault for fault in judged if (fault.kind, fault.message) not in known)]

    @property
    def is_result(self) -> bool:
        """Whether it counts as a result: its assertions were checked, and it was scored."""
        if self.ended is None or self.ended.reason not in events.RESULT_REASONS:
            return False
        return self.score is not None and not self.score.cancelled and bool(self.score.parts)

    @property
    def can_be_judged(self) -> bool:
        """Whether it counts as a result and has answers to judge."""
        return self.is_result and any(message.done for message in self.answers)

    def message(self, number: int) -> MessageState | None:
        """Return the message of that number, or None."""
        if 0 < number <= len(self.messages) and self.messages[number - 1].message == number:
            return self.messages[number - 1]
        if number > self._highest:  # a message that begins: nothing to look through
            return None
        return next((message for message in self.messages if message.message == number), None)

    def sent(self, message: MessageState) -> bool:
        """Return whether a message was sent to the other side; a bare sign-off and cut-off or void
        messages were not.
        """
        last = self.messages[-1].message == message.message
        return message.done and not (message.signs_off and last)

    def begin(self, event: events.MessageStarted | events.MessageCompleted) -> MessageState:
        """Append a message that was not known, and return it."""
        message = MessageState(event.message, event.turn, event.role, event.speaker, event.at)
        if isinstance(event, events.MessageStarted):
            message.traceparent = event.traceparent
        self.messages.append(message)
        self._highest = max(self._highest, event.message)
        return message

    def latest_checks(self) -> list[events.AssertionChecked]:
        """Return the newest check of each assertion, final ones first in force, by index."""
        indexes = sorted(self.checks.keys() | self.final_checks.keys())
        return [self.final_checks.get(index) or self.checks[index][-1] for index in indexes]

    @property
    def whole(self) -> ConversationState:
        """The conversation with all of its texts in memory: itself, unless it is a row."""
        return self

    def changed(self, **fields: Any) -> ConversationState:
        """Return a copy with other values of these fields; `self` does not change."""
        return replace(self, **fields)


@dataclass(slots=True)
class RunState:
    """One run, folded from its events."""

    started: events.RunStarted | None = None
    ended: events.RunEnded | None = None
    conversations: dict[ConversationKey, ConversationState] = field(default_factory=dict)
    warnings: list[events.Warned] = field(default_factory=list)
    operator: list[events.OperatorActed] = field(default_factory=list)
    sentinels: list[events.SentinelsJudged] = field(default_factory=list)
    exams: list[events.JudgeExamined] = field(default_factory=list)
    """With those of later judgings, once these are in force."""
    unknown: list[events.UnknownEvent] = field(default_factory=list)
    paused: set[str] = field(default_factory=set)
    clean: bool = True
    """Whether the conditions are known to have started from the same state, so far."""
    unclean: list[events.Warned] = field(default_factory=list)
    """The warnings that say why they are not, of the run and of all of its conversations: views ask
    for them for each trial.
    """
    newest: ConversationKey | None = None
    """The conversation of the newest event; None before the first."""
    last_seq: int = 0
    last_at: datetime | None = None
    resumed: int = 0
    """How often it was resumed after an interruption."""
    added: int = 0
    """The trials that were added because as many had no score (`runs resume --rerun`)."""
    first_trials: int = 1
    """The number of trials that were planned when it started."""
    cases: list[Case] = field(default_factory=list)
    """The case of each trial, begun or not; empty where the job has none."""
    served: dict[Peer, dict[str, list[str]]] = field(default_factory=dict)
    """Which models answered, by the names that the servers gave them, for each peer by the name
    that was asked for.
    """
    _clock: WorkClock = field(default_factory=WorkClock)
    _parts: Mapping[CaseKey, Mapping[str, Any]] = field(default_factory=dict)
    """The values of each case, by its key."""

    _conditions: tuple[Condition, ...] | None = field(
        default=None, init=False, repr=False, compare=False
    )
    """What `conditions` found in the job: views of a large run ask for it for each trial."""

    @property
    def job(self) -> dict[str, Any]:
        """The job's snapshot under its published keys; empty before the run has started."""
        if self.started:
            return self.started.job
        return {}

    @property
    def agent_is_model(self) -> bool:
        """Whether the agent is a model's endpoint, whose tokens have a price."""
        return self.started is not None and self.started.is_model

    @property
    def asked_model(self) -> str | None:
        """The model that the agent is, or that somebody named for it."""
        if self.started:
            return self.started.asked_model
        return None

    @property
    def served_model(self) -> str | None:
        """The model that answered as the agent, by the name that its server gave it; None if it
        gave none.
        """
        names = chain.from_iterable(self.served.get("agent", {}).values())
        return " and ".join(dict.fromkeys(names)) or None

    @property
    def agent_model(self) -> str | None:
        """The agent's model: `asked for X, served Y` where the names differ."""
        asked = self.asked_model
        return asked and add_served(asked, self.served.get("agent", {}))

    @property
    def agent_identity(self) -> str:
        """The name and version that the agent gave itself; several if it changed during the run."""
        names = (talk.agent_identity for talk in self.conversations.values())
        return " and ".join(dict.fromkeys(filter(None, names)))

    @property
    def evaluator(self) -> str:
        """Who played the user; a model as in `agent_model`."""
        if self.started:
            return add_served(self.started.evaluator, self.served.get("evaluator", {}))
        return ""

    @property
    def user_model(self) -> str:
        """The model that played the user, as in `agent_model`; empty if none did."""
        imported = self.started is None or self.started.source is not None
        if imported or cases.job_part(self.job, "evaluator").get("kind", "llm") != "llm":
            return ""
        return self.evaluator

    def case(self, trial: int) -> Case | None:
        """Return the case of a trial, started or not; None without cases."""
        if 0 < trial <= len(self.cases):
            return self.cases[trial - 1]
        talks = (self.conversation(condition, trial) for condition in self.conditions)
        return next(
            (talk.case for talk in talks if talk is not None and talk.case is not None), None
        )

    def trial_job(self, trial: int) -> dict[str, Any]:
        """Return the job's snapshot for a trial, filled in from its case."""
        case = self.case(trial)
        if case is None:
            return self.job
        parts = self._parts.get(case.key)
        if parts is None:
            return cases.job_with_case(self.job, case)
        return self.job | cases.plain_parts(parts)

    def case_key(self, trial: int) -> Hashable:
        """Return what two trials have in common whose `trial_job` is the same: their case, by its
        name or, of an imported run, by what it is made of; nothing without cases.
        """
        case = self.case(trial)
        if case is None:
            return None
        if case.key in self._parts:
            return case.key
        return case.facts, tuple(tuple(task.items()) for task in case.tasks)

    def judged_anew(self, judging: events.CriteriaGiven) -> RunState:
        """Return the run with the criteria of a later judging in the place of its own; `self` does
        not change.
        """
        if self.started is None:
            return self
        known = {case.key: cases.plain_parts(case.parts) for case in judging.cases}
        parts = {
            place: {key: value for key, value in own.items() if key not in judging.job}
            for place, own in self._parts.items()
        }
        parts = {place: own | known.get(place, {}) for place, own in parts.items()}
        job = self.started.job | judging.job

        def anew(case: Case) -> Case:
            own = parts.get(case.key)
            tasks: tuple[dict[str, str], ...] = ()
            if own is not None:
                tasks = cases.case_tasks(job | own)
            return case.model_copy(update={"tasks": tasks})

        kept = (case.model_copy(update={"parts": parts[case.key]}) for case in self.started.cases)
        return replace(
            self,
            started=self.started.model_copy(update={"job": job, "cases": tuple(kept)}),
            conversations={
                key: talk.changed(case=anew(talk.case)) if talk.case else talk
                for key, talk in self.conversations.items()
            },
            cases=[anew(each) for each in self.cases],
            _parts=parts,
        )

    def condition_title(self, condition: str) -> str:
        """Return what a condition is called: as the job names it, else `without the facts`."""
        return self.condition(condition).title

    def condition(self, name: Condition) -> ConditionConfig:
        """Return a condition by its name: what it is called, which facts the user has, which
        criteria hold.
        """
        return named(job_conditions(self.job), name)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions that are run, in the order of the job, which is that of the screens."""
        if self._conditions is None:
            of_job = job_conditions(self.job)
            run = self.started.conditions if self.started else [each.name for each in of_job]
            self._conditions = sort_conditions(of_job, run)
        return self._conditions

    def trial_words(self, trial: int) -> str:
        """Return how a trial is called: `trial 3`, `case 17`, or `case 17, trial 2`."""
        case = self.case(trial)
        if case is not None:
            return case.title
        return f"trial {trial}"

    @property
    def all_conditions(self) -> tuple[Condition, ...]:
        """All conditions of the job, run or not."""
        return condition_names(self.job)

    @property
    def contrast(self) -> Contrast | None:
        """The conditions whose difference is the effect of the facts; None if the job has no such
        two.
        """
        return job_contrast(self.job)

    @property
    def only_condition(self) -> Condition | None:
        """The run's only condition; None if it has several, and with them a mean and an uplift."""
        if self.started is None or len(self.started.conditions) != 1:
            return None
        return self.started.conditions[0]

    @property
    def why_not_clean(self) -> str:
        """Why the run is not clean, as a short text without details; empty if it is clean."""
        if self.clean:
            return ""
        if self.clean_unknown:
            return "it is unknown whether the conditions started from the same state"
        reasons = [warning.message for warning in self.unclean if warning.code == "not_clean"]
        if reasons and reasons[0].startswith(STARTS_DIFFER):
            return STARTS_DIFFER
        if reasons:
            return reasons[0]
        return "the conditions cannot be compared"

    @property
    def clean_unknown(self) -> bool:
        """Whether it is unknown if the conditions started from the same state."""
        return not self.clean and not self._warned("not_clean") and self._warned("clean_unknown")

    @property
    def nothing_observed(self) -> bool:
        """Whether it is unknown because the agent shows no state that could be compared."""
        return self.clean_unknown and self.unclean_details == NOTHING_OBSERVED

    @property
    def unclean_details(self) -> str:
        """The first warning that it is not clean: what differs, and what would make it the same."""
        if self.unclean:
            return self.unclean[0].message
        return self.why_not_clean

    @property
    def cleanness(self) -> str:
        """Whether the run is clean, as text: `clean`, `not clean` or `cleanliness unknown`."""
        if self.clean:
            return "clean"
        if self.clean_unknown:
            return "cleanliness unknown"
        return "not clean"

    def _warned(self, code: str) -> bool:
        # each trial may have one, and views ask for each trial: the first is enough
        return any(warning.code == code for warning in self.unclean)

    def conversation(self, condition: Condition, trial: int = 1) -> ConversationState | None:
        """Return a conversation, or None if it has not begun."""
        return self.conversations.get(ConversationKey(condition, trial))

    @property
    def all_paused(self) -> bool:
        """Whether every condition of the run is paused."""
        return self.started is not None and self.paused.issuperset(self.started.conditions)

    def seconds(self, now: datetime | None = None) -> float | None:
        """Return how long the run has worked until its end, `now` or its last event; None before it
        started.
        """
        end = self.ended.at if self.ended else now or self.last_at
        if self.started and end:
            return self._clock.seconds(self.started.at, end)
        return None

    @property
    def judge(self) -> str:
        """Who judged what this state holds: the run's judge, and those that judged again; models as
        in `agent_model`.
        """
        return ", ".join(self.judges)

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of those judges, one by one."""
        recorded = ""
        if self.started is not None:
            recorded = add_served(self.started.judge, self.served.get("judge", {}))
        names = {
            clean_line(verdict.judge, 200) if verdict.author else recorded
            for talk in self.conversations.values()
            if (verdict := talk.verdict)
        }
        return tuple(sorted(names)) or (recorded,)

    @property
    def judge_prompt(self) -> str:
        """The prompts of those judges with their versions, such as `eval/score 1a2b3c4d`; empty if
        no model judged.
        """
        recorded = self.started.judge_prompt if self.started else ""
        prompts = set()
        for verdict in filter(None, (talk.verdict for talk in self.conversations.values())):
            named = [
                f"{clean_line(name, 100)} {digest[:8]}" for name, digest in verdict.prompts.items()
            ]
            prompts.add(", ".join(named) if verdict.author or named else recorded)
        if prompts:
            return ", ".join(sorted(filter(None, prompts)))
        return recorded

    def scores(self) -> dict[str, float | None]:
        """Return each condition's mean score over its trials; None when one is missing or not
        measured.
        """
        return {
            condition: composite.mean_of(scores)
            for condition, scores in self._trial_scores().items()
        }

    def mean(self) -> float | None:
        """Return the mean of the job's conditions; None if one has no score, or was not run."""
        return composite.mean_of_conditions(self._trial_scores(), scored_conditions(self.job))

    def _trial_scores(self) -> dict[str, list[float | None]]:
        """Return the score of each planned trial, by condition."""
        if self.started is None:
            return {}
        scores: dict[str, list[float | None]] = {}
        for condition in self.started.conditions:
            talks = [
                self.conversation(condition, trial + 1) for trial in range(self.started.trials)
            ]
            scores[condition] = [
                talk.score.score if talk and talk.score else None for talk in talks
            ]
        return scores


PASSED: dict[str, bool | None] = {"passed": True, "failed": False, "not_measured": None}
"""Whether an assertion of this status passed; None if it was not measured."""


def apply(state: RunState, event: RunEvent) -> Change:
    """Apply one event to `state` in place, and return what changed."""
    if event.seq > state.last_seq:
        state.last_seq = event.seq
    _keep_time(state, event)
    if event.condition is None or event.trial is None:
        _apply_to_run(state, event)
        return Change(event.kind)
    key = state.newest = ConversationKey(event.condition, event.trial)
    talk = _take_attempt(state, key, event)
    if talk is None:
        return Change("abandoned", key)
    return Change(event.kind, key, _apply_to_conversation(state, talk, event))


def _keep_time(state: RunState, event: RunEvent) -> None:
    """Note the time of an event, and when the run stands still: between two of its processes, and
    in a pause.
    """
    if isinstance(event, events.RunResumed) and state.last_at is not None:
        state._clock.resume(state.last_at)
        state._clock.stop(state.last_at)
        state._clock.resume(event.at)
    elif isinstance(event, events.MessageCompleted) and state.all_paused:
        state._clock.stop(event.at)
    state.last_at = event.at


def _take_attempt(
    state: RunState, key: ConversationKey, event: RunEvent
) -> ConversationState | None:
    """Return the conversation of an event, begun now if it is a new attempt; None if the event is
    of an abandoned one.
    """
    talk = state.conversations.get(key)
    attempt = event.attempt or 1
    if talk is not None and attempt <= talk.attempt:
        if attempt == talk.attempt:
            return talk
        return None
    if talk is not None:
        lighten(talk)
    talk = state.conversations[key] = ConversationState(key, attempt, "preparing", abandoned=talk)
    talk.started_at = event.at
    talk.case = state.cases[key.trial - 1] if key.trial <= len(state.cases) else None
    return talk


def apply_all(state: RunState, many: Iterable[RunEvent]) -> RunState:
    """Apply many events and return the same state."""
    for event in many:
        apply(state, event)
    return state


def lighten(talk: ConversationState, *, counts_questions: bool = True) -> None:
    """Drop what only the transcript needs: texts, states, checks by turn, evidence.

    The rest is enough for scores, gates and statistics, including quotations that are not in the
    transcript. Without `counts_questions`, what the agent asks, and how much the user says, is not
    looked for, which takes as long as reading the recording: of an imported run, nobody counts it.
    """
    for message in talk.messages:
        message.lighten(counts_questions=counts_questions)
    if talk.record is not None and talk.begun is not None:
        talk.begun = events.with_fields(talk.begun, record=None)
    for kept in (talk.observations, talk.setups, talk.seeds, talk.checks):
        kept.clear()
    if talk.verdict is not None:
        tasks = tuple(map(_without_found, talk.verdict.tasks))
        talk.verdict = events.with_fields(talk.verdict, tasks=tasks, verdicts=())


def _without_found(task: events.TaskScored) -> events.TaskScored:
    """Return a task's verdict without the quotations that are in the transcript."""
    if not task.evidence:
        return task
    unfound = tuple(quoted for quoted in task.evidence if quoted.message is None)
    return events.with_fields(task, evidence=unfound)


def _count_resumed(state: RunState, event: events.RunResumed) -> None:
    more = 0
    if event.trials is not None and state.started is not None:
        more = max(0, event.trials - state.started.trials)
    state.added += more
    was_complete = state.ended is not None and state.ended.status == "completed"
    if not (more and was_complete):
        state.resumed += 1


def _apply_to_run(state: RunState, event: RunEvent) -> None:
    match event:
        case events.RunStarted():
            state.started, state.first_trials = event, event.trials
            state._conditions = None
            places = cases.case_places(len(event.cases), event.trials)
            state.cases = cases.trial_cases(event.job, event.cases, places)
            state._parts = {case.key: case.parts for case in event.cases}
        case events.RunResumed():
            _count_resumed(state, event)
            if state.started is not None:
                state.cases += cases.trial_cases(
                    state.started.job, state.started.cases, event.cases, state.cases
                )
            state.ended = None
            if event.trials is not None and state.started is not None:
                state.started = state.started.model_copy(update={"trials": event.trials})
            state.paused.clear()
        case events.RunEnded():
            state.ended = event
            if event.trials is not None and state.started is not None:
                state.started = state.started.model_copy(update={"trials": event.trials})
            state.clean = state.clean and event.clean
            state.paused.clear()
        case events.ModelServed():
            names = state.served.setdefault(event.peer, {}).setdefault(event.asked, [])
            if event.served not in names:
                names.append(event.served)
        case events.SentinelsJudged():
            state.sentinels.append(event)
        case events.JudgeExamined():
            state.exams.append(event)
        case events.Warned():
            _warn(state, state.warnings, event)
        case events.OperatorActed():
            _act(state, event)
        case events.UnknownEvent():
            state.unknown.append(event)


def _warn(state: RunState, warnings: list[events.Warned], event: events.Warned) -> None:
    warnings.append(event)
    if event.code in NOT_CLEAN:
        state.clean = False
        state.unclean.append(event)


def _act(state: RunState, event: events.OperatorActed) -> None:
    """Note what the operator did, and what is paused since."""
    state.operator.append(event)
    who = {event.condition} if event.condition else set(state.conditions)
    waited = state.all_paused
    if event.action in ("pause", "step"):
        state.paused |= who
    elif event.action == "resume":
        state.paused -= who
    if waited and (event.action == "step" or not state.all_paused):
        state._clock.resume(event.at)
    elif state.all_paused and not waited:
        state._clock.stop(event.at)


def _apply_to_conversation(state: RunState, talk: ConversationState, event: RunEvent) -> int | None:
    """Apply an event of a conversation; return the number of the message that it is about, if
    any.
    """
    match event:
        case events.MessageDelta() | events.CallsTraced():
            _add_to_message(talk, event)
        case events.MessageStarted():
            _start_message(talk, event)
        case events.MessageCompleted():
            _complete_message(talk, event)
        case events.SpansReceived():
            _add_spans(talk, event)
        case events.RequestFailed() | events.FactDisclosed() | events.EvaluatorViolated():
            _add_note(talk, event)
        case _:
            _apply_beside_messages(state, talk, event)
            return None
    return event.message


def _apply_beside_messages(state: RunState, talk: ConversationState, event: RunEvent) -> None:
    match event:
        case events.ConversationStarted():
            _start_conversation(talk, event)
        case events.AssertionChecked():
            _add_check(talk, event)
        case events.StateObserved():
            talk.observations.append(event)
        case events.SetupApplied():
            talk.setups.append(event)
        case events.SeedApplied():
            talk.seeds.append(event)
        case events.SubmissionGraded():
            talk.submissions.append(event)
        case events.AnswersUnused():
            talk.unused.append(event)
        case events.ConversationEnded():
            talk.ended, talk.ended_at, talk.phase = event, event.at, "judging"
        case events.TranscriptScored():
            talk.verdict = event
        case events.ConversationScored():
            talk.score, talk.phase = event, "ended"
        case events.Warned():
            _warn(state, talk.warnings, event)
        case events.OperatorActed():
            _act(state, event)
        case events.UnknownEvent():
            state.unknown.append(event)


def _start_conversation(talk: ConversationState, event: events.ConversationStarted) -> None:
    talk.begun = event
    talk.session_id = event.session_id
    talk.case = event.case or talk.case
    talk.started_at = event.at


def _add_to_message(
    talk: ConversationState, event: events.MessageDelta | events.CallsTraced
) -> None:
    message = talk.message(event.message)
    if message is None:
        # Its start could not be read. `MessageCompleted` has the whole message.
        return
    if isinstance(event, events.MessageDelta):
        message.add(event.text)
    message.generation.extend(event.generation)


def _start_message(talk: ConversationState, event: events.MessageStarted) -> None:
    message = talk.message(event.message)
    if message is None:
        talk.begin(event)
    else:  # retried: discard what the failed attempt had streamed
        message.replace("")
        message.generation.clear()
        message.started_at = event.at
        message.traceparent = event.traceparent
    talk.phase = "evaluator" if event.role == "user" else "agent"


def _complete_message(talk: ConversationState, event: events.MessageCompleted) -> None:
    message = talk.message(event.message)
    if message is None:
        message = talk.begin(event)
    message.replace(event.content)
    message.done = True
    message.turn = event.turn
    message.latency_ms = event.latency_ms
    message.blocked_ms = event.blocked_ms
    message.waited_ms = event.waited_ms
    message.thought_ms = event.thought_ms
    message.first_token_ms = event.first_token_ms
    message.tokens_in = event.tokens_in
    message.tokens_out = event.tokens_out
    message.operator = event.operator
    message.signs_off = event.signs_off
    message.told_cut_off = event.cut_off
    message.generation = list(event.generation)
    message.record = event.record
    talk.session_id = event.session_id or talk.session_id
    talk.phase = "checking"


def _add_spans(talk: ConversationState, event: events.SpansReceived) -> None:
    message = talk.message(event.message)
    if message is not None:
        message.spans += event.spans
        message.doubled_spans |= set(event.doubled)
        if event.late:
            message.late_spans |= {span.span_id for span in event.spans}


def _add_note(
    talk: ConversationState,
    event: events.RequestFailed | events.FactDisclosed | events.EvaluatorViolated,
) -> None:
    """Add what happened with a message to the message; a failed request may have none."""
    if isinstance(event, events.RequestFailed):
        talk.request_failures.append(event)
    message = None if event.message is None else talk.message(event.message)
    if message is None:
        return
    match event:
        case events.RequestFailed():
            message.failures += (event,)
        case events.FactDisclosed():
            message.facts += (event,)
        case events.EvaluatorViolated():
            message.violations += (event,)


def _add_check(talk: ConversationState, event: events.AssertionChecked) -> None:
    if event.final:
        talk.final_checks[event.index] = event
    else:
        talk.checks.setdefault(event.index, []).append(event)

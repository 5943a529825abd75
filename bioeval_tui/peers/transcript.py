"""The transcript of one conversation, and the two forms of it that others see.

`conversation/turns.py` appends to a `SpokenTranscript` while a conversation is held, and assertions
get `as_evaluation` of it after each turn; the judge gets `judge_view` at the end. The functions
named `recorded…` make the same of a recording, to check or judge again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bioeval_tui.jobs.loading import job_snapshot
from bioeval_tui.jobs.models import EvaluationJob, ExpressionAssertion
from bioeval_tui.peers.goodbyes import without_signoff
from bioeval_tui.peers.seams import JudgeView, TranscriptMessage
from bioeval_tui.peers.traces import ConversationTraces
from bioeval_tui.record.attachments import has_contents
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.persona_facts import PersonaFacts
from bioeval_tui.record.state import ConversationState, MessageState
from bioeval_tui.record.tool_calls import (
    call_failure,
    paired_events,
    readable_event,
    request_of,
)


@dataclass
class _Read:
    """The messages that were read so far, as assertions see them, so that each is read once."""

    transcript: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    begins: list[tuple[int, int]] = field(default_factory=list)
    """How many events and calls there are before each message."""
    turns: list[int] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    """The places of the messages in these lists, by their numbers."""

    def forget(self, first: int) -> None:
        """Forget the messages from this place on."""
        if first < len(self.begins):
            events, calls = self.begins[first]
            del self.events[events:], self.calls[calls:]
            del self.transcript[first:], self.begins[first:], self.turns[first:]

    def take(self, message: TranscriptMessage, entry: dict[str, Any]) -> None:
        """Add a message; `entry` is what assertions see of it."""
        self.places[message.message] = len(self.transcript)
        self.begins.append((len(self.events), len(self.calls)))
        self.turns.append((self.turns[-1] if self.turns else 0) + (message.role == "user"))
        self.transcript.append(entry)
        self.events += entry["events"]
        self.calls += _function_calls(entry["events"])


@dataclass
class SpokenTranscript:
    """The messages of one conversation, and counts over them."""

    job: EvaluationJob
    condition: Condition
    trial: int
    model: str | None
    session_id: str = ""
    messages: list[TranscriptMessage] = field(default_factory=list)
    signoff: TranscriptMessage | None = None
    disclosed: set[int] = field(default_factory=set)
    persona_facts: PersonaFacts | None = None
    """Which facts the user's persona holds back or gets wrong."""
    failures: int = 0
    done: bool = False
    traces: ConversationTraces | None = None
    """Pending spans; their tool calls are added to `messages` once they arrive."""
    states: dict[int, Mapping[str, Any] | None] = field(default_factory=dict)
    """The object contexts after the agent's answers, by the numbers of these messages; empty if no
    assertion reads them.
    """
    _untraced: tuple[int, ...] = ()
    _job: dict[str, Any] = field(default_factory=dict)
    _read: _Read = field(default_factory=_Read)
    _calls_told: bool = False
    """Whether the protocol has reported a tool call."""

    @property
    def facts(self) -> tuple[str, ...]:
        """The facts that the evaluator may know, as its persona says them."""
        told = self.told_facts
        return tuple(told[number - 1] for number in self.fact_numbers)

    @property
    def fact_numbers(self) -> tuple[int, ...]:
        """The numbers (from 1) of these facts in the job."""
        never_told = self.persona_facts.never_told if self.persona_facts else ()
        known = self.job.facts_known_in(self.condition)
        return tuple(number for number in known if number not in never_told)

    @property
    def told_facts(self) -> tuple[str, ...]:
        """All facts of the job, as the user's persona says them."""
        if self.persona_facts is None:
            return self.job.facts
        return self.persona_facts.reworded_facts(self.job.facts)

    @property
    def latencies_ms(self) -> list[float]:
        """The agent's latencies, in order."""
        return [
            m.latency_ms
            for m in self.messages
            if m.role == "assistant" and m.latency_ms is not None
        ]

    @property
    def answers(self) -> int:
        """How many answers the agent gave; without a latency if this program did not run
        meanwhile.
        """
        return sum(m.role == "assistant" for m in self.messages)

    @property
    def empty_answers(self) -> int:
        """How many of the agent's answers have no word, and no file."""
        return sum(
            m.role == "assistant" and not m.content.strip() and not has_contents(m.generation)
            for m in self.messages
        )

    @property
    def last_agent_message(self) -> str:
        """The agent's last message; empty at the start."""
        return next((m.content for m in reversed(self.messages) if m.role == "assistant"), "")

    def settle(self) -> list[tuple[int, Sequence[dict[str, Any]]]]:
        """Add the tool calls of spans to the messages; return the additions by message."""
        self._untraced = self.untraced_turns
        added = [(m.message, calls) for m in self.messages if (calls := self._traced(m))]
        self.messages = [
            replace(m, generation=(*m.generation, *self._traced(m))) for m in self.messages
        ]
        self.traces = None
        return added

    def _traced(self, message: TranscriptMessage) -> Sequence[dict[str, Any]]:
        """Return the tool calls of a message that only spans have reported so far."""
        if self.traces is None or message.role != "assistant":
            return ()
        return self.traces.calls(message.message, message.generation)

    def _catch_up(self) -> _Read:
        """Read the messages that are new, and again from the first on of whose answer more spans
        arrived.
        """
        read = self._read
        if self.traces is not None:
            changed = (read.places.get(number) for number in self.traces.changed())
            read.forget(
                min((place for place in changed if place is not None), default=len(read.begins))
            )
        for message in self.messages[len(read.begins) :]:
            self._calls_told |= any(request_of(event) is not None for event in message.generation)
            read.take(message, self._entry(message, (*message.generation, *self._traced(message))))
        return read

    def note_state(self, object_context: Mapping[str, Any] | None) -> None:
        """Keep the object context after the agent's last answer, if an assertion reads it: states
        may be large.
        """
        answered = next((m for m in reversed(self.messages) if m.role == "assistant"), None)
        if answered is None or not reads_states(self.job):
            return
        self.states[answered.message] = object_context
        self._read.forget(self._read.places.get(answered.message, len(self._read.begins)))

    def _entry(
        self, message: TranscriptMessage, generation: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        entry = {
            "content": message.content,
            "role": message.role,
            "timeTakenMillis": round(message.latency_ms or 0.0),
            "events": [readable_event(event) for event in generation],
        }
        if message.message in self.states:
            entry["objectContext"] = self.states[message.message]
        return entry

    @property
    def untraced_turns(self) -> tuple[int, ...]:
        """The turns (numbered as for tool calls) with missing spans; empty if no spans are
        received.

        If no span arrived at all but the protocol reported calls, those calls count.
        """
        if self.traces is None:
            return self._untraced
        read = self._catch_up()
        if not self.traces.told_anything and self._calls_told:
            return ()
        return tuple(
            read.turns[read.places[number]]
            for number in self.traces.incomplete()
            if number in read.places
        )

    def as_evaluation(self) -> dict[str, Any]:
        """Return `evaluation` as assertions see it, until the next message; seeds are not in it.

        As published, the transcript ends with the sign-off and user messages have the evaluator's
        time.
        """
        read = self._catch_up()
        signoff = self.signoff
        if not self._job:
            self._job = job_snapshot(self.job)
        transcript = read.transcript
        if signoff:
            transcript = [*transcript, self._entry(signoff, signoff.generation)]
        return {
            "transcript": transcript,
            "functionCalls": read.calls,
            "events": read.events,
            "failureCount": self.failures,
            "done": self.done,
            "model": self.model or "",
            "sessionId": self.session_id,
            "job": self._job,
        }


def reads_states(job: EvaluationJob) -> bool:
    """Return whether an assertion may read the object context after an earlier answer."""
    return any(
        isinstance(one, ExpressionAssertion) and _STATE_OF_A_MESSAGE.search(one.expression)
        for one in job.assertions
    )


_STATE_OF_A_MESSAGE = re.compile(r"(?:\.|::)\s*objectContext\b")


def _function_calls(events: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the calls of one message as assertions see them."""
    for request, event in paired_events(events):
        if request is not None:
            yield {
                "function": request["function"].get("name", ""),
                "args": request.get("arguments") or {},
                "failure": call_failure(request, event),
            }


def judge_view(
    job: EvaluationJob,
    condition: Condition,
    messages: Sequence[TranscriptMessage],
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    persona_facts: PersonaFacts | None = None,
) -> JudgeView:
    """Return what the judge may see of a finished conversation, with the object contexts at its
    start and end, and what the user's persona did to the facts.
    """
    seen = job.scorer.context
    if seen == "none":
        messages = [
            replace(m, generation=tuple(e for e in m.generation if has_contents([e])))
            for m in messages
        ]
    if seen != "all":
        before = after = None
    return JudgeView(job, condition, tuple(messages), before, after, persona_facts)


def recorded_transcript(
    job: EvaluationJob,
    talk: ConversationState,
    model: str | None,
    until_turn: int | None = None,
    *,
    with_states: bool = False,
) -> SpokenTranscript:
    """Return a recorded conversation as the assertions of `job` see it: whole, or until the end of
    a turn.

    The object context after each answer is in it if the job reads it, or `with_states`.
    """
    transcript = SpokenTranscript(job, talk.key.condition, talk.key.trial, model)
    transcript.session_id = talk.session_id or ""
    transcript.persona_facts = talk.persona_facts
    transcript.failures = talk.failures
    transcript.done = (
        until_turn is None and talk.ended is not None and talk.ended.reason == "signed_off"
    )
    turns = {m.message: m.turn for m in talk.messages}
    transcript.messages = [
        message
        for message in sent_messages(talk, job.evaluator.signoff)
        if until_turn is None or turns[message.message] <= until_turn
    ]
    if with_states or reads_states(job):
        # Reversed, so that the state after an answer wins over the one that is read at the end.
        seen = {one.after_turn: one.object_context for one in reversed(talk.observations)}
        transcript.states = {
            message.message: seen.get(turns[message.message])
            for message in transcript.messages
            if message.role == "assistant"
        }
    if transcript.done:
        transcript.signoff = recorded_signoff(talk)
    return transcript


def sent_messages(talk: ConversationState, signoff: str) -> tuple[TranscriptMessage, ...]:
    """Return a recorded conversation as the judge sees it: what was sent, never the sign-off."""
    messages = []
    for m in talk.messages:
        words = without_signoff(m.text, signoff) if m.signs_off else m.text
        if words is None:  # if it was sent, the job has another sign-off meanwhile
            words = m.text if talk.sent(m) else ""
        if m.done and (words or m.role == "assistant"):
            messages.append(_transcript_message(m, words))
    return tuple(messages)


def recorded_signoff(talk: ConversationState) -> TranscriptMessage | None:
    """Return the whole message with which a recorded conversation ended, or None."""
    return next(
        (_transcript_message(m, m.text) for m in reversed(talk.messages) if m.done and m.signs_off),
        None,
    )


def _transcript_message(m: MessageState, words: str) -> TranscriptMessage:
    took = m.latency_ms if m.role == "assistant" else m.thought_ms
    return TranscriptMessage(m.message, m.role, words, took, m.operator, tuple(m.generation))

"""The loop: greeting, answer, evaluator's message, answer, … until something ends it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tenacity import AsyncRetrying

from bioeval_tui.base.peer_limits import MAX_SESSION
from bioeval_tui.base.text import (
    clean,
    clean_line,
    plural,
    shorten,
)
from bioeval_tui.base.units import duration, latency
from bioeval_tui.evaluation.conversation.attempts import (
    DeltaJoiner,
    count_attempt,
    record_unused,
    recorded_attempts,
    recorded_event,
    stream_whole,
)
from bioeval_tui.evaluation.conversation.blame import Blame, BlamedEnding
from bioeval_tui.evaluation.conversation.control import ConversationControl
from bioeval_tui.evaluation.conversation.observe import Observation, Observer
from bioeval_tui.evaluation.conversation.plan import ConversationEmitter, Parts, RunPlan
from bioeval_tui.evaluation.conversation.standstill import MOST_OF_A_LATENCY
from bioeval_tui.guards import (
    asks_for,
    asks_for_just,
    brings_up_nothing,
    keeps_saying_goodbye,
    newly_disclosed_facts,
    unread,
)
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.peers import traces
from bioeval_tui.peers.goodbyes import agent_hung_up, without_signoff
from bioeval_tui.peers.seams import (
    Agent,
    Evaluator,
    EvaluatorView,
    PeerError,
    Reply,
    TranscriptMessage,
    Utterance,
    Violation,
    evaluator_job,
)
from bioeval_tui.peers.spending import Used
from bioeval_tui.peers.transcript import SpokenTranscript
from bioeval_tui.record import events
from bioeval_tui.record.participants import Role
from bioeval_tui.record.persona_facts import TIMES_ASKED

ENOUGH = 3
"""A user who had this many messages, with the greeting, could have brought up a task."""


class _LeftRoleTwice(Exception):
    """The evaluator left its role twice in a row."""


class _Spoken(NamedTuple):
    """A message of the evaluator."""

    utterance: Utterance
    told: tuple[int, ...]
    """The numbers of the facts that it was given for it."""
    thought_ms: float
    violations: list[Violation]
    """What guards found in it."""


class LateFacts:
    """The facts that a persona tells only once the agent has asked for them twice."""

    def __init__(self, transcript: SpokenTranscript) -> None:
        self._transcript = transcript
        drawn = transcript.persona_facts
        self._asked = dict.fromkeys(drawn.told_late if drawn else (), 0)
        """How often each was asked for, by its number."""
        self._heard = 0

    def held_back(self) -> frozenset[int]:
        """Return the facts that were not asked for twice so far."""
        if not self._asked:
            return frozenset()
        messages = self._transcript.messages
        for message in messages[self._heard :]:
            for number in self._asked if message.role == "assistant" else ():
                asked = asks_for_just(message.content, self._transcript.told_facts[number - 1])
                # In a language that is not read, any message may have asked.
                self._asked[number] += asked is not False
        self._heard = len(messages)
        return frozenset(number for number, times in self._asked.items() if times < TIMES_ASKED)


async def until_over(task: asyncio.Task[Any]) -> None:
    """Wait for the end of a task, whatever it is; who cancels the waiting cancels the task, too."""
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task})
        raise


class Dialogue:
    """The turns of one conversation."""

    def __init__(
        self,
        plan: RunPlan,
        parts: Parts,
        emitter: ConversationEmitter,
        control: ConversationControl,
        agent: Agent,
        evaluator: Evaluator,
        transcript: SpokenTranscript,
    ) -> None:
        self.plan = plan
        self.blame = Blame(plan.job.target.protocol, plan.shared_agent)
        self.parts = parts
        self.emitter = emitter
        self.control = control
        self.agent = agent
        self.evaluator = evaluator
        self.transcript = transcript
        self.observer = Observer(agent, parts, emitter, plan.limits, plan.job)
        self.traces = transcript.traces = (
            parts.traces.conversation(emitter.emit, plan.limits.spans_s) if parts.traces else None
        )
        self.turn = 0
        self.answered_turn = 0
        self._job_for_guards = plan.job.model_copy(update={"facts": transcript.told_facts})
        self._late = LateFacts(transcript)
        self._placebo: tuple[str, ...] = ()
        if plan.job.condition(transcript.condition).is_placebo:
            self._placebo = parts.placebo(plan.job, transcript.trial)
        self._observing: asyncio.Task[Observation] | None = None
        self.paused_s = 0.0
        self._active_s = 0.0
        self._asked_at = time.monotonic()
        self._shown_job: tuple[tuple[str, ...], EvaluationJob] | None = None
        """The facts that the user had for its latest message, and the job with no others."""
        self._readers: dict[Any, tuple[Any, int]] = {}
        # Used for each message again: tenacity's objects hold each other, so that new ones for each
        # message would be work for the garbage collector.
        self._attempts_at_answer = self.attempts_at_agent(self._next_number)
        self._attempts_to_speak = recorded_attempts(
            emitter, plan.limits, plan.limits.model_retries, message=self._next_number,
            counts=lambda _: False, ours=lambda error: error.crowded and plan.shared_agent > 1,
        )  # fmt: skip

    @property
    def greeting(self) -> str:
        """The user's first message."""
        said = self.transcript
        facts = [said.told_facts[number - 1] for number in self._told_at_once()]
        return self.plan.greeting(said.trial, said.condition, facts)

    def _told_at_once(self) -> tuple[int, ...]:
        """Return the numbers of the facts that are told where all are told at once."""
        held_back = self._late.held_back()
        return tuple(number for number in self.transcript.fact_numbers if number not in held_back)

    def _known_now(self) -> tuple[int, ...]:
        """Return the numbers of the facts that the user may tell in its next message.

        A script has its lines for all of them, and keeps them back itself.
        """
        if self.plan.job.evaluator.kind == "scripted":
            return self.transcript.fact_numbers
        return self._told_at_once()

    async def run(self) -> BlamedEnding:
        """Run the conversation; return why it ended.

        Cancelling the task cancels the conversation.
        """
        said = self.transcript
        told: tuple[int, ...] = ()
        if self.plan.job.condition(said.condition).tells == "all":
            told = self._told_at_once()
        try:
            await self._gate()
            self._user_message(self.greeting, told=told)
            await self._answer(self.greeting)
            while True:
                ending = await self._one_turn()
                if ending is not None:
                    return self._unless_nothing_was_asked(ending)
        except PeerError as error:
            return self.ended_by(error)
        except _LeftRoleTwice as error:
            return BlamedEnding(reason="evaluator_failed", fault="evaluator", detail=str(error))
        finally:
            await self._end_observing()
            guarded = self.plan.job.evaluator.kind == "llm"
            for code, message in unread(self._guards_view(), guarded=guarded):
                self.emitter.emit(events.Warned, code=code, message=message)

    def _unless_nothing_was_asked(self, ending: BlamedEnding) -> BlamedEnding:
        """Return `ending`, or the evaluator's failure if it brought up none of the tasks although
        the agent did not say goodbye to it.
        """
        said = sum(message.role == "user" for message in self.transcript.messages)
        had_turns = ending.reason == "signed_off" or (
            ending.reason == "max_turns" and said >= ENOUGH
        )
        if not had_turns or self.parts.guard is None:
            return ending
        if not brings_up_nothing(self._guards_view()):
            return ending
        # Else an agent that does badly would be left out if it hangs up on a user who is polite.
        if agent_hung_up(self.transcript.messages, self.plan.job.evaluator.signoff):
            return ending
        detail = f"the user brought up none of the tasks in {plural(said, 'message')}"
        return BlamedEnding(reason="evaluator_failed", fault="evaluator", detail=detail)

    async def _one_turn(self) -> BlamedEnding | None:
        """Get a message from the evaluator (or the operator) and the agent's answer; return the
        ending if it ended.
        """
        # No fault: a stalling agent and a rambling user both end here. The tasks' scores tell them
        # apart.
        if len(self.transcript.messages) >= self.plan.job.max_messages:
            return BlamedEnding(
                reason="max_turns",
                detail=f"{self.plan.job.max_messages} messages without a sign-off",
            )
        if self._active_s > self.plan.limits.conversation_s:
            return BlamedEnding(
                reason="timed_out",
                fault="agent",
                detail=f"longer than {self.plan.limits.conversation_s:g} s",
            )
        await self._gate()
        said = await self._next_words()
        if said is None:
            return None
        to_send, signs_off = said
        if not to_send:
            return BlamedEnding(reason="signed_off")
        began = time.monotonic()
        await self._answer(to_send)
        self._active_s += time.monotonic() - began
        if signs_off:
            return BlamedEnding(reason="signed_off")
        return None

    async def _gate(self) -> None:
        began = time.monotonic()
        await self.control.gate()
        self.paused_s += time.monotonic() - began

    async def _next_words(self) -> tuple[str, bool] | None:
        """Return what to send to the agent and whether it is the end; None if there is no
        message.
        """
        if self.control.taken_over:
            text = await self.control.operator_text()
            await self._end_observing()
            if text is None:
                return None
            return self._user_message(text, operator=True)
        spoken = await self._evaluator_speaks()
        try:
            await self._end_observing()
        except BaseException:
            self._unused(spoken)
            raise
        content = spoken.utterance.content
        job = self.plan.job
        # As published, only the sign-off ends a conversation.
        over = (
            job.evaluator.kind == "llm"
            and job.compat != "embabel"
            and keeps_saying_goodbye(self._guards_view(), content)
        )
        return self._user_message(content, spoken=spoken, over=over)

    async def _evaluator_speaks(self) -> _Spoken:
        """Return the evaluator's next message; if a guard voids it, ask for another one, once."""
        spoken = await self._try_to_speak("")
        void = [violation for violation in spoken.violations if violation.effect == "void"]
        if void:
            self._unused(spoken)
            again = await self._try_to_speak(void[0].note)
            still = [violation for violation in again.violations if violation.effect == "void"]
            for violation in void:
                self._violated(violation, spoken, mended=not still)
            if still:
                self._unused(again)
                self._violated(still[0], again)
                raise _LeftRoleTwice(f"{still[0].rule}: {still[0].detail}")
            spoken = again
        for mark in spoken.violations:
            self._violated(mark, spoken)
        if spoken.utterance.cut:
            message = (
                f"only the beginning of the user's message {self._next_number()} is used: what the"
                f" model wrote {spoken.utterance.cut}"
            )
            self.emitter.emit(events.Warned, code="message_cut", message=message)
        return spoken

    def _unused(self, spoken: _Spoken) -> None:
        """Record that a message that is not sent was paid for, if a model wrote it."""
        if self.plan.job.evaluator.kind in ("scripted", "human"):
            return
        used = Used()
        used.add(spoken.utterance.tokens_in, spoken.utterance.tokens_out)
        record_unused(self.emitter, "evaluator", used, self._next_number())

    def _view(self, known: Sequence[int], note: str) -> EvaluatorView:
        """Return what the evaluator sees, with the facts of these numbers and no others."""
        transcript = self.transcript
        messages = tuple(transcript.messages)
        facts = tuple(transcript.told_facts[number - 1] for number in known)
        if self._shown_job is None or self._shown_job[0] != facts:
            self._shown_job = facts, evaluator_job(self.plan.job, facts, transcript.condition)
        return EvaluatorView(
            self._shown_job[1],
            transcript.condition,
            transcript.trial,
            facts,
            messages,
            note,
            self._placebo,
        )

    def _guards_view(self) -> EvaluatorView:
        """Return what guards see: the whole job, because they must know what is withheld."""
        said = self.transcript
        known, drawn = self._known_now(), said.persona_facts
        held_back = set(drawn.held_back if drawn else ()).difference(known)
        return EvaluatorView(
            self._job_for_guards,
            said.condition,
            said.trial,
            tuple(said.told_facts[number - 1] for number in known),
            said.messages,
            placebo=self._placebo,
            held_back=frozenset(held_back),
            persona_facts=drawn,
            readers=self._readers,
        )

    async def _try_to_speak(self, note: str) -> _Spoken:
        """Return a message; one that is unusable is asked for again, if the evaluator says so."""
        try:
            return await self._speak_once(note)
        except PeerError as error:
            if not error.again:
                raise
            return await self._speak_once(f"{note} {error.again}".strip())

    async def _speak_once(self, note: str) -> _Spoken:
        number, limits = self._next_number(), self.plan.limits
        told = self._known_now()
        view = self._view(told, note)
        async for attempt in self._attempts_to_speak:
            with attempt:
                self._message_starts(number, self.turn + 1, "user", self.plan.job.evaluator.name)
                joiner = DeltaJoiner(self.emitter, number)
                began = time.monotonic()
                try:
                    with count_attempt(self.emitter, self.parts.budget, "evaluator", number):
                        async with asyncio.timeout(limits.evaluator_s):
                            spoken = await stream_whole(
                                self.evaluator.speak(view), joiner, "evaluator"
                            )
                except TimeoutError:
                    joiner.drop()
                    raise PeerError(
                        "evaluator", f"no message within {limits.evaluator_s:g} s"
                    ) from None
                break  # else tenacity would look at what has succeeded
        assert isinstance(spoken, Utterance)
        thought_ms = (time.monotonic() - began) * 1000
        utterance = replace(spoken, content=clean(spoken.content))
        violations: list[Violation] = []
        if self.parts.guard is not None:
            violations += self.parts.guard(self._guards_view(), utterance.content)
        return _Spoken(utterance, told, thought_ms, violations)

    async def _answer(self, content: str) -> None:
        """Send `content`, record the answer, and start observing."""
        number = self._next_number()
        speaker, injects = "agent", self.plan.job.target.injects_failures
        # Everything that led to a message is on disk before it is sent to the agent.
        await self.emitter.written()
        began = time.monotonic()
        async for attempt in self._attempts_at_answer:
            with attempt:
                # a model's requests are counted where they are sent
                if not self.plan.agent_is_model:
                    self.parts.budget.begin("agent")
                traceparent = self.traces.begin(number) if self.traces else None
                self._message_starts(number, self.turn, "assistant", speaker, traceparent)
                self._asked_at = time.monotonic()
                token = traces.current.set(traceparent or "")
                try:
                    with count_attempt(self.emitter, self.parts.budget, "agent", number):
                        reply = await stream_whole(
                            self.agent.send(content),
                            DeltaJoiner(self.emitter, number, injects=injects),
                        )
                finally:
                    traces.current.reset(token)
                break  # else tenacity would look at what has succeeded
        assert isinstance(reply, Reply)
        waited_s = reply.started - began
        if attempt.retry_state.attempt_number > 1:
            # An agent may have answered a part before the attempt that failed, and goes on from
            # there: the wait is after its start.
            waited_s = max(waited_s, time.monotonic() - began - reply.latency_ms / 1000)
        if self.traces:
            self.traces.answered()
        timing = self._timing(number, reply)
        answer = clean(reply.content)
        session = reply.session if reply.session != self.transcript.session_id else ""
        self.transcript.session_id = session or self.transcript.session_id
        generation = tuple(recorded_event(event, injects=injects) for event in reply.generation)
        self.transcript.messages.append(
            TranscriptMessage(
                number, "assistant", answer, timing.get("latency_ms"), generation=generation
            )
        )
        self.emitter.emit(
            events.MessageCompleted,
            message=number,
            turn=self.turn,
            role="assistant",
            speaker=speaker,
            content=answer,
            waited_ms=max(0.0, waited_s * 1000),
            **timing,
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            generation=generation,
            cut_off=reply.cut_off,
            session_id=clean_line(session, MAX_SESSION) or None,
        )
        self.answered_turn = self.turn
        self._observing = asyncio.create_task(self.observer.after_turn(self.transcript, self.turn))

    def _user_message(
        self,
        content: str,
        *,
        operator: bool = False,
        spoken: _Spoken | None = None,
        told: Sequence[int] = (),
        over: bool = False,
    ) -> tuple[str, bool]:
        """Record the user's message; return the part to send, and whether it ends the conversation.

        One that is `over` ends it without the sign-off, and is not sent. `told` are the job's facts
        (from 1) that a greeting is known to give, besides those that are found in it.

        The transcript contains only sent messages; the sign-off is kept separately, for assertions.
        """
        number = self._next_number()
        self.turn += 1
        speaker = "operator" if operator else self.plan.job.evaluator.name
        if spoken is None:
            self._message_starts(number, self.turn, "user", speaker)
        words = without_signoff(content, self.plan.job.evaluator.signoff)
        if words is None and over:  # a second goodbye in a row: the agent has answered one already
            words = ""
        signs_off = words is not None
        to_send = content if words is None else words
        given = self._disclosed(content, spoken, told)
        thought_ms = spoken.thought_ms if spoken else None
        message = TranscriptMessage(number, "user", content, thought_ms, operator)
        if to_send:
            self.transcript.messages.append(replace(message, content=to_send))
        if signs_off:
            self.transcript.signoff = message
        self.emitter.emit(
            events.MessageCompleted,
            message=number,
            turn=self.turn,
            role="user",
            speaker=speaker,
            content=content,
            thought_ms=thought_ms,
            operator=operator,
            signs_off=signs_off,
            tokens_in=spoken.utterance.tokens_in if spoken else None,
            tokens_out=spoken.utterance.tokens_out if spoken else None,
        )
        for fact, asked in given:
            self.transcript.disclosed.add(fact)
            text = self._job_for_guards.facts[fact - 1]
            self.emitter.emit(
                events.FactDisclosed,
                fact=fact,
                text=text,
                message=number,
                turn=self.turn,
                asked=asked,
            )
        return to_send, signs_off

    def _disclosed(
        self, content: str, spoken: _Spoken | None, told: Sequence[int]
    ) -> list[tuple[int, bool | None]]:
        """Return the number of each fact that a user message discloses for the first time, and
        whether the agent asked for it (None if it asks in a language that is not read).

        Unless one has `spoken`, no evaluator says which facts it gave.
        """
        facts, already = self._job_for_guards.facts, self.transcript.disclosed
        disclosed = set(told)
        if spoken is not None:
            # It counts the facts that it was given, which need not be all of the job's.
            known, named = spoken.told, spoken.utterance.facts
            disclosed |= {known[number - 1] for number in named if 1 <= number <= len(known)}
        if spoken is None or not spoken.utterance.no_other_facts:
            disclosed |= set(newly_disclosed_facts(self._guards_view(), content, already))
        asked_by = self.transcript.last_agent_message
        return [
            (number, asks_for(asked_by, facts[number - 1]))
            for number in sorted(disclosed - already)
        ]

    def _message_starts(
        self, number: int, turn: int, role: Role, speaker: str, traceparent: str | None = None
    ) -> None:
        self.emitter.emit(
            events.MessageStarted,
            message=number,
            turn=turn,
            role=role,
            speaker=speaker,
            traceparent=traceparent,
        )

    async def settle_traces(self) -> None:
        """Wait for the agent's spans, and add tool calls that only they report to the
        transcript.
        """
        if self.traces is None:
            return
        missing = await self.traces.settle()
        for message, calls in self.transcript.settle():
            self.emitter.emit(events.CallsTraced, message=message, generation=tuple(calls))
        self.traces.release()
        if missing:
            self.emitter.emit(events.Warned, code="spans", message=missing)

    def _violated(self, violation: Violation, spoken: _Spoken, *, mended: bool = False) -> None:
        self.emitter.emit(
            events.EvaluatorViolated,
            rule=violation.rule,
            detail=clean_line(violation.detail),
            message=self._next_number(),
            content=spoken.utterance.content,
            mended=mended,
            effect=violation.effect,
            quote=shorten(clean_line(violation.quote), 200),
        )

    def _next_number(self) -> int:
        """Return the number of the next message."""
        return len(self.transcript.messages) + 1

    def attempts_at_agent(self, message: Callable[[], int | None] = lambda: None) -> AsyncRetrying:
        """Return the attempts at a request to the agent."""
        return recorded_attempts(
            self.emitter,
            self.plan.limits,
            self.plan.limits.agent_retries,
            message=message,
            counts=self._counts_against_agent,
            ours=self.blame.deserves_patience,
        )

    def _counts_against_agent(self, error: PeerError) -> bool:
        """Count a failed attempt, but not one that we caused, or a failure while this process was
        suspended.
        """
        counted = error.peer == "agent" and not error.disagrees and not self.blame.is_ours(error)
        still_s = self.parts.watchdog.suspension(self._asked_at) if counted else 0.0
        if still_s and not self._agent_runs_here:
            why, what = (
                self.parts.watchdog.pause_cause(self._asked_at),
                "a failure of the agent meanwhile does not count",
            )
            message = f"this program did not run for {duration(still_s)} ({why}); {what}"
            self.emitter.emit(events.Warned, code="stood_still", message=message)
            counted = False
        self.transcript.failures += counted
        return counted

    def _timing(self, number: int, reply: Reply) -> dict[str, float]:
        """Return an answer's latency, or for how long this process was suspended if that was much
        of it; say so if it did not run for any reason.
        """
        watchdog, most_ms = self.parts.watchdog, MOST_OF_A_LATENCY * reply.latency_ms
        timing = {"latency_ms": reply.latency_ms}
        if reply.first_token is not None:
            timing["first_token_ms"] = max(0.0, reply.first_token - reply.started) * 1000
        blocked_ms = 1000 * watchdog.lost(reply.started, reply.ended)
        if blocked_ms <= most_ms:
            return timing
        why, outcome = watchdog.pause_cause(reply.started), "its latency counts"
        stopped_ms = 1000 * watchdog.stopped(reply.started, reply.ended)
        if self._agent_runs_here:
            why = f"{why}; or the agent's function kept it from running"
        elif stopped_ms > most_ms:
            timing, outcome = {"blocked_ms": stopped_ms}, "its latency does not count"
        message = (
            f"answer {number} took {latency(reply.latency_ms)}, and this program did not run for"
            f" {latency(blocked_ms)} of them ({why}): {outcome}"
        )
        self.emitter.emit(events.Warned, code="blocked", message=message)
        return timing

    @property
    def _agent_runs_here(self) -> bool:
        """Whether the agent's own code runs in this process, so that it can make it stand still."""
        return bool(getattr(self.agent, "runs_here", False))

    def ended_by(self, error: PeerError) -> BlamedEnding:
        """Return how a peer's last failure ends the conversation."""
        return self.blame.ending(
            error, answers=self.transcript.answers, messages=len(self.transcript.messages)
        )

    async def _end_observing(self) -> None:
        """Wait for the observation of the last turn, so that no check ever sees the next one's
        state.
        """
        task, self._observing = self._observing, None
        if task is None:
            return
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            task.cancel()
        await until_over(task)
        if not task.cancelled():
            task.result()

"""Run a job: prepare, run, check, judge and score the conditions of every trial."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from tenacity import AsyncRetrying

from bioeval_tui import __version__
from bioeval_tui.base.errors import BioevalError, NotMeasuredError, QueryError, exhausted
from bioeval_tui.base.peer_limits import MAX_SESSION
from bioeval_tui.base.text import clean_line, plural, shorten
from bioeval_tui.base.units import duration
from bioeval_tui.evaluation.conversation import exam, scoring
from bioeval_tui.evaluation.conversation.attempts import (
    count_attempt,
    record_unused,
    recorded_attempts,
    stream_whole,
)
from bioeval_tui.evaluation.conversation.blame import START_AGENT, BlamedEnding
from bioeval_tui.evaluation.conversation.call_counts import TIMES_HELD
from bioeval_tui.evaluation.conversation.control import Control, RunCancelledError
from bioeval_tui.evaluation.conversation.observe import what_differs
from bioeval_tui.evaluation.conversation.plan import ConversationEmitter, Emitter, Parts, RunPlan
from bioeval_tui.evaluation.conversation.resume import MOST_UNMEASURED, ConversationRecord, Earlier
from bioeval_tui.evaluation.conversation.sentinels import judge_sentinels
from bioeval_tui.evaluation.conversation.sessions import APART, OverheardAgent, Session
from bioeval_tui.evaluation.conversation.standstill import LONG_S, Gap
from bioeval_tui.evaluation.conversation.turns import Dialogue, until_over
from bioeval_tui.jobs.filling import has_placeholders
from bioeval_tui.jobs.loading import job_snapshot
from bioeval_tui.jobs.models import (
    CypherAssertion,
    CypherSetup,
    EvaluationJob,
    Seed,
    Setup,
    TextSeed,
)
from bioeval_tui.peers.seams import Agent, KnowledgeGraph, PeerError
from bioeval_tui.peers.spending import LimitReachedError, SpendingBudget, Used, counting
from bioeval_tui.peers.transcript import SpokenTranscript, judge_view
from bioeval_tui.record import events, score as composite
from bioeval_tui.record.cases import question_hash
from bioeval_tui.record.condition_names import Condition, without_placebo
from bioeval_tui.record.events import AgentsGraph, Fault, TaskScored
from bioeval_tui.record.participants import add_served
from bioeval_tui.record.warning_codes import NOTHING_OBSERVED, STARTS_DIFFER

Ended = TypeVar("Ended", bound=BlamedEnding | None)
GRAPH_S = 10.0
"""How long the graph may take to answer before a run begins."""


async def preflight(plan: RunPlan, parts: Parts) -> tuple[str, ...]:
    """Find problems that would invalidate every conversation, before the first one costs anything;
    return what may not be meant, as sentences.

    Raises:
        NotMeasuredError: the graph or the FHIR server that the job asks for does not answer.
    """
    job = plan.job
    if parts.graph is not None and job.asks_graph:
        await _require_answer_of(parts.graph)
    if parts.records is None or not (job.writes_records or job.record_queries):
        return ()
    queries = [query for query in job.record_queries if not has_placeholders(query)]
    try:
        return await parts.records.examine(queries)
    except (PeerError, QueryError) as error:
        why = (
            "the FHIR server, which the job's setups or assertions use,"
            f" {_how_it_failed(error)}: {clean_line(str(error))}"
        )
        if isinstance(error, PeerError) and error.unreachable and _is_of_agent(job):
            why += f"; {START_AGENT}"
        raise NotMeasuredError(why) from error


def _is_of_agent(job: EvaluationJob) -> bool:
    """Return whether the agent itself serves the patients' records."""
    return job.fhir is not None and job.fhir.url.startswith("/")


def _how_it_failed(error: PeerError | QueryError) -> str:
    """Return whether a server gave no answer, or one that is an error or of no use."""
    if isinstance(error, PeerError):
        if error.status is not None and error.status >= 400:
            return "answered with an error"
        if error.status is None and not error.unusable:
            return "is not available"
    return "does not answer as the job needs it"


async def _require_answer_of(graph: KnowledgeGraph) -> None:
    """Raise `NotMeasuredError` if a graph does not answer."""
    try:
        await graph.query("RETURN 1 AS reached", timeout_s=GRAPH_S)
    except (PeerError, QueryError) as error:
        raise NotMeasuredError(
            "the knowledge graph, which the job's setups or Cypher assertions use, is not"
            f" available: {clean_line(str(error))}"
        ) from error


def require_graph(plan: RunPlan, parts: Parts) -> None:
    """Raise `NotMeasuredError` if the job needs a graph but has none, because no conversation could
    have a score.

    Called once the agent has opened a session, because the sample agent reports its graph, and an
    unreachable agent is reported first. With `--graph none`, the conversations run and Cypher
    assertions are not measured.
    """
    if parts.graph is not None:
        return
    setups = sum(isinstance(setup, CypherSetup) for setup in plan.job.setups)
    if setups:
        raise NotMeasuredError(f"{plural(setups, 'setup')} cannot run: {parts.no_graph}")
    asking = sum(isinstance(assertion, CypherAssertion) for assertion in plan.job.assertions)
    if asking and not parts.does_without_graph:
        raise NotMeasuredError(
            f"{plural(asking, 'Cypher assertion')} cannot be checked: {parts.no_graph}",
            ways=("--graph none runs the conversations without it",),
        )


class _AnotherGraphError(NotMeasuredError):
    """The agent says that it uses another graph: nobody else says so, and it may say so when it
    likes.
    """


async def require_agents_graph(plan: RunPlan, parts: Parts) -> AgentsGraph | None:
    """Return whether the agent says that it uses the graph that setups and assertions query; None
    if none is needed.

    Raises:
        NotMeasuredError: it says that it uses another one.
    """
    if parts.graph is None or not plan.job.asks_graph:
        return None
    other = await parts.other_graph()
    if other:
        raise _AnotherGraphError(
            f"setups and Cypher assertions would query the wrong graph: {other}"
        )
    if other is None:
        return "unknown"
    return "same"


async def apply_setups(plan: RunPlan, parts: Parts, emitter: ConversationEmitter) -> None:
    """Run the job's setups; those in Cypher only if there is a graph (see `require_graph`).

    Raises:
        NotMeasuredError: a setup failed, so the condition cannot start from a known state.
    """
    for index, setup in enumerate(plan.job.setups):
        if isinstance(setup, CypherSetup) and parts.graph is None:
            continue
        began = time.monotonic()
        error: str | None = None
        try:
            await _apply_setup(setup, parts, plan.limits.setup_s)
        except (QueryError, PeerError) as failure:
            error = clean_line(str(failure))
        what = {"cypher" if isinstance(setup, CypherSetup) else "fhir": setup.title}
        emitter.emit(
            events.SetupApplied,
            index=index,
            **what,
            elapsed_ms=(time.monotonic() - began) * 1000,
            error=error,
        )
        if error is not None:
            raise NotMeasuredError(f"setup {index + 1} failed: {error}")


async def _apply_setup(setup: Setup, parts: Parts, timeout_s: float) -> None:
    if isinstance(setup, CypherSetup):
        assert parts.graph is not None
        await parts.graph.execute(setup.cypher, timeout_s=timeout_s)
    else:
        assert parts.records is not None  # `check` requires a server
        await parts.records.write(setup.fhir, timeout_s=timeout_s)


async def apply_seeds(
    plan: RunPlan,
    agent: Agent,
    emitter: ConversationEmitter,
    ours: Callable[[PeerError], bool],
    budget: SpendingBudget,
) -> None:
    """Send the seeds to the agent.

    Assistant messages that its protocol cannot record are left out, with a warning.

    `ours` recognises refusals caused by our own concurrency; failures of seeds never count.

    Raises:
        NotMeasuredError: a seed was rejected, so the agent would lack knowledge that the job gives
            it.
        LimitReachedError: the `budget` allows no further message.
    """
    skipped = 0
    for index, seed in enumerate(plan.job.seeds):
        what = "text" if isinstance(seed, TextSeed) else "conversation"
        refused = ""
        try:
            detail = await _apply_seed(seed, agent, emitter, plan, ours, budget)
        except LimitReachedError:
            raise
        except BioevalError as error:
            detail = refused = clean_line(str(error))
        emitter.emit(events.SeedApplied, index=index, what=what, applied=not detail, detail=detail)
        if refused:
            raise NotMeasuredError(f"seed {index + 1} was rejected: {refused}")
        skipped += bool(detail)
    if skipped:
        message = (
            f"{skipped} of {plural(len(plan.job.seeds), 'seed')} only partly applied, so the agent"
            " knows less than the job intends"
        )
        emitter.emit(events.Warned, code="seed_not_applied", message=message)


async def _apply_seed(
    seed: Seed,
    agent: Agent,
    emitter: ConversationEmitter,
    plan: RunPlan,
    ours: Callable[[PeerError], bool],
    budget: SpendingBudget,
) -> str:
    """Apply one seed; return what could not be applied, empty if everything was."""

    def attempts() -> AsyncRetrying:
        return recorded_attempts(
            emitter, plan.limits, plan.limits.agent_retries, counts=lambda error: False, ours=ours
        )

    if isinstance(seed, TextSeed):
        async for attempt in attempts():
            with attempt:
                await agent.seed_text(seed.text)
        return ""
    left_out = 0
    for message in seed.messages:
        if await agent.seed_history(message.role, message.content):
            continue
        if message.role == "assistant":
            left_out += 1
            continue
        async for attempt in attempts():
            with attempt, count_attempt(emitter, budget, "agent"):
                if not plan.agent_is_model:  # a model's requests are counted where they are sent
                    budget.begin("agent")
                await stream_whole(agent.send(message.content), None)
    if left_out:
        return f"{left_out} given assistant messages could not be recorded as history"
    return ""


SEEN_BY_OTHERS = (
    "conversations ran at the same time on one knowledge graph or FHIR server, so each could see"
    " what the others wrote; without `order: parallel` they run one after another"
)
TYPED_BY_A_PERSON = "a person took over and typed messages of the user"


def end_run(
    plan: RunPlan, emitter: Emitter, earlier: Earlier, *, stopped: str = "", early: bool = False
) -> events.RunEnded:
    """Emit the last event, with the means over the conversations of `earlier`.

    `stopped` says why no further conversations were started. `early` is true if fewer trials were
    run than planned at first.
    """
    scores: dict[Condition, list[float | None]] = {}
    for condition in plan.conditions:
        records = [earlier.finished.get((condition, trial + 1)) for trial in range(plan.trials)]
        scores[condition] = [record.score if record else None for record in records]
    cancelled = bool(stopped) or any(record.cancelled for record in earlier.finished.values())
    return emitter.emit(
        events.RunEnded,
        status="cancelled" if cancelled else "completed",
        detail=stopped,
        scores={condition: composite.mean_of(values) for condition, values in scores.items()},
        mean=composite.mean_of_conditions(
            scores, without_placebo(condition.name for condition in plan.job.held_in)
        ),
        clean=earlier.clean,
        compared=tuple(sorted(earlier.compared or ())),
        trials=plan.trials if early else None,
    )


_RECORDED = (
    "job_name", "job_path", "job_sha256", "agent", "evaluator", "judge", "graph", "fhir",
    "rehearsal", "hosts", "prompts", "model",
    "agent_is_model", "seed", "trials", "conditions", "batch_id", "git_revision", "options",
    "cases",
)  # fmt: skip


def started_fields(plan: RunPlan) -> dict[str, Any]:
    """Return the fields of `RunStarted`."""
    same = {name: getattr(plan, name) for name in _RECORDED}
    return {
        **same,
        "job": job_snapshot(plan.job),
        "program_version": __version__,
        "concurrency": plan.shared_agent,
    }


def _long_gaps(gaps: Sequence[Gap]) -> str:
    """Return how often and how long this program did not run, as a sentence."""
    longest = max(gaps, key=lambda gap: gap.length)
    pieces = plural(len(gaps), "time")
    return (
        f"this program did not run for over {LONG_S:g} s in one piece, {pieces}, the longest"
        f" {duration(longest.length)} ({longest.cause})"
    )


class JobRun:
    """Every conversation of a plan."""

    def __init__(
        self,
        plan: RunPlan,
        parts: Parts,
        emitter: Emitter,
        control: Control,
        earlier: Earlier | None = None,
    ) -> None:
        """`earlier` has the finished conversations of a resumed run."""
        earlier = earlier or Earlier({}, {})
        self.plan = plan
        self.parts = parts
        self.emitter = emitter
        self.control = control
        self.began = time.monotonic()
        self.attempts = earlier.attempts
        self.had_begun = earlier.has_begun
        self.clean = earlier.clean
        self.compared = earlier.compared
        """The parts of the starting states that were compared in every trial; None before the
        first.
        """
        self.records: dict[tuple[Condition, int], ConversationRecord] = dict(earlier.finished)
        self.stopped = ""
        self.unmeasured: list[events.ConversationScored] = []
        """The ends of the conversations that could not be measured since the judge's last verdict.
        """
        self.decided_early = False
        self._told: set[str] = set()
        self.examined: events.JudgeExamined | None = None
        """The judge's exam, if there was one."""
        self._examining = asyncio.Lock()
        parts.sessions.recall(plan.run_id, plan.agent, earlier.sessions)

    async def run(self) -> events.RunEnded:
        """Run every conversation and emit all events; return the last one.

        A failing one never ends the others.

        Raises:
            NotMeasuredError: no conversation could be measured, so none was run.
        """
        trials = range(1, self.plan.trials + 1)
        with contextlib.suppress(RunCancelledError), self.control.beginning():
            for doubt in await preflight(self.plan, self.parts):
                self.emitter.emit(events.Warned, code="fhir", message=doubt)
            await self._examine_judge()
            await self._judge_sentinels(after=False)
        at_once = self.plan.parallel or self.plan.shared_agent > 1
        if (
            at_once
            and (self.parts.graph is not None or self.parts.records is not None)
            and len(self.plan.conditions) * self.plan.trials > 1
        ):
            self.not_clean(SEEN_BY_OTHERS)
        if self.parts.next_round is not None:
            await self._hold_rounds(self.parts.next_round)
        else:
            await self.hold(trials)
        with contextlib.suppress(RunCancelledError), self.control.beginning():
            await self._judge_sentinels(after=True)
        if self.parts.traces is not None and (strangers := self.parts.traces.close()):
            self.emitter.emit(events.Warned, code="spans", message=strangers)
        self.note_gaps()
        await self.emitter.written()
        earlier = Earlier(self.records, self.attempts, self.clean, self.compared)
        return end_run(
            self.plan, self.emitter, earlier, stopped=self.stopped, early=self.decided_early
        )

    async def hold(self, trials: Sequence[int]) -> None:
        """Hold these trials, and nothing that a run does once, before or after them."""
        if self.plan.shared_agent > 1:
            await self._several_at_once(iter(trials))
        else:
            for trial in trials:
                await self._trial(trial)

    def note_gaps(self) -> None:
        """Record how often and how long this program did not run, if it was for long."""
        if gaps := self.parts.watchdog.long_gaps(self.began):
            self.emitter.emit(events.Warned, code="blocked", message=_long_gaps(gaps))

    async def _several_at_once(self, trials: Iterator[int]) -> None:
        """Run trials, as many at once as conversations: one that waits between its conditions keeps
        its starting states.
        """

        async def some() -> None:
            for trial in trials:
                await self._trial(trial)

        await asyncio.gather(
            *(some() for _ in range(min(self.plan.shared_agent, self.plan.trials)))
        )

    async def _examine_judge(self) -> None:
        """Examine the judge before anything is judged, if that is asked for."""
        if not self.plan.exam:
            return
        try:
            await self._hold_exam()
        except LimitReachedError as error:
            self.stopped = self.stopped or str(error)

    async def _hold_exam(self, *, anew: bool = False) -> None:
        """Ask the judge about the controls and record the exam; `anew` also if it is remembered.

        Raises `LimitReachedError`.
        """
        fields = await exam.hold_exam(
            exam.exam_of_run(self.plan),
            self.parts.judge,
            self.plan.limits.judge_s,
            self.parts.budget,
            self.parts.exams,
            anew=anew,
        )
        self.examined = self.emitter.emit(events.JudgeExamined, **fields)

    async def judge_refusal(self, judge: str) -> str:
        """Return why the verdicts of a judge, as served, do not count; empty if they do.

        What is remembered of one model says nothing about another that is served by now under its
        name.
        """
        async with self._examining:
            if (
                self.examined is not None
                and self.examined.remembered
                and self.examined.judge != judge
            ):
                await self._hold_exam(anew=True)
        if self.examined is None:
            return ""
        return self.examined.refusal

    async def _judge_sentinels(self, *, after: bool) -> None:
        """Ask the judge about conversations with known verdicts, if the job wants it.

        A resumed run that had begun a conversation, even if it finished none, had asked before it.
        """
        if not self.plan.job.scorer.sentinels or (self.had_begun and not after):
            return
        try:
            with counting(self.parts.budget):
                fields = await judge_sentinels(
                    self.parts.judge, self.plan.job, self.plan.limits.judge_s, after=after
                )
        except LimitReachedError as error:
            self.stopped = self.stopped or str(error)
            return
        self.emitter.emit(events.SentinelsJudged, **fields)

    async def _hold_rounds(self, next_round: Callable[[int], Awaitable[bool]]) -> None:
        """Run trials in rounds together with the other runs until the result is decided; emit the
        decision.
        """
        for trial in range(1, self.plan.trials + 2):
            needed = await next_round(trial)
            if trial > self.plan.trials:
                break
            if not needed:
                self.plan = replace(self.plan, trials=trial - 1)
                self.decided_early = True
                break
            await self._trial(trial)
        self.emitter.emit(events.Warned, code="decision", message=self.parts.decision())

    async def _trial(self, trial: int) -> None:
        todo = [
            condition
            for condition in self.plan.order(trial)
            if (condition, trial) not in self.records
        ]
        if self.plan.parallel:
            await asyncio.gather(*(self._hold(condition, trial) for condition in todo))
        else:
            for condition in todo:
                await self._hold(condition, trial)
        if todo:
            self._compare_starts(trial)

    async def _hold(self, condition: Condition, trial: int) -> None:
        """Run one conversation; hold it once more if the connection to the agent broke, which
        nobody can blame on the agent.

        If it breaks at the same message again, that is the agent's failure.
        """
        async with self.parts.slot():
            why_not = self.stopped or self.parts.may_begin() or self._why_hopeless()
            if why_not is not None:
                self.stopped = why_not
                return
            if self.control.conversation(condition).cancelled:
                self.records[condition, trial] = ConversationRecord(cancelled=True)
                return
            broke: BlamedEnding | None = None
            for attempt in range(1, TIMES_HELD + 1):
                broke = await self._hold_once(condition, trial, attempt, broke)
                if broke is None:
                    break
            record = self.records[condition, trial]
            if record.unmeasured:
                self.unmeasured.append(record.unmeasured)
            elif record.judged:
                self.unmeasured.clear()

    def _why_hopeless(self) -> str | None:
        """Return why no further conversation is worth starting, a sentence: neither agent nor user
        kept the last ones from being measured. None if it is worth it.

        Their faults may differ: how many are enough is that of the last one's.
        """
        if not self.unmeasured:
            return None
        last = self.unmeasured[-1]
        if len(self.unmeasured) < MOST_UNMEASURED[last.fault]:
            return None
        why = f"{len(self.unmeasured)} conversations in a row could not be measured"
        return f"{why}, the last one: {shorten(last.reason, 300)}"

    async def _hold_once(
        self, condition: Condition, trial: int, attempt: int, before: BlamedEnding | None
    ) -> BlamedEnding | None:
        """Run one conversation from its setups to its score, and close it however it ends.

        Return its ending instead of recording it if it is to be held again; `before` is then the
        first attempt's.
        """
        key = (condition, trial)
        emitter = self.emitter.of(condition, trial, self.attempts.get(key, 0) + attempt)
        record = self.records[key] = ConversationRecord()
        plan = self.plan.trial_plan(trial)
        transcript = SpokenTranscript(plan.job, condition, trial, plan.model)
        transcript.persona_facts = plan.persona_facts(trial, condition)
        async with contextlib.AsyncExitStack() as closing:
            conversation = _Conversation(self, plan, emitter, record, transcript, closing)
            began = time.monotonic()
            if before is not None:
                message = (
                    f"the connection to the agent broke at message {before.broken_at}, so it was"
                    " held again"
                )
                emitter.emit(
                    events.Warned, code="held_again", message=f"{message}: {before.detail}"
                )
            not_begun = await self._interruptible(record, condition, conversation.prepare())
            if not_begun is None:
                ended = await self._interruptible(record, condition, conversation.dialogue.run())
            ending = not_begun or ended
            conversation.session.end()
            if conversation.session.mixed:  # so are all others: the agent does not keep them apart
                self.stopped = self.stopped or conversation.session.mixed
                ending = BlamedEnding(
                    reason="cancelled",
                    fault="infrastructure",
                    detail=conversation.session.mixed,
                    ways=APART,
                )
            if before is not None:
                ending = ending.after(before)
            elif ending.broken_at:
                why_not = self.parts.may_begin()
                if why_not is None:
                    return ending
                self.stopped, record.cancelled = why_not, True
                ending = BlamedEnding(
                    reason="cancelled", detail=f"{ending.detail}; not held again: {why_not}"
                )
            event = emitter.emit(
                events.ConversationEnded,
                **ending.recorded,
                duration_ms=(time.monotonic() - began - conversation.paused_s) * 1000,
            )
            last = await self._interruptible(
                record, condition, conversation.conclude(ending, event.explained)
            )
            if last is not ending:
                fields = scoring.unscored_fields(transcript, last.detail, last.fault)
                record.take(
                    emitter.emit(events.ConversationScored, **fields, cancelled=record.cancelled)
                )
        await emitter.written()
        return None

    async def _interruptible(
        self, record: ConversationRecord, condition: Condition, work: Coroutine[Any, Any, Ended]
    ) -> Ended | BlamedEnding:
        """Run a part of a conversation; turn an interruption into an ending.

        A cancelled run stays cancelled.
        """
        control = self.control.conversation(condition)
        task = asyncio.create_task(work)
        self.control.register(condition, task)
        if control.cancelled and not record.cancelled:
            task.cancel()
        await until_over(task)
        if task.cancelled():
            record.cancelled = True
            return BlamedEnding(reason="cancelled", detail="cancelled by the operator")
        error = task.exception()
        if error is None:
            return task.result()
        if isinstance(error, LimitReachedError):
            self.stopped = str(error)
            record.cancelled = True
            return BlamedEnding(reason="cancelled", detail=self.stopped)
        if isinstance(error, PeerError) and error.peer == "agent":  # it could not even be made
            return BlamedEnding(
                reason="agent_failed", fault="agent", detail=clean_line(str(error)), never_held=True
            )
        if isinstance(error, _AnotherGraphError):
            return BlamedEnding(reason="cancelled", fault="unclear", detail=clean_line(str(error)))
        if isinstance(error, NotMeasuredError | PeerError):
            ways = error.ways if isinstance(error, NotMeasuredError) else ()
            return BlamedEnding(
                reason="cancelled", fault="infrastructure", detail=clean_line(str(error)), ways=ways
            )
        if isinstance(error, Exception):
            # A defect in one conversation must not end the others of a batch. It is nobody's score,
            # and passes no gate: else an agent that knows one could take its own bad conversations
            # out of the mean.
            if short_of := exhausted(error):
                return BlamedEnding(reason="cancelled", fault="infrastructure", detail=short_of)
            return BlamedEnding(reason="cancelled", fault="program", detail=_defect(error))
        raise error

    def _compare_starts(self, trial: int) -> None:
        """Record whether the trial's conditions started from the same state, as far as that can be
        seen.
        """
        keys = ((condition, trial) for condition in self.plan.order(trial))
        both = [self.records[key] for key in keys if key in self.records]
        starts = [record.start for record in both if record.start is not None]
        for record in both:
            record.start = None  # it can be large and is not needed again
        if len(self.plan.conditions) < 2 or len(starts) < 2:
            return
        seen = frozenset.intersection(*(frozenset(start.digests) for start in starts))
        if self.compared is None:
            self.compared = seen
        self.compared &= seen
        unseen = next((start.error for start in starts if start.error is not None), None)
        if why := next(filter(None, (what_differs(starts[0], other) for other in starts[1:])), ""):
            self.not_clean(f"{STARTS_DIFFER}; {why}")
        elif unseen is not None:
            self._clean_unknown(f"a starting state could not be observed: {unseen}")
        elif not seen and not self.plan.job.target.keeps_nothing:
            self._clean_unknown(NOTHING_OBSERVED)

    def follow_session(self, condition: Condition, trial: int) -> Session:
        """Return what will be known of a conversation's session."""
        job = self.plan.trial_plan(trial).job
        title = f"{job.condition(condition).title}, trial {trial}"
        return Session(
            self.plan.run_id,
            title,
            self.plan.agent,
            self.parts.sessions,
            self._shares,
            parallel=self.plan.parallel,
            id_counts=not job.target.keeps_nothing,
        )

    def _shares(self, what: str, message: str) -> None:
        """Mark the run: its agent does not keep conversations apart.

        Of the same thing, it is said once.
        """
        if self._told.isdisjoint((what, message)):
            self._told.add(what)
            self.not_clean(message)

    def not_clean(self, message: str) -> None:
        """Mark the run: the conditions cannot be compared."""
        self.clean = False
        self.emitter.emit(events.Warned, code="not_clean", message=message)

    def _clean_unknown(self, message: str) -> None:
        """Mark the run: it is unknown whether the conditions can be compared.

        It is said once, though it may be so in each of thousands of trials.
        """
        self.clean = False
        if message not in self._told:
            self._told.add(message)
            self.emitter.emit(events.Warned, code="clean_unknown", message=message)


def _defect(error: Exception) -> str:
    what = clean_line(f"{type(error).__name__}: {error}", 300)
    return f"a bug in this program: {what}; please report it (`bioeval-tui docs install` says how)"


class _Conversation:
    """One conversation from its setups to its score."""

    def __init__(
        self,
        run: JobRun,
        plan: RunPlan,
        emitter: ConversationEmitter,
        record: ConversationRecord,
        transcript: SpokenTranscript,
        closing: contextlib.AsyncExitStack,
    ) -> None:
        self.job_run = run
        self.plan = plan
        self.parts = run.parts
        self.emitter = emitter
        self.record = record
        self.transcript = transcript
        self._closing = closing
        self._dialogue: Dialogue | None = None
        self.session = run.follow_session(transcript.condition, transcript.trial)

    def _open(self) -> Dialogue:
        """Create the agent and the evaluator; both are closed at the end, even if closing one
        fails.
        """
        condition, trial = self.transcript.condition, self.transcript.trial
        agent = self.parts.open_agent(condition, trial)
        self._closing.push_async_callback(_close, agent.aclose)
        evaluator = self.parts.open_evaluator(condition, trial)
        self._closing.push_async_callback(_close, evaluator.aclose)
        control = self.job_run.control.conversation(condition)
        overheard: Any = OverheardAgent(agent, self.session)
        return Dialogue(
            self.plan, self.parts, self.emitter, control, overheard, evaluator, self.transcript
        )

    @property
    def dialogue(self) -> Dialogue:
        """Its turns, once it was prepared."""
        assert self._dialogue is not None
        return self._dialogue

    @property
    def paused_s(self) -> float:
        """The seconds for which a person paused it."""
        if self._dialogue:
            return self._dialogue.paused_s
        return 0.0

    async def prepare(self) -> BlamedEnding | None:
        """Set up, open the session, seed, and observe the starting state; return why the turns
        cannot begin, if so.
        """
        dialogue = self._dialogue = self._open()
        await dialogue.observer.note_files()
        agents_graph = await require_agents_graph(self.plan, self.parts)
        await apply_setups(self.plan, self.parts, self.emitter)
        try:
            async for attempt in dialogue.attempts_at_agent():
                with attempt:
                    self.transcript.session_id = await dialogue.agent.open()
        except PeerError as error:
            return dialogue.ended_by(error)
        self.session.require_apart()
        require_graph(self.plan, self.parts)
        await apply_seeds(
            self.plan,
            dialogue.agent,
            self.emitter,
            dialogue.blame.deserves_patience,
            self.parts.budget,
        )
        self.emitter.emit(
            events.ConversationStarted,
            session_id=clean_line(self.transcript.session_id, MAX_SESSION),
            greeting=self.dialogue.greeting,
            max_messages=self.plan.job.max_messages,
            agents_graph=agents_graph,
            agent_identity=clean_line(str(getattr(dialogue.agent, "identity", "") or ""), 120),
            persona_facts=self.transcript.persona_facts,
        )
        self.record.start = await dialogue.observer.start(self.transcript.session_id)
        for title in await dialogue.observer.already_holding(self.transcript, self.record.start):
            self.job_run.not_clean(
                f"an assertion passes before the greeting: {clean_line(title, 200)}"
            )
        return None

    async def conclude(self, ending: BlamedEnding, explained: str) -> BlamedEnding:
        """Check, judge and score; return the ending unchanged.

        `explained` is its detail with what you can do.
        """
        self.transcript.done = ending.reason == "signed_off"
        if any(message.operator for message in self.transcript.messages):
            self.job_run.not_clean(TYPED_BY_A_PERSON)
        if ending.reason not in events.RESULT_REASONS:
            held = ending.reason != "cancelled" or ending.fault == "none"
            what = ending.reason.replace("_", " ") if held else "not measured"
            reason = ": ".join(filter(None, (what, explained)))
            return self._score(
                ending, scoring.unscored_fields(self.transcript, reason, ending.fault)
            )
        if ending.never_held:
            why = f"no conversation took place: {explained}"
            if self._dialogue is not None:  # else the agent could not even be made
                self._dialogue.observer.not_observed(self.transcript, why)
            return self._score(ending, scoring.unscored_fields(self.transcript, why, ending.fault))
        if empty := self.transcript.empty_answers:
            message = f"the agent answered without a word {empty} times"
            if empty == 1:
                message = "the agent answered without a word once"
            self.emitter.emit(events.Warned, code="empty_answers", message=message)
        await self.dialogue.settle_traces()
        checks = await self.dialogue.observer.final(
            self.transcript,
            self.dialogue.answered_turn,
            agent_gone=ending.reason == "agent_failed",
        )
        await self.emitter.written()
        tasks, error, fault = await self._judge(ending.reason)
        fields = scoring.score_fields(
            self.transcript,
            tasks,
            error,
            checks,
            fault,
            agent_failed=ending.fault == "agent",
        )
        return self._score(ending, fields)

    def _score(self, ending: BlamedEnding, fields: Mapping[str, Any]) -> BlamedEnding:
        """Record the conversation's score; return how it ended."""
        self.record.take(
            self.emitter.emit(events.ConversationScored, **fields, cancelled=self.record.cancelled)
        )
        return ending

    async def _judge(
        self, ended: events.EndReason
    ) -> tuple[tuple[TaskScored, ...] | None, str, Fault]:
        """Return the tasks' scores, or None with the reason and whose fault it is."""
        job, judge = self.plan.job, self.parts.judge
        if not job.judged_in(self.transcript.condition):
            self.record.judged = not any(map(job.judged_in, self.plan.conditions))
            return None, "", "none"
        before, after = self.record.start, self.dialogue.observer.at_end
        view = judge_view(
            job,
            self.transcript.condition,
            self.transcript.messages,
            before.object_context if before else None,
            after.object_context if after else None,
            self.transcript.persona_facts,
        )
        with count_attempt(self.emitter, self.parts.budget, "judge") as used:
            held = scoring.Held(job, ended)
            judged = await scoring.judge_transcript(judge, view, self.plan.limits.judge_s, held)
        fields = dict(judged.fields)
        if used.answers:  # no plug-in's judge, which counts for itself
            fields |= {"tokens_in": used.tokens_in, "tokens_out": used.tokens_out}
            fields["judge"] = add_served(fields["judge"], used.served)
            if judged.error or used.uncounted < used.answers:
                rest = Used(answers=used.uncounted, uncounted=used.uncounted)
                record_unused(self.emitter, "judge", rest)
        for code, message in judged.warnings:
            self.emitter.emit(events.Warned, code=code, message=message)
        if judged.tasks is not None and (
            refusal := await self.job_run.judge_refusal(fields["judge"])
        ):
            judged = scoring.not_counted(replace(judged, fields=fields), refusal)
            fields = dict(judged.fields)
        # Those of now, which a resumed run may have besides the recorded ones.
        prompts = self.plan.judge_prompt
        fields["question"] = question_hash(
            job_snapshot(job), self.transcript.condition, prompts, judge.identity
        )
        self.emitter.emit(events.TranscriptScored, **fields, prompts=self.plan.later_prompt)
        self.record.judged = judged.tasks is not None
        return judged.tasks, judged.error, judged.fault


async def _close(aclose: Callable[[], Awaitable[None]]) -> None:
    """Close a peer; a failure to close does not affect the results."""
    with contextlib.suppress(Exception):
        await aclose()

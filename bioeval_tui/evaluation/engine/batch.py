"""Run a batch: each run has a recording, a .live file, a port for intents, and a job.

The batch limits open runs and concurrent conversations. Runs whose conversations share a knowledge
graph run one after another, because each would see what the others leave.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from bioeval_tui import __version__
from bioeval_tui.base.errors import BioevalError, RecordingError, exhausted
from bioeval_tui.base.terminal import say
from bioeval_tui.base.text import clean_line
from bioeval_tui.evaluation.conversation.control import Control, RunCancelledError
from bioeval_tui.evaluation.conversation.intents import listen, what_helps
from bioeval_tui.evaluation.conversation.on_workers import Part, RunOnWorkers, Unit, Workers
from bioeval_tui.evaluation.conversation.plan import Emitter, Parts, RunPlan
from bioeval_tui.evaluation.conversation.resume import Earlier, Resumption
from bioeval_tui.evaluation.conversation.run_job import JobRun, end_run, started_fields
from bioeval_tui.evaluation.conversation.sessions import Sessions
from bioeval_tui.evaluation.conversation.standstill import Watchdog
from bioeval_tui.evaluation.engine.pace import LONGEST_PAUSE_S, Cut, Pace, tell_paces
from bioeval_tui.peers.seams import wrap
from bioeval_tui.peers.spending import CallBudget, Rates, RunBudget, Spent
from bioeval_tui.peers.traces import RunTraces, Traces
from bioeval_tui.record import events
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.events import CANCELLED_AT_START, RunEvent, read_event, write_event
from bioeval_tui.record.participants import Peer
from bioeval_tui.record.recorder import Recorder, drop_prompts
from bioeval_tui.record.runs import LiveInfo, process_start, recording_path, remove_live, write_live

DISK_S = 0.5
"""How long a run that is asked to stop waits for a full disk, in seconds."""

ONE_AT_A_TIME = (
    "the conversations share one knowledge graph or FHIR server, so they run one after another; "
    "use `order: parallel` if the target keeps them apart"
)


async def _never() -> bool:
    return False


@dataclass(frozen=True)
class PreparedRun:
    """One run that is ready to start.

    `open_parts` is entered once the recording exists, so that a failure is recorded.
    """

    plan: RunPlan
    open_parts: Callable[[Control], AbstractAsyncContextManager[Parts]]
    warnings: tuple[str, ...] = ()
    keep_prompts: bool = True
    requests_per_minute: float | None = None
    rates: Rates = field(default_factory=Rates)
    resume: Callable[[], Resumption] | None = None
    """Reads where to continue the run.

    Called once the recording is locked, because earlier reads may be outdated.
    """
    held: int = 0
    """How many of its conversations were held before it was resumed."""
    otlp: int | None = None
    """The port on which the agent's spans are received; None if they are not."""
    shares_graph: Callable[[], Awaitable[bool]] = _never
    """Called only for concurrent conversations: returns whether they share a graph."""
    workers: Workers | None = None
    """The workers that hold the conversations; None if this process does."""


class Stopping(Protocol):
    """Decides when a batch needs no further round (one trial of every run)."""

    def take(self, event: RunEvent) -> None:
        """Receive an event of any run."""
        ...

    @property
    def decided(self) -> bool:
        """Whether no further round is needed."""
        ...

    @property
    def words(self) -> str:
        """The decision so far, in a sentence."""
        ...


class _Rounds:
    """Runs the trials of a batch in rounds: no run starts a trial before all have finished the
    previous one.
    """

    def __init__(self, stopping: Stopping, runs: int) -> None:
        self.stopping = stopping
        self._runs = runs
        self._waiting: dict[int, int] = {}
        self._changed = asyncio.Condition()

    async def next(self, trial: int) -> bool:
        """Wait until every active run has reached this trial; return whether it is needed."""
        async with self._changed:
            self._waiting[trial] = self._waiting.get(trial, 0) + 1
            self._changed.notify_all()
            await self._changed.wait_for(lambda: self._waiting[trial] >= self._runs)
        return not self.stopping.decided

    async def leave(self) -> None:
        """Continue without a run that has ended."""
        async with self._changed:
            self._runs -= 1
            self._changed.notify_all()


@dataclass
class _Batch:
    """The shared parts of a batch's runs, in one event loop."""

    at_once: int
    runs_dir: Path
    stop: asyncio.Event
    budget: CallBudget
    open_runs: asyncio.Semaphore
    talks: asyncio.Semaphore
    graph: asyncio.Lock = field(default_factory=asyncio.Lock)
    one_by_one: asyncio.Lock = field(default_factory=asyncio.Lock)
    paces: dict[str, Pace] = field(default_factory=dict)
    watchdog: Watchdog = field(default_factory=Watchdog)
    sessions: Sessions = field(default_factory=Sessions)
    rounds: _Rounds | None = None
    traces: Traces | None = None

    def limit_paces(self, per_minute: float | None, longest_pause_s: float) -> None:
        """Limit the requests under way, and those sent a minute, to the agent and to all models."""
        if self.at_once == 1 and not per_minute:
            return
        self.paces["agent"], models = (
            Pace(self.at_once, per_minute, longest_pause_s=longest_pause_s) for _ in range(2)
        )
        self.paces |= {"evaluator": models, "judge": models}

    @contextlib.asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        async with self.talks:
            # one per loop iteration, because starting takes some milliseconds
            async with self.one_by_one:
                await asyncio.sleep(0)
            yield


async def run_batch(
    runs: Sequence[PreparedRun],
    runs_dir: Path,
    *,
    stop: asyncio.Event | None = None,
    budget: CallBudget | None = None,
    longest_pause_s: float = LONGEST_PAUSE_S,
    stopping: Stopping | None = None,
    traces: Traces | None = None,
) -> list[events.RunEnded]:
    """Run all runs and return how each started one ended; a failure of one does not end the others.

    As many conversations are held at once, and as many requests sent a minute, as every run allows.
    After a 429, requests pause for at most `longest_pause_s`.

    Setting `stop` cancels conversations in progress and starts no others. With `stopping`, all runs
    proceed trial by trial together until it has decided. `traces` receives the agents' spans.

    Raises:
        RecordingError: a recording cannot be written (after the other runs have ended).
    """
    at_once = min(run.plan.shared_agent for run in runs)
    per_minute = min(
        (run.requests_per_minute for run in runs if run.requests_per_minute), default=None
    )
    if stopping is not None and at_once > 1 and await _share_a_graph(runs):
        # Runs in rounds cannot wait for each other's graph.
        at_once = 1
        runs = [
            replace(
                run, plan=replace(run.plan, shared_agent=1), warnings=(*run.warnings, ONE_AT_A_TIME)
            )
            for run in runs
        ]
    most_open, rounds = at_once, None
    if stopping is not None:
        # Every run takes part in each round, so all are open.
        most_open, rounds = len(runs), _Rounds(stopping, len(runs))
    batch = _Batch(
        at_once,
        runs_dir,
        stop or asyncio.Event(),
        budget or CallBudget(),
        asyncio.Semaphore(most_open),
        asyncio.Semaphore(at_once),
        rounds=rounds,
        traces=traces,
    )
    batch.limit_paces(per_minute, longest_pause_s)
    watching = asyncio.create_task(batch.watchdog.watch())
    try:
        ends = await asyncio.gather(*(_run_one(run, batch) for run in runs), return_exceptions=True)
    finally:
        watching.cancel()
    problems = [item for item in ends if isinstance(item, BaseException)]
    if problems:
        raise problems[0]
    return [item for item in ends if isinstance(item, events.RunEnded)]


class _Lines:
    """Where a part's events go: lines in memory, which a worker gives back as a whole."""

    def __init__(self, *, keep_prompts: bool) -> None:
        self.lines: list[bytes] = []
        self._keep_prompts = keep_prompts

    def append(self, event: RunEvent) -> None:
        kept = event if self._keep_prompts else drop_prompts(event)
        if kept is not None:
            self.lines.append(write_event(kept))

    async def written(self) -> None:
        return


async def hold_part(
    run: PreparedRun,
    unit: Unit,
    *,
    stop: asyncio.Event,
    budget: CallBudget,
    longest_pause_s: float,
) -> Part:
    """Hold a unit's conversations of a run that another process records, as `run_batch` would.

    `budget` has the batch's limits and what it has spent so far. Setting `stop` cancels the
    conversations in progress.

    Raises:
        BioevalError: the parts of the run cannot be opened.
    """
    began, at_once = time.monotonic(), run.plan.shared_agent
    batch = _Batch(at_once, Path(), stop, budget, asyncio.Semaphore(1), asyncio.Semaphore(at_once))
    batch.limit_paces(run.requests_per_minute, longest_pause_s)
    for pace in set(batch.paces.values()):
        # The unit before this one may have sent its last request just now.
        pace.charge()
    sink, control = _Lines(keep_prompts=run.keep_prompts), Control(run.plan.conditions)
    emitter = Emitter(
        run.plan.run_id, sink, on_event=lambda event: _slow_down(event, batch, emitter)
    )

    async def cancel_when_stopped() -> None:
        await stop.wait()
        control.act("cancel", sender="the run")

    helpers = [
        asyncio.create_task(batch.watchdog.watch()),
        asyncio.create_task(cancel_when_stopped()),
    ]
    before = RunBudget(budget, run.rates).spent
    try:
        with control.beginning():
            opening = contextlib.AsyncExitStack()
            parts = await opening.enter_async_context(run.open_parts(control))
        async with opening:
            job_run = JobRun(run.plan, _limit_parts(parts, run, batch), emitter, control)
            if unit.exam:
                examined = read_event(unit.exam)
                assert isinstance(examined, events.JudgeExamined)
                job_run.examined = examined
            await job_run.hold(unit.trials)
            job_run.note_gaps()
    except RunCancelledError:
        return Part(stopped=CANCELLED_AT_START)
    finally:
        for helper in helpers:
            helper.cancel()
    calls = {peer: made - before.calls.get(peer, 0) for peer, made in budget.calls.items()}
    return Part(
        b"".join(sink.lines),
        Spent(calls, budget.cost - before.cost),
        time.monotonic() - began,
        None if job_run.compared is None else tuple(sorted(job_run.compared)),
        job_run.stopped,
    )


async def _share_a_graph(runs: Sequence[PreparedRun]) -> bool:
    """Return whether concurrent conversations share a graph."""
    for run in runs:
        if not run.plan.parallel and await run.shares_graph():
            return True
    return False


async def _run_one(run: PreparedRun, batch: _Batch) -> events.RunEnded | None:
    """Wait until the run may be opened, and run it. Its recording says why it failed."""
    apart = run.plan.parallel or batch.at_once == 1
    async with contextlib.AsyncExitStack() as opened:
        if batch.rounds is not None:
            opened.push_async_callback(batch.rounds.leave)
        if not apart and run.workers is None and await run.shares_graph():
            plan = replace(run.plan, shared_agent=1)
            run = replace(run, plan=plan, warnings=(*run.warnings, ONE_AT_A_TIME))
            await opened.enter_async_context(batch.graph)
        await opened.enter_async_context(batch.open_runs)
        if batch.stop.is_set():
            return None
        run, resumed, emitter, control = await opened.enter_async_context(_recording(run, batch))
        earlier = resumed.earlier if resumed else None
        try:
            if resumed is not None and not resumed.owes(run.plan.conditions, run.plan.trials):
                # only the end is missing: nobody is called
                return end_run(run.plan, emitter, resumed.earlier)
            async with contextlib.AsyncExitStack() as stack:
                with control.beginning():
                    parts = await stack.enter_async_context(run.open_parts(control))
                parts = _limit_parts(parts, run, batch)
                if run.workers is not None:
                    return await RunOnWorkers(run.plan, parts, emitter, control, run.workers).run()
                return await JobRun(run.plan, parts, emitter, control, earlier).run()
        except RunCancelledError:
            return end_run(
                run.plan, emitter, earlier or Earlier({}, {}), stopped=CANCELLED_AT_START
            )
        except BioevalError as error:
            return emitter.emit(events.RunEnded, status="failed", detail=clean_line(str(error)))
        except Exception as error:
            # After a bug, viewers need to see why the run stopped.
            detail = (
                exhausted(error)
                or f"a bug in this program stopped the run: {type(error).__name__}: {error}"
            )
            emitter.emit(events.RunEnded, status="failed", detail=clean_line(detail))
            raise


@contextlib.asynccontextmanager
async def _recording(
    run: PreparedRun, batch: _Batch
) -> AsyncIterator[tuple[PreparedRun, Resumption | None, Emitter, Control]]:
    """Open the run's recording, which viewers can follow and control, and write how the run
    begins.
    """
    path = recording_path(batch.runs_dir, run.plan.run_id)
    control = Control(run.plan.conditions)
    loop = asyncio.get_running_loop()

    def disk(trouble: str | None) -> None:
        loop.call_soon_threadsafe(_warn_of_disk, emitter, path, trouble)

    recorder = Recorder(
        path, resume=run.resume is not None, keep_prompts=run.keep_prompts, on_trouble=disk
    )
    try:
        run, resumed = await _read_resumption(run)
    except BaseException:
        await recorder.aclose()
        raise

    def emitted(event: RunEvent) -> None:
        if batch.rounds is not None:
            batch.rounds.stopping.take(event)
        _slow_down(event, batch, emitter)

    emitter = Emitter(
        run.plan.run_id, recorder, after_seq=resumed.after_seq if resumed else 0, on_event=emitted
    )

    def acted(action: str, condition: Condition | None, text: str, sender: str) -> None:
        emitter.emit(
            events.OperatorActed, condition=condition, action=action, text=text, sender=sender
        )

    control.on_action = acted
    try:
        async with listen(control, recorder) as (port, token):
            write_live(path, LiveInfo(os.getpid(), process_start(os.getpid()), port, token))
            _begin(run, emitter)
            cancelling = asyncio.create_task(_cancel_when(batch.stop, control, recorder))
            try:
                yield run, resumed, emitter, control
            finally:
                cancelling.cancel()
                # The writer must have everything before the .live file is removed.
                await recorder.aclose()
    finally:
        remove_live(path)


async def _read_resumption(run: PreparedRun) -> tuple[PreparedRun, Resumption | None]:
    """Read a resumed run's recording, which is locked by now, and return the run with its number of
    trials.

    Raises:
        RecordingError: another program finished the run meanwhile, or the recording cannot be read.
    """
    if run.resume is None:
        return run, None
    resumed = await asyncio.to_thread(run.resume)
    trials = max(run.plan.trials, resumed.trials)
    if resumed.ended and not resumed.owes(run.plan.conditions, trials):
        raise RecordingError(
            f"{run.plan.run_id}: already complete; another process finished the run"
        )
    return replace(run, plan=replace(run.plan, trials=trials)), resumed


def _warn_of_disk(emitter: Emitter, path: Path, trouble: str | None) -> None:
    """Write to the log now, and to the recording as soon as possible."""
    message = "the recording continues"
    if trouble:
        message = f"{trouble}; {what_helps(path.stem)}"
    say(message, err=True)
    emitter.emit(events.Warned, code="disk", message=message)


def _begin(run: PreparedRun, emitter: Emitter) -> None:
    if run.resume is None:
        emitter.emit(events.RunStarted, **started_fields(run.plan))
    else:
        emitter.emit(
            events.RunResumed,
            program_version=__version__,
            trials=run.plan.trials,
            cases=run.plan.further,
        )
    for message in run.warnings:
        emitter.emit(events.Warned, code="job", message=message)


def _limit_parts(parts: Parts, run: PreparedRun, batch: _Batch) -> Parts:
    """Return the parts with the batch's limits."""
    if batch.rounds is not None:
        rounds = batch.rounds
        parts = replace(parts, next_round=rounds.next, decision=lambda: rounds.stopping.words)
    if batch.traces is not None and run.otlp is not None:
        parts = replace(parts, traces=RunTraces(batch.traces))
    parts = replace(
        parts,
        slot=batch.slot,
        may_begin=batch.budget.stop_reason,
        budget=RunBudget(batch.budget, run.rates),
        watchdog=batch.watchdog,
        sessions=batch.sessions,
    )
    if not batch.paces:
        return parts
    open_agent, open_evaluator = parts.open_agent, parts.open_evaluator
    agents, models = batch.paces["agent"], batch.paces["evaluator"]
    parts = replace(parts, open_agent=lambda c, t: wrap(open_agent(c, t), agents.around))
    if run.rates.evaluator_is_model:
        parts = replace(
            parts, open_evaluator=lambda c, t: wrap(open_evaluator(c, t), models.around)
        )
    # Of a judge, each request takes a place: how many a verdict needs depends on what is judged.
    places: dict[Peer, Callable[[], AbstractAsyncContextManager[None]]] = {"judge": models.request}
    return replace(parts, budget=RunBudget(batch.budget, run.rates, places))


def _slow_down(event: RunEvent, batch: _Batch, emitter: Emitter) -> None:
    """Let the pace of a peer follow what an event says of it, and record when it is reduced."""
    cut = tell_paces(batch.paces, event)
    if cut is not None and cut.after < cut.before and isinstance(event, events.RequestFailed):
        _warn_slower(emitter, event.peer, cut)


def _warn_slower(emitter: Emitter, peer: str, cut: Cut) -> None:
    why, after = "is rate-limiting (429)", f"after a pause of {cut.pause_s or 0:g} s"
    if cut.pause_s is None:
        why, after = (
            "is too slow for so many requests at once (timeout)",
            "to see whether it answers in time then",
        )
    message = (
        f"the {peer} {why}: reduced from {cut.before} to {cut.after} concurrent requests, {after}"
    )
    emitter.emit(events.Warned, code="slowed", message=message)


async def _cancel_when(stop: asyncio.Event, control: Control, recorder: Recorder) -> None:
    await stop.wait()
    recorder.limit_retries(DISK_S)
    control.act("cancel", sender="signal")

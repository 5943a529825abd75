"""A batch is started: in an engine process of its own for screens, in this process for headless
runs and Python programs.

Each way begins with `prepare_batch`. Screens call `start_batch`, whose process calls
`run_spec_file`; `cli/headless.py` and `library.py` call `run_prepared`, and `run_followed` around
it to see the events.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.terminal import say
from bioeval_tui.evaluation.engine.attach import FollowedRun
from bioeval_tui.evaluation.engine.batch import PreparedRun, Stopping, run_batch
from bioeval_tui.evaluation.engine.event_loop import run_fairly, stopping_at_signals
from bioeval_tui.evaluation.engine.interface import EngineSpec
from bioeval_tui.evaluation.engine.processes import make_folder, start_engine
from bioeval_tui.evaluation.wiring.endpoints import sent_to_words
from bioeval_tui.evaluation.wiring.prepare import prepare_run
from bioeval_tui.evaluation.wiring.resuming import prepare_resumed
from bioeval_tui.peers.spending import CallBudget
from bioeval_tui.peers.traces import Traces
from bioeval_tui.record import events
from bioeval_tui.record.masking import masked
from bioeval_tui.record.reading import complete_size, follow, run_events
from bioeval_tui.record.runs import recording_path
from bioeval_tui.record.state import Change, RunState, apply, apply_all

FRAME_S = 0.05
SLOW_FRAME_S = 0.25
"""Intervals between reads of a recording, for one run and for many, because they share the engine's
event loop.
"""

Show = Callable[[RunState, events.RunEvent, Change], None]
"""Receives each event of a run with the state after it and the changes."""


def start_batch(spec: EngineSpec, settings: Settings) -> list[FollowedRun]:
    """Check a batch, start one engine process for it, and return a view of each of its runs, in
    order.

    Raises:
        BioevalError: what is wrong with the jobs or settings, before anything was started.
    """
    # The engine gets `plays`, too: on the views' screen a person can play the user.
    prepare_batch(replace(spec, plays=True), settings)
    return start_engine(spec, settings)


def prepare_batch(spec: EngineSpec, settings: Settings) -> list[PreparedRun]:
    """Check all jobs and build the parts that need no connection.

    Raises:
        BioevalError: what is wrong with the jobs or settings.
    """
    prepared = []
    for run in spec.runs:
        if spec.resume and recording_path(settings.runs_dir, run.run_id).exists():
            prepared.append(prepare_resumed(spec, run, settings))
        else:
            prepared.append(prepare_run(spec, run, settings))
    return prepared


def run_spec_file(
    path: Path,
    settings: Settings,
    stopping: Callable[[EngineSpec, Sequence[PreparedRun]], Stopping | None],
) -> list[events.RunEnded]:
    """The engine process: run the request in the file, then remove the file.

    `stopping` creates the stop rule.
    """
    spec = EngineSpec.read(path)
    path.unlink(missing_ok=True)
    prepared = prepare_batch(spec, settings)
    running = run_prepared(prepared, spec, settings, stopping=stopping(spec, prepared))
    return run_fairly(running)


async def run_prepared(
    prepared: Sequence[PreparedRun],
    spec: EngineSpec,
    settings: Settings,
    *,
    on_interrupt: Callable[[], None] = lambda: None,
    stopping: Stopping | None = None,
    stop: asyncio.Event | None = None,
) -> list[events.RunEnded]:
    """Run a batch in this process; SIGINT and SIGTERM end it (`stopping_at_signals`).

    A program that handles signals itself sets `stop` instead.

    Raises:
        BioevalError: recordings cannot be written.
    """
    make_folder(settings.runs_dir)
    advice = f"continue with `bioeval-tui runs resume {spec.runs[0].run_id}`"
    if len(spec.runs) > 1:
        advice += " (and the others)"
    async with contextlib.AsyncExitStack() as stack:
        if stop is None:
            stop = asyncio.Event()
            stack.enter_context(
                stopping_at_signals(partial(_interrupt, stop, on_interrupt), advice)
            )
        traces = await _receive_spans(prepared, stack)
        return await run_batch(
            prepared,
            settings.runs_dir,
            stop=stop,
            budget=CallBudget(spec.max_calls, spec.max_cost),
            longest_pause_s=settings.longest_wait_s,
            stopping=stopping,
            traces=traces,
        )


def _interrupt(stop: asyncio.Event, on_interrupt: Callable[[], None]) -> None:
    stop.set()
    on_interrupt()


async def _receive_spans(
    prepared: Sequence[PreparedRun], stack: contextlib.AsyncExitStack
) -> Traces | None:
    """Receive the agents' spans until `stack` is closed, if the batch uses them.

    Raises:
        UsageError: the port is taken, or jobs name different ones.
    """
    ports = {run.otlp for run in prepared if run.otlp is not None}
    if not ports:
        return None
    if len(ports) > 1:
        listed = ", ".join(map(str, sorted(ports)))
        raise UsageError(
            f"the jobs name different ports for spans ({listed}); --otlp PORT gives one for all"
        )
    # Only if spans are received, because OTLP's messages take 0.1 s to load.
    from bioeval_tui.evaluation.engine.span_receiver import receive_spans

    traces = Traces()
    address = await stack.enter_async_context(receive_spans(ports.pop(), traces))
    say(f"spans are received at {address} (OTEL_EXPORTER_OTLP_ENDPOINT)", err=True)
    return traces


async def run_followed(
    running: Coroutine[Any, Any, object], spec: EngineSpec, settings: Settings, show: Show
) -> None:
    """Run a batch in this process and pass its events to `show`.

    Conversations are dropped once they are scored, so that memory does not grow: the result is in
    the recordings.
    """
    paths = [recording_path(settings.runs_dir, run.run_id) for run in spec.runs]
    # Events from before a run was resumed are not shown again.
    known = [complete_size(path) if spec.resume else 0 for path in paths]
    task = asyncio.create_task(running)
    following = [
        asyncio.create_task(_follow(path, begin, len(paths) > 1, task, show))
        for path, begin in zip(paths, known, strict=True)
    ]
    await asyncio.wait({task})
    try:
        await asyncio.gather(*following)
    finally:
        task.result()  # why it stopped is why a recording cannot be read, too


async def _follow(
    path: Path, begin: int, is_of_several: bool, running: asyncio.Task[object], show: Show
) -> None:
    """Show a run's events as the engine's task, `running`, records them, from a byte of its
    recording on.
    """
    state = RunState()
    if begin:
        apply_all(state, masked(list(run_events(path))))
    frame_s = SLOW_FRAME_S if is_of_several else FRAME_S

    def is_being_written() -> bool:
        return not running.done()  # the engine is this process

    async for batch in follow(path, begin=begin, still_written=is_being_written, frame_s=frame_s):
        for event in batch:
            change = apply(state, event)
            show(state, event, change)
            if change.kind == "conversation_scored" and change.key is not None:
                del state.conversations[change.key]


def said_before(prepared: Sequence[PreparedRun]) -> list[str]:
    """Return what is said before a batch: a sentence on the hosts that will receive transcripts, if
    any, one for each judge that sees more, one for each of the agent's or the user's family, and
    one for each FHIR server that is asked or written to.
    """
    hosts = batch_hosts(prepared)
    told = [run.plan.judge_sees for run in prepared]
    told += [masked(run.plan.judge_family) for run in prepared]
    sentences = list(dict.fromkeys(filter(None, told)))
    if hosts:
        sentences.insert(0, sent_to_words(hosts))
    servers = dict.fromkeys(run.plan.fhir for run in prepared if run.plan.fhir)
    return [*sentences, *(masked(f"FHIR server: {server}") for server in servers)]


def batch_hosts(prepared: Sequence[PreparedRun]) -> list[str]:
    """Return every host that will receive transcripts of the batch."""
    return list(dict.fromkeys(chain.from_iterable(run.plan.hosts for run in prepared)))


def conversations_in(prepared: Sequence[PreparedRun]) -> int:
    """Return the number of conversations of a batch."""
    return sum(run.plan.trials * len(run.plan.conditions) for run in prepared)


def held_before(prepared: Sequence[PreparedRun]) -> int:
    """Return how many of them were held before, as those of a resumed run."""
    return sum(run.held for run in prepared)

"""Start engines, in a separate process for screens or in the foreground for headless runs, and
resume runs: the request is read from the recording, and a job that has changed is rejected.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from bioeval_tui import plugins
from bioeval_tui.base.errors import JobError, RecordingError, UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.terminal import say
from bioeval_tui.base.text import clean_line, plural
from bioeval_tui.evaluation.conversation.control import Control
from bioeval_tui.evaluation.conversation.plan import Parts, RunPlan
from bioeval_tui.evaluation.conversation.resume import (
    Resumption,
    count_trials,
    excluded_trials,
    find_resumption,
    missing_conversations,
)
from bioeval_tui.evaluation.engine.attach import FollowedRun
from bioeval_tui.evaluation.engine.batch import PreparedRun, Stopping, run_batch
from bioeval_tui.evaluation.engine.interface import EngineSpec, RunSpec
from bioeval_tui.evaluation.engine.processes import (
    count_ends,
    make_folder,
    run_fairly,
    start_engine,
    stop_run as stop_run,
    stopping_at_signals,
)
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.evaluation.wiring.makers import Makers
from bioeval_tui.evaluation.wiring.prepare import assemble, prepare_run
from bioeval_tui.jobs.loading import job_snapshot, load_job, recorded_job
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.peers.spending import CallBudget
from bioeval_tui.peers.traces import Traces
from bioeval_tui.record import events
from bioeval_tui.record.events import Case, RunStarted
from bioeval_tui.record.masking import masked
from bioeval_tui.record.overlay import read_overlay, state_in_force
from bioeval_tui.record.reading import follow, read_recording, started_run
from bioeval_tui.record.run_options import recorded_options
from bioeval_tui.record.runs import is_imported, is_live, recording_path
from bioeval_tui.record.state import Change, RunState, apply
from bioeval_tui.sample.paths import SAMPLE_AGENT

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


def batch_hosts(prepared: Sequence[PreparedRun]) -> list[str]:
    """Return every host that will receive transcripts of the batch."""
    return list(dict.fromkeys(chain.from_iterable(run.plan.hosts for run in prepared)))


def conversations_in(prepared: Sequence[PreparedRun]) -> int:
    """Return the number of conversations of a batch."""
    return sum(run.plan.trials * len(run.plan.conditions) for run in prepared)


def who_receives(prepared: Sequence[PreparedRun]) -> list[str]:
    """Return a sentence on the hosts that will receive transcripts, if any, and one for each judge
    that sees more.
    """
    hosts = batch_hosts(prepared)
    sentences = list(dict.fromkeys(filter(None, (run.plan.judge_sees for run in prepared))))
    if hosts:
        sentences.insert(0, masked(f"transcripts are sent to: {', '.join(hosts)}"))
    return sentences


def run_spec_file(
    path: Path,
    settings: Settings,
    stopping: Callable[
        [EngineSpec, Sequence[PreparedRun]], Stopping | None
    ] = lambda spec, prepared: None,
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


async def run_followed(
    running: Coroutine[Any, Any, object], spec: EngineSpec, settings: Settings, show: Show
) -> list[RunState]:
    """Run a batch in this process and pass its events to `show`; return the runs' states.

    In large batches, conversations are dropped once they are scored, so that memory does not grow.
    """
    # Events from before a run was resumed are not shown again.
    ends = [
        count_ends(recording_path(settings.runs_dir, run.run_id)) if spec.resume else 0
        for run in spec.runs
    ]
    task = asyncio.create_task(running)
    following = [
        asyncio.create_task(_follow(run, ended_before, spec, settings, task, show))
        for run, ended_before in zip(spec.runs, ends, strict=True)
    ]
    await asyncio.wait({task})
    try:
        return list(await asyncio.gather(*following))
    finally:
        task.result()  # why it stopped is why a recording cannot be read, too


async def _follow(
    run: RunSpec,
    ended_before: int,
    spec: EngineSpec,
    settings: Settings,
    running: asyncio.Task[object],
    show: Show,
) -> RunState:
    """Show a run's events as the engine's task, `running`, records them; return the final state.

    `ended_before` is how often the run had ended before it was resumed: nothing is shown until it
    goes on. With many conversations, the state drops each one once it is scored, because a batch
    may have thousands.
    """
    state = RunState()
    path = recording_path(settings.runs_dir, run.run_id)
    frame_s = FRAME_S if len(spec.runs) == 1 else SLOW_FRAME_S
    is_one = len(spec.runs) * spec.trials <= 1

    def is_being_written() -> bool:
        return not running.done()  # the engine is this process

    async for batch in follow(
        path, ends=ended_before, still_written=is_being_written, frame_s=frame_s
    ):
        for event in batch:
            change = apply(state, event)
            if state.resumed or not ended_before:
                show(state, event, change)
            is_scored = change.kind == "conversation_scored"
            if is_scored and change.key is not None and not is_one:
                del state.conversations[change.key]
    return state


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


CHANGED = "the job has changed since the run began; the run continues with the recorded job"


def resume_spec(
    path: Path,
    *,
    agent_url: str | None = None,
    allow_hosts: tuple[str, ...] = (),
    job_file: Path | None = None,
    submissions: tuple[str, ...] = (),
    code: tuple[str, ...] = (),
    force: bool = False,
    rerun: bool = False,
    max_calls: int | None = None,
    max_cost: float | None = None,
    unrestricted_setups: bool = False,
) -> EngineSpec | None:
    """Return the request that makes an engine resume a run; None if nothing is missing, not even
    the run's end.

    This only determines the request: the engine reads the recording again once it has the lock.
    `rerun` adds a trial for each one that failed because of the evaluator, the judge or the
    infrastructure. An imported recording is untrusted: its job file and agent URL are used only if
    given here.

    Raises:
        UsageError: the run is in progress elsewhere, or was imported and its job or agent is not
            given.
        RecordingError: the recording cannot be read, or lacks its first event.
    """
    if is_live(path):
        raise UsageError(
            f"{path.stem} is in progress; attach to it with `bioeval-tui watch {path.stem}`"
        )
    state, started, _ = started_run(path, as_written=True)
    if started.source is not None:
        raise UsageError(
            f"{path.stem} was imported from another tool, so there is no agent to continue with"
        )
    again = owed_reruns(path) if rerun else []
    trials = count_trials(state) + len(again)
    if not missing_conversations(state, trials) and state.ended is not None:
        return None
    known = started.options
    if known.get("agent_function") and missing_conversations(state, trials):
        name = clean_line(str(known["agent_function"]), 100)
        raise UsageError(
            f"{path.stem}: its agent is a Python function of the program that ran it, {name};"
            " evaluate again from there"
        )
    imported = is_imported(path)
    if imported and missing_conversations(state, trials):
        _require_repeated(path, started, job_file, agent_url)
    before = recorded_options(known)
    # Recordings of version 1 have only the agent's name.
    sample_agent = (
        bool(known.get("sample_agent", started.agent == SAMPLE_AGENT)) and agent_url is None
    )
    if imported:
        before = replace(before, agent_url=None, submissions=(), leaderboard=None)
    # Limits on calls and cost are those given now: the recorded ones may be what ended the run.
    asked = replace(
        before,
        agent_url=agent_url or before.agent_url,
        agent_url_is_given=agent_url is not None,
        allow_hosts=allow_hosts,
        code=code,
        submissions=submissions or before.submissions,
        sample_agent=sample_agent,
        local_model=before.local_model and agent_url is None,
        conditions=started.conditions,
        trials=trials,
        max_calls=max_calls,
        max_cost=max_cost,
        unrestricted_setups=unrestricted_setups,
    )
    job = str(known.get("job_file") or started.job_path)
    if job_file:
        job = str(job_file.absolute())
    return EngineSpec(
        runs=(RunSpec(path.stem, job, started.model),),
        batch_id=started.batch_id,
        resume=True,
        force=force,
        further=tuple(again) if state.cases else (),
        **asked.values(),
    )


def _require_repeated(
    path: Path, started: RunStarted, job_file: Path | None, agent_url: str | None
) -> None:
    """Reject an imported recording's own job file and agent URL, unless the user passes them."""
    known = started.options
    needed = []
    if job_file is None:
        file = clean_line(str(known.get("job_file") or started.job_path), 200)
        needed.append(f"your copy of its job with --job FILE (it names {file})")
    sample = known.get("sample_agent", started.agent == SAMPLE_AGENT)
    if agent_url is None and not sample and known.get("agent_url"):
        needed.append(
            f"its agent with --agent-url URL (it names {clean_line(str(known['agent_url']), 200)})"
        )
    if needed:
        raise UsageError(f"{path.stem} was imported; to resume it, give " + " and ".join(needed))


def owed_reruns(path: Path) -> list[int]:
    """Return the case index of each trial that failed because of evaluator, judge or infrastructure
    and has no replacement.

    Another trial of the case replaces it, and so does a later verdict if only the judge had failed.
    Without cases, all trials are of case 0.

    Raises:
        RecordingError: the recording cannot be read, or lacks its first event.
    """
    state, started, _ = started_run(path, as_written=True)
    recorded = read_recording(path, as_written=True).events
    asked = next(
        (event.trials for event in recorded if isinstance(event, RunStarted)), started.trials
    )
    now = state_in_force(state, read_overlay(path, as_written=True))
    places = _case_order(state)

    def case(trial: int) -> int:
        if trial <= len(places):
            return places[trial - 1]
        return 0

    excluded = Counter(map(case, excluded_trials(now)))
    return sorted(
        (excluded - Counter(map(case, range(asked + 1, count_trials(state) + 1)))).elements()
    )


def _case_order(state: RunState) -> list[int]:
    """Return the case index of each trial."""
    cases = state.started.cases if state.started else ()
    places = {(case.name, case.persona): place for place, case in enumerate(cases)}
    return [places[case.name, case.persona] for case in state.cases]


def rerun_offer(path: Path) -> str:
    """Return how to replace trials that could not be measured, in a sentence; empty if all were
    measured.
    """
    owed = owed_reruns(path)
    if not owed:
        return ""
    state = state_in_force(
        started_run(path, as_written=True)[0], read_overlay(path, as_written=True)
    )
    if state.started is not None and state.started.source is not None:
        return ""
    if (
        state.started is not None
        and state.started.options.get("graph") == "none"
        and (
            state.job.get("setups")
            or any("cypher" in each for each in state.job.get("assertions") or ())
        )
    ):
        return ""  # the new trials would be without the graph, too
    lost = [
        talk for talk in state.conversations.values() if talk.score and talk.score.score is None
    ]
    evaluator = state.job.get("evaluator")
    scripted = isinstance(evaluator, dict) and evaluator.get("kind") == "scripted"
    if all(talk.fault == "none" or (scripted and talk.fault == "evaluator") for talk in lost):
        return ""  # the agent would report as little again, and a script leave out the same
    if all(talk.verdict is not None and talk.verdict.error for talk in lost):
        return (
            f"{path.stem}: {plural(len(lost), 'conversation')} could not be judged; "
            f"`bioeval-tui runs rescore {path.stem}` asks only the judge again"
        )
    return (
        f"{path.stem}: {plural(len(owed), 'trial')} could not be measured; "
        f"`bioeval-tui runs resume {path.stem} --rerun` runs as many new ones, and keeps these"
    )


def prepare_resumed(spec: EngineSpec, run: RunSpec, settings: Settings) -> PreparedRun:
    """Return the specification of the resumed run.

    Raises:
        UsageError: the job or a prompt has changed, and `spec.force` is not set; the sentence has
            the diff.
        RecordingError: the recording cannot be read.
    """
    path = recording_path(settings.runs_dir, run.run_id)
    state, started, _ = started_run(path, as_written=True)
    job_path = Path(run.job_path)
    job = recorded_job(started, path.name)
    known = ("run_id", "job_name", "job_path", "job_sha256", "seed", "conditions")
    shown = ("agent", "evaluator", "judge", "graph")
    plan = RunPlan(
        job=job, trials=spec.trials, **{name: getattr(started, name) for name in known + shown}
    )
    # Only the last event is missing: nothing is called, so changes of the job don't matter.
    if not missing_conversations(state, spec.trials):
        return _end_alone(path, started, plan)
    makers = Makers(job, job_path.parent, spec, started.asked_model, settings)
    changes = [*_job_changes(job, job_path), *_prompt_changes(started, makers)]
    if is_imported(path):
        changes = changes or _case_changes(started, path, job_path)
    if changes and is_imported(path):
        raise UsageError(
            "the imported run belongs to another job than the given one\n" + "\n".join(changes)
        )
    if changes and not spec.force:
        raise UsageError(
            "the job has changed since the run was started; use --force to resume with the recorded"
            " job\n" + "\n".join(changes)
        )
    order = started.options.get("order") or job.order
    plan = replace(
        plan,
        random_order=order == "random",
        git_revision=started.git_revision,
        cases=started.cases,
        case_jobs=tuple(
            recorded_job(started, path.name, Case(name=case.name, persona=case.persona))
            for case in started.cases
        ),
        case_order=(*_case_order(state), *spec.further),
        further=spec.further,
        later_prompt={
            name: digest
            for name, digest in makers.prompt_hashes().items()
            if name == job.scorer.prompt and started.prompts.get(name, digest) != digest
        },
    )
    prepared = assemble(spec, makers, plan, (CHANGED,) if changes else (), settings)
    return replace(prepared, resume=lambda: _read_locked(path, started))


def _end_alone(path: Path, started: RunStarted, plan: RunPlan) -> PreparedRun:
    """Return a run that lacks only its last event, and so needs no agent or model."""

    def nobody(control: Control) -> AbstractAsyncContextManager[Parts]:
        raise UsageError("the recording has changed; resume the run again")

    return PreparedRun(plan, nobody, resume=lambda: _read_locked(path, started))


def _read_locked(path: Path, expected: RunStarted) -> Resumption:
    """Return where to continue the run, read while no other process can write it.

    Raises:
        RecordingError: the recording cannot be read, or is another one now.
    """
    state, started, _ = started_run(path, as_written=True)
    if started.job_sha256 != expected.job_sha256 or started.run_id != expected.run_id:
        raise RecordingError(f"{path.name}: it was replaced by another recording; resume it again")
    return find_resumption(state)


def _job_changes(recorded: EvaluationJob, path: Path) -> list[str]:
    """Return the difference between the recorded job and its file; empty if the file is gone."""
    if not path.is_file():
        return []
    try:
        now = load_job(path).job
    except JobError as error:
        return [f"{path} can no longer be loaded: {error}"]
    return _difference(recorded, now, "the job as recorded", f"{path} as it is now")


def _case_changes(started: RunStarted, path: Path, job_path: Path) -> list[str]:
    """Return how the cases of a recording differ from those that a job file fills in: a case may
    replace any part of its job.
    """
    changes: list[str] = []
    if not started.cases:
        return changes
    own = {case.key: case.job for case in check_job(job_path).cases}
    for case in started.cases:
        shown = clean_line(" ".join(filter(None, (case.name, case.persona))), 100)
        now = own.get((case.name, case.persona))
        if now is None:
            changes.append(f"{job_path} has no case {shown}")
            continue
        recorded = recorded_job(started, path.name, Case(name=case.name, persona=case.persona))
        changes += _difference(
            recorded, now, f"case {shown} as recorded", f"case {shown} of {job_path}"
        )
    return changes


def _difference(recorded: EvaluationJob, now: EvaluationJob, before: str, after: str) -> list[str]:
    # A rehearsal, or a run with models, was requested on the command line, which is no change of
    # the file.
    evaluator, judge = recorded.evaluator.kind, recorded.scorer.kind
    if evaluator in plugins.BUILT_IN["evaluators"]:
        now = now.model_copy(
            update={"evaluator": now.evaluator.model_copy(update={"kind": evaluator})}
        )
    if judge in plugins.BUILT_IN["judges"]:
        now = now.model_copy(update={"scorer": now.scorer.model_copy(update={"kind": judge})})
    return list(
        difflib.unified_diff(_lines(recorded), _lines(now), before, after, lineterm="", n=2)
    )


def _lines(job: EvaluationJob) -> list[str]:
    snapshot: dict[str, Any] = job_snapshot(job)
    return str(
        yaml.safe_dump(snapshot, sort_keys=False, allow_unicode=True, width=100)
    ).splitlines()


def _prompt_changes(started: RunStarted, makers: Makers) -> list[str]:
    now = makers.prompt_hashes()
    return [
        f"prompt {name}: {before[:12]} when recorded, {now.get(name, 'gone')[:12]} now"
        for name, before in started.prompts.items()
        if now.get(name) != before
    ]

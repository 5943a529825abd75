"""A run goes on: what it was asked for is read from its recording, and a job that has changed is refused."""

from __future__ import annotations

import difflib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from bioeval_tui.errors import JobError, RecordingError, UsageError
from bioeval_tui.evaluate.conversation.plan import RunPlan
from bioeval_tui.evaluate.engine.batch import PreparedRun
from bioeval_tui.evaluate.engine.resume import excluded_trials, missing, resumption_of
from bioeval_tui.evaluate.engine.spec import EngineSpec, RunSpec, options_of
from bioeval_tui.evaluate.job.loading import job_from_data, job_snapshot, load_job
from bioeval_tui.evaluate.job.models import EvaluationJob
from bioeval_tui.evaluate.wiring.makers import Makers
from bioeval_tui.evaluate.wiring.parts import SAMPLE_AGENT, assemble
from bioeval_tui.record.events import RunStarted
from bioeval_tui.record.live import is_live
from bioeval_tui.record.overlay import in_force, read_overlay
from bioeval_tui.record.paths import recording_path
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.settings import Settings
from bioeval_tui.text import plural

CHANGED = "job changed since the run began; the run goes on with the job as it was recorded"


def resume_spec(
    path: Path,
    *,
    agent_url: str | None = None,
    allow_hosts: tuple[str, ...] = (),
    force: bool = False,
    rerun: bool = False,
    max_calls: int | None = None,
    max_cost: float | None = None,
    unrestricted_setups: bool = False,
) -> EngineSpec | None:
    """Return what an engine is told to let a run go on, None when nothing is missing.

    `rerun` adds a trial for each one in which a conversation was spoilt by evaluator, judge or infrastructure.

    Raises:
        UsageError: the run goes on elsewhere.
        RecordingError: the recording cannot be read, or lacks its first event.
    """
    if is_live(path):
        raise UsageError(f"{path.stem} goes on right now; `bioeval-tui watch {path.stem}` shows it")
    state, started = _folded(path)
    trials = _trials(state, started) + (owed_reruns(path) if rerun else 0)
    if not missing(state, trials):
        return None
    known = started.options
    # Recordings of version 1 say it by the agent's name alone.
    sample_agent = bool(known.get("sample_agent", started.agent == SAMPLE_AGENT)) and agent_url is None
    asked = replace(
        options_of(known),
        agent_url=agent_url or known.get("agent_url"),
        agent_url_is_given=agent_url is not None,
        allow_hosts=allow_hosts,
        sample_agent=sample_agent,
        conditions=started.conditions,
        trials=trials,
        max_calls=max_calls,
        max_cost=max_cost,
        unrestricted_setups=unrestricted_setups,
    )
    return EngineSpec(
        runs=(RunSpec(path.stem, started.job_path, started.model),),
        batch_id=started.batch_id,
        resume=True,
        force=force,
        **{field.name: getattr(asked, field.name) for field in fields(asked)},
    )


def owed_reruns(path: Path) -> int:
    """Return how many trials evaluator, judge or infrastructure spoilt and nothing has made up for yet.

    A further trial does, and so does a later verdict where only the judge had failed.

    Raises:
        RecordingError: the recording cannot be read, or lacks its first event.
    """
    state, started = _folded(path)
    events = read_recording(path, as_written=True).events
    asked = next((event.trials for event in events if isinstance(event, RunStarted)), started.trials)
    now = in_force(state, read_overlay(path, as_written=True))
    return max(0, len(excluded_trials(now)) - (_trials(state, started) - asked))


def rerun_offer(path: Path) -> str:
    """Return what makes up for trials that could not be measured, in a sentence; empty when nothing is owed."""
    owed = owed_reruns(path)
    if not owed:
        return ""
    state = in_force(_folded(path)[0], read_overlay(path, as_written=True))
    lost = [talk for talk in state.conversations.values() if talk.score and talk.score.score is None]
    if all(talk.verdict is not None and talk.verdict.error for talk in lost):
        return (
            f"{path.stem}: {plural(len(lost), 'conversation')} could not be judged; "
            f"`bioeval-tui runs rescore {path.stem}` asks the judge again, and nobody else"
        )
    return (
        f"{path.stem}: {plural(owed, 'trial')} could not be measured; "
        f"`bioeval-tui runs resume {path.stem} --rerun` adds as many and replaces none"
    )


def _trials(state: RunState, started: RunStarted) -> int:
    return max(started.trials, *(key.trial for key in state.conversations), 1)


def prepare_resumed(spec: EngineSpec, run: RunSpec, settings: Settings) -> PreparedRun:
    """Return the run as it goes on.

    Raises:
        UsageError: the job or a prompt has changed, and `spec.force` is not set; the sentence has the diff.
        RecordingError: the recording cannot be read.
    """
    state, started = _folded(recording_path(settings.runs_dir, run.run_id))
    job_path = Path(started.options.get("job_file") or started.job_path)
    job = job_from_data(started.job)
    makers = Makers(job, job_path.parent, spec, run.model, settings)
    changes = [*_job_changes(job, job_path), *_prompt_changes(started, makers)]
    if changes and not spec.force:
        raise UsageError(
            "the job has changed since the run began; --force goes on with the job as it was recorded\n"
            + "\n".join(changes)
        )
    order = started.options.get("order") or job.order
    plan = RunPlan(
        run_id=started.run_id,
        job=job,
        job_name=started.job_name,
        job_path=started.job_path,
        job_sha256=started.job_sha256,
        seed=started.seed,
        conditions=started.conditions,
        random_order=order == "random",
        trials=spec.trials,
        git_revision=started.git_revision,
    )
    prepared = assemble(spec, makers, plan, (CHANGED,) if changes else (), settings)
    return replace(prepared, resume=resumption_of(state))


def _folded(path: Path) -> tuple[RunState, RunStarted]:
    recording = read_recording(path, as_written=True)
    state = apply_all(RunState(), recording.events)
    if state.started is None:
        raise RecordingError(
            f"{path.name}: the first event is missing, so nobody knows how the run goes on",
            recording.problems,
        )
    return state, state.started


def _job_changes(recorded: EvaluationJob, path: Path) -> list[str]:
    """Return the difference between the recorded job and its file; a file that is gone is no difference."""
    if not path.is_file():
        return []
    try:
        now = load_job(path).job
    except JobError as error:
        return [f"{path} cannot be loaded any more: {error}"]
    # A rehearsal, or one with models, was asked for on the command line: no change of the file.
    now = now.model_copy(
        update={
            "evaluator": now.evaluator.model_copy(update={"kind": recorded.evaluator.kind}),
            "scorer": now.scorer.model_copy(update={"kind": recorded.scorer.kind}),
        }
    )
    return list(
        difflib.unified_diff(
            _lines(recorded), _lines(now), "the job as recorded", f"{path} as it is now", lineterm="", n=2
        )
    )


def _lines(job: EvaluationJob) -> list[str]:
    import yaml

    snapshot: dict[str, Any] = job_snapshot(job)
    return str(yaml.safe_dump(snapshot, sort_keys=False, allow_unicode=True, width=100)).splitlines()


def _prompt_changes(started: RunStarted, makers: Makers) -> list[str]:
    now = makers.prompt_hashes()
    return [
        f"prompt {name}: {before[:12]} when recorded, {now.get(name, 'gone')[:12]} now"
        for name, before in started.prompts.items()
        if now.get(name) != before
    ]

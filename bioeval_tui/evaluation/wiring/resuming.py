"""A run is resumed: what to ask of an engine, whether the job is still the same, and which trials
could be run again.

`runs resume` asks for the request (`resume_spec`); the engine prepares it like any other
(`prepare_resumed`, called by `prepare_batch` of `start.py`), and reads the recording once more when
it has the lock (`_read_locked`). After a run, `rerun_offer` says how to replace trials that could
not be measured. What counts as finished is decided in `conversation/resume.py`.
"""

from __future__ import annotations

import difflib
from collections import Counter
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from bioeval_tui import plugins
from bioeval_tui.base.errors import JobError, RecordingError, UsageError
from bioeval_tui.base.settings import Settings
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
from bioeval_tui.evaluation.engine.batch import PreparedRun
from bioeval_tui.evaluation.engine.interface import EngineSpec, RunSpec
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.evaluation.wiring.makers import Makers
from bioeval_tui.evaluation.wiring.prepare import assemble
from bioeval_tui.jobs.loading import CaseJobs, PackedJob, job_snapshot, load_job, recorded_job
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.record.cases import Case, JobCase, job_part
from bioeval_tui.record.events import RunStarted
from bioeval_tui.record.overlay import read_overlay, state_in_force
from bioeval_tui.record.run_options import recorded_options
from bioeval_tui.record.runs import is_imported, is_live, recording_path
from bioeval_tui.record.state import RunState
from bioeval_tui.record.stored import state_as_written

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
    `rerun` adds a trial for each one in which a conversation has no score. An imported recording is
    untrusted: its job file and agent URL are used only if given here.

    Raises:
        UsageError: the run is in progress elsewhere, or was imported and its job or agent is not
            given.
        RecordingError: the recording cannot be read, or lacks its first event.
    """
    if is_live(path):
        raise UsageError(
            f"{path.stem} is in progress; attach to it with `bioeval-tui watch {path.stem}`"
        )
    state, started = state_as_written(path)
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
        sample_agent=started.had_sample_agent and agent_url is None,
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
    if agent_url is None and not started.had_sample_agent and known.get("agent_url"):
        needed.append(
            f"its agent with --agent-url URL (it names {clean_line(str(known['agent_url']), 200)})"
        )
    if needed:
        raise UsageError(f"{path.stem} was imported; to resume it, give " + " and ".join(needed))


def prepare_resumed(spec: EngineSpec, run: RunSpec, settings: Settings) -> PreparedRun:
    """Return the specification of the resumed run.

    Raises:
        UsageError: the job or a prompt has changed, and `spec.force` is not set; the sentence has
            the diff.
        RecordingError: the recording cannot be read.
    """
    path = recording_path(settings.runs_dir, run.run_id)
    state, started = state_as_written(path)
    job_path = Path(run.job_path)
    job = recorded_job(started, path.name)
    known = ("run_id", "job_name", "job_path", "job_sha256", "seed", "conditions")
    shown = ("agent", "evaluator", "judge", "graph", "fhir")
    plan = RunPlan(
        job=job, trials=spec.trials, **{name: getattr(started, name) for name in known + shown}
    )
    # Only the last event is missing: nothing is called, so changes of the job don't matter.
    missing = missing_conversations(state, spec.trials)
    if not missing:
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
        case_jobs=CaseJobs(
            PackedJob(recorded_job(started, path.name, _case(case))) for case in started.cases
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
    held = len(plan.conditions) * spec.trials - len(missing)
    return replace(prepared, resume=lambda: _read_locked(path, started), held=held)


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
    state, started = state_as_written(path)
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
    return _diff_jobs(recorded, now, "the job as recorded", f"{path} as it is now")


def _case_changes(started: RunStarted, path: Path, job_path: Path) -> list[str]:
    """Return how the cases of a recording differ from those that a job file fills in: a case may
    replace any part of its job.
    """
    changes: list[str] = []
    if not started.cases:
        return changes
    checked = check_job(job_path)
    own = {case.key: case.job for case in checked.cases}
    if not own:
        own["", ""] = checked.required().job  # the run has only several users
    for case in started.cases:
        shown = clean_line(" ".join(filter(None, case.key)), 100)
        now = own.get((case.name, case.persona))
        if now is not None and case.user:
            user = now.evaluator.model_copy(update={"model": case.user})
            now = now.model_copy(update={"evaluator": user})
        if now is None:
            changes.append(f"{job_path} has no case {shown}")
            continue
        recorded = recorded_job(started, path.name, _case(case))
        changes += _diff_jobs(
            recorded, now, f"case {shown} as recorded", f"case {shown} of {job_path}"
        )
    return changes


def _case(case: JobCase) -> Case:
    return Case(name=case.name, persona=case.persona, user=case.user)


def _diff_jobs(recorded: EvaluationJob, now: EvaluationJob, before: str, after: str) -> list[str]:
    # A rehearsal, a run with models, or a placebo was requested on the command line, which is no
    # change of the file.
    evaluator, judge = recorded.evaluator.kind, recorded.scorer.kind
    if evaluator in plugins.BUILT_IN["evaluators"]:
        now = now.model_copy(
            update={"evaluator": now.evaluator.model_copy(update={"kind": evaluator})}
        )
    if recorded.controls:
        now = now.model_copy(update={"controls": True})
    if judge in plugins.BUILT_IN["judges"]:
        now = now.model_copy(update={"scorer": now.scorer.model_copy(update={"kind": judge})})
    return list(
        difflib.unified_diff(
            _yaml_lines(recorded), _yaml_lines(now), before, after, lineterm="", n=2
        )
    )


def _yaml_lines(job: EvaluationJob) -> list[str]:
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


def rerun_offer(path: Path, now: RunState | None = None) -> str:
    """Return how to replace trials that could not be measured, in a sentence; empty if all were
    measured.

    `now` is the state in force, which is read if it is not given.
    """
    state = now or _state_now(path)
    owed = _owed_reruns(state)
    if not owed:
        return ""
    if state.started is not None and state.started.source is not None:
        return ""
    if (
        state.started is not None
        and state.started.options.get("graph") == "none"
        and (
            state.job.get("setups")
            or any(
                isinstance(each, dict) and "cypher" in each
                for each in state.job.get("assertions") or ()
            )
        )
    ):
        return ""  # the new trials would be without the graph, too
    lost = [
        talk for talk in state.conversations.values() if talk.score and talk.score.score is None
    ]
    scripted = job_part(state.job, "evaluator").get("kind") == "scripted"
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


def owed_reruns(path: Path) -> list[int]:
    """Return the case index of each trial in which a conversation has no score, whoever's fault it
    is, and that has no replacement.

    Another trial of the case replaces it, and so does a later verdict if only the judge had failed.
    Without cases, all trials are of case 0.

    Raises:
        RecordingError: the recording cannot be read, or lacks its first event.
    """
    return _owed_reruns(_state_now(path))


def _state_now(path: Path) -> RunState:
    """Return the state in force of a recording."""
    return state_in_force(state_as_written(path)[0], read_overlay(path, as_written=True))


def _owed_reruns(now: RunState) -> list[int]:
    places = _case_order(now)

    def case(trial: int) -> int:
        if trial <= len(places):
            return places[trial - 1]
        return 0

    excluded = Counter(map(case, excluded_trials(now)))
    replaced = Counter(map(case, range(now.first_trials + 1, count_trials(now) + 1)))
    return sorted((excluded - replaced).elements())


def _case_order(state: RunState) -> list[int]:
    """Return the case index of each trial."""
    cases = state.started.cases if state.started else ()
    places = {case.key: place for place, case in enumerate(cases)}
    return [places[case.key] for case in state.cases]

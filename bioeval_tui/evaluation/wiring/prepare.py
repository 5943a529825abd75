"""A run is prepared from an engine's specification: its job is checked, and everything is built
that needs no connection, so that what is wrong is said before anything is sent.

A new run comes from `prepare_run`; a resumed one brings the plan of its recording to `assemble`
(`resuming.py`). The connections are opened when the engine begins the run (`_open_parts`).
"""

from __future__ import annotations

import contextlib
import functools
import secrets
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from itertools import product, starmap
from pathlib import Path
from typing import Any

from bioeval_tui import plugins
from bioeval_tui.base.credentials import strip_credentials
from bioeval_tui.base.errors import Problem, UsageError
from bioeval_tui.base.settings import Settings, plain_environment
from bioeval_tui.base.text import clean_line, listed
from bioeval_tui.evaluation.conversation.control import Control
from bioeval_tui.evaluation.conversation.plan import Parts, RunLimits, RunPlan
from bioeval_tui.evaluation.engine.batch import PreparedRun
from bioeval_tui.evaluation.engine.interface import EngineSpec, RunSpec
from bioeval_tui.evaluation.engine.processes import local_model, sample_agent
from bioeval_tui.evaluation.wiring import graphs, records
from bioeval_tui.evaluation.wiring.case_table import CaseChoice
from bioeval_tui.evaluation.wiring.cases import CaseJob, recorded_cases
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.evaluation.wiring.endpoints import require_local
from bioeval_tui.evaluation.wiring.makers import Makers
from bioeval_tui.evaluation.wiring.participants import given_models
from bioeval_tui.evaluation.wiring.placebo import control_problem, unused_placebo
from bioeval_tui.jobs.loading import CaseJobs, PackedJob, job_bytes
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.peers import python_code
from bioeval_tui.peers.offline import HUMAN
from bioeval_tui.peers.retry import AGENT_RULE, MODEL_RULE
from bioeval_tui.peers.seams import Evaluator, Judge
from bioeval_tui.record.cases import MOST_TRIALS, case_places
from bioeval_tui.record.condition_names import PLACEBO_NAME, Condition
from bioeval_tui.record.conditions import put_first
from bioeval_tui.record.participants import SAMPLE_AGENT
from bioeval_tui.record.run_options import RunOptions

A_DAY_S = 86_400.0


UNRESTRICTED_SETUP_S = 600.0


def prepare_run(spec: EngineSpec, run: RunSpec, settings: Settings) -> PreparedRun:
    """Check the job and build everything that needs no connection.

    Raises:
        JobError, UsageError: with everything that is wrong.
    """
    checked = check_job(
        Path(run.job_path),
        embedded=graphs.is_embedded(settings, spec),
        unrestricted_setups=spec.unrestricted_setups,
        code=tuple(map(Path, spec.code)),
        agent_is_given=spec.agent_function is not None,
        choice=CaseChoice(spec.cases_file, spec.cases, spec.sample, spec.seed),
    )
    loaded = checked.required()
    job = give_agent(apply_mode(loaded.job, spec), spec)
    like = job_bytes(job)
    cases = [
        replace(case, packed=PackedJob(give_agent(apply_mode(case.job, spec), spec), like))
        for case in checked.cases
    ]
    users = _users(spec, job)
    if users:
        cases = _with_users(cases or [CaseJob(None, "", PackedJob(job))], users)
    trials = spec.trials * max(1, len(cases))
    if trials > MOST_TRIALS:
        raise UsageError(
            f"{trials:,} trials are more than the {MOST_TRIALS:,} that a run may have; use --cases"
        )
    spec = _add_job_keys(spec, job)
    makers = Makers(job, loaded.path.parent, spec, run.model, settings)
    order = spec.order or job.order
    conditions = _chosen(spec, job)
    plan = RunPlan(
        run_id=run.run_id,
        job=job,
        job_name=loaded.name,
        job_path=clean_line(str(loaded.path)),
        job_sha256=loaded.sha256,
        seed=_seed(spec, job),
        conditions=put_first(conditions, order),
        random_order=order == "random",
        trials=trials,
        git_revision=_git_revision(loaded.path.parent),
        cases=recorded_cases(cases, job),
        case_jobs=CaseJobs(case.packed for case in cases),
        case_order=tuple(case_places(len(cases), trials)),
    )
    warnings = tuple(map(_said_of_run, checked.problems))
    if job.controls and not loaded.job.controls:
        warnings += tuple(filter(None, [unused_placebo(job, loaded.path.parent)]))
    return assemble(spec, makers, plan, warnings, settings)


def _users(spec: EngineSpec, job: EvaluationJob) -> tuple[str, ...]:
    """Return the models that play the user, if there are several.

    Raises:
        UsageError: the batch may stop before each has had its trials.
    """
    users = given_models(spec.evaluator_model or job.evaluator.model)
    if len(users) < 2 or job.evaluator.kind != "llm":
        return ()
    if spec.until_decided is not None:
        raise UsageError(
            "--until-decided may stop after any trial, so that one of several users would have"
            " fewer than another; give one --evaluator-model, or --repeat"
        )
    return users


def _with_users(cases: Sequence[CaseJob], users: Sequence[str]) -> list[CaseJob]:
    """Return each case with each of several users."""
    return list(starmap(_with_user, product(cases, users)))


def _with_user(case: CaseJob, user: str) -> CaseJob:
    job = case.job
    evaluator = job.evaluator.model_copy(update={"model": user})
    packed = PackedJob(job.model_copy(update={"evaluator": evaluator}), case.packed.like)
    return replace(case, packed=packed, user=clean_line(user, 200))


def _chosen(spec: EngineSpec, job: EvaluationJob) -> tuple[Condition, ...]:
    """Return the job's conditions, or those of them that were asked for.

    Raises:
        UsageError: the job has no such condition, or none of the order's.
    """
    of_job = tuple(condition.name for condition in job.held_in)
    orders = ["random", *(f"{name}-first" for name in of_job)]
    if spec.order is not None and spec.order not in orders:
        raise UsageError(
            f"there is no order {clean_line(spec.order)!r}; known are {', '.join(orders)}"
        )
    if spec.conditions is None:
        if job.controls and (why := control_problem(job)):
            raise UsageError(f"no placebo (controls: true, --control): {why}")
        return of_job
    if spec.control and PLACEBO_NAME not in spec.conditions:
        raise UsageError("--control needs all conditions: leave out --condition")
    if unknown := next((name for name in spec.conditions if name not in of_job), None):
        raise UsageError(
            f"the job has no condition {clean_line(unknown)!r}; it has {listed(of_job)}"
        )
    return tuple(name for name in of_job if name in spec.conditions)


def assemble(
    spec: EngineSpec, makers: Makers, plan: RunPlan, warnings: tuple[str, ...], settings: Settings
) -> PreparedRun:
    """Return the run with its parts, for its `plan`.

    Raises:
        UsageError: a part cannot be made, or the job is sensitive and a host is not this machine.
    """
    job, hosts = plan.job, makers.hosts()
    graphs.require_name(spec.graph)
    require_local(job, hosts)
    if job.evaluator.kind == HUMAN and not spec.plays:
        raise UsageError(
            "a person as evaluator needs a person at the keyboard: run it in a terminal, not"
            " headless"
        )
    records.require_allowed(job, makers.agent_url, spec, settings)
    makers.agent_key()  # refused now, not in the first conversation
    makers.agent_headers()
    makers.load_functions()
    makers.plan = plan
    evaluator, judge = makers.evaluator(plan.conditions[0], 1), makers.judge()
    plan = replace(
        plan,
        agent=_agents_name(spec, makers),
        evaluator=_evaluators_name(makers, evaluator),
        judge=judge.identity,
        graph=graphs.describe(spec, settings),
        fhir=records.describe(job, makers.agent_url, starts_agent=spec.starts_agent),
        model=makers.agent_model,
        agent_is_model=makers.pays_agent,
        parallel=spec.parallel,
        shared_agent=spec.at_once(len(plan.conditions)),
        rehearsal=_is_rehearsal(job),
        exam=is_examined(spec, job),
        hosts=hosts,
        prompts=makers.prompt_hashes(),
        judge_sees=makers.judge_sees(),
        judge_family=makers.judge_family(),
        batch_id=spec.batch_id,
        options=_options(spec, makers, plan),
        limits=_limits(spec, makers, settings),
    )
    warnings += tuple(ineffective_options(spec, job))
    return PreparedRun(
        plan,
        lambda control: _open_parts(spec, makers, judge, settings, control),
        warnings,
        keep_prompts=spec.keep_prompts,
        requests_per_minute=spec.requests_per_minute,
        rates=makers.rates(),
        otlp=_spans_port(spec, job),
        shares_graph=functools.partial(_is_shared, spec, makers, settings),
    )


def open_anew(run: PreparedRun, spec: EngineSpec, job_dir: Path, settings: Settings) -> PreparedRun:
    """Return a prepared run with parts of its own, which nobody has opened and closed before."""
    makers = Makers(run.plan.job, job_dir, spec, spec.runs[0].model, settings)
    makers.plan = run.plan
    judge = makers.judge()
    return replace(
        run, open_parts=lambda control: _open_parts(spec, makers, judge, settings, control)
    )


async def _is_shared(spec: EngineSpec, makers: Makers, settings: Settings) -> bool:
    """Return whether the run's conversations would share a knowledge graph or a FHIR server."""
    if makers.job.fhir is not None:
        return True
    return await graphs.is_shared(spec, settings, makers.telling_url)


def _agents_name(spec: EngineSpec, makers: Makers) -> str:
    if spec.sample_agent:
        return SAMPLE_AGENT
    if spec.local_model:
        return makers.model
    return makers.agent_host()


def _evaluators_name(makers: Makers, first: Evaluator) -> str:
    """Return who plays the user; of several models the names of all, as those of a panel of
    judges.
    """
    users = makers.evaluator_models()
    if makers.job.evaluator.kind == "llm" and len(users) > 1:
        return ", ".join(clean_line(user, 100) for user in users)
    return first.identity


def _spans_port(spec: EngineSpec, job: EvaluationJob) -> int | None:
    if spec.otlp is not None:
        return spec.otlp
    if job.telemetry:
        return job.telemetry.port
    return None


def _is_rehearsal(job: EvaluationJob) -> bool:
    """Return whether nobody real plays the user.

    Rules may be a benchmark's own verdict, whoever does.
    """
    player = job.evaluator.kind
    return player == "scripted" or (job.scorer.kind == "rules" and player not in ("llm", HUMAN))


def is_examined(spec: RunOptions, job: EvaluationJob) -> bool:
    """Return whether the judge is examined: rules need none, and a plug-in only where the job says
    so.
    """
    if job.scorer.kind == "rules" or spec.exam == "off":
        return False
    if job.scorer.exam is not None:
        return job.scorer.exam
    return spec.exam == "gate" and job.scorer.kind == "llm"


def ineffective_options(spec: RunOptions, job: EvaluationJob) -> Iterator[str]:
    """Yield a sentence for each given option that has no effect on this job."""
    given = spec.judge_model
    for model, whose, kind, does in (
        (", ".join(spec.evaluator_model), "evaluator", job.evaluator.kind, "plays the user"),
        (", ".join(given), "judge", job.scorer.kind, "judges"),
    ):
        if model and kind not in ("llm", model):
            who = _INSTEAD.get(kind, f"the plug-in {clean_line(kind, 80)}")
            yield f"the {whose}'s model {clean_line(model, 200)} is not used, because {who} {does}"
    protocol = plugins.agent_protocol(job.target.protocol)
    if spec.agent_url_is_given and protocol is not None and protocol.is_function:
        yield "the agent's URL is not used, because the agent is a Python function"
    if spec.leaderboard and not job.medal_assertions:
        yield "the leaderboard is not used, because the job has no medal assertion"


_INSTEAD = {"scripted": "a script", HUMAN: "a person", "rules": "a set of rules"}


@contextlib.asynccontextmanager
async def _open_parts(
    spec: EngineSpec, makers: Makers, judge: Judge, settings: Settings, control: Control
) -> AsyncIterator[Parts]:
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(judge.aclose)
        stack.push_async_callback(makers.aclose)
        if spec.sample_agent:
            await graphs.require_reachable(spec, settings)
            makers.agent_url = await stack.enter_async_context(
                sample_agent(graphs.sample_agent_arguments(spec, settings))
            )
        elif spec.local_model:
            makers.agent_url = await stack.enter_async_context(local_model())
        graph, why_not = await graphs.open_graph(spec, settings, makers.telling_url)
        if graph is not None:
            stack.push_async_callback(graph.aclose)
        server = records.open_server(makers.job, makers.agent_url, spec, settings)
        if server is not None:
            stack.push_async_callback(server.aclose)
        if makers.job.evaluator.kind == HUMAN:
            _seat_person(makers, control)
        parts = makers.parts(judge, graph, why_not, server)
        if graph is not None:
            parts = replace(
                parts, other_graph=graphs.ComparedGraph(graph, makers.telling_url).other
            )
        yield parts


def _seat_person(makers: Makers, control: Control) -> None:
    """Let a person play the user from the start, for which the screen opens its input line."""
    makers.control = control
    assert makers.plan is not None
    for condition in makers.plan.conditions:
        control.conversation(condition).person = lambda text: (
            None
        )  # until the conversation has its evaluator
        control.act("take_over", condition, sender="the job: evaluator.kind human")


def _options(spec: EngineSpec, makers: Makers, plan: RunPlan) -> dict[str, Any]:
    """Return the run's options, in the form that `resuming.py` reads."""
    judges = makers.judge_models()
    options: dict[str, Any] = {
        **spec.recorded(),
        "job_file": str((makers.job_dir or Path()).absolute() / Path(plan.job_path).name),
        "agent_url": None if spec.starts_agent else strip_credentials(makers.agent_url),
        "evaluator_model": None,
        "judge_model": list(judges) or None,
        "evaluator_host": None,
        "judge_host": None,
        "agent_function": None,
    }
    if judges:
        options["judge_host"] = makers.model_host("judge")
    if spec.agent_function is not None:
        options["agent_function"] = makers.agent_host()
    if makers.job.evaluator.kind == "llm":
        options["evaluator_model"] = list(makers.evaluator_models())
        options["evaluator_host"] = makers.model_host("evaluator")
    return options


def _add_job_keys(spec: EngineSpec, job: EvaluationJob) -> EngineSpec:
    """Return the options with those that are also keys of the job, where the command line leaves
    them to it.
    """
    return replace(
        spec,
        parallel=spec.parallel or (spec.order is None and job.order == "parallel"),
        keep_prompts=spec.keep_prompts and job.target.record_events,
        requests_per_minute=spec.requests_per_minute or job.target.max_requests_per_minute,
    )


def _limits(spec: EngineSpec, makers: Makers, settings: Settings) -> RunLimits:
    """Return the default limits, which are wider if a person types or requests wait for the rate
    limiter.
    """
    job, longest_s = makers.job, settings.longest_wait_s
    usual = RunLimits(
        evaluator_s=makers.answer_s("evaluator"),
        judge_s=makers.judge_s,
        agent_retries=replace(AGENT_RULE, longest_wait_s=longest_s),
        model_retries=replace(MODEL_RULE, longest_wait_s=longest_s),
    )
    if job.telemetry is not None:
        usual = replace(usual, spans_s=job.telemetry.wait_ms / 1000)
    if spec.unrestricted_setups:  # an index, or a file that is loaded, takes its time
        usual = replace(usual, setup_s=UNRESTRICTED_SETUP_S)
    if job.evaluator.kind == HUMAN:
        return replace(usual, evaluator_s=A_DAY_S, conversation_s=A_DAY_S)
    rate, at_once = spec.requests_per_minute, spec.at_once(len(job.held_in))
    queue_s = 0.0
    if rate:
        queue_s = 60.0 * at_once * 4 / rate
    if at_once > 1:
        queue_s += 60.0
    verdicts = len(makers.judge_models()) * job.scorer.repeats
    return replace(
        usual,
        evaluator_s=usual.evaluator_s + queue_s,
        judge_s=usual.judge_s + queue_s * max(1, verdicts),
        conversation_s=usual.conversation_s + queue_s * job.max_messages,
    )


def give_agent(job: EvaluationJob, spec: EngineSpec) -> EvaluationJob:
    """Return the job with the function that a Python program passed as its agent, if any."""
    if spec.agent_function is None:
        return job
    name = python_code.function_reference(spec.agent_function)
    # The job's tools would have no effect: the agent is not told about them.
    target = job.target.model_copy(update={"protocol": "python", "function": name, "tools": ()})
    return job.model_copy(update={"target": target})


def apply_mode(job: EvaluationJob, spec: EngineSpec) -> EvaluationJob:
    """Return the job with the requested evaluator and judge.

    Raises:
        UsageError: a rehearsal is requested, but the job has no script or rules; or a person is
            one of several users.
    """
    by_person = HUMAN in spec.evaluator_model
    if by_person and len(given_models(spec.evaluator_model)) > 1:
        raise UsageError(
            "a person plays the user of a whole run; give --evaluator-model human alone"
        )
    evaluator, judge = job.evaluator.kind, job.scorer.kind
    if spec.mode == "rehearsal":
        evaluator, judge = "scripted", "rules"
    elif spec.mode == "llm":
        evaluator, judge = "llm", "llm"
    elif spec.evaluator_model and evaluator not in plugins.BUILT_IN["evaluators"]:
        evaluator = "llm"  # a model that was asked for plays the user instead of a plug-in
    if by_person:
        evaluator = HUMAN
    scripted = by_person or job.evaluator.lines
    if spec.mode == "rehearsal" and not (scripted and all(task.rules for task in job.judged)):
        raise UsageError(
            "a rehearsal needs `evaluator.lines` and `rules` for every task, which this job does"
            " not have; see the samples (`bioeval-tui samples DIR` copies them), or create a job"
            " with `bioeval-tui new JOB.yml --offline`"
        )
    return job.model_copy(
        update={
            "evaluator": job.evaluator.model_copy(update={"kind": evaluator}),
            "scorer": job.scorer.model_copy(update={"kind": judge}),
            "controls": job.controls or spec.control,
        }
    )


def _said_of_run(problem: Problem) -> str:
    """Return a warning of `check` as a run has it: where the file and line would say nothing, but
    some messages are about their key alone.
    """
    of_key = ("is drawn anew", "lists ", "never comes", "no effect")
    if problem.message.startswith(of_key):
        return f"{problem.field}: {problem.message}"
    return problem.message


def _seed(spec: EngineSpec, job: EvaluationJob) -> int:
    for seed in (spec.seed, job.seed):
        if seed is not None:
            return seed
    return secrets.randbits(31)


@functools.cache
def _git_revision(folder: Path) -> str | None:
    try:
        asked = subprocess.run(  # noqa: S603
            # git, wherever it is installed
            ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"],  # noqa: S607
            capture_output=True,
            timeout=2,
            check=False,
            env=plain_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if asked.returncode != 0:
        return None
    return asked.stdout.decode("ascii", "replace").strip() or None

"""What a run would call and cost, said before anything is sent to anybody.

`run --dry-run` and the run dialog ask for it (`estimate_batch`). The run is prepared as if it were
to begin; then calls are counted (`conversation/call_counts.py`), and priced by typical lengths of
messages. A resumed run is not estimated: what is missing of it is known only once its recording is
locked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from typing_extensions import TypedDict

from bioeval_tui import plugins
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.text import plural
from bioeval_tui.base.yaml_positions import show_path
from bioeval_tui.evaluation.conversation import exam
from bioeval_tui.evaluation.conversation.call_counts import (
    NO_CALLS,
    Calls,
    agent_calls,
    evaluator_calls,
    judge_calls,
    total_calls,
)
from bioeval_tui.evaluation.conversation.plan import RunPlan
from bioeval_tui.evaluation.conversation.sentinels import sentinels
from bioeval_tui.evaluation.engine.batch import PreparedRun
from bioeval_tui.evaluation.engine.interface import EngineSpec, RunSpec
from bioeval_tui.evaluation.wiring.makers import Makers
from bioeval_tui.evaluation.wiring.placebo import placebo_hints
from bioeval_tui.evaluation.wiring.prepare import prepare_run
from bioeval_tui.jobs.models import EvaluationJob, ModelOptions
from bioeval_tui.peers.prices import Price, load_prices, why_no_price
from bioeval_tui.record.condition_names import PLACEBO_NAME, Condition

MESSAGE_TOKENS = 200
"""Assumed length of a message, in tokens."""


PROMPT_TOKENS = 1500
"""Assumed tokens that a prompt adds to the transcript."""


VERDICT_TOKENS = 200
"""Assumed length of a judge's reason for one task, in tokens."""


class PrintedRole(TypedDict):
    """The calls of one role."""

    model: str
    host: str
    calls: int
    """How many there are if nothing is sent twice and every conversation has its full length."""
    most_calls: int
    """The maximum, whatever fails, is refused or has to be asked again."""
    cost: float | None
    most_cost: float | None
    """Of these calls, in dollars; None if unknown."""
    why_unknown: str | None
    options: dict[str, Any]
    """What the job asks of the model besides its messages, under the job's keys."""


class PrintedEstimate(TypedDict):
    """What one run would call, as `run --dry-run --json` prints it."""

    job: str
    model: str
    conversations: int
    hosts: list[str]
    judge_sees: str | None
    judge_family: str | None
    """What a judge of the agent's or the user's model family means; null if it is of another."""
    fhir: str | None
    """The FHIR server, and whether setups write to it; null if the job names none."""
    warnings: list[str]
    exam: str | None
    """What the judge is asked before its verdicts count; null if nothing is."""
    control: str | None
    """What the placebo adds, as a sentence; null without one."""
    calls: int
    most_calls: int
    roles: dict[str, PrintedRole]


def estimate_batch(spec: EngineSpec, settings: Settings) -> list[PrintedEstimate]:
    """Return an estimate for each run of the batch. Nothing is sent to anybody.

    Raises:
        BioevalError: what is wrong with the jobs, the settings or the price file.
    """
    return [_estimate(prepare_run(spec, run, settings), run, spec, settings) for run in spec.runs]


def total_cost(
    estimates: Sequence[PrintedEstimate], key: Literal["cost", "most_cost"]
) -> float | None:
    """Return the total cost; None if a role's is unknown."""
    roles = chain.from_iterable(estimate["roles"].values() for estimate in estimates)
    costs = [role[key] for role in roles]
    known = [cost for cost in costs if cost is not None]
    if len(known) == len(costs):
        return sum(known)
    return None


def _placebo_hints(job: EvaluationJob) -> Iterator[str]:
    """Yield what `check` says of a job's placebo texts, here also of one that --control adds."""
    for place, hint in placebo_hints(job):
        yield f"{show_path(place)}: {hint}"


def _estimate(
    prepared: PreparedRun, run: RunSpec, spec: EngineSpec, settings: Settings
) -> PrintedEstimate:
    plan = prepared.plan
    makers = Makers(plan.job, Path(plan.job_path).parent, spec, plan.model, settings)
    held = _conversations(plan)
    named = run.model or plan.job.target.model
    roles = _roles(plan, makers, settings, held, named)
    calls = _calls(roles)
    others = [each for each in held if each.condition != PLACEBO_NAME]
    control = None
    if len(others) < len(held):
        added = sum(each.number for each in held) - sum(each.number for each in others)
        fewer = _calls(_roles(plan, makers, settings, others, named))
        control = (
            f"of these, the placebo adds {plural(added, 'conversation')} and"
            f" {plural(calls - fewer, 'call')}"
        )
    return {
        "job": plan.job_name,
        "model": plan.model or "",
        "conversations": sum(each.number for each in held),
        "hosts": list(plan.hosts),
        "judge_sees": plan.judge_sees or None,
        "judge_family": plan.judge_family or None,
        "fhir": plan.fhir,
        "warnings": [*prepared.warnings, *_placebo_hints(plan.job)],
        "exam": _exam_words(plan, settings),
        "control": control,
        "calls": calls,
        "most_calls": sum(role["most_calls"] for role in roles.values()),
        "roles": roles,
    }


def _roles(
    plan: RunPlan,
    makers: Makers,
    settings: Settings,
    held: Sequence[_Conversations],
    named: str | None,
) -> dict[str, PrintedRole]:
    """Return what each role calls in some conversations."""
    return {
        "agent": _agent(plan, makers, settings, held, named=named),
        **_evaluators(plan, makers, settings, held),
        **_judges(plan, makers, settings, held),
    }


def _calls(roles: Mapping[str, PrintedRole]) -> int:
    return sum(role["calls"] for role in roles.values())


class _Conversations(NamedTuple):
    """Conversations of a run: their condition, their case's job, and how many there are."""

    condition: Condition
    job: EvaluationJob
    number: int


def _conversations(plan: RunPlan) -> list[_Conversations]:
    """Return the conversations of a plan, by condition and case."""
    # The trials of a case have the same job object, so its identity stands for the case.
    numbers: Counter[tuple[Condition, int]] = Counter()
    jobs: dict[int, EvaluationJob] = {}
    for trial in range(1, plan.trials + 1):
        job = plan.trial_plan(trial).job
        jobs[id(job)] = job
        numbers.update((each, id(job)) for each in plan.conditions)
    return [
        _Conversations(condition, jobs[at], number) for (condition, at), number in numbers.items()
    ]


def _agent(
    plan: RunPlan,
    makers: Makers,
    settings: Settings,
    held: Sequence[_Conversations],
    *,
    named: str | None,
) -> PrintedRole:
    protocol = plugins.agent_protocol(plan.job.target.protocol)
    terms: dict[str, Any] = {
        "is_model": makers.pays_agent,
        "takes_history": protocol is not None and "history" in protocol.takes,
    }
    rule, patience_s = plan.limits.agent_retries, _patience_s(plan)
    calls = total_calls(
        agent_calls(each.job, rule, patience_s, **terms).times(each.number) for each in held
    )
    host = plan.hosts[0]
    if not makers.pays_agent:
        model = named if plan.rehearsal else plan.model
        return _unpriced(model or "", host, calls, None, "the agent's own cost is unknown")
    price = makers.agent_price(load_prices(settings.data_dir))
    # A chat endpoint is sent the whole conversation with each message, on average half of the
    # longest one.
    per_call = plan.job.max_messages * MESSAGE_TOKENS / 2
    return _role(plan.model or "", host, calls, price, per_call, MESSAGE_TOKENS, plan.job.target)


def _evaluators(
    plan: RunPlan, makers: Makers, settings: Settings, held: Sequence[_Conversations]
) -> dict[str, PrintedRole]:
    if plan.job.evaluator.kind != "llm":
        return {"evaluator": _unpriced(plan.job.evaluator.kind)}
    models = makers.evaluator_models()
    if len(models) == 1:
        return {"evaluator": _evaluator(plan, makers, settings, held, models[0])}
    roles = {}
    for number, model in enumerate(models, start=1):
        own = [each for each in held if each.job.evaluator.model == model]
        roles[f"evaluator {number}"] = _evaluator(plan, makers, settings, own, model)
    return roles


def _evaluator(
    plan: RunPlan,
    makers: Makers,
    settings: Settings,
    held: Sequence[_Conversations],
    model: str,
) -> PrintedRole:
    job, host = plan.job, makers.model_host("evaluator")
    price = load_prices(settings.data_dir).of(model, host)
    per_call = PROMPT_TOKENS + job.max_messages * MESSAGE_TOKENS / 2
    rule, patience_s = plan.limits.model_retries, _patience_s(plan)
    calls = total_calls(
        evaluator_calls(each.job, rule, patience_s).times(each.number) for each in held
    )
    return _role(model, host, calls, price, per_call, MESSAGE_TOKENS, job.evaluator)


def _judges(
    plan: RunPlan, makers: Makers, settings: Settings, held: Sequence[_Conversations]
) -> dict[str, PrintedRole]:
    job, models = plan.job, makers.judge_models()
    transcripts = Counter[int]()
    """How many transcripts have so many tasks to score."""
    for each in held:
        transcripts[len(each.job.judged_in(each.condition))] += each.number
    if not models or not any(transcripts):
        return {"judge": _unpriced("no tasks" if models else job.scorer.kind)}
    if job.scorer.sentinels:
        for sentinel in sentinels(job):
            transcripts[len(sentinel.met)] += 2  # before the first conversation, and at the end
    prices = load_prices(settings.data_dir)
    host = makers.model_host("judge")
    per_call = PROMPT_TOKENS + job.max_messages * MESSAGE_TOKENS
    out = VERDICT_TOKENS * len(job.scorer.split(range(max(transcripts)))[0])
    roles = {}
    for number, model in enumerate(models, start=1):
        faults = number == 1 and job.scorer.user_faults and job.evaluator.kind == "llm"
        rule = plan.limits.model_retries
        calls = total_calls(
            judge_calls(job, tasks, rule, lists_faults=faults).times(times)
            for tasks, times in transcripts.items()
        )
        calls = total_calls([calls, *_exam_calls(plan, settings)])
        name = "judge" if len(models) == 1 else f"judge {number}"
        roles[name] = _role(model, host, calls, prices.of(model, host), per_call, out, job.scorer)
        if job.scorer.items_per_request is not None:
            roles[name]["options"]["itemsPerRequest"] = job.scorer.items_per_request
    return roles


def _exam_calls(plan: RunPlan, settings: Settings) -> list[Calls]:
    """Return the calls of one of the judge's models for the exam; if it is remembered, none, unless
    another model is served.
    """
    if not plan.exam:
        return []
    asked = exam.exam_of_run(plan)
    known = exam.remembered(asked, settings.data_dir / exam.FOLDER) is not None
    each = [
        judge_calls(
            view.job,
            len(view.job.judged_in(view.condition)),
            plan.limits.model_retries,
            lists_faults=False,
        )
        for _, view in asked.views
    ]
    if known:
        return [Calls(0, calls.most) for calls in each]
    return each


def _exam_words(plan: RunPlan, settings: Settings) -> str | None:
    """Return what a run asks its judge before anything counts, as a sentence; None if it asks
    nothing.
    """
    if not plan.exam:
        return None
    asked = exam.exam_of_run(plan)
    if asked.why_not:
        return f"the judge has no exam: {asked.why_not}"
    what = f"the judge is examined with {plural(len(asked.views), 'control conversation')}"
    known = exam.remembered(asked, settings.data_dir / exam.FOLDER)
    if known:
        return f"{what}, remembered from an earlier run"
    return what


def _role(
    model: str,
    host: str,
    calls: Calls,
    price: Price | None,
    tokens_in: float,
    tokens_out: float,
    options: ModelOptions,
) -> PrintedRole:
    if price is None:
        why = why_no_price(model, host)
        role = _unpriced(model, host, calls, None, why)
    else:
        each = price.cost(tokens_in, tokens_out)
        role = _unpriced(model, host, calls, None, None)
        role |= {"cost": each * calls.usual, "most_cost": each * calls.most}
    return {**role, "options": options.given_options()}


def _unpriced(
    model: str,
    host: str = "",
    calls: Calls = NO_CALLS,
    cost: float | None = 0.0,
    why: str | None = None,
) -> PrintedRole:
    return PrintedRole(
        model=model,
        host=host,
        calls=calls.usual,
        most_calls=calls.most,
        cost=cost,
        most_cost=cost,
        why_unknown=why,
        options={},
    )


def _patience_s(plan: RunPlan) -> float:
    """Return for how long a request is sent again because others of ours are under way at the same
    peer.
    """
    if plan.shared_agent > 1:
        return plan.limits.throttled_s
    return 0.0

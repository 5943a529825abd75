"""Estimate a batch before anything is sent: conversations, maximum calls, and cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from bioeval_tui.evaluation.conversation.plan import RunPlan
from bioeval_tui.evaluation.engine.batch import PreparedRun
from bioeval_tui.evaluation.engine.spec import EngineSpec, RunSpec
from bioeval_tui.evaluation.job.models import ConversationSeed, EvaluationJob, ModelOptions
from bioeval_tui.evaluation.prices import FILE_NAME, Price, load_prices
from bioeval_tui.evaluation.wiring.makers import Makers
from bioeval_tui.evaluation.wiring.parts import prepare_run
from bioeval_tui.settings import Settings

MESSAGE_TOKENS = 200
"""Assumed length of a message, in tokens."""
PROMPT_TOKENS = 1500
"""Assumed tokens that a prompt adds to the transcript."""
VERDICT_TOKENS = 200
"""Assumed length of a judge's reason for one task, in tokens."""
SENTINELS = 24
"""Twelve conversations with known verdicts, asked about before and after the others."""


class PrintedRole(TypedDict):
    """The calls of one role."""

    model: str
    host: str
    most_calls: int
    """The maximum if no request fails."""
    most_cost: float | None
    """In dollars; None if unknown."""
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
    warnings: list[str]
    most_calls: int
    roles: dict[str, PrintedRole]


def estimate_batch(spec: EngineSpec, settings: Settings) -> list[PrintedEstimate]:
    """Return an estimate for each run of the batch. Nothing is sent to anybody.

    Raises:
        BioevalError: what is wrong with the jobs, the settings or the price file.
    """
    return [_estimate(prepare_run(spec, run, settings), run, spec, settings) for run in spec.runs]


def total_cost(estimates: Sequence[PrintedEstimate]) -> float | None:
    """Return the maximum total cost; None if a role's is unknown."""
    costs = [role["most_cost"] for estimate in estimates for role in estimate["roles"].values()]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def most_agent_calls(job: EvaluationJob) -> int:
    """Return the number of messages that a conversation sends to the agent: every second message, and seeds."""
    seeded = sum(
        message.role == "user"
        for seed in job.seeds
        if isinstance(seed, ConversationSeed)
        for message in seed.messages
    )
    return job.max_messages // 2 + seeded


def most_evaluator_calls(job: EvaluationJob) -> int:
    """Return the maximum number of evaluator calls of a conversation: two for each of its messages except the greeting."""
    return ((job.max_messages + 1) // 2 - 1) * 2


def _estimate(prepared: PreparedRun, run: RunSpec, spec: EngineSpec, settings: Settings) -> PrintedEstimate:
    plan = prepared.plan.of_trial(1)
    makers = Makers(plan.job, Path(plan.job_path).parent, spec, plan.model, settings)
    conversations = len(plan.conditions) * plan.trials
    if prepared.resume is not None:
        conversations -= len(prepared.resume().earlier.finished)
    roles = {
        "agent": _agent(plan, makers, settings, conversations, named=run.model or plan.job.target.model),
        "evaluator": _evaluator(plan, makers, settings, conversations),
        **_judges(plan, makers, settings, conversations),
    }
    return {
        "job": plan.job_name,
        "model": plan.model or "",
        "conversations": conversations,
        "hosts": list(plan.hosts),
        "judge_sees": plan.judge_sees or None,
        "warnings": list(prepared.warnings),
        "most_calls": sum(role["most_calls"] for role in roles.values()),
        "roles": roles,
    }


def _agent(
    plan: RunPlan, makers: Makers, settings: Settings, conversations: int, *, named: str | None
) -> PrintedRole:
    calls = most_agent_calls(plan.job) * conversations
    host = plan.hosts[0]
    if not makers.pays_agent:
        model = named if plan.rehearsal else plan.model
        return _unpriced(model or "", host, calls, None, "the agent's own cost is unknown")
    price = makers.agent_price(load_prices(settings.data_dir / FILE_NAME))
    per_call = sum(_growing(plan.job)) / max(1, most_agent_calls(plan.job))
    return _role(plan.model or "", host, calls, price, per_call, MESSAGE_TOKENS, plan.job.target)


def _evaluator(plan: RunPlan, makers: Makers, settings: Settings, conversations: int) -> PrintedRole:
    job = plan.job
    if job.evaluator.kind != "llm":
        return _unpriced(job.evaluator.kind)
    model, host = makers.evaluator_model(), makers.model_host("evaluator")
    price = load_prices(settings.data_dir / FILE_NAME).of(model, host)
    per_call = PROMPT_TOKENS + job.max_messages * MESSAGE_TOKENS / 2
    calls = most_evaluator_calls(job) * conversations
    return _role(model, host, calls, price, per_call, MESSAGE_TOKENS, job.evaluator)


def _judges(plan: RunPlan, makers: Makers, settings: Settings, conversations: int) -> dict[str, PrintedRole]:
    job, models = plan.job, makers.judge_models()
    if not models or not job.judged:
        return {"judge": _unpriced("rules" if not models else "no tasks")}
    prices = load_prices(settings.data_dir / FILE_NAME)
    host = makers.model_host("judge")
    conversations += SENTINELS * job.scorer.sentinels
    calls = job.scorer.repeats * 2 * conversations  # a malformed verdict is asked for once more
    per_call = PROMPT_TOKENS + job.max_messages * MESSAGE_TOKENS
    out = VERDICT_TOKENS * len(job.judged)
    return {
        "judge" if len(models) == 1 else f"judge {number}": _role(
            model, host, calls, prices.of(model, host), per_call, out, job.scorer
        )
        for number, model in enumerate(models, start=1)
    }


def _unpriced(
    model: str, host: str = "", calls: int = 0, cost: float | None = 0.0, why: str | None = None
) -> PrintedRole:
    return PrintedRole(model=model, host=host, most_calls=calls, most_cost=cost, why_unknown=why, options={})


def _role(
    model: str,
    host: str,
    calls: int,
    price: Price | None,
    tokens_in: float,
    tokens_out: float,
    options: ModelOptions,
) -> PrintedRole:
    cost = None if price is None else price.cost(calls * tokens_in, calls * tokens_out)
    why = None if price is not None else f"no price of {model} at {host} in {FILE_NAME}"
    return {**_unpriced(model, host, calls, cost, why), "options": options.given_options()}


def _growing(job: EvaluationJob) -> list[float]:
    """Return the tokens of the history that is sent to a chat endpoint with each message."""
    return [(2 * turn + 1) * MESSAGE_TOKENS for turn in range(most_agent_calls(job))]

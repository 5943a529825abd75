"""Estimate a batch before anything is sent: conversations, maximum calls, and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from bioeval_tui.evaluation.conversation.plan import RunPlan
from bioeval_tui.evaluation.engine.batch import PreparedRun
from bioeval_tui.evaluation.engine.resume import Resumption
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
    most_cost: float | None
    why_unknown: str | None
    options: dict[str, Any]


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


@dataclass(frozen=True, slots=True)
class RoleEstimate:
    """One role of one run. `calls` is the maximum if no request fails; `cost` is in dollars, None if unknown."""

    role: str
    model: str
    host: str
    calls: int
    cost: float | None
    why_unknown: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the job asks of the model besides its messages, under the job's keys."""


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """One run: its conversations, and each role's calls."""

    job: str
    model: str
    conversations: int
    hosts: tuple[str, ...]
    roles: tuple[RoleEstimate, ...]
    judge_sees: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def calls(self) -> int:
        """The maximum number of calls of all roles together, if no request fails."""
        return sum(role.calls for role in self.roles)

    def to_dict(self) -> PrintedEstimate:
        """Return the fields for JSON."""
        return {
            "job": self.job,
            "model": self.model,
            "conversations": self.conversations,
            "hosts": list(self.hosts),
            "judge_sees": self.judge_sees or None,
            "warnings": list(self.warnings),
            "most_calls": self.calls,
            "roles": {
                role.role: {
                    "model": role.model,
                    "host": role.host,
                    "most_calls": role.calls,
                    "most_cost": role.cost,
                    "why_unknown": role.why_unknown or None,
                    "options": dict(role.options),
                }
                for role in self.roles
            },
        }


def estimate_batch(spec: EngineSpec, settings: Settings) -> list[RunEstimate]:
    """Return an estimate for each run of the batch. Nothing is sent to anybody.

    Raises:
        BioevalError: what is wrong with the jobs, the settings or the price file.
    """
    return [_estimate(prepare_run(spec, run, settings), run, spec, settings) for run in spec.runs]


def total_cost(estimates: Sequence[RunEstimate]) -> float | None:
    """Return the maximum total cost; None if a role's is unknown."""
    costs = [role.cost for found in estimates for role in found.roles]
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


def _estimate(prepared: PreparedRun, run: RunSpec, spec: EngineSpec, settings: Settings) -> RunEstimate:
    plan = prepared.plan.of_trial(1)
    makers = Makers(plan.job, _job_dir(plan), spec, plan.model, settings)
    held = len(plan.conditions) * plan.trials - _finished(prepared.resume() if prepared.resume else None)
    return RunEstimate(
        job=plan.job_name,
        model=plan.model or "",
        conversations=held,
        hosts=plan.hosts,
        roles=(
            _agent(plan, makers, settings, held, named=run.model or plan.job.target.model),
            _evaluator(plan, makers, settings, held),
            *_judges(plan, makers, settings, held),
        ),
        judge_sees=plan.judge_sees,
        warnings=prepared.warnings,
    )


def _job_dir(plan: RunPlan) -> Path:
    return Path(plan.job_path).parent


def _finished(resume: Resumption | None) -> int:
    return len(resume.earlier.finished) if resume else 0


def _agent(
    plan: RunPlan, makers: Makers, settings: Settings, held: int, *, named: str | None
) -> RoleEstimate:
    calls = most_agent_calls(plan.job) * held
    host = plan.hosts[0]
    if not makers.pays_agent:
        model = named if plan.rehearsal else plan.model
        return RoleEstimate("agent", model or "", host, calls, None, "the agent's own cost is unknown")
    price = makers.agent_price(load_prices(settings.data_dir / FILE_NAME))
    per_call = sum(_growing(plan.job)) / max(1, most_agent_calls(plan.job))
    return _role("agent", plan.model or "", host, calls, price, per_call, MESSAGE_TOKENS, plan.job.target)


def _evaluator(plan: RunPlan, makers: Makers, settings: Settings, held: int) -> RoleEstimate:
    job = plan.job
    if job.evaluator.kind != "llm":
        return RoleEstimate("evaluator", job.evaluator.kind, "", 0, 0.0)
    model, host = makers.evaluator_model(), makers.model_host("evaluator")
    price = load_prices(settings.data_dir / FILE_NAME).of(model, host)
    per_call = PROMPT_TOKENS + job.max_messages * MESSAGE_TOKENS / 2
    calls = most_evaluator_calls(job) * held
    return _role("evaluator", model, host, calls, price, per_call, MESSAGE_TOKENS, job.evaluator)


def _judges(plan: RunPlan, makers: Makers, settings: Settings, held: int) -> list[RoleEstimate]:
    job, models = plan.job, makers.judge_models()
    if not models or not job.judged:
        return [RoleEstimate("judge", "rules" if not models else "no tasks", "", 0, 0.0)]
    prices = load_prices(settings.data_dir / FILE_NAME)
    host = makers.model_host("judge")
    held += SENTINELS * job.scorer.sentinels
    calls = job.scorer.repeats * 2 * held  # a malformed verdict is asked for once more
    per_call = PROMPT_TOKENS + job.max_messages * MESSAGE_TOKENS
    out = VERDICT_TOKENS * len(job.judged)
    names = ["judge"] if len(models) == 1 else [f"judge {number}" for number in range(1, len(models) + 1)]
    return [
        _role(name, model, host, calls, prices.of(model, host), per_call, out, job.scorer)
        for name, model in zip(names, models, strict=True)
    ]


def _role(
    role: str,
    model: str,
    host: str,
    calls: int,
    price: Price | None,
    tokens_in: float,
    tokens_out: float,
    options: ModelOptions,
) -> RoleEstimate:
    cost = None if price is None else price.cost(calls * tokens_in, calls * tokens_out)
    why = "" if price is not None else f"no price of {model} at {host} in {FILE_NAME}"
    return RoleEstimate(role, model, host, calls, cost, why, options.given_options())


def _growing(job: EvaluationJob) -> list[float]:
    """Return the tokens of the history that is sent to a chat endpoint with each message."""
    return [(2 * turn + 1) * MESSAGE_TOKENS for turn in range(most_agent_calls(job))]

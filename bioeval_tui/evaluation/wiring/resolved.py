"""What a run would do, before anything is sent: who takes part, where each was set, and how much
would be sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.text import clean_line, listed, plural
from bioeval_tui.base.units import dollars
from bioeval_tui.evaluation.engine.interface import Resolved, RunRequest, spec_of
from bioeval_tui.evaluation.wiring.doctor import first_makers
from bioeval_tui.evaluation.wiring.endpoints import ModelRole, role_settings, url_setting
from bioeval_tui.evaluation.wiring.estimate import (
    PrintedEstimate,
    PrintedRole,
    estimate_batch,
    total_cost,
)
from bioeval_tui.evaluation.wiring.makers import Makers
from bioeval_tui.jobs.models import EvaluatorConfig, ScorerConfig
from bioeval_tui.peers.offline import HUMAN
from bioeval_tui.record.masking import masked

GIVEN = "given here"
"""The source of what was typed for this run."""
_INSTEAD = {"scripted": "a script", HUMAN: "you", "rules": "rules, no model"}


def will_happen(request: RunRequest, settings: Settings) -> list[Resolved]:
    """Return who takes part in a run and where each was set, then what would be sent, as
    `--dry-run` computes it.

    The last line is missing if the run cannot be prepared, for example without a key.

    Raises:
        BioevalError: what is wrong with the job.
    """
    makers = first_makers(request, settings)
    job = clean_line(request.jobs[0].name, 80)
    lines = [
        _agent(makers, request, job),
        _model(makers, "evaluator", job),
        _model(makers, "judge", job),
    ]
    try:
        estimates = estimate_batch(spec_of(request, settings.runs_dir), settings)
    except BioevalError:
        return masked(lines)  # the dialog asks for the reason anyway, and the run says it
    if any(estimate["judge_sees"] for estimate in estimates):
        judge = lines[-1]
        lines[-1] = judge._replace(
            source=f"{judge.source}; also sees tool calls".removeprefix("; ")
        )
    return masked([*lines, Resolved("will send", _sent(estimates))])


def _agent(makers: Makers, request: RunRequest, job: str) -> Resolved:
    if makers.spec.sample_agent:
        return Resolved("agent", "the sample agent", "started for this run")
    if makers.spec.agent_url_is_given:
        source = GIVEN
    elif makers.job.target.url or not makers.agent_url:
        source = f"from {job}"
    elif makers.settings.agent_url_is_set:
        source = "from BIOEVAL_AGENT_URL"
    else:
        source = "the default"
    models = clean_line(makers.agent_model or "", 60)
    if len(request.models) > 1:
        models += f" and {plural(len(request.models) - 1, 'other')}"
    parts = (makers.agent_host(), clean_line(makers.job.target.protocol, 40), models)
    return Resolved("agent", " · ".join(filter(None, parts)), source)


def _model(makers: Makers, role: ModelRole, job: str) -> Resolved:
    label, is_given = "judge", bool(makers.spec.judge_model)
    asked: EvaluatorConfig | ScorerConfig = makers.job.scorer
    if role == "evaluator":
        label, is_given, asked = "user", bool(makers.spec.evaluator_model), makers.job.evaluator
    if asked.kind != "llm":
        who = _INSTEAD.get(asked.kind, f"the plug-in {clean_line(asked.kind, 80)}")
        if makers.spec.mode == "rehearsal":
            return Resolved(label, who, "")
        return Resolved(label, who, f"from {job}")
    if is_given:
        model_from = GIVEN
    elif asked.model:
        model_from = job
    elif role_settings(role, makers.settings).model:
        model_from = f"BIOEVAL_{role.upper()}_MODEL"
    else:
        model_from = "the default"
    url_from = job
    if asked.url is None:
        url_from = url_setting(role, asked, makers.settings)
    source = listed(dict.fromkeys((model_from, url_from)))
    if not is_given:
        source = f"from {source}"
    models = makers.evaluator_models() if role == "evaluator" else makers.judge_models()
    model = clean_line(", ".join(models), 100)
    return Resolved(label, f"{model} at {makers.model_host(role)}", source, model)


def _sent(estimates: Sequence[PrintedEstimate]) -> str:
    conversations = plural(sum(estimate["conversations"] for estimate in estimates), "conversation")
    calls = ", ".join(f"{number:,} {whose}" for number, whose in _calls(estimates) if number)
    if calls:
        return f"{conversations}, up to {calls}; {_cost(estimates)}"
    return conversations


def _calls(estimates: Sequence[PrintedEstimate]) -> Iterator[tuple[int, str]]:
    calls = Counter[str]()
    for name, role in _roles(estimates):
        calls[name.partition(" ")[0]] += role["calls"]
    yield calls["agent"], "calls of the agent"
    yield calls["evaluator"], "of the user"
    yield calls["judge"], "of the judge"


def _roles(estimates: Sequence[PrintedEstimate]) -> Iterator[tuple[str, PrintedRole]]:
    """Yield each run's roles with their names, of which a panel's judges have one each."""
    for estimate in estimates:
        yield from estimate["roles"].items()


def _cost(estimates: Sequence[PrintedEstimate]) -> str:
    total = total_cost(estimates, "cost")
    if total is not None:
        return dollars(total)
    models = [role["cost"] for name, role in _roles(estimates) if name != "agent"]
    known = [cost for cost in models if cost is not None]
    if len(known) < len(models):
        return "cost unknown: no price"
    return f"{dollars(sum(known))} and the agent's own cost"

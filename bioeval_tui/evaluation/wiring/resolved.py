"""What a run would do, before anything is sent: who takes part, where each was set, and how much
would be sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.text import clean_line, listed, plural
from bioeval_tui.base.units import dollars
from bioeval_tui.evaluation.engine.interface import Resolved, RunRequest, spec_of
from bioeval_tui.evaluation.wiring.doctor import makers_of
from bioeval_tui.evaluation.wiring.endpoints import ModelRole, url_setting
from bioeval_tui.evaluation.wiring.makers import Makers
from bioeval_tui.evaluation.wiring.prepare import PrintedEstimate, estimate_batch, total_cost
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
    makers = makers_of(request, settings)
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
    named = clean_line(makers.agent_model or "", 60)
    models = (
        f"{named} and {plural(len(request.models) - 1, 'other')}"
        if len(request.models) > 1
        else named
    )
    parts = (makers.agent_host(), clean_line(makers.job.target.protocol, 40), models)
    return Resolved("agent", " · ".join(filter(None, parts)), source)


def _model(makers: Makers, role: ModelRole, job: str) -> Resolved:
    label = "user" if role == "evaluator" else "judge"
    asked = makers.job.evaluator if role == "evaluator" else makers.job.scorer
    if asked.kind != "llm":
        who = _INSTEAD.get(asked.kind, f"the plug-in {clean_line(asked.kind, 80)}")
        return Resolved(label, who, "" if makers.spec.mode == "rehearsal" else f"from {job}")
    models = (makers.evaluator_model(),) if role == "evaluator" else makers.judge_models()
    given = makers.spec.evaluator_model if role == "evaluator" else makers.spec.judge_model
    mine = makers.settings.evaluator if role == "evaluator" else makers.settings.judge
    named = f"BIOEVAL_{role.upper()}_MODEL"
    model_from = GIVEN if given else job if asked.model else named if mine.model else "the default"
    setting = url_setting(role, asked, makers.settings)
    places = dict.fromkeys((model_from, job if asked.url is not None else setting))
    source = listed(places) if model_from == GIVEN else f"from {listed(places)}"
    model = clean_line(", ".join(models), 100)
    return Resolved(label, f"{model} at {makers.model_host(role)}", source, model)


def _sent(estimates: Sequence[PrintedEstimate]) -> str:
    conversations = plural(sum(estimate["conversations"] for estimate in estimates), "conversation")
    calls = ", ".join(f"{number:,} {whose}" for number, whose in _calls(estimates) if number)
    if calls:
        return f"{conversations}, up to {calls}; {_cost(estimates)}"
    return conversations


def _calls(estimates: Sequence[PrintedEstimate]) -> Iterator[tuple[int, str]]:
    for role, whose in (
        ("agent", "calls of the agent"),
        ("evaluator", "of the user"),
        ("judge", "of the judge"),
    ):
        yield (
            sum(
                each["calls"]
                for estimate in estimates
                for name, each in estimate["roles"].items()
                if name.partition(" ")[0] == role
            ),
            whose,
        )


def _cost(estimates: Sequence[PrintedEstimate]) -> str:
    total = total_cost(estimates, "cost")
    if total is not None:
        return dollars(total)
    roles = [(name, role) for estimate in estimates for name, role in estimate["roles"].items()]
    models = [role["cost"] for name, role in roles if name != "agent"]
    known = [cost for cost in models if cost is not None]
    if len(known) < len(models):
        return "cost unknown: no price"
    return f"{dollars(sum(known))} and the agent's own cost"

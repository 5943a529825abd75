"""Checks whether the agent and the models of a run answer.

Each is called once, without any text from the job, and a key is sent only to its own host.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import httpx2

from bioeval_tui.errors import BioevalError
from bioeval_tui.evaluation.engine.spec import RunRequest, spec_of
from bioeval_tui.evaluation.hosts import host_of
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.evaluation.wiring.doctor import Finding, status_of, unreachable
from bioeval_tui.evaluation.wiring.endpoints import ModelRole
from bioeval_tui.evaluation.wiring.makers import Makers
from bioeval_tui.evaluation.wiring.parts import with_mode
from bioeval_tui.settings import Settings
from bioeval_tui.text import clean_line


def connections(request: RunRequest, settings: Settings) -> list[Finding]:
    """Return a finding for the agent and for each model of the request's first run."""
    spec = spec_of(request, settings.runs_dir)
    try:
        loaded = check_job(request.jobs[0], code=tuple(map(Path, spec.code))).required()
        job = with_mode(loaded.job, spec)
    except BioevalError as error:
        return [Finding("job", "broken", str(error))]
    makers = Makers(job, loaded.path.parent, spec, spec.runs[0].model, settings)
    wanted: list[ModelRole] = ["evaluator"] if job.evaluator.kind == "llm" else []
    wanted += ["judge"] if makers.judge_models() else []
    return [_agent(makers), *(_model(makers, role) for role in wanted)]


def _agent(makers: Makers) -> Finding:
    if makers.spec.sample_agent:
        return Finding("agent", "works", "the sample agent is started with the run")
    if not makers.agent_url:
        return Finding("agent", "works", "a function in Python, which is called in the run")
    try:
        if not makers.pays_agent:
            return _asked("agent", makers.agent_url)
        key = makers.agent_key()
    except BioevalError as error:
        return Finding("agent", "broken", clean_line(str(error)))
    return _asked("agent", f"{makers.agent_url}/models", key)


def _model(makers: Makers, role: ModelRole) -> Finding:
    try:
        where = makers.endpoint(role)
    except BioevalError as error:
        return Finding(role, "broken", clean_line(str(error)))
    if where.base_url is None or where.provider != "openai":
        return Finding(role, "works", f"{where.provider}, asked when the run needs it")
    return _asked(role, f"{where.base_url.rstrip('/')}/models", where.api_key)


def _asked(name: str, url: str, key: str | None = None) -> Finding:
    headers: Mapping[str, str] = {"Authorization": f"Bearer {key}"} if key else {}
    host = host_of(url)
    try:
        status = status_of(url, headers)
    except httpx2.HTTPError as error:
        return Finding(name, "broken", f"{host} {unreachable(error)}")
    if key and status in (401, 403):
        return Finding(name, "broken", f"{host} refuses the key ({status})")
    return Finding(name, "works", f"{host} answers ({status})")

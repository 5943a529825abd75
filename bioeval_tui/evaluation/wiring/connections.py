"""Checks whether the agent and the models of a run answer.

Each is called once, with no message from the job, and a key is sent only to its own host. An agent is asked for what its
protocol begins with: a session, its agent card, or its list of models.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from bioeval_tui.errors import BioevalError
from bioeval_tui.evaluation.engine.spec import RunRequest, spec_of
from bioeval_tui.evaluation.hosts import chat_url, host_of
from bioeval_tui.evaluation.wiring.check_job import check_job
from bioeval_tui.evaluation.wiring.doctor import status_of
from bioeval_tui.evaluation.wiring.endpoints import ModelRole
from bioeval_tui.evaluation.wiring.makers import Makers
from bioeval_tui.evaluation.wiring.model_servers import PROBE_S, Finding, model_finding, unreachable
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
        if makers.pays_agent:
            return _agents_model(makers)
        if not (begins := makers.begins):
            return _asked("agent", makers.agent_url)
        asyncio.run(_opened(makers))
    except BioevalError as error:
        return Finding("agent", "broken", clean_line(str(error)))
    except TimeoutError as error:
        return Finding("agent", "broken", f"{host_of(makers.agent_url)} {unreachable(error)}")
    return Finding("agent", "works", f"{host_of(makers.agent_url)} {begins}")


async def _opened(makers: Makers) -> None:
    agent = makers.agent("withheld", 1)
    try:
        async with asyncio.timeout(PROBE_S):
            await agent.open()
    finally:
        await agent.aclose()


def _model(makers: Makers, role: ModelRole) -> Finding:
    try:
        where = makers.endpoint(role)
    except BioevalError as error:
        return Finding(role, "broken", clean_line(str(error)))
    if where.base_url is None or where.provider != "openai":
        return Finding(role, "works", f"{where.provider}, asked when the run needs it")
    variable = f"BIOEVAL_{role.upper()}"
    part = "scorer" if role == "judge" else role
    return model_finding(
        role,
        where.base_url,
        where.api_key,
        makers.judge_models() if role == "judge" else [makers.evaluator_model()],
        url_from=f"{part}.url in the job, {variable}_BASE_URL or OPENAI_BASE_URL",
        key_from=f"{variable}_API_KEY, OPENAI_API_KEY, or {part}.apiKeyEnv in the job",
        model_from=f"{part}.model in the job, --{role}-model or {variable}_MODEL",
    )


def _agents_model(makers: Makers) -> Finding:
    if (provider := makers.settings.agent_api_type or "openai") != "openai":
        return Finding("agent", "works", f"{provider}, asked when the run needs it")
    return model_finding(
        "agent",
        chat_url(makers.agent_url),
        makers.agent_key(),
        [makers.model],
        headers=makers.agent_headers()[0],
        url_from="target.url in the job, --agent-url or BIOEVAL_AGENT_URL",
        key_from="BIOEVAL_AGENT_API_KEY, or target.apiKeyEnv in the job",
        model_from="target.model in the job, or --model",
    )


def _asked(name: str, url: str) -> Finding:
    """Return whether a URL is there; it may refuse GET."""
    host = host_of(url)
    try:
        status = status_of(url)
    except httpx2.HTTPError as error:
        return Finding(name, "broken", f"{host} {unreachable(error)}")
    if status == 404:
        return Finding(name, "absent", f"{host} answers, but not {urlsplit(url).path or '/'} ({status})")
    return Finding(name, "works", f"{host} answers ({status})")

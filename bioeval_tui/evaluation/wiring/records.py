"""The FHIR server of a job: where it is, what is sent to it, whether the job may write to it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bioeval_tui.base.addresses import url_problem
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.hosts import host_of
from bioeval_tui.base.proxies import is_loopback
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.engine.interface import EngineSpec
from bioeval_tui.evaluation.wiring import endpoints
from bioeval_tui.fhir.paths import lacks_library
from bioeval_tui.jobs.models import EvaluationJob

if TYPE_CHECKING:
    from bioeval_tui.fhir.server import FhirServer


def fhir_url(job: EvaluationJob, agent_url: str) -> str:
    """Return the base URL of a job's FHIR server; empty if it names none, or a path at an agent
    that has no address yet.
    """
    if job.fhir is None:
        return ""
    url = job.fhir.url
    if not url.startswith("/"):
        return url
    return f"{agent_url}{url}" if agent_url else ""


def url_wrong(url: str) -> str:
    """Return what is wrong with `fhir.url` as a job has it; empty if it can be used."""
    if url.startswith("/"):
        url = f"http://127.0.0.1{url}"
    problem = url_problem(url)
    if problem:
        return f"{problem}; or a path, such as /fhir, at the agent's address"
    parts = urlsplit(url)
    if parts.username is not None or parts.query or parts.fragment:
        return "give the base URL alone: a token is named in `headersEnv`"
    if {".", ".."} & set(parts.path.split("/")):
        return "a base URL has no `.` or `..` in its path"
    return ""


def require_allowed(
    job: EvaluationJob, agent_url: str, spec: EngineSpec, settings: Settings
) -> None:
    """Raise `UsageError` if a job's FHIR server may not be used: its setups would write on another
    machine than this one, its token would go to a host that it was not given for, or what reads
    FHIRPath is not installed.

    Only a user knows whether the records on another machine are for tests.
    """
    if job.fhir is None:
        return
    if job.record_queries and (lacking := lacks_library()):
        raise UsageError(lacking)
    if spec.starts_agent and job.fhir.url.startswith("/"):
        return
    url = fhir_url(job, agent_url)
    if not url:
        raise UsageError("fhir.url is a path at the agent's address, but this agent has none")
    host = host_of(url, name="fhir.url")
    is_ours = is_loopback(host) or endpoints.is_allowed(url, spec.allow_hosts)
    if job.writes_records and not is_ours:
        raise UsageError(
            f"the job's setups write to the FHIR server at {host}, another machine; pass"
            f" --allow-host {host} if its records are for tests"
        )
    _headers(job, url, spec, settings)


def open_server(
    job: EvaluationJob, agent_url: str, spec: EngineSpec, settings: Settings
) -> FhirServer | None:
    """Return the FHIR server of a job; None if it names none.

    Raises:
        UsageError: it may not be used.
    """
    if job.fhir is None:
        return None
    require_allowed(job, agent_url, spec, settings)
    from bioeval_tui.fhir.server import FhirServer  # the engine alone opens connections

    url = fhir_url(job, agent_url)
    headers, secrets = _headers(job, url, spec, settings)
    return FhirServer(url, headers=headers, secrets=secrets)


def describe(job: EvaluationJob, agent_url: str, *, starts_agent: bool) -> str | None:
    """Return the name of the FHIR server before it is opened, and whether setups write to it."""
    if job.fhir is None:
        return None
    where = "the sample agent"
    if not (starts_agent and job.fhir.url.startswith("/")):
        where = host_of(fhir_url(job, agent_url), name="fhir.url")
    if job.writes_records:
        where += ", to which setups write"
    return where


def is_at_agent(job: EvaluationJob, agent_url: str) -> bool:
    """Return whether the agent itself, or its host, answers for the records: a failure may then be
    its doing.
    """
    url = fhir_url(job, agent_url)
    return bool(url and agent_url) and host_of(url) == host_of(agent_url)


def _headers(
    job: EvaluationJob, url: str, spec: EngineSpec, settings: Settings
) -> tuple[dict[str, str], tuple[str, ...]]:
    assert job.fhir is not None
    return endpoints.secret_headers(
        job.fhir.headers_env, "fhir.headersEnv", url, settings, spec.allow_hosts
    )

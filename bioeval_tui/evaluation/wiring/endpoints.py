"""The endpoint and key of each role's model. A key is sent only to the host it belongs to.

The environment and the command line are trusted. A job, or its recording, may come from anybody: it
may name an endpoint and a variable with a key, but neither is used unless the user allowed the
combination.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from bioeval_tui import plugins
from bioeval_tui.base.credentials import sendable
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.hosts import OPENAI_URL, host_of
from bioeval_tui.base.proxies import is_loopback
from bioeval_tui.base.settings import Provider, RoleSettings, Secret, Settings, env_file_hint
from bioeval_tui.jobs.models import (
    Api,
    EvaluationJob,
    EvaluatorConfig,
    ScorerConfig,
    TargetConfig,
)
from bioeval_tui.record.masking import masked

ModelRole = Literal["evaluator", "judge"]
_ENDINGS = ("_API_KEY", "_TOKEN")
"""The suffix of variables with keys; the same prefix with `_BASE_URL` names the host that the key
is for.
"""


def require_local(job: EvaluationJob, hosts: Collection[str]) -> None:
    """Raise `UsageError` if a sensitive job's transcripts would be sent to another machine."""
    if job.sensitive and not all(map(is_loopback, hosts)):
        raise UsageError(
            f"the job is sensitive, but its transcripts would be sent to {', '.join(hosts)}; only"
            " loopback is allowed"
        )


def sent_to_words(hosts: Iterable[str]) -> str:
    """Return who receives transcripts, as this process may show it."""
    return masked(f"transcripts are sent to: {', '.join(hosts)}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The endpoint of a model.

    `account`: it is the user's OPENAI_BASE_URL, so organisation and project are sent, too.
    """

    base_url: str | None
    api_key: str | None
    provider: Provider = "openai"
    api: Api = "chat"
    account: bool = False


def role_settings(role: ModelRole, settings: Settings) -> RoleSettings:
    """Return what the environment sets for the evaluator's or the judge's model."""
    if role == "evaluator":
        return settings.evaluator
    return settings.judge


def model_place(
    role: ModelRole, asked: EvaluatorConfig | ScorerConfig, settings: Settings
) -> tuple[str | None, Provider]:
    """Return the endpoint's URL of the evaluator or the judge, and its provider.

    The URL is None where the provider's package derives it from the environment.
    """
    mine = role_settings(role, settings)
    provider = mine.api_type or ("openai" if mine.base_url else settings.openai_api_type)
    own = mine.base_url or (openai_url(settings) if provider == "openai" else None)
    if asked.url is None:
        return own, provider
    if own is not None and _origin(asked.url) == _origin(own):
        return asked.url, provider
    return asked.url, "openai"


def url_setting(role: ModelRole, asked: EvaluatorConfig | ScorerConfig, settings: Settings) -> str:
    """Return what a user calls the setting that names the URL of the evaluator's or the judge's
    model.
    """
    if asked.url is not None:
        if role == "judge":
            return "scorer.url"
        return "evaluator.url"
    mine = role_settings(role, settings)
    if mine.base_url:
        return f"BIOEVAL_{role.upper()}_BASE_URL"
    return "OPENAI_BASE_URL"


def model_url(role: ModelRole, asked: EvaluatorConfig | ScorerConfig, settings: Settings) -> str:
    """Return where the evaluator's or judge's model is called."""
    url, provider = model_place(role, asked, settings)
    if url is None:
        # the openai package knows where these are
        from bioeval_tui.peers.models.model import provider_url

        url = provider_url(provider)
    return url


def model_endpoint(
    role: ModelRole,
    asked: EvaluatorConfig | ScorerConfig,
    settings: Settings,
    allowed: Collection[str],
    instead: str,
) -> Endpoint:
    """Return the endpoint and key of the evaluator or the judge.

    `allowed` are the hosts of `--allow-host`; `instead` suggests an alternative, if there is one,
    where there is no key at all.

    Raises:
        UsageError: a key is missing, or the job names a host without a key.
    """
    mine = role_settings(role, settings)
    own_key = f"BIOEVAL_{role.upper()}_API_KEY"
    url, provider = model_place(role, asked, settings)
    if asked.api_key_env is not None:
        field = "scorer.apiKeyEnv" if role == "judge" else "evaluator.apiKeyEnv"
        key: str | None = _named_key(asked.api_key_env, field, url or "", settings, allowed)
    elif url is None:
        key = mine.api_key.get_secret_value() if mine.api_key else None
    else:
        own = mine.base_url or openai_url(settings)
        key = _bound_key(
            url, [(own, mine.api_key), (openai_url(settings), settings.openai_api_key)]
        )
        if key is None and provider == "openai" and is_loopback(host_of(url)):
            pass  # model servers on this machine need no key, and nothing leaves it
        elif (
            key is None
            and asked.url
            and not (mine.base_url and _origin(url) == _origin(mine.base_url))
        ):
            if not is_allowed(url, allowed):
                raise UsageError(
                    f"the job names {host_of(url)} as its {role}'s endpoint, and no key is set for"
                    f" that host; pass --allow-host {host_of(url)} to send transcripts there, or"
                    f" set BIOEVAL_{role.upper()}_BASE_URL and {own_key}"
                )
        elif key is None and provider == "azure":
            raise UsageError(f"{own_key} is not set, but is the key for {host_of(url)}")
        elif key is None and mine.base_url is None:
            if instead:
                instead = f", or {instead}"
            raise UsageError(
                "OPENAI_API_KEY is not set, and this job's evaluator or judge is a model; set it"
                " (and OPENAI_BASE_URL for another server than OpenAI's; any value if that server"
                f" needs none){instead}{env_file_hint()}"
            )
    account = provider == "openai" and url is not None and is_openai(url, settings)
    return Endpoint(url, key, provider, asked.api, account)


def agent_key(
    target: TargetConfig,
    url: str,
    settings: Settings,
    allowed: Collection[str],
    *,
    url_is_given: bool,
) -> str | None:
    """Return the key for an agent at `url`, or None; `url_is_given`: on the command line.

    BIOEVAL_AGENT_API_KEY is for the host of BIOEVAL_AGENT_URL, by default this machine.
    OPENAI_API_KEY serves a chat agent at OPENAI_BASE_URL.

    Raises:
        UsageError: a key is set for another host.
    """
    if target.api_key_env is not None:
        return _named_key(target.api_key_env, "target.apiKeyEnv", url, settings, allowed)
    if settings.agent_api_key is not None:
        if not url_is_given:
            require_agents_host(url, settings, allowed)
        return sendable("BIOEVAL_AGENT_API_KEY", settings.agent_api_key.get_secret_value())
    protocol = plugins.agent_protocol(target.protocol)
    if protocol is not None and protocol.is_model:
        key = _bound_key(url, [(openai_url(settings), settings.openai_api_key)])
        return key and sendable("OPENAI_API_KEY", key)
    return None


def own_headers(
    target: TargetConfig, url: str, settings: Settings, allowed: Collection[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the headers that the job sends the agent, and which of their values are secrets.

    Raises:
        UsageError: a variable is not set, or was given for another host than that of `url`.
    """
    own, secrets = secret_headers(target.headers_env, "target.headersEnv", url, settings, allowed)
    named = {header.lower() for header in own}
    headers = {
        name: sendable(f"target.headers.{name}", value)
        for name, value in target.headers.items()
        if name.lower() not in named
    }
    return {**headers, **own}, secrets


def secret_headers(
    named: Mapping[str, str], field: str, url: str, settings: Settings, allowed: Collection[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the headers whose values are in variables of the environment, and these values.

    Args:
        named: the variable of each header, with an optional scheme before it.
        field: what a user calls `named` in the job.
        url: where the headers are sent.
        settings: the user's settings.
        allowed: the hosts of `--allow-host`.

    Raises:
        UsageError: a variable is not set, or was given for another host than that of `url`.
    """
    headers, secrets = {}, []
    for header, scheme_and_name in named.items():
        word, _, variable = scheme_and_name.rpartition(" ")
        secret = _named_key(variable, f"{field}.{header}", url, settings, allowed)
        secrets.append(secret)
        headers[header] = f"{word} {secret}".strip()
    return headers, tuple(secrets)


def may_call(agent_url: str, url: str, allowed: Collection[str]) -> bool:
    """Return whether an address that the agent at `agent_url` names itself may be called with its
    keys: on its own host, or one that the user allowed.
    """
    try:
        return _origin(url) == _origin(agent_url) or is_allowed(url, allowed)
    except UsageError:
        return False


def is_openai(url: str, settings: Settings) -> bool:
    """Return whether a URL belongs to the user's OPENAI_BASE_URL, to which organisation and project
    are sent, too.
    """
    return _origin(url) == _origin(openai_url(settings))


def require_agents_host(url: str, settings: Settings, allowed: Collection[str]) -> None:
    """Raise `UsageError` unless BIOEVAL_AGENT_API_KEY was given for the host of `url`."""
    ours = {_origin(settings.agent_url), _origin(settings.knowledge_url)}
    here = not settings.agent_url_is_set and is_loopback(host_of(url))
    if _origin(url) not in ours and not here and not is_allowed(url, allowed):
        raise UsageError(
            f"BIOEVAL_AGENT_API_KEY belongs to {host_of(settings.agent_url)}, but the job names"
            f" {host_of(url)}; set BIOEVAL_AGENT_URL, or pass --allow-host {host_of(url)} to send"
            " the key there"
        )


def _named_key(
    name: str, field: str, url: str, settings: Settings, allowed: Collection[str]
) -> str:
    """Return the key in the variable that a job names, if the user bound that variable to the host
    of `url`.
    """
    value = (os.environ.get(name) or "").strip()
    if not value:
        raise UsageError(f"{field} names {name}, which is not set{env_file_hint()}")
    stem = next((name.removesuffix(end) for end in _ENDINGS if name.endswith(end)), name)
    usual = {
        "OPENAI": OPENAI_URL,
        "BIOEVAL_AGENT": settings.agent_url,
        "BIOEVAL_EVALUATOR": openai_url(settings),
        "BIOEVAL_JUDGE": openai_url(settings),
    }
    given_for = None
    if stem != name:
        given_for = os.environ.get(f"{stem}_BASE_URL") or usual.get(stem)
    if (given_for is None or _origin(given_for) != _origin(url)) and not is_allowed(url, allowed):
        raise UsageError(
            f"the job sends the key in {name} to {host_of(url)}, a host that it does not belong to;"
            f" pass --allow-host {host_of(url)} to allow it"
        )
    return sendable(name, value)


def openai_url(settings: Settings) -> str:
    """Return the default address of models."""
    return settings.openai_base_url or OPENAI_URL


def _bound_key(url: str, bound: list[tuple[str | None, Secret | None]]) -> str | None:
    """Return the first key that was given for the origin of `url`."""
    for given_for, key in bound:
        if key is not None and given_for is not None and _origin(given_for) == _origin(url):
            return key.get_secret_value()
    return None


def _origin(url: str) -> tuple[str, str]:
    """Return scheme and host with port. Raises `UsageError` if it is not an http or https URL."""
    parts = urlsplit(url)
    host = host_of(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, host.removesuffix(f":{usual}")


def is_allowed(url: str | None, allowed: Collection[str]) -> bool:
    """Return whether the user allowed the host of a URL with `--allow-host`."""
    if url is None:
        return False
    host = host_of(url)
    names = {host.lower(), (urlsplit(url).hostname or "").lower()}
    return any(given.lower() in names for given in allowed)

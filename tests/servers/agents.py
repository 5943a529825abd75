"""Built-in agents, made as a plug-in's would be: by the protocol's name, from the terms of a job
and its settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bioeval_tui import plugins
from bioeval_tui.jobs.models import TargetConfig
from bioeval_tui.protocols import Agent, AgentTerms


def rest_agent(url: str, **options: Any) -> Agent:
    return agent_of(terms(url, "rest", **options))


def chat_agent(url: str, **options: Any) -> Agent:
    return agent_of(terms(url, "openai", **options))


def agent_of(given: AgentTerms) -> Agent:
    """Return a new agent of the protocol that the terms' job names."""
    protocol = plugins.agent_protocol(given.target.protocol)
    assert protocol is not None
    agent: Agent = protocol.load()(given)
    return agent


def terms(
    url: str,
    protocol: str,
    *,
    model: str = "m",
    user: str = "ada",
    chatbot: str = "bot",
    whole_s: float | None = None,
    api_key: str | None = None,
    headers: Mapping[str, str] | None = None,
    secrets: Sequence[str] = (),
    knowledge_url: str = "",
    code: tuple[Path, ...] = (),
    **target: Any,
) -> AgentTerms:
    """Return the terms of an agent; `whole_s` is the time for an answer, and `target` has further
    keys of the job's.
    """
    timeout_ms = None if whole_s is None else whole_s * 1000
    return AgentTerms(
        target=TargetConfig(
            user=user, chatbot=chatbot, protocol=protocol, timeout_ms=timeout_ms, **target
        ),
        url=url,
        model=model,
        key=api_key,
        headers=headers or {},
        secrets=tuple(secrets),
        knowledge_url=knowledge_url,
        code=code,
    )

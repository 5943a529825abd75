"""The table of agent protocols: the class of each, and what it can report and accept.

A job names one in `target.protocol`. Other names belong to plug-ins (docs/plugins.md). docs/agents.md has this
table for users; `tests/test_recipes.py` compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

Tells = Literal["pieces", "tool calls", "tool results", "tokens", "state"]
Takes = Literal["history", "texts"]
YES = "✓"
BY_URL = "by URL"
"""The agent's state is read from a URL in the job (`target.objectContextUrl`)."""


@dataclass(frozen=True, slots=True)
class AgentProtocol:
    """One protocol.

    `maker` is `module:function` in `bioeval_tui.evaluation.agents`, called with `AgentTerms` for each conversation and
    imported only then. `tells` is what such an agent can report, and how; `takes` is what it accepts before
    the greeting. `is_model`: the agent is a model's endpoint, so its tokens have a price; `is_function`: it runs in
    this process or its child and has no URL. `keeps_nothing`: every request has the whole conversation, so that nothing is left of one
    for the next. `uses` are the keys of `target` that only some protocols know.
    """

    name: str
    about: str
    maker: str
    tells: Mapping[Tells, str]
    takes: tuple[Takes, ...] = ()
    is_model: bool = False
    is_function: bool = False
    keeps_nothing: bool = False
    uses: tuple[str, ...] = ()

    def load(self) -> Callable[[Any], Any]:
        """Import the maker and return it."""
        module, _, function = self.maker.partition(":")
        made: Callable[[Any], Any] = getattr(
            import_module(f"bioeval_tui.evaluation.agents.{module}"), function
        )
        return made


PROTOCOLS: tuple[AgentProtocol, ...] = (
    AgentProtocol(
        "rest", "the embabel-agent-eval API", "rest:make_agent",
        tells={"pieces": YES, "tool calls": YES, "tool results": YES, "state": YES}, takes=("texts",),
        uses=("model", "knowledgeUrl", "headers", "headersEnv", "streaming", "apiKeyEnv"),
    ),
    AgentProtocol(
        "openai", "chat completions or the Responses API", "openai_chat:make_agent",
        tells={"pieces": YES, "tool calls": YES, "tool results": "of `target.tools`", "tokens": YES, "state": BY_URL},
        takes=("history",), is_model=True, keeps_nothing=True,
        uses=("model", "api", "objectContextUrl", "systemPrompt", "extraBody", "tools", "headers", "headersEnv", "streaming",
              "apiKeyEnv", "remembers", "temperature", "topP", "maxTokens", "seed", "stop", "reasoningEffort"),
    ),
    AgentProtocol(
        "a2a", "A2A 1.0 or 0.3", "a2a:make_agent",
        tells={"pieces": YES, "tool calls": "as data parts", "tool results": "as data parts", "state": BY_URL},
        uses=("objectContextUrl", "headers", "headersEnv", "streaming", "apiKeyEnv"),
    ),
    AgentProtocol(
        "ag-ui", "AG-UI 1.0", "ag_ui:make_agent",
        tells={"pieces": YES, "tool calls": YES, "tool results": YES, "tokens": YES, "state": BY_URL}, takes=("history",),
        keeps_nothing=True,
        uses=("objectContextUrl", "systemPrompt", "tools", "headers", "headersEnv", "apiKeyEnv", "remembers"),
    ),
    AgentProtocol(
        "python", "a function in Python", "python_function:make_agent",
        tells={"pieces": YES, "tool calls": YES, "tool results": YES, "tokens": YES, "state": YES}, takes=("history",),
        is_function=True,
        uses=("model", "function", "python", "objectContextUrl", "options"),
    ),
)  # fmt: skip
"""Every built-in protocol, in the order of the documentation."""


def names() -> tuple[str, ...]:
    """Return the names of the built-in protocols, which a plug-in cannot use."""
    return tuple(sorted(protocol.name for protocol in PROTOCOLS))


def find(name: str) -> AgentProtocol | None:
    """Return the built-in protocol of that name; None for a plug-in's or an unknown one."""
    return next((protocol for protocol in PROTOCOLS if protocol.name == name), None)

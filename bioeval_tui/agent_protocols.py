"""What an agent protocol says of itself, and those that the program cannot do without.

A job names one in `target.protocol`. The others are plug-ins (docs/plugins.md), which `plugins.agent_protocol` finds: those
of `bundled`, and other packages'. docs/agents.md has a table of all that this package brings; `tests/test_recipes.py`
compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, Literal

Tells = Literal["pieces", "tool calls", "tool results", "tokens", "state"]
Takes = Literal["history", "texts"]
YES = "✓"
BY_URL = "by URL"
"""The agent's state is read from a URL in the job (`target.objectContextUrl`)."""


@dataclass(frozen=True, slots=True)
class AgentProtocol:
    """One protocol: a line of the table below, or the entry point of a plug-in.

    `maker` returns a new agent for a conversation and is called with `AgentTerms`; as `module:function` it is imported only
    then. `tells` is what such an agent can report, and how; `takes` is what it accepts before
    the greeting. `is_model`: the agent is a model's endpoint, so its tokens have a price; `is_function`: it runs in
    this process or its child and has no URL. `keeps_nothing`: every request has the whole conversation, so that nothing is left of one
    for the next. `uses` are the keys of `target` that only some protocols know, and that such an agent uses: it is given a key
    only with `apiKeyEnv`, and the job's headers only with `headers`; None says nothing of keys, and gives neither.
    `begins`: what an agent shows by an answer to `open`, for `check --connect`; empty if it is called only with the first
    message. `any_scheme`: its URL need not be http or https.
    """

    name: str
    about: str
    maker: str | Callable[[Any], Any]
    tells: Mapping[Tells, str]
    takes: tuple[Takes, ...] = ()
    is_model: bool = False
    is_function: bool = False
    keeps_nothing: bool = False
    uses: tuple[str, ...] | None = None
    begins: str = ""
    any_scheme: bool = False

    def load(self) -> Callable[[Any], Any]:
        """Return the maker, imported if it is named."""
        made: Callable[[Any], Any] = resolve_name(self.maker) if isinstance(self.maker, str) else self.maker
        return made

    def has(self, key: str) -> bool:
        """Return whether the protocol states that it uses a key of `target`."""
        return self.uses is not None and key in self.uses


_AGENTS = "bioeval_tui.evaluation.agents."
PROTOCOLS: tuple[AgentProtocol, ...] = (
    AgentProtocol(
        "rest", "the embabel-agent-eval API", _AGENTS + "rest:RestAgent",
        tells={"pieces": YES, "tool calls": YES, "tool results": YES, "state": YES}, takes=("texts",),
        uses=("model", "knowledgeUrl", "headers", "headersEnv", "streaming", "apiKeyEnv"), begins="opened a session",
    ),
    AgentProtocol(
        "openai", "chat completions or the Responses API", _AGENTS + "openai_chat:OpenAIChatAgent",
        tells={"pieces": YES, "tool calls": YES, "tool results": "of `target.tools`", "tokens": YES, "state": BY_URL},
        takes=("history",), is_model=True, keeps_nothing=True,
        uses=("model", "api", "objectContextUrl", "systemPrompt", "extraBody", "tools", "headers", "headersEnv", "streaming",
              "apiKeyEnv", "temperature", "topP", "maxTokens", "seed", "stop", "reasoningEffort"),
    ),
    AgentProtocol(
        "python", "a function in Python", _AGENTS + "python_function:PythonAgent",
        tells={"pieces": YES, "tool calls": YES, "tool results": YES, "tokens": YES, "state": YES}, takes=("history",),
        is_function=True,
        uses=("model", "function", "python", "objectContextUrl", "options"),
    ),
)  # fmt: skip
"""Every protocol that is no plug-in, in the order of the documentation."""


def names() -> tuple[str, ...]:
    """Return the names of these protocols, which a plug-in cannot use."""
    return tuple(sorted(protocol.name for protocol in PROTOCOLS))


def find(name: str) -> AgentProtocol | None:
    """Return the protocol of that name in this table; None for a plug-in's or an unknown one."""
    return next((protocol for protocol in PROTOCOLS if protocol.name == name), None)

"""What a rule about agents is called with, and what it finds: a plug-in's rule is written with
these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bioeval_tui.record.participants import Role


@dataclass(frozen=True, slots=True)
class HeldMessage:
    """A message as it was said; `shown` is what tools and state told the agent before it."""

    number: int
    turn: int
    role: Role
    text: str
    shown: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    """The names of the tools that the agent called before it."""


@dataclass(frozen=True, slots=True)
class HeldTalk:
    """A conversation that has ended.

    `told` is what the agent knew before it (its prompt). `shows_all`: that is known, and what its
    tools or state said, so that a number from nowhere can be told from theirs.
    """

    messages: tuple[HeldMessage, ...]
    told: tuple[str, ...] = ()
    shows_all: bool = False
    case: str = ""
    passed: bool = False
    """Whether every task was passed."""
    gave_up: bool = False
    """Whether the user gave up."""

    @property
    def calls(self) -> set[str]:
        """The names of all tools that the agent called."""
        return {name for message in self.messages for name in message.calls}

    @property
    def answers(self) -> list[HeldMessage]:
        """The agent's messages."""
        return [message for message in self.messages if message.role == "assistant"]


@dataclass(frozen=True, slots=True)
class AgentFinding:
    """Something that a rule found in a message of the agent, with its words."""

    rule: str
    message: int
    detail: str


FindInTalk = Callable[[HeldTalk, Sequence[HeldTalk]], Iterable[AgentFinding]]


@dataclass(frozen=True, slots=True)
class AgentRule:
    """A rule about agents: one of `agent_side.AGENT_RULES`, or the entry point of a plug-in
    (`bioeval_tui.agent_rules`).

    `find` is called with a conversation, and with the others on the same case in the same run.
    """

    name: str
    about: str
    find: FindInTalk

"""Wrappers of plug-ins that attribute their exceptions to them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from typing import Any

from bioeval_tui.errors import BioevalError
from bioeval_tui.evaluate.seams import (
    Agent,
    Delta,
    Evaluator,
    EvaluatorView,
    Generation,
    GraphSnapshot,
    Judge,
    JudgeView,
    KnowledgeGraph,
    Peer,
    PeerError,
    Reply,
    Role,
    Rows,
    Utterance,
    Verdict,
)
from bioeval_tui.text import clean_line


@contextmanager
def told_as(peer: Peer, name: str) -> Iterator[None]:
    """Convert what a plug-in raises, except this program's own errors, to a `PeerError` that names the plug-in."""
    try:
        yield
    except BioevalError:
        raise
    except Exception as problem:
        refused = isinstance(problem, ConnectionRefusedError)
        why = clean_line(f"{type(problem).__name__}: {problem}", 300)
        message = f"the {peer} plug-in {clean_line(name, 100)} failed: {why}"
        raise PeerError(peer, message, retryable=refused, unreachable=refused) from problem


class PluggedAgent:
    """An agent of a plug-in."""

    def __init__(self, agent: Agent, name: str) -> None:
        self._agent = agent
        self._name = name

    async def open(self) -> str:
        """Create a session and return its id."""
        with told_as("agent", self._name):
            return await self._agent.open()

    async def send(self, content: str) -> AsyncIterator[Delta | Generation | Reply]:
        """Send a message; yield what the plug-in yields."""
        with told_as("agent", self._name):
            async with aclosing(self._agent.send(content)) as pieces:  # type: ignore[type-var]
                async for piece in pieces:
                    yield piece

    async def observe(self) -> dict[str, Any] | None:
        """Return the object context."""
        with told_as("agent", self._name):
            return await self._agent.observe()

    async def seed_text(self, text: str) -> None:
        """Hand a text to the agent's knowledge."""
        with told_as("agent", self._name):
            await self._agent.seed_text(text)

    async def seed_history(self, role: Role, content: str) -> bool:
        """Record a given message."""
        with told_as("agent", self._name):
            return await self._agent.seed_history(role, content)

    async def aclose(self) -> None:
        """Close it."""
        await self._agent.aclose()


class PluggedEvaluator:
    """An evaluator of a plug-in."""

    def __init__(self, evaluator: Evaluator, name: str) -> None:
        self.identity = evaluator.identity
        self._evaluator = evaluator
        self._name = name

    async def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
        """Yield what the plug-in says."""
        with told_as("evaluator", self._name):
            async with aclosing(self._evaluator.speak(view)) as pieces:  # type: ignore[type-var]
                async for piece in pieces:
                    yield piece

    async def aclose(self) -> None:
        """Close it."""
        await self._evaluator.aclose()


class PluggedJudge:
    """A judge of a plug-in."""

    def __init__(self, judge: Judge, name: str) -> None:
        self.identity = judge.identity
        self._judge = judge
        self._name = name

    async def score(self, view: JudgeView) -> Sequence[Verdict]:
        """Return the plug-in's verdicts."""
        with told_as("judge", self._name):
            return await self._judge.score(view)

    async def aclose(self) -> None:
        """Close it."""
        await self._judge.aclose()


class PluggedGraph:
    """A knowledge graph of a plug-in."""

    def __init__(self, graph: KnowledgeGraph, name: str) -> None:
        self.identity = graph.identity
        self._graph = graph
        self._name = name

    async def query(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, timeout_s: float = 10.0
    ) -> Rows:
        """Run one read-only query."""
        with told_as("graph", self._name):
            return await self._graph.query(cypher, parameters, timeout_s=timeout_s)

    async def execute(self, cypher: str, *, timeout_s: float = 30.0) -> None:
        """Run one setup query."""
        with told_as("graph", self._name):
            await self._graph.execute(cypher, timeout_s=timeout_s)

    async def snapshot(self) -> GraphSnapshot:
        """Return a summary of the content."""
        with told_as("graph", self._name):
            return await self._graph.snapshot()

    async def aclose(self) -> None:
        """Close it."""
        await self._graph.aclose()

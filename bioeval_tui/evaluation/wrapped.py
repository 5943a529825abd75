"""Agents, evaluators, judges and graphs with something around each of their calls.

A plug-in's exceptions get its name (`blame_around`), and requests of a batch wait for their turn (`engine.pace.Pace.around`).
Waiting is in no latency: the agent's own clock starts when its request goes out.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager
from typing import Any

from bioeval_tui.errors import BioevalError
from bioeval_tui.evaluation import seams
from bioeval_tui.record.names import Peer, Role
from bioeval_tui.text import clean_line

Around = Callable[[str], AbstractAsyncContextManager[None]]
"""Returns what is entered around a call of that name."""


@contextmanager
def blaming(peer: Peer, name: str) -> Iterator[None]:
    """Convert what a plug-in raises, except this program's own errors, to a `PeerError` that names the plug-in."""
    try:
        yield
    except BioevalError:
        raise
    except Exception as problem:  # a plug-in is other people's code and may raise anything
        refused = isinstance(problem, ConnectionRefusedError)
        why = clean_line(f"{type(problem).__name__}: {problem}", 300)
        message = f"the {peer} plug-in {clean_line(name, 100)} failed: {why}"
        raise seams.PeerError(peer, message, retryable=refused, unreachable=refused) from problem


def blame_around(peer: Peer, name: str) -> Around:
    """Return what does `blaming` around each call of a plug-in."""

    @asynccontextmanager
    async def around(call: str) -> AsyncIterator[None]:
        with blaming(peer, name):
            yield

    return around


class WrappedAgent:
    """An agent with something around its calls, except `aclose`."""

    def __init__(self, agent: seams.Agent, around: Around) -> None:
        self._agent = agent
        self._around = around

    async def open(self) -> str:
        """Create a session and return its id."""
        async with self._around("open"):
            return await self._agent.open()

    async def send(self, content: str) -> AsyncIterator[seams.Delta | seams.Generation | seams.Reply]:
        """Send a message; yield what the agent yields."""
        async with self._around("send"), aclosing(self._agent.send(content)) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                yield piece

    async def observe(self) -> dict[str, Any] | None:
        """Return the object context."""
        async with self._around("observe"):
            return await self._agent.observe()

    async def seed_text(self, text: str) -> None:
        """Add a text to the agent's knowledge."""
        async with self._around("seed_text"):
            await self._agent.seed_text(text)

    async def seed_history(self, role: Role, content: str) -> bool:
        """Record a message as history."""
        async with self._around("seed_history"):
            return await self._agent.seed_history(role, content)

    async def aclose(self) -> None:
        """Close it."""
        await self._agent.aclose()


class WrappedEvaluator:
    """An evaluator with something around `speak`."""

    def __init__(self, evaluator: seams.Evaluator, around: Around) -> None:
        self.identity = evaluator.identity
        self._evaluator = evaluator
        self._around = around

    async def speak(self, view: seams.EvaluatorView) -> AsyncIterator[seams.Delta | seams.Utterance]:
        """Yield the plug-in's message."""
        async with self._around("speak"), aclosing(self._evaluator.speak(view)) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                yield piece

    async def aclose(self) -> None:
        """Close it."""
        await self._evaluator.aclose()


class WrappedJudge:
    """A judge with something around `score`."""

    def __init__(self, judge: seams.Judge, around: Around) -> None:
        self.identity = judge.identity
        self._judge = judge
        self._around = around

    async def score(self, view: seams.JudgeView) -> Sequence[seams.Verdict]:
        """Return the judge's verdicts."""
        async with self._around("score"):
            return await self._judge.score(view)

    async def aclose(self) -> None:
        """Close it."""
        await self._judge.aclose()


class WrappedGraph:
    """A knowledge graph with something around its calls, except `aclose`."""

    def __init__(self, graph: seams.KnowledgeGraph, around: Around) -> None:
        self.identity = graph.identity
        self._graph = graph
        self._around = around

    async def query(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, timeout_s: float = 10.0
    ) -> seams.Rows:
        """Run one read-only query."""
        async with self._around("query"):
            return await self._graph.query(cypher, parameters, timeout_s=timeout_s)

    async def execute(self, cypher: str, *, timeout_s: float = 30.0) -> None:
        """Run one setup query."""
        async with self._around("execute"):
            await self._graph.execute(cypher, timeout_s=timeout_s)

    async def graph_id(self) -> str:
        """Return the id that the graph's agent can report; empty if the plug-in does not tell one."""
        told = getattr(self._graph, "graph_id", None)
        if told is None:
            return ""
        async with self._around("graph_id"):
            return clean_line(str(await told()))

    async def snapshot(self) -> seams.GraphSnapshot:
        """Return a summary of the content."""
        async with self._around("snapshot"):
            return await self._graph.snapshot()

    async def aclose(self) -> None:
        """Close it."""
        await self._graph.aclose()

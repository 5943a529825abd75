"""Rate-limited wrappers of agents, evaluators and judges, with a `Pace`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

from bioeval_tui.evaluate.engine.pace import Pace
from bioeval_tui.evaluate.seams import (
    Agent,
    Delta,
    Evaluator,
    EvaluatorView,
    Generation,
    Judge,
    JudgeView,
    Reply,
    Role,
    Utterance,
    Verdict,
)


class LimitedAgent:
    """An agent whose sessions and messages wait for the rate limiter. Waiting does not count as latency: the agent's own clock
    starts when its request goes out."""

    def __init__(self, agent: Agent, pace: Pace) -> None:
        self._agent = agent
        self._pace = pace

    async def open(self) -> str:
        """Create a session once the rate limiter allows it."""
        async with self._pace.request():
            return await self._agent.open()

    async def send(self, content: str) -> AsyncIterator[Delta | Generation | Reply]:
        """Send a message once the rate limiter allows it; yield what the agent yields."""
        async with self._pace.request(), aclosing(self._agent.send(content)) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                yield piece

    async def observe(self) -> dict[str, Any] | None:
        """Observe immediately, within the observation's own time budget; it counts against the rate."""
        self._pace.charge()
        return await self._agent.observe()

    async def seed_text(self, text: str) -> None:
        """Send a text to the knowledge service."""
        async with self._pace.request():
            await self._agent.seed_text(text)

    async def seed_history(self, role: Role, content: str) -> bool:
        """Record a message as history."""
        return await self._agent.seed_history(role, content)

    async def aclose(self) -> None:
        """Close the agent's connections."""
        await self._agent.aclose()


class LimitedEvaluator:
    """An evaluator whose messages wait for the rate limiter."""

    def __init__(self, evaluator: Evaluator, pace: Pace) -> None:
        self.identity = evaluator.identity
        self._evaluator = evaluator
        self._pace = pace

    async def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
        """Get a message once the rate limiter allows it."""
        async with self._pace.request(), aclosing(self._evaluator.speak(view)) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                yield piece

    async def aclose(self) -> None:
        """Close the evaluator's connections."""
        await self._evaluator.aclose()


class LimitedJudge:
    """A judge that waits for the rate limiter; each of its `calls` counts against the rate."""

    def __init__(self, judge: Judge, pace: Pace, calls: int = 1) -> None:
        self.identity = judge.identity
        self._judge = judge
        self._pace = pace
        self._calls = calls

    async def score(self, view: JudgeView) -> Sequence[Verdict]:
        """Judge once the rate limiter allows it."""
        async with self._pace.request():
            for _ in range(self._calls - 1):
                self._pace.charge()
            return await self._judge.score(view)

    async def aclose(self) -> None:
        """Close the judge's connections."""
        await self._judge.aclose()

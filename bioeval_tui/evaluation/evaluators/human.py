"""The human evaluator: a person types the user's messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from bioeval_tui.evaluation.job.models import EvaluationJob
from bioeval_tui.evaluation.seams import Delta, EvaluatorView, Utterance
from bioeval_tui.text import clean

HUMAN = "human"
"""What jobs (`evaluator.kind`) and `--evaluator-model` call a person who plays the user."""
AskPerson = Callable[[EvaluatorView], Awaitable[str | None]]
"""Shows a person the conversation and returns the message that they type; None to end it."""


class HumanEvaluator:
    """Sends what a person types, and waits for as long as they need. Ending the conversation sends the sign-off."""

    identity = "a person"

    def __init__(self, job: EvaluationJob, ask: AskPerson) -> None:
        """`ask` is called for each message; a `TypedLines` passes on messages from another place."""
        self._signoff = job.evaluator.signoff
        self._ask = ask

    async def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
        """Yield the person's message. Blank messages are asked for again."""
        content = ""
        while not content:
            typed = await self._ask(view)
            content = self._signoff if typed is None else clean(typed).strip()
        yield Delta(content)
        yield Utterance(content)

    async def aclose(self) -> None:
        """Nothing to close."""


class TypedLines:
    """A queue between a prompt and a `HumanEvaluator`: `say` and `end` on one side, the evaluator on the other."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.waiting_for = asyncio.Event()
        """Set while the conversation waits for a message."""

    def say(self, text: str) -> None:
        """Pass on a typed message."""
        self._lines.put_nowait(text)

    def end(self) -> None:
        """End the conversation with the sign-off."""
        self._lines.put_nowait(None)

    async def __call__(self, view: EvaluatorView) -> str | None:
        """Return the next message, waiting for it if necessary."""
        self.waiting_for.set()
        try:
            return await self._lines.get()
        finally:
            self.waiting_for.clear()

"""Evaluators without a model: a script, and a person."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from bioeval_tui.errors import InputError, NotMeasuredError
from bioeval_tui.evaluation.job.models import EvaluationJob, ScriptLine
from bioeval_tui.evaluation.seams import Delta, EvaluatorView, PeerError, TranscriptMessage, Utterance
from bioeval_tui.patterns import search
from bioeval_tui.record.names import CONDITIONS
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


WORDS_PER_DELTA = 3


class ScriptedEvaluator:
    """Says the lines of `job.evaluator.lines`, then the sign-off.

    In each turn it says the first unused line whose `when` matches the agent's last message, otherwise the
    next unused line without `when`, otherwise the sign-off. A line with `fact` is
    skipped where that fact is withheld, and one with `task` where that task does not count. Which lines are used is read from the transcript, so that a
    second attempt, a resumed run, and a conversation that a person gave back all continue with the right line.
    """

    identity = "scripted"

    def __init__(self, job: EvaluationJob, *, typing_delay_s: float = 0.0) -> None:
        """`typing_delay_s` is the pause in seconds after every few words; 0 says everything immediately."""
        self._lines = job.evaluator.lines
        self._left_out = {
            name: {n for n, task in enumerate(job.tasks, start=1) if not task.applies(name)}
            for name in CONDITIONS
        }
        self._signoff = job.evaluator.signoff
        self._delay = typing_delay_s

    async def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
        """Yield the next line a few words at a time and, last, the complete message."""
        line = self._choose(view)
        content = clean(line.say if line else self._signoff)
        for piece in _pieces(content):
            yield Delta(piece)
            if self._delay:
                await asyncio.sleep(self._delay)
        yield Utterance(content, facts=(line.fact,) if line and line.fact else ())

    async def aclose(self) -> None:
        """Nothing to close."""

    def _choose(self, view: EvaluatorView) -> ScriptLine | None:
        lines = [
            line
            for line in _unused(self._lines, view.transcript)
            if (line.fact is None or line.fact <= len(view.facts))
            and line.task not in self._left_out[view.condition]
        ]
        heard = next((m.content for m in reversed(view.transcript) if m.role == "assistant"), "")
        try:
            answering = (line for line in lines if line.when is not None and search(line.when, heard))
            chosen = next(answering, None)
        except (InputError, NotMeasuredError) as problem:
            raise PeerError("evaluator", f"evaluator.lines: {problem}") from problem
        return chosen or next((line for line in lines if line.when is None), None)


def _unused(lines: Sequence[ScriptLine], transcript: Sequence[TranscriptMessage]) -> list[ScriptLine]:
    times_sent = Counter(" ".join(m.content.split()) for m in transcript if m.role == "user")
    left = []
    for line in lines:
        text = " ".join(clean(line.say).split())
        if times_sent[text] > 0:
            times_sent[text] -= 1
        else:
            left.append(line)
    return left


def _pieces(text: str) -> list[str]:
    words = text.split(" ")
    groups = [" ".join(words[i : i + WORDS_PER_DELTA]) for i in range(0, len(words), WORDS_PER_DELTA)]
    return [group + (" " if index < len(groups) - 1 else "") for index, group in enumerate(groups)]

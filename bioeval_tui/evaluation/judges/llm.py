"""The language-model judge, or a panel of several, each called once or more."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bioeval_tui.errors import NotMeasuredError, UsageError
from bioeval_tui.evaluation.judges.panel import enough
from bioeval_tui.evaluation.judges.verdicts import (
    MalformedAnswerError,
    answer_schema,
    quoted_from_nowhere,
    read_verdict,
)
from bioeval_tui.evaluation.models.answer import ChatAnswer, text_of, without_reasoning
from bioeval_tui.evaluation.models.happened import states_shown
from bioeval_tui.evaluation.models.model import ChatModel, ChatRequest
from bioeval_tui.evaluation.models.prompting import find_prompt, judge_context, rendered
from bioeval_tui.evaluation.retry import MODEL_RULE, RetryRule, send
from bioeval_tui.evaluation.seams import JudgeView, PeerError, TaskVerdict, Verdict
from bioeval_tui.text import clean_line, shorten


class LLMJudge:
    """Scores a transcript with each of `models`, `repeats` times each."""

    def __init__(
        self,
        *,
        models: Sequence[str],
        job_dir: Path | None,
        repeats: int = 1,
        chat: ChatModel,
        retries: RetryRule = MODEL_RULE,
        at_once: int = 4,
    ) -> None:
        """At most `at_once` requests run concurrently. `chat` is closed with the judge."""
        names = ", ".join(clean_line(model, 100) for model in models)
        self.identity = names + (f" × {repeats}" if repeats > 1 else "")
        self._models = tuple(models)
        self._repeats = repeats
        self._job_dir = job_dir
        self._retries = retries
        self._chat = chat
        self._slots = asyncio.Semaphore(at_once)

    async def score(self, view: JudgeView) -> Sequence[Verdict]:
        """Return every verdict; a missing one is a `Verdict` with an `error`.

        Raises `NotMeasuredError` with the reasons if fewer than two thirds are usable, and `PeerError` if
        that is because the judge could not be reached.
        """
        try:
            prompt = find_prompt(view.job.scorer.prompt, self._job_dir)
            told = await rendered(prompt, judge_context(prompt, view), self._chat.templates)
        except UsageError as problem:
            raise NotMeasuredError(str(problem)) from problem
        own = prompt.origin == "job"
        asked = [(model, number) for model in self._models for number in range(1, self._repeats + 1)]
        found = await asyncio.gather(*(self._one(model, number, told, view, own) for model, number in asked))
        failures = [failure for _, failure in found if failure is not None]
        if not enough(len(asked) - len(failures), len(asked)):
            raise _not_measured(failures, len(asked))
        return [verdict for verdict, _ in found]

    async def aclose(self) -> None:
        """Close the connections."""
        await self._chat.aclose()

    async def _one(
        self, model: str, number: int, told: str, view: JudgeView, own_prompt: bool
    ) -> tuple[Verdict, PeerError | NotMeasuredError | None]:
        """Return one verdict, or one with an `error` and its cause."""
        label = clean_line(model, 100) + (f" #{number}" if self._repeats > 1 else "")
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": told},
            {"role": "user", "content": "Score the conversation. Answer with the JSON object alone."},
        ]
        tokens = _Tokens()
        unproved: tuple[tuple[TaskVerdict, ...], float | None] | None = None
        why = ""
        try:
            async with self._slots:
                for _ in range(2):
                    answer = await self._ask(model, messages, view.job.scorer.temperature)
                    tokens.add(answer)
                    try:
                        text = _usable(answer)
                        found = read_verdict(
                            text, view.job.judged, view.transcript, states_shown(view), published=own_prompt
                        )
                    except MalformedAnswerError as problem:
                        why = str(problem)
                    else:
                        if not (why := quoted_from_nowhere(found[0])):
                            return Verdict(label, *found, tokens.sent, tokens.received), None
                        unproved = found
                    messages = [*messages[:2], *_again(answer, why)]
        except PeerError as error:
            if unproved is None:
                return _missing(label, f"{label}: {error}", tokens), error
        if unproved is not None:  # the caller marks it
            return Verdict(label, *unproved, tokens.sent, tokens.received), None
        why = f"{label} gave no usable verdict, twice; the last time: {why}"
        return _missing(label, why, tokens), NotMeasuredError(why)

    async def _ask(self, model: str, messages: Sequence[dict[str, Any]], temperature: float) -> ChatAnswer:
        request = ChatRequest(model, messages, temperature, answer_schema())
        return await send(lambda: self._chat.complete(request), self._retries)


@dataclass
class _Tokens:
    sent: int | None = None
    received: int | None = None

    def add(self, answer: ChatAnswer) -> None:
        if answer.tokens_in is not None:
            self.sent = (self.sent or 0) + answer.tokens_in
        if answer.tokens_out is not None:
            self.received = (self.received or 0) + answer.tokens_out


def _usable(answer: ChatAnswer) -> str:
    try:
        return without_reasoning(text_of(answer, "judge"))
    except PeerError as problem:
        raise MalformedAnswerError(str(problem)) from problem


def _again(answer: ChatAnswer, problem: str) -> list[dict[str, Any]]:
    """Return the messages to add: the shortened answer, and what was wrong with it."""
    said = [{"role": "assistant", "content": answer.content[:4000]}] if answer.content.strip() else []
    note = f"That could not be used: {problem}. Score every task exactly once, and answer with the JSON object alone."
    return [*said, {"role": "user", "content": note}]


def _missing(label: str, why: str, tokens: _Tokens) -> Verdict:
    """Return a missing verdict, with the tokens that it cost."""
    return Verdict(label, (), tokens_in=tokens.sent, tokens_out=tokens.received, error=why)


def _not_measured(
    failures: Sequence[PeerError | NotMeasuredError], wanted: int
) -> PeerError | NotMeasuredError:
    reasons = list(dict.fromkeys(str(failure) for failure in failures))
    if wanted == 1:
        return failures[0]
    message = (
        f"only {wanted - len(failures)} of {wanted} verdicts are usable, fewer than two thirds: "
        + "; ".join(shorten(reason, 200) for reason in reasons[:3])
    )
    if all(isinstance(failure, PeerError) for failure in failures):
        return PeerError("judge", message)
    return NotMeasuredError(message)

"""The judge that is a language model, or a panel of several, each asked once or more."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from bioeval_tui.errors import NotMeasuredError, UsageError
from bioeval_tui.evaluate.http.exchange import Timeouts
from bioeval_tui.evaluate.judges.panel import enough
from bioeval_tui.evaluate.judges.verdicts import MalformedAnswerError, answer_schema, read_verdict
from bioeval_tui.evaluate.models.answer import ChatAnswer, text_of
from bioeval_tui.evaluate.models.model import MODEL_TIMEOUTS, ChatModel, ChatRequest
from bioeval_tui.evaluate.models.prompting import find_prompt, judge_context, rendered
from bioeval_tui.evaluate.seams import JudgeView, PeerError, Verdict
from bioeval_tui.text import clean_line, shorten

LONGEST_WAIT_S = 30.0
"""Longest wait before a request is sent again, in seconds, whatever Retry-After asks for."""


@dataclass(frozen=True, slots=True)
class JudgeRetries:
    """How often a request is sent, and the first wait in seconds, which doubles each time up to the longest."""

    attempts: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = LONGEST_WAIT_S


DEFAULT_RETRIES = JudgeRetries()


class LLMJudge:
    """Scores a transcript with each of `models`, `repeats` times each."""

    def __init__(
        self,
        *,
        models: Sequence[str],
        job_dir: Path | None,
        repeats: int = 1,
        api_key: str | None,
        base_url: str | None = None,
        timeouts: Timeouts = MODEL_TIMEOUTS,
        retries: JudgeRetries = DEFAULT_RETRIES,
        at_once: int = 4,
    ) -> None:
        """At most `at_once` requests are under way at the same time."""
        names = ", ".join(clean_line(model, 100) for model in models)
        self.identity = names + (f" × {repeats}" if repeats > 1 else "")
        self._models = tuple(models)
        self._repeats = repeats
        self._job_dir = job_dir
        self._retries = retries
        self._chat = ChatModel("judge", api_key=api_key, base_url=base_url, timeouts=timeouts)
        self._slots = asyncio.Semaphore(at_once)

    async def score(self, view: JudgeView) -> Sequence[Verdict]:
        """Return every verdict, those that were not given as a `Verdict` with its `error`.

        Raises `NotMeasuredError` with the reasons when fewer than two thirds are usable, and `PeerError` when
        that is because the judge could not be reached.
        """
        try:
            prompt = find_prompt(view.job.scorer.prompt, self._job_dir)
            told = await rendered(prompt, judge_context(view), self._chat.templates)
        except UsageError as problem:
            raise NotMeasuredError(str(problem)) from problem
        asked = [(model, number) for model in self._models for number in range(1, self._repeats + 1)]
        found = await asyncio.gather(*(self._one(model, number, told, view) for model, number in asked))
        failures = [failure for _, failure in found if failure is not None]
        if not enough(len(asked) - len(failures), len(asked)):
            raise _not_measured(failures, len(asked))
        return [verdict for verdict, _ in found]

    async def aclose(self) -> None:
        """Close the connections."""
        await self._chat.aclose()

    async def _one(
        self, model: str, number: int, told: str, view: JudgeView
    ) -> tuple[Verdict, PeerError | NotMeasuredError | None]:
        """Return one verdict; where there is none, one with its `error`, and why."""
        label = clean_line(model, 100) + (f" #{number}" if self._repeats > 1 else "")
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": told},
            {"role": "user", "content": "Score the conversation. Answer with the JSON object alone."},
        ]
        tokens = _Tokens()
        try:
            async with self._slots:
                for last in (False, True):
                    answer = await self._ask(model, messages, view.job.scorer.temperature)
                    tokens.add(answer)
                    try:
                        text = _usable(answer)
                        tasks, tone = read_verdict(text, view.job.tasks, view.transcript)
                        return Verdict(label, tasks, tone, tokens.sent, tokens.received), None
                    except MalformedAnswerError as problem:
                        if last:
                            why = f"{label} gave no usable verdict, twice; the last time: {problem}"
                            return _missing(label, why, tokens), NotMeasuredError(why)
                        messages = [*messages[:2], *_again(answer, problem)]
        except PeerError as error:
            return _missing(label, f"{label}: {error}", tokens), error
        raise AssertionError("unreachable")

    async def _ask(self, model: str, messages: Sequence[dict[str, Any]], temperature: float) -> ChatAnswer:
        request = ChatRequest(model, messages, temperature, answer_schema())
        return await AsyncRetrying(
            stop=stop_after_attempt(self._retries.attempts),
            wait=self._wait_s,
            retry=retry_if_exception(lambda error: isinstance(error, PeerError) and error.retryable),
            reraise=True,
        )(self._chat.complete, request)

    def _wait_s(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after_s if isinstance(error, PeerError) else None
        own = self._retries.first_wait_s * 2 ** (state.attempt_number - 1)
        return min(self._retries.longest_wait_s, own if asked is None else asked)


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
        return text_of(answer, "judge")
    except PeerError as problem:
        raise MalformedAnswerError(str(problem)) from problem


def _again(answer: ChatAnswer, problem: MalformedAnswerError) -> list[dict[str, Any]]:
    """Return what to add to the messages: the answer (cut), and what was wrong with it."""
    said = [{"role": "assistant", "content": answer.content[:4000]}] if answer.content.strip() else []
    note = f"That could not be used: {problem}. Score every task exactly once, and answer with the JSON object alone."
    return [*said, {"role": "user", "content": note}]


def _missing(label: str, why: str, tokens: _Tokens) -> Verdict:
    """Return a verdict that was not given, with what it cost."""
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

"""The language-model evaluator, with any OpenAI-compatible endpoint."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

from bioeval_tui.errors import UsageError
from bioeval_tui.evaluation.job.models import EvaluationJob
from bioeval_tui.evaluation.models.answer import REASONING, ChatAnswer, text_of, without_reasoning
from bioeval_tui.evaluation.models.model import ChatModel, ChatRequest
from bioeval_tui.evaluation.models.prompting import Prompt, evaluator_context, find_prompt, rendered
from bioeval_tui.evaluation.seams import Delta, EvaluatorView, PeerError, Utterance
from bioeval_tui.text import clean_line

_OPENS_REASONING = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_LONGEST_MARK = len("<reasoning>")


class LLMEvaluator:
    """Plays the user, with one request per message; the conversation retries if that can help."""

    def __init__(
        self,
        job: EvaluationJob,
        *,
        model: str,
        job_dir: Path | None,
        chat: ChatModel,
    ) -> None:
        """The job's prompt is looked up in `job_dir` first. Raises `UsageError` if it does not exist.

        `chat` may be shared with other conversations; its creator closes it.
        """
        self.identity = clean_line(model)
        self._name = job.evaluator.name
        self._temperature = job.evaluator.temperature
        self._model = model
        self._prompt: Prompt = find_prompt(job.evaluator.prompt, job_dir)
        self._chat = chat

    async def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
        """Yield pieces of the next message and, last, the complete message. Raises `PeerError`."""
        try:
            told = await rendered(self._prompt, evaluator_context(view), self._chat.templates)
        except UsageError as problem:
            raise PeerError("evaluator", str(problem)) from problem
        messages = [
            {"role": "system", "content": told},
            {
                "role": "user",
                "content": f"Write the next message of {clean_line(view.job.target.user, 100)}.",
            },
        ]
        gate = _Gate()
        request = ChatRequest(self._model, messages, self._temperature)
        async with aclosing(self._chat.stream(request)) as pieces:
            async for piece in pieces:
                if isinstance(piece, ChatAnswer):
                    content = self._spoken(text_of(piece, "evaluator"))
                    yield Utterance(content, piece.tokens_in, piece.tokens_out, piece.model or self._model)
                elif shown := gate.take(piece):
                    yield Delta(shown)

    async def aclose(self) -> None:
        """Do nothing, because the connections are shared."""

    def _spoken(self, text: str) -> str:
        """Return only the message, without a reasoning block, a leading name as in a script, or quotes around it."""
        words = without_reasoning(text)
        words = re.sub(
            rf"^\s*(?:{re.escape(self._name)}|user)\s*:\s*", "", words, flags=re.IGNORECASE
        ).strip()
        if (
            len(words) > 1
            and (words[0], words[-1]) in (('"', '"'), ("“", "”"))
            and words[0] not in words[1:-1]
        ):
            words = words[1:-1].strip()
        if not words:
            message = "the model's answer was empty but for its reasoning"
            raise PeerError("evaluator", message, retryable=True, unusable=True)
        return words


class _Gate:
    """Removes the reasoning block that some servers put before the message."""

    def __init__(self) -> None:
        self._held = ""
        self._open = False

    def take(self, piece: str) -> str:
        if self._open:
            return piece
        self._held += piece
        start = self._held.lstrip()
        if start[:1] == "<":
            if _OPENS_REASONING.match(start):
                if not REASONING.match(start):
                    return ""
                start = REASONING.sub("", start, count=1)
            elif len(start) < _LONGEST_MARK:
                return ""
        if not start:
            return ""
        self._open = True
        return start

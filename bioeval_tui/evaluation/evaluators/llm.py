"""The language-model evaluator, with any OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from bioeval_tui.errors import UsageError
from bioeval_tui.evaluation.evaluators.spoken import Stream, before_loop, read, whole_sentences
from bioeval_tui.evaluation.job.models import EvaluationJob
from bioeval_tui.evaluation.models.answer import ChatAnswer, text_of
from bioeval_tui.evaluation.models.model import ChatModel, ChatRequest
from bioeval_tui.evaluation.models.prompting import (
    Prompt,
    evaluator_context,
    find_prompt,
    has_turns,
    object_schema,
    rendered,
    turns,
)
from bioeval_tui.evaluation.seams import Delta, EvaluatorView, PeerError, Utterance
from bioeval_tui.text import clean_line

USUAL_LENGTH = 400
"""What a server that keeps to schemas lets a message have, in characters; of 11,308 in published conversations, 2 are longer."""
SHORTER = "Your message was far too long. Write one or two short sentences, and then stop."


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
        self._most = job.evaluator.max_message_length
        self._options = job.evaluator
        self._model = model
        self._prompt: Prompt = find_prompt(job.evaluator.prompt, job_dir)
        self._chat = chat

    async def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
        """Yield pieces of the next message and, last, the complete message. Raises `PeerError`."""
        try:
            told = await rendered(self._prompt, evaluator_context(view), self._chat.templates)
        except UsageError as problem:
            raise PeerError("evaluator", str(problem)) from problem
        bound: int | None = None
        if has_turns(self._prompt):
            messages = [{"role": "system", "content": told}, *turns(view)]
            bound = min(self._most, USUAL_LENGTH + sum(map(len, view.facts)))
        else:
            closing = f"Write the next message of {clean_line(view.job.target.user, 100)}."
            messages = [{"role": "system", "content": told}, {"role": "user", "content": closing}]
        schema = None if bound is None else _schema(bound)
        request = ChatRequest(self._model, messages, self._options, schema)
        stream = Stream(self._most)
        answer: ChatAnswer | None = None
        # Closing the stream early makes servers stop writing.
        async with aclosing(self._chat.stream(request)) as pieces:
            async for piece in pieces:
                if isinstance(piece, ChatAnswer):
                    answer = piece
                    break
                if shown := stream.take(piece):
                    yield Delta(shown)
                if stream.ended:
                    break
        if answer is not None:
            self._chat.prompt_check.require_whole(answer, self._model, messages)
        yield self._utterance(view, stream, answer, bound or self._most + 1)

    async def aclose(self) -> None:
        """Do nothing, because the connections are shared."""

    def _utterance(
        self, view: EvaluatorView, stream: Stream, answer: ChatAnswer | None, bound: int
    ) -> Utterance:
        """Return the message, or what can be used of it. Raises `PeerError`.

        A message that was cut off is asked for once more; only of the second one are the whole sentences used.
        """
        cut = ""
        if answer is not None and answer.finish == "length":
            cut = "was cut off at the model's length limit"
        words = self._read(
            view, stream.text if answer is None else answer.content if cut else text_of(answer, "evaluator")
        )
        if stream.ended == "long" or len(words) > self._most:
            message = f"the message was longer than {self._most:,} characters (evaluator.maxMessageLength)"
            again = "" if SHORTER in view.note else SHORTER
            raise PeerError("evaluator", message, received=words[:300], unusable=True, again=again)
        if (kept := before_loop(words)) is not None:
            cut, words = "repeats one sentence over and over", kept
        elif cut or len(words) >= bound:
            cut = cut or f"was cut off after {len(words):,} characters"
            kept = whole_sentences(words) if SHORTER in view.note else ""
            if not kept:
                again = "" if SHORTER in view.note else SHORTER
                message = f"the message {cut}"
                raise PeerError("evaluator", message, received=words[:300], unusable=True, again=again)
            words = kept
        if not words:
            message = "the model's answer was empty but for its reasoning"
            raise PeerError("evaluator", message, retryable=True, unusable=True)
        used, model = answer or ChatAnswer("", 0, 0), (answer.model if answer else None) or self._model
        return Utterance(words, used.tokens_in, used.tokens_out, model, cut=cut)

    def _read(self, view: EvaluatorView, text: str) -> str:
        target = view.job.target
        names = (clean_line(target.user, 100), self._name)
        return read(text, names, chatbot=target.chatbot, plays_assistant=has_turns(self._prompt))


def _schema(most: int) -> dict[str, Any]:
    # Without quotation marks, backslashes and newlines: some servers put what a pattern allows into JSON unescaped.
    words = {"type": "string", "pattern": rf'^[^"\\\n]{{1,{most}}}$'}
    return object_schema({"message": words})

"""Reads an endpoint's response, whole or streamed, into an answer."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from bioeval_tui.evaluation.models.errors import hidden
from bioeval_tui.evaluation.seams import PeerError
from bioeval_tui.record.names import Peer
from bioeval_tui.text import MAX_TEXT, clean, clean_line, shorten

REASONING = re.compile(r"\s*<(think|thinking|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)
"""The reasoning block that some servers leave before a model's text."""


@dataclass(frozen=True, slots=True)
class ModelToolCall:
    """A function call from the model. `written` is the original text of the arguments, which the history repeats."""

    name: str
    arguments: Any
    id: str = ""
    written: str = ""


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """A whole answer. Times are monotonic seconds; `first_token` is None if it was not streamed."""

    content: str
    started: float
    ended: float
    first_token: float | None = None
    finish: str | None = None
    refusal: str = ""
    tool_calls: tuple[ModelToolCall, ...] = ()
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str | None = None
    items: tuple[Mapping[str, Any], ...] = ()
    """Other items of the Responses API: reasoning, searches, calls of remote tools."""


def text_of(answer: ChatAnswer, peer: Peer) -> str:
    """Return an answer's text. Raises `PeerError` if there is no usable text."""

    def unusable(message: str, received: str, *, retryable: bool = False) -> PeerError:
        return PeerError(peer, message, retryable=retryable, received=received, unusable=True)

    if answer.refusal:
        raise unusable(f"the model refused: {shorten(answer.refusal, 200)}", answer.refusal)
    if answer.finish == "content_filter":
        raise unusable("the provider's content filter stopped the answer", answer.content[:300])
    if answer.finish == "length":
        message = (
            f"the answer was cut off at the model's length limit after {len(answer.content):,} characters"
        )
        raise unusable(message, answer.content[:300])
    if not answer.content.strip():
        if answer.tool_calls:
            names = ", ".join(clean_line(call.name, 60) for call in answer.tool_calls[:3])
            raise unusable(f"the model called a tool ({names}) instead of answering with text", "")
        # A model may give a text on a second attempt, but an agent is measured by its first answer.
        raise unusable("the model's answer was empty", "", retryable=peer != "agent")
    return answer.content


def without_reasoning(text: str) -> str:
    """Return an answer without its leading reasoning block."""
    found = REASONING.match(text)
    return text[found.end() :] if found else text


class _Function(BaseModel):
    name: str | None = None
    arguments: Any = None


class _Call(BaseModel):
    index: int | None = None
    id: str | None = None
    function: _Function = _Function()


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None
    items: list[dict[str, Any]] | None = None


class _Choice(BaseModel):
    message: _Message | None = None
    delta: _Message | None = None
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)


class _Completion(BaseModel):
    """The fields that are read of a chat completion or one of its chunks."""

    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    model: str | None = None
    error: Any = None


class AnswerReader:
    """Builds an answer. Raises `PeerError` for data that no chat endpoint should send."""

    def __init__(
        self, peer: Peer, host: str, started: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` says when the newest bytes arrived, in monotonic seconds."""
        self._peer = peer
        self._host = host
        self._started = started
        self._clock = clock
        self._arrived = started
        self._first: float | None = None
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, list[str]] = {}
        self._items: list[dict[str, Any]] = []
        self._length = 0
        self._finish: str | None = None
        self._usage = _Usage()
        self._model: str | None = None

    def add(self, data: Any) -> str:
        """Add one chunk of a stream, or a whole completion; return its text.

        Raises:
            PeerError: the provider reports an error, or the data is not a completion.
        """
        self._arrived = self._clock()
        try:
            chunk = _Completion.model_validate(data)
        except ValidationError:
            raise self.odd("something that is not a chat completion", data) from None
        if chunk.error:
            raise self.failed(chunk.error)
        self._usage = chunk.usage or self._usage
        self._model = chunk.model or self._model
        for choice in (chunk.choices or ())[:1]:
            self._finish = choice.finish_reason or self._finish
            message = choice.delta or choice.message
            if message is not None:
                return self._add(message)
        return ""

    def whole(self, body: bytes, as_chat: Callable[[Any], Any] = lambda data: data) -> ChatAnswer:
        """Return the answer in the body of a response that was not streamed.

        Raises:
            PeerError: the body is not JSON, or has no choices.
        """
        try:
            data = as_chat(json.loads(body))
        except (ValueError, RecursionError):
            raise self.odd("something that is not JSON", body[:2000].decode("utf-8", "replace")) from None
        text = self.add(data)
        if not data.get("choices"):
            raise self.odd("an answer without choices", data)
        self._first = None
        return self._answer(text)

    def streamed(self) -> ChatAnswer:
        """Return the answer after the stream has ended. A stream without a finish reason was cut off.

        Raises:
            PeerError: the stream was cut off.
        """
        received = "".join(self._text)
        if self._finish is None:
            message = f"the stream of {self._host} ended before the answer was finished"
            raise PeerError(self._peer, message, received=clean_line(received, 300))
        return self._answer(received)

    def failed(self, error: Any) -> PeerError:
        """Return the error for an error object instead of an answer."""
        said = error.get("message") if isinstance(error, Mapping) else error
        shown = hidden(str(said or error), None)
        message = f"{self._host} ended its answer with an error: {shown}"
        return PeerError(self._peer, message, retryable=True, received=shown)

    def odd(self, what: str, received: Any) -> PeerError:
        """Return the error for malformed data."""
        text = (
            received if isinstance(received, str) else json.dumps(received, default=str, ensure_ascii=False)
        )
        shown = clean_line(text, 300)
        return PeerError(self._peer, f"{self._host} sent {what}: {shorten(shown, 120)}", received=shown)

    def _add(self, message: _Message) -> str:
        text = message.content or ""
        self._items += message.items or ()
        self._refusal.append(message.refusal or "")
        for number, call in enumerate(message.tool_calls or ()):
            known = self._calls.setdefault(number if call.index is None else call.index, ["", "", ""])
            known[2] = known[2] or call.id or ""
            arguments = call.function.arguments
            known[0] += call.function.name or ""
            known[1] += arguments if isinstance(arguments, str) else json.dumps(arguments or {})
            self._length += len(known[1])
        self._length += len(text)
        if self._length > MAX_TEXT:
            raise PeerError(self._peer, f"{self._host} sent an answer of more than {MAX_TEXT:,} characters")
        if text:
            self._first = self._first or self._arrived
            self._text.append(text)
        return text

    def _answer(self, content: str) -> ChatAnswer:
        return ChatAnswer(
            content=clean(content),
            started=self._started,
            ended=self._arrived,
            first_token=self._first,
            finish=self._finish,
            refusal=clean_line("".join(self._refusal)),
            tool_calls=tuple(_call(*call) for call in self._calls.values()),
            tokens_in=self._usage.prompt_tokens,
            tokens_out=self._usage.completion_tokens,
            model=clean_line(self._model, 100) if self._model else None,
            items=tuple(self._items),
        )


def _call(name: str, arguments: str, call_id: str) -> ModelToolCall:
    try:
        parsed = json.loads(arguments) if arguments else {}
    except (ValueError, RecursionError):
        parsed = arguments
    return ModelToolCall(name, parsed, call_id, arguments)

"""From what a chat endpoint sent to an answer, whatever shape it came in."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bioeval_tui.evaluate.models.errors import hidden
from bioeval_tui.evaluate.seams import Peer, PeerError
from bioeval_tui.text import MAX_TEXT, clean, clean_line, shorten


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function that the model wanted called."""

    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """A whole answer. Times are monotonic seconds; `first_token` is None when it was not streamed."""

    content: str
    started: float
    ended: float
    first_token: float | None = None
    finish: str | None = None
    refusal: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str | None = None


def text_of(answer: ChatAnswer, peer: Peer) -> str:
    """Return an answer's text. Raises `PeerError` with one sentence when it is no usable text."""

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
        # A model may well say something the second time; an agent is measured by its first answer.
        raise unusable("the model's answer was empty", "", retryable=peer != "agent")
    return answer.content


class AnswerReader:
    """Puts an answer together. Raises `PeerError` for a shape that no chat endpoint should send."""

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
        self._length = 0
        self._refusal: list[str] = []
        self._calls: dict[int, list[str]] = {}
        self._finish: str | None = None
        self._usage: Any = None
        self._model: str | None = None

    def add_event(self, text: str) -> str:
        """Take one event of a stream, JSON as it came; return the text that it brought."""
        self._arrived = self._clock()
        chunk = self._parsed(text)
        error = chunk.get("error") if isinstance(chunk, Mapping) else None
        if error:
            said = error.get("message") if isinstance(error, Mapping) else error
            shown = hidden(str(said or error), None)
            message = f"{self._host} ended its answer with an error: {shown}"
            raise PeerError(self._peer, message, retryable=True, received=shown)
        return self.add(chunk)

    def add(self, data: Any) -> str:
        """Take one chunk of a stream; return the text that it brought."""
        if not isinstance(data, Mapping):
            raise self._odd("a chunk that is no JSON object", data)
        self._usage = data.get("usage") or self._usage
        self._model = data.get("model") or self._model
        choices = data.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            return ""
        self._finish = choices[0].get("finish_reason") or self._finish
        delta = choices[0].get("delta")
        if not isinstance(delta, Mapping):
            return ""
        if isinstance(delta.get("refusal"), str):
            self._refusal.append(delta["refusal"])
        self._add_calls(delta.get("tool_calls"))
        text = delta.get("content")
        if not isinstance(text, str) or not text:
            return ""
        self._length += len(text)
        if self._length > MAX_TEXT:
            raise PeerError(self._peer, f"{self._host} sent an answer of more than {MAX_TEXT:,} characters")
        if self._first is None:
            self._first = self._arrived
        self._text.append(text)
        return text

    def streamed(self) -> ChatAnswer:
        """Return the answer when the stream is over. A stream without a finish reason was cut off."""
        if self._finish is None:
            received = "".join(self._text)
            message = f"the stream of {self._host} ended before the answer was finished"
            raise PeerError(self._peer, message, retryable=True, received=clean_line(received, 300))
        calls = tuple(_call(name, arguments) for name, arguments in self._calls.values())
        return self._answer("".join(self._text), "".join(self._refusal), calls)

    def whole(self, body: bytes) -> ChatAnswer:
        """Return the answer in the body of a response that was not streamed."""
        self._arrived = self._clock()
        data = self._parsed(body)
        if not isinstance(data, Mapping):
            raise self._odd("something that is no chat completion", data)
        choices = data.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            raise self._odd("an answer without choices", data)
        message = choices[0].get("message")
        if not isinstance(message, Mapping):
            raise self._odd("an answer without a message", data)
        self._finish = choices[0].get("finish_reason")
        self._usage = data.get("usage")
        self._model = data.get("model")
        functions = [
            _part(call, "function") for call in _list(message.get("tool_calls")) if isinstance(call, Mapping)
        ]
        calls = tuple(_call(str(f.get("name") or ""), str(f.get("arguments") or "")) for f in functions)
        content, refusal = message.get("content"), message.get("refusal")
        if content is not None and not isinstance(content, str):
            raise self._odd("a message whose content is no text", content)
        return self._answer(content or "", refusal if isinstance(refusal, str) else "", calls)

    def _answer(self, content: str, refusal: str, calls: tuple[ToolCall, ...]) -> ChatAnswer:
        usage = self._usage if isinstance(self._usage, Mapping) else {}
        return ChatAnswer(
            content=clean(content),
            started=self._started,
            ended=self._arrived,
            first_token=self._first,
            finish=self._finish if isinstance(self._finish, str) else None,
            refusal=clean_line(refusal),
            tool_calls=calls,
            tokens_in=_count(usage.get("prompt_tokens")),
            tokens_out=_count(usage.get("completion_tokens")),
            model=clean_line(self._model, 100) if isinstance(self._model, str) else None,
        )

    def _add_calls(self, calls: Any) -> None:
        for call in _list(calls):
            if not isinstance(call, Mapping):
                continue
            function = _part(call, "function")
            index = call.get("index")
            known = self._calls.setdefault(index if isinstance(index, int) else 0, ["", ""])
            known[0] += str(function.get("name") or "")
            known[1] += str(function.get("arguments") or "")
            if sum(len(arguments) for _, arguments in self._calls.values()) > MAX_TEXT:
                raise PeerError(
                    self._peer, f"{self._host} sent tool calls of more than {MAX_TEXT:,} characters"
                )

    def _parsed(self, text: str | bytes) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            shown = text if isinstance(text, str) else text[:2000].decode("utf-8", "replace")
            raise self._odd("something that is not JSON", shown) from None

    def _odd(self, what: str, received: Any) -> PeerError:
        shown = (
            received if isinstance(received, str) else json.dumps(received, default=str, ensure_ascii=False)
        )
        shown = clean_line(shown, 300)
        return PeerError(self._peer, f"{self._host} sent {what}: {shorten(shown, 120)}", received=shown)


def _part(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = data.get(key)
    return part if isinstance(part, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _call(name: str, arguments: str) -> ToolCall:
    try:
        parsed = json.loads(arguments) if arguments else {}
    except (ValueError, RecursionError):
        parsed = arguments
    return ToolCall(name, parsed)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

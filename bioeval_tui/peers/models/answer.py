"""Reads an endpoint's response, whole or streamed, into one form of answer (`ChatAnswer`).

`model.py` has an `AnswerReader` for each response; the evaluator, the judge and the chat agent take
the text of the result (`text_of`). Error statuses are read in `refusals.py`, reasoning before the
answer in `reasoning.py`. At the end stands what both models need for answers in JSON.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ValidationError

from bioeval_tui.base.peer_limits import MAX_TEXT
from bioeval_tui.base.text import (
    ExcessiveJsonError,
    clean,
    clean_line,
    excess_of,
    parse_json,
    shorten,
)
from bioeval_tui.peers.models.refusals import (
    content_refused,
    context_full,
    hide_keys,
    is_context_full,
    is_over_content,
)
from bioeval_tui.peers.seams import PeerError
from bioeval_tui.peers.sse import ServerSentEvent
from bioeval_tui.record.events import MAX_TOKENS
from bioeval_tui.record.participants import Peer
from bioeval_tui.record.tool_calls import parse_arguments

SMALLEST_CONTEXT = 256
"""No server has a smaller context, in tokens: lower counts leave out what was cached, or are made
up.
"""
SURELY_LONGER = 1.3
"""Texts of one job whose lengths differ more than this do not have equally many tokens."""


@dataclass(frozen=True, slots=True)
class ModelToolCall:
    """A function call from the model.

    `written` is the original text of the arguments; `arguments` is that text if it is no JSON
    object.
    """

    name: str
    arguments: Any
    id: str
    written: str


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """A whole answer. Times are monotonic seconds; `first_token` is None if it was not streamed.

    It is what a server's `_Message` means, in whatever form that came, and a model's, where a
    `Reply` is any agent's.
    """

    content: str
    started: float
    ended: float
    first_token: float | None = None
    finish: str | None = None
    refusal: str = ""
    tool_calls: tuple[ModelToolCall, ...] = ()
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int = 0
    """Tokens of the prompt that were cached: in some servers' `tokens_in`, beside it in others'."""
    model: str | None = None
    items: tuple[Mapping[str, Any], ...] = ()
    """Other items of the Responses API: reasoning, searches, calls of remote tools."""
    parts: tuple[Mapping[str, Any], ...] = ()
    """What its content has besides text and reasoning: pictures, files."""
    reasoning: str = ""
    """What the model thought, as far as the server tells it apart from the text."""
    closed: float = 0.0
    """When its body ended, or was no longer waited for: not before then is the next request sent.
    """


def text_of(answer: ChatAnswer, peer: Peer) -> str:
    """Return an answer's text. Raises `PeerError` if there is no usable text."""

    def unusable(message: str, received: str, *, retryable: bool = False) -> PeerError:
        return PeerError(peer, message, retryable=retryable, received=received, unusable=True)

    def objects(message: str, received: str) -> PeerError:
        return PeerError(peer, message, received=received, unusable=True, over_content=True)

    if answer.refusal:
        raise objects(f"the model refused: {shorten(answer.refusal, 200)}", answer.refusal)
    if _CONTENT_FINISHES & set(re.split(r"\W+", (answer.finish or "").lower())):
        raise objects("the provider's content filter stopped the answer", answer.content[:300])
    if answer.finish == "length":
        message = (
            f"the answer was cut off at the model's length limit after {len(answer.content):,}"
            " characters"
        )
        raise unusable(message, answer.content[:300])
    if not answer.content.strip():
        if answer.tool_calls:
            names = ", ".join(clean_line(call.name, 60) for call in answer.tool_calls[:3])
            raise unusable(f"the model called a tool ({names}) instead of answering with text", "")
        # A model may give a text on a second attempt, but an agent is measured by its first answer.
        message = "the model's answer was empty"
        if answer.reasoning:
            message += ": it only reasoned"
        raise unusable(message, "", retryable=peer != "agent")
    return answer.content


_CONTENT_FINISHES = frozenset(
    {
        "content_filter",
        "content_filtered",
        "refusal",
        "safety",
        "blocklist",
        "prohibited_content",
        "recitation",
        "spii",
        "sensitive",
        "guardrail_intervened",
    }
)
"""The reasons for which OpenAI, Azure, Bedrock, Anthropic, Google and Zhipu end an answer over what
is said in it.
"""


class PromptCheck:
    """Notices a server that silently cuts prompts to its context, as Ollama does, by the tokens
    that it counts.
    """

    def __init__(self, peer: Peer, host: str) -> None:
        self._peer = peer
        self._host = host
        self._largest: dict[str, tuple[int, int]] = {}
        """For each model, the largest count of tokens so far, and how many characters the shortest
        prompt with this count had.
        """

    def require_whole(
        self, answer: ChatAnswer, model: str, messages: Sequence[Mapping[str, Any]]
    ) -> None:
        """Raise `PeerError` if the server has read only part of these messages.

        There are two signs of it. Fewer tokens than words: no token has parts of two words, so a
        prompt has at least as many tokens as words (in scripts without spaces, far more). And the
        same count for prompts of different lengths: a cut prompt fills the context, however long
        it is, and no prompt has more tokens, so only the largest count so far can be that of one.
        """
        count = answer.tokens_in
        if count is None or count < SMALLEST_CONTEXT:
            return
        texts = [str(message.get("content") or "") for message in messages]
        words = sum(len(text.split()) for text in texts)
        characters = sum(map(len, texts))
        largest_count, fewest_characters = self._largest.get(model, (0, 0))
        is_largest = count == largest_count
        if count > largest_count or (is_largest and characters < fewest_characters):
            self._largest[model] = count, characters
        if count + answer.tokens_cached < words:
            why = f"{count:,} tokens for {words:,} words"
        elif is_largest and characters > SURELY_LONGER * fewest_characters:
            why = f"{count:,} tokens for {characters:,} characters and for {fewest_characters:,}"
        else:
            return
        raise PeerError(
            self._peer,
            f"the server read only part of the prompt ({self._host} counted {why}); give the model"
            " a larger context, such as 8,192 tokens: num_ctx or OLLAMA_CONTEXT_LENGTH for Ollama,"
            " --ctx-size for llama.cpp",
            too_long=True,
        )


class _Function(BaseModel):
    name: str | None = None
    arguments: Any = None


class _Call(BaseModel):
    index: int | None = None
    id: str | None = None
    function: _Function = _Function()


def _wrap_list(value: Any) -> Any:
    """Return a list of calls; some servers send one without a list around it."""
    if isinstance(value, Mapping):
        return [value]
    return value


class _Message(BaseModel):
    content: str | list[str | dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: Annotated[list[_Call] | None, BeforeValidator(_wrap_list)] = None
    items: list[dict[str, Any]] | None = None
    reasoning_content: Any = None
    reasoning: Any = None


class _Choice(BaseModel):
    message: _Message | None = None
    delta: _Message | None = None
    finish_reason: str | None = None
    error: Any = None


def _valid_count(value: Any) -> Any:
    """Return a number of tokens; None for one that cannot be: servers that do not count send -1 or
    0.
    """
    whole = (
        isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
    )
    if whole and 0 < value <= MAX_TOKENS:
        return int(value)
    return None


_Count = Annotated[int | None, BeforeValidator(_valid_count)]


class _Usage(BaseModel):
    prompt_tokens: _Count = None
    completion_tokens: _Count = None
    prompt_tokens_details: Any = None

    @property
    def cached(self) -> int:
        """The tokens that were cached, as far as the server says."""
        details = self.prompt_tokens_details
        if not isinstance(details, Mapping):
            return 0
        count = details.get("cached_tokens")
        if isinstance(count, int) and count > 0:
            return count
        return 0

    def updated(self, later: _Usage) -> _Usage:
        """Return the counts after another usage of the same answer, which may leave out what is
        known.
        """
        return self.model_copy(update={name: value for name, value in later if value is not None})


class _Completion(BaseModel):
    """The fields that are read of a chat completion or one of its chunks."""

    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    model: str | None = None
    error: Any = None


@dataclass(slots=True)
class _Pieces:
    """A text as it arrives. Only `joined` takes time for what came before."""

    length: int = 0
    _texts: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Add a piece."""
        if text:
            self._texts.append(text)
            self.length += len(text)

    def joined(self) -> str:
        """Return the text so far."""
        return "".join(self._texts)

    def added_part(self, told: str, *, is_last: bool) -> str:
        """Return what a text adds to this one: nothing, if it is the whole of it in other words or
        spaces.
        """
        if len(told) < self.length and not is_last:
            return told
        known = self.joined()
        if told.startswith(known):
            return told[len(known) :]
        if is_last and len(told.strip()) >= len(known.strip()):
            return ""
        return told


@dataclass(slots=True)
class _CallPieces:
    """A function call as it arrives: streams send it in pieces."""

    id: str = ""
    name: list[str] = field(default_factory=list)
    arguments: _Pieces = field(default_factory=_Pieces)

    def is_other(self, call: _Call) -> bool:
        """Return whether a piece begins another call, although it has this one's place: another
        name, or a name after all of the arguments.
        """
        name = call.function.name
        if not name or not self.name:
            return False
        return [name] != self.name or _is_object(self.arguments.joined())

    def has(self, written: str) -> bool:
        """Return whether these are all of the arguments, which came before: some servers send them
        again at the end.
        """
        return (
            len(written) == self.arguments.length
            and written == self.arguments.joined()
            and _is_object(written)
        )

    def whole(self) -> ModelToolCall:
        written = self.arguments.joined() or "{}"
        return ModelToolCall("".join(self.name), parse_arguments(written), self.id, written)


def _written(call: _Call) -> str:
    """Return the arguments of a piece as they are written; some servers send an object."""
    given = call.function.arguments or ""
    if isinstance(given, str):
        return given
    return json.dumps(given)


def _is_object(written: str) -> bool:
    return isinstance(parse_arguments(written), Mapping) and bool(written.strip())


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
        self._closed = 0.0
        self._first: float | None = None
        self._text = _Pieces()
        self._refusal = _Pieces()
        self._calls: list[_CallPieces] = []
        self._places: dict[int, _CallPieces] = {}
        """The newest call at each index of a stream."""
        self._reasoning = _Pieces()
        self._parts: list[dict[str, Any]] = []
        self._items: list[dict[str, Any]] = []
        self.length = 0
        """The characters received so far."""
        self._finish: str | None = None
        self._usage = _Usage()
        self._model: str | None = None
        self._stranger: Any = None
        """The last data, if they have no choices: they tell of something else than the answer, or
        are another API's.
        """

    def add(self, data: Any) -> str:
        """Add one chunk of a stream, or a whole completion; return its text.

        Raises:
            PeerError: the provider reports an error, or the data is not a completion.
        """
        self._arrived = self._clock()
        if excess := excess_of(data):
            raise self.odd(f"JSON {excess}", data)
        try:
            chunk = _Completion.model_validate(data)
        except ValidationError as error:
            what = f"something that is not a chat completion{_first_problem(error)}"
            raise self.odd(what, data) from None
        if chunk.usage is not None:
            self._usage = self._usage.updated(chunk.usage)
        if chunk.error:
            raise self.failed(chunk.error)
        self._model = chunk.model or self._model
        self._stranger = data if chunk.choices is None and data else None
        for choice in (chunk.choices or ())[:1]:
            if choice.error or (choice.finish_reason or "").lower() == "error":
                raise self.failed(choice.error or 'finish_reason is "error"')
            was_finished = self._finish is not None
            self._finish = choice.finish_reason or self._finish
            if choice.delta is not None:
                return self._add(choice.delta, pieces=True)
            if choice.message is not None and not (was_finished and self.length):
                news = self._find_news(choice.message, is_last=self._finish is not None)
                return self._add(news, pieces=False)
        return ""

    def _find_news(self, message: _Message, *, is_last: bool) -> _Message:
        """Return what a message within a stream adds: servers send the whole answer behind its
        pieces, the answer so far each time, or a piece by the name of a message.
        """
        content: str | list[str | dict[str, Any]] | None = message.content
        if isinstance(content, str):
            content = self._text.added_part(content, is_last=is_last)
        elif self._text.length:
            content = None
        thought = _first_thought(message.reasoning_content, message.reasoning)
        return message.model_copy(
            update={
                "content": content,
                "refusal": self._refusal.added_part(message.refusal or "", is_last=is_last),
                "reasoning_content": self._reasoning.added_part(thought, is_last=is_last),
                "reasoning": None,
                "tool_calls": [call for call in message.tool_calls or () if not self._knows(call)],
            }
        )

    def _knows(self, call: _Call) -> bool:
        """Return whether a call, which is whole, came before: one with the same id or, where one of
        them has no id, with the same name and arguments.
        """
        name, written = call.function.name, _written(call)

        def is_same(known: _CallPieces) -> bool:
            if call.id and known.id:
                return call.id == known.id
            return known.name == [name] and known.has(written)

        return any(map(is_same, self._calls))

    def read_event(self, event: ServerSentEvent) -> Any:
        """Return the JSON of an event of a stream; an empty object for a ping, which is no event of
        the API.

        Raises:
            PeerError: it is not JSON, or the provider reports an error.
        """
        if not event.data.strip():
            return {}
        try:
            data = parse_json(event.data)
        except ExcessiveJsonError as error:
            raise self.odd(f"JSON {error} in {event.place}", event.data) from None
        except ValueError:
            if event.event == "error":
                raise self.failed(event.data) from None
            if event.event != "message":
                return {}
            raise self.odd(f"something that is not JSON in {event.place}", event.data) from None
        first = data[0] if isinstance(data, list) and data else data  # Google lists its errors
        told = first if isinstance(first, Mapping) else {}
        if told.get("error"):
            raise self.failed(told["error"])
        if event.event == "error" or told.get("object") == "error":
            raise self.failed(told or data)
        return data

    def whole(self, body: bytes, as_chat: Callable[[Any], Any] = lambda data: data) -> ChatAnswer:
        """Return the answer in the body of a response that was not streamed.

        Raises:
            PeerError: the body is not JSON, or has no choices.
        """
        try:
            data = as_chat(parse_json(body))
        except ValueError as error:
            what = "something that is not JSON"
            if isinstance(error, ExcessiveJsonError):
                what = f"JSON {error}"
            raise self.odd(what, body[:2000].decode("utf-8", "replace")) from None
        text = self.add(data)
        if not data.get("choices"):
            raise self.odd("an answer without choices", data)
        self._first = None
        return self._answer(text)

    def close(self, *, is_over: bool) -> None:
        """Note that nothing more is read, with `is_over` because the body has ended."""
        self._closed = self._clock() if is_over else time.monotonic()

    def streamed(self, *, ended: bool = False) -> ChatAnswer:
        """Return the answer after the stream has ended, with `ended` by its end mark.

        Raises:
            PeerError: the stream was cut off, as one without a finish reason was, or had no answer.
        """
        received = self._text.joined()
        if self._finish is not None:
            return self._answer(received)
        if self._stranger is not None:
            what = "a stream of data without choices"
            if self.length or self._calls:
                what = "an unfinished stream with data without choices"
            raise self.odd(what, self._stranger)
        message = f"the stream of {self._host} ended before the answer was finished"
        if ended:
            message = (
                f"{self._host} sent [DONE] without a finish_reason, so the answer may not be whole"
            )
        raise PeerError(self._peer, message, received=clean_line(received, 300))

    @property
    def tokens(self) -> tuple[int | None, int | None]:
        """The tokens (input, output) that were reported so far; None if unknown."""
        return self._usage.prompt_tokens, self._usage.completion_tokens

    @property
    def model(self) -> str | None:
        """The model that the answer names as its own, so far."""
        if self._model:
            return clean_line(self._model, 100)
        return None

    def failed(self, error: Any) -> PeerError:
        """Return the error for an error object instead of an answer."""
        message, codes = error, set[str]()
        if isinstance(error, Mapping):
            message = error.get("message")
            codes = {str(error.get("code")), str(error.get("type"))}
        shown = hide_keys(str(message or json.dumps(error, default=str, ensure_ascii=False)), None)
        if is_context_full(codes, shown):
            return context_full(self._peer, self._host, shown)
        if is_over_content(codes, shown):
            return content_refused(self._peer, self._host, shown)
        message = f"{self._host} ended its answer with an error: {shown}"
        return PeerError(self._peer, message, retryable=True, received=shown)

    def odd(self, what: str, received: Any) -> PeerError:
        """Return the error for malformed data."""
        if not isinstance(received, str):
            received = json.dumps(received, default=str, ensure_ascii=False)
        shown = clean_line(received, 300)
        return PeerError(
            self._peer, f"{self._host} sent {what}: {shorten(shown, 120)}", received=shown
        )

    def _add(self, message: _Message, *, pieces: bool) -> str:
        thought = _first_thought(message.reasoning_content, message.reasoning)
        self._reasoning.add(thought)
        text, refusal = self._joined_text(message.content), message.refusal or ""
        self._items += message.items or ()
        self._refusal.add(refusal)
        self.length += len(text) + len(refusal) + len(thought)
        for call in message.tool_calls or ():
            known = self._find_call(call, pieces=pieces)
            known.id = known.id or call.id or ""
            name, written = call.function.name or "", _written(call)
            if name and known.name != [name]:  # some servers repeat it in each chunk
                known.name.append(name)
                self.length += len(name)
            if not known.has(written):
                known.arguments.add(written)
                self.length += len(written)
        if self.length > MAX_TEXT:
            raise PeerError(
                self._peer, f"{self._host} sent an answer of more than {MAX_TEXT:,} characters"
            )
        if text:
            self._first = self._first or self._arrived
            self._text.add(text)
        return text

    def _find_call(self, call: _Call, *, pieces: bool) -> _CallPieces:
        """Return the call that a piece belongs to, a new one if it begins one.

        By its id, if it is known; else by its index; without either, it belongs to the newest call,
        and so does a piece with an index of its own but neither id nor name. Servers leave the
        index out, give each call the index 0, or repeat a call's id and name in each piece.
        """
        known: _CallPieces | None = None
        if pieces and self._calls:
            by_id = [each for each in self._calls if call.id and each.id == call.id]
            if by_id:
                known = by_id[-1]
            elif call.index in self._places:
                known = self._places[call.index]
            elif call.index is None or not (call.id or call.function.name):
                known = self._calls[-1]
            begins = (
                call.id
                and known is not None
                and known.id
                and call.id != known.id
                and call.function.name
            )
            if not by_id and known is not None and (begins or known.is_other(call)):
                known = None
        if known is None:
            known = _CallPieces()
            self._calls.append(known)
        if call.index is not None:
            self._places[call.index] = known
        return known

    def _joined_text(self, content: str | list[str | dict[str, Any]] | None) -> str:
        """Return the text of a content; of a list, that of its text parts.

        Reasoning and the other parts are kept apart.
        """
        if content is None or isinstance(content, str):
            return content or ""
        texts = []
        for part in content:
            if isinstance(part, str):
                texts.append(part)
                continue
            text, kind = part.get("text"), part.get("type")
            if isinstance(text, str) and (kind is None or str(kind).endswith("text")):
                texts.append(text)
            elif kind in _REASONING_PARTS:
                thought = _first_thought(
                    *(part.get(key) for key in ("thinking", "reasoning", "summary", "text"))
                )
                self._reasoning.add(thought)
                self.length += len(thought)
            else:
                self._parts.append(part)
        return "".join(texts)

    def _answer(self, content: str) -> ChatAnswer:
        return ChatAnswer(
            content=clean(content),
            started=self._started,
            ended=self._arrived,
            first_token=self._first,
            finish=self._finish,
            refusal=clean_line(self._refusal.joined()),
            tool_calls=tuple(call.whole() for call in self._calls),
            tokens_in=self.tokens[0],
            tokens_out=self.tokens[1],
            tokens_cached=self._usage.cached,
            model=self.model,
            items=tuple(self._items),
            parts=tuple(self._parts),
            reasoning=clean(self._reasoning.joined()),
            closed=self._closed or self._arrived,
        )


_REASONING_PARTS = ("thinking", "reasoning", "redacted_thinking")


def _first_thought(*told: Any) -> str:
    """Return the first text among fields for reasoning: servers have it as a text, an object with
    one, or a list of such.
    """
    for each in told:
        listed = each if isinstance(each, list) else [each]
        texts = [one.get("text") if isinstance(one, Mapping) else one for one in listed]
        if thought := "".join(text for text in texts if isinstance(text, str)):
            return thought
    return ""


def _first_problem(error: ValidationError) -> str:
    """Return which field of a completion is wrong, in brackets: ` (choices.0.message.content)`;
    empty if all of it is.
    """
    place = ".".join(map(str, error.errors(include_url=False, include_input=False)[0]["loc"]))
    if place:
        return f" ({clean_line(place, 150)})"
    return ""


_JSON_STRING = r'("(?:[^"\\]|\\.)*+(?:"|\Z))'
_SLIPS = (
    re.compile(rf"{_JSON_STRING}|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)", re.DOTALL),
    re.compile(rf"{_JSON_STRING}|,(?=\s*+[\]}}])", re.DOTALL),
)


def repair_slips(text: str) -> str:
    """Return JSON as a model wrote it without comments, and without a comma before a closing
    bracket.
    """
    for slip in _SLIPS:
        text = slip.sub(lambda match: match[1] or "", text)
    return text


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of an object with these properties, in the strict subset that
    providers support.
    """
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }

"""The language-model evaluator, with any OpenAI-compatible endpoint, and what of its text the user
says.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Literal

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.peer_limits import MAX_HIDDEN
from bioeval_tui.base.text import clean_line, parse_json
from bioeval_tui.jobs.models import EvaluationJob
from bioeval_tui.peers import spending
from bioeval_tui.peers.models.answer import ChatAnswer, object_schema, repair_slips, text_of
from bioeval_tui.peers.models.model import ChatModel, ChatRequest
from bioeval_tui.peers.models.prompting import (
    Prompt,
    evaluator_context,
    find_prompt,
    has_turns,
    is_without_conversation,
    render_prompt,
    turns,
)
from bioeval_tui.peers.models.reasoning import (
    LONGEST_END,
    REASONING_BEGINS,
    REASONING_ENDS,
    strip_reasoning,
)
from bioeval_tui.peers.models.shown import FOR_USERS
from bioeval_tui.peers.seams import Delta, EvaluatorView, PeerError, Utterance

USUAL_LENGTH = 400
"""What a server that keeps to schemas lets a message have, in characters; of 11,308 in published
conversations, 2 are longer.
"""
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
        """The job's prompt is looked up in `job_dir` first.

        Raises `UsageError` if it does not exist.

        `chat` may be shared with other conversations; its creator closes it.
        """
        self.identity = clean_line(model)
        self._name = job.evaluator.name
        self._most = job.evaluator.max_message_length
        self._options = job.evaluator
        self._model = model
        self._prompt: Prompt = find_prompt(job.evaluator.prompt, job_dir)
        self._chat = chat
        self._size = 0
        self._filled_in: tuple[tuple[Any, ...], str] | None = None
        """What the last prompt was filled in with, and the result; None if the next differs."""

    async def speak(self, view: EvaluatorView) -> AsyncIterator[Delta | Utterance]:
        """Yield pieces of the next message and, last, the complete message. Raises `PeerError`."""
        while True:
            messages = await self._messages(view, self._size)
            try:
                # Else the rest of it would be closed later, by a task of the event loop.
                async with aclosing(self._answer(view, messages)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except PeerError as error:
                if not error.too_long:
                    raise
                smaller = await self._smaller(view, messages)
                if smaller is None:
                    raise
                self._size = smaller
                most = f"{FOR_USERS[smaller]:,} characters of each message"
                spending.note(
                    "the conversation does not fit the simulated user's context: it is shown"
                    f" {most}"
                )

    async def _messages(self, view: EvaluatorView, size: int) -> list[dict[str, str]]:
        """Return the request's messages, with as much of the conversation as `FOR_USERS` has in
        this place.
        """
        most = FOR_USERS[size]
        system = {"role": "system", "content": await self._instructions(view, most)}
        if has_turns(self._prompt):
            return [system, *turns(view, most)]
        closing = f"Write the next message of {clean_line(view.job.target.user, 100)}."
        return [system, {"role": "user", "content": closing}]

    async def _instructions(self, view: EvaluatorView, most: int) -> str:
        """Return the prompt filled in with a view: the last one, if it would be the same.

        Raises `PeerError`.
        """
        # all that such a prompt depends on
        told = (view.job, view.facts, view.condition, view.placebo, view.note)
        if self._filled_in is not None and self._filled_in[0] == told:
            return self._filled_in[1]
        try:
            instructions = await render_prompt(
                self._prompt, evaluator_context(view, most), self._chat.templates
            )
        except UsageError as problem:
            raise PeerError("evaluator", str(problem)) from problem
        if is_without_conversation(self._prompt):
            self._filled_in = told, instructions
        return instructions

    async def _smaller(self, view: EvaluatorView, messages: list[dict[str, str]]) -> int | None:
        """Return the next size at which the model is shown less than these messages."""
        for size in range(self._size + 1, len(FOR_USERS)):
            shorter = await self._messages(view, size)
            if _length(shorter) < _length(messages):
                return size
        return None

    async def _answer(
        self, view: EvaluatorView, messages: list[dict[str, str]]
    ) -> AsyncGenerator[Delta | Utterance, None]:
        bound: int | None = None
        if has_turns(self._prompt):
            told = (*view.facts, *view.placebo)
            bound = min(self._most, USUAL_LENGTH + sum(map(len, told)))
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

        A message that was cut off is asked for once more; only of the second one are the whole
        sentences used.
        """
        cut = ""
        if answer is not None and answer.finish == "length":
            cut = "was cut off at the model's length limit"
        text = stream.text
        if answer is not None and cut:
            text = answer.content
        elif answer is not None:
            text = text_of(answer, "evaluator")
        words = self._read(view, text)
        is_second = SHORTER in view.note
        again = "" if is_second else SHORTER
        if stream.ended == "long" or len(words) > self._most:
            message = (
                f"the message was longer than {self._most:,} characters"
                " (evaluator.maxMessageLength)"
            )
            raise PeerError("evaluator", message, received=words[:300], unusable=True, again=again)
        if (kept := cut_loop(words)) is not None:
            cut, words = "repeats one sentence over and over", kept
        elif cut or len(words) >= bound:
            cut = cut or f"was cut off after {len(words):,} characters"
            kept = whole_sentences(words) if is_second else ""
            if not kept:
                message = f"the message {cut}"
                raise PeerError(
                    "evaluator", message, received=words[:300], unusable=True, again=again
                )
            words = kept
        if not words:
            message = "the model's answer was empty but for its reasoning"
            raise PeerError("evaluator", message, retryable=True, unusable=True)
        used = answer or ChatAnswer("", 0, 0)
        model = used.model or self._model
        return Utterance(words, used.tokens_in, used.tokens_out, model, cut=cut)

    def _read(self, view: EvaluatorView, text: str) -> str:
        target = view.job.target
        names = (clean_line(target.user, 100), self._name)
        return read(text, names, chatbot=target.chatbot, plays_assistant=has_turns(self._prompt))


def _length(messages: Sequence[Mapping[str, str]]) -> int:
    return sum(len(message["content"]) for message in messages)


def _schema(most: int) -> dict[str, Any]:
    # Without quotation marks, backslashes and newlines: some servers put what a pattern allows into
    # JSON unescaped.
    words = {"type": "string", "pattern": rf'^[^"\\\n]{{1,{most}}}$'}
    return object_schema({"message": words})


MAX_AFTER = 300
"""Maximum number of characters after a message's end, such as the blanks that some servers write
after JSON.
"""
LOOP = 3
"""A sentence that occurs this many times in one message is a loop."""
SHORTEST_LOOP = 3
"""Sentences with fewer words may occur often: "No. No."""

_ROUNDS = 8
"""So often is stripped what a model puts around its message: under each layer there may be another.
"""
_DIGITS = tuple("0123456789")
_KEYS = (
    "message", "content", "text", "next_message", "reply", "response", "answer", "utterance", "say",
    "user",
)  # fmt: skip
_AROUND = (
    "answer", "arguments", "parameters", "output", "response", "result", "properties", "data",
    "message",
    "messages",
)  # fmt: skip
_MARK = (
    r"(?:<\|/?[a-z_]{1,30}\|>|<｜[^｜<>]{1,40}｜>|</?s>|<(?:bos|eos|pad)>|<(?:start|end)_of_turn>"
    r"|\[/?INST\]|</?\|(?:turn|channel)\|?>|<turn\|>"
    r"|<\|START_RESPONSE\|>|<\|END_RESPONSE\|>|\[(?:BEGIN|END) FINAL"
    r" RESPONSE\]|<end_of_utterance>|\[e~\[|\]~b\]"
    r"|\[TOOL_CALLS\](?:\s?\w{1,50}\[ARGS\])?)"
)
_LEADING_TOKENS = re.compile(
    rf"(?:\s*{_MARK}\s*(?:(?:assistant|user|model|human)\b(?!['’])[ \t]*\n?)?)+", re.IGNORECASE
)
_NEXT_TOKEN = re.compile(rf"{_MARK}|(?<=[.!?])(?:assistant|user)\n\n", re.IGNORECASE)
_BARE_ROLE = re.compile(r"\s*(?:assistant|user|model)\n+")
"""What is left of Llama 3's template where a server leaves its marks out."""
_WRAPPED = re.compile(
    r"<(tool_call|message|user|user_message|response|reply|answer|final|final_answer|output|result"
    r"|solution|text|assistant|p)>((?:(?!</\1>).)*)</\1>",
    re.DOTALL | re.IGNORECASE,
)
_CALLED = re.compile(r"<(function|parameter)=\w{1,50}>(.*?)(?:</\1>|\Z)", re.DOTALL)
_BOXED = re.compile(r"(\$?)\\boxed\{(?:\\text\{([^{}]*)\}|([^{}]*))\}\1")
_NOTE = re.compile(r"\n[ \t]*\(Note: [^()]*\)\Z")
_BULLET = re.compile(r"[-*•][ \t]+([^\n]*)")
_FENCE = re.compile(r"(```|~~~)[\w+-]{0,20}[ \t]*\n(.*?)(?:\n?\1|\Z)\s*", re.DOTALL)
_RULES = re.compile(r"\A-{3,}[ \t]*\n|\n[ \t]*-{3,}\Z")
_QUOTED_LINES = re.compile(r"(?:>[^\n]*(?:\n|\Z))+")
_ONE_LINE_FENCE = re.compile(r"(`{1,3})([^`]+)\1")
_OBJECT = re.compile(r"\{\s*[\"'](\w+)[\"']\s*:\s*[\"']")
_BEGUN = re.compile(rf"\{{\s*\"(?:{'|'.join(_KEYS)})\"\s*:\s*\"")
_IN_STRING = re.compile(r'(?:[^"\\]|\\[^u]|\\u[0-9A-Fa-f]{4})*')
_HALF_PAIR = re.compile(r"\\u[dD][89abAB][0-9A-Fa-f]{2}\Z")
_QUOTES = ('""', "“”", "«»", "„“", "‘’", "''", "「」", "『』")
_SENTENCES = re.compile(r"(?<=[.!?。！？।])\s+|(?<=[。！？])|\n+")
_WHOLE = re.compile(r".*[.!?。！？।…][\"”’')*]*(?=\s|\Z)", re.DOTALL)
_WORD = re.compile(r"\w+")


def read(
    text: str, names: Sequence[str], *, chatbot: str = "", plays_assistant: bool = True
) -> str:
    """Return the message in a model's text, or "" if the text contains only reasoning.

    `names` are what the simulated user is called. `plays_assistant` says whether the simulated user
    has the role `assistant`, so that an object with that role is its message, and not the
    chatbot's.
    """
    words = text
    for _ in range(_ROUNDS):
        before = words
        words = _strip_tokens(strip_reasoning(words)).strip()
        words = _strip_script(_strip_introduction(words, names), names, chatbot)
        words = _unfence(words)
        words = _json_message(words, (*_KEYS, *names), plays_assistant).strip()
        words = _unquote(words)
        if words == before:
            break
    return words


def whole_sentences(text: str) -> str:
    """Return the whole sentences at the beginning of a text that was cut off, up to one that occurs
    twice.
    """
    match = _WHOLE.match(text)
    if match is None:
        return ""
    kept = match.group()
    return kept[: _place_of_repeat(kept, 2)].strip()


def cut_loop(text: str) -> str | None:
    """Return the text before the first repetition of a looping sentence; None if no sentence
    loops.
    """
    if _place_of_repeat(text, LOOP) is None:
        return None
    return text[: _place_of_repeat(text, 2)].strip()


class Stream:
    """The pieces of an answer as they arrive.

    `ended` says why the rest is ignored: the message is too long, it loops, or it was complete
    before the model stopped.
    """

    def __init__(self, most: int) -> None:
        """`most` is the maximum number of characters of a message."""
        self._most = most
        self._state: Literal["before", "plain", "string", "after"] = "before"
        self._pending = ""
        self._raw: list[str] = []
        self._shown: list[str] = []
        self._length = self._after = self._hidden = 0
        self._next_look = 100
        self._searched = 0
        self.ended: Literal["", "long", "loop", "complete"] = ""

    @property
    def text(self) -> str:
        """Everything that arrived."""
        return "".join(self._raw)

    def take(self, piece: str) -> str:
        """Add a piece; return the words of the message in it, as far as they are known."""
        self._raw.append(piece)
        if self._state == "before":
            shown = self._begin(piece)
        elif self._state == "plain":
            shown = piece
        elif self._state == "string":
            shown = self._take_string(piece)
        else:
            # The message is complete. Some servers go on with blanks, perhaps without end.
            shown, self._after = "", self._after + len(piece)
            if self._after > MAX_AFTER:
                self.ended = "complete"
        self._length += len(shown)
        if shown:
            self._shown.append(shown)
            self._look()
        return shown

    def _begin(self, piece: str) -> str:
        self._pending += piece
        start = self._pending.lstrip()
        if not start:
            self._hidden += len(self._pending)
            self._pending = ""
            return self._withhold()
        if start[0] in "<[◁":
            # Only what is new is searched, and the longest mark before it.
            ends = list(
                REASONING_ENDS.finditer(self._pending, max(0, self._searched - LONGEST_END))
            )
            self._searched = len(self._pending)
            if not ends:
                waits = (len(start) < 20 and start[1:2] not in _DIGITS) or start.startswith(
                    ("<|", "<｜")
                )
                if waits or REASONING_BEGINS.match(start):
                    return self._withhold()
                return self._open(start)
            self._pending = start = self._pending[ends[-1].end() :].lstrip()
            if not start:
                return ""
        if start[0] in "{`":
            match = _BEGUN.search(start[:400])
            if match is None:
                return self._withhold()
            self._state, self._pending = "string", ""
            return self._take_string(start[match.end() :])
        return self._open(start)

    def _open(self, start: str) -> str:
        self._state, self._pending = "plain", ""
        return start

    def _withhold(self) -> str:
        if self._hidden + len(self._pending) > MAX_HIDDEN:
            self.ended = "long"
        return ""

    def _take_string(self, piece: str) -> str:
        text = self._pending + piece
        inside = _IN_STRING.match(text)
        assert inside is not None
        body = inside.group()
        rest = text[len(body) :]
        if pair := _HALF_PAIR.search(body):
            body, rest = body[: pair.start()], body[pair.start() :] + rest
        self._pending = rest
        if rest.startswith('"') or len(rest) > 12:
            self._state, self._pending, self._after = "after", "", len(rest)
        return _unescape(body)

    def _look(self) -> None:
        """Look for a loop now and then: the gaps grow with the message, so that this takes linear
        time.
        """
        if self._length > self._most:
            self.ended = "long"
        elif self._length >= self._next_look:
            self._next_look = self._length + max(60, self._length // 4)
            if _place_of_repeat("".join(self._shown), LOOP) is not None:
                self.ended = "loop"


def _strip_tokens(text: str) -> str:
    if leading := _LEADING_TOKENS.match(text) or _BARE_ROLE.match(text):
        text = text[leading.end() :]
    following = _NEXT_TOKEN.search(text)
    if following:
        return text[: following.start()]
    return text


_LONGEST_INTRODUCTION = 200


def _strip_introduction(text: str, names: Sequence[str]) -> str:
    """Remove an introduction such as "Here is the next message of Ann:".

    `names` are what the simulated user is called. An introduction is one line of at most
    `_LONGEST_INTRODUCTION` characters with a colon, and says whose message follows, that it is the
    next one, or something like "Sure".
    """
    first, colon, _ = text[:_LONGEST_INTRODUCTION].partition(":")
    rest = text[len(first) + len(colon) :]
    if not colon or "\n" in first.strip() or not rest.strip():
        return text
    label = first.casefold().replace("’", "'").strip("*_#> \t")
    opening = re.match(
        r"(?:(sure(?: thing)?|certainly|of course|okay|ok|absolutely|alright|great|got it|no"
        r" problem)\b[\s,.!]{0,4})?"
        r"(?:here(?:'s| is)|this is|below is|the following is)\s",
        label,
    )
    announced = re.search(r"\b(?:message|reply|response|answer|line|turn)\b", label)
    if opening is None or announced is None:
        return text
    of_user = any(
        re.search(
            rf"(?:\b(?:of|from|by|for|as)\s+(?:the\s+)?{name}\b"
            rf"|\b{name}(?:'s)?\b.{{0,20}}\b(?:message|reply|response|answer|line|turn))",
            label,
        )
        for name in (*(re.escape(name.casefold()) for name in names), "user", "person")
    )
    next_one = re.search(r"\bnext\b", label) is not None
    # "Here is my message to the doctor: …" is no introduction, but what the user says.
    if opening.group(1) or of_user or next_one:
        return rest
    return text


def _strip_script(text: str, names: Sequence[str], chatbot: str) -> str:
    """Remove the user's name before its words, and what a script lets others say after them."""
    mine = "|".join(
        re.escape(name)
        for name in (*names, "user", "human", "next message", "message", "final answer")
    )
    label = re.compile(
        rf"[\s*_#>\[(<@\-]{{0,6}}(?:{mine})(?:['’]s next"
        r" message|\s(?:says|said|asks|writes))?(?:\s?\([\w"
        r" ]{1,20}\))?[\s*_\])>]{0,4}:[*_]{0,2}[ \t]*\n?",
        re.IGNORECASE,
    )
    match = label.match(text)
    if match is None:
        return text
    text = text[match.end() :]
    others = "|".join(
        re.escape(name)
        for name in (chatbot, "assistant", "chatbot", "bot", "ai", *names, "user")
        if name
    )
    goes_on = re.search(rf"\n[\s*_#>\[(]{{0,6}}(?:{others})[\s*_\])]{{0,4}}:", text, re.IGNORECASE)
    if goes_on:
        return text[: goes_on.start()]
    return text


def _unfence(text: str) -> str:
    for pattern, group in (
        (_FENCE, 2),
        (_ONE_LINE_FENCE, 2),
        (_WRAPPED, 2),
        (_CALLED, 2),
        (_BULLET, 1),
    ):
        if match := pattern.fullmatch(text):
            return match.group(group).strip()
    if boxed := _BOXED.fullmatch(text):
        return (boxed[2] or boxed[3] or "").strip()
    if _QUOTED_LINES.fullmatch(text):
        return "\n".join(line[1:].strip() for line in text.splitlines())
    return _RULES.sub("", _NOTE.sub("", text)).strip()


def _unquote(text: str) -> str:
    for pair in _QUOTES:
        first, last = pair[0], pair[1]
        inside = text[1:-1]
        if (
            len(text) > 1
            and text[0] == first
            and text[-1] == last
            and first not in inside
            and last not in inside
        ):
            return inside.strip()
    if len(text) > 4 and text.startswith("**") and text.endswith("**") and "*" not in text[2:-2]:
        return text[2:-2].strip()
    return text


def _json_message(text: str, keys: Sequence[str], plays_assistant: bool) -> str:
    """Return the message under a key of a JSON value, also one cut off, or within prose; else
    `text`.
    """
    if text[:1] in "[{" or (text[:2] in ('"{', '"[')):
        for value in _values(text):
            if (message := _message(value, keys, plays_assistant)) is not None:
                return message
    elif "{" not in text:
        return text
    begun = _OBJECT.search(text)
    if (
        begun is None
        or begun.group(1) not in _KEYS
        or (text[:1] != "{" and not _announces(text[: begun.start()]))
    ):
        return text
    tail = text.rstrip(" \t\n`").removesuffix("}").rstrip().removesuffix(",").rstrip()
    quote = text[begun.end() - 1]
    inside = _IN_STRING.match(text, begun.end())
    assert inside is not None
    if quote == '"' and (
        inside.end() >= len(text) - 1 or re.match(r'"\s*[,}\]]', text[inside.end() :])
    ):
        return _unescape(inside.group())
    if len(tail) > begun.end() and tail.endswith(quote):
        # Quotation marks within are not escaped, or single ones are around.
        return _unescape(tail[begun.end() : -1].replace('\\"', '"').replace('"', '\\"'))
    return text


def _announces(prose: str) -> bool:
    return len(prose) < 200 and prose.rstrip().endswith((":", "```json", "```"))


def _values(text: str) -> Iterator[Any]:
    """Yield the JSON value of the text, or the one with which it begins, also with comments or
    commas too many.
    """
    for candidate in (text, repair_slips(text)):
        try:
            value, end = json.JSONDecoder(strict=False).raw_decode(candidate)
            if candidate[end:].strip()[:1] in ("", "{", "`", "[", "}"):
                parse_json(json.dumps(value))  # its depth
                yield value
        except (ValueError, RecursionError):
            continue


def _message(value: Any, keys: Sequence[str], plays_assistant: bool, depth: int = 0) -> str | None:
    if isinstance(value, str):
        return value
    if depth > 3:
        return None
    if isinstance(value, list):
        if len(value) == 1:
            return _message(value[0], keys, plays_assistant, depth + 1)
        return None
    if not isinstance(value, Mapping):
        return None
    if value.get("role") == "assistant" and not plays_assistant:
        return None
    for key in keys:
        if isinstance(value.get(key), str):
            return str(value[key])
    for key in (*_AROUND, "content"):
        if isinstance(value.get(key), Mapping | list):
            return _message(value[key], keys, plays_assistant, depth + 1)
        # as JSON text, as OpenAI has it
        if key == "arguments" and str(value.get(key, "")).startswith("{"):
            return str(value[key])
    return None


def _unescape(body: str) -> str:
    try:
        return str(json.loads(f'"{body}"', strict=False))
    except ValueError:
        return body


def _place_of_repeat(text: str, times: int) -> int | None:
    """Return where a sentence of `SHORTEST_LOOP` words begins for the `times`-th time; None if none
    does.
    """
    seen: Counter[str] = Counter()
    start = 0
    for end in (*(match.start() for match in _SENTENCES.finditer(text)), len(text)):
        words = _WORD.findall(text[start:end].casefold())
        if len(words) >= SHORTEST_LOOP:
            key = " ".join(words)
            seen[key] += 1
            if seen[key] == times:
                return start
        start = end
    return None

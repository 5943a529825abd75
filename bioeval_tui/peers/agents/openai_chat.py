"""An agent behind an OpenAI-compatible endpoint (`target.protocol: openai`): chat completions or
the Responses API.

The endpoint is stateless, so each request contains the whole conversation, tool calls and their
results included. Calls of the job's tools are answered here, and the endpoint is called again until
it answers with text. The object context comes from a separate URL, if the job names one.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any

from bioeval_tui.base.hosts import chat_url
from bioeval_tui.base.peer_limits import MAX_ROUNDS
from bioeval_tui.base.text import clean, clean_value, excess_of
from bioeval_tui.peers.agents.connection import SESSION, StateUrl, fill_session
from bioeval_tui.peers.agents.tools import NO_RESULT, DeclaredTools
from bioeval_tui.peers.arrivals import Arrivals
from bioeval_tui.peers.models.answer import ChatAnswer, ModelToolCall, text_of
from bioeval_tui.peers.models.model import ChatModel, ChatRequest
from bioeval_tui.peers.seams import AgentTerms, Delta, Generation, PeerError, Reply
from bioeval_tui.peers.timeouts import timeouts_of
from bioeval_tui.record.attachments import attachment_event, bytes_of, shorten_picture
from bioeval_tui.record.participants import Role
from bioeval_tui.record.spans import known_sum
from bioeval_tui.record.tool_calls import UNREAD, call_event, parse_arguments, result_event


@dataclass(slots=True)
class _Turn:
    """The rounds of tool calls before an answer: what was said, shown and received."""

    content: str
    messages: list[dict[str, Any]]
    pieces: list[Delta | Generation] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    answers: list[ChatAnswer] = field(default_factory=list)

    def add(
        self,
        answer: ChatAnswer,
        text: str,
        messages: list[dict[str, Any]],
        shown: list[Delta | Generation],
    ) -> None:
        """Add a round: an answer with its text, what it adds to the history, and what was shown of
        it.
        """
        self.messages += messages
        self.pieces += shown
        if text:
            self.texts.append(text)
        self.answers.append(answer)

    def reply(self, counted: int) -> Reply:
        """Return the whole answer, with the tokens of all but its first `counted` rounds."""
        answers = self.answers
        # Time between requests (our own tools, the wait before a retry) is not the agent's; the end
        # of a body is, or an agent could work behind each `[DONE]` for free.
        ours_s, first_token = 0.0, answers[0].first_token
        for before, answer in pairwise(answers):
            ours_s += answer.started - before.closed
            if first_token is None and answer.first_token is not None:
                first_token = answer.first_token - ours_s
        return Reply(
            "\n\n".join(self.texts),
            answers[0].started,
            answers[-1].ended - ours_s,
            first_token,
            tuple(dict(piece.data) for piece in self.pieces if isinstance(piece, Generation)),
            known_sum(answer.tokens_in for answer in answers[counted:]),
            known_sum(answer.tokens_out for answer in answers[counted:]),
            answers[-1].finish == "length",
        )


class OpenAIChatAgent:
    """An `Agent` for one conversation. `/v1` is added to a URL without a path.

    The URL of the object context may contain `{sessionId}`, and so may the values of headers and of
    `extraBody`.
    """

    def __init__(self, terms: AgentTerms) -> None:
        target, timeouts = terms.target, timeouts_of(terms.timeout_s)
        self._chat = ChatModel(
            "agent",
            api_key=terms.key,
            base_url=chat_url(terms.url) if terms.provider == "openai" else terms.url.rstrip("/"),
            timeouts=timeouts,
            arrivals=Arrivals(),
            provider=terms.provider,
            api=target.api,
            account=terms.account,
            secrets=terms.secrets,
            stateless=target.keeps_nothing,
            refused=terms.refused,
        )
        self._model = terms.model
        self._tools = DeclaredTools(target.tools, terms.code, terms.drawn_by)
        self._session = uuid.uuid4().hex
        self._headers: dict[str, str] = fill_session(dict(terms.headers), self._session)
        extra_body: dict[str, Any] = fill_session(target.extra_body, self._session)
        self._options = target.model_copy(update={"extra_body": extra_body})
        self._state = StateUrl(target.object_context_url, timeouts)
        named = (
            SESSION in json.dumps([dict(terms.headers), target.extra_body], default=str)
            or "user" in extra_body
        )
        self._user = self._session if self._state.names_session and not named else ""
        self._history: list[dict[str, Any]] = []
        self._first_events: list[dict[str, Any]] = []
        """The events of the first answer: the system prompt, as other agents report it."""
        self._turn: _Turn | None = None
        """The message that is being answered: its tools are never run again if a request is
        retried.
        """
        if target.system_prompt:
            self._history.append({"role": "system", "content": target.system_prompt})
            self._first_events.append({"systemPrompt": target.system_prompt})

    async def open(self) -> str:
        """Return the session id; the endpoint knows it only if the job sends it."""
        return self._session

    async def send(self, content: str) -> AsyncGenerator[Delta | Generation | Reply, None]:
        """Send one message; yield pieces as they arrive and, last, the `Reply`. Raises `PeerError`.

        A failed answer does not affect what is sent next time. If the same message is sent again
        after a failure, the rounds of tool calls that were complete are not repeated.
        """
        turn = self._turn
        if turn is None or turn.content != content:
            turn = self._turn = _Turn(content, [{"role": "user", "content": content}])
        for known in turn.pieces:
            yield known
        counted = len(turn.answers)  # the tokens of a failed attempt are recorded with it
        for _ in range(MAX_ROUNDS - counted):
            gap = "\n\n" if turn.texts else ""
            shown: list[Delta | Generation] = []
            async with aclosing(self._answer([*self._history, *turn.messages])) as pieces:
                async for piece in pieces:
                    if isinstance(piece, str):
                        shown.append(Delta(gap + clean(piece)))
                        yield shown[-1]
                        gap = ""
                    else:
                        answer = piece
            text = _text(answer)
            messages = [_assistant(text, answer.tool_calls)]
            async with aclosing(
                self._answer_events(answer, messages, first=not turn.answers)
            ) as events:
                async for event in events:
                    shown.append(Generation(event))
                    yield shown[-1]
            turn.add(answer, text, messages, shown)
            if not (answer.tool_calls and self._tools):
                break
        else:
            self._turn = None
            raise PeerError(
                "agent", f"the agent called tools {MAX_ROUNDS} times without answering in text"
            )
        self._history += turn.messages
        self._first_events, self._turn = [], None
        yield turn.reply(counted)

    async def _answer_events(
        self, answer: ChatAnswer, messages: list[dict[str, Any]], *, first: bool
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the events of an answer, answer its tool calls, and add their results to
        `messages`, which the model is sent next.

        `first` says that it is the message's first answer: the events of the system prompt come
        before it, unless an earlier message had them.
        """
        items = list(chain.from_iterable(map(_item_events, answer.items)))
        if answer.reasoning:
            items.append(clean_value({"reasoning": answer.reasoning}))
        items += [_part_event(part) for part in answer.parts]
        if first:
            items = [*self._first_events, *items]
        for event in items:
            yield event
        for call in answer.tool_calls:
            if not self._tools:
                yield call_event(call.name, call.arguments, call.id)
                # Arguments that are still a text could not be read: the model learns its mistake.
                messages.append(
                    _result(call, UNREAD if isinstance(call.arguments, str) else NO_RESULT)
                )
                continue
            result = await self._tools.answer(call.name, call.arguments)
            for event in result.events(call.name, call.arguments, call.id):
                yield event
            told = f"error: {result.error}" if result.error else result.content
            messages.append(_result(call, told))

    def _answer(self, messages: list[dict[str, Any]]) -> AsyncGenerator[str | ChatAnswer, None]:
        request = ChatRequest(
            self._model,
            messages,
            self._options,
            user=self._user,
            tools=self._tools.described(),
            headers=self._headers,
        )
        return self._chat.stream(request)

    async def observe(self) -> dict[str, Any] | None:
        """Return the object context; None without one. Raises `PeerError`."""
        return await self._state.read(self._session)

    async def seed_text(self, text: str) -> None:
        """Raise `PeerError`: a chat endpoint has no knowledge service."""
        raise PeerError(
            "knowledge",
            f"{self._chat.host} is a chat endpoint and does not accept texts",
            status=404,
        )

    async def seed_history(self, role: Role, content: str) -> bool:
        """Add a seed message to the conversation that is sent with every message."""
        self._history.append({"role": role, "content": content})
        return True

    async def aclose(self) -> None:
        """Close every connection."""
        await self._tools.aclose()
        await self._chat.aclose()


def _text(answer: ChatAnswer) -> str:
    """Return an answer's text; an answer that only calls tools has none."""
    if (answer.tool_calls or answer.parts) and not answer.content.strip() and not answer.refusal:
        return ""
    if answer.refusal:
        # A user would see a model's refusal, so the judge scores it like any answer.
        return answer.refusal
    if answer.finish == "length" and answer.content.strip():
        return answer.content  # as far as a user would see it
    return text_of(answer, "agent")


def _assistant(text: str, calls: Sequence[ModelToolCall]) -> dict[str, Any]:
    """Return an answer in the form of the history."""
    if not calls:
        return {"role": "assistant", "content": text}
    made = [
        {
            "id": call.id,
            "type": "function",
            # Servers parse the history: some answer 500 if arguments in it are no object.
            "function": {
                "name": call.name,
                "arguments": call.written if isinstance(call.arguments, Mapping) else "{}",
            },
        }
        for call in calls
    ]
    return {"role": "assistant", "content": text, "tool_calls": made}


def _result(call: ModelToolCall, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call.id, "content": content}


def _part_event(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part of a content that is no text as an event: an attachment, with the part
    itself.
    """
    return clean_value({**_attached(part), "part": dict(part)})  # type: ignore[no-any-return]


def _attached(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a picture, sound or file is: its name, media type and size, or its address."""
    kind = str(part.get("type"))
    inside = part.get(kind)
    told = inside if isinstance(inside, Mapping) else {"url": inside}
    url, name, given = (str(told.get(key) or "") for key in ("url", "filename", "file_data"))
    data = given or str(told.get("data") or "")
    if url.startswith("data:"):  # no address, but what would be there
        data, url = data or url, ""
    media = ""
    if data.startswith("data:"):
        media = data.partition(";")[0].removeprefix("data:")
    if not media and kind == "input_audio":
        media = f"audio/{told.get('format') or 'unknown'}"
    count = bytes_of(data.rpartition(",")[2]) if data else None
    usual = {"image_url": "image", "input_image": "image"}.get(kind, "")
    return attachment_event(name, media or usual, count, url)


def _item_events(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return an item of the Responses API as events: a remote tool's call, or anything else
    unchanged.
    """
    if excess := excess_of(item):
        raise PeerError("agent", f"the agent's answer has an item {excess}")
    if item.get("type") != "mcp_call":
        return [clean_value({"item": shorten_picture(item)})]
    written = item.get("arguments") or "{}"
    arguments = parse_arguments(written) if isinstance(written, str) else written
    call_id = str(item.get("id") or "")
    made = [call_event(str(item.get("name")), arguments, call_id)]
    if item.get("error"):
        made.append(result_event(item.get("error"), call_id, failed=True))
    elif item.get("output") is not None:
        made.append(result_event(item.get("output"), call_id, failed=False))
    return made

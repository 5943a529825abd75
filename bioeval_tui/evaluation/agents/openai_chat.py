"""An agent behind an OpenAI-compatible endpoint (`target.protocol: openai`): chat completions or the Responses API.

The endpoint is stateless, so each request contains the whole conversation, tool calls and their results
included. Calls of the job's tools are answered here, and the endpoint is called again until it answers with
text. The object context comes from a separate URL, if the job names one.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any
from urllib.parse import urlsplit

from bioeval_tui.evaluation.agents.object_context import SESSION, StateUrl, filled_in
from bioeval_tui.evaluation.agents.terms import AgentTerms
from bioeval_tui.evaluation.agents.tools import MAX_ROUNDS, DeclaredTools
from bioeval_tui.evaluation.http.arrival import Arrivals
from bioeval_tui.evaluation.http.client import Timeouts, timeouts_of
from bioeval_tui.evaluation.job.models import Api
from bioeval_tui.evaluation.models.answer import ChatAnswer, ModelToolCall, text_of
from bioeval_tui.evaluation.models.model import ChatModel, ChatRequest
from bioeval_tui.evaluation.seams import Delta, Generation, PeerError, Reply
from bioeval_tui.record.names import Role
from bioeval_tui.record.tool_calls import call_event, result_event
from bioeval_tui.settings import Provider
from bioeval_tui.text import clean, clean_value

NO_RESULT = "the result of this call is not known: the evaluation has no tool of this name"
"""The result of an unanswered call in the history, because endpoints reject a call without a result."""


def make_agent(terms: AgentTerms) -> OpenAIChatAgent:
    """Return an agent for one conversation."""
    target = terms.target
    return OpenAIChatAgent(
        terms.url,
        model=terms.model,
        api_key=terms.key,
        system_prompt=target.system_prompt or "",
        object_context_url=target.object_context_url,
        timeouts=timeouts_of(terms.timeout_s),
        provider=terms.provider,
        api=target.api,
        account=terms.account,
        headers=terms.headers,
        secrets=terms.secrets,
        extra_body=target.extra_body,
        streaming=target.streaming,
        tools=DeclaredTools(target.tools, terms.code),
    )


class OpenAIChatAgent:
    """An `Agent` for one conversation. `api_key` is sent only to `base_url`."""

    def __init__(
        self,
        base_url: str,
        *,
        model: str,
        api_key: str | None = None,
        system_prompt: str = "",
        object_context_url: str | None = None,
        timeouts: Timeouts | None = None,
        provider: Provider = "openai",
        api: Api = "chat",
        account: bool = False,
        headers: Mapping[str, str] | None = None,
        secrets: Sequence[str] = (),
        extra_body: Mapping[str, Any] | None = None,
        streaming: bool = True,
        tools: DeclaredTools | None = None,
    ) -> None:
        """`/v1` is added to a `base_url` without a path. `object_context_url` may contain `{sessionId}`, and so may the
        values of `headers` and `extra_body`.

        The other options are those of `ChatModel`.
        """
        timeouts = timeouts or Timeouts()
        bare = provider == "openai" and urlsplit(base_url).path.strip("/") == ""
        self._chat = ChatModel(
            "agent",
            api_key=api_key,
            base_url=base_url.rstrip("/") + ("/v1" if bare else ""),
            timeouts=timeouts,
            arrivals=Arrivals(),
            provider=provider,
            api=api,
            account=account,
            secrets=secrets,
        )
        self._model = model
        self._tools = tools or DeclaredTools(())
        self._streaming = streaming
        self._session = uuid.uuid4().hex
        self._headers: dict[str, str] = filled_in(dict(headers or {}), self._session)
        self._extra: dict[str, Any] = filled_in(dict(extra_body or {}), self._session)
        self._state = StateUrl(object_context_url, timeouts)
        told = SESSION in json.dumps([headers or {}, extra_body or {}], default=str) or "user" in self._extra
        self._user = self._session if self._state.names_session and not told else ""
        self._history: list[dict[str, Any]] = []
        self._untold: list[dict[str, Any]] = []
        """The events of the first answer: the system prompt, as other agents report it."""
        if system_prompt:
            self._history.append({"role": "system", "content": system_prompt})
            self._untold.append({"systemPrompt": system_prompt})

    async def open(self) -> str:
        """Return the session id; the endpoint knows it only if the job sends it."""
        return self._session

    async def send(self, content: str) -> AsyncGenerator[Delta | Generation | Reply, None]:
        """Send one message; yield pieces as they arrive and, last, the `Reply`. Raises `PeerError`.

        A failed answer does not affect what is sent next time.
        """
        said: list[dict[str, Any]] = [{"role": "user", "content": content}]
        events: list[dict[str, Any]] = []
        texts: list[str] = []
        answers: list[ChatAnswer] = []
        first_token: float | None = None
        tools_s = 0.0  # time spent in our own tools is not the agent's
        untold = list(self._untold)
        for _ in range(MAX_ROUNDS):
            gap = "\n\n" if texts else ""
            async with aclosing(self._answer([*self._history, *said])) as pieces:
                async for piece in pieces:
                    if isinstance(piece, str):
                        yield Delta(gap + clean(piece))
                        gap = ""
                    else:
                        answers.append(piece)
            answer = answers[-1]
            if first_token is None and answer.first_token is not None:
                first_token = answer.first_token - tools_s
            texts += [text] if (text := _text(answer)) else []
            said.append(_assistant(text, answer.tool_calls))
            for event in [*untold, *(found for item in answer.items for found in _item_events(item))]:
                events.append(event)
                yield Generation(event)
            untold.clear()
            for call in answer.tool_calls:
                if not self._tools:
                    event = call_event(call.name, call.arguments, call.id)
                    events.append(event)
                    yield Generation(event)
                    said.append(_result(call, NO_RESULT))
                    continue
                result = await self._tools.answer(call.name, call.arguments)
                tools_s += result.took_s
                for event in result.events(call.name, call.arguments, call.id):
                    events.append(event)
                    yield Generation(event)
                said.append(_result(call, result.content or f"error: {result.error}"))
            if not (answer.tool_calls and self._tools):
                break
        else:
            raise PeerError("agent", f"the agent called tools {MAX_ROUNDS} times without answering in text")
        self._history += said
        self._untold = []
        yield Reply(
            "\n\n".join(texts),
            answers[0].started,
            answers[-1].ended - tools_s,
            first_token,
            tuple(events),
            _sum(answer.tokens_in for answer in answers),
            _sum(answer.tokens_out for answer in answers),
        )

    async def _answer(self, messages: list[dict[str, Any]]) -> AsyncGenerator[str | ChatAnswer, None]:
        request = ChatRequest(
            self._model,
            messages,
            user=self._user,
            tools=self._tools.described(),
            extra=self._extra,
            headers=self._headers,
        )
        if not self._streaming:
            yield await self._chat.complete(request)
            return
        async with aclosing(self._chat.stream(request)) as pieces:
            async for piece in pieces:
                yield piece

    async def observe(self) -> dict[str, Any] | None:
        """Return the object context; None without one. Raises `PeerError`."""
        return await self._state.read(self._session)

    async def seed_text(self, text: str) -> None:
        """Raise `PeerError`: a chat endpoint has no knowledge service."""
        raise PeerError(
            "knowledge", f"{self._chat.host} is a chat endpoint and does not accept texts", status=404
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
    if answer.tool_calls and not answer.content.strip() and not answer.refusal:
        return ""
    if answer.refusal:
        # A user would see a model's refusal, so the judge scores it like any answer.
        return answer.refusal
    return text_of(answer, "agent")


def _assistant(text: str, calls: Sequence[ModelToolCall]) -> dict[str, Any]:
    """Return an answer in the form of the history."""
    if not calls:
        return {"role": "assistant", "content": text}
    made = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.written}}
        for call in calls
    ]
    return {"role": "assistant", "content": text or None, "tool_calls": made}


def _result(call: ModelToolCall, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call.id, "content": content}


def _item_events(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return an item of the Responses API as events: a remote tool's call, or anything else unchanged."""
    if item.get("type") != "mcp_call":
        return [clean_value({"item": dict(item)}, 100_000)]
    try:
        arguments = json.loads(item.get("arguments") or "{}")
    except (TypeError, ValueError):
        arguments = item.get("arguments")
    call_id = str(item.get("id") or "")
    failed = bool(item.get("error"))
    made = [call_event(str(item.get("name")), arguments, call_id)]
    if failed or item.get("output") is not None:
        made.append(result_event(item.get("error") if failed else item.get("output"), call_id, failed=failed))
    return made


def _sum(counts: Any) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None

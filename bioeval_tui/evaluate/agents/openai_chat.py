"""An agent behind an OpenAI-compatible chat endpoint (`target.protocol: openai`).

The endpoint keeps no session, so the whole conversation goes out with every message. Tool calls in an
answer become generation events. The object context comes from a URL of its own, where there is one.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2

from bioeval_tui.evaluate.agents.answers import parse_object
from bioeval_tui.evaluate.agents.terms import AgentTerms
from bioeval_tui.evaluate.http.arrival import Arrivals
from bioeval_tui.evaluate.http.client import Timeouts, make_client, timeouts_of
from bioeval_tui.evaluate.http.failures import connection_error, status_error
from bioeval_tui.evaluate.job.models import Api
from bioeval_tui.evaluate.models.answer import ChatAnswer, ToolCall, text_of
from bioeval_tui.evaluate.models.model import ChatModel, ChatRequest
from bioeval_tui.evaluate.seams import Delta, Generation, PeerError, Reply, Role
from bioeval_tui.settings import Provider
from bioeval_tui.text import clean, clean_line, clean_value

SESSION = "{sessionId}"
"""Stands in the object context's URL for the id of the session."""
_NONE_HERE = frozenset({404, 405, 501})


class OpenAIChatAgent:
    """An `Agent` for one conversation. `api_key` goes to `base_url` and nowhere else."""

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
    ) -> None:
        """To a `base_url` without a path `/v1` is added. `{sessionId}` may stand in `object_context_url`.

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
        )
        self._model = model
        self._context_url = object_context_url
        self._timeouts = timeouts
        self._session = ""
        self._history: list[dict[str, str]] = []
        self._untold: list[dict[str, Any]] = []
        """What the first answer tells of how it came about: the system prompt, as other agents do."""
        if system_prompt:
            self._history.append({"role": "system", "content": system_prompt})
            self._untold.append({"systemPrompt": system_prompt})

    async def open(self) -> str:
        """Return a new session id; the endpoint knows nothing of it."""
        self._session = uuid.uuid4().hex
        return self._session

    async def send(self, content: str) -> AsyncGenerator[Delta | Generation | Reply, None]:
        """Send one message; yield pieces as they arrive and, last, the `Reply`. Raises `PeerError`.

        An answer that failed leaves no trace in what is sent next time.
        """
        asked = {"role": "user", "content": content}
        user = self._session if self._context_url and SESSION in self._context_url else ""
        request = ChatRequest(self._model, [*self._history, asked], user=user)
        async with aclosing(self._chat.stream(request)) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    yield Delta(clean(piece))
                    continue
                events = [*self._untold, *(_event(call) for call in piece.tool_calls)]
                text = _text(piece)
                for event in events:
                    yield Generation(event)
                self._history += [asked, {"role": "assistant", "content": text}]
                self._untold = []
                yield Reply(
                    text,
                    piece.started,
                    piece.ended,
                    piece.first_token,
                    tuple(events),
                    piece.tokens_in,
                    piece.tokens_out,
                )

    async def observe(self) -> dict[str, Any] | None:
        """Return the object context, None where there is none. Raises `PeerError`."""
        if self._context_url is None:
            return None
        url = self._context_url.replace(SESSION, quote(self._session, safe=""))
        host = clean_line(urlsplit(url).netloc.rpartition("@")[2], 200)
        try:
            async with make_client((url,), self._timeouts) as client:
                response = await client.get(url)
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise connection_error("agent", host, error) from None
        if response.status_code in _NONE_HERE:
            return None
        if not response.is_success:
            raise status_error("agent", host, response)
        value: dict[str, Any] = clean_value(
            parse_object("agent", host, response.content, response.headers.get("Content-Type", ""))
        )
        return value

    async def seed_text(self, text: str) -> None:
        """Raise `PeerError`: a chat endpoint has no knowledge service."""
        raise PeerError("knowledge", f"{self._chat.host} is a chat endpoint and takes no texts", status=404)

    async def seed_history(self, role: Role, content: str) -> bool:
        """Put a given message into the conversation that goes out with every message."""
        self._history.append({"role": role, "content": content})
        return True

    async def aclose(self) -> None:
        """Close every connection."""
        await self._chat.aclose()


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
    )


def _text(answer: ChatAnswer) -> str:
    """Return an answer's text. One that only calls tools has none, which is an answer nevertheless."""
    if answer.tool_calls and not answer.content.strip() and not answer.refusal:
        return ""
    if answer.refusal:
        # A model's refusal is what a user would read: it is for the judge to say what it is worth.
        return answer.refusal
    return text_of(answer, "agent")


def _event(call: ToolCall) -> dict[str, Any]:
    """Return a tool call in the shape in which agents report functions (protocol of the REST API)."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {"arguments": call.arguments}
    event: dict[str, Any] = clean_value(
        {"request": {"function": {"name": clean_line(call.name, 200)}, "arguments": arguments}}, 100_000
    )
    return event

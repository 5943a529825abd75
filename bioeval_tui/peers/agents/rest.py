"""An agent behind the REST API of embabel-agent-eval, with its streaming extension.

One `RestAgent` is one conversation with its own connections. It retries nothing: the conversation
decides that. Every failure is a `PeerError` that says what happened and what was received.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2

from bioeval_tui.base.credentials import PUBLISHED_KEY
from bioeval_tui.base.peer_limits import MAX_SESSION
from bioeval_tui.base.text import clean, clean_line, clean_value, compact_json
from bioeval_tui.peers.agents.connection import (
    EVENT_STREAM,
    NONE_HERE,
    Connection,
    host_of_url,
    is_stream,
    parse_message,
    parse_object,
    read_state,
    stream_of,
    told_history,
    words_of_error,
)
from bioeval_tui.peers.seams import AgentTerms, Delta, Generation, PeerError, Reply
from bioeval_tui.peers.sse import drain
from bioeval_tui.peers.timeouts import timeouts_of
from bioeval_tui.record.participants import Role


class RestAgent:
    """An `Agent` behind the REST API of embabel-agent-eval.

    The key is sent as `X-API-KEY` to the agent and its knowledge service, and nowhere else; without
    one, `treehorn` is sent, as the published client does. Text seeds go to the agent itself unless
    there is a `knowledge_url`.
    """

    def __init__(self, terms: AgentTerms) -> None:
        self._base = terms.url
        self._knowledge = terms.knowledge_url or terms.url
        self._user, self._chatbot, self._model = (
            terms.target.user,
            terms.target.chatbot,
            terms.model,
        )
        key = terms.key or ""
        self._streaming = terms.target.streaming
        self._connection = Connection(
            (self._base, self._knowledge),
            timeouts_of(terms.timeout_s),
            headers={"X-API-KEY": key or PUBLISHED_KEY, **terms.headers},
            secrets=(key, *terms.secrets),
        )
        self._session = ""
        self._graph_is_ready = False

    async def open(self) -> str:
        """Create a session and return its id. Raises `PeerError`."""
        body = {"user": self._user, "chatbot": self._chatbot}
        value = await self._connection.object(
            "PUT", below(self._base, "/api/v1/chat/sessions"), body
        )
        session = value.get("sessionId")
        if not isinstance(session, str) or not 0 < len(session) <= MAX_SESSION:
            fault = "whose sessionId is not text" if "sessionId" in value else "without a sessionId"
            raise PeerError(
                "agent",
                f"{host_of_url(self._base)} opened a session {fault}",
                received=clean_line(compact_json(value)),
                unusable=True,
            )
        self._session = session
        return clean_line(session, MAX_SESSION)

    async def send(self, content: str) -> AsyncGenerator[Delta | Generation | Reply, None]:
        """Send one message; yield pieces if the agent streams and, last, the `Reply`.

        Raises `PeerError`.

        Stopping early closes the connection.
        """
        body = {
            "sessionId": self._session,
            "message": {"content": content, "role": "user"},
            "model": self._model,
        }
        accept = f"{EVENT_STREAM}, application/json" if self._streaming else "application/json"
        url = below(self._base, "/api/v1/chat/messages")
        async with self._connection.asked("PUT", url, body, accept=accept) as response:
            started = response.extensions["exchange"].started
            if is_stream(response):
                async with aclosing(self._read_stream(response, started)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            data = await response.aread()
            ended = self._connection.arrivals.last()
            value = parse_object(
                "agent", host_of_url(url), data, response.headers.get("Content-Type", "")
            )
            content, generation = parse_message(host_of_url(url), value, self._session)
        yield Reply(
            content, started, ended, None, generation, history=told_history(value.get("history"))
        )

    async def observe(self) -> dict[str, Any] | None:
        """Return the session's object context; None if the agent has none. Raises `PeerError`."""
        url = below(self._base, f"/api/v1/chat/objectContexts/{quote(self._session, safe='')}")
        return await read_state(self._connection, url)

    async def seed_text(self, text: str) -> None:
        """Send a text to the knowledge service, for a graph named after the user.

        Raises `PeerError`.
        """
        if not self._graph_is_ready:
            graph = {
                "name": self._user,
                "description": f"What {self._user} told",
                "schemaName": "personal",
                "id": self._user,
            }
            await self._tell(below(self._knowledge, "/api/v1/graphs"), graph)
            self._graph_is_ready = True
        url = below(self._knowledge, f"/api/v1/graphs/{quote(self._user, safe='')}/documents")
        try:
            await self._tell(url, {"text": text})
        except PeerError as error:
            if error.status in NONE_HERE:
                message = (
                    f"{host_of_url(url)} does not accept texts: it answered {error.status} to"
                    " documents"
                )
                raise PeerError(
                    "knowledge", message, status=error.status, received=error.received
                ) from None
            raise

    async def seed_history(self, role: Role, content: str) -> bool:
        """Return False: the protocol cannot transmit a message without an answer."""
        return False

    async def aclose(self) -> None:
        """Close every connection. Closing twice is fine."""
        await self._connection.aclose()

    async def _tell(self, url: str, body: Mapping[str, Any]) -> None:
        """Send a request to the knowledge service and ignore the answer."""
        async with self._connection.asked("PUT", url, body, peer="knowledge") as response:
            await response.aread()

    async def _read_stream(
        self, response: httpx2.Response, started: float
    ) -> AsyncGenerator[Delta | Generation | Reply, None]:
        """Read server-sent events up to the one with the complete answer, which ends the stream."""
        host = host_of_url(self._base)
        first_token: float | None = None
        failed = ""
        events = stream_of(response)
        async for event in events:
            arrived = self._connection.arrivals.last()
            if event.event == "message":
                value = parse_object("agent", host, event)
                content, generation = parse_message(host, value, self._session)
                await drain(events)
                history = told_history(value.get("history"))
                yield Reply(content, started, arrived, first_token, generation, history=history)
                return
            if event.event not in ("delta", "event"):
                if event.event == "error":
                    failed = words_of_error(event)
                yield Generation(clean_value({"frame": event.event, "data": event.data}))
                continue
            value = parse_object("agent", host, event)
            if event.event == "event":
                yield Generation(clean_value(value))
            elif isinstance(text := value.get("content"), str) and text:
                first_token = first_token or arrived
                yield Delta(clean(text))
        what = "ended its stream before the complete answer"
        if failed:
            what += f", with the error: {failed}"
        raise response.extensions["exchange"].error(what)


@functools.lru_cache(maxsize=256)
def below(base: str, path: str) -> str:
    """Return the URL of a path below a base URL, keeping its query (some gateways require a token
    there).

    An invalid URL is returned with the path appended; sending reports it.
    """
    try:
        parts = urlsplit(base)
        return parts._replace(path=parts.path.rstrip("/") + path, fragment="").geturl()
    except ValueError:
        return base.rstrip("/") + path

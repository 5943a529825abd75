"""An agent behind the REST API of embabel-agent-eval, with its streaming extension.

One `RestAgent` is one conversation with connections of its own. It tries nothing twice: the conversation
decides that. Every failure is a `PeerError` that says what happened and what was received.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2

from bioeval_tui.errors import UsageError
from bioeval_tui.evaluate.agents.answers import parse_message, parse_object
from bioeval_tui.evaluate.agents.terms import AgentTerms
from bioeval_tui.evaluate.http.arrival import Arrivals
from bioeval_tui.evaluate.http.client import Timeouts, make_client, timeouts_of
from bioeval_tui.evaluate.http.credentials import PUBLISHED_KEY
from bioeval_tui.evaluate.http.failures import connection_error, status_error
from bioeval_tui.evaluate.seams import Delta, Generation, Peer, PeerError, Reply, Role
from bioeval_tui.text import clean, clean_line, clean_value, is_large

__all__ = ["RestAgent", "Timeouts", "make_agent"]

_EVENT_STREAM = "text/event-stream"
_NONE_HERE = frozenset({404, 405, 501})
TAIL_S = 1.0
"""How long the end of a stream is awaited after the answer, so that the connection can be used again."""


class RestAgent:
    """An `Agent` that is talked to over HTTP.

    `api_key` goes out as `X-API-KEY` to the agent and its knowledge service, and nowhere else; without one the
    published client's `treehorn` does. `knowledge_url` is where text seeds go (default: the agent itself).
    """

    def __init__(
        self,
        base_url: str,
        *,
        user: str,
        chatbot: str,
        model: str,
        api_key: str | None = None,
        knowledge_url: str | None = None,
        timeouts: Timeouts | None = None,
        streaming: bool = True,
    ) -> None:
        self._base = base_url
        self._knowledge = knowledge_url or base_url
        self._user = user
        self._chatbot = chatbot
        self._model = model
        if api_key and not (api_key.isascii() and api_key.isprintable()):
            raise UsageError(
                "the agent's API key (BIOEVAL_AGENT_API_KEY) has characters that a header cannot carry"
            )
        self._headers = {"X-API-KEY": api_key or PUBLISHED_KEY}
        self._timeouts = timeouts or Timeouts()
        self._streaming = streaming
        self._client: httpx2.AsyncClient | None = None
        self._arrivals = Arrivals()
        self._session = ""
        self._graph_is_ready = False

    async def open(self) -> str:
        """Create a session and return its id. Raises `PeerError`."""
        body = {"user": self._user, "chatbot": self._chatbot}
        value = await self._call("agent", "PUT", below(self._base, "/api/v1/chat/sessions"), body)
        session = value.get("sessionId")
        if not isinstance(session, str) or not 0 < len(session) <= 1000:
            raise PeerError(
                "agent",
                f"{_host(self._base)} opened a session without a sessionId",
                received=clean_line(str(value)),
                unusable=True,
            )
        self._session = session
        return clean_line(session, 200)

    async def send(self, content: str) -> AsyncGenerator[Delta | Generation | Reply, None]:
        """Send one message; yield pieces where the agent streams and, last, the `Reply`. Raises `PeerError`.

        Stopping early closes the connection.
        """
        body = {
            "sessionId": self._session,
            "message": {"content": content, "role": "user"},
            "model": self._model,
        }
        accept = f"{_EVENT_STREAM}, application/json" if self._streaming else "application/json"
        url = below(self._base, "/api/v1/chat/messages")
        async with self._asked("agent", "PUT", url, body, accept) as response:
            started = response.extensions["exchange"].started
            content_type = response.headers.get("Content-Type", "")
            if content_type.lower().startswith(_EVENT_STREAM):
                async with aclosing(self._read_stream(response, started)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            data = await response.aread()
            ended = self._arrivals.last()
            value = parse_object("agent", _host(url), data, content_type)
        message = parse_message(_host(url), value, self._session)
        yield Reply(message.content, started, ended, None, message.events)

    async def observe(self) -> dict[str, Any] | None:
        """Return the session's object context, None where the agent has none. Raises `PeerError`."""
        url = below(self._base, f"/api/v1/chat/objectContexts/{quote(self._session, safe='')}")
        try:
            value = await self._call("agent", "GET", url)
        except PeerError as error:
            if error.status in _NONE_HERE:
                return None
            raise
        # The event loop, and every other conversation's clock, must not wait for a large one.
        large = is_large(value)
        cleaned: dict[str, Any] = await asyncio.to_thread(clean_value, value) if large else clean_value(value)
        return cleaned

    async def seed_text(self, text: str) -> None:
        """Hand a text to the knowledge service, under a graph named after the user. Raises `PeerError`."""
        if not self._graph_is_ready:
            graph = {
                "name": self._user,
                "description": f"What {self._user} told",
                "schemaName": "personal",
                "id": self._user,
            }
            await self._call(
                "knowledge", "PUT", below(self._knowledge, "/api/v1/graphs"), graph, is_json=False
            )
            self._graph_is_ready = True
        url = below(self._knowledge, f"/api/v1/graphs/{quote(self._user, safe='')}/documents")
        try:
            await self._call("knowledge", "PUT", url, {"text": text}, is_json=False)
        except PeerError as error:
            if error.status in _NONE_HERE:
                message = f"{_host(url)} takes no texts: it answered {error.status} to documents"
                raise PeerError("knowledge", message, status=error.status, received=error.received) from None
            raise

    async def seed_history(self, role: Role, content: str) -> bool:
        """Return False: the protocol has no way to give a message without an answer."""
        return False

    async def aclose(self) -> None:
        """Close every connection. Closing twice is fine."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _call(
        self,
        peer: Peer,
        method: str,
        url: str,
        body: Mapping[str, Any] | None = None,
        *,
        is_json: bool = True,
    ) -> dict[str, Any]:
        """Make one call and return the JSON object that comes back ({} where none is expected)."""
        async with self._asked(peer, method, url, body, "application/json") as response:
            data = await response.aread()
        content_type = response.headers.get("Content-Type", "")
        return parse_object(peer, _host(url), data, content_type) if is_json else {}

    @asynccontextmanager
    async def _asked(
        self, peer: Peer, method: str, url: str, body: Mapping[str, Any] | None, accept: str
    ) -> AsyncIterator[httpx2.Response]:
        """Send a request; give its answer, unread. A status other than 2xx is raised."""
        if self._client is None:
            urls = (self._base, self._knowledge)
            self._client = make_client(urls, self._timeouts, headers=self._headers, arrivals=self._arrivals)
        try:
            headers = {"Accept": accept, "Content-Type": "application/json"}
            data = (
                None if body is None else json.dumps(body)
            )  # half a character, which UTF-8 cannot hold, as well
            async with self._client.stream(method, url, content=data, headers=headers) as response:
                if not response.is_success:
                    await response.aread()
                    raise status_error(peer, _host(url), response)
                yield response
        except PeerError as error:
            error.peer = peer  # the client is the agent's; its knowledge service may be another
            raise
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise connection_error(peer, _host(url), error) from None

    async def _read_stream(
        self, response: httpx2.Response, started: float
    ) -> AsyncGenerator[Delta | Generation | Reply, None]:
        """Read server-sent events up to the one that holds the whole answer; that one ends the stream."""
        host = _host(self._base)
        first_token: float | None = None
        events = aiter(httpx2.EventSource(response, max_event_size=None))
        async for event in events:
            arrived = self._arrivals.last()
            if event.event == "message":
                value = parse_object("agent", host, event.data)
                message = parse_message(host, value, self._session)
                await _drain(events)
                yield Reply(message.content, started, arrived, first_token, message.events)
                return
            value = parse_object("agent", host, event.data) if event.event in ("delta", "event") else {}
            if event.event == "delta" and isinstance(text := value.get("content"), str) and text:
                first_token = first_token or arrived
                yield Delta(clean(text))
            elif event.event == "event":
                yield Generation(clean_value(value))
        raise response.extensions["exchange"].error("ended its stream without the whole answer")


def make_agent(terms: AgentTerms) -> RestAgent:
    """Return an agent for one conversation."""
    target = terms.target
    return RestAgent(
        terms.url,
        user=target.user,
        chatbot=target.chatbot,
        model=terms.model,
        api_key=terms.key,
        knowledge_url=terms.knowledge_url,
        timeouts=timeouts_of(terms.timeout_s),
    )


def below(base: str, path: str) -> str:
    """Return the URL of a path below an address, whose query (some gateways want a token there) goes along.

    What is no URL is returned with the path behind it: sending says so.
    """
    try:
        parts = urlsplit(base)
        return parts._replace(path=parts.path.rstrip("/") + path, fragment="").geturl()
    except ValueError:
        return base.rstrip("/") + path


async def _drain(events: AsyncIterator[object]) -> None:
    """Read on to the end of a stream. What comes after the answer is in no latency; an end is not missed."""
    with contextlib.suppress(TimeoutError, PeerError):
        async with asyncio.timeout(TAIL_S):
            async for _ in events:
                pass


@functools.lru_cache(maxsize=256)
def _host(url: str) -> str:
    """Return `host:port` of a URL: no user, password or path."""
    try:
        parts = urlsplit(url)
        shown = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or ""
    except ValueError:
        shown = ""
    return clean_line(
        shown or url.partition("://")[2].partition("/")[0].rpartition("@")[2] or "the agent", 200
    )

"""HTTP to one agent, for one conversation: requests, their failures, answers that stream as
server-sent events, and the agent's state; all of it validated.

Nothing is retried here: the conversation decides that. Every failure is a `PeerError` that says
what happened and what was received, without the keys that went out.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx2

from bioeval_tui.base.credentials import sendable
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.hosts import host_of
from bioeval_tui.base.text import (
    ExcessiveJsonError,
    clean,
    clean_line,
    clean_value,
    is_html,
    is_large,
    objects,
    parse_json,
)
from bioeval_tui.peers.arrivals import Arrivals
from bioeval_tui.peers.failures import connection_error, received_text, status_error
from bioeval_tui.peers.http import make_client
from bioeval_tui.peers.seams import PeerError
from bioeval_tui.peers.sse import ServerSentEvent, read_events
from bioeval_tui.peers.timeouts import Timeouts
from bioeval_tui.record.participants import Peer, Role

NONE_HERE = frozenset({404, 405, 501})
"""The statuses of a server that does not know a call."""
SESSION = "{sessionId}"
"""The placeholder for the id of the session."""


class StateUrl:
    """Reads the object context of one conversation, without sending keys or the job's headers."""

    def __init__(self, url: str | None, timeouts: Timeouts) -> None:
        self._url = url
        self._timeouts = timeouts

    @property
    def names_session(self) -> bool:
        """Whether the URL contains the session's id, which the agent must then know."""
        return self._url is not None and SESSION in self._url

    async def read(self, session: str) -> dict[str, Any] | None:
        """Return the object context; None without one. Raises `PeerError`."""
        if self._url is None:
            return None
        url = fill_session(self._url, quote(session, safe=""))
        connection = Connection((url,), self._timeouts, headers={})
        try:
            return await read_state(connection, url)
        finally:
            await connection.aclose()


def fill_session(value: Any, session: str) -> Any:
    """Return a JSON-like value with `{sessionId}` replaced by the session's id in every text."""
    match value:
        case str():
            return value.replace(SESSION, session)
        case dict():
            return {key: fill_session(item, session) for key, item in value.items()}
        case list() | tuple():
            return [fill_session(item, session) for item in value]
        case _:
            return value


def parse_object(
    peer: Peer, host: str, answer: bytes | str | ServerSentEvent, content_type: str = ""
) -> dict[str, Any]:
    """Return the JSON object of a response, or of an event of a stream.

    Raises `PeerError`, not retryable, if it is not one.
    """
    data: bytes | str
    if isinstance(answer, ServerSentEvent):
        data, where = answer.data, f" in {answer.place}"
    else:
        data, where = answer, ""
    try:
        value = parse_json(data)
    except ExcessiveJsonError as error:
        raise PeerError(
            peer, f"{host} answered JSON {error}{where}", received=received_text(data)
        ) from None
    except ValueError:
        start = data[:200] if isinstance(data, str) else data[:200].decode("latin-1")
        what = "something that is not JSON" if data else "nothing"
        if "html" in content_type or is_html(start):
            what = "HTML"
        raise PeerError(
            peer,
            f"{host} answered {what} where JSON was expected{where}",
            received=received_text(data),
            unusable=True,
        ) from None
    if not isinstance(value, dict):
        raise PeerError(
            peer,
            f"{host} answered JSON that is not an object{where}",
            received=received_text(data),
            unusable=True,
        )
    return value


def _fault(name: str, value: Any, wanted: str) -> str:
    """Return what is wrong with a field that is not what it should be."""
    if value is None:
        return f"{name} is missing"
    return f"{name} is not {wanted}"


def parse_message(
    host: str, value: Mapping[str, Any], session: str
) -> tuple[str, tuple[Mapping[str, Any], ...]]:
    """Check the response to a message and return its content and events, cleaned.

    Raises `PeerError`.
    """

    def wrong(what: str) -> PeerError:
        shown = json.dumps(value, ensure_ascii=False, default=str)
        return PeerError(
            "agent", f"{host} answered a message wrongly: {what}", received=received_text(shown)
        )

    if "sessionId" not in value:
        raise wrong("sessionId is missing")
    if value["sessionId"] != session:
        raise wrong("sessionId belongs to another session")
    message = value.get("message")
    if not isinstance(message, dict):
        raise wrong(_fault("message", message, "an object"))
    content = message.get("content")
    if not isinstance(content, str):
        raise wrong(_fault("message.content", content, "text"))
    events = value.get("events") or []
    if not isinstance(events, list):
        raise wrong("events is not a list")
    kept = tuple(
        clean_value(event) if isinstance(event, dict) else {"event": clean_value(event)}
        for event in events
    )
    return clean(content), kept


def told_history(messages: Any) -> tuple[tuple[Role, str], ...]:
    """Return what the user and the agent say in a conversation as the agent repeats it; calls of
    tools are left out.
    """
    roles: dict[str, Role] = {"user": "user", "assistant": "assistant"}
    said = (
        (str(message.get("role")).lower(), _written(message.get("content")))
        for message in objects(messages)
    )
    return tuple((roles[role], text) for role, text in said if role in roles and text)


def _written(content: Any) -> str:
    """Return the text of a message: its content, or the texts of its parts."""
    if isinstance(content, str):
        return content
    texts = (part.get("text") for part in objects(content))
    return "".join(text for text in texts if isinstance(text, str))


EVENT_STREAM = "text/event-stream"
MAX_REQUEST = 20_000_000
"""Maximum number of bytes of a request: AG-UI repeats the whole conversation and state, which an
agent makes.
"""


class Connection:
    """Connections of one conversation to the hosts of `urls`, opened when first needed.

    `headers` are sent with every request; `secrets` are removed from error messages.
    """

    def __init__(
        self,
        urls: Sequence[str],
        timeouts: Timeouts,
        *,
        headers: Mapping[str, str],
        secrets: Sequence[str] = (),
        stateless: bool = False,
    ) -> None:
        """`stateless` as of `make_client`.

        Raises `UsageError` when a header's value has characters that no header may have.
        """
        for name, value in headers.items():
            sendable(f"the header {name}", value)
        self.arrivals = Arrivals()
        self._urls = tuple(urls)
        self._timeouts = timeouts
        self._headers = dict(headers)
        self._secrets = tuple(secret for secret in secrets if secret)
        self._stateless = stateless
        self._client: httpx2.AsyncClient | None = None
        self._of_accept: dict[str, httpx2.Headers] = {}

    async def object(
        self, method: str, url: str, body: Mapping[str, Any] | None = None, *, peer: Peer = "agent"
    ) -> dict[str, Any]:
        """Make one call and return the JSON object that comes back. Raises `PeerError`."""
        async with self.asked(method, url, body, peer=peer) as response:
            data = await response.aread()
        return parse_object(peer, host_of_url(url), data, response.headers.get("Content-Type", ""))

    @asynccontextmanager
    async def asked(
        self,
        method: str,
        url: str,
        body: Mapping[str, Any] | None,
        *,
        accept: str = "application/json",
        peer: Peer = "agent",
    ) -> AsyncIterator[httpx2.Response]:
        """Send a request and yield its answer, not yet read.

        Raises for a status other than 2xx and any other failure.
        """
        if self._client is None:
            self._client = make_client(
                self._urls,
                self._timeouts,
                headers=self._headers,
                arrivals=self.arrivals,
                secrets=self._secrets,
                stateless=self._stateless,
            )
        # As ASCII, because UTF-8 cannot encode a lone surrogate.
        data = None if body is None else json.dumps(body)
        if data is not None and len(data) > MAX_REQUEST:
            raise PeerError(
                peer,
                f"the next request to {host_of_url(url)} is larger than {MAX_REQUEST:,} bytes: its"
                " answers grew too much",
            )
        try:
            headers = self._headers_for(self._client, accept)
            request = httpx2.Request(method, _parsed(url), headers=headers, content=data)
            response = await self._client.send(request, stream=True)
            try:
                if not response.is_success:
                    await response.aread()
                    raise status_error(peer, host_of_url(url), response)
                yield response
            finally:
                await response.aclose()
        except PeerError as error:
            error.peer = peer  # the client is the agent's; its knowledge service may be another
            raise
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise connection_error(peer, host_of_url(url), error) from None

    def _headers_for(self, client: httpx2.AsyncClient, accept: str) -> httpx2.Headers:
        """Return the headers of requests with this `Accept`, which are put together once."""
        if accept not in self._of_accept:
            headers = client.headers.copy()
            headers.update({"Accept": accept, "Content-Type": "application/json"})
            self._of_accept[accept] = headers
        return self._of_accept[accept]

    async def aclose(self) -> None:
        """Close every connection. Closing twice is fine."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()


def is_stream(response: httpx2.Response) -> bool:
    """Return whether an answer comes as server-sent events."""
    return bool(response.headers.get("Content-Type", "").lower().startswith(EVENT_STREAM))


def stream_of(response: httpx2.Response) -> AsyncIterator[ServerSentEvent]:
    """Return the server-sent events of an answer."""
    return read_events(response.aiter_bytes())


def words_of_error(event: ServerSentEvent) -> str:
    """Return what an event of the name `error` says: the message in it, or its data as it is."""
    try:
        value = parse_json(event.data)
    except ValueError:
        return clean_line(event.data, 300)
    for key in ("error", "message"):
        if isinstance(value, dict):
            value = value.get(key) or value
    if isinstance(value, str):
        return clean_line(value, 300)
    return clean_line(event.data, 300)


@functools.lru_cache(maxsize=256)
def _parsed(url: str) -> httpx2.URL:
    """Return a URL that is parsed once, not for each message and each look at the state.

    Raises `httpx2.InvalidURL`.
    """
    return httpx2.URL(url)


@functools.lru_cache(maxsize=256)
def host_of_url(url: str) -> str:
    """Return `host:port` of a URL: no user, password or path."""
    try:
        return host_of(url, any_scheme=True)
    except UsageError:
        return clean_line(
            url.partition("://")[2].partition("/")[0].rpartition("@")[2] or "the agent", 200
        )


async def read_state(connection: Connection, url: str) -> dict[str, Any] | None:
    """Return the object context at `url`; None if the agent has none. Raises `PeerError`."""
    try:
        value = await connection.object("GET", url)
    except PeerError as error:
        if error.status in NONE_HERE:
            return None
        raise
    # The event loop, and every other conversation's clock, must not wait for a large one.
    cleaned: dict[str, Any]
    if is_large(value):
        cleaned = await asyncio.to_thread(clean_value, value)
    else:
        cleaned = clean_value(value)
    return cleaned

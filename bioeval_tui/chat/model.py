"""One request to an OpenAI-compatible chat endpoint, as a stream or whole, every failure a `PeerError`.

The only package that knows `openai`, which is imported with the first request (0.7 s).
Its own retries are off: whoever asks decides whether to ask again. A redirect is an error, because
following it would send a transcript to a host that nobody named.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bioeval_tui.chat.address import without_user
from bioeval_tui.chat.answer import AnswerReader, ChatAnswer
from bioeval_tui.chat.errors import Refused, as_peer_error, refused_options
from bioeval_tui.chat.limits import limited_client
from bioeval_tui.errors import UsageError
from bioeval_tui.protocols import Peer, PeerError
from bioeval_tui.text import clean_line

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What to ask. `schema` is a JSON Schema that the answer must follow, where the server knows how."""

    model: str
    messages: Sequence[Mapping[str, Any]]
    temperature: float | None = None
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ChatLimits:
    """Longest times in seconds: to connect, between two pieces, and for the whole answer."""

    connect_s: float = 10.0
    silence_s: float = 60.0
    whole_s: float = 120.0

    def within(self, whole_s: float) -> ChatLimits:
        """Return these limits for an answer that may take so long."""
        return ChatLimits(min(self.connect_s, whole_s), min(self.silence_s, whole_s), whole_s)


DEFAULT_LIMITS = ChatLimits()


class ChatModel:
    """A chat endpoint. Options that the server refuses are left out and the request is sent again."""

    def __init__(
        self,
        peer: Peer,
        *,
        api_key: str | None,
        base_url: str | None = None,
        limits: ChatLimits = DEFAULT_LIMITS,
    ) -> None:
        """`peer` is whose failures these are. Without `base_url` requests go to OpenAI."""
        self.peer = peer
        self.limits = limits
        self._key = api_key
        self._url = base_url or OPENAI_URL
        self.host = _host(self._url)
        if api_key and not (api_key.isascii() and api_key.isprintable()):
            raise UsageError(f"the API key for {self.host} has characters that a header cannot carry")
        self._client: AsyncOpenAI | None = None
        self._refused: dict[str, set[str]] = {}

    async def prepare(self) -> None:
        """Import and set up what the first request would otherwise wait for."""
        await self._open()

    async def stream(self, request: ChatRequest) -> AsyncIterator[str | ChatAnswer]:
        """Yield pieces of text as they arrive and, last, the whole answer. Raises `PeerError`."""
        started, response = await self._send(request, stream=True)
        reader = AnswerReader(self.peer, self.host, started)
        until = started + self.limits.whole_s
        try:
            if not _is_event_stream(response):
                body = await self._step(response.response.aread(), until)
                yield reader.whole_body(body)
                return
            chunks = aiter(response)
            while (chunk := await self._step(anext(chunks, None), until)) is not None:
                piece = reader.add(chunk)
                if piece:
                    yield piece
            yield reader.streamed()
        finally:
            await response.close()

    async def complete(self, request: ChatRequest) -> ChatAnswer:
        """Return the whole answer. Raises `PeerError`."""
        started, response = await self._send(request, stream=False)
        return AnswerReader(self.peer, self.host, started).whole(response)

    async def aclose(self) -> None:
        """Close every connection."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _send(self, request: ChatRequest, *, stream: bool) -> tuple[float, Any]:
        """Send until the server takes the options; return when the accepted request was sent, and its response."""
        client = await self._open()
        from openai import AsyncStream

        refused = self._refused.setdefault(request.model, set())
        while True:
            options = _options(request, refused, stream=stream)
            started = time.monotonic()
            try:
                # Not `chat.completions.create`: it walks through every message in search of keys to rename, and makes
                # typed objects of answers that may have any shape. That takes longer than all else here.
                call = client.post(
                    "/chat/completions",
                    cast_to=object,
                    body={
                        "model": request.model,
                        "messages": list(request.messages),
                        "stream": stream,
                        **options,
                    },
                    stream=stream,
                    stream_cls=AsyncStream[object],
                )
                return started, await self._step(call, started + self.limits.whole_s)
            except Refused as problem:
                newly = refused_options(problem, options) - refused
                if not newly:
                    raise problem.error from None
                refused |= newly

    async def _step(self, awaitable: Any, until: float) -> Any:
        """Await one step with what is left of the deadline."""
        try:
            async with asyncio.timeout(max(0.0, until - time.monotonic())):
                return await awaitable
        except TimeoutError:
            message = f"{self.host} did not finish its answer within {self.limits.whole_s:g} s"
            raise PeerError(self.peer, message, retryable=True) from None
        except PeerError:
            raise
        except Exception as problem:
            # Only the client's own code is awaited here. On an answer that it did not expect it raises what it
            # likes (OpenAIError, its HTTP stack's errors, ValueError, TypeError, AttributeError, …).
            raise as_peer_error(problem, self.peer, self.host, self._key) from None

    async def _open(self) -> AsyncOpenAI:
        if self._client is None:
            openai = await asyncio.to_thread(__import__, "openai")
        # Asked again: several first requests wait for the import together, and one client is enough.
        if self._client is None:
            url, user = without_user(self._url)
            self._client = openai.AsyncOpenAI(
                api_key=self._key or "none",
                base_url=url,
                max_retries=0,
                http_client=limited_client(openai, self.limits, self.peer, self._url),
                default_headers={"Accept-Encoding": "identity", **user},
            )
        return self._client


def _options(request: ChatRequest, refused: set[str], *, stream: bool) -> dict[str, Any]:
    """Return the optional parameters that the server has not refused so far."""
    options: dict[str, Any] = {}
    if request.temperature is not None and "temperature" not in refused:
        options["temperature"] = request.temperature
    if stream and "stream_options" not in refused:
        options["stream_options"] = {"include_usage": True}
    if request.schema is not None:
        if "json_schema" not in refused:
            schema = {"name": "answer", "strict": True, "schema": dict(request.schema)}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif "json_object" not in refused:
            options["response_format"] = {"type": "json_object"}
    return options


def _host(url: str) -> str:
    """Return `host:port` of a URL: no user, password or path. Raises `UsageError` when it is none."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        parts, port = urlsplit(""), ""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"not an http or https URL: {clean_line(url.rpartition('@')[2], 200)}")
    return clean_line(parts.hostname + port, 200)


def _is_event_stream(response: Any) -> bool:
    kind = str(response.response.headers.get("content-type", ""))
    return "json" not in kind and "html" not in kind

"""One request to an OpenAI-compatible chat endpoint, as a stream or whole, every failure a `PeerError`.

Nothing is tried again here, except without options that the server does not know: whoever asks decides that. A
redirect is an error, because following it would send a transcript to a host that nobody named.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bioeval_tui.errors import UsageError
from bioeval_tui.evaluate.http.arrival import Arrivals
from bioeval_tui.evaluate.http.exchange import Body, Deadline, Timeouts, asked, drain, keys_hidden
from bioeval_tui.evaluate.http.sse import EventParser
from bioeval_tui.evaluate.http.transport import make_client, proxy_for
from bioeval_tui.evaluate.models.answer import AnswerReader, ChatAnswer
from bioeval_tui.evaluate.models.errors import Refused, refusal, refused_options
from bioeval_tui.evaluate.models.template_process import Templates
from bioeval_tui.evaluate.seams import Peer
from bioeval_tui.text import clean_line

if TYPE_CHECKING:
    import aiohttp

OPENAI_URL = "https://api.openai.com/v1"
MODEL_TIMEOUTS = Timeouts(connect=10.0, first_byte=60.0, between=60.0, whole=120.0)
MAX_BYTES = 16_000_000
"""Most bytes of one answer; a streamed one carries some 200 bytes for each token."""
MOST_CONNECTIONS = 1000
MOST_SAID = 100_000
"""Most bytes read of what a refusal says."""
TAIL_S = 0.1
"""How long a stream's end is awaited after its last event: some servers leave the connection open."""
_LAST_EVENT = "[DONE]"


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What to ask. `schema` is a JSON Schema that the answer must follow, where the server knows how."""

    model: str
    messages: Sequence[Mapping[str, Any]]
    temperature: float | None = None
    schema: Mapping[str, Any] | None = None


class ChatModel:
    """A chat endpoint. Options that the server refuses are left out and the request is sent again."""

    def __init__(
        self,
        peer: Peer,
        *,
        api_key: str | None,
        base_url: str | None = None,
        timeouts: Timeouts = MODEL_TIMEOUTS,
        arrivals: Arrivals | None = None,
    ) -> None:
        """`peer` is whose failures these are. Without `base_url` requests go to OpenAI. Raises `UsageError`.

        `arrivals` times the answers by when their bytes came; for that they must come one after the other.
        """
        self.peer = peer
        self.timeouts = timeouts
        self._key = api_key
        self._url = (base_url or OPENAI_URL).rstrip("/") + "/chat/completions"
        self.host = _host(self._url)
        if api_key and not (api_key.isascii() and api_key.isprintable()):
            raise UsageError(f"the API key for {self.host} has characters that a header cannot carry")
        self.templates = Templates()
        """Renders the prompts that a job brings, for whoever asks this model."""
        self._proxy = proxy_for(self._url)
        self._arrivals = arrivals
        self._client: aiohttp.ClientSession | None = None
        self._refused: dict[str, set[str]] = {}

    async def stream(self, request: ChatRequest) -> AsyncGenerator[str | ChatAnswer, None]:
        """Yield pieces of text as they arrive and, last, the whole answer. Raises `PeerError`."""
        async with self._sent(request, stream=True) as (reader, body):
            if _is_event_stream(body):
                async with aclosing(_events(body)) as events:
                    async for data in events:
                        if piece := reader.add_event(data):
                            yield piece
                answer = reader.streamed()
            else:
                answer = reader.whole(await body.read())
        yield answer

    async def complete(self, request: ChatRequest) -> ChatAnswer:
        """Return the whole answer. Raises `PeerError`."""
        async with self._sent(request, stream=False) as (reader, body):
            return reader.whole(await body.read())

    async def aclose(self) -> None:
        """Close every connection, and end the process that rendered prompts."""
        await self.templates.aclose()
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    @asynccontextmanager
    async def _sent(self, request: ChatRequest, *, stream: bool) -> AsyncIterator[tuple[AnswerReader, Body]]:
        """Send until the server takes the options; give the accepted request's answer, unread."""
        refused = self._refused.setdefault(request.model, set())
        while True:
            options = _options(request, refused, stream=stream)
            body = {"model": request.model, "messages": list(request.messages), "stream": stream, **options}
            deadline = Deadline(self.peer, self.host, self.timeouts)
            accept = "text/event-stream, application/json" if stream else "application/json"
            with keys_hidden([self._key] if self._key else []):
                async with asked(
                    *(self._open(), self.peer, self.host, "POST", self._url, deadline, self.timeouts),
                    body=body,
                    secret={"Authorization": f"Bearer {self._key}"} if self._key else None,
                    accept=accept,
                    most=MAX_BYTES,
                ) as answer:
                    response = answer.response
                    if 200 <= response.status < 300:
                        clock = self._arrivals.last if self._arrivals else time.monotonic
                        yield AnswerReader(self.peer, self.host, deadline.started, clock), answer
                        return
                    said = await answer.start(MOST_SAID)
            problem = refusal(self.peer, self.host, response.status, response.headers, said, self._key)
            if not isinstance(problem, Refused):
                raise problem
            # Not only what is refused for the first time: others may have met the same refusal meanwhile.
            newly = refused_options(problem, options)
            if not newly:
                raise problem.error
            refused |= newly

    def _open(self) -> aiohttp.ClientSession:
        if self._client is None:
            self._client = make_client(
                (self._url,),
                self.timeouts.connect,
                {},
                self._arrivals,
                peer=self.peer,
                connections=MOST_CONNECTIONS,
                proxy=self._proxy,
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


async def _events(body: Body) -> AsyncGenerator[str, None]:
    """Yield the data of a stream's events, up to the one that says that it is done."""
    parser = EventParser()
    async with aclosing(body.chunks()) as chunks:
        async for chunk in chunks:
            for event in parser.feed(chunk):
                if event.data.startswith(_LAST_EVENT):
                    await drain(chunks, TAIL_S)
                    return
                yield event.data
    # Some servers leave out the empty line that ends the last event.
    for event in parser.feed(b"\n\n"):
        if not event.data.startswith(_LAST_EVENT):
            yield event.data


def _is_event_stream(body: Body) -> bool:
    kind = body.response.headers.get("Content-Type", "").lower()
    return "json" not in kind and "html" not in kind

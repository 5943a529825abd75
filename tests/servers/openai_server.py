"""A local OpenAI-compatible chat server with scripted answers, on 127.0.0.1, port 0.

    async with OpenAIServer() as server:
        server.will(status(429, retry_after="0"), say("Hello there"))
        client = ChatModel("agent", api_key="k", base_url=server.url)

Each request takes the next answer; when none is left, `server.otherwise` is asked with the
request's body.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Answer = Callable[["OpenAIServer", web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


@dataclass
class Received:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """Everything in its messages."""
        return "\n".join(str(message["content"]) for message in self.body["messages"])


@dataclass
class OpenAIServer:
    """The server.

    `received` are the requests so far; `closed_early` counts answers whose reader went away.
    """

    answers: deque[Answer] = field(default_factory=deque)
    otherwise: Callable[[dict[str, Any]], Answer] = lambda body: say("Hello.")
    received: list[Received] = field(default_factory=list)
    closed_early: int = 0
    left: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""
    models: list[str] | int = 404
    """What it lists as its models, or the status that it answers instead."""
    keys: list[str | None] = field(default_factory=list)
    """The keys of the requests for that list."""
    _runner: web.AppRunner | None = None

    def will(self, *answers: Answer) -> None:
        """Add answers, to be given one after another."""
        self.answers.extend(answers)

    async def __aenter__(self) -> OpenAIServer:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/responses", self._chat)
        app.router.add_get("/v1/models", self._list)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/v1"
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _list(self, request: web.Request) -> web.Response:
        self.keys.append(request.headers.get("Authorization"))
        if isinstance(self.models, int):
            return web.json_response({"error": {"message": "no"}}, status=self.models)
        data = [{"id": name, "object": "model"} for name in self.models]
        return web.json_response({"object": "list", "data": data})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.received.append(Received(request.path, dict(request.headers), body))
        answer = self.answers.popleft() if self.answers else self.otherwise(body)
        try:
            return await answer(self, request, body)
        except (asyncio.CancelledError, ConnectionError):
            self.closed_early += 1
            self.left.set()
            raise


def say(text: str, *, finish: str | None = "stop", **message: Any) -> Answer:
    """Answer with a text: word by word where streaming is asked for, else whole."""

    async def answer(
        server: OpenAIServer, request: web.Request, body: dict[str, Any]
    ) -> web.StreamResponse:
        if not body.get("stream"):
            return web.json_response(
                completion({"role": "assistant", "content": text, **message}, finish)
            )
        words = [part + " " for part in text.split(" ")]
        pieces = [{"content": word} for word in [*words[:-1], words[-1].rstrip()] if word]
        if message:
            pieces.append(message)
        return await stream(request, [chunk(piece) for piece in pieces], finish)

    return answer


def say_json(value: Any, **more: Any) -> Answer:
    """Answer with a JSON text."""
    return say(json.dumps(value), **more)


def refuse(reason: str) -> Answer:
    """Answer with a refusal, as models with structured output do."""
    return say("", refusal=reason)


def call_tool(
    name: str, arguments: dict[str, Any], *, text: str = "", call_id: str = "c1"
) -> Answer:
    """Answer with a tool call; its arguments come in two pieces when streamed."""
    encoded = json.dumps(arguments)

    async def answer(
        server: OpenAIServer, request: web.Request, body: dict[str, Any]
    ) -> web.StreamResponse:
        if not body.get("stream"):
            calls = [
                {
                    "id": call_id,
                    "type": "function",
                    "function": {"name": name, "arguments": encoded},
                }
            ]
            message = {"role": "assistant", "content": text or None, "tool_calls": calls}
            return web.json_response(completion(message, "tool_calls"))
        half = len(encoded) // 2
        first = {
            "index": 0,
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": encoded[:half]},
        }
        second = {"index": 0, "function": {"arguments": encoded[half:]}}
        pieces = [
            {"tool_calls": [first]},
            {"tool_calls": [second]},
            *([{"content": text}] if text else []),
        ]
        return await stream(
            request, [chunk(piece) for piece in pieces], "stop" if text else "tool_calls"
        )

    return answer


def status(
    code: int, message: str = "no", *, error: dict[str, Any] | None = None, retry_after: str = ""
) -> Answer:
    """Answer with an error status, in the provider's shape."""

    async def answer(
        server: OpenAIServer, request: web.Request, body: dict[str, Any]
    ) -> web.StreamResponse:
        headers = {"Retry-After": retry_after} if retry_after else {}
        content = {"error": {"message": message, "type": "error", **(error or {})}}
        return web.json_response(content, status=code, headers=headers)

    return answer


def refuse_option(option: str) -> Answer:
    """Answer 400, as servers do that do not know an option."""
    return status(400, f"Unsupported parameter: '{option}' is not supported with this model.")


def raw(text: str | bytes, content_type: str = "application/json", **headers: str) -> Answer:
    """Answer 200 with any body at all."""
    data = text.encode() if isinstance(text, str) else text

    async def answer(
        server: OpenAIServer, request: web.Request, body: dict[str, Any]
    ) -> web.StreamResponse:
        return web.Response(body=data, content_type=content_type, headers=headers)

    return answer


def in_pieces(data: bytes, content_type: str, size: int) -> Answer:
    """Answer 200 with these bytes, `size` at a time; all at once if it is 0."""

    async def answer(
        server: OpenAIServer, request: web.Request, body: dict[str, Any]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": content_type})
        await response.prepare(request)
        for at in range(0, len(data), size or len(data)):
            await response.write(data[at : at + (size or len(data))])
            await asyncio.sleep(0)  # else several pieces arrive as one
        await response.write_eof()
        return response

    return answer


def packed(text: str) -> Answer:
    """Answer with gzip, although it was asked not to."""
    return raw(gzip.compress(text.encode()), **{"Content-Encoding": "gzip"})


def redirect(where: str) -> Answer:
    """Answer with a redirect."""

    async def answer(
        server: OpenAIServer, request: web.Request, body: dict[str, Any]
    ) -> web.StreamResponse:
        return web.Response(status=307, headers={"Location": where})

    return answer


def breaks_off(text: str) -> Answer:
    """Begin a stream and close the connection in the middle."""

    async def answer(
        server: OpenAIServer, request: web.Request, body: dict[str, Any]
    ) -> web.StreamResponse:
        response = await _begin(request)
        await response.write(_event(chunk({"content": text})))
        assert request.transport is not None
        request.transport.close()
        return response

    return answer


def ends_without_finish(text: str) -> Answer:
    """Stream a text and end properly, but without a finish reason."""

    async def answer(
        server: OpenAIServer, request: web.Request, body: dict[str, Any]
    ) -> web.StreamResponse:
        response = await _begin(request)
        await response.write(_event(chunk({"content": text})))
        await response.write_eof()
        return response

    return answer


def hangs(*said: str) -> Answer:
    """Say something (or nothing), then nothing more until the reader goes away."""

    async def answer(
        server: OpenAIServer, request: web.Request, body: dict[str, Any]
    ) -> web.StreamResponse:
        if said:
            response = await _begin(request)
            for text in said:
                await response.write(_event(chunk({"content": text})))
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    return answer


def endless(block: bytes) -> Answer:
    """Send `block` again and again until the reader goes away."""

    async def answer(
        server: OpenAIServer, request: web.Request, body: dict[str, Any]
    ) -> web.StreamResponse:
        response = await _begin(request)
        while True:
            await response.write(block)
            await asyncio.sleep(0)

    return answer


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """Return one chunk of a stream."""
    return {
        "id": "x",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "stand-in",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def completion(message: dict[str, Any], finish: str | None = "stop") -> dict[str, Any]:
    """Return a whole chat completion."""
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "stand-in",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": USAGE,
    }


async def stream(
    request: web.Request, chunks: list[dict[str, Any]], finish: str | None
) -> web.StreamResponse:
    """Send chunks, the finish reason, the usage and the end mark."""
    response = await _begin(request)
    for piece in [*chunks, chunk({}, finish)]:
        await response.write(_event(piece))
    await response.write(_event({**chunk({}), "choices": [], "usage": USAGE}) + b"data: [DONE]\n\n")
    await response.write_eof()
    return response


async def _begin(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    return response


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"

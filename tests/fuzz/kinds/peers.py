"""Responses of agents and models over HTTP."""

from __future__ import annotations

import asyncio
import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from bioeval_tui.protocols import PeerError
from tests.fuzz.kinds.base import Kind
from tests.fuzz.mutate import bytes_of, to_json, tokens_of, trees_of
from tests.fuzz.watch import Watch

STAGES = ("session", "message", "stream", "context", "chat", "chat stream")
SESSION = "s1"
LONGEST_S = 20.0


def _response(
    body: bytes, kind: str = "application/json", status: str = "200 OK", more: str = ""
) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


MESSAGE = {
    "sessionId": SESSION,
    "chatbot": "b",
    "message": {"content": "Which time zone are you in?", "role": "assistant"},
    "history": [{"content": "hi", "role": "user"}],
    "events": [
        {"systemPrompt": "be kind"},
        {"request": {"function": {"name": "f"}, "arguments": {"a": 1}}},
        {"output": "ok"},
    ],
}
CONTEXT = {
    "context": "c",
    "resources": [
        {
            "id": "r",
            "name": "n",
            "labels": ["Drug", "DomainNode"],
            "aliases": ["a"],
            "properties": {"dose": 5},
        }
    ],
    "functions": [{"name": "f", "description": "d"}],
}
CHAT = {
    "id": "x", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."},
            "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
}  # fmt: skip
CHUNK = {
    "id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
    "choices": [{"index": 0, "delta": {"content": "Hello."}, "finish_reason": None}],
}  # fmt: skip
LAST = {
    **CHUNK,
    "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
    "usage": CHAT["usage"],
}


def _events(*events: tuple[str, Any]) -> bytes:
    return b"".join(
        (f"event: {kind}\n" if kind else "").encode() + b"data: " + to_json(value) + b"\n\n"
        for kind, value in events
    )


SSE = _events(("delta", {"content": "Which "}), ("event", {"output": "ok"}), ("message", MESSAGE))
CHAT_SSE = _events(("", CHUNK), ("", LAST)) + b"data: [DONE]\n\n"
BODIES = (
    to_json({"sessionId": SESSION}),
    to_json(MESSAGE),
    SSE,
    to_json(CONTEXT),
    to_json(CHAT),
    CHAT_SSE,
)
VALUES = ({"sessionId": SESSION}, MESSAGE, MESSAGE, CONTEXT, CHAT, CHUNK)


def _kind(stage: int) -> str:
    return "text/event-stream" if "stream" in STAGES[stage] else "application/json"


class Answers(Kind):
    """A case is a stage (its first byte) and the bytes that the server sends there; then it closes
    the connection.
    """

    def __init__(self, folder: Path, watch: Watch) -> None:
        super().__init__(folder, watch)
        self.loop = asyncio.new_event_loop()
        self.sent = b""
        self.stage = 0
        self.server = self.loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", 0)
        )
        self.port = self.server.sockets[0].getsockname()[1]
        watch.ports.add(self.port)
        # The first who asks starts `uname`, which no case may; Python remembers the answer.
        platform.uname().processor  # noqa: B018 (asked when it is read)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                (
                    int(line[15:])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length:")
                ),
                0,
            )
            await reader.readexactly(length)
            opening = b"/sessions " in head and STAGES[self.stage] != "session"
            writer.write(
                _response(to_json({"sessionId": SESSION}), more="Connection: close\r\n")
                if opening
                else self.sent
            )
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def cases(self) -> st.SearchStrategy[bytes]:
        tokens = tokens_of(
            "HTTP/1.1 200 OK\r\n", "\r\n\r\n", "Content-Length: -1\r\n",
            "Content-Length: 99999999999999999999\r\n", "Transfer-Encoding: chunked\r\n",
            "Content-Encoding: gzip\r\n", "Location: http://192.0.2.1/\r\n",
            "HTTP/1.1 302 Found\r\n", "HTTP/1.1 429 Slow\r\nRetry-After: 1e999\r\n",
            "HTTP/1.1 100 Continue\r\n\r\n", "Set-Cookie: a=b\r\n", "ffffffffffffffff\r\n",
            "data: ", "event: message\n", "data: [DONE]\n\n", "HTTP/9.9 999 \r\n",
            "Content-Type: text/html; charset=utf-99\r\n",
            "Content-Type: text/event-stream; charset=utf-16\r\n",
        )  # fmt: skip
        stages = [bytes([stage]) for stage in range(len(STAGES))]
        whole = [_response(body, _kind(stage)) for stage, body in enumerate(BODIES)]
        statuses = [
            "204 No",
            "301 Moved",
            "400 Bad",
            "401 No",
            "404 No",
            "408 T",
            "413 L",
            "429 M",
            "500 E",
            "503 U",
            "599 X",
        ]
        whole += [
            _response(
                b'{"error": {"message": "no"}}',
                status=status,
                more="Retry-After: Thu, 01 Jan 1970\r\n",
            )
            for status in statuses
        ]
        broken = st.tuples(st.sampled_from(stages), bytes_of(whole, tokens)).map(b"".join)

        def valued(stage: int) -> st.SearchStrategy[bytes]:
            def write(value: Any) -> bytes:
                body = to_json(value)
                if STAGES[stage] == "stream":
                    body = (
                        b"event: delta\ndata: "
                        + body
                        + b"\n\nevent: message\ndata: "
                        + body
                        + b"\n\n"
                    )
                elif STAGES[stage] == "chat stream":
                    body = b"data: " + body + b"\n\n" + CHAT_SSE
                return stages[stage] + _response(body, _kind(stage))

            return trees_of([VALUES[stage]], write)

        return broken | st.one_of([valued(stage) for stage in range(len(STAGES))])

    def always(self) -> Sequence[bytes]:
        found = [
            bytes([stage]) + _response(body, _kind(stage)) for stage, body in enumerate(BODIES)
        ]
        for stage in range(len(STAGES)):
            found += [
                bytes([stage]) + _response(body, _kind(stage))
                for body in (b"[" * 100_000, b'{"a":' * 50_000, b"\xff" * 1000, b"9" * 10_000)
            ]
            found.append(bytes([stage]) + _response(b"x" * 6_000_000, _kind(stage)))
            found.append(bytes([stage]) + b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n")
            found.append(bytes([stage]) + b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000 + b"\r\n")
        return found

    def prepare(self, case: bytes) -> None:
        self.stage, self.sent = (case[0] if case else 0) % len(STAGES), case[1:]

    def run(self, case: bytes) -> str:
        return self.loop.run_until_complete(asyncio.wait_for(self._run(), LONGEST_S))

    async def _run(self) -> str:
        try:
            await (self._chat() if STAGES[self.stage].startswith("chat") else self._rest())
        except PeerError as error:
            shown = str(error) + error.received
        else:
            return "answered"
        assert "\x1b" not in shown
        return "peer error"

    async def _rest(self) -> None:
        from tests.servers.agents import rest_agent

        agent = rest_agent(f"http://127.0.0.1:{self.port}", whole_s=4.0)
        try:
            await agent.open()
            if STAGES[self.stage] in ("message", "stream"):
                async for piece in agent.send("hello"):
                    json.dumps(getattr(piece, "content", ""))
            elif STAGES[self.stage] == "context":
                json.dumps(await agent.observe())
        finally:
            await agent.aclose()

    async def _chat(self) -> None:
        from bioeval_tui.peers.models.model import ChatModel, ChatRequest
        from bioeval_tui.peers.timeouts import Timeouts

        limits = Timeouts(2, 4)
        model = ChatModel(
            "judge", api_key="k", base_url=f"http://127.0.0.1:{self.port}/v1", timeouts=limits
        )
        request = ChatRequest("m", [{"role": "user", "content": "hi"}])
        try:
            if STAGES[self.stage] == "chat":
                await model.complete(request)
            else:
                async for _ in model.stream(request):
                    pass
        finally:
            await model.aclose()

    def close(self) -> None:
        self.server.close()
        self.loop.run_until_complete(self.server.wait_closed())
        self.loop.close()

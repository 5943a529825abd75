"""A small agent with the REST protocol and limited capacity, on 127.0.0.1, port 0.

async with RestAgentServer(at_once=2) as server:
    …  # server.url; server.refused counts 429s, server.messages counts answers
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass
class RestAgentServer:
    """Answers every message with the same words; 429 with Retry-After when asked by more than
    `at_once`.
    """

    at_once: int = 1000
    retry_after: str = "0"
    answer_s: float = 0.02
    refuses: bool = False
    """Refuse everything, whatever is going on."""
    messages: int = 0
    refused: int = 0
    most: int = 0
    sessions: int = 0
    url: str = ""
    received: list[dict[str, Any]] = field(default_factory=list)
    _going_on: int = 0
    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> RestAgentServer:
        app = web.Application()
        self.routes(app)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    def routes(self, app: web.Application) -> None:
        """Add what can be called; agents that can do more add to it."""
        app.router.add_put("/api/v1/chat/sessions", self._session)
        app.router.add_put("/api/v1/chat/messages", self._message)
        app.router.add_get("/api/v1/chat/objectContexts/{session}", self._context)

    async def __aexit__(self, *exc: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _session(self, request: web.Request) -> web.Response:
        self.sessions += 1
        return web.json_response({"sessionId": f"s{self.sessions}"})

    async def _message(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.received.append(body)
        if self.refuses or self._going_on >= self.at_once:
            self.refused += 1
            return web.Response(status=429, headers={"Retry-After": self.retry_after})
        self._going_on += 1
        self.most = max(self.most, self._going_on)
        try:
            await asyncio.sleep(self.answer_s)  # the peer's own time, not the test's
        finally:
            self._going_on -= 1
        self.messages += 1
        said = {"content": "I made a note of it.", "role": "assistant"}
        return web.json_response(
            {
                "sessionId": body["sessionId"],
                "chatbot": "b",
                "message": said,
                "history": [],
                "events": [],
            }
        )

    async def _context(self, request: web.Request) -> web.Response:
        return web.json_response({"context": "", "resources": [], "functions": []})

"""Sends an answer: as one JSON body, or as server-sent events word by word. Both are timed."""

from __future__ import annotations

import asyncio
import json
import re
import time
from typing import Any

from aiohttp import web

from bioeval_tui.sample.agent.chaos import DRIP_SLOWER, Trouble
from bioeval_tui.sample.agent.dialogue import Answer, ChatSession

_PIECES = re.compile(r"\s*\S+\s*?(?=\s|$)|\s+$")


def pieces_of(text: str) -> list[str]:
    """Split a text into words with the white space before them; joined, they give the text again."""
    return _PIECES.findall(text)


def body_of(session: ChatSession, answer: Answer) -> dict[str, Any]:
    """Return the whole response to a message."""
    return {
        "sessionId": session.id,
        "chatbot": session.chatbot,
        "message": {"content": answer.content, "role": "assistant"},
        "history": session.history,
        "events": list(answer.events),
    }


class Delivery:
    """Sends one answer and measures the time from the request's arrival to the last byte written to the socket."""

    def __init__(
        self, request: web.Request, session: ChatSession, received: float, received_at: float
    ) -> None:
        self._request = request
        self._session = session
        self._received = received
        self._received_at = received_at
        self._first_token: float | None = None

    async def send_json(self, answer: Answer, trouble: Trouble) -> web.StreamResponse:
        """Send the answer as JSON."""
        if trouble.kind == "reset":
            return self._reset()
        response = web.json_response(body_of(self._session, answer))
        await response.prepare(self._request)
        await response.write_eof()
        self._note(streamed=False)
        return response

    async def stream(self, answer: Answer, trouble: Trouble, tokens_per_second: float) -> web.StreamResponse:
        """Send the answer as events: the function calls, the words one by one, and finally the whole response."""
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
        )
        await response.prepare(self._request)
        for event in answer.events:
            await response.write(_event("event", event))
        pieces = pieces_of(answer.content)
        gap = 1 / tokens_per_second if tokens_per_second > 0 else 0.0
        gap *= DRIP_SLOWER if trouble.kind == "drip" else 1
        if not gap:
            pieces = [answer.content]
        start = time.monotonic()
        for number, piece in enumerate(pieces):
            if trouble.kind == "reset" and number == len(pieces) // 2:
                return self._reset()
            # Relative to the start, not to the previous piece, so that long sleeps do not add up.
            await asyncio.sleep(max(0.0, start + number * gap - time.monotonic()) if gap else 0)
            await response.write(_event("delta", {"content": piece}))
            self._first_token = self._first_token or time.monotonic()
        await response.write(_event("message", body_of(self._session, answer)))
        await response.write_eof()
        self._note(streamed=True)
        return response

    def _reset(self) -> web.StreamResponse:
        if self._request.transport:
            self._request.transport.abort()
        return web.Response(status=500)

    def _note(self, *, streamed: bool) -> None:
        ended = time.monotonic()
        first = self._first_token
        self._session.undelivered = None
        self._session.latencies.append(
            {
                "message": len(self._session.latencies) + 1,
                "latencyMs": (ended - self._received) * 1000,
                "firstTokenMs": (first - self._received) * 1000 if first else None,
                "streamed": streamed,
                "receivedMonotonic": self._received,
                "firstTokenMonotonic": first,
                "endedMonotonic": ended,
                "receivedAt": self._received_at,
            }
        )


def _event(kind: str, data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()

"""The sample agent's HTTP service: sessions, messages, object contexts, knowledge graphs,
documents, and its records as FHIR.

An answer is sent as one JSON body, or as server-sent events word by word. Both are timed.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from bioeval_tui.base.admission import BACKLOG, Admission, AdmissionLimits, serve_app
from bioeval_tui.base.errors import BioevalError, UnavailableError
from bioeval_tui.base.text import clean_line
from bioeval_tui.sample.agent.dialogue import (
    DRIP_SLOWER,
    INTRODUCTION,
    Answer,
    ChatSession,
    ChatSessions,
    Trouble,
)
from bioeval_tui.sample.agent.fhir import FhirEndpoint
from bioeval_tui.sample.agent.records import AgentGraph, GraphRecords, MemoryRecords, Records, learn
from bioeval_tui.sample.paths import GUESSING

_PIECES = re.compile(r"\s*\S+\s*?(?=\s|$)|\s+$")


def split_pieces(text: str) -> list[str]:
    """Split a text into words with the white space before them; joined, they give the text
    again.
    """
    return _PIECES.findall(text)


def whole_response(session: ChatSession, answer: Answer) -> dict[str, Any]:
    """Return the whole response to a message."""
    return {
        "sessionId": session.id,
        "chatbot": session.chatbot,
        "message": {"content": answer.content, "role": "assistant"},
        "history": session.history,
        "events": list(answer.events),
    }


class Delivery:
    """Sends one answer and measures the time from the request's arrival to the last byte written to
    the socket.
    """

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
        response = web.json_response(whole_response(self._session, answer))
        await response.prepare(self._request)
        await response.write_eof()
        self._note(streamed=False)
        return response

    async def stream(
        self, answer: Answer, trouble: Trouble, tokens_per_second: float
    ) -> web.StreamResponse:
        """Send the answer as events: the function calls, the words one by one, and finally the
        whole response.
        """
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
        )
        await response.prepare(self._request)
        for event in answer.events:
            await response.write(_event("event", event))
        pieces = split_pieces(answer.content)
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
        await response.write(_event("message", whole_response(self._session, answer)))
        await response.write_eof()
        self._note(streamed=True)
        return response

    def _reset(self) -> web.StreamResponse:
        if self._request.transport:
            self._request.transport.abort()
        return web.Response(status=500)

    def _note(self, *, streamed: bool) -> None:
        """Note that the answer has reached its client, and how long that took."""
        ended = time.monotonic()
        first = self._first_token
        self._session.undelivered = None  # the same message again would be a new one
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


NAME = "bioeval-tui sample agent (rule-based)"
TOKENS_PER_SECOND = 60.0
_MAX_BODY = 1_000_000
BODY_S = 30.0


class _Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class SampleAgentService:
    """The routes. `records` is where the agent stores its records."""

    def __init__(
        self,
        records: Records,
        *,
        chaos_seed: int | None,
        guesses: bool,
        tokens_per_second: float,
        clock: Callable[[], datetime],
        graph_id: str,
    ) -> None:
        self._graph_id = graph_id
        self._records = records
        self._sessions = ChatSessions(records, clock, chaos_seed, guesses=guesses)
        self._graphs: dict[str, str] = {}
        self._tokens_per_second = tokens_per_second
        self.admission: Admission | None = None

    def application(self) -> web.Application:
        """Return the aiohttp application."""
        app = web.Application(client_max_size=_MAX_BODY, middlewares=[_errors_as_json])
        app.add_routes(
            [
                web.get("/api/v1/about", self.describe),
                web.put("/api/v1/chat/sessions", self.open_session),
                web.put("/api/v1/chat/messages", self.message),
                web.get("/api/v1/chat/objectContexts/{session}", self.object_context),
                web.get("/api/v1/chat/latencies/{session}", self.latencies),
                web.put("/api/v1/graphs", self.put_graph),
                web.put("/api/v1/graphs/{graph}/documents", self.put_document),
                *FhirEndpoint(self._records).routes(),
            ]
        )
        return app

    async def describe(self, request: web.Request) -> web.Response:
        """GET about: who this is, and the id of its graph, so that a run can query the same
        graph.
        """
        return web.json_response(
            {"name": NAME, "description": INTRODUCTION, "graphId": self._graph_id}
        )

    async def open_session(self, request: web.Request) -> web.Response:
        """PUT sessions: `{user, chatbot}` → `{sessionId}`."""
        body = await self._json(request)
        session = await self._sessions.open(_text(body, "user"), _text(body, "chatbot"))
        return web.json_response({"sessionId": session.id})

    async def message(self, request: web.Request) -> web.StreamResponse:
        """PUT messages: answer with JSON, or stream if the client accepts events.

        Raises:
            _Refused: the request is answered with an error status.
        """
        body = await self._json(request)
        received, received_at = time.monotonic(), time.time()
        session = self._session(_text(body, "sessionId"))
        message = body.get("message")
        if not isinstance(message, dict):
            raise _Refused(400, "message: must be an object with `content` and `role`")
        async with session.lock:
            trouble = session.trouble()
            await asyncio.sleep(trouble.delay_s)
            if trouble.kind == "error":
                raise _Refused(500, "the sample agent fails on purpose (--chaos)")
            if trouble.kind == "overloaded":
                raise _Refused(503, "the sample agent is busy on purpose (--chaos)")
            guesses = body.get("model") == GUESSING
            answer = await session.answer(_text(message, "content"), guesses=guesses)
            delivery = Delivery(request, session, received, received_at)
            if "text/event-stream" in request.headers.get("Accept", ""):
                return await delivery.stream(answer, trouble, self._tokens_per_second)
            return await delivery.send_json(answer, trouble)

    async def object_context(self, request: web.Request) -> web.Response:
        """GET objectContexts: `{context, resources, functions}`."""
        session = self._session(request.match_info["session"])
        return web.json_response(await session.dialogue.object_context(session.id))

    async def latencies(self, request: web.Request) -> web.Response:
        """GET latencies: the agent's own measurements, one entry per delivered answer."""
        return web.json_response(self._session(request.match_info["session"]).latencies)

    async def put_graph(self, request: web.Request) -> web.Response:
        """PUT graphs: name a user's knowledge graph.

        Its id is the name of the user whose documents it contains.
        """
        body = await self._json(request)
        key = _text(body, "id")
        self._graphs[key] = str(body.get("name") or key)
        return web.Response(text=f"graph {key} is ready")

    async def put_document(self, request: web.Request) -> web.Response:
        """PUT documents: learn from a text.

        Raises:
            _Refused: the graph is unknown, or there is no text.
        """
        key = request.match_info["graph"]
        if key not in self._graphs:
            raise _Refused(404, f"graph {clean_line(key, 80)} is unknown: PUT it first")
        text = _text(await self._json(request), "text")
        learned = await learn(key, text, await self._records.knowledge(), self._records)
        return web.json_response({"learned": learned})

    async def _json(self, request: web.Request) -> dict[str, Any]:
        """Return the body. Clients that send a complete body keep their connection."""
        try:
            async with asyncio.timeout(BODY_S):
                body = await request.json()
        except TimeoutError:
            raise _Refused(408, f"the body did not arrive within {BODY_S:g} s") from None
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
            raise _Refused(400, "the body is not JSON") from None
        if not isinstance(body, dict):
            raise _Refused(400, "the body is not a JSON object")
        if self.admission is not None:
            self.admission.keep(request.transport)
        return body

    def _session(self, key: str) -> ChatSession:
        session = self._sessions.get(key)
        if session is None:
            raise _Refused(404, f"session {clean_line(key, 80)} is unknown")
        return session


@web.middleware
async def _errors_as_json(request: web.Request, handler: Any) -> web.StreamResponse:
    headers = {}
    try:
        response: web.StreamResponse = await handler(request)
        return response
    except _Refused as refused:
        status, reason = refused.status, str(refused)
    except web.HTTPException as error:
        status, reason = error.status, error.reason
    except UnavailableError as error:
        status, reason = 503, f"the knowledge graph is unavailable: {error}"
    except BioevalError as error:
        status, reason = 500, f"the knowledge graph returned an error: {error}"
    except ConnectionError:
        # The client has disconnected.
        return web.Response(status=499)
    if status == 503:
        headers["Retry-After"] = "1"
    return web.json_response({"error": reason}, status=status, headers=headers)


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise _Refused(400, f"{name}: must be text")
    return value


@dataclass(frozen=True, slots=True)
class RunningAgent:
    """A sample agent that listens. `url` serves the chat and the knowledge service alike."""

    url: str
    service: SampleAgentService


@asynccontextmanager
async def run_sample_agent(
    graph: AgentGraph | None = None,
    *,
    port: int = 0,
    chaos_seed: int | None = None,
    guesses: bool = False,
    tokens_per_second: float = TOKENS_PER_SECOND,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    graph_id: str = "",
) -> AsyncIterator[RunningAgent]:
    """Serve the sample agent on 127.0.0.1 while the block runs. Port 0 chooses a free one.

    It stores its records in `graph`, or in memory if that is None; the caller closes the graph.
    With `guesses`, it fills in what the user does not say: UTC for a time zone, 65 for old, a
    variant of the gene. `graph_id` is the graph's id under `/api/v1/about`. Raises `OSError` when
    the port is taken, and what the graph raises when it cannot be written.
    """
    records: Records = MemoryRecords() if graph is None else GraphRecords(graph)
    await records.knowledge()
    service = SampleAgentService(
        records, chaos_seed=chaos_seed, guesses=guesses, tokens_per_second=tokens_per_second,
        clock=clock, graph_id=graph_id,
    )  # fmt: skip
    listener = socket.create_server(("127.0.0.1", port), backlog=BACKLOG)
    # It must serve many conversations at once: only idle or incomplete connections are dropped.
    limits = AdmissionLimits(admitted=100_000)
    async with serve_app(service.application(), listener, __name__, limits) as service.admission:
        yield RunningAgent(f"http://127.0.0.1:{listener.getsockname()[1]}", service)

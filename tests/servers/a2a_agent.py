"""An agent behind the published A2A server (a2a-sdk): for tests, on 127.0.0.1, port 0.

    async with a2a_agent(script, binding="JSONRPC") as server:
        …  # server.url; server.asked are the requests' messages, server.headers their headers

`script` is called with each message's text and a `Teller`, and says with that what a real agent
says.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from a2a.helpers.proto_helpers import (
    new_data_part,
    new_message,
    new_task_from_user_message,
    new_text_message,
    new_text_part,
)
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes.agent_card_routes import create_agent_card_routes
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.routes.rest_routes import create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Message, Part
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send


class Teller:
    """What an agent can say in one turn."""

    def __init__(self, context: RequestContext, queue: EventQueue) -> None:
        self.context = context
        self._queue = queue
        self.updates = TaskUpdater(queue, context.task_id or "", context.context_id or "")
        self._begun = context.current_task is not None

    async def begin(self) -> None:
        """Make a task of the message."""
        if not self._begun:
            assert self.context.message is not None
            await self._queue.enqueue_event(new_task_from_user_message(self.context.message))
            self._begun = True
        await self.updates.start_work()

    async def say(self, text: str) -> None:
        """Answer with a message and no task."""
        assert not self._begun
        await self._queue.enqueue_event(new_text_message(text, context_id=self.context.context_id))

    async def tell(self, *parts: Part) -> None:
        """Say while working."""
        await self.updates.start_work(self.message(*parts))

    async def call(self, name: str, arguments: dict[str, Any], response: Any) -> None:
        """Tell of a tool call as Google's ADK does."""
        call = {"id": f"call-{name}", "name": name}
        await self.tell(adk_part({**call, "args": arguments}, "function_call"))
        await self.tell(adk_part({**call, "response": response}, "function_response"))

    async def artifact(self, *pieces: str, name: str = "answer") -> None:
        """Stream an artifact."""
        for number, piece in enumerate(pieces):
            await self.updates.add_artifact(
                [new_text_part(piece)],
                artifact_id=name,
                append=number > 0,
                last_chunk=number == len(pieces) - 1,
            )

    def message(self, *parts: Part) -> Message:
        return new_message(list(parts), self.context.context_id, self.context.task_id)

    def text(self, text: str) -> Message:
        return self.message(new_text_part(text))


def adk_part(data: dict[str, Any], kind: str) -> Part:
    """Return a data part as Google's ADK makes it."""
    part = new_data_part(data)
    part.metadata.update({"adk_type": kind})
    return part


Script = Callable[[str, Teller], Awaitable[None]]


@dataclass
class A2AServer:
    """A running server."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    """The ids of the tasks that the client cancelled."""


class _Executor(AgentExecutor):
    def __init__(self, script: Script, server: A2AServer) -> None:
        self._script = script
        self._server = server

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        self._server.asked.append(MessageToDict(context.message))
        await self._script(context.get_user_input(), Teller(context, event_queue))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self._server.cancelled.append(str(context.task_id))
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


@asynccontextmanager
async def a2a_agent(
    script: Script,
    *,
    bindings: tuple[str, ...] = ("JSONRPC",),
    streaming: bool = True,
    version: str = "1.0",
    change: Callable[[AgentCard], None] = lambda card: None,
) -> AsyncIterator[A2AServer]:
    """Serve an agent until the block ends; `change` may change its card before it is served.

    With `version` 0.3, the server speaks that, as the package has it for older clients.
    """
    server = A2AServer()
    async with serve_asgi(
        lambda url: _app(script, server, url, bindings, streaming, version, change)
    ) as url:
        server.url = url
        yield server


def _app(
    script: Script,
    server: A2AServer,
    url: str,
    bindings: tuple[str, ...],
    streaming: bool,
    version: str,
    change: Callable[[AgentCard], None],
) -> Any:
    places = {"JSONRPC": f"{url}/rpc", "HTTP+JSON": f"{url}/rest"}
    card = AgentCard(
        name="Test agent",
        description="Says what its script says.",
        version="1.0",
        supported_interfaces=[
            AgentInterface(url=places[name], protocol_binding=name, protocol_version=version)
            for name in bindings
        ],
        capabilities=AgentCapabilities(streaming=streaming),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="talk", name="Talk", description="It talks.", tags=["talk"])],
    )
    change(card)
    handler = DefaultRequestHandler(_Executor(script, server), InMemoryTaskStore(), card)
    app = Starlette(
        routes=[
            *create_agent_card_routes(card),
            *create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=version == "0.3"),
            *create_rest_routes(handler, path_prefix="/rest"),
        ]
    )

    async def noting(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            server.paths.append(scope["path"])
            server.headers.append(
                {name.decode(): value.decode() for name, value in scope["headers"]}
            )
        await app(scope, receive, send)

    return noting


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.listens.set()


@asynccontextmanager
async def serve_asgi(make: Callable[[str], Any]) -> AsyncIterator[str]:
    """Serve the ASGI application that `make` gives for a URL on 127.0.0.1, until the block ends."""
    logging.getLogger("a2a").setLevel(logging.CRITICAL)
    config = uvicorn.Config(
        lambda scope, receive, send: None, host="127.0.0.1", port=0, log_config=None,
        lifespan="off", ws="none",
        access_log=False, timeout_graceful_shutdown=1,
    )  # fmt: skip
    sock = config.bind_socket()
    url = f"http://127.0.0.1:{sock.getsockname()[1]}"
    config.app = make(url)
    server = _Server(config)
    # `serve` would take the signals of the tests
    running = asyncio.create_task(server._serve(sockets=[sock]))
    try:
        await server.listens.wait()
        yield url
    finally:
        server.should_exit = True
        await running
        sock.close()

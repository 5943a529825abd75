"""What a protocol costs a turn: an agent's message over each, beside the same request over plain
HTTP.

    uv run python benchmarks/protocols.py            # ten seconds or so

A server in a process of its own gives each protocol a canned answer of some twenty pieces (or one,
where it is asked not to stream). *Plain* sends the same bytes through the same client and reads the
answer, without looking into it. Turns of the two alternate; the difference of their medians is what
the protocol costs: reading frames, cleaning, putting the answer together. Processor time stands
beside it: on a busy machine it says more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import measure  # noqa: F401 (its environment and the load)
from aiohttp import web

from bioeval_tui import plugins
from bioeval_tui.jobs.models import TargetConfig
from bioeval_tui.peers.arrivals import Arrivals
from bioeval_tui.peers.http import make_client
from bioeval_tui.peers.seams import AgentTerms
from bioeval_tui.peers.timeouts import Timeouts

WORDS = [f"word{number} " for number in range(20)]
TEXT = "".join(WORDS)
CALL = {"request": {"function": {"name": "lookUp"}, "arguments": {"drug": "warfarin"}}}


def frames(kind: str) -> bytes:
    """Return a canned answer as server-sent events."""
    listed: list[tuple[str, Any]]
    if kind == "rest":
        whole = {
            "sessionId": "s1",
            "message": {"content": TEXT, "role": "assistant"},
            "events": [CALL, {"output": "ok"}],
        }
        listed = [*(("delta", {"content": word}) for word in WORDS), ("message", whole)]
    elif kind == "openai":
        listed = [("", {"choices": [{"index": 0, "delta": {"content": word}}]}) for word in WORDS]
        listed.append(("", {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))
    elif kind == "responses":
        output = [{"type": "message", "content": [{"type": "output_text", "text": TEXT}]}]
        listed = [("", {"type": "response.output_text.delta", "delta": word}) for word in WORDS]
        listed.append(("", {"type": "response.completed", "response": {"output": output}}))
    elif kind == "a2a":
        ids = {"taskId": "t", "contextId": "c"}
        updates: list[dict[str, Any]] = [
            {"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}
        ]
        for number, word in enumerate(WORDS):
            artifact = {"artifactId": "a", "parts": [{"text": word}]}
            updates.append({"artifactUpdate": {**ids, "artifact": artifact, "append": number > 0}})
        updates.append({"statusUpdate": {**ids, "status": {"state": "TASK_STATE_COMPLETED"}}})
        listed = [("", {"jsonrpc": "2.0", "id": "1", "result": update}) for update in updates]
    else:
        listed = [
            ("", {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": word})
            for word in WORDS
        ]
        listed.append(("", {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}))
    text = "".join(
        (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"
        for name, data in listed
    )
    return (text + ("data: [DONE]\n\n" if kind == "openai" else "")).encode()


PATHS = {
    "rest": ("PUT", "/api/v1/chat/messages"),
    "openai": ("POST", "/v1/chat/completions"),
    "responses": ("POST", "/v1/responses"),
    "a2a": ("POST", "/rpc"),
    "ag-ui": ("POST", "/ag-ui"),
}


async def serve() -> None:
    """Serve the canned answers until standard input ends."""
    app = web.Application()
    for kind, (method, path) in PATHS.items():
        body = frames(kind)

        async def answer(request: web.Request, body: bytes = body) -> web.Response:
            await request.read()
            return web.Response(body=body, content_type="text/event-stream")

        app.router.add_route(method, path, answer)
    app.router.add_put("/api/v1/chat/sessions", _session)
    app.router.add_get("/.well-known/agent-card.json", _card)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)


async def _session(request: web.Request) -> web.Response:
    return web.json_response({"sessionId": "s1"})


async def _card(request: web.Request) -> web.Response:
    interface = {
        "url": f"http://{request.host}/rpc",
        "protocolBinding": "JSONRPC",
        "protocolVersion": "1.0",
    }
    return web.json_response(
        {"supportedInterfaces": [interface], "capabilities": {"streaming": True}}
    )


@asynccontextmanager
async def opened(kind: str, url: str) -> AsyncIterator[Any]:
    """Give an agent of this kind with its session open."""
    name = "openai" if kind == "responses" else kind
    target = TargetConfig(
        user="u", chatbot="b", protocol=name, api="responses" if kind == "responses" else "chat"
    )
    protocol = plugins.agent_protocol(name)
    assert protocol is not None
    address = url + PATHS[kind][1] if kind == "ag-ui" else url
    agent = protocol.load()(
        AgentTerms(target=target, url=address, model="m", may_call=lambda url: True)
    )
    await agent.open()
    try:
        yield agent
    finally:
        await agent.aclose()


async def measured(kind: str, url: str, turns: int) -> list[float]:
    """Return the median milliseconds of a turn: the agent's and plain, by the clock; the same of
    processor time.
    """
    method, path = PATHS[kind]
    ours, plain = [], []

    def now() -> tuple[float, float]:
        return time.perf_counter(), time.process_time()

    async with (
        opened(kind, url) as agent,
        make_client((url,), Timeouts(), arrivals=Arrivals()) as client,
    ):
        for _ in range(turns):
            # a growing history is the conversation's cost, not the protocol's
            for field in (
                "_history",
                "_messages",
            ):
                kept = getattr(agent, field, None)
                if isinstance(kept, list):
                    kept.clear()
            began = now()
            async for _piece in agent.send("What interacts with warfarin?"):
                pass
            ours.append((began, now()))
            began = now()
            async with client.stream(
                method, url + path, content=b'{"message": "What interacts with warfarin?"}'
            ) as response:
                await response.aread()
            plain.append((began, now()))
    return [
        statistics.median((end[clock] - begin[clock]) * 1000 for begin, end in spans[5:])
        for clock in (0, 1)
        for spans in (ours, plain)
    ]


async def main(turns: int) -> None:
    """Measure each protocol, and print."""
    command = [sys.executable, __file__, "--serve"]
    server = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert server.stdout is not None
    assert server.stdin is not None
    url = (await server.stdout.readline()).decode().strip()
    try:
        for kind in PATHS:
            ours, plain, own_cpu, plain_cpu = await measured(kind, url, turns)
            print(
                f"{kind:10} {ours:.2f} ms a turn, plain {plain:.2f} ms: {ours - plain:+.2f} ms; "
                f"processor {own_cpu:.2f} and {plain_cpu:.2f} ms: {own_cpu - plain_cpu:+.2f} ms"
            )
    finally:
        server.stdin.close()
        await server.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    asyncio.run(serve() if options.serve else main(options.turns))

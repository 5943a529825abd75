"""The peers of `throughput.py`, answering at once: a chat server and a REST agent, in a process of its own.

    uv run python benchmarks/peer.py            # prints its address, serves until it is ended

`POST /v1/chat/completions` is evaluator, judge and (for programs that evaluate models, not agents) agent: a
request with `response_format` is answered by a verdict, any other by a sentence, as a stream where one is asked for.
`PUT /api/v1/chat/…` is the agent. `GET /requests` gives every request since it was last asked, so that a bare script
can send the same ones. Every sentence is another one, so that nobody can be said to repeat themselves.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import re
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

WORDS = re.findall(
    r"\w+",
    """plan idea step question reason way advice morning evening water garden kitchen window letter story picture
river mountain summer winter paper table chair bread apple music colour shadow silence answer problem habit walk
journey bridge corner street market village neighbour sister brother teacher cousin stranger weather thunder
candle basket blanket pillow mirror ladder hammer needle thread button pocket feather pebble meadow orchard""",
)
_pick = random.Random(7)
# Words that name nothing in particular, so that no guard takes them for inventions.
SENTENCES = [f"I wonder about {' and '.join(_pick.sample(WORDS, 7))}." for _ in range(5_000)]
ANSWER = (
    "Gladly: the evidence is good, the effect is moderate, and a pharmacist can say more about your own case."
)
VERDICT = {
    "tone": 1.0,
    "tasks": [
        {
            "task": 1,
            "scored": "Hear about the plan",
            "score": 1.0,
            "reason": "It answered.",
            "evidence": [ANSWER],
        }
    ],
}
_count = itertools.count()
_times: list[tuple[str, float, float]] = []
_seen: list[dict[str, Any]] = []


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    """Return one server-sent event of a chat answer."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    value = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(value).encode() + b"\n\n"


async def chat(request: web.Request) -> web.StreamResponse:
    """Answer as a model."""
    body = await request.json()
    text = json.dumps(VERDICT) if "response_format" in body else SENTENCES[next(_count) % len(SENTENCES)]
    if not body.get("stream"):
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return web.json_response(
            {
                "id": "c",
                "object": "chat.completion",
                "created": 1,
                "model": "m",
                "choices": [choice],
                "usage": usage,
            }
        )
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    await response.write(
        chunk({"role": "assistant", "content": text}) + chunk({}, "stop") + b"data: [DONE]\n\n"
    )
    await response.write_eof()
    return response


@web.middleware
async def note(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Keep what is asked, while anybody may still want it."""
    if len(_seen) < 200 and request.path != "/requests":
        body = await request.json() if request.can_read_body else None
        _seen.append({"method": request.method, "path": request.path, "body": body})
    began = time.monotonic()
    try:
        return await handler(request)
    finally:
        _times.append((request.path, began, time.monotonic()))


async def times(request: web.Request) -> web.Response:
    """Give when each request came and when its answer was made, in monotonic seconds, and forget it."""
    given = list(_times)
    _times.clear()
    return web.json_response(given)


async def requests(request: web.Request) -> web.Response:
    """Give what was asked since the last time, and forget it."""
    given = list(_seen)
    _seen.clear()
    return web.json_response(given)


async def session(request: web.Request) -> web.Response:
    """Open a session."""
    return web.json_response({"sessionId": f"s{next(_count)}"})


async def message(request: web.Request) -> web.Response:
    """Answer as the agent."""
    body = await request.json()
    answer = {"content": ANSWER, "role": "assistant", "sessionId": body["sessionId"]}
    return web.json_response({"message": answer, "events": [], "sessionId": body["sessionId"]})


async def state(request: web.Request) -> web.Response:
    """Show the agent's object context."""
    return web.json_response({"reminders": [{"what": "warfarin", "dose": 5}], "settled": True})


async def main() -> None:
    """Serve until standard input ends."""
    app = web.Application(middlewares=[note])
    app.router.add_post("/v1/chat/completions", chat)
    app.router.add_put("/api/v1/chat/sessions", session)
    app.router.add_put("/api/v1/chat/messages", message)
    app.router.add_get("/api/v1/chat/objectContexts/{id}", state)
    app.router.add_get("/requests", requests)
    app.router.add_get("/times", times)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())

"""The peers of `throughput.py`, answering at once: a chat server and a REST agent, in a process of
its own.

    uv run python benchmarks/peer.py            # prints its address, serves until it is ended

`POST /v1/chat/completions` is evaluator, judge and (for programs that evaluate models, not agents)
agent: a request with `response_format` that is not streamed is answered by a verdict, any other by
a sentence, as a stream where one is asked for. `PUT /api/v1/chat/…` is the agent. `GET /requests`
gives every request since it was last asked, so that a bare script can send the same ones. Every
sentence is another one, so that nobody can be said to repeat themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import re
import sys
import time
from typing import Any

WORDS = re.findall(
    r"\w+",
    """plan idea step question reason way advice morning evening water garden kitchen window
letter story picture river mountain summer winter paper table chair bread apple music
colour shadow silence answer problem habit walk journey bridge corner street market
village neighbour sister brother teacher cousin stranger weather thunder candle basket
blanket pillow mirror ladder hammer needle thread button pocket feather pebble meadow
orchard""",
)
_pick = random.Random(7)
# They bring up the task, and name nothing in particular, so that no guard takes them for
# inventions.
SENTENCES = [
    f"What is the plan about {' and '.join(_pick.sample(WORDS, 7))}?" for _ in range(5_000)
]
ANSWER = (
    "Gladly: the evidence is good, the effect is moderate, and a pharmacist can say more about your"
    " own case."
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
"""When each request came and when its answer was made, in monotonic seconds."""
_seen: list[dict[str, Any]] = []
MOST_SEEN = 1000


def sse(delta: dict[str, Any], finish: str | None = None) -> bytes:
    """Return one server-sent event of a chat answer."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    value = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
    }
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chat(body: dict[str, Any]) -> bytes:
    """Answer as a model."""
    judges = "response_format" in body and not body.get("stream")  # the evaluator streams
    text = json.dumps(VERDICT) if judges else SENTENCES[next(_count) % len(SENTENCES)]
    if body.get("stream"):
        events = sse({"role": "assistant", "content": text}) + sse({}, "stop") + b"data: [DONE]\n\n"
        return response(b"%x\r\n%b\r\n0\r\n\r\n" % (len(events), events), streams=True)
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return as_json(
        {
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }
    )


def message(body: dict[str, Any]) -> bytes:
    """Answer as the agent."""
    answer = {"content": ANSWER, "role": "assistant", "sessionId": body["sessionId"]}
    return as_json({"message": answer, "events": [], "sessionId": body["sessionId"]})


def answer(path: str, body: dict[str, Any]) -> bytes:
    """Return the response to a request."""
    match path.split("/")[1:]:
        case ["v1", "chat", "completions"]:
            return chat(body)
        case ["api", "v1", "chat", "sessions"]:
            return as_json({"sessionId": f"s{next(_count)}"})
        case ["api", "v1", "chat", "messages"]:
            return message(body)
        case ["api", "v1", "chat", "objectContexts", _]:
            return as_json({"reminders": [{"what": "warfarin", "dose": 5}], "settled": True})
        case ["times"]:
            return as_json(taken(_times))
        case ["requests"]:
            return as_json(taken(_seen))
    return response(b"not here", status="404 Not Found")


def taken(noted: list[Any]) -> list[Any]:
    """Return what was noted, and forget it."""
    given = list(noted)
    noted.clear()
    return given


def as_json(value: Any) -> bytes:
    """Return a response that holds a JSON value."""
    return response(json.dumps(value).encode())


def response(body: bytes, *, status: str = "200 OK", streams: bool = False) -> bytes:
    """Return a whole HTTP response."""
    kind = "text/event-stream" if streams else "application/json"
    length = "Transfer-Encoding: chunked" if streams else f"Content-Length: {len(body)}"
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{length}\r\n\r\n".encode() + body


class Connection(asyncio.Protocol):
    """One connection.

    No web framework stands here: what it takes would be counted with what is measured.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to listen."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._waiting = b""
        self._came = 0.0

    def data_received(self, data: bytes) -> None:
        """Answer each request as it is whole."""
        if not self._waiting:
            self._came = time.monotonic()
        self._waiting += data
        while (head_end := self._waiting.find(b"\r\n\r\n")) >= 0:
            head = self._waiting[:head_end].decode("latin-1")
            length = re.search(r"^content-length: *(\d+)", head, re.IGNORECASE | re.MULTILINE)
            end = head_end + 4 + int(length[1] if length else 0)
            if len(self._waiting) < end:
                return
            body, self._waiting = self._waiting[head_end + 4 : end], self._waiting[end:]
            self._answer(*head.split(" ", 2)[:2], json.loads(body) if body else {})

    def _answer(self, method: str, path: str, body: dict[str, Any]) -> None:
        made = answer(path, body)
        if path not in ("/times", "/requests"):
            if len(_seen) < MOST_SEEN:
                _seen.append({"method": method, "path": path, "body": body or None})
            _times.append((path, self._came, time.monotonic()))
        self._transport.write(made)


async def main() -> None:
    """Serve until standard input ends."""
    server = await asyncio.get_running_loop().create_server(
        Connection, "127.0.0.1", 0, backlog=1024
    )
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    with contextlib.closing(server):
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())

"""Every field of every protocol's answers, with a value of each other kind: each is read, or is the
peer's failure in one sentence.

Anything else would be a bug of this program over what a peer sent. What is read is recorded and
asserted on, too.
"""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiohttp import web

from bioeval_tui.base.peer_limits import MAX_EVENT_TEXT
from bioeval_tui.base.text import clean, clean_value
from bioeval_tui.evaluation.assertions import check_expression, check_tool_calls
from bioeval_tui.evaluation.conversation.attempts import stream_whole
from bioeval_tui.jobs.models import ToolCallsConfig
from bioeval_tui.peers.seams import AssertionView, Reply
from bioeval_tui.protocols import PeerError
from tests.servers.agents import agent_of, terms

HUGE = 10**400
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 2**70, HUGE, float("inf"), float("nan"), "", "x", "1", "\ud800", [],
    [None], [[0]], {}, {"a": 1},
    {"text": None}, [{"type": "text"}],
)  # fmt: skip
GONE = object()
USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
CALL = {
    "index": 0,
    "id": "c1",
    "type": "function",
    "function": {"name": "look_up", "arguments": '{"a": 1}'},
}
EVENTS = [
    {"request": {"function": {"name": "look_up"}, "arguments": {"a": 1}, "id": "1"}},
    {"output": {"found": 2}, "id": "1"},
]
CHAT = {
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"content": "Hello.", "tool_calls": [CALL]},
            "finish_reason": "stop",
        }
    ],
    "usage": USAGE,
}
CHUNKS = [
    {"model": "m", "choices": [{"index": 0, "delta": {"content": "Hello.", "tool_calls": [CALL]},
                "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": USAGE},
]  # fmt: skip
RESPONSE = {
    "model": "m", "status": "completed", "incomplete_details": {"reason": None},
    "output": [
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "mcp_call", "id": "m", "name": "look_up", "arguments": '{"a": 1}', "output": "x",
            "error": None},
        {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": '{"a": 1}'},
        {"type": "message", "content": [{"type": "output_text", "text": "Hello."},
                {"type": "refusal", "refusal": ""}]},
    ],
    "usage": {"input_tokens": 5, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 1}},
}  # fmt: skip
RESPONSE_EVENTS = [
    {"type": "response.created", "response": {"id": "x"}},
    {"type": "response.output_text.delta", "delta": "Hello."},
    {"type": "response.completed", "response": RESPONSE},
]
AG_UI = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
    {"type": "STATE_SNAPSHOT", "snapshot": {"a": [1]}},
    {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a/0", "value": {"b": 1}}]},
    {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "look_up",
        "parentMessageId": "m1"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '{"a": 1}'},
    {"type": "TOOL_CALL_END", "toolCallId": "c1"},
    {"type": "TOOL_CALL_RESULT", "messageId": "m2", "toolCallId": "c1", "content": "x",
        "role": "tool"},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m3", "delta": "hm"},
    {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "Hello."},
    {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
    {"type": "MESSAGES_SNAPSHOT",
        "messages": [{"id": "m1", "role": "assistant", "content": "Hello.", "toolCalls": []}]},
    {"type": "CUSTOM", "name": "n", "value": {"a": 1}},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": {"finishReason": "stop"},
        "outcome": {"type": "success"}},
]  # fmt: skip
CARD = {
    "name": "a", "version": "1", "protocolVersion": "1.0", "capabilities": {"streaming": False},
    "supportedInterfaces": [{"url": "HERE", "protocolBinding": "JSONRPC",
            "protocolVersion": "1.0"}],
    "securitySchemes": {"k": {"apiKeySecurityScheme": {"name": "X-Key", "location": "header"}}},
    "skills": [], "defaultInputModes": ["text"], "defaultOutputModes": ["text"],
}  # fmt: skip
PARTS = [
    {"text": "Hello."},
    {
        "data": {"name": "look_up", "args": {"a": 1}, "id": "1"},
        "metadata": {"adk_type": "function_call"},
    },
]
TASK = {
    "jsonrpc": "2.0", "id": "1",
    "result": {
        "task": {
            "id": "t", "contextId": "c",
            "status": {"state": "TASK_STATE_COMPLETED",
                "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": PARTS}},
            "artifacts": [{"artifactId": "a", "name": "n", "parts": PARTS, "metadata": {}}],
            "metadata": {},
        }
    },
}  # fmt: skip
STATE = {
    "context": "c",
    "resources": [{"id": "r", "name": "n", "labels": ["Drug"], "properties": {"dose": 5}}],
    "functions": [{"name": "f"}],
}
MESSAGE = {
    "sessionId": "s1",
    "message": {"content": "Hello.", "role": "assistant"},
    "events": EVENTS,
}
REST_EVENTS = [("delta", {"content": "Hel"}), ("event", EVENTS[0]), ("message", MESSAGE)]
EXPRESSIONS = (
    "objectContext.resources.any { it.labels.contains(\"Drug\") }",
    "(objectContext.resources.first().properties[\"dose\"] as Number).toDouble() * 2 > 3.5",
    "objectContext.resources.first().properties[\"dose\"] * 1000 > 3",
    "evaluation.functionCalls.any { it.name == \"look_up\" }",
)  # fmt: skip
ASKED = tuple(
    ToolCallsConfig.model_validate_json(json.dumps(asked))
    for asked in (
        {"mustCall": [{"name": "look_up", "arguments": {"a": 1}}]},
        {"mustCall": [{"name": "look_up", "where": 'call.arguments["a"] == 1'}], "noErrors": True},
        {"maxCalls": {"look_up": 1}},
    )
)


@dataclass(frozen=True)
class Protocol:
    """One way to answer: what is sent where, and how the value at `tree` is written."""

    name: str
    path: str
    tree: Any
    write: Callable[[Any], tuple[bytes, str]]
    fixed: dict[str, Any] = field(default_factory=dict)
    target: dict[str, Any] = field(default_factory=dict)


def as_json(tree: Any) -> tuple[bytes, str]:
    """Return a body in JSON."""
    return json.dumps(tree).encode(), "application/json"


def as_events(tree: Any) -> tuple[bytes, str]:
    """Return a body of unnamed events."""
    blocks = [b"data: " + json.dumps(event).encode() + b"\n\n" for event in _listed(tree)]
    return b"".join(blocks) + b"data: [DONE]\n\n", "text/event-stream"


def as_run(tree: Any) -> tuple[bytes, str]:
    """Return the events of AG-UI."""
    return (
        b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in _listed(tree)),
        "text/event-stream",
    )


def as_named(tree: Any) -> tuple[bytes, str]:
    """Return the events of REST."""
    blocks = [
        f"event: {name}\ndata: {json.dumps(data)}\n\n".encode("utf-8", "surrogatepass")
        for name, data in _named(tree)
    ]
    return b"".join(blocks), "text/event-stream"


def _named(tree: Any) -> list[tuple[Any, Any]]:
    pairs = [
        one if isinstance(one, list | tuple) and len(one) == 2 else ("message", one)
        for one in _listed(tree)
    ]
    return [(name, data) for name, data in pairs]


def _listed(tree: Any) -> list[Any]:
    return tree if isinstance(tree, list) else [tree]


PROTOCOLS = [
    Protocol("rest", "/api/v1/chat/messages", MESSAGE, as_json),
    Protocol("rest", "/api/v1/chat/messages", REST_EVENTS, as_named),
    Protocol("rest", "/api/v1/chat/sessions", {"sessionId": "s1"}, as_json),
    Protocol("rest", "/api/v1/chat/objectContexts/s1", STATE, as_json),
    Protocol("openai", "/v1/chat/completions", CHAT, as_json, target={"streaming": False}),
    Protocol("openai", "/v1/chat/completions", CHUNKS, as_events),
    Protocol("openai", "/v1/responses", RESPONSE, as_json,
        target={"api": "responses", "streaming": False}),
    Protocol("openai", "/v1/responses", RESPONSE_EVENTS, as_events, target={"api": "responses"}),
    Protocol("ag-ui", "/", AG_UI, as_run),
    Protocol("a2a", "/.well-known/agent-card.json", CARD, as_json, {"/": TASK}),
    Protocol("a2a", "/", TASK, as_json, {"/.well-known/agent-card.json": CARD}),
]  # fmt: skip
FIXED = {
    "/api/v1/chat/sessions": {"sessionId": "s1"},
    "/api/v1/chat/messages": MESSAGE,
    "/api/v1/chat/objectContexts/s1": STATE,
}


def places(tree: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value in a tree, the whole first."""
    waiting: list[tuple[Any, ...]] = [()]
    while waiting:
        path = waiting.pop()
        yield path
        item = tree
        for key in path:
            item = item[key]
        keys = (
            list(item)
            if isinstance(item, dict)
            else range(len(item))
            if isinstance(item, list | tuple)
            else ()
        )
        waiting += [(*path, key) for key in keys]


def few_values(number: int) -> tuple[Any, ...]:
    """Return a number that no double holds or nothing, and one of the other values, in turn."""
    return ((HUGE, GONE)[number % 2], ODD[number % len(ODD)])


def some_values(number: int) -> tuple[Any, ...]:
    """Return a number that no double holds, nothing, and a quarter of the other values, in turn."""
    return (HUGE, GONE, *ODD[number % 4 :: 4])


def with_value(tree: Any, path: Sequence[Any], value: Any) -> Any:
    """Return a copy of a tree with another value at a place, or without it."""
    if not path:
        return {} if value is GONE else value
    changed = json.loads(json.dumps(tree))
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    if value is GONE:
        del holder[path[-1]]
    else:
        holder[path[-1]] = copy.deepcopy(value)
    return changed


@dataclass
class Server:
    """Answers each path with the bytes of the moment."""

    url: str = ""
    answers: dict[str, tuple[bytes, str]] = field(default_factory=dict)


@asynccontextmanager
async def odd_server() -> AsyncIterator[Server]:
    """Serve an agent of every protocol on 127.0.0.1."""
    server = Server()

    async def answer(request: web.Request) -> web.Response:
        body, kind = server.answers.get(request.path, (b"{}", "application/json"))
        return web.Response(
            body=body.replace(b"HERE", server.url.encode()), headers={"Content-Type": kind}
        )

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}"
    try:
        yield server
    finally:
        await runner.cleanup()


async def converse(url: str, protocol: Protocol, whole_s: float = 0.5) -> str:
    """Open, say hello, look at the state; record and assert on what came.

    Return what became of it.
    """
    state = None if protocol.name == "rest" else f"{url}/api/v1/chat/objectContexts/s1"
    options = {"object_context_url": state, **protocol.target}
    given = {name: value for name, value in options.items() if value is not None}
    agent = agent_of(
        replace(terms(url, protocol.name, whole_s=whole_s, **given), may_call=lambda url: True)
    )
    try:
        await agent.open()
        reply = await stream_whole(agent.send("hello"), None)
        assert isinstance(reply, Reply)
        context = await agent.observe()
    except PeerError:
        return "peer"
    finally:
        await agent.aclose()
    events = [clean_value(dict(event), MAX_EVENT_TEXT) for event in reply.generation]
    json.dumps([clean(reply.content), events, context], allow_nan=False)
    said = [
        {"role": "user", "content": "hello", "events": []},
        {"role": "assistant", "content": reply.content, "events": events},
    ]
    evaluation = {"transcript": said, "functionCalls": [], "events": events, "failureCount": 0,
        "done": True, "model": "m",
                  "sessionId": "s1", "job": {"target": {"tellsToolCalls": True}}}  # fmt: skip
    view = AssertionView(context, evaluation)
    for text in EXPRESSIONS:
        check_expression(text, view)
    for asked in ASKED:
        check_tool_calls(asked, view)
    return "read"


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(few_values, marks=pytest.mark.part),
        pytest.param(some_values, marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize(
    "protocol", PROTOCOLS, ids=lambda one: f"{one.name} {one.path} {one.write.__name__}"
)
async def test_a_value_of_any_kind_in_any_field_is_read_or_the_peers_failure(
    protocol: Protocol, values: Callable[[int], tuple[Any, ...]]
) -> None:
    outcomes: dict[str, int] = {}
    async with odd_server() as server:
        fixed = {path: as_json(tree) for path, tree in {**FIXED, **protocol.fixed}.items()}
        server.answers = {**fixed, protocol.path: protocol.write(protocol.tree)}
        assert await converse(server.url, protocol, whole_s=60) == "read", "as it should be"
        for number, path in enumerate(places(protocol.tree)):
            for value in values(number):
                server.answers = {
                    **fixed,
                    protocol.path: protocol.write(with_value(protocol.tree, path, value)),
                }
                try:
                    outcome = await converse(server.url, protocol)
                except Exception as error:
                    raise AssertionError(
                        f"{path} = {value!r:.60}: {type(error).__name__}: {error}"
                    ) from error
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
    assert outcomes["peer"] > 0

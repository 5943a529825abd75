"""Any frame of an agent gives an answer or a `PeerError`, and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given, strategies as st

from bioeval_tui import plugins
from bioeval_tui.jobs.models import TargetConfig, ToolConfig
from bioeval_tui.protocols import Agent, AgentTerms, Delta, Generation, PeerError, Reply

THERE, ASKED = "http://127.0.0.1:9", "@@@"
"""Stand for the server's address, and for the id of its request."""

ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-3,
        3) | st.floats(allow_nan=False) | st.sampled_from(["", "x", "c1", "m1",
            "TASK_STATE_COMPLETED", "function_call"]),
    lambda inner: st.lists(inner,
        max_size=3) | st.dictionaries(st.sampled_from(["id", "text", "data", "name", "parts",
                "function", "content", "request", "output", "error"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def whole(value: Any) -> st.SearchStrategy[Any]:
    """Return strategies for a value of this shape, of which any part may be something else."""
    if isinstance(value, dict):
        return (
            st.fixed_dictionaries({}, optional={key: whole(item) for key, item in value.items()})
            | ODD
        )
    if isinstance(value, list):
        return st.lists(st.one_of(*(whole(item) for item in value)), max_size=3) | ODD
    return st.just(value) | ODD


PART = {
    "text": "Hi",
    "data": {"name": "look", "args": {"a": 1}, "id": "c1", "response": {"x": 1}},
    "metadata": {"adk_type": "function_call"},
    "raw": "eA==",
}
MESSAGE = {"messageId": "m", "contextId": "x", "role": "ROLE_AGENT", "parts": [PART]}
STATUS = {"state": "TASK_STATE_INPUT_REQUIRED", "message": MESSAGE}
ARTIFACT = {"artifactId": "a", "parts": [PART]}
FRAMES = st.one_of(
    whole({"message": MESSAGE}),
    whole({"task": {"id": "t", "contextId": "x", "status": STATUS, "artifacts": [ARTIFACT]}}),
    whole({"statusUpdate": {"taskId": "t", "contextId": "x", "status": STATUS}}),
    whole({"artifactUpdate": {"taskId": "t", "artifact": ARTIFACT, "append": True}}),
).filter(lambda frame: isinstance(frame, dict))
CARD = {
    "supportedInterfaces": [{"url": THERE, "protocolBinding": "JSONRPC", "protocolVersion": "1.0",
            "tenant": "t"}],
    "capabilities": {"streaming": True},
    "securitySchemes": {"k": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}},
}  # fmt: skip


@asynccontextmanager
async def serving(frames: list[str], card: Any = None) -> AsyncIterator[str]:
    """Serve an agent's card, and answer every request with these frames."""

    async def described(request: web.Request) -> web.Response:
        here = f"http://{request.host}/agent"
        return web.Response(
            text=json.dumps(card).replace(THERE, here), content_type="application/json"
        )

    async def answer(request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for frame in frames:
            data = frame.replace(ASKED, json.dumps(asked.get("id")))
            await response.write(f"data: {data}\n\n".encode())
        await response.write_eof()
        return response

    app = web.Application()
    app.router.add_get("/{tail:.*}", described)
    app.router.add_post("/{tail:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


def agent_of(protocol: str, url: str, **more: Any) -> Agent:
    # A task that never ends is asked for until the timeout.
    target = TargetConfig(user="u", chatbot="b", protocol=protocol, timeoutMs=500, **more)
    found = plugins.agent_protocol(protocol)
    assert found is not None
    agent: Agent = found.load()(
        AgentTerms(
            target=target, url=url, model="m", key="k",
            may_call=lambda other: other.startswith("http")
        )
    )  # fmt: skip
    return agent


async def held(agent: Agent) -> None:
    """Say two things: each has an answer, or the agent has failed."""
    with contextlib.suppress(PeerError):
        await agent.open()
        for words in ("one", "two"):
            with contextlib.suppress(PeerError):
                pieces = [piece async for piece in agent.send(words)]
                assert all(isinstance(piece, Delta | Generation) for piece in pieces[:-1])
                assert isinstance(pieces[-1], Reply)
                assert isinstance(pieces[-1].content, str)
    await agent.aclose()


@given(st.lists(FRAMES, max_size=3))
def test_any_a2a_frame_is_an_answer_or_the_agents_failure(frames: list[dict[str, Any]]) -> None:
    sent = [
        f'{{"jsonrpc": "2.0", "id": {ASKED}, "result": {json.dumps(frame)}}}' for frame in frames
    ]

    async def hold() -> None:
        async with serving(sent, CARD) as url:
            await held(agent_of("a2a", url))

    asyncio.run(hold())


@given(whole(CARD).filter(lambda card: isinstance(card, dict)))
def test_any_a2a_card_is_used_or_refused(card: dict[str, Any]) -> None:
    async def hold() -> None:
        async with serving([], card) as url:
            await held(agent_of("a2a", url))

    asyncio.run(hold())


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
EVENTS = st.one_of(
    *(
        whole({"type": kind, **fields})
        for kind, fields in {
            "TEXT_MESSAGE_START": {"messageId": "m1", "role": "assistant", "subagentRunId": "s"},
            "TEXT_MESSAGE_CONTENT": {"messageId": "m1", "delta": "Hi"},
            "TEXT_MESSAGE_END": {"messageId": "m1"},
            "TOOL_CALL_START": {"toolCallId": "c1", "toolCallName": "look"},
            "TOOL_CALL_ARGS": {"toolCallId": "c1", "delta": "{"},
            "TOOL_CALL_CHUNK": {"toolCallId": "c1", "toolCallName": "look", "delta": "{}"},
            "TOOL_CALL_RESULT": {"toolCallId": "c1", "content": [{"type": "text", "text": "x"}]},
            "STATE_SNAPSHOT": {"snapshot": {"a": 1}},
            "STATE_DELTA": {"delta": [{"op": "add", "path": "/a", "value": 1}]},
            "MESSAGES_SNAPSHOT": {"messages": [{"id": "a", "role": "assistant", "content": "Hi",
                        "toolCalls": [CALL]}, {"id": "b", "role": "tool", "toolCallId": "c1"}]},
            "REASONING_MESSAGE_CONTENT": {"messageId": "r", "delta": "Hm"},
            "RUN_ERROR": {"message": "no", "code": "E"},
            "RUN_FINISHED": {"outcome": {"type": "interrupt",
                    "interrupts": [{"id": "i", "message": "?"}]}, "usage": [{"inputTokens": 1}]},
        }.items()
    )
).filter(lambda event: isinstance(event, dict))  # fmt: skip


@given(st.lists(EVENTS, max_size=5), st.booleans())
def test_any_ag_ui_event_is_an_answer_or_the_agents_failure(
    events: list[dict[str, Any]], finishes: bool
) -> None:
    sent = [
        json.dumps(event) for event in [*events, *([{"type": "RUN_FINISHED"}] if finishes else [])]
    ]

    async def hold() -> None:
        async with serving(sent) as url:
            await held(agent_of("ag-ui", url, tools=(ToolConfig(name="look", answer="ok"),)))

    asyncio.run(hold())


def deep_text(levels: int) -> str:
    """Return JSON of so many levels, of which the second is `value`; what comes before is no part
    of its place.
    """
    return '{"a": [{"[": "\\"]"}, {}], "value": ' + "[" * (levels - 1) + "]" * (levels - 1) + "}"


async def answered(agent: Agent) -> None:
    async for _ in agent.send("one"):
        pass


DEEP = {
    "ag-ui": (['{"type": "RAW"}', "DEEP"], "value[0][0]", "event 2 of its stream"),
    "a2a": (
        ['{"jsonrpc": "2.0", "id": 1, "result": {"statusUpdate": {}}}', '{"result": DEEP}'],
        "result.value[0][0]",
        "event 2 of its stream",
    ),
    "openai": (
        ['{"choices": []}', '{"choices": DEEP}'],
        "choices.value[0][0]",
        "event 2 of its stream",
    ),
}


@pytest.mark.parametrize("levels", [65, 900, 100_000])
@pytest.mark.parametrize("protocol", DEEP)
async def test_json_nested_too_deep_in_an_event_is_named_by_its_field_and_event(
    protocol: str, levels: int
) -> None:
    frames, field, event = DEEP[protocol]
    sent = [frame.replace("DEEP", deep_text(levels)) for frame in frames]
    async with serving(sent, CARD) as url:
        agent = agent_of(protocol, url)
        await agent.open()
        with pytest.raises(PeerError, match="JSON nested deeper than 64 at ") as failed:
            await answered(agent)
        await agent.aclose()
    assert f"at {field}" in str(failed.value)
    assert f" in {event}" in str(failed.value)
    assert failed.value.peer == "agent"

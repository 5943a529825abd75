"""Any frame of an agent gives an answer or a `PeerError`, and nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from hypothesis import given, strategies as st

from bioeval_tui.bundled.a2a import agent as a2a
from bioeval_tui.bundled.ag_ui import agent as ag_ui
from bioeval_tui.evaluation.agents.connection import Connection
from bioeval_tui.evaluation.agents.terms import AgentTerms
from bioeval_tui.evaluation.job.models import TargetConfig, ToolConfig
from bioeval_tui.evaluation.seams import Delta, Generation, PeerError, Reply

ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.sampled_from(["", "x", "c1", "m1", "TASK_STATE_COMPLETED", "function_call"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "text", "data", "name", "parts", "function", "content", "request", "output", "error"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def whole(value: Any) -> st.SearchStrategy[Any]:
    """Return strategies for a value of this shape, of which any part may be something else."""
    if isinstance(value, dict):
        return st.fixed_dictionaries({}, optional={key: whole(item) for key, item in value.items()}) | ODD
    if isinstance(value, list):
        return st.lists(st.one_of(*(whole(item) for item in value)), max_size=3) | ODD
    return st.just(value) | ODD


PART = {"text": "Hi", "data": {"name": "look", "args": {"a": 1}, "id": "c1", "response": {"x": 1}}, "metadata": {"adk_type": "function_call"}, "raw": "eA=="}  # fmt: skip
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
    "supportedInterfaces": [{"url": "http://127.0.0.1:9", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "t"}],
    "capabilities": {"streaming": True},
    "securitySchemes": {"k": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}},
}  # fmt: skip


def terms(protocol: str, **more: Any) -> AgentTerms:
    target = TargetConfig(user="u", chatbot="b", protocol=protocol, **more)
    return AgentTerms(
        target=target,
        url="http://127.0.0.1:9",
        model="m",
        key="k",
        may_call=lambda url: url.startswith("http"),
    )


@given(st.lists(FRAMES, max_size=3))
def test_any_a2a_frame_is_an_answer_or_the_agents_failure(frames: list[dict[str, Any]]) -> None:
    agent, turn = a2a.A2AAgent(terms("a2a")), a2a._Turn("m1")
    for frame in frames:
        assert all(isinstance(piece, Delta | Generation) for piece in agent._take(frame, turn))
    try:
        agent._require_answer(turn)
    except PeerError:
        return
    assert isinstance(turn.text, str)


@given(whole(CARD).filter(lambda card: isinstance(card, dict)))
def test_any_a2a_card_is_used_or_refused(card: dict[str, Any]) -> None:
    agent = a2a.A2AAgent(terms("a2a"))
    try:
        found = agent._chosen(card, "host")
    except PeerError:
        found = None
    assert found is None or found.url.startswith("http")
    assert a2a._key_header(card) in (None, "X-Key", "x", "c1", "m1")


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
            "MESSAGES_SNAPSHOT": {"messages": [{"id": "a", "role": "assistant", "content": "Hi", "toolCalls": [CALL]}, {"id": "b", "role": "tool", "toolCallId": "c1"}]},
            "REASONING_MESSAGE_CONTENT": {"messageId": "r", "delta": "Hm"},
            "RUN_ERROR": {"message": "no", "code": "E"},
            "RUN_FINISHED": {"outcome": {"type": "interrupt", "interrupts": [{"id": "i", "message": "?"}]}, "usage": [{"inputTokens": 1}]},
        }.items()
    )
).filter(lambda event: isinstance(event, dict))  # fmt: skip


class _Response:
    """An answer of server-sent events, without a socket."""

    def __init__(self) -> None:
        self.headers = {"Content-Type": "text/event-stream"}
        self.extensions = {"exchange": type("Exchange", (), {"started": 0.0})}


@given(st.lists(EVENTS, max_size=5), st.booleans())
def test_any_ag_ui_event_is_an_answer_or_the_agents_failure(
    events: list[dict[str, Any]], finishes: bool
) -> None:
    sent = [json.dumps(event) for event in [*events, *([{"type": "RUN_FINISHED"}] if finishes else [])]]

    @asynccontextmanager
    async def asked(self: Connection, *given: Any, **named: Any) -> AsyncIterator[Any]:
        json.dumps(given)
        yield _Response()

    async def stream(response: Any) -> AsyncIterator[Any]:
        for data in sent:
            yield type("Event", (), {"data": data, "event": "message"})

    async def hold() -> None:
        agent = ag_ui.AGUIAgent(terms("ag-ui", tools=(ToolConfig(name="look", answer="ok"),)))
        for words in ("one", "two"):
            try:
                pieces = [piece async for piece in agent.send(words)]
            except PeerError:
                continue
            assert isinstance(pieces[-1], Reply)
        await agent.aclose()

    before = Connection.asked, ag_ui.stream_of
    Connection.asked, ag_ui.stream_of = asked, stream  # type: ignore[method-assign, assignment]
    try:
        asyncio.run(hold())
    finally:
        Connection.asked, ag_ui.stream_of = before  # type: ignore[method-assign]

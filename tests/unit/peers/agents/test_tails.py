"""What an agent does between two rounds of tool calls, behind the last event of a body, is its own
time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from bioeval_tui.jobs.models import ToolConfig
from bioeval_tui.peers import sse
from bioeval_tui.protocols import Reply
from tests.servers.agents import agent_of, terms

from .raw_server import raw_server, stream_head

ROUNDS = 3
TAIL_S = 0.05


def chat(number: int) -> list[Any]:
    delta: dict[str, Any] = {"content": "It is known."}
    if number < ROUNDS:
        function = {"name": "look", "arguments": "{}"}
        delta = {"tool_calls": [{"index": 0, "id": f"c{number}", "function": function}]}
    return [{"choices": [{"delta": delta, "finish_reason": "stop"}]}, "[DONE]"]


def responses(number: int) -> list[Any]:
    part = {"type": "output_text", "text": "It is known."}
    item: dict[str, Any] = {"type": "message", "role": "assistant", "content": [part]}
    if number < ROUNDS:
        item = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    done = {"id": "r", "object": "response", "status": "completed", "output": [item]}
    return [
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ]


def ag_ui(number: int) -> list[Any]:
    said: Sequence[Any] = [
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "It is known."}
    ]
    if number < ROUNDS:
        said = [
            {"type": "TOOL_CALL_START", "toolCallId": f"c{number}", "toolCallName": "look"},
            {"type": "TOOL_CALL_END", "toolCallId": f"c{number}"},
        ]
    return [{"type": "RUN_STARTED"}, *said, {"type": "RUN_FINISHED"}]


@pytest.mark.parametrize("longest_s", [TAIL_S / 2, 1.0], ids=["left open", "ended"])
@pytest.mark.parametrize(
    ("protocol", "target", "events"),
    [
        ("openai", {}, chat),
        ("openai", {"api": "responses"}, responses),
        ("ag-ui", {}, ag_ui),
    ],
    ids=["chat", "responses", "ag-ui"],
)
async def test_the_end_of_a_body_counts_if_another_request_follows(
    monkeypatch: pytest.MonkeyPatch, protocol: str, target: Any, events: Any, longest_s: float
) -> None:
    monkeypatch.setattr(sse, "TAIL_S", longest_s)

    async def handler(writer: asyncio.StreamWriter, number: int) -> None:
        told = (each if isinstance(each, str) else json.dumps(each) for each in events(number))
        writer.write(stream_head() + "".join(f"data: {each}\n\n" for each in told).encode())
        await writer.drain()
        await asyncio.sleep(TAIL_S)

    async with raw_server(handler) as seen:
        agent = agent_of(
            terms(seen.url, protocol, tools=(ToolConfig(name="look", answer="x"),), **target)
        )
        await agent.open()
        pieces = [piece async for piece in agent.send("Hi")]
        await agent.aclose()
    reply = pieces[-1]
    assert isinstance(reply, Reply)
    assert (reply.content, len(seen.requests)) == ("It is known.", ROUNDS)
    assert reply.latency_ms >= 1000 * min(TAIL_S, longest_s) * (ROUNDS - 1)

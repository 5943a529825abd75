"""Chat and Responses agents with the job's own tools, headers and body, over real HTTP."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import NotMeasuredError
from bioeval_tui.evaluation.conversation.attempts import require_usable
from bioeval_tui.http_agents import MAX_DEPTH, MAX_ROUNDS, NO_RESULT, clean
from bioeval_tui.jobs.models import ToolConfig
from bioeval_tui.protocols import Agent, Delta, Generation, PeerError, Reply
from bioeval_tui.record.tool_calls import transcript_calls
from tests.servers import openai_server as srv
from tests.servers.agents import chat_agent
from tests.servers.openai_server import OpenAIServer

LOOK = ToolConfig(
    name="look",
    description="Looks",
    parameters={"type": "object", "properties": {"drug": {"type": "string"}}},
    template="{{ drug }} is known",
)


async def say(agent: Agent, text: str = "Hi") -> tuple[list[Any], Reply]:
    pieces: list[Any] = [piece async for piece in agent.send(text)]
    assert isinstance(pieces[-1], Reply)
    assert list(pieces[-1].generation) == [
        piece.data for piece in pieces if isinstance(piece, Generation)
    ]
    return pieces[:-1], pieces[-1]


Connect = Callable[..., Agent]


@pytest.fixture
async def connect(server: OpenAIServer) -> Any:
    made: list[Agent] = []

    def make(*tools: ToolConfig, code: tuple[Path, ...] = (), **options: Any) -> Agent:
        made.append(chat_agent(server.url, tools=tools, code=code, **options))
        return made[-1]

    yield make
    for agent in made:
        await agent.aclose()


async def test_a_tool_is_offered_and_answered_until_the_agent_replies(
    server: OpenAIServer, connect: Connect
) -> None:
    server.will(
        srv.call_tool("look", {"drug": "warfarin"}, text="Let me see."), srv.say("It is known.")
    )
    agent = connect(LOOK)
    pieces, reply = await say(agent)
    assert reply.content == "Let me see.\n\nIt is known."
    assert "".join(piece.text for piece in pieces if isinstance(piece, Delta)) == reply.content
    assert list(reply.generation) == [
        {"request": {"function": {"name": "look"}, "arguments": {"drug": "warfarin"}, "id": "c1"}},
        {"output": "warfarin is known", "id": "c1"},
    ]
    assert (reply.tokens_in, reply.tokens_out) == (22, 14)
    assert reply.started < (reply.first_token or 0) <= reply.ended
    first, second = (asked.body for asked in server.received)
    function = {"name": "look", "description": "Looks", "parameters": LOOK.parameters}
    assert first["tools"] == [{"type": "function", "function": function}]
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "look", "arguments": '{"drug": "warfarin"}'},
    }
    assert second["messages"][1:] == [
        {"role": "assistant", "content": "Let me see.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "warfarin is known"},
    ]
    server.will(srv.say("Bye."))
    await say(agent, "Thanks")
    assert [message["role"] for message in server.received[-1].body["messages"]] == [
        "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip


FUNCTIONS = """
import asyncio
def doubled(arguments): return {"dose": arguments["dose"] * 2}
async def waited(arguments): return "waited"
def raises(arguments): raise LookupError("no such patient")
"""


@pytest.mark.parametrize(
    ("tool", "arguments", "event", "content"),
    [
        ({"answer": {"status": "created"}}, {}, {"output": '{"status": "created"}'},
            '{"status": "created"}'),
        ({"answer": "ok"}, {}, {"output": "ok"}, "ok"),
        ({"template": "{{ arguments | as_json }}"}, {"a": 1}, {"output": '{"a": 1}'}, '{"a": 1}'),
        ({"error": "away"}, {}, {"output": "away", "error": True}, "error: away"),
        ({"function": "my_test_tools:doubled"}, {"dose": 5}, {"output": '{"dose": 10}'},
            '{"dose": 10}'),
        ({"function": "my_test_tools:waited"}, {}, {"output": "waited"}, "waited"),
        ({"function": "my_test_tools:raises"}, {},
            {"output": "LookupError: no such patient", "error": True},
            "error: LookupError: no such patient"),
    ],
)  # fmt: skip
async def test_a_tool_gives_the_answer_in_the_job(
    server: OpenAIServer, connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    tool: dict[str, Any], arguments: dict[str, Any], event: dict[str, Any], content: str,
) -> None:  # fmt: skip
    (tmp_path / "my_test_tools.py").write_text(FUNCTIONS, encoding="utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))
    server.will(srv.call_tool("use", arguments), srv.say("So."))
    try:
        _, reply = await say(connect(ToolConfig(name="use", **tool), code=(tmp_path,)))
    finally:
        sys.modules.pop("my_test_tools", None)
    assert reply.generation[-1] == {**event, "id": "c1"}
    assert server.received[-1].body["messages"][-1]["content"] == content


async def test_an_error_in_a_tools_template_is_not_the_agents_failure(
    server: OpenAIServer, connect: Connect
) -> None:
    server.will(srv.call_tool("use", {}))
    agent = connect(ToolConfig(name="use", template="{{ nobody.knows }}"))
    with pytest.raises(
        NotMeasuredError, match="the template of the tool use: 'nobody' is undefined"
    ):
        await say(agent)


async def test_calling_an_unknown_tool_gets_an_error_as_its_result(
    server: OpenAIServer, connect: Connect
) -> None:
    server.will(srv.call_tool("nope", {}), srv.say("Sorry."))
    _, reply = await say(connect(LOOK))
    assert reply.content == "Sorry."
    assert (
        server.received[-1].body["messages"][-1]["content"]
        == "error: there is no tool nope; there are: look"
    )


async def test_a_retry_of_a_request_never_runs_the_jobs_tools_again(
    server: OpenAIServer, connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_test_counter.py").write_text(
        "ran = []\ndef count(arguments):\n    ran.append(arguments)\n    return f'run"
        " {len(ran)}'\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    try:
        agent = connect(ToolConfig(name="use", function="my_test_counter:count"), code=(tmp_path,))
        server.will(srv.call_tool("use", {"n": 1}, text="Let me see."), srv.status(500))
        with pytest.raises(PeerError):
            await say(agent)
        server.will(srv.say("Done."))
        pieces, reply = await say(agent)
        ran = sys.modules["my_test_counter"].ran
    finally:
        sys.modules.pop("my_test_counter", None)
    assert ran == [{"n": 1}]
    assert "".join(piece.text for piece in pieces if isinstance(piece, Delta)) == reply.content
    assert reply.content == "Let me see.\n\nDone."
    assert [event.get("output") for event in reply.generation] == [None, "run 1"]
    assert reply.started <= (reply.first_token or 0) <= reply.ended
    assert len(server.received) == 3
    server.will(srv.say("Bye."))
    await say(agent, "Thanks")
    assert [message["role"] for message in server.received[-1].body["messages"]] == [
        "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip


@pytest.mark.parametrize("written", ['{"drug": "warf', "[1]", '"warfarin"'])
@pytest.mark.parametrize("tools", [(LOOK,), ()], ids=["the job's tool", "an unknown tool"])
async def test_malformed_arguments_are_never_sent_back(
    server: OpenAIServer, connect: Connect, written: str, tools: tuple[ToolConfig, ...]
) -> None:
    called = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": written}}
    server.will(
        srv.say("", finish="tool_calls", tool_calls=[{"index": 0, **called}]), srv.say("Sorry.")
    )
    agent = connect(*tools)
    _, reply = await say(agent)
    if not tools:
        await say(agent, "And now?")
    _, assistant, result, *_ = server.received[1].body["messages"]
    assert assistant["tool_calls"] == [{**called, "function": {"name": "look", "arguments": "{}"}}]
    assert "not JSON" in result["content"] or "not a JSON object" in result["content"] or not tools
    if tools:
        (call,) = transcript_calls([{"role": "assistant", "events": reply.generation}])
        assert call.failed


@pytest.mark.parametrize("written", ["", "null", " null\n", "{}"])
async def test_a_call_without_arguments_is_an_ordinary_call(
    server: OpenAIServer, connect: Connect, written: str
) -> None:
    called = {"id": "c1", "type": "function", "function": {"name": "listAll", "arguments": written}}
    server.will(
        srv.say("", finish="tool_calls", tool_calls=[{"index": 0, **called}]), srv.say("None.")
    )
    _, reply = await say(connect(ToolConfig(name="listAll", template="nothing")))
    (call,) = transcript_calls([{"role": "assistant", "events": reply.generation}])
    assert (call.name, call.arguments, call.failed, call.result) == (
        "listAll",
        {},
        False,
        "nothing",
    )


async def test_an_agent_that_never_stops_calling_tools_is_stopped(
    server: OpenAIServer, connect: Connect
) -> None:
    server.otherwise = lambda body: srv.call_tool("look", {"drug": "x"})
    with pytest.raises(
        PeerError, match=f"called tools {MAX_ROUNDS} times without answering in text"
    ):
        await say(connect(LOOK))
    assert len(server.received) == MAX_ROUNDS


async def test_unanswered_tool_calls_stay_in_the_history_with_an_unknown_result(
    server: OpenAIServer, connect: Connect
) -> None:
    server.will(srv.call_tool("look", {"drug": "x"}), srv.say("Fine."))
    agent = connect()
    assert (await say(agent))[1].content == ""
    await say(agent, "And now?")
    assert "tools" not in server.received[0].body
    _, assistant, tool, _ = server.received[1].body["messages"]
    assert (assistant["content"], assistant["tool_calls"][0]["id"]) == ("", "c1")
    assert tool == {"role": "tool", "tool_call_id": "c1", "content": NO_RESULT}


async def test_the_jobs_own_headers_and_body_are_sent_with_the_session_id(
    server: OpenAIServer, connect: Connect
) -> None:
    agent = connect(
        headers={"authorization": "Bearer t0ken", "X-Session": "{sessionId}"},
        extra_body={"metadata": {"session": "{sessionId}"}, "top_k": 20},
        api_key="k",
        object_context_url="http://127.0.0.1:9/state/{sessionId}",
    )
    session = await agent.open()
    await say(agent)
    (asked,) = server.received
    sent = {name.lower(): value for name, value in asked.headers.items()}
    assert (sent["authorization"], sent["x-session"]) == ("Bearer t0ken", session)
    assert (asked.body["metadata"], asked.body["top_k"]) == ({"session": session}, 20)
    assert "user" not in asked.body, "the job says itself how the endpoint learns of the session"


async def test_a_job_can_turn_streaming_off(server: OpenAIServer, connect: Connect) -> None:
    server.will(srv.call_tool("look", {"drug": "x"}), srv.say("Known."))
    pieces, reply = await say(connect(LOOK, streaming=False))
    assert (reply.content, reply.first_token) == ("Known.", None)
    assert not any(isinstance(piece, Delta) for piece in pieces)
    assert [asked.body["stream"] for asked in server.received] == [False, False]


async def test_a_secret_header_is_in_no_failure(server: OpenAIServer, connect: Connect) -> None:
    server.will(srv.status(403, "the token t0ken-of-mine is not allowed"))
    agent = connect(headers={"X-Auth": "t0ken-of-mine"}, secrets=("t0ken-of-mine",))
    with pytest.raises(PeerError) as caught:
        await say(agent)
    assert "t0ken-of-mine" not in f"{caught.value} {caught.value.received}"


async def test_tool_calls_results_and_other_items_of_the_responses_api_are_recorded(
    server: OpenAIServer, connect: Connect
) -> None:
    items = [
        {"type": "reasoning", "id": "r1", "summary": []},
        {
            "type": "mcp_call",
            "id": "x1",
            "name": "search",
            "arguments": '{"q": 1}',
            "output": "found",
        },
        {"type": "mcp_call", "id": "x2", "name": "search", "arguments": "oops", "error": "away"},
        {"type": "function_call", "call_id": "c7", "name": "look", "arguments": '{"drug": "x"}'},
    ]
    last = [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Known."}],
        }
    ]
    server.will(
        *(
            srv.raw(json.dumps({"status": "completed", "output": output}))
            for output in (items, last)
        )
    )
    _, reply = await say(connect(LOOK, api="responses", streaming=False, system_prompt="Be kind."))
    assert reply.content == "Known."
    assert list(reply.generation) == [
        {"systemPrompt": "Be kind."},
        {"item": items[0]},
        {"request": {"function": {"name": "search"}, "arguments": {"q": 1}, "id": "x1"}},
        {"output": "found", "id": "x1"},
        {
            "request": {
                "function": {"name": "search"},
                "arguments": {"arguments": "oops"},
                "argumentsRead": False,
                "id": "x2",
            }
        },
        {"output": "away", "id": "x2", "error": True},
        {"request": {"function": {"name": "look"}, "arguments": {"drug": "x"}, "id": "c7"}},
        {"output": "x is known", "id": "c7"},
    ]
    first, second = (asked.body for asked in server.received)
    assert first["tools"] == [
        {"type": "function", "name": "look", "description": "Looks", "parameters": LOOK.parameters}
    ]
    assert second["input"][2:] == [
        {"type": "function_call", "call_id": "c7", "name": "look", "arguments": '{"drug": "x"}'},
        {"type": "function_call_output", "call_id": "c7", "output": "x is known"},
    ]


@pytest.mark.parametrize("levels", [600, 100_000])
async def test_arguments_nested_too_deep_are_kept_as_text(
    server: OpenAIServer, connect: Connect, levels: int
) -> None:
    nested = '{"a":' * levels + "1" + "}" * levels
    items = [
        {"type": "mcp_call", "id": "x1", "name": "search", "arguments": nested},
        {"type": "function_call", "call_id": "c7", "name": "look", "arguments": nested},
    ]
    server.will(srv.raw(json.dumps({"status": "completed", "output": items})))
    _, reply = await say(connect(api="responses", streaming=False))
    assert [event["request"]["arguments"] for event in reply.generation] == [
        {"arguments": clean(nested, 100_000)}
    ] * 2


@pytest.mark.parametrize("levels", [MAX_DEPTH - 2, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1])
async def test_arguments_as_deep_as_json_may_be_are_a_call_that_can_be_recorded(
    server: OpenAIServer, connect: Connect, levels: int
) -> None:
    nested = '{"a":' * (levels - 1) + "[]" + "}" * (levels - 1)
    item = {"type": "function_call", "call_id": "c7", "name": "look", "arguments": nested}
    server.will(srv.raw(json.dumps({"status": "completed", "output": [item]})))
    pieces, reply = await say(connect(api="responses", streaming=False))
    for piece in (*pieces, reply):
        require_usable(piece, "agent")
    (event,) = reply.generation
    assert event["request"].get("argumentsRead", True) is (levels <= MAX_DEPTH - 2)


async def test_an_answer_nested_too_deep_is_the_agents_failure(
    server: OpenAIServer, connect: Connect
) -> None:
    item: dict[str, Any] = {"type": "reasoning"}
    for _ in range(300):
        item = {"type": "reasoning", "summary": [item]}
    server.will(srv.raw(json.dumps({"status": "completed", "output": [item]})))
    with pytest.raises(PeerError, match="JSON nested deeper than 64") as failed:
        await say(connect(api="responses", streaming=False))
    assert failed.value.peer == "agent"

"""Agents that speak AG-UI 1.0, over real HTTP, with the types and the encoder of ag-ui-protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from ag_ui.core import events as ag
from ag_ui.core.types import RunAgentInput
from ag_ui.encoder import EventEncoder
from aiohttp import web
from pydantic import TypeAdapter, ValidationError

from bioeval_tui import plugins
from bioeval_tui.jobs.models import TargetConfig, ToolConfig
from bioeval_tui.peers.agents import connection
from bioeval_tui.protocols import Agent, AgentTerms, Delta, Generation, PeerError, Reply
from bioeval_tui.record.tool_calls import transcript_calls

Script = Callable[[RunAgentInput], Sequence[Any]]


@dataclass
class Server:
    """A running server: `asked` are the inputs that came, as the published package reads them."""

    url: str = ""
    asked: list[RunAgentInput] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@asynccontextmanager
async def ag_ui_agent(script: Script) -> AsyncIterator[Server]:
    """Serve an agent that answers each input with the events that `script` gives; a text is sent as
    it is.
    """
    server = Server()

    async def run(request: web.Request) -> web.StreamResponse:
        asked = RunAgentInput.model_validate(await request.json())
        server.asked.append(asked)
        server.headers.append({name.lower(): value for name, value in request.headers.items()})
        encoder = EventEncoder()
        response = web.StreamResponse(headers={"Content-Type": encoder.get_content_type()})
        await response.prepare(request)
        for event in script(asked):
            data = event if isinstance(event, str) else encoder.encode(event)
            await response.write(data.encode())
        await response.write_eof()
        return response

    app = web.Application()
    app.router.add_post("/agent", run)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}/agent"
    try:
        yield server
    finally:
        await runner.cleanup()


def whole(asked: RunAgentInput, *events: Any, **finished: Any) -> list[Any]:
    """Return a run of these events."""
    ids = {"thread_id": asked.thread_id, "run_id": asked.run_id}
    return [ag.RunStartedEvent(**ids), *events, ag.RunFinishedEvent(**ids, **finished)]


def text(*pieces: str, message: str = "m1", **start: Any) -> list[Any]:
    return [
        ag.TextMessageStartEvent(message_id=message, **start),
        *(ag.TextMessageContentEvent(message_id=message, delta=piece) for piece in pieces),
        ag.TextMessageEndEvent(message_id=message),
    ]


def call(name: str, *arguments: str, call_id: str = "c1") -> list[Any]:
    return [
        ag.ToolCallStartEvent(tool_call_id=call_id, tool_call_name=name),
        *(ag.ToolCallArgsEvent(tool_call_id=call_id, delta=piece) for piece in arguments),
        ag.ToolCallEndEvent(tool_call_id=call_id),
    ]


def result(content: str, call_id: str = "c1") -> Any:
    return ag.ToolCallResultEvent(message_id=f"r-{call_id}", tool_call_id=call_id, content=content)


def connect(url: str, key: str | None = None, **target: Any) -> Agent:
    config = TargetConfig(user="ada", chatbot="bot", protocol="ag-ui", **target)
    protocol = plugins.agent_protocol("ag-ui")
    assert protocol is not None
    agent: Agent = protocol.load()(
        AgentTerms(target=config, url=url, model="m", key=key, headers=config.headers)
    )
    return agent


async def say(agent: Agent, words: str) -> tuple[list[Any], Reply]:
    pieces: list[Any] = [piece async for piece in agent.send(words)]
    assert isinstance(pieces[-1], Reply)
    assert list(pieces[-1].generation) == [
        piece.data for piece in pieces if isinstance(piece, Generation)
    ]
    return pieces[:-1], pieces[-1]


def deltas(pieces: list[Any]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, Delta))


LOOKED_UP = {
    "request": {"function": {"name": "lookUp"}, "arguments": {"drug": "warfarin"}, "id": "c1"}
}


async def test_an_answer_streams_with_its_tool_calls_and_both_stay_in_the_history() -> None:
    def script(asked: RunAgentInput) -> list[Any]:
        return whole(
            asked,
            *call("lookUp", '{"drug": ', '"warfarin"}'),
            result("found"),
            *text("Aspirin ", "interacts."),
            usage=[ag.TokenUsage(input_tokens=11, output_tokens=7)],
        )

    async with ag_ui_agent(script) as server:
        agent = connect(server.url, key="k", system_prompt="Be kind.", headers={"X-Tenant": "t"})
        thread = await agent.open()
        pieces, reply = await say(agent, "Hello")
        await say(agent, "Again")
        await agent.aclose()
    assert reply.content == deltas(pieces) == "Aspirin interacts."
    assert list(reply.generation) == [
        {"systemPrompt": "Be kind."},
        LOOKED_UP,
        {"output": "found", "id": "c1"},
    ]
    assert (reply.tokens_in, reply.tokens_out) == (11, 7)
    assert reply.started < (reply.first_token or 0) <= reply.ended
    first, second = server.asked
    assert first.thread_id == second.thread_id == thread
    assert first.run_id != second.run_id
    assert [message.role for message in second.messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert second.messages[2].tool_calls[0].function.name == "lookUp"
    assert second.messages[3].tool_call_id == "c1"
    assert server.headers[0]["authorization"] == "Bearer k"
    assert server.headers[0]["x-tenant"] == "t"


@pytest.mark.parametrize(
    ("beside", "cut"),
    [
        ({}, False),
        ({"finishReason": "stop"}, False),
        ({"finishReason": "length"}, True),
        ({"metadata": {"finish_reason": "max_tokens"}}, True),
        (
            {"rawEvent": {"data": {"chunk": {"response_metadata": {"finish_reason": "length"}}}}},
            True,
        ),
    ],
)
async def test_an_answer_is_cut_off_if_the_framework_says_so_beside_the_protocol(
    beside: dict[str, Any], cut: bool
) -> None:
    def script(asked: RunAgentInput) -> list[Any]:
        *before, last = whole(asked, *text("I help, and"))
        told = json.loads(last.model_dump_json(by_alias=True, exclude_none=True)) | beside
        return [*before, f"data: {json.dumps(told)}\n\n"]

    async with ag_ui_agent(script) as server:
        agent = connect(server.url)
        await agent.open()
        _, reply = await say(agent, "Hello")
        await agent.aclose()
    assert reply.cut_off is cut


async def test_the_jobs_tools_are_offered_and_answered_until_the_agent_replies() -> None:
    def script(asked: RunAgentInput) -> list[Any]:
        tools = [message for message in asked.messages if message.role == "tool"]
        if tools:
            return whole(asked, *text(f"It says {tools[0].content}; {tools[1].error}."))
        return whole(
            asked,
            *text("Let me see."),
            *call("lookUp", '{"drug": "warfarin"}'),
            *call("fails", call_id="c2"),
        )

    tools = (
        ToolConfig(name="lookUp", description="Looks up", parameters={"type": "object"},
            template="{{ drug }} is known"),
        ToolConfig(name="fails", error="out of order"),
    )  # fmt: skip
    async with ag_ui_agent(script) as server:
        agent = connect(server.url, tools=tools)
        await agent.open()
        pieces, reply = await say(agent, "Hello")
        await agent.aclose()
    assert (
        reply.content == deltas(pieces) == "Let me see.\n\nIt says warfarin is known; out of order."
    )
    assert [tool.name for tool in server.asked[0].tools] == ["lookUp", "fails"]
    assert list(reply.generation) == [
        LOOKED_UP,
        {"request": {"function": {"name": "fails"}, "arguments": {}, "id": "c2"}},
        {"output": "warfarin is known", "id": "c1"},
        {"output": "out of order", "id": "c2", "error": True},
    ]


async def test_a_retry_of_a_request_never_runs_the_jobs_tools_again() -> None:
    def script(asked: RunAgentInput) -> list[Any]:
        if not any(message.role == "tool" for message in asked.messages):
            return whole(asked, *text("Let me see."), *call("lookUp", '{"drug": "warfarin"}'))
        if len(server.asked) == 2:
            return [ag.RunErrorEvent(message="busy")]
        return whole(asked, *text("Done.", message="m2"))

    tool = ToolConfig(name="lookUp", template="{{ drug }} is known")
    async with ag_ui_agent(script) as server:
        agent = connect(server.url, tools=(tool,))
        await agent.open()
        with pytest.raises(PeerError, match="busy"):
            await say(agent, "Hello")
        pieces, reply = await say(agent, "Hello")
        await say(agent, "Again")
        await agent.aclose()
    assert reply.content == deltas(pieces) == "Let me see.\n\nDone."
    assert list(reply.generation) == [LOOKED_UP, {"output": "warfarin is known", "id": "c1"}]
    assert reply.started <= (reply.first_token or 0) <= reply.ended
    roles = ["user", "assistant", "tool", "assistant", "user"]
    assert [[message.role for message in asked.messages] for asked in server.asked] == [
        roles[:1], roles[:3], roles[:3], roles,
    ]  # fmt: skip


async def test_the_state_is_sent_back_as_the_agent_left_it() -> None:
    def script(asked: RunAgentInput) -> list[Any]:
        return whole(
            asked,
            ag.StateSnapshotEvent(snapshot={"todo": ["a"], "n": 1}),
            ag.StateDeltaEvent(delta=[{"op": "add", "path": "/todo/-", "value": "b"},
                    {"op": "replace", "path": "/n", "value": 2}]),
            ag.StateDeltaEvent(delta=[{"op": "remove", "path": "/nowhere"}]),
            *text("Noted."),
        )  # fmt: skip

    async with ag_ui_agent(script) as server:
        agent = connect(server.url)
        await agent.open()
        _, reply = await say(agent, "Hello")
        await say(agent, "Again")
        await agent.aclose()
    assert server.asked[1].state == {"todo": ["a", "b"], "n": 2}
    assert [event["type"] for event in reply.generation] == [
        "STATE_SNAPSHOT",
        "STATE_DELTA",
        "STATE_DELTA",
    ]
    assert "does not match the state" in reply.generation[2]["error"]


async def test_reasoning_and_activity_are_kept_apart_from_the_answer() -> None:
    def script(asked: RunAgentInput) -> list[Any]:
        return whole(
            asked,
            ag.ReasoningMessageStartEvent(message_id="r1", role="reasoning"),
            ag.ReasoningMessageContentEvent(message_id="r1", delta="Hm"),
            ag.ReasoningMessageContentEvent(message_id="r1", delta="…"),
            ag.ReasoningMessageEndEvent(message_id="r1"),
            *text("to itself", message="s1", subagent_run_id="helper"),
            ag.StepStartedEvent(step_name="answer"),
            'data: {"type": "BRAND_NEW", "x": 1}\n\n',
            *text("Yes.", message="m1"),
            *text("Or no.", message="m2"),
        )

    async with ag_ui_agent(script) as server:
        agent = connect(server.url)
        await agent.open()
        pieces, reply = await say(agent, "Hello")
        await agent.aclose()
    assert reply.content == deltas(pieces) == "Yes.\n\nOr no."
    assert list(reply.generation) == [
        {"reasoning": "Hm…"},
        {"subagent": "helper", "message": "to itself"},
        {"type": "STEP_STARTED", "stepName": "answer"},
        {"type": "BRAND_NEW", "x": 1},
    ]


async def test_chunks_and_a_snapshot_give_the_same_conversation() -> None:
    def chunks(asked: RunAgentInput) -> list[Any]:
        if any(message.id == "a2" for message in asked.messages):
            return whole(asked, *text("No more."))
        if len(asked.messages) > 1:
            listed = [*(message.model_dump(by_alias=True) for message in asked.messages), *SNAPSHOT]
            return whole(asked, ag.MessagesSnapshotEvent(messages=listed))
        return whole(
            asked,
            ag.ToolCallChunkEvent(tool_call_id="c1", tool_call_name="lookUp", delta='{"drug": '),
            ag.ToolCallChunkEvent(delta='"warfarin"}'),
            ag.TextMessageChunkEvent(message_id="m1", delta="One "),
            ag.TextMessageChunkEvent(delta="two."),
        )

    async with ag_ui_agent(chunks) as server:
        agent = connect(server.url)
        await agent.open()
        _, first = await say(agent, "Hello")
        _, second = await say(agent, "Again")
        await say(agent, "Third")
        await agent.aclose()
    assert (first.content, list(first.generation)) == ("One two.", [LOOKED_UP])
    assert second.content == "From the snapshot."
    assert [list(event) for event in second.generation] == [["request"], ["output", "id"]]
    assert [message.id for message in server.asked[2].messages][-4:-1] == ["a1", "t1", "a2"]


SNAPSHOT = [
    {"id": "a1", "role": "assistant",
        "toolCalls": [{"id": "c9", "type": "function",
                "function": {"name": "look", "arguments": "{}"}}]},
    {"id": "t1", "role": "tool", "toolCallId": "c9", "content": "seen"},
    {"id": "a2", "role": "assistant", "content": "From the snapshot."},
]  # fmt: skip


async def test_arguments_that_are_only_in_the_snapshot_belong_to_their_calls() -> None:
    def script(asked: RunAgentInput) -> list[Any]:
        function = {"name": "lookUp", "arguments": '{"drug": "warfarin"}'}
        made = {"id": "c1", "type": "function", "function": function}
        listed = [
            *(message.model_dump(by_alias=True) for message in asked.messages),
            {"id": "a1", "role": "assistant", "toolCalls": [made]},
            {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "found"},
        ]
        called = [*call("lookUp"), result("found"), *call("other", "{}", call_id="c2")]
        return whole(asked, *called, *text("Fine."), ag.MessagesSnapshotEvent(messages=listed))

    async with ag_ui_agent(script) as server:
        agent = connect(server.url)
        await agent.open()
        *_, reply = [piece async for piece in agent.send("Hello")]
        await agent.aclose()
    assert isinstance(reply, Reply)
    assert list(reply.generation)[:2] == [LOOKED_UP, {"output": "found", "id": "c1"}]
    assert reply.generation[2]["request"]["arguments"] == {}


async def test_malformed_arguments_of_a_call_are_a_failed_call_and_never_sent_back() -> None:
    def script(asked: RunAgentInput) -> list[Any]:
        if len(asked.messages) > 1:
            return whole(asked, *text("So."))
        return whole(asked, *call("lookUp", '{"drug": "warf'), result("found"), *text("Fine."))

    async with ag_ui_agent(script) as server:
        agent = connect(server.url)
        await agent.open()
        _, reply = await say(agent, "Hello")
        await say(agent, "Again")
        await agent.aclose()
    (told,) = transcript_calls([{"role": "assistant", "events": reply.generation}])
    assert (told.arguments, told.result, told.failed) == ('{"drug": "warf', "found", True)
    assert server.asked[1].messages[1].tool_calls[0].function.arguments == "{}"


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "RUN_FINISHED"},
        {
            "type": "RUN_FINISHED",
            "runId": "r",
            "finishReason": "stop",
            "usage": {"promptTokens": 3},
        },
        {"type": "TOOL_CALL_RESULT", "toolCallId": "c1", "content": {"found": True}},
        {
            "type": "MESSAGES_SNAPSHOT",
            "messages": [{"role": "assistant", "content": "Aspirin interacts."}],
        },
        {"type": "STATE_DELTA", "delta": [{"op": "increase", "path": "/doses"}]},
        {"type": "BRAND_NEW", "value": 1},
    ],
    ids=lambda odd: f"{odd['type']}-{len(odd)}",
)
async def test_what_the_published_models_reject_and_servers_send_is_read(
    odd: dict[str, Any],
) -> None:
    """Each is refused by `ag_ui.core`, which therefore does not read what agents send."""
    with pytest.raises(ValidationError):
        TypeAdapter(ag.Event).validate_python(odd)

    def script(asked: RunAgentInput) -> list[Any]:
        return [*text("Aspirin interacts."), f"data: {json.dumps(odd)}\n\n", *whole(asked)]

    async with ag_ui_agent(script) as server:
        agent = connect(server.url)
        await agent.open()
        _, reply = await say(agent, "Hello")
        await agent.aclose()
    assert reply.content == "Aspirin interacts."


async def test_the_next_message_answers_an_interrupt() -> None:
    def script(asked: RunAgentInput) -> list[Any]:
        if asked.resume:
            return whole(asked, *text(f"Approved: {asked.resume[0].payload}."))
        interrupt = {"id": "i1", "reason": "approval", "message": "May I?"}
        return whole(asked, outcome={"type": "interrupt", "interrupts": [interrupt]})

    async with ag_ui_agent(script) as server:
        agent = connect(server.url)
        await agent.open()
        assert (await say(agent, "Delete it"))[1].content == "May I?"
        assert (await say(agent, "yes"))[1].content == "Approved: yes."
        await agent.aclose()
    assert server.asked[1].resume[0].interrupt_id == "i1"


@pytest.mark.parametrize(
    ("events", "says"),
    [
        (
            lambda asked: [ag.RunErrorEvent(message="no model", code="E1")],
            r"the agent's run failed \(E1\): no model",
        ),
        (lambda asked: [*text("Half")], "ended its stream before the run was finished"),
        (
            lambda asked: [*text("Half"), 'event: error\ndata: {"message": "no model"}\n\n'],
            "before the run was finished, with the error: no model",
        ),
        (lambda asked: whole(asked), "the agent's answer was empty"),
        (lambda asked: ["data: oops\n\n"], "something that is not JSON where JSON was expected"),
    ],
)
async def test_a_failed_agent_run_is_the_agents_failure_and_leaves_no_history(
    events: Any, says: str
) -> None:
    bad = [True]

    def script(asked: RunAgentInput) -> list[Any]:
        return list(events(asked)) if bad.pop() else whole(asked, *text("Fine."))

    async with ag_ui_agent(script) as server:
        agent = connect(server.url)
        await agent.open()
        with pytest.raises(PeerError, match=says) as caught:
            await say(agent, "Hello")
        bad.append(False)
        assert (await say(agent, "Hello again"))[1].content == "Fine."
        await agent.aclose()
    assert caught.value.peer == "agent"
    assert [message.content for message in server.asked[1].messages] == ["Hello again"]


async def test_a_seeded_history_is_sent_with_the_first_message() -> None:
    async with ag_ui_agent(lambda asked: whole(asked, *text("Hi."))) as server:
        agent = connect(server.url)
        await agent.open()
        assert await agent.seed_history("assistant", "Welcome back")
        await say(agent, "Hello")
        await agent.aclose()
    assert [message.role for message in server.asked[0].messages] == ["assistant", "user"]


def sent(*changes: Any) -> Script:
    """Return an agent that sends these events, which may be text, and then an answer."""
    return lambda asked: whole(asked, *changes, *text("answer"))


def frame(event: str) -> str:
    return f"data: {event}\n\n"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            [
                ag.StateSnapshotEvent(snapshot={"a": [1]}),
                ag.StateDeltaEvent(delta=[{"op": "copy", "from": "/a", "path": "/a/-"}] * 40),
            ],
            "state patches copy and move more than 1,000,000 values and characters in one answer",
        ),
        (
            [
                ag.StateDeltaEvent(
                    delta=[{"op": "add", "path": "/a" * n, "value": {}} for n in range(1, 1500)]
                )
            ],
            r"state patches make a state nested deeper than 64 at a\.a\.a\.a\.",
        ),
        (
            [frame('{"type": "MESSAGES_SNAPSHOT", "messages": [' + "{}," * 600_000 + "{}]}")],
            "answered JSON with more than 500,000 values",
        ),
        (
            [frame('{"type": "STATE_SNAPSHOT", "snapshot": [' + "[]," * 20_000 + "[]]}")] * 26,
            "states and patches of one answer have more than 500,000 values",
        ),
        (
            [frame('{"type": "X", "value": ' + "[" * 900 + "]" * 900 + "}")],
            r"JSON nested deeper than 64 at value\[0\]\[0\]",
        ),
    ],
    ids=["doubled", "deep", "many values", "many snapshots", "deep event"],
)
async def test_a_state_or_event_beyond_the_limits_is_the_agents_failure(
    changes: list[Any], says: str
) -> None:
    scripts = iter([sent(*changes), sent()])
    async with ag_ui_agent(lambda asked: next(scripts)(asked)) as server:
        agent = connect(server.url)
        await agent.open()
        with pytest.raises(PeerError, match=says) as failed:
            await say(agent, "one")
        assert failed.value.peer == "agent"
        await say(agent, "two")
        await agent.aclose()
    assert [asked.state for asked in server.asked] == [{}, {}]


async def test_removing_the_whole_state_leaves_none() -> None:
    async with ag_ui_agent(
        sent(ag.StateDeltaEvent(delta=[{"op": "remove", "path": ""}]))
    ) as server:
        agent = connect(server.url)
        await agent.open()
        await say(agent, "one")
        await say(agent, "two")
        await agent.aclose()
    assert [asked.state for asked in server.asked] == [{}, None]


async def test_a_patch_is_recorded_as_it_came() -> None:
    delta = [{"op": "add", "path": "/a", "value": {}}, {"op": "add", "path": "/a/b", "value": 1}]
    async with ag_ui_agent(sent(ag.StateDeltaEvent(delta=delta))) as server:
        agent = connect(server.url)
        await agent.open()
        _, reply = await say(agent, "one")
        await agent.aclose()
    assert [event["delta"] for event in reply.generation] == [delta]


async def test_arguments_of_a_call_that_are_nested_too_deep_are_kept_as_text() -> None:
    nested = '{"a":' * 600 + "1" + "}" * 600
    async with ag_ui_agent(sent(*call("lookUp", nested))) as server:
        agent = connect(server.url)
        await agent.open()
        _, reply = await say(agent, "one")
        await agent.aclose()
    assert [event["request"]["arguments"] for event in reply.generation] == [{"arguments": nested}]


async def test_a_conversation_too_large_to_be_sent_back_is_the_agents_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "MAX_REQUEST", 200_000)
    async with ag_ui_agent(lambda asked: whole(asked, *text("x" * 9_000))) as server:
        agent = connect(server.url)
        await agent.open()
        for _ in range(22):
            await say(agent, "more")
        with pytest.raises(PeerError, match="larger than 200,000 bytes") as failed:
            await say(agent, "more")
        assert failed.value.peer == "agent"
        await agent.aclose()
    assert len(server.asked) == 22

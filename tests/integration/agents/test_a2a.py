"""Agents that speak A2A, behind the published server of a2a-sdk, over real HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from a2a.helpers.proto_helpers import new_data_part, new_text_part
from a2a.types import APIKeySecurityScheme, SecurityScheme

from bioeval_tui.bundled.a2a.agent import A2AAgent
from bioeval_tui.evaluation.agents.terms import AgentTerms
from bioeval_tui.evaluation.job.models import TargetConfig
from bioeval_tui.evaluation.seams import Delta, Generation, PeerError, Reply
from bioeval_tui.evaluation.wiring.endpoints import may_call
from tests.servers.a2a_agent import Teller, a2a_agent

EITHER = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
VERSIONS = pytest.mark.parametrize("version", ["1.0", "0.3"])
EVERY = pytest.mark.parametrize(
    ("binding", "version"), [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3")]
)
STREAMS = pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])


def connect(url: str, *, allowed: tuple[str, ...] = (), key: str | None = None, **target: Any) -> A2AAgent:
    config = TargetConfig(user="ada", chatbot="bot", protocol="a2a", **target)
    return A2AAgent(
        AgentTerms(
            target=config, url=url, model="m", key=key, headers=config.headers,
            may_call=lambda other: may_call(url, other, allowed),
        )
    )  # fmt: skip


async def say(agent: A2AAgent, text: str) -> tuple[list[Delta | Generation], Reply]:
    pieces: list[Any] = [piece async for piece in agent.send(text)]
    assert isinstance(pieces[-1], Reply)
    return pieces[:-1], pieces[-1]


def text_of(pieces: list[Delta | Generation]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, Delta))


async def answers_with_a_message(text: str, agent: Teller) -> None:
    await agent.say(f"You said {text}.")


async def streams_an_artifact(text: str, agent: Teller) -> None:
    await agent.begin()
    await agent.tell(new_text_part("Looking…"))
    await agent.call("lookUp", {"drug": "warfarin"}, {"found": True})
    await agent.artifact("Aspirin ", "interacts ", "with it.")
    await agent.updates.complete(agent.text("Ask me more."))


async def asks_back(text: str, agent: Teller) -> None:
    await agent.begin()
    if "Sydney" in text:
        await agent.artifact("Done: I'll remind you.")
        await agent.updates.complete()
    else:
        await agent.updates.requires_input(agent.text("Which time zone?"))


@EVERY
@STREAMS
async def test_a_message_object_is_the_answer(binding: str, version: str, streaming: bool) -> None:
    async with a2a_agent(
        answers_with_a_message, bindings=(binding,), streaming=streaming, version=version
    ) as server:
        agent = connect(server.url)
        assert await agent.open() == ""
        _, reply = await say(agent, "hello")
        assert reply.content == "You said hello."
        assert 0 < reply.started < reply.ended
        await agent.aclose()
    assert all(path.startswith("/rpc" if binding == "JSONRPC" else "/rest") for path in server.paths[1:])
    assert all(headers["a2a-version"] == version for headers in server.headers[1:])


@EVERY
@STREAMS
async def test_artifacts_and_the_final_status_are_the_answer_and_updates_are_not(
    binding: str, version: str, streaming: bool
) -> None:
    async with a2a_agent(
        streams_an_artifact, bindings=(binding,), streaming=streaming, version=version
    ) as server:
        agent = connect(server.url)
        await agent.open()
        pieces, reply = await say(agent, "What about warfarin?")
        await agent.aclose()
    assert reply.content == "Aspirin interacts with it.\n\nAsk me more."
    if streaming:
        assert [piece.text for piece in pieces if isinstance(piece, Delta)][:3] == [
            "Aspirin ",
            "interacts ",
            "with it.",
        ]
        assert text_of(pieces) == reply.content
        assert reply.first_token is not None
    assert list(reply.generation) == [
        {"status": "WORKING", "message": "Looking…"},
        {"request": {"function": {"name": "lookUp"}, "arguments": {"drug": "warfarin"}, "id": "call-lookUp"}},
        {"output": {"found": True}, "id": "call-lookUp"},
    ]  # fmt: skip
    assert list(reply.generation) == [piece.data for piece in pieces if isinstance(piece, Generation)]


@EVERY
@STREAMS
async def test_input_required_ends_a_turn_and_the_next_message_continues_the_task(
    binding: str, version: str, streaming: bool
) -> None:
    async with a2a_agent(asks_back, bindings=(binding,), streaming=streaming, version=version) as server:
        agent = connect(server.url)
        await agent.open()
        assert (await say(agent, "Remind me"))[1].content == "Which time zone?"
        assert (await say(agent, "I live in Sydney"))[1].content == "Done: I'll remind you."
        assert (await say(agent, "Remind me again"))[1].content == "Which time zone?"
        await agent.aclose()
    first, second, third = server.asked
    assert "contextId" in first, "the server gave one, and the others keep to it"
    assert first["contextId"] == second["contextId"] == third["contextId"]
    assert first["taskId"] == second["taskId"] != third["taskId"], "a task that is completed takes no more"


@STREAMS
@VERSIONS
@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("failed", r"the agent's task failed \(TASK_STATE_FAILED\): No luck"),
        ("reject", r"the agent rejected the task \(TASK_STATE_REJECTED\): No luck"),
        ("cancel", r"the agent cancelled the task \(TASK_STATE_CANCELED\): No luck"),
        ("requires_auth", r"asks for authentication \(TASK_STATE_AUTH_REQUIRED\): No luck"),
    ],
)
async def test_a_failed_task_is_the_agents_failure(
    state: str, says: str, streaming: bool, version: str
) -> None:
    async def ends_badly(text: str, agent: Teller) -> None:
        await agent.begin()
        await getattr(agent.updates, state)(agent.text("No luck"))

    async with a2a_agent(ends_badly, streaming=streaming, version=version) as server:
        agent = connect(server.url)
        await agent.open()
        with pytest.raises(PeerError, match=says) as caught:
            await say(agent, "Hello")
        await agent.aclose()
    assert (caught.value.peer, caught.value.retryable) == ("agent", False)
    assert caught.value.status == (401 if state == "requires_auth" else None)


async def test_an_agent_that_raises_is_the_agents_failure() -> None:
    async def raises(text: str, agent: Teller) -> None:
        raise ValueError("out of order")

    async with a2a_agent(raises) as server:
        agent = connect(server.url)
        await agent.open()
        with pytest.raises(PeerError) as caught:
            await say(agent, "Hello")
        await agent.aclose()
    assert caught.value.peer == "agent"


async def test_parts_without_text_are_recorded_as_events() -> None:
    async def sends_data(text: str, agent: Teller) -> None:
        await agent.begin()
        await agent.tell(new_data_part({"dose": 5}))
        await agent.artifact("See the table.")
        await agent.updates.complete()

    async with a2a_agent(sends_data) as server:
        agent = connect(server.url)
        await agent.open()
        _, reply = await say(agent, "Hello")
        await agent.aclose()
    assert reply.content == "See the table."
    (event,) = reply.generation
    assert event["part"]["data"] == {"dose": 5}


async def test_the_first_supported_interface_is_used() -> None:
    def with_grpc_first(card: Any) -> None:
        card.supported_interfaces.insert(0, type(card.supported_interfaces[0])(url="http://127.0.0.1:9", protocol_binding="GRPC", protocol_version="1.0"))  # fmt: skip

    async with a2a_agent(
        answers_with_a_message, bindings=("HTTP+JSON", "JSONRPC"), change=with_grpc_first
    ) as server:
        agent = connect(server.url)
        await agent.open()
        await say(agent, "Hello")
        await agent.aclose()
    assert server.paths[1] == "/rest/message:stream"


@pytest.mark.parametrize(
    ("header", "expected"),
    [("", ("authorization", "Bearer s3cret")), ("X-Agent-Key", ("x-agent-key", "s3cret"))],
)
async def test_the_key_is_sent_in_the_header_that_the_card_names(
    header: str, expected: tuple[str, str]
) -> None:
    def wants(card: Any) -> None:
        if header:
            scheme = SecurityScheme(
                api_key_security_scheme=APIKeySecurityScheme(location="header", name=header)
            )
            card.security_schemes["key"].CopyFrom(scheme)

    async with a2a_agent(answers_with_a_message, change=wants) as server:
        agent = connect(server.url, key="s3cret", headers={"X-Tenant": "t1"})
        await agent.open()
        await say(agent, "Hello")
        await agent.aclose()
    name, value = expected
    assert server.headers[-1][name] == value
    assert server.headers[-1]["x-tenant"] == "t1"


@pytest.mark.parametrize("allowed", [(), ("elsewhere.example",)])
async def test_a_card_that_names_another_host_needs_the_users_consent(allowed: tuple[str, ...]) -> None:
    def elsewhere(card: Any) -> None:
        card.supported_interfaces[0].url = "http://elsewhere.example/rpc"

    async with a2a_agent(answers_with_a_message, change=elsewhere) as server:
        agent = connect(server.url, allowed=allowed)
        if allowed:
            await agent.open()
        else:
            with pytest.raises(PeerError, match=r"names another host, elsewhere\.example; pass --allow-host"):
                await agent.open()
        await agent.aclose()


@pytest.mark.parametrize("spoken", ["2.0", "0.3"])
async def test_where_no_interface_is_understood_the_sentence_names_what_there_is(spoken: str) -> None:
    def other(card: Any) -> None:
        card.supported_interfaces[0].protocol_version = spoken

    async with a2a_agent(answers_with_a_message, bindings=("HTTP+JSON",), change=other) as server:
        agent = connect(server.url)
        with pytest.raises(PeerError, match=rf"JSONRPC of 0\.3; it has HTTP\+JSON {spoken}"):
            await agent.open()
        await agent.aclose()


async def test_an_agent_that_speaks_both_versions_is_asked_in_the_newer_one() -> None:
    def both(card: Any) -> None:
        card.supported_interfaces.insert(0, type(card.supported_interfaces[0])(url=card.supported_interfaces[0].url, protocol_binding="JSONRPC", protocol_version="0.3"))  # fmt: skip

    async with a2a_agent(answers_with_a_message, change=both) as server:
        agent = connect(server.url)
        await agent.open()
        assert (await say(agent, "Hello"))[1].content == "You said Hello."
        await agent.aclose()
    assert server.headers[-1]["a2a-version"] == "1.0"


@EVERY
async def test_a_task_that_nobody_waits_for_any_more_is_cancelled(binding: str, version: str) -> None:
    async def never_ends(text: str, agent: Teller) -> None:
        await agent.begin()
        await agent.artifact("One moment")
        await asyncio.Event().wait()

    async with a2a_agent(never_ends, bindings=(binding,), version=version) as server:
        agent = connect(server.url)
        await agent.open()
        pieces = agent.send("Hello")
        async for piece in pieces:
            if isinstance(piece, Delta):
                break
        await pieces.aclose()
        await agent.aclose()
    assert len(server.cancelled) == 1


async def test_streaming_can_be_switched_off() -> None:
    async with a2a_agent(streams_an_artifact, bindings=("HTTP+JSON",)) as server:
        agent = connect(server.url, streaming=False)
        await agent.open()
        _, reply = await say(agent, "Hello")
        await agent.aclose()
    assert server.paths[-1] == "/rest/message:send"
    assert reply.first_token is None
    assert reply.content == "Aspirin interacts with it.\n\nAsk me more."


async def test_where_the_state_is_read_by_session_the_program_chooses_the_session_id() -> None:
    async with a2a_agent(answers_with_a_message) as server:
        agent = connect(server.url, object_context_url=f"{server.url}/state/{{sessionId}}")
        session = await agent.open()
        await say(agent, "Hello")
        assert await agent.observe() is None
        await agent.aclose()
    assert session
    assert server.asked[0]["contextId"] == session
    assert f"/state/{session}" in server.paths

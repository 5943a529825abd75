"""Agents that speak A2A 0.3: behind the published server of that version, and as agno and Strands
sent it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bioeval_tui.protocols import Delta, PeerError
from tests.contract.test_a2a import connect, say, text_of
from tests.servers.a2a_0_3_agent import a2a_0_3_agent
from tests.servers.a2a_agent import serve_asgi

MISSING = "BIOEVAL_A2A_0_3_PYTHON names no environment with a2a-sdk 0.3"
RECORDED = json.loads((Path(__file__).parents[2] / "golden/foreign/a2a-0.3.json").read_text())
STREAMS = pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])
PUBLISHED = pytest.mark.real_server


@contextlib.contextmanager
def published(*, streaming: bool) -> Iterator[str]:
    if "BIOEVAL_A2A_0_3_PYTHON" not in os.environ:
        if os.environ.get("BIOEVAL_REQUIRE_REAL"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    with a2a_0_3_agent(streaming=streaming) as url:
        yield url


@pytest.fixture(scope="module")
def streamed() -> Iterator[str]:
    with published(streaming=True) as url:
        yield url


@pytest.fixture(scope="module")
def whole() -> Iterator[str]:
    with published(streaming=False) as url:
        yield url


@pytest.fixture
def url(streaming: bool, request: pytest.FixtureRequest) -> str:
    """The published server, started once for all tests of a kind; each has a task of its own."""
    return str(request.getfixturevalue("streamed" if streaming else "whole"))


@PUBLISHED
@STREAMS
async def test_a_whole_conversation_with_the_published_server(url: str, streaming: bool) -> None:
    agent = connect(url)
    assert await agent.open() == ""
    assert (await say(agent, "a message"))[1].content == "Hello."
    pieces, reply = await say(agent, "look it up")
    assert reply.content == "Aspirin interacts with it.\n\nAsk me more."
    assert text_of(pieces) == reply.content
    assert (reply.first_token is not None) is streaming
    assert list(reply.generation) == [
        {"status": "WORKING", "message": "Looking…"},
        {"request": {"function": {"name": "lookUp"}, "arguments": {"dose": 5}, "id": "c1"}},
    ]
    assert (await say(agent, "ask back"))[1].content == "Which time zone?"
    assert (await say(agent, "it is Sydney"))[
        1
    ].content == "Aspirin interacts with it.\n\nAsk me more."
    await agent.aclose()


@PUBLISHED
@STREAMS
@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("failed", r"the agent's task failed \(TASK_STATE_FAILED\): No luck"),
        ("rejected", r"rejected the task \(TASK_STATE_REJECTED\): No luck"),
        ("auth_required", r"asks for authentication \(TASK_STATE_AUTH_REQUIRED\): No luck"),
    ],
)
async def test_a_task_that_fails_at_the_published_server(state: str, says: str, url: str) -> None:
    agent = connect(url)
    await agent.open()
    with pytest.raises(PeerError, match=says):
        await say(agent, state)
    await agent.aclose()


@PUBLISHED
async def test_a_task_at_the_published_server_that_nobody_waits_for_is_cancelled(
    streamed: str,
) -> None:
    agent = connect(streamed)
    await agent.open()
    pieces = agent.send("never end")
    async for piece in pieces:
        if isinstance(piece, Delta):
            break
    await pieces.aclose()
    await agent.aclose()
    other = connect(streamed)
    await other.open()
    assert (await say(other, "what was cancelled"))[1].content == "1 tasks"
    await other.aclose()


@contextlib.asynccontextmanager
async def replayed(
    name: str,
    asked: list[Any],
    *,
    card_at: str = "/.well-known/agent-card.json",
    card: dict[str, Any] | None = None,
) -> AsyncIterator[str]:
    """Serve what a framework's server sent: its card, and the stream of one answer."""
    one = RECORDED[name]

    def app(url: str) -> Any:
        async def give_card(request: Request) -> Response:
            return JSONResponse({**one["card"], "url": f"{url}/rpc", **(card or {})})

        async def answer(request: Request) -> Response:
            asked.append((await request.json(), dict(request.headers)))
            return Response(one["stream"], media_type="text/event-stream")

        return Starlette(
            routes=[Route(card_at, give_card), Route("/rpc", answer, methods=["POST"])]
        )

    async with serve_asgi(app) as url:
        yield url


async def test_agno_sends_its_answer_as_messages_of_its_task() -> None:
    asked: list[Any] = []
    async with replayed("agno", asked) as url:
        agent = connect(url)
        await agent.open()
        pieces, reply = await say(agent, "Can I take ibuprofen with warfarin?")
        await agent.aclose()
    assert reply.content.startswith(
        "I'm sorry for any confusion. Warfarin is a medication used to prevent"
    )
    assert text_of(pieces) == reply.content
    assert len([piece for piece in pieces if isinstance(piece, Delta)]) > 20
    assert [event["request"]["arguments"] for event in reply.generation] == [{"drug": "warfan"}]
    body, headers = asked[0]
    assert body["method"] == "message/stream"
    assert body["params"]["message"]["parts"] == [
        {"kind": "text", "text": "Can I take ibuprofen with warfarin?"}
    ]
    assert (body["params"]["message"]["role"], body["params"]["message"]["kind"]) == (
        "user",
        "message",
    )
    assert headers["a2a-version"] == "0.3"


async def test_strands_sends_its_answer_as_an_artifact() -> None:
    async with replayed("strands", []) as url:
        agent = connect(url)
        await agent.open()
        _, reply = await say(agent, "Can I take ibuprofen with warfarin?")
        await agent.aclose()
    assert reply.content.startswith(
        "I'm sorry for any confusion. Warfarin is a medication used to prevent"
    )


async def test_a_card_of_an_older_place_is_found_and_its_key_header_is_used() -> None:
    asked: list[Any] = []
    schemes = {
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Agent-Key"}}
    }
    async with replayed("strands", asked, card_at="/.well-known/agent.json", card=schemes) as url:
        agent = connect(url, key="s3cret")
        await agent.open()
        await say(agent, "Hello")
        await agent.aclose()
    assert asked[0][1]["x-agent-key"] == "s3cret"


@pytest.mark.parametrize(
    "name",
    ["Content-Length", "host", "Transfer-Encoding", "X-A\r\nEvil: 1", "\u202eX", "Zürich", ""],
)
async def test_a_card_names_no_header_that_says_how_a_request_is_sent(name: str) -> None:
    asked: list[Any] = []
    schemes = {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": name}}}
    async with replayed("strands", asked, card=schemes) as url:
        agent = connect(url, key="s3cret-of-8")
        if name:
            with pytest.raises(
                PeerError, match=r"wants the key in the header '.+', in which no key can be sent"
            ):
                await agent.open()
        else:
            await agent.open()
        await agent.aclose()
    assert "s3cret-of-8" not in str(asked)


async def test_where_no_card_is_found_the_place_that_1_0_names_is_told() -> None:
    async with replayed("strands", [], card_at="/elsewhere") as url:
        agent = connect(url)
        with pytest.raises(PeerError, match="404") as caught:
            await agent.open()
        await agent.aclose()
    assert caught.value.status == 404


async def test_a_card_of_0_3_that_names_another_host_needs_the_users_consent() -> None:
    async with replayed("strands", [], card={"url": "http://elsewhere.example/"}) as url:
        agent = connect(url)
        with pytest.raises(
            PeerError, match=r"names another host, elsewhere\.example; pass --allow-host"
        ):
            await agent.open()
        await agent.aclose()

"""No answer repeats a credential of its request, whatever the peer sends."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator

import httpx2
import pytest
from aiohttp import web

from bioeval_tui.base.credentials import HIDDEN, Hider
from bioeval_tui.peers.http import BoundedTransport
from bioeval_tui.peers.timeouts import Timeouts
from bioeval_tui.protocols import Agent, PeerError, Reply
from tests.servers.agents import rest_agent

KEY, PASSWORD, TOKEN = "k-agent/secret+1", "pass wörd/9", "tok-query-123"
BASIC = base64.b64encode(f"usr:{PASSWORD}".encode()).decode()
EVERYTHING = (KEY, PASSWORD, TOKEN, BASIC)


class Repeating:
    """An agent that puts all that it was asked, head and address, into whatever it answers."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.asked: list[str] = []

    async def answer(self, request: web.Request) -> web.Response:
        said = f"{request.raw_path} {dict(request.headers)} {KEY} {PASSWORD} {TOKEN}"
        self.asked.append(said)
        if self.status != 200:
            return web.Response(status=self.status, reason=f"no {KEY}", text=said)
        if request.path.endswith("/sessions"):
            return web.json_response({"sessionId": "s1"})
        if request.path.endswith("/messages"):
            message = {"content": said, "role": "assistant"}
            return web.json_response(
                {"sessionId": "s1", "message": message, "events": [{"said": said}]}
            )
        return web.json_response({"context": said, "resources": [], "functions": []})


@pytest.fixture
async def served(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Repeating, Agent]]:
    peer = Repeating(request.param)
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", peer.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    password = PASSWORD.replace("/", "%2F").replace(" ", "%20").replace("ö", "%C3%B6")
    url = f"http://usr:{password}@127.0.0.1:{runner.addresses[0][1]}/base/?token={TOKEN}&x=1"
    agent = rest_agent(url, user="u", chatbot="b", model="m", api_key=KEY)
    yield peer, agent
    await agent.aclose()
    await runner.cleanup()


@pytest.mark.parametrize("served", [401, 503], indirect=True)
async def test_an_error_that_quotes_the_request_shows_no_credential(
    served: tuple[Repeating, Agent],
) -> None:
    peer, agent = served
    with pytest.raises(PeerError) as caught:
        await agent.open()
    (asked,) = peer.asked
    assert BASIC in asked
    assert f"/base/api/v1/chat/sessions?token={TOKEN}&x=1" in asked
    shown = str(caught.value) + caught.value.received
    assert HIDDEN in shown
    assert not [credential for credential in EVERYTHING if credential in shown]


@pytest.mark.parametrize("served", [200], indirect=True)
async def test_an_answer_that_repeats_the_request_shows_no_credential(
    served: tuple[Repeating, Agent],
) -> None:
    _, agent = served
    await agent.open()
    (reply,) = [piece async for piece in agent.send("hello")]
    assert isinstance(reply, Reply)
    shown = reply.content + json.dumps(
        [reply.generation, await agent.observe()], ensure_ascii=False
    )
    assert shown.count(HIDDEN) >= 9
    assert not [credential for credential in EVERYTHING if credential in shown]


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
async def test_a_credential_split_over_several_pieces_is_hidden(size: int) -> None:
    text = f"data: {KEY[:5]} {KEY}{KEY} {KEY[:-1]}".encode()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]

    class Stream(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for piece in pieces:
                yield piece

    inner = httpx2.MockTransport(lambda request: httpx2.Response(200, stream=Stream()))
    client = httpx2.AsyncClient(transport=BoundedTransport(inner, "agent", Timeouts()))
    answer = await client.get("http://host", headers={"X-API-KEY": KEY})
    assert answer.text == f"data: {KEY[:5]} {HIDDEN}{HIDDEN} {KEY[:-1]}"


def test_streamed_text_is_delayed_only_where_a_credential_may_begin() -> None:
    hider = Hider([KEY])
    assert hider.feed(b"a whole event\n\n") == b"a whole event\n\n"
    assert hider.feed(b"tail " + KEY[:4].encode()) == b"tail "
    assert hider.feed(b"x") == KEY[:4].encode() + b"x"


def test_a_placeholder_key_is_left_in_the_answer() -> None:
    assert Hider(["none", "ollama"]).text("none of ollama") == "none of ollama"

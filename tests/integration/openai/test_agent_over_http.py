"""An agent behind a chat endpoint, over real HTTP."""

from __future__ import annotations

import asyncio
import json

import pytest
from aiohttp import web

from bioeval_tui.base.errors import UsageError
from bioeval_tui.protocols import Delta, Generation, PeerError, Reply
from bioeval_tui.record.attachments import file_words
from tests.servers import openai_server as srv
from tests.servers.agents import chat_agent


@pytest.fixture
async def agent(server):
    made = chat_agent(server.url, model="m", api_key="secret-key", system_prompt="Be kind.")
    await made.open()
    yield made
    await made.aclose()


async def answer(agent, content="Hi"):
    *pieces, last = [piece async for piece in agent.send(content)]
    assert isinstance(last, Reply)
    return pieces, last


async def test_a_chat_agent_streams_its_answer_with_times_and_tokens(agent, server):
    server.will(srv.say("Hello there, Ann"))
    pieces, reply = await answer(agent)
    assert (
        "".join(piece.text for piece in pieces if isinstance(piece, Delta))
        == reply.content
        == "Hello there, Ann"
    )
    assert reply.started <= (reply.first_token or 0) <= reply.ended
    assert (reply.tokens_in, reply.tokens_out) == (11, 7)


async def test_every_request_contains_the_whole_conversation(agent, server):
    server.will(srv.say("One"), srv.status(503), srv.say("Two"))
    assert await agent.seed_history("assistant", "Seed")
    await answer(agent, "a")
    with pytest.raises(PeerError):
        await answer(agent, "b")
    await answer(agent, "b")
    contents = [message["content"] for message in server.received[-1].body["messages"]]
    assert contents == ["Be kind.", "Seed", "a", "One", "b"]


async def test_tool_calls_are_recorded_as_generation_events(agent, server):
    server.will(
        srv.call_tool("createReminder", {"time": "20:15"}, text="Done."), srv.call_tool("look", {})
    )
    pieces, reply = await answer(agent)
    event = {
        "request": {
            "function": {"name": "createReminder"},
            "arguments": {"time": "20:15"},
            "id": "c1",
        }
    }
    told = [{"systemPrompt": "Be kind."}, event]
    assert [piece.data for piece in pieces if isinstance(piece, Generation)] == told
    assert (list(reply.generation), reply.content) == (told, "Done.")
    assert (await answer(agent))[1].content == ""


async def test_a_refusal_is_an_answer_for_the_judge_to_weigh(agent, server):
    server.will(srv.refuse("I will not."))
    assert (await answer(agent))[1].content == "I will not."


@pytest.mark.parametrize(
    ("reply", "says", "retryable"),
    [
        (srv.status(500), r"failed \(500\)", True),
        (srv.status(404, "no such model"), "404", False),
        (srv.say(""), "empty", False),
        (srv.say("", finish="length"), "cut off", False),
        (srv.raw("<html>", "text/html"), "not JSON", False),
        (srv.breaks_off("And"), "closed the connection", False),
    ],
)
async def test_failures_of_a_chat_endpoint_are_the_agents(agent, server, reply, says, retryable):
    server.will(reply)
    with pytest.raises(PeerError, match=says) as caught:
        await answer(agent)
    assert (caught.value.peer, caught.value.retryable) == ("agent", retryable)
    assert "secret-key" not in str(caught.value)


async def test_a_slow_answer_times_out(server):
    agent = chat_agent(server.url, model="m", whole_s=0.2)
    server.will(srv.hangs("And"))
    with pytest.raises(PeerError, match=r"within 0\.2 s"):
        await answer(agent)
    await server.left.wait()
    await agent.aclose()


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, {"context": "\x1b[2Jx", "resources": []}, {"context": "␛x", "resources": []}),
        (404, {}, None),
    ],
)
async def test_the_object_context_is_read_from_its_own_url(server, status, body, expected):
    asked = []

    async def context(request):
        asked.append((request.path, request.headers.get("Authorization")))
        return web.json_response(body, status=status)

    app = web.Application()
    app.router.add_get("/state/{session}", context)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/state/{{sessionId}}"
        agent = chat_agent(server.url, model="m", api_key="secret-key", object_context_url=url)
        session = await agent.open()
        assert await agent.observe() == expected
        server.will(srv.say("Hello."))
        async for _ in agent.send("Hi"):
            pass
        assert server.received[-1].body["user"] == session, (
            "whose state it is, the endpoint is told"
        )
        assert asked == [(f"/state/{session}", None)]
    finally:
        await runner.cleanup()
    with pytest.raises(PeerError, match="refused the connection"):
        await agent.observe()
    await agent.aclose()


async def test_without_an_object_context_url_there_is_no_context_and_no_seed_text(agent):
    assert await agent.observe() is None
    with pytest.raises(PeerError, match="does not accept texts") as caught:
        await agent.seed_text("x")
    assert caught.value.peer == "knowledge"


async def test_v1_is_added_to_an_address_without_a_path(server):
    agent = chat_agent(server.url.removesuffix("/v1"), model="m")
    await answer(agent)
    assert server.received[0].path == "/v1/chat/completions"
    await agent.aclose()


async def test_cancelling_an_agent_request_closes_the_connection(agent, server):
    server.will(srv.hangs("And"))
    pieces = agent.send("Hi")
    await anext(pieces)
    task = asyncio.create_task(anext(pieces))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await pieces.aclose()
    await server.left.wait()


@pytest.mark.parametrize("url", ["ftp://x", "nowhere", "http://", "http://h:99999/"])
def test_an_invalid_agent_url_is_reported(url):
    with pytest.raises(UsageError, match="not an http or https URL"):
        chat_agent(url, model="m")


PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{'A' * 4000}"}}
FILE = {
    "type": "file",
    "file": {"filename": "lab.pdf", "file_data": f"data:application/pdf;base64,{'A' * 400}"},
}


@pytest.mark.parametrize("streaming", [True, False])
async def test_the_text_of_a_content_in_parts_is_the_answer_and_the_rest_is_told_beside_it(
    server, streaming
):
    said = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "See this:"},
        PICTURE,
        FILE,
    ]
    chunks = [srv.chunk({"content": said}), srv.chunk({}, "stop")]
    stream = "".join(f"data: {json.dumps(each)}\n\n" for each in chunks) + "data: [DONE]\n\n"
    whole = json.dumps(srv.completion({"role": "assistant", "content": said}))
    server.will(srv.raw(stream, "text/event-stream") if streaming else srv.raw(whole))
    made = chat_agent(server.url, model="m", streaming=streaming)
    try:
        _, reply = await answer(made)
    finally:
        await made.aclose()
    assert reply.content == "See this:"
    assert [event["reasoning"] for event in reply.generation if "reasoning" in event] == ["Hm."]
    assert file_words(reply.generation) == [
        "[picture: image/png, 3 kB]",
        "[file: lab.pdf, application/pdf, 300 bytes]",
    ]


async def test_an_answer_that_is_only_a_picture_is_one(agent, server):
    server.will(srv.raw(json.dumps(srv.completion({"role": "assistant", "content": [PICTURE]}))))
    _, reply = await answer(agent)
    assert reply.content == ""
    assert file_words(reply.generation) == ["[picture: image/png, 3 kB]"]

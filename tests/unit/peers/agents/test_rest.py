"""The REST agent with every kind of server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.peer_limits import MAX_ANSWER_BYTES
from bioeval_tui.peers.timeouts import Timeouts
from bioeval_tui.protocols import Agent, Delta, Generation, PeerError, Reply
from tests.servers.agents import rest_agent

from .raw_server import Handler, Seen, http, raw_server, stream_head

SESSION = {"sessionId": "s1"}
ANSWER: dict[str, Any] = {
    "sessionId": "s1",
    "chatbot": "bot",
    "message": {"content": "Which time zone?", "role": "assistant"},
    "history": [],
    "events": [{"output": "x"}],
}


def agent_at(seen: Seen, **options: Any) -> Agent:
    return rest_agent(seen.url, user="ada", chatbot="bot", model="m", **options)


def event(kind: str, data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def then(handler: Handler) -> Handler:
    """Open the session first; then do what the test is about."""

    async def both(writer: asyncio.StreamWriter, number: int) -> None:
        if number == 1:
            writer.write(http(json.dumps(SESSION).encode()))
        else:
            await handler(writer, number)

    return both


def answering(data: bytes) -> Handler:
    async def handler(writer: asyncio.StreamWriter, number: int) -> None:
        writer.write(data)

    return then(handler)


async def silent(writer: asyncio.StreamWriter, number: int) -> None:
    await asyncio.Event().wait()


async def pieces_of(agent: Agent) -> list[Delta | Generation | Reply]:
    try:
        await agent.open()
        return [piece async for piece in agent.send("Hello")]
    finally:
        await agent.aclose()


async def failure_of(handler: Handler, **options: Any) -> PeerError:
    async with raw_server(handler) as seen:
        with pytest.raises(PeerError) as raised:
            await pieces_of(agent_at(seen, **options))
    assert raised.value.peer == "agent"
    return raised.value


async def test_a_json_answer_is_one_reply() -> None:
    async with raw_server(answering(http(json.dumps(ANSWER).encode()))) as seen:
        (reply,) = await pieces_of(agent_at(seen, api_key="secret"))
    assert isinstance(reply, Reply)
    assert reply.content == "Which time zone?"
    assert list(reply.generation) == [{"output": "x"}]
    assert reply.first_token is None
    assert reply.ended > reply.started
    head, _, body = seen.requests[1].partition(b"\r\n\r\n")
    assert head.startswith(b"PUT /api/v1/chat/messages HTTP/1.1")
    assert b"x-api-key: secret" in head.lower()
    assert json.loads(body) == {
        "sessionId": "s1",
        "message": {"content": "Hello", "role": "user"},
        "model": "m",
    }
    assert json.loads(seen.requests[0].partition(b"\r\n\r\n")[2]) == {
        "user": "ada",
        "chatbot": "bot",
    }


async def test_an_endpoints_path_is_added_before_the_query_of_its_url() -> None:
    async with raw_server(answering(http(json.dumps(ANSWER).encode()))) as seen:
        await pieces_of(rest_agent(f"{seen.url}/a/?t=1#f", user="ada", chatbot="bot", model="m"))
    assert seen.requests[1].startswith(b"PUT /a/api/v1/chat/messages?t=1 HTTP/1.1")


async def test_a_stream_gives_pieces_and_then_the_whole_answer() -> None:
    stream = b"".join(
        [
            stream_head(),
            b": a comment\n\n",
            event("event", {"request": {"function": {"name": "f"}}}),
            event("delta", {"content": "Which "}),
            event("delta", {"content": "time zone?"}),
            event("message", ANSWER),
        ]
    )
    async with raw_server(answering(stream)) as seen:
        pieces = await pieces_of(agent_at(seen))
    assert pieces[:3] == [
        Generation({"request": {"function": {"name": "f"}}}),
        Delta("Which "),
        Delta("time zone?"),
    ]
    reply = pieces[-1]
    assert isinstance(reply, Reply)
    assert reply.content == "Which time zone?"
    assert reply.first_token is not None
    assert reply.started <= reply.first_token <= reply.ended


async def test_a_stream_cut_into_single_bytes_reads_the_same() -> None:
    text = "Zürich → “ok”\nline"
    answer = {**ANSWER, "message": {"content": text, "role": "assistant"}}
    parts = event("delta", {"content": text}).replace(b"\n", b"\r\n") + event("message", answer)

    async def handler(writer: asyncio.StreamWriter, number: int) -> None:
        writer.write(stream_head())
        for byte in parts:
            writer.write(bytes([byte]))
            await writer.drain()

    async with raw_server(then(handler)) as seen:
        pieces = await pieces_of(agent_at(seen))
    assert pieces[0] == Delta(text)
    assert isinstance(pieces[1], Reply)
    assert pieces[1].content == text


async def test_without_streaming_the_agent_is_not_asked_for_events() -> None:
    async with raw_server(answering(http(json.dumps(ANSWER).encode()))) as seen:
        await pieces_of(agent_at(seen, streaming=False))
    assert b"text/event-stream" not in seen.requests[1]


async def test_hostile_text_is_cleaned_in_pieces_answers_and_events() -> None:
    nasty = "\x1b]52;c;aGk=\x07 \u202eevil"
    answer = {
        **ANSWER,
        "message": {"content": nasty, "role": "assistant"},
        "events": [{"output": nasty}],
    }
    stream = stream_head() + event("delta", {"content": nasty}) + event("message", answer)
    async with raw_server(answering(stream)) as seen:
        pieces = await pieces_of(agent_at(seen))
    shown = repr(pieces)
    assert "\\x1b" not in shown
    assert "\\u202e" not in shown


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{not json", "not JSON"),
        (b"", "nothing"),
        (b"[1, 2]", "not an object"),
        (
            b'{"sessionId": "s1", "message": {"content": NaN}}',
            "NaN, which is no number in JSON, at message.content",
        ),
        (b'{"a":' * 500 + b"1" + b"}" * 500, "nested deeper than 64 at a.a.a.a"),
        (b'{"b": 1, "a": 2, "b": ' * 100_000, "nested deeper than 64 at b.b.b.b"),
        (b'{"a":' * 64 + b'"' + b"[" * 200_000, "not JSON"),
        (b'{"sessionId": "other", "message": {"content": "x"}}', "another session"),
        (b'{"message": {"content": "x"}}', "sessionId is missing"),
        (b'{"sessionId": "s1"}', "message is missing"),
        (b'{"sessionId": "s1", "message": "x"}', "message is not an object"),
        (b'{"sessionId": "s1", "message": {"role": "assistant"}}', "message.content is missing"),
        (b'{"sessionId": "s1", "message": {"content": 5}}', "message.content is not text"),
        (
            b'{"sessionId": "s1", "message": {"content": "x"}, "events": "y"}',
            "events is not a list",
        ),
        (b"\xff\xfe\x00", "not JSON"),
    ],
)
async def test_a_malformed_answer_is_not_retried_and_is_shown(body: bytes, says: str) -> None:
    error = await failure_of(answering(http(body)))
    assert says in str(error)
    assert not error.retryable
    assert len(error.received) < 600


@pytest.mark.parametrize("name", ["delta", "event", "message"])
async def test_an_event_that_is_no_object_of_json_or_exceeds_the_limits_is_named(name: str) -> None:
    deep = '{"content": "x", "thoughts": ' + "[" * 90 + "]" * 90 + "}"
    for data, says in {
        deep: "JSON nested deeper than 64 at thoughts[0]",
        '{"content": 1e999}': "larger than a double holds at content",
        "[]": "JSON that is not an object",
        "oops": "something that is not JSON",
    }.items():
        stream = (
            stream_head()
            + event("delta", {"content": "Hi"})
            + f"event: {name}\ndata: {data}\n\n".encode()
        )
        error = await failure_of(answering(stream))
        assert says in str(error)
        assert str(error).endswith("in event 2 of its stream")


async def test_an_html_answer_is_named_as_such() -> None:
    error = await failure_of(
        answering(http(b"<!DOCTYPE html><p>Sign in\x1b[2J", content_type="text/html"))
    )
    assert "HTML" in str(error)
    assert "Sign in" in error.received
    assert "\x1b" not in error.received


@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        ("400 Bad Request", False),
        ("401 Unauthorized", False),
        ("404 Not Found", False),
        ("408 Request Timeout", True),
        ("425 Too Early", True),
        ("429 Too Many Requests", True),
        ("500 Internal Server Error", True),
        ("503 Service Unavailable", True),
        ("302 Found", False),
    ],
)
async def test_only_some_http_statuses_are_retried(status: str, retryable: bool) -> None:
    error = await failure_of(
        answering(http(b"oh no", status, extra="Location: http://127.0.0.1:9/\r\n"))
    )
    assert error.status == int(status[:3])
    assert error.retryable is retryable
    assert error.received == "oh no"


async def test_retry_after_is_passed_on() -> None:
    error = await failure_of(
        answering(http(b"", "429 Too Many Requests", extra="Retry-After: 3600\r\n"))
    )
    assert error.retry_after_s == 3600


async def test_an_endless_error_page_is_still_an_error() -> None:
    async def handler(writer: asyncio.StreamWriter, number: int) -> None:
        writer.write(b"HTTP/1.1 500 Oops\r\nContent-Length: 100000\r\n\r\nbroken")

    error = await failure_of(then(handler))
    assert error.status == 500
    assert error.received == "broken"


async def test_a_refused_connection_may_be_retried() -> None:
    async with raw_server(silent) as seen:
        pass
    agent = agent_at(seen)
    with pytest.raises(PeerError, match="refused the connection") as raised:
        await agent.open()
    await agent.aclose()
    assert raised.value.retryable


async def test_a_connection_reset_is_one_failure_and_nothing_is_sent_twice() -> None:
    async def handler(writer: asyncio.StreamWriter, number: int) -> None:
        writer.transport.abort()

    async with raw_server(then(handler)) as seen:
        with pytest.raises(PeerError, match="closed the connection") as raised:
            await pieces_of(agent_at(seen))
    assert not raised.value.retryable, "it may have been delivered"
    assert len(seen.requests) == 2


async def test_a_truncated_json_answer_is_one_failure() -> None:
    cut = http(json.dumps(ANSWER).encode())[:-20]
    error = await failure_of(answering(cut))
    assert not error.retryable
    assert "Which time" in error.received


async def test_a_stream_without_its_last_event_is_a_failure() -> None:
    error = await failure_of(answering(stream_head() + event("delta", {"content": "Done"})))
    assert "before the complete answer" in str(error)
    assert not error.retryable
    assert "Done" in error.received


@pytest.mark.parametrize(
    "told",
    [
        b'event: error\ndata: {"message": "no model"}\n\n',
        b'event: error\ndata: {"error": {"code": 5, "message": "no model"}}\n\n',
        b'error: {"error": "no model"}\n\n',
        b"event: error\ndata: no model\n\n",
    ],
)
async def test_the_error_that_ends_a_stream_is_in_the_sentence(told: bytes) -> None:
    error = await failure_of(answering(stream_head() + event("delta", {"content": "Done"}) + told))
    assert str(error).endswith(
        "ended its stream before the complete answer, with the error: no model"
    )
    assert (error.peer, error.retryable) == ("agent", False)


@pytest.mark.parametrize(
    "last", [b"event: message\ndata: {oops\n\n", event("message", {"sessionId": "s1"})]
)
async def test_a_stream_with_a_malformed_last_event_is_not_retried(last: bytes) -> None:
    error = await failure_of(answering(stream_head() + last))
    assert not error.retryable


async def test_a_silent_agent_times_out_and_is_not_retried() -> None:
    error = await failure_of(then(silent), whole_s=0.1)
    assert "did not finish its answer within 0.1 s" in str(error)
    assert not error.retryable, "it may have been delivered"


async def test_the_first_byte_may_take_the_whole_timeout() -> None:
    assert Timeouts() == Timeouts(connect=5.0, whole=180.0)


async def test_a_pause_within_an_answer_times_out() -> None:
    async def handler(writer: asyncio.StreamWriter, number: int) -> None:
        writer.write(stream_head() + event("delta", {"content": "Do"}))
        await writer.drain()
        await asyncio.Event().wait()

    error = await failure_of(then(handler), whole_s=2.0)
    assert "did not finish its answer within 2 s" in str(error)
    assert "Do" in error.received


async def test_an_endless_trickle_times_out() -> None:
    async def handler(writer: asyncio.StreamWriter, number: int) -> None:
        writer.write(stream_head())
        while not writer.transport.is_closing():
            writer.write(b": still here\n\n")
            await writer.drain()
            await asyncio.sleep(0.005)

    error = await failure_of(then(handler), whole_s=0.3)
    assert "did not finish its answer within 0.3 s" in str(error)


@pytest.mark.parametrize(
    "head", [stream_head(), b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"]
)
@pytest.mark.parametrize("piece", [b"x" * 100_000, b"data: {}\n" * 10_000])
async def test_an_endless_answer_is_cut_off(head: bytes, piece: bytes) -> None:
    sent = 0

    async def handler(writer: asyncio.StreamWriter, number: int) -> None:
        nonlocal sent
        writer.write(head)
        while not writer.transport.is_closing():
            writer.write(piece)
            sent += len(piece)
            await writer.drain()

    error = await failure_of(then(handler))
    assert "5,000,000 bytes" in str(error)
    assert not error.retryable
    assert sent < 3 * MAX_ANSWER_BYTES


async def test_a_compressed_answer_is_refused() -> None:
    error = await failure_of(answering(http(b"\x1f\x8b bomb", extra="Content-Encoding: gzip\r\n")))
    assert "sent Content-Encoding: gzip, although it was asked for none" in str(error)
    assert not error.disagrees, "without a proxy, nobody else can have done it"


async def test_a_server_that_does_not_speak_http_is_reported() -> None:
    error = await failure_of(answering(b"SSH-2.0-OpenSSH_9.2\r\n"))
    assert str(error).endswith("does not speak HTTP as expected: Bad status line")
    assert not error.retryable


async def test_closing_a_stream_early_closes_the_connection() -> None:
    started = asyncio.Event()

    async def handler(writer: asyncio.StreamWriter, number: int) -> None:
        writer.write(stream_head() + event("delta", {"content": "Do"}))
        await writer.drain()
        started.set()

    async with raw_server(then(handler)) as seen:
        agent = agent_at(seen)
        await agent.open()
        seen.closed.clear()

        async def read(pieces: AsyncIterator[Any]) -> None:
            async for _ in pieces:
                await asyncio.Event().wait()

        task = asyncio.create_task(read(agent.send("Hello")))
        await started.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await agent.aclose()
        async with asyncio.timeout(5):
            await seen.closed.wait()


async def test_cancelling_before_the_first_byte_closes_the_connection() -> None:
    asked = asyncio.Event()

    async def handler(writer: asyncio.StreamWriter, number: int) -> None:
        asked.set()
        await asyncio.Event().wait()

    async with raw_server(then(handler)) as seen:
        agent = agent_at(seen)
        await agent.open()
        task = asyncio.create_task(anext(agent.send("Hello")))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await agent.aclose()
        await agent.aclose()


@pytest.mark.parametrize("status", ["404 Not Found", "405 Method Not Allowed"])
async def test_an_agent_without_an_object_context_has_none(status: str) -> None:
    async with raw_server(answering(http(b"{}", status))) as seen:
        agent = agent_at(seen)
        await agent.open()
        assert await agent.observe() is None
        await agent.aclose()
    assert seen.requests[1].startswith(b"GET /api/v1/chat/objectContexts/s1 ")


async def test_an_object_context_is_cleaned() -> None:
    context = {"context": "c", "resources": [{"name": "\x1b[31mred"}], "functions": []}
    async with raw_server(answering(http(json.dumps(context).encode()))) as seen:
        agent = agent_at(seen)
        await agent.open()
        assert await agent.observe() == {
            "context": "c",
            "resources": [{"name": "␛red"}],
            "functions": [],
        }
        await agent.aclose()


async def test_an_agent_that_takes_no_seed_texts_is_reported() -> None:
    async def handler(writer: asyncio.StreamWriter, number: int) -> None:
        writer.write(http(b"ok") if number == 1 else http(b"", "404 Not Found"))

    async with raw_server(handler) as seen:
        agent = rest_agent(
            "http://127.0.0.1:9", user="a/b", chatbot="b", model="m", knowledge_url=seen.url
        )
        with pytest.raises(PeerError, match="does not accept texts") as raised:
            await agent.seed_text("x")
        await agent.aclose()
    assert raised.value.peer == "knowledge"
    assert seen.requests[1].startswith(b"PUT /api/v1/graphs/a%2Fb/documents ")
    graph = json.loads(seen.requests[0].partition(b"\r\n\r\n")[2])
    assert set(graph) == {"name", "description", "schemaName", "id"}
    assert graph["schemaName"] == "personal"


async def test_a_session_without_an_id_is_refused() -> None:
    async def handler(writer: asyncio.StreamWriter, number: int) -> None:
        writer.write(http(b'{"id": 5}'))

    async with raw_server(handler) as seen:
        agent = agent_at(seen)
        with pytest.raises(PeerError, match="without a sessionId"):
            await agent.open()
        await agent.aclose()


@pytest.mark.parametrize(
    "url", ["ftp://x", "http://", "nonsense", "http://[::1", "http://host:99999999"]
)
async def test_an_invalid_url_is_one_sentence(url: str) -> None:
    agent = rest_agent(url, user="a", chatbot="b", model="m")
    with pytest.raises(PeerError) as raised:
        await agent.open()
    await agent.aclose()
    assert not raised.value.retryable


async def test_a_password_in_the_url_is_never_shown() -> None:
    agent = rest_agent("http://user:hunter2@127.0.0.1:9", user="a", chatbot="b", model="m")
    with pytest.raises(PeerError) as raised:
        await agent.open()
    await agent.aclose()
    assert "hunter2" not in str(raised.value)


def test_a_key_that_cannot_be_sent_in_a_header_is_an_input_error() -> None:
    with pytest.raises(UsageError, match="X-API-KEY"):
        rest_agent(
            "http://127.0.0.1:9", user="a", chatbot="b", model="m", api_key="x\r\nHost: evil"
        )

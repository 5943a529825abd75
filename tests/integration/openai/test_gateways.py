"""What servers and gateways were seen to send, read as an agent and as a model: each recording of
`golden/gateways`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from bioeval_tui.jobs.models import ModelOptions
from bioeval_tui.peers.models.model import ChatModel, ChatRequest
from bioeval_tui.protocols import Delta, PeerError, Reply
from bioeval_tui.record.tool_calls import transcript_calls
from tests.servers import openai_server as srv
from tests.servers.agents import chat_agent

FOLDER = Path(__file__).parents[2] / "golden" / "gateways"
RECORDINGS: list[dict[str, Any]] = yaml.safe_load((FOLDER / "index.yaml").read_text("utf-8"))
EACH = pytest.mark.parametrize(
    "recording", [pytest.param(each, id=each["file"].removesuffix(".sse")) for each in RECORDINGS]
)


@dataclass(frozen=True)
class Read:
    """What was read of a recording."""

    text: str
    calls: list[tuple[str, Any]]
    reasoning: str
    tokens: tuple[int | None, int | None]


def expected(recording: dict[str, Any]) -> Read:
    tokens_in, tokens_out = recording["tokens"] or (None, None)
    calls = [(name, arguments) for name, arguments in recording.get("calls", ())]
    return Read(recording["text"], calls, recording.get("reasoning", ""), (tokens_in, tokens_out))


def sent(recording: dict[str, Any], size: int = 0, *, crlf: bool = False) -> srv.Answer:
    """Return an answer with a recording's bytes; with `crlf`, each of its lines ends with CRLF."""
    data = (FOLDER / recording["file"]).read_bytes()
    if crlf and b"\r" not in data:
        data = data.replace(b"\n", b"\r\n")
    return srv.in_pieces(data, recording.get("content_type", "text/event-stream"), size)


async def read_as_agent(url: str, recording: dict[str, Any]) -> Read:
    options = {key: recording[key] for key in ("api", "streaming") if key in recording}
    agent = chat_agent(url, model="m", **options)
    try:
        *pieces, reply = [piece async for piece in agent.send("Hi")]
    finally:
        await agent.aclose()
    assert isinstance(reply, Reply)
    assert reply.cut_off == (recording["finish"] == "length")
    shown = "".join(piece.text for piece in pieces if isinstance(piece, Delta))
    assert shown in ("", reply.content), "a refusal is not shown before it is whole"
    thoughts = [event["reasoning"] for event in reply.generation if "reasoning" in event]
    assert len(thoughts) <= 1, "an event for each piece of a thought would bury the calls"
    made = transcript_calls([{"role": "assistant", "events": reply.generation}])
    calls = [(call.name, call.arguments) for call in made]
    return Read(reply.content, calls, "".join(thoughts), (reply.tokens_in, reply.tokens_out))


async def read_as_model(url: str, recording: dict[str, Any]) -> Read:
    chat = ChatModel("judge", api_key="k", base_url=url, api=recording.get("api", "chat"))
    options = ModelOptions(streaming=recording.get("streaming", True))
    try:
        answer = await chat.complete(ChatRequest("m", [{"role": "user", "content": "Hi"}], options))
    finally:
        await chat.aclose()
    assert answer.finish == recording["finish"]
    streams = options.streaming and "json" not in recording.get("content_type", "")
    assert (answer.first_token is not None) == (streams and bool(answer.content))
    calls = [(call.name, call.arguments) for call in answer.tool_calls]
    text = answer.content or answer.refusal
    return Read(text, calls, answer.reasoning, (answer.tokens_in, answer.tokens_out))


WAYS = [(0, False), (0, True), (1, True), (7, False)]
"""How recordings are sent: whole, each byte alone, in pieces of seven; as they are, and with the
other ends of lines. That a stream may be cut anywhere, `unit/peers/http/test_sse.py` shows.
"""


@pytest.mark.parametrize(
    "ways",
    [
        pytest.param([(0, False), (1, True)], marks=pytest.mark.part, id="some"),
        pytest.param(WAYS, marks=pytest.mark.long, id="all"),
    ],
)
@EACH
async def test_an_agent_is_read_as_its_server_meant(
    server: srv.OpenAIServer, recording: dict[str, Any], ways: list[tuple[int, bool]]
) -> None:
    for size, crlf in ways:
        server.will(sent(recording, size, crlf=crlf))
        if "error" not in recording:
            read = await read_as_agent(server.url, recording)
            assert read == expected(recording), (size, crlf)
            continue
        with pytest.raises(PeerError) as caught:
            await read_as_agent(server.url, recording)
        require_blame(caught.value, server, recording, "agent")


@EACH
async def test_a_model_is_read_as_its_server_meant(
    server: srv.OpenAIServer, recording: dict[str, Any]
) -> None:
    server.will(sent(recording))
    if "error" not in recording:
        assert await read_as_model(server.url, recording) == expected(recording)
        return
    with pytest.raises(PeerError) as caught:
        await read_as_model(server.url, recording)
    require_blame(caught.value, server, recording, "judge")


def require_blame(
    error: PeerError, server: srv.OpenAIServer, recording: dict[str, Any], peer: str
) -> None:
    """Assert that a sentence names the host and what it sent, and that the error is the peer's."""
    assert recording["error"] in str(error)
    assert server.url.split("/")[2] in str(error)
    assert error.peer == peer


def test_every_recording_is_in_the_index_with_its_source() -> None:
    assert {each["file"] for each in RECORDINGS} == {path.name for path in FOLDER.glob("*.sse")}
    assert all(each["source"].startswith("https://") for each in RECORDINGS)
    assert len(RECORDINGS) >= 40

"""Every door to which others send is flooded with bytes, depth, elements and text that is slow to
read.

Nothing takes more than its share of memory and processor time, no run breaks, and the party that
flooded is named. The sizes are those of `bioeval_tui.base.peer_limits`. Time is this process's
processor time, with the peer's own in it.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import resource
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.peer_limits import (
    MAX_INTENT,
    MAX_LINE,
    MAX_OTLP_BODY,
    MAX_TAB_MESSAGE,
)
from bioeval_tui.evaluation.conversation.control import Control
from bioeval_tui.evaluation.conversation.intents import listen, send_intent
from bioeval_tui.evaluation.engine.span_receiver import receive_spans
from bioeval_tui.evaluation.wiring.doctor import model_finding
from bioeval_tui.peers import traces
from bioeval_tui.peers.traces import ConversationTraces, Traces
from bioeval_tui.record import events
from bioeval_tui.record.importing.into_runs import import_file
from bioeval_tui.record.runs import LiveInfo
from tests.integration.test_serve import Served, served, ticket
from tests.servers.rest_agent import RestAgentServer
from tests.servers.whole_runs import WholeRun, hold, with_models

CPU_S = 12.0
"""The usual is below 3 s, with the server's own part."""
MEMORY_MB = 400
MB = 1 << 20
FLOODS = {
    "bytes": (b'"' + b"x" * MB, 60),
    "depth": (b"[" * 200_000 + b"]" * 200_000, 1),
    "elements": (b"[" + b"0," * 1_500_000 + b"0]", 1),
    "objects": (b"[" + b"{}," * 900_000 + b"{}]", 1),
    "slow to read": (b'*"_`[<think>{"a":' * 250_000, 1),
    # 2 MB in small events; that more bytes than an answer may have are not read at all, whatever
    # they are, the first and `tests/faults` show.
    "events": (b'data: {"type":"CUSTOM","choices":[]}\n\n' * 25_000, 2),
}
"""What is sent, and how many times."""
EACH = [
    pytest.param(name, marks=pytest.mark.long if name in ("bytes", "events") else ())
    for name in FLOODS
]
AGENTS = {
    "rest": "",
    "openai": "protocol: openai, model: m, ",
    "responses": "protocol: openai, model: m, api: responses, ",
    "a2a": "protocol: a2a, ",
    "ag-ui": "protocol: ag-ui, ",
}
JOB = """
target: {{user: ada, chatbot: bot, {target}timeoutMs: 30000}}
facts: []
aspirationalAverage: 1000
greetings: [Hello]
tasks: [{{task: note it, rules: [{{pattern: note}}]}}]
evaluator: {evaluator}
scorer: {{kind: {scorer}}}
"""
SCRIPTED = "{kind: scripted, lines: [{say: Please note it.}]}"


@asynccontextmanager
async def flooding(name: str) -> AsyncIterator[str]:
    """Serve the flood at every path, as JSON or as a stream, whichever the other side asks for;
    gives the URL.
    """
    piece, times = FLOODS[name]

    async def answer(request: web.Request) -> web.StreamResponse:
        await request.read()
        is_stream = "event-stream" in request.headers.get("Accept", "") or name == "events"
        kind = "text/event-stream" if is_stream else "application/json"
        response = web.StreamResponse(headers={"Content-Type": kind})
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await response.prepare(request)
            if is_stream and name != "events":
                await response.write(b"data: ")
            for _ in range(times):
                await response.write(piece)
            await response.write(b"\n\n")
        return response

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


def peak_mb() -> float:
    """Return the most memory that this process has taken so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        MB if sys.platform == "darwin" else 1024
    )


@contextmanager
def within_budget() -> Iterator[None]:
    """Fail if the block takes more processor time or memory than any flood may."""
    busy, before = time.process_time(), peak_mb()
    yield
    assert time.process_time() - busy < CPU_S
    assert peak_mb() - before < MEMORY_MB


def blamed(run: WholeRun) -> set[str]:
    """Return who is at fault in the conversations, none of which is a bug of this program."""
    faults = set()
    for talk in run.state.conversations.values():
        assert talk.score is not None
        assert "bug" not in f"{talk.score.reason} {talk.ended.detail if talk.ended else ''}"
        faults.add(talk.fault or "none")
    assert run.state.ended is not None
    return faults


@pytest.mark.parametrize("flood", EACH)
@pytest.mark.parametrize("protocol", AGENTS)
async def test_an_agent_that_floods_fails_and_nothing_else_does(
    protocol: str, flood: str, tmp_path: Path
) -> None:
    text = JOB.format(target=AGENTS[protocol], evaluator=SCRIPTED, scorer="rules")
    async with flooding(flood) as url:
        with within_budget():
            run = await hold(
                text,
                tmp_path,
                settings=with_models(url),
                agent_url=url,
                conditions=("withheld",),
                graph="none",
            )
    assert blamed(run) == {"agent"}


@pytest.mark.parametrize("flood", EACH)
@pytest.mark.parametrize("role", ["evaluator", "judge"])
async def test_a_model_that_floods_costs_its_own_part_of_the_conversation(
    role: str, flood: str, tmp_path: Path
) -> None:
    evaluator, scorer = (
        ("{kind: llm, model: m}", "rules") if role == "evaluator" else (SCRIPTED, "llm, model: m")
    )
    text = JOB.format(target="", evaluator=evaluator, scorer=scorer)
    async with flooding(flood) as url, RestAgentServer(answer_s=0.0) as agent:
        with within_budget():
            run = await hold(
                text,
                tmp_path,
                settings=with_models(url),
                agent_url=agent.url,
                conditions=("withheld",),
                graph="none",
            )
    assert "agent" not in blamed(run)
    assert run.result["conditions"]["withheld"]["score"] is None


@pytest.mark.parametrize("flood", EACH)
async def test_a_list_of_models_that_floods_is_one_sentence(flood: str) -> None:
    async with flooding(flood) as url:
        with within_budget():
            found = await asyncio.to_thread(model_finding, "model", url, None, ["m"])
    assert found.state != "works"
    assert len(found.said) < 500


@pytest.mark.parametrize("flood", EACH)
@pytest.mark.parametrize("kind", ["application/json", "application/x-protobuf"])
async def test_spans_that_flood_are_refused(flood: str, kind: str) -> None:
    piece, times = FLOODS[flood]
    body = (piece * times)[: 4 * MAX_OTLP_BODY]
    with within_budget():
        async with receive_spans(0, Traces()) as address, aiohttp.ClientSession() as client:
            for _ in range(3):
                with contextlib.suppress(aiohttp.ClientError):  # closed before all of it was read
                    async with client.post(
                        f"{address}/v1/traces",
                        data=io.BytesIO(body),
                        headers={"Content-Type": kind},
                    ) as answer:
                        assert 400 <= answer.status < 500


def otlp(trace_id: bytes, first: int, spans: int, parts: int, text: str) -> bytes:
    """Return a request with spans of a trace, each with as many empty events and links, and an
    attribute.
    """
    request = ExportTraceServiceRequest()
    into = request.resource_spans.add().scope_spans.add().spans
    for number in range(first, first + spans):
        span = into.add(trace_id=trace_id, span_id=number.to_bytes(8, "big"))
        for _ in range(parts):
            span.events.add()
            span.links.add()
        span.attributes.add(key="text").value.string_value = text
    return request.SerializeToString()


MAX_TRACE = 6 << 20
KNOWN = {
    "events and links": (3_000, 256, ""),
    "text": (40, 0, '"' * 100_000),
    "repeated": (45_000, 0, ""),
}


@pytest.mark.parametrize("flood", KNOWN)
async def test_spans_of_an_agents_own_trace_fill_no_disk_and_no_line(
    flood: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Full after two or three requests: up to the usual limit, ten and more would be decoded.
    monkeypatch.setattr(traces, "MAX_TRACE", MAX_TRACE)
    recorded: list[int] = []

    def emit(kind: type[events.SpansReceived], **fields: Any) -> None:
        recorded.append(
            sum(len(span.model_dump_json()) for span in fields["spans"])
            + sum(len(name) + 3 for name in fields["doubled"])
        )

    spans, parts, text = KNOWN[flood]
    own = Traces()
    trace_id = bytes.fromhex(ConversationTraces(own, emit, 0).begin(2).split("-")[1])
    firsts = range(1, 20 * spans, spans) if text else [1]
    bodies = [otlp(trace_id, first, spans, parts, text) for first in firsts]
    assert max(map(len, bodies)) < MAX_OTLP_BODY
    headers = {"Content-Type": "application/x-protobuf"}
    with within_budget():
        async with receive_spans(0, own) as address, aiohttp.ClientSession() as client:
            for body in bodies * (20 // len(bodies)):
                async with client.post(
                    f"{address}/v1/traces", data=io.BytesIO(body), headers=headers
                ) as answer:
                    assert answer.status in (200, 400, 413)
    assert max(recorded, default=0) < MAX_LINE
    assert sum(recorded) < 3 * MAX_TRACE


@pytest.mark.parametrize("flood", EACH)
@pytest.mark.parametrize("name", ["talk.json", "talk.jsonl", "run.jsonl"])
def test_a_file_that_floods_is_refused_in_one_sentence(
    flood: str, name: str, tmp_path: Path
) -> None:
    piece, times = FLOODS[flood]
    file = tmp_path / name
    with file.open("wb") as out:
        out.write(b'{"messages": ' if name == "talk.jsonl" else b"")
        for _ in range(times):
            out.write(piece)
    with within_budget(), pytest.raises(BioevalError) as refused:
        import_file(file, tmp_path / "runs")
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize("flood", EACH)
async def test_commands_that_flood_close_their_own_connection_only(flood: str) -> None:
    piece, times = FLOODS[flood]
    control = Control()
    with within_budget():
        async with listen(control) as (port, token):
            for begin in (b"", b'{"token": "' + token.encode() + b'"}\n'):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                with contextlib.suppress(ConnectionError):
                    writer.write(begin + (piece * times)[: 50 * MAX_INTENT] + b"\n")
                    await asyncio.gather(writer.drain(), reader.read(MAX_INTENT))
                writer.close()
            assert await send_intent(LiveInfo(1, "", port, token), "resume") is None
    assert not control.all_cancelled


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A web view without runs, which all floods meet: none of them may end it."""
    folder = tmp_path_factory.mktemp("view")
    (folder / "runs").mkdir()
    with served(folder) as server:
        yield server


@pytest.mark.parametrize("flood", EACH)
async def test_the_web_view_refuses_a_flood(flood: str, view: Served) -> None:
    piece, times = FLOODS[flood]
    body = (piece * times)[: 8 * MB]
    own = f"http://127.0.0.1:{view.port}"
    async with aiohttp.ClientSession() as client:
        for method, path in (("POST", "/"), ("PUT", "/ws/x"), ("GET", "/static/boot.js")):
            with contextlib.suppress(aiohttp.ClientError):
                async with client.request(method, own + path, data=io.BytesIO(body)) as answer:
                    assert answer.status in (200, 400, 403, 404, 405, 413)
        async with client.ws_connect(f"{own}/ws/{ticket(view)}", headers={"Origin": own}) as tab:
            await tab.send_bytes(body[: 2 * MAX_TAB_MESSAGE])
            while (await tab.receive(60)).type != aiohttp.WSMsgType.CLOSE:
                pass
    assert view.process.poll() is None

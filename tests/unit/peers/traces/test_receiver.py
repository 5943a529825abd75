"""The receiver of OTLP over HTTP follows the specification."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
from collections.abc import AsyncIterator

import aiohttp
import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from bioeval_tui.base.errors import UsageError
from bioeval_tui.evaluation.engine import span_receiver
from bioeval_tui.evaluation.engine.span_receiver import receive_spans
from bioeval_tui.formats import AgentSpan
from bioeval_tui.peers.traces import Traces

PROTOBUF, JSON = "application/x-protobuf", "application/json"
TRACE, SPAN, PARENT = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174", "eee19b7ec3c1b173"
# The example of the specification's JSON, with a tool call in it and a field that nobody knows.
EXAMPLE = f"""
{{"resourceSpans": [{{"resource": {{"attributes": [{{"key": "service.name", \
"value": {{"stringValue": "my.service"}}}}]}},
  "scopeSpans": [{{"scope": {{"name": "my.library", "version": "1.0.0"}}, "spans": [
    {{"traceId": "{TRACE.upper()}", "spanId": "{SPAN}", "parentSpanId": "{PARENT}", \
"name": "I'm a server span",
     "startTimeUnixNano": "1544712660000000000", "endTimeUnixNano": 1544712661000000000, \
"kind": 2, "newField": 1,
     "status": {{"code": 2, "message": "it broke"}},
     "events": [{{"name": "exception", "timeUnixNano": "1544712660500000000", "attributes": []}}],
     "attributes": [{{"key": "n", "value": {{"intValue": "9007199254740993"}}}},
       {{"key": "many", "value": {{"arrayValue": {{"values": [{{"boolValue": true}}, \
{{"doubleValue": 0.5}}]}}}}}},
       {{"key": "raw", "value": {{"bytesValue": "AAE="}}}}, {{"key": "\\u001b[2J", \
"value": {{"stringValue": "\\u001b[2Jx"}}}}]}}]}}]}}]}}
"""


class World:
    def __init__(self, address: str) -> None:
        self.url = address + "/v1/traces"
        self.traces = Traces()
        self.spans: list[AgentSpan] = []

    def take(self, spans: object, size: int) -> int:
        self.spans += spans  # type: ignore[operator]
        return 0

    async def post(
        self, body: bytes | AsyncIterator[bytes], kind: str = PROTOBUF, **headers: str
    ) -> tuple[int, str, bytes]:
        async with (
            aiohttp.ClientSession() as client,
            client.post(
                self.url,
                data=io.BytesIO(body) if isinstance(body, bytes) else body,
                headers={"Content-Type": kind, **headers},
            ) as response,
        ):
            return response.status, response.content_type, await response.read()


@pytest.fixture
async def world() -> AsyncIterator[World]:
    traces = Traces()
    async with receive_spans(0, traces) as address:
        made = World(address)
        made.traces = traces
        traces.begin(TRACE, made.take)
        yield made


def as_protobuf(*ids: tuple[bytes, bytes]) -> bytes:
    request = ExportTraceServiceRequest()
    for trace_id, span_id in ids:
        request.resource_spans.add().scope_spans.add().spans.add(
            trace_id=trace_id, span_id=span_id, name="x"
        )
    return request.SerializeToString()


async def test_otlp_json_is_read_as_specified(world: World) -> None:
    status, kind, body = await world.post(EXAMPLE.encode(), JSON)
    assert (status, kind, body) == (200, JSON, b"{}")
    (span,) = world.spans
    assert (span.trace_id, span.span_id, span.parent_id) == (TRACE, SPAN, PARENT)
    assert (span.kind, span.status, span.status_message, span.duration_ms) == (
        "server",
        "error",
        "it broke",
        1000,
    )
    assert (span.service, span.scope) == ("my.service", "my.library")
    assert span.attributes["n"] == 9007199254740993
    assert span.attributes["many"] == [True, 0.5]
    assert span.attributes["raw"] == "AAE="
    assert "\x1b" not in str(span.attributes)
    assert span == AgentSpan.model_validate_json(span.model_dump_json())


async def test_protobuf_is_answered_in_protobuf_compressed_or_not(world: World) -> None:
    body = as_protobuf((bytes.fromhex(TRACE), bytes.fromhex(SPAN)))
    for sent, headers in ((body, {}), (gzip.compress(body), {"Content-Encoding": "gzip"})):
        status, kind, answer = await world.post(sent, PROTOBUF, **headers)
        assert (status, kind) == (200, PROTOBUF)
        assert not ExportTraceServiceResponse.FromString(answer).HasField("partial_success")
    assert [span.span_id for span in world.spans] == [SPAN, SPAN]


@pytest.mark.parametrize("kind", [PROTOBUF, JSON])
async def test_rejected_spans_are_counted_in_the_response(world: World, kind: str) -> None:
    body = as_protobuf(
        (bytes.fromhex(TRACE), bytes.fromhex(SPAN)),
        (b"\1" * 16, b"\1" * 8),
        (bytes(16), b"\1" * 8),
        (b"x", b""),
    )
    if kind == JSON:
        told = json_format.MessageToJson(ExportTraceServiceRequest.FromString(body))
        body = (
            told.replace("W47/95gDgQPSabYzgT/GDA==", TRACE).replace("7uGbfsPBsXQ=", SPAN).encode()
        )
        body = body.replace(b"AQEBAQEBAQEBAQEBAQEBAQ==", b"01" * 16).replace(
            b"AQEBAQEBAQE=", b"01" * 8
        )
        body = body.replace(b"AAAAAAAAAAAAAAAAAAAAAA==", b"00" * 16).replace(b"eA==", b"78")
    status, _, answer = await world.post(body, kind)
    response = ExportTraceServiceResponse()
    told_back = (
        json_format.Parse(answer, response)
        if kind == JSON
        else ExportTraceServiceResponse.FromString(answer)
    )
    assert status == 200
    assert told_back.partial_success.rejected_spans == 3
    assert "2 spans without a valid trace or span id; 1 span of other traces" in (
        told_back.partial_success.error_message
    )
    assert (len(world.spans), world.traces.unknown) == (1, 1)


@pytest.mark.parametrize(
    ("body", "kind", "headers", "status", "words"),
    [
        (b"\xff\xff", PROTOBUF, {}, 400, b"not an ExportTraceServiceRequest in protobuf"),
        (b"{", JSON, {}, 400, b"not an ExportTraceServiceRequest in JSON"),
        (
            b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "xyz"}, {"traceId":'
            b' "%s"}]}]}]}' % TRACE.encode(),
            JSON,
            {},
            400,
            b"in JSON",
        ),
        (b'["%s", ' % TRACE.encode() + b"[" * 100_000, JSON, {}, 400, b"in JSON"),
        (
            b'["%s"' % TRACE.encode() + b", {}" * 300_000 + b"]",
            JSON,
            {},
            400,
            b"more than 200,000 lists",
        ),
        (b"no gzip", PROTOBUF, {"Content-Encoding": "gzip"}, 400, b""),
        (b"a: 1", "application/yaml", {}, 415, b"send application/x-protobuf or application/json"),
        (
            gzip.compress(bytes(span_receiver.MAX_OTLP_BODY + 1)),
            PROTOBUF,
            {"Content-Encoding": "gzip"},
            413,
            b"larger than",
        ),
    ],
    ids=["protobuf", "JSON", "id", "nested", "many", "gzip", "kind", "bomb"],
)
async def test_an_unreadable_request_is_refused_with_one_sentence(
    world: World, body: bytes, kind: str, headers: dict[str, str], status: int, words: bytes
) -> None:
    found, _, answer = await world.post(body, kind, **headers)
    assert found == status
    assert words in answer
    assert await world.post(b"") == (200, PROTOBUF, b""), "the next request is served"


FOREIGN = as_protobuf(*((b"\1" * 16, b"\1" * 8) for _ in range(10_000)))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (FOREIGN, PROTOBUF),
        (as_protobuf((b"\1" * 16, b"\1" * 8)), PROTOBUF),
        (b"\x0a\x10" * (span_receiver.MAX_OTLP_BODY // 2), PROTOBUF),
        (EXAMPLE.replace(TRACE.upper(), "01" * 16).encode(), JSON),
        (b'{"resourceSpans": [' + b'{"scopeSpans":[]},' * 220_000 + b"{}]}", JSON),
        (b'"' + b"01" * 16 + b'"' + b'"0' * 1_000_000, JSON),
    ],
    ids=["many spans", "one span", "many ids", "one span in JSON", "many lists", "many texts"],
)
@pytest.mark.parametrize("packed", [False, True])
async def test_a_request_without_the_id_of_a_trace_is_refused_and_not_decoded(
    world: World, monkeypatch: pytest.MonkeyPatch, body: bytes, kind: str, packed: bool
) -> None:
    monkeypatch.setattr(span_receiver, "decode", None)
    headers = {"Content-Encoding": "gzip"} if packed else {}
    status, _, answer = await world.post(
        gzip.compress(body, 1) if packed else body, kind, **headers
    )
    assert status == 403
    assert b"no span belongs to a message of a run" in answer
    assert (world.traces.refused, world.spans) == (1, [])


async def in_pieces(body: bytes, step: int) -> AsyncIterator[bytes]:
    for at in range(0, len(body), step):
        yield body[at : at + step]


async def test_spans_are_found_wherever_they_are_in_a_request(world: World) -> None:
    mine = as_protobuf((bytes.fromhex(TRACE), bytes.fromhex(SPAN)))
    for size in (0, 1, 2, 1000):
        other = as_protobuf(*((bytes([n % 200 + 10]) * 16, b"\1" * 8) for n in range(size)))

        whole, step = other + mine, 7 if size < 10 else 5_000
        status, _, _ = await world.post(in_pieces(whole, step))
        assert status == 200
    assert [span.span_id for span in world.spans] == [SPAN] * 4


async def test_requests_of_strangers_share_little_memory_and_block_nobody(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(span_receiver, "MAX_OTLP_STRANGERS", 300_000)
    port = int(world.url.split(":")[2].split("/")[0])
    head = (
        f"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: {PROTOBUF}\r\nContent-Length:"
        " 200000\r\n\r\n"
    )
    held = []
    for _ in range(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head.encode() + bytes(100_000))
        await writer.drain()
        held.append((reader, writer))
    for reader, _ in held[:5]:
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
    assert (await world.post(EXAMPLE.encode(), JSON))[0] == 200
    for _, writer in held:
        writer.close()


async def test_half_sent_requests_block_nobody_and_fill_no_log(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    port = int(world.url.split(":")[2].split("/")[0])
    half = (
        b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length:"
        b" 9\r\n\r\n{"
    )
    held = []
    for number in range(3 * span_receiver.MOST_OTLP_CONNECTIONS):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(half if number % 2 else b"POST /v1")
        held.append(writer)
    assert (await world.post(EXAMPLE.encode(), JSON))[0] == 200
    assert caplog.records == []
    for writer in held:
        writer.close()


async def test_a_port_in_use_is_reported() -> None:
    async with receive_spans(0, Traces()) as address:
        with pytest.raises(UsageError, match="give --otlp another port"):
            async with receive_spans(int(address.rpartition(":")[2]), Traces()):
                pass

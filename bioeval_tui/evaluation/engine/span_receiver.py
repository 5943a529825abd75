"""The receiver of spans: OTLP over HTTP on 127.0.0.1, protobuf or JSON, gzip or not, →
`AgentSpan`s.

Its answers follow the OTLP specification: a valid request is answered with 200 and, if spans of it
were rejected, their number and the reason; anything else with a `Status`, in the format of the
request. JSON is read through the same protobuf message, so that there is one way from OTLP to a
span.

Every user of the machine can reach the port. A token in the endpoint would have to be given to
agents that are started before the run and are set to a fixed endpoint, but each agent is told
something that nobody else knows: the ids of its traces, 128 random bits. A request without one of
them, anywhere in its bytes, is refused (403) before anything is decoded. Bodies are searched as
they arrive, in small pieces, and those without a known id together take at most
`MAX_OTLP_STRANGERS`. Requests are decoded one after another, in a thread, and are too small to hold
the conversations up.
"""

from __future__ import annotations

import asyncio
import base64
import re
import socket
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from itertools import chain, islice
from typing import Any

from aiohttp import web
from google.protobuf import json_format
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2

from bioeval_tui.base.admission import BACKLOG, Admission, AdmissionLimits, serve_app, why_not_bound
from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.peer_limits import (
    MAX_OTLP_BODY,
    MAX_OTLP_STRANGERS,
    MAX_OTLP_WAITING,
    MAX_SPAN_DEPTH,
    MAX_SPAN_VALUE,
    MAX_TRACE,
    MOST_OTLP_CONNECTIONS,
    MOST_OTLP_CONTAINERS,
    MOST_OTLP_IDS,
    MOST_OTLP_PARTS,
    MOST_SPAN_ATTRIBUTES,
)
from bioeval_tui.base.text import clean_line, clean_value, parse_json, plural
from bioeval_tui.peers.traces import Traces
from bioeval_tui.record.agent_span import AgentSpan

_ID_KEYS = {"traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id"}
_STATUS = {trace_pb2.Status.STATUS_CODE_OK: "ok", trace_pb2.Status.STATUS_CODE_ERROR: "error"}


def decode(body: bytes, *, is_json: bool) -> tuple[list[AgentSpan], int]:
    """Return the spans of a request, and the number of invalid ones (without a valid id or name).

    Raises:
        ValueError: the body is not such a request.
    """
    request = ExportTraceServiceRequest()
    try:
        if is_json:
            if body.count(b"{") + body.count(b"[") > MOST_OTLP_CONTAINERS:
                raise ValueError(f"more than {MOST_OTLP_CONTAINERS:,} lists and objects")
            json_format.ParseDict(
                _protobuf_json(parse_json(body)), request, ignore_unknown_fields=True
            )
        else:
            request.ParseFromString(body)
            if _parts(request) > MOST_OTLP_PARTS:
                raise ValueError(f"more than {MOST_OTLP_PARTS:,} spans, events and links")
    except (DecodeError, json_format.ParseError, ValueError, RecursionError) as error:
        kind = "JSON" if is_json else "protobuf"
        raise ValueError(
            f"the body is not an ExportTraceServiceRequest in {kind}: {clean_line(str(error), 200)}"
        ) from None
    spans: list[AgentSpan] = []
    invalid = 0
    for resource in request.resource_spans:
        service = next(
            (
                kv.value.string_value
                for kv in resource.resource.attributes
                if kv.key == "service.name"
            ),
            "",
        )
        for scope in resource.scope_spans:
            for span in scope.spans:
                if (
                    len(span.trace_id) != 16
                    or len(span.span_id) != 8
                    or not any(span.trace_id)
                    or not any(span.span_id)
                ):
                    invalid += 1
                else:
                    spans.append(
                        _span(span, clean_line(service, 200), clean_line(scope.scope.name, 200))
                    )
    return spans, invalid


def _parts(request: ExportTraceServiceRequest) -> int:
    scopes = chain.from_iterable(resource.scope_spans for resource in request.resource_spans)
    spans = chain.from_iterable(scope.spans for scope in scopes)
    return sum(1 + len(span.events) + len(span.links) for span in spans)


def _span(span: trace_pb2.Span, service: str, scope: str) -> AgentSpan:
    # Built without validation, which would take as long as everything else: the decoder has checked
    # the values.
    return AgentSpan.model_construct(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex() if len(span.parent_span_id) == 8 else "",
        name=clean_line(span.name, 500),
        kind=_KINDS.get(span.kind, ""),
        service=service,
        scope=scope,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        status=_STATUS.get(span.status.code, "unset"),
        status_message=clean_line(span.status.message, 2_000),
        attributes=_attributes(span.attributes),
        events=tuple(
            {
                "name": clean_line(event.name, 200),
                "time_ns": event.time_unix_nano,
                "attributes": _attributes(event.attributes),
            }
            for event in span.events[:MOST_SPAN_ATTRIBUTES]
        ),
        links=tuple(
            {
                "trace_id": link.trace_id.hex(),
                "span_id": link.span_id.hex(),
                "attributes": _attributes(link.attributes),
            }
            for link in span.links[:MOST_SPAN_ATTRIBUTES]
        ),
    )


_KINDS = {
    value: name.removeprefix("SPAN_KIND_").lower()
    for name, value in trace_pb2.Span.SpanKind.items()
    if value
}


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    kept = {
        pair.key: _value(pair.value)
        for pair, _ in zip(pairs, range(MOST_SPAN_ATTRIBUTES), strict=False)
    }
    cleaned: dict[str, Any] = clean_value(kept, MAX_SPAN_VALUE)
    return cleaned


def _value(value: AnyValue, depth: int = 0) -> Any:
    """Return a value as JSON."""
    match value.WhichOneof("value"):
        case "string_value":
            return value.string_value
        case "int_value":
            return value.int_value
        case "bool_value":
            return value.bool_value
        case "double_value":
            number = value.double_value
            if abs(number) < float("inf"):
                return number
            return str(number)
        case "array_value" if depth < MAX_SPAN_DEPTH:
            return [_value(item, depth + 1) for item in value.array_value.values]
        case "kvlist_value" if depth < MAX_SPAN_DEPTH:
            return {pair.key: _value(pair.value, depth + 1) for pair in value.kvlist_value.values}
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        case _:
            return None


def _protobuf_json(value: Any) -> Any:
    """Return OTLP's JSON in protobuf's form, where ids are base64 instead of hexadecimal."""
    if isinstance(value, dict):
        return dict(_protobuf_pairs(value))
    if isinstance(value, list):
        return [_protobuf_json(item) for item in value]
    return value


def _protobuf_pairs(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if key in _ID_KEYS and isinstance(item, str):
            yield key, base64.b64encode(bytes.fromhex(item)).decode()
        else:
            yield key, _protobuf_json(item)


PATH = "/v1/traces"
PROTOBUF, JSON = "application/x-protobuf", "application/json"
_SMALLEST = 32
"""A smaller request has no span, but may be an empty one or a probe."""
_IDS = {
    PROTOBUF: re.compile(rb"(?=\x0a\x10(.{16}))", re.DOTALL),  # field 1, 16 bytes
    JSON: re.compile(rb'"([0-9a-fA-F]{32})(?=")'),
}
_LONGEST = 34
"""Bytes of an id between its marks: so many of a piece are searched again with the next one, which
may have the rest of an id.
"""
BODY_S = 30.0
_INVALID_ARGUMENT = 3
"""The code of google.rpc.Code."""


class _TooMuchError(Exception):
    """A request is not read to its end; the text says why."""


_TOO_LARGE = f"the body is larger than {MAX_OTLP_BODY:,} bytes"


class SpanReceiver:
    """The routes. Valid spans are passed to `traces` in the same event loop."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces
        self._decoding = asyncio.Lock()
        self._waiting = 0
        self._strangers: dict[asyncio.Transport, int] = {}
        self.admission: Admission | None = None

    def application(self) -> web.Application:
        """Return the aiohttp application, which unpacks gzip in small pieces."""
        app = web.Application()
        app.add_routes([web.post(PATH, self._export)])
        return app

    async def _export(self, request: web.Request) -> web.Response:
        kind = request.content_type
        if kind not in (PROTOBUF, JSON):
            return _status(JSON, 415, f"send {PROTOBUF} or {JSON}")
        try:
            async with asyncio.timeout(BODY_S):
                body = await self._body(request, kind)
        except TimeoutError:
            return _status(kind, 408, f"the body did not arrive within {BODY_S:g} s")
        except _TooMuchError as error:
            return _status(kind, 413, str(error))
        except (web.RequestPayloadError, ConnectionError) as error:  # the sender is gone
            error.__traceback__ = None  # the request keeps the error, and this would keep the body
            return _status(kind, 400, "the body cannot be unpacked, or is not whole")
        if body is None:
            self._traces.refused += 1
            return _status(
                kind,
                403,
                "no span belongs to a message of a run: continue the trace of `traceparent`",
            )
        if self._waiting + len(body) > MAX_OTLP_WAITING:
            busy = _status(kind, 503, "too many spans are waiting to be read")
            busy.headers["Retry-After"] = "1"
            return busy
        self._waiting += len(body)
        try:
            # In a thread, because a large request takes a while and must not delay the
            # conversations.
            async with self._decoding:
                spans, invalid = await asyncio.to_thread(decode, body, is_json=kind == JSON)
        except ValueError as error:
            return _status(kind, 400, str(error))
        finally:
            self._waiting -= len(body)
        return _accept(kind, invalid, *self._traces.take(spans, len(body)))

    async def _body(self, request: web.Request, kind: str) -> bytes | None:
        """Return the body; None if it has no id of a trace in progress.

        Raises:
            _TooMuchError: it is larger than `MAX_OTLP_BODY`, or has only spans of traces that are
                full.
        """
        transport = request.transport
        if not isinstance(transport, asyncio.Transport):
            raise ConnectionResetError
        if (request.content_length or 0) > MAX_OTLP_BODY:
            raise _TooMuchError(_TOO_LARGE)
        pieces: list[bytes] = []
        size, left, end, known, full = 0, MOST_OTLP_IDS, b"", False, False
        try:
            async for piece in request.content.iter_any():
                size += len(piece)
                if size > MAX_OTLP_BODY:
                    raise _TooMuchError(_TOO_LARGE)
                pieces.append(piece)
                if known:
                    continue
                searched = end + piece
                found = [match[1] for match in islice(_IDS[kind].finditer(searched), left)]
                left, end = left - len(found), searched[-_LONGEST:]
                ids = [raw.hex() if kind == PROTOBUF else raw.decode().lower() for raw in found]
                full = full or not self._traces.full.isdisjoint(ids)
                known = any(trace_id in self._traces for trace_id in ids)
                if known:
                    self._strangers.pop(transport, None)
                    if self.admission is not None:
                        # only agents that were given a trace know its id
                        self.admission.keep(transport)
                else:
                    self._make_room(transport, size)
        finally:
            self._strangers.pop(transport, None)
        if full and not known:
            raise _TooMuchError(
                f"spans of one answer are kept up to {MAX_TRACE:,} bytes of requests"
            )
        if known or size < _SMALLEST:
            return b"".join(pieces)
        return None

    def _make_room(self, transport: asyncio.Transport, size: int) -> None:
        """Note that a request without a known id has come to `size` bytes, and make room for it."""
        self._strangers[transport] = size
        while sum(self._strangers.values()) > MAX_OTLP_STRANGERS:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.abort()


def _accept(kind: str, invalid: int, unknown: int, full: int) -> web.Response:
    response = ExportTraceServiceResponse()
    if rejected := invalid + unknown + full:
        counted = (
            (invalid, "without a valid trace or span id"),
            (unknown, "of other traces"),
            (full, "more than are kept for one answer"),
        )
        why = [f"{plural(number, 'span')} {which}" for number, which in counted if number]
        partial = response.partial_success
        partial.rejected_spans, partial.error_message = rejected, "; ".join(why)
    if kind == PROTOBUF:
        return web.Response(body=response.SerializeToString(), content_type=PROTOBUF)
    if not rejected:
        return web.json_response({})
    partial = response.partial_success
    # 64-bit numbers are texts in protobuf's JSON.
    partial_json = {
        "rejectedSpans": str(partial.rejected_spans),
        "errorMessage": partial.error_message,
    }
    return web.json_response({"partialSuccess": partial_json})


def _status(kind: str, http_status: int, message: str) -> web.Response:
    """Return a failure as google.rpc.Status, which the specification asks for."""
    if kind == JSON:
        return web.json_response(
            {"code": _INVALID_ARGUMENT, "message": message}, status=http_status
        )
    # OTLP's package has no Status message; this one has the same fields with the same numbers.
    partial = ExportTracePartialSuccess(rejected_spans=_INVALID_ARGUMENT, error_message=message)
    return web.Response(body=partial.SerializeToString(), content_type=PROTOBUF, status=http_status)


@asynccontextmanager
async def receive_spans(port: int, traces: Traces) -> AsyncIterator[str]:
    """Receive spans on 127.0.0.1 while the block runs; yields the URL for
    OTEL_EXPORTER_OTLP_ENDPOINT.

    Port 0 chooses a free one.

    Raises:
        UsageError: the port is taken.
    """
    try:
        listener = socket.create_server(("127.0.0.1", port), backlog=BACKLOG)
    except OSError as error:
        raise UsageError(
            f"spans cannot be received on port {port} of 127.0.0.1: {why_not_bound(error)}; "
            "give --otlp another port, and the agent the same in OTEL_EXPORTER_OTLP_ENDPOINT"
        ) from None
    receiver = SpanReceiver(traces)
    limits = AdmissionLimits(admitted=MOST_OTLP_CONNECTIONS)
    async with serve_app(receiver.application(), listener, __name__, limits) as receiver.admission:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"

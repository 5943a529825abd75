"""The receiver of spans: OTLP over HTTP on 127.0.0.1, protobuf or JSON, gzip or not.

Its answers follow the OTLP specification: a valid request is answered with 200 and, if spans of
it were rejected, their number and the reason; anything else with a `Status`, in the format of the request.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from bioeval_tui.admission import BACKLOG, Admission, AdmissionLimits, serve_app, why_not_bound
from bioeval_tui.errors import UsageError
from bioeval_tui.evaluation.traces.decoding import decode
from bioeval_tui.evaluation.traces.registry import Traces
from bioeval_tui.text import plural

PATH = "/v1/traces"
PROTOBUF, JSON = "application/x-protobuf", "application/json"
MAX_BODY = 16 * 1024 * 1024
"""Maximum number of bytes of an uncompressed request: an SDK sends 512 spans at a time."""
BODY_S = 30.0
MOST_CONNECTIONS = 64
"""Connections that have not sent a span of our traces yet."""
_INVALID_ARGUMENT = 3


class SpanReceiver:
    """The routes. Valid spans are passed to `traces` in the same event loop."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces
        self.admission: Admission | None = None

    def application(self) -> web.Application:
        """Return the aiohttp application. It unpacks gzip itself, within `MAX_BODY`."""
        app = web.Application(client_max_size=MAX_BODY)
        app.add_routes([web.post(PATH, self._export)])
        return app

    async def _export(self, request: web.Request) -> web.Response:
        kind = request.content_type
        if kind not in (PROTOBUF, JSON):
            return _status(JSON, 415, f"send {PROTOBUF} or {JSON}")
        try:
            async with asyncio.timeout(BODY_S):
                body = await request.read()
        except TimeoutError:
            return _status(kind, 408, f"the body did not arrive within {BODY_S:g} s")
        except web.HTTPRequestEntityTooLarge:
            return _status(kind, 413, f"the body is larger than {MAX_BODY:,} bytes")
        except (web.RequestPayloadError, ConnectionError):  # the sender is gone
            return _status(kind, 400, "the body cannot be unpacked, or is not whole")
        try:
            # In a thread, because a large request takes a while and must not delay the conversations.
            spans, invalid = await asyncio.to_thread(decode, body, is_json=kind == JSON)
        except ValueError as error:
            return _status(kind, 400, str(error))
        unknown, full = self._traces.take(spans)
        if self.admission is not None and len(spans) > unknown:
            self.admission.keep(request.transport)  # only agents that were given a trace know its id
        return _accepted(kind, invalid, unknown, full)


def _accepted(kind: str, invalid: int, unknown: int, full: int) -> web.Response:
    response = ExportTraceServiceResponse()
    if rejected := invalid + unknown + full:
        why = [
            f"{plural(invalid, 'span')} without a valid trace or span id" if invalid else "",
            f"{plural(unknown, 'span')} of other traces" if unknown else "",
            f"{plural(full, 'span')} more than are kept for one answer" if full else "",
        ]
        partial = response.partial_success
        partial.rejected_spans, partial.error_message = rejected, "; ".join(filter(None, why))
    if kind == PROTOBUF:
        return web.Response(body=response.SerializeToString(), content_type=PROTOBUF)
    told = response.partial_success
    # 64-bit numbers are texts in protobuf's JSON.
    partial_json = {"rejectedSpans": str(told.rejected_spans), "errorMessage": told.error_message}
    return web.json_response({"partialSuccess": partial_json} if rejected else {})


def _status(kind: str, http_status: int, message: str) -> web.Response:
    """Return a failure as google.rpc.Status, which the specification asks for."""
    if kind == JSON:
        return web.json_response({"code": _INVALID_ARGUMENT, "message": message}, status=http_status)
    # OTLP's package has no Status message; this one has the same fields with the same numbers.
    told = ExportTracePartialSuccess(rejected_spans=_INVALID_ARGUMENT, error_message=message)
    return web.Response(body=told.SerializeToString(), content_type=PROTOBUF, status=http_status)


@asynccontextmanager
async def receive_spans(port: int, traces: Traces) -> AsyncIterator[str]:
    """Receive spans on 127.0.0.1 while the block runs; yields the URL for OTEL_EXPORTER_OTLP_ENDPOINT.

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
    limits = AdmissionLimits(admitted=MOST_CONNECTIONS)
    async with serve_app(receiver.application(), listener, __name__, limits) as receiver.admission:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"

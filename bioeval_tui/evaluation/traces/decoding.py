"""OTLP's request to export spans, as protobuf or JSON, to `AgentSpan`s.

JSON is read through the same protobuf message, so that there is one way from OTLP to a span.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2

from bioeval_tui.peer_limits import MAX_SPAN_DEPTH, MAX_SPAN_VALUE, MOST_OTLP_CONTAINERS, MOST_SPAN_ATTRIBUTES
from bioeval_tui.record.spans import AgentSpan
from bioeval_tui.text import clean_line, clean_value, parse_json

_IDS = {"traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id"}
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
            json_format.ParseDict(_as_protobuf_json(parse_json(body)), request, ignore_unknown_fields=True)
        else:
            request.ParseFromString(body)
    except (DecodeError, json_format.ParseError, ValueError, RecursionError) as error:
        kind = "JSON" if is_json else "protobuf"
        raise ValueError(
            f"the body is not an ExportTraceServiceRequest in {kind}: {clean_line(str(error), 200)}"
        ) from None
    found: list[AgentSpan] = []
    invalid = 0
    for resource in request.resource_spans:
        service = next(
            (kv.value.string_value for kv in resource.resource.attributes if kv.key == "service.name"), ""
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
                    found.append(_span(span, clean_line(service, 200), clean_line(scope.scope.name, 200)))
    return found, invalid


def _span(span: trace_pb2.Span, service: str, scope: str) -> AgentSpan:
    # Built without validation, which would take as long as everything else: the decoder has checked the values.
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
    value: name.removeprefix("SPAN_KIND_").lower() for name, value in trace_pb2.Span.SpanKind.items() if value
}


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    kept = {pair.key: _value(pair.value) for pair, _ in zip(pairs, range(MOST_SPAN_ATTRIBUTES), strict=False)}
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
            return number if abs(number) < float("inf") else str(number)
        case "array_value" if depth < MAX_SPAN_DEPTH:
            return [_value(item, depth + 1) for item in value.array_value.values]
        case "kvlist_value" if depth < MAX_SPAN_DEPTH:
            return {pair.key: _value(pair.value, depth + 1) for pair in value.kvlist_value.values}
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        case _:
            return None


def _as_protobuf_json(value: Any) -> Any:
    """Return OTLP's JSON in protobuf's form, where ids are base64 instead of hexadecimal."""
    if isinstance(value, dict):
        return dict(_protobuf_pairs(value))
    if isinstance(value, list):
        return [_as_protobuf_json(item) for item in value]
    return value


def _protobuf_pairs(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if key in _IDS and isinstance(item, str):
            yield key, base64.b64encode(bytes.fromhex(item)).decode()
        else:
            yield key, _as_protobuf_json(item)

"""Spans of OTLP files: JSON (a document, or one a line) and protobuf (one message, or each after
its length).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bioeval_tui.bundled.otlp.protobuf import protobuf_resources
from bioeval_tui.bundled.otlp.recognise import RESOURCES
from bioeval_tui.formats import AgentSpan, FileLook, InputError, entries, object_at, objects

MOST_SPANS = 500_000
"""Maximum number of spans of a file: a session's traces may be anywhere in it, so all are kept in
memory.
"""
_DEEPEST = 16
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KINDS = ("", "internal", "server", "client", "producer", "consumer")
_STATUS = {1: "ok", 2: "error", "STATUS_CODE_OK": "ok", "STATUS_CODE_ERROR": "error"}


def spans_of(file: Path) -> Iterator[AgentSpan]:
    """Yield the spans of a file.

    Raises:
        InputError: a part of the file is not OTLP; the message says where, and what is needed.
    """
    count = 0
    for place, resource in _resources(file):
        for span in _resource_spans(place, resource):
            count += 1
            if count > MOST_SPANS:
                raise InputError(f"more than {MOST_SPANS:,} spans; split the file by session")
            yield span


def _resources(file: Path) -> Iterator[tuple[str, Any]]:
    if FileLook.at(file, lambda seen: True).shape == "other":
        yield from protobuf_resources(file)
        return
    for place, entry in entries(file, *RESOURCES):
        if not isinstance(entry, dict):
            raise InputError(f"{place}: must be a JSON object with `resourceSpans`")
        if "scopeSpans" in entry or "scope_spans" in entry:  # an item of the document's list
            yield place, entry
            continue
        resources = next((entry[key] for key in RESOURCES if key in entry), None)
        if resources is None and any(key in entry for key in ("resourceMetrics", "resourceLogs")):
            continue  # a collector may write all signals to one file
        if resources is None and place.endswith(" 1") and not place.startswith("line"):
            yield place, entry  # an item without any spans
            continue
        if not isinstance(resources, list):
            raise InputError(f"{place}: `resourceSpans` must be a list")
        for number, resource in enumerate(resources, start=1):
            yield f"{place}, `resourceSpans` {number}", resource


def _resource_spans(place: str, resource: Any) -> Iterator[AgentSpan]:
    if not isinstance(resource, dict):
        raise InputError(f"{place}: must be a JSON object")
    service = attributes_of(object_at(resource, "resource").get("attributes")).get(
        "service.name", ""
    )
    for scope in _listed(place, resource, "scopeSpans", "scope_spans"):
        name = str(object_at(scope, "scope").get("name") or "")
        for number, span in enumerate(_listed(place, scope, "spans"), start=1):
            try:
                yield _span(span, str(service), name)
            except InputError as problem:
                raise InputError(f"{place}, span {number}: {problem}") from None


def _listed(place: str, data: Mapping[str, Any], *keys: str) -> list[dict[str, Any]]:
    value: Any = next((data[key] for key in keys if data.get(key) is not None), [])
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise InputError(f"{place}: `{keys[0]}` must be a list of objects")
    return value


def _span(span: Mapping[str, Any], service: str, scope: str) -> AgentSpan:
    status = object_at(span, "status")
    code = status.get("code")
    if not isinstance(code, int | str):  # a list could not be looked up
        code = 0
    return AgentSpan(
        trace_id=_id(span, "traceId", 32),
        span_id=_id(span, "spanId", 16),
        parent_id=_parent_id(span),
        name=str(span.get("name") or ""),
        kind=_kind(span.get("kind")),
        service=service,
        scope=scope,
        start_ns=_ns(span, "startTimeUnixNano"),
        end_ns=_ns(span, "endTimeUnixNano"),
        status=_STATUS.get(code, "unset"),  # type: ignore[arg-type]
        status_message=str(status.get("message") or ""),
        attributes=attributes_of(span.get("attributes")),
        events=tuple(
            {
                "name": str(event.get("name") or ""),
                "time_ns": _ns(event, "timeUnixNano"),
                "attributes": attributes_of(event.get("attributes")),
            }
            for event in _listed("", span, "events")
        ),
        links=tuple(
            {
                "trace_id": str(_get(link, "traceId") or ""),
                "attributes": attributes_of(link.get("attributes")),
            }
            for link in _listed("", span, "links")
        ),
    )


def _get(data: Mapping[str, Any], key: str) -> Any:
    """Return the value of a key, which older writers wrote in snake case."""
    if key in data:
        return data[key]
    return data.get(re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key))


def _id(span: Mapping[str, Any], key: str, digits: int) -> str:
    """Return an id as hexadecimal digits; protobuf's own JSON has it in base64."""
    value = _get(span, key)
    if isinstance(value, str):
        if len(value) == digits and not set(value.lower()) - set("0123456789abcdef"):
            return value.lower()
        try:
            raw = base64.b64decode(value, validate=True)
        except ValueError:
            raw = b""
        if 2 * len(raw) == digits:
            return raw.hex()
    raise InputError(f"`{key}` must be {digits} hexadecimal digits")


def _parent_id(span: Mapping[str, Any]) -> str:
    """Return the id of the span above; empty for a root, where some write zeroes."""
    parent = _get(span, "parentSpanId")
    if parent and set(str(parent)) != {"0"}:
        return _id(span, "parentSpanId", 16)
    return ""


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return value.removeprefix("SPAN_KIND_").lower()
    is_known = isinstance(value, int) and 1 <= value <= len(_KINDS)
    if is_known:
        return _KINDS[value - 1]
    return ""


def _ns(data: Mapping[str, Any], key: str) -> int:
    value = _get(data, key)
    try:
        number = int(value or 0)
    except (TypeError, ValueError):
        raise InputError(f"`{key}` must be nanoseconds since 1970") from None
    if not 0 <= number < 2**63:
        raise InputError(f"`{key}` must be nanoseconds since 1970")
    return number


def at_ns(nanoseconds: int) -> datetime | None:
    """Return a span's time; None if the span has none."""
    if nanoseconds:
        return _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    return None


def attributes_of(pairs: Any) -> dict[str, Any]:
    """Return attributes by name; what has no name or value is left out."""
    return _named_values(pairs, 0)


def _named_values(pairs: Any, depth: int) -> dict[str, Any]:
    named = [pair for pair in objects(pairs) if isinstance(pair.get("key"), str)]
    return {pair["key"]: _value(pair.get("value"), depth) for pair in named}


def _value(value: Any, depth: int) -> Any:
    """Return an `AnyValue` as plain JSON."""
    if not isinstance(value, dict) or depth > _DEEPEST:
        return None
    for key in ("stringValue", "boolValue", "bytesValue"):
        if (found := _get(value, key)) is not None:
            return found
    for key, number in (("intValue", int), ("doubleValue", float)):
        if (found := _get(value, key)) is not None:
            try:
                return number(found)
            except (TypeError, ValueError, OverflowError):
                return str(found)
    values = object_at(_get(value, "arrayValue")).get("values")
    if isinstance(values, list):
        return [_value(each, depth + 1) for each in values]
    pairs = object_at(_get(value, "kvlistValue")).get("values")
    if isinstance(pairs, list):
        return _named_values(pairs, depth + 1)
    if "arrayValue" in value:
        return []
    return None

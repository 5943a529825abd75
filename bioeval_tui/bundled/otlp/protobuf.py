"""Protobuf files of OpenTelemetry traces: one message, or many, each after its length, as a
collector writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from google.protobuf import json_format
from google.protobuf.message import DecodeError
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from bioeval_tui.formats import InputError

LARGEST_REQUEST = 1 << 27
"""Maximum number of bytes of one message."""


def protobuf_resources(file: Path) -> Iterator[tuple[str, Any]]:
    """Yield the resources of a protobuf file in OTLP's JSON, so that there is one way from OTLP to
    a span.

    Raises:
        InputError: it is no such message, or is cut off; the text says which.
    """
    with file.open("rb") as opened:
        for place, body in _messages(opened):
            data = TracesData()
            try:
                data.ParseFromString(body)
            except DecodeError:
                raise InputError(
                    f"{place}: not OTLP's protobuf (`TracesData` or `ExportTraceServiceRequest`),"
                    " or it is cut off"
                ) from None
            for number, resource in enumerate(data.resource_spans, start=1):
                yield f"{place}, `resourceSpans` {number}", json_format.MessageToDict(resource)


def _messages(opened: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """Yield the messages of a file with their places: one, or many, each after its length in four
    bytes.
    """
    if opened.read(1) == b"\x0a":
        opened.seek(0)
        body = opened.read(LARGEST_REQUEST + 1)
        if len(body) > LARGEST_REQUEST:
            raise InputError(
                f"one message of more than {LARGEST_REQUEST:,} bytes; export it in several"
            )
        yield "message 1", body
        return
    opened.seek(0)
    number = 0
    while length := opened.read(4):
        number += 1
        size = int.from_bytes(length, "big")
        body = opened.read(min(size, LARGEST_REQUEST))
        if len(length) < 4 or len(body) < size:
            raise InputError(
                f"message {number}: the file ends before the {size:,} bytes that its length says"
            )
        yield f"message {number}", body

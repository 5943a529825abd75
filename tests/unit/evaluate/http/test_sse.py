"""Server-sent events in every slicing."""

from __future__ import annotations

import pytest

from bioeval_tui.evaluate.http.sse import EventParser, ServerEvent

STREAM = (
    '\ufeffevent: delta\r\ndata: {"content": "é"}\r\n\r\n: comment\n\ndata:one\ndata: two\n\n'
    "event: empty\n\nid: 5\nevent: message\rdata: end\r\r"
    "data: more\n\n"
).encode()
EVENTS = [
    ServerEvent("delta", '{"content": "é"}'),
    ServerEvent("message", "one\ntwo"),
    ServerEvent("message", "end"),
    ServerEvent("message", "more"),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_slices_make_no_difference(size: int) -> None:
    parser = EventParser()
    found = [event for at in range(0, len(STREAM), size) for event in parser.feed(STREAM[at : at + size])]
    assert found == EVENTS


def test_an_event_is_given_as_soon_as_its_line_ends() -> None:
    parser = EventParser()
    assert list(parser.feed(b"data: x\r\r")) == [ServerEvent("message", "x")]
    assert list(parser.feed(b"\ndata: y\r\n\r")) == [ServerEvent("message", "y")]
    assert list(parser.feed(b"\n")) == []


def test_an_event_without_its_blank_line_is_not_given() -> None:
    assert list(EventParser().feed(b"event: message\ndata: x\n")) == []


def test_bytes_that_are_no_text_do_no_harm() -> None:
    assert list(EventParser().feed(b"data: \xff\n\n")) == [ServerEvent("message", "\ufffd")]

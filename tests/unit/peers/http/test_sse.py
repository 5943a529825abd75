"""Server-sent events by the grammar of the HTML standard, and as gateways send them."""

from __future__ import annotations

import pytest

from bioeval_tui.peers.sse import EventDecoder, ServerSentEvent

MESSAGE = "message"
STANDARD = {
    # The examples of the standard, section 9.2.6, and the public tests of its grammar
    # (web-platform-tests, eventsource).
    "three lines": (b"data: YHOO\ndata: +2\ndata: 10\n\n", [(MESSAGE, "YHOO\n+2\n10")]),
    "a comment and three blocks": (
        b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n"
        b"data:  third event\n\n",
        [(MESSAGE, "first event"), (MESSAGE, "second event"), (MESSAGE, " third event")],
    ),
    "empty data": (b"data\n\ndata\ndata\n\n", [(MESSAGE, ""), (MESSAGE, "\n")]),
    "space after the colon": (b"data:test\n\ndata: test\n\n", [(MESSAGE, "test")] * 2),
    "a byte order mark": (b"\xef\xbb\xbfdata: 1\n\n", [(MESSAGE, "1")]),
    "two byte order marks": (b"\xef\xbb\xbf\xef\xbb\xbfdata: 1\n\ndata: 2\n\n", [(MESSAGE, "2")]),
    "comments": (b"data:1\n:\0\n:\r\ndata:2\n:" + b"x" * 2000 + b"\rdata:3\n\n",
        [(MESSAGE, "1\n2\n3")]),
    "a field with another name": (b"data:test\n data\ndata\nfoobar:xxx\njustsometext\n:x\n\n",
        [(MESSAGE, "test\n")]),
    "a field with a leading space": (b"data:test\n data: x\n\n", [(MESSAGE, "test")]),
    "a name": (b"event:test\ndata:x\n\ndata:x\n\n", [("test", "x"), (MESSAGE, "x")]),
    "an empty name": (b"event:\ndata:x\n\n", [(MESSAGE, "x")]),
    "a name without data": (b"event: ping\n\ndata: x\n\n", [(MESSAGE, "x")]),
    "the last name counts": (b"event: a\nevent: b\ndata: x\n\n", [("b", "x")]),
    "retry alone": (b"retry: 3000\n\ndata: x\n\n", [(MESSAGE, "x")]),
    "an id alone": (b"id: 7\n\n: ping\n\ndata: x\n\n", [(MESSAGE, "x")]),
    "a zero byte": (b"data:\0\n\n", [(MESSAGE, "\0")]),
    "bytes that are not UTF-8": (b"data:ok\xffok\n\n", [(MESSAGE, "ok\ufffdok")]),
    "U+2028 ends no line": ("data:a\u2028b\x85c\x0bd\n\n".encode(),
        [(MESSAGE, "a\u2028b\x85c\x0bd")]),
    "carriage returns": (b"data: a\rdata: b\r\rdata: c\r\r", [(MESSAGE, "a\nb"), (MESSAGE, "c")]),
    "both": (b"data: a\r\ndata: b\r\n\r\n", [(MESSAGE, "a\nb")]),
    "mixed": (b"data: a\r\n\rdata: b\n\r\ndata: c\r\r\n",
        [(MESSAGE, "a"), (MESSAGE, "b"), (MESSAGE, "c")]),
    "capital letters": (b"DATA: x\n\n", []),
    "nothing": (b"", []),
    "empty lines": (b"\n\n\r\r\n\n", []),
}  # fmt: skip
GATEWAYS = {
    "no empty line at the end": (b"data: x\n\ndata: y", [(MESSAGE, "x"), (MESSAGE, "y")]),
    "one newline at the end": (b"data: y\n", [(MESSAGE, "y")]),
    "a comment in a data field": (b"data: : keepalive\n\ndata: x\n\n", [(MESSAGE, "x")]),
    "a comment in a data field, glued": (b"data::OPENROUTER PROCESSING\n\n", []),
    "a comment within an event": (b"data: {\ndata: : ping\ndata: }\n\n", [(MESSAGE, "{\n}")]),
    "a comment after an id": (b"id: 1\n: ping\ndata: x\n\n", [(MESSAGE, "x")]),
    "null between events": (b"data: null\n\nevent: ping\ndata:null\n\ndata: x\n\n",
        [(MESSAGE, "x")]),
    "null within an event": (b"data: [\ndata: null\ndata: ]\n\n", [(MESSAGE, "[\nnull\n]")]),
    "a ping with data": (b"event: ping\ndata: {}\n\n", [("ping", "{}")]),
    "done": (b"data: [DONE]\n\n", [(MESSAGE, "[DONE]")]),
    "a field error": (b'data: x\n\nerror: {"code":1}\n\n',
        [(MESSAGE, "x"), ("error", '{"code":1}')]),
    "a body of JSON": (b'{\n "a": 1\n}\n', [(MESSAGE, '{\n "a": 1\n}')]),
    "a body, then data": (b'{"a": 1}\ndata: x\n\n', [(MESSAGE, '{"a": 1}'), (MESSAGE, "x")]),
    "data, then a body": (b'data: x\n{"a": 1}\n', [(MESSAGE, "x"), (MESSAGE, '{"a": 1}')]),
    "a body in each line": (b'{"a": 1}\n{"a": 2}\n',
        [(MESSAGE, '{"a": 1}'), (MESSAGE, '{"a": 2}')]),
    "a body with a name": (b'event: error\n{"a": 1}\n\ndata: x\n\n',
        [("error", '{"a": 1}'), (MESSAGE, "x")]),
    "a page": (b"data: x\n\n<html>\nevent: a\n</html>\n",
        [(MESSAGE, "x"), (MESSAGE, "<html>\nevent: a\n</html>")]),
}  # fmt: skip


def decode(data: bytes, size: int) -> list[tuple[str, str]]:
    """Return the events of a stream that arrives in pieces of this size."""
    decoder = EventDecoder()
    found: list[ServerSentEvent] = []
    for at in range(0, len(data), size):
        found += decoder.feed(data[at : at + size])
    found += decoder.feed(b"", is_last=True)
    return [(event.event, event.data) for event in found]


@pytest.mark.parametrize("name", STANDARD | GATEWAYS)
def test_streams_are_read_as_the_standard_says(name: str) -> None:
    data, events = (STANDARD | GATEWAYS)[name]
    for size in (1, 2, 3, 7, 10_000):
        assert decode(data, size) == events, size


def test_an_event_is_there_as_soon_as_its_empty_line_is() -> None:
    decoder = EventDecoder()
    assert decoder.feed(b"data: x\r\r") == [ServerSentEvent(MESSAGE, "x")]
    assert decoder.feed(b"\ndata: y\n") == []
    assert decoder.feed(b"\n") == [ServerSentEvent(MESSAGE, "y")]

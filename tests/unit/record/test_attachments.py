"""Files in answers: what is said of them, and texts without the data of pictures."""

from __future__ import annotations

import time
from typing import Any

import pytest

from bioeval_tui.record.attachments import (
    answered_json,
    attachment_event,
    bytes_of,
    file_words,
    has_contents,
    replace_data,
    shorten_picture,
)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            attachment_event("scan.png", "image/png", 12_345),
            "[picture: scan.png, image/png, 12 kB]",
        ),
        (
            attachment_event("a\nb.pdf", "application/pdf", 999),
            "[file: a b.pdf, application/pdf, 999 bytes]",
        ),
        (attachment_event(count=2_400_000), "[file: 2 MB]"),
        (attachment_event(), "[file: nothing is known of it]"),
        ({"attachment": {"type": "audio/wav", "bytes": "many"}}, "[sound: audio/wav]"),
        ({"attachment": {"type": "video/mp4", "bytes": True}}, "[film: video/mp4]"),
        (
            {"part": {"raw": "aGVsbG8=", "mediaType": "text/csv", "bytes": 5}},
            "[file: text/csv, 5 bytes]",
        ),
        ({"part": {"url": "https://x.test/a", "filename": "a"}}, "[file: a, https://x.test/a]"),
        (
            {"item": {"type": "image_generation_call", "output_format": "webp", "result": "AAAA"}},
            "[picture: image/webp, 3 bytes]",
        ),
        (
            {"item": shorten_picture({"type": "image_generation_call", "result": "AAAA" * 1_000})},
            "[picture: image/png, 3 kB]",
        ),
    ],
)
def test_a_file_is_told_by_what_is_known_of_it(event: dict[str, Any], words: str) -> None:
    assert file_words([event]) == [words]
    assert has_contents([event])


@pytest.mark.parametrize(
    "event",
    [
        {"request": {"function": {"name": "f"}}},
        {"output": "x"},
        {"attachment": "x"},
        {"part": {"text": "x"}},
        {"item": {"type": "web_search_call"}},
    ],
)
def test_other_events_are_no_files(event: dict[str, Any]) -> None:
    assert not file_words([event])
    assert not has_contents([event])


def test_the_data_of_a_generated_picture_is_not_recorded() -> None:
    kept = shorten_picture({"type": "image_generation_call", "result": "A" * 4_000, "id": "i"})
    assert len(kept["result"]) == 200
    assert (kept["bytes"], kept["id"]) == (3_000, "i")
    assert shorten_picture({"type": "reasoning", "result": "A" * 4_000})["result"] == "A" * 4_000


def test_many_files_are_counted() -> None:
    words = file_words([attachment_event(f"{number}.txt") for number in range(25)])
    assert len(words) == 21
    assert words[-1] == "[and 5 more files]"


def test_json_instead_of_words_is_contents() -> None:
    events = [{"part": {"data": {"dose": 5}}}]
    assert answered_json(events) == ['{"dose":5}']
    assert has_contents(events)


DATA = "A" * 1_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no data", "no data"),
        (f"![x](data:image/png;base64,{DATA})",
            "![x]([picture: image/png, 750 bytes; its data is left out])"),
        (f"<img src='DATA:image/gif;base64,{DATA}'>",
            "<img src='[picture: image/gif, 750 bytes; its data is left out]'>"),
        (f"data:text/plain;charset=utf-8,{DATA} end",
            "[file: text/plain, 1 kB; its data is left out] end"),
        (f"data:,{DATA}", "[file: text/plain, 1 kB; its data is left out]"),
        ("data:image/png;base64,iVBORw0K", "data:image/png;base64,iVBORw0K"),
        ("all data: none, of course", "all data: none, of course"),
    ],
)  # fmt: skip
def test_data_in_a_text_is_replaced_by_what_it_is(text: str, shown: str) -> None:
    assert replace_data(text) == shown


@pytest.mark.parametrize(
    "text", ["data:" * 200_000, "data:a/" * 150_000, "data:a/b;" * 120_000, "data:, " * 150_000]
)
def test_text_made_to_be_slow_is_read_quickly(text: str) -> None:
    began = time.monotonic()
    assert replace_data(text)
    assert time.monotonic() - began < 5


def test_the_size_of_base64_is_that_of_what_it_stands_for() -> None:
    assert [bytes_of(text) for text in ("", "aA==", "aGk=", "aGVs")] == [0, 1, 2, 3]

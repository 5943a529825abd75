"""A streamed answer ends with its end marker, or was cut off."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bioeval_tui.evaluation.conversation.attempts import DeltaJoiner, stream_whole
from bioeval_tui.evaluation.conversation.emitter import ConversationEmitter, Emitter
from bioeval_tui.evaluation.seams import Delta, Generation, PeerError, Reply
from tests.unit.evaluation.conversation.fakes import ListSink


async def test_an_answer_without_its_end_is_not_retried_and_its_stream_is_closed() -> None:
    closed = False

    async def cut_off() -> AsyncIterator[Delta | Reply]:
        nonlocal closed
        try:
            yield Delta("The reminder ")
        finally:
            closed = True

    with pytest.raises(PeerError, match="the answer ended without its end marker") as caught:
        await stream_whole(cut_off(), None)
    assert not caught.value.retryable, "the agent may have acted on the message"
    assert closed


async def test_a_stream_is_closed_as_soon_as_the_whole_answer_is_there() -> None:
    closed = False

    async def lingering() -> AsyncIterator[Delta | Reply]:
        nonlocal closed
        try:
            yield Reply("Done.", 0.0, 1.0)
            yield Delta("more")
        finally:
            closed = True

    pieces = lingering()
    assert (await stream_whole(pieces, None)).content == "Done."
    assert closed


async def test_tool_calls_without_text_are_recorded_and_nothing_is_recorded_for_nothing() -> None:
    sink = ListSink()
    joiner = DeltaJoiner(ConversationEmitter(Emitter("r", sink), "withheld", 1, 1), 2)

    async def answer() -> AsyncIterator[Generation | Reply]:
        yield Generation({"request": "look"})
        yield Reply("", 0.0, 1.0)

    await stream_whole(answer(), joiner)
    joiner.flush()
    assert [(delta.text, delta.generation) for delta in sink.of("message_delta")] == [
        ("", ({"request": "look"},))
    ]

"""An answer that comes in pieces ends with its end marker, or was cut off."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bioeval_tui.evaluate.conversation.retry import stream_whole
from bioeval_tui.evaluate.seams import Delta, PeerError, Reply


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

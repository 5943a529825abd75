"""The page of a conversation, of which only what was looked at is laid out."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from rich.style import Style

from bioeval_tui.formats import ConversationKey, ConversationState, MessageState
from bioeval_tui.tui.live.transcript.document import Document
from bioeval_tui.tui.live.transcript.paint import Painter
from bioeval_tui.tui.live.transcript.styles import STYLES

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def page_of(*texts: str) -> Document:
    """Return a page of which no height is known yet."""
    talk = ConversationState(ConversationKey("supplied", 1), phase="agent", started_at=NOON)
    for number, text in enumerate(texts, start=1):
        message = MessageState(number, (number + 1) // 2, "user", "Socrates", NOON)
        message.replace(text)
        message.done = True
        talk.messages.append(message)
    page = Document()
    page.show(talk)
    page.lay_out(Painter(60, {name: Style() for name in (*STYLES, "base")}))
    return page


@pytest.mark.parametrize("line", range(6))
def test_a_line_of_a_page_that_nobody_looked_at_is_one_that_there_is(line: int) -> None:
    # Before the messages there is nothing, which is only known once it was looked at.
    page = page_of("Hello", "A list:\n\n- one\n- two")
    spot = page.locate(line)
    block = page.blocks(spot.item)[spot.block]
    assert 0 <= spot.line < max(1, block.height)


def test_a_page_without_a_message_has_a_line() -> None:
    page = page_of()
    assert page.blocks(0)[page.locate(0).block].text == "no message yet"

"""What a reader of an answer should know of it: that it is empty, or was cut off."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bioeval_tui.record.state import MessageState

CUT_OFF = "cut off at its model's length limit"
EMPTY = "empty answer"


def answer_notes(message: MessageState) -> list[str]:
    """Return what is to be known of an answer, in words; nothing of most."""
    return [
        note for note, holds in ((EMPTY, message.is_empty), (CUT_OFF, message.cut_off)) if holds
    ]

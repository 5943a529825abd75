"""The last line before the terminal: control and bidirectional characters that got through are dropped."""

from __future__ import annotations

import re

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


class SafeLines(LineFilter):
    """Drops what a terminal could act on. None of the dropped characters takes a cell, so nothing moves."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without unsafe characters; untouched if there are none."""
        if all(text.isascii() and text.isprintable() for text, _, _ in segments):
            return segments
        return [
            Segment(_UNSAFE.sub("", segment.text), segment.style, segment.control)
            if _UNSAFE.search(segment.text)
            else segment
            for segment in segments
        ]

"""The last safeguard before the terminal: removes control and bidirectional characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


class SafeLines(LineFilter):
    """Removes characters that a terminal could act on. They take no cells, so nothing moves."""

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


class MaskedLines(LineFilter):
    """Masks names that were not masked elsewhere, such as in a file's path, without changing a line's width."""

    def __init__(self, spans: Callable[[str], Sequence[tuple[int, int, str]]]) -> None:
        """`spans` finds what to replace in a line: start, end, and the replacement."""
        super().__init__()
        self._spans = spans

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments with names replaced; untouched if there are none."""
        line = "".join(segment.text for segment in segments if not segment.control)
        spans = self._spans(line)
        if not spans:
            return segments
        letters = list(line)
        for start, end, instead in spans:
            fitted = set_cell_size(instead, cell_len(line[start:end]))
            letters[start:end] = [fitted, *[""] * (end - start - 1)]
        masked, at = [], 0
        for segment in segments:
            if segment.control:
                masked.append(segment)
                continue
            text = "".join(letters[at : at + len(segment.text)])
            at += len(segment.text)
            masked.append(Segment(text, segment.style))
        return masked

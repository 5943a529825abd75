"""Selection of text in a page that is mostly unpainted.

A line is named by a number that keeps its order and does not change when other messages grow:
item, block and line in one integer. That is the `y` of selection offsets.
"""

from __future__ import annotations

from textual.selection import Selection

from bioeval_tui.text import clean
from bioeval_tui.tui.live.transcript.document import Document, Spot

_LINE_BITS = 16
_BLOCK_BITS = 20


def line_key(spot: Spot) -> int:
    """Return the number that names a line."""
    return (spot.item << _BLOCK_BITS | spot.block) << _LINE_BITS | spot.line


def spot_of_key(key: int) -> Spot:
    """Return the line that a number names."""
    rest, line = divmod(key, 1 << _LINE_BITS)
    item, block = divmod(rest, 1 << _BLOCK_BITS)
    return Spot(item, block, line)


def selected_text(document: Document, selection: Selection) -> str:
    """Return the selected text. A block selected in part gives its lines as painted, in full its source."""
    if not document.items:
        return ""
    start = spot_of_key(selection.start.y) if selection.start is not None else Spot(0, 0, 0)
    end = spot_of_key(selection.end.y) if selection.end is not None else document.end()
    found: list[str] = []
    for item in range(start.item, min(end.item, len(document.items) - 1) + 1):
        for number, block in enumerate(document.blocks(item)):
            here = (item, number)
            if not start[:2] <= here <= end[:2] or block.kind == "waiting":
                continue
            if here in (start[:2], end[:2]):
                lines = [line.text for line in document.lines(item, block)]
                keys = [line_key(Spot(item, number, row)) for row in range(len(lines))]
                for key, text in zip(keys, lines, strict=True):
                    span = selection.get_span(key)
                    if span is not None:
                        found.append(text[max(0, span[0]) : None if span[1] < 0 else max(0, span[1])])
            else:
                found.append(clean(block.text))
    return "\n".join(found)

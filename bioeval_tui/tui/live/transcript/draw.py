"""Overlays on painted lines: running times, the cursor, matches and the selection."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from bioeval_tui.tui.live.transcript.blocks import Block, Line, Mark
from bioeval_tui.tui.live.transcript.document import Document
from bioeval_tui.tui.live.transcript.paint import MARK_CELLS, Painter
from bioeval_tui.units import latency_short


def with_timer(strip: Strip, document: Document, now: datetime | None) -> Strip:
    """Return the first line of the awaited message with the time it has taken so far (`now` None: the present)."""
    pending, painter = document.pending, document.painter
    if pending is None or painter is None:
        return strip
    elapsed = ((now or datetime.now(UTC)) - pending.started_at).total_seconds() * 1000
    return _at_right(strip, painter, Mark(f"{latency_short(max(100.0, elapsed))}…", "note"))


def with_cursor(strip: Strip, block: Block, document: Document, style: Style) -> Strip:
    """Return the marked line, saying at its right which key opens it."""
    painter = document.painter
    assert painter is not None
    if painter.right == MARK_CELLS:
        strip = _at_right(strip, painter, Mark("⏎ close" if block.opened else "⏎ open", "note"))
    edge = painter.edge
    marked = Segment.apply_style(strip.crop(0, edge), post_style=Style(bgcolor=style.bgcolor))
    return Strip.join([Strip(marked), strip.crop(edge)])


def restyled(strip: Strip, line: Line, start: int, end: int, style: Style) -> Strip:
    """Return the strip with characters `start` to `end` of its text in another style."""
    if end <= start:
        return strip
    left = strip.index_to_cell_position(line.before + start)
    right = strip.index_to_cell_position(line.before + end)
    before, middle, after = strip.crop(0, left), strip.crop(left, right), strip.crop(right)
    return Strip.join([before, Strip(Segment.apply_style(middle, post_style=style)), after])


def _at_right(strip: Strip, painter: Painter, mark: Mark) -> Strip:
    edge = painter.edge
    right = painter.marks_strip([mark], MARK_CELLS)
    return Strip.join([strip.crop(0, edge - MARK_CELLS), right, strip.crop(edge)])

"""A view of a `Document` that keeps its position while estimated heights are corrected, and its
highlights: search matches in order, and evidence.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style as VisualStyle

from bioeval_tui.base.text import clean
from bioeval_tui.base.units import latency_short
from bioeval_tui.report.messages import passage_pattern
from bioeval_tui.tui.live.transcript.blocks import Block, Line, Mark
from bioeval_tui.tui.live.transcript.document import Document, Spot
from bioeval_tui.tui.live.transcript.paint import MARK_CELLS, Painter
from bioeval_tui.tui.live.transcript.scrollbar import QuickBar
from bioeval_tui.tui.live.transcript.styles import STYLES


class Match(NamedTuple):
    """A match: its message, the block in the message's blocks, and which match in that block."""

    item: int
    block: int
    which: int


class Span(NamedTuple):
    """Characters of a painted line that are drawn in another style."""

    start: int
    end: int
    style: str


@dataclass(slots=True)
class Highlights:
    """The search and the evidence of one transcript.

    `version` changes whenever spans may have changed.
    """

    pattern: re.Pattern[str] | None = None
    current: Match | None = None
    evidence: dict[int, re.Pattern[str]] = field(default_factory=dict)
    """What is marked as evidence, by item."""
    version: int = 0
    counts: dict[int, list[int]] = field(default_factory=dict)
    """Matches per block, for each item that has any."""

    @property
    def total(self) -> int:
        """Number of matches."""
        return sum(sum(counts) for counts in self.counts.values())

    @property
    def position(self) -> int:
        """The number of the current match, from 1; 0 if there is none."""
        if self.current is None:
            return 0
        item, block, which = self.current
        before = sum(sum(counts) for index, counts in self.counts.items() if index < item)
        return before + sum(self.counts.get(item, [])[:block]) + which + 1

    def find_all(self, words: str, document: Document) -> int:
        """Search all messages for `words` and return the number of matches."""
        self.pattern, self.current = passage_pattern(words), None
        self.version += 1
        self.counts = {}
        if self.pattern is not None:
            for index in range(len(document.items)):
                self.count(index, document)
        return self.total

    def count(self, index: int, document: Document) -> None:
        """Count the matches of one item again."""
        self.counts.pop(index, None)
        if self.pattern is None or not self._may_match(index, document):
            return
        counts = [self._count_block(block) for block in document.blocks(index)]
        if any(counts):
            last = next(reversed(self.counts), -1)
            self.counts[index] = counts
            if last > index:
                self.counts = dict(sorted(self.counts.items()))

    def step(self, direction: int, origin: Spot) -> Match | None:
        """Move to the next (1) or previous (-1) match, from the current one or else from `origin`,
        around the ends.
        """
        order: list[Match] = []
        for item, counts in self.counts.items():
            for block, count in enumerate(counts):
                order += (Match(item, block, which) for which in range(count))
        if not order:
            return None
        if self.current is None:
            at = bisect_left(order, (origin.item, origin.block, -1))
            if direction <= 0:
                at -= 1
        elif direction > 0:
            at = bisect_right(order, self.current)
        else:
            at = bisect_left(order, self.current) - 1
        self.current = order[at % len(order)]
        self.version += 1
        return self.current

    def point_out(self, quotes: Iterable[tuple[int, str]]) -> dict[int, re.Pattern[str]]:
        """Mark several quotations as (item, quote), instead of the previous ones; return the
        patterns by item.
        """
        by_item: dict[int, list[str]] = {}
        for item, quote in quotes:
            if (pattern := passage_pattern(quote)) is not None:
                by_item.setdefault(item, []).append(pattern.pattern)
        self.evidence = {
            item: re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)
            for item, patterns in by_item.items()
        }
        self.version += 1
        return self.evidence

    def spans(self, item: int, number: int, block: Block, line: int) -> list[Span]:
        """Return the spans of a painted line that are drawn in another style."""
        evidence = self.evidence.get(item)
        if (self.pattern is None and evidence is None) or block.lines is None:
            return []
        key = (self.version, item, number)
        if block.highlights is None or block.highlights[0] != key:
            block.highlights = (key, self._spans(item, number, block, evidence))
        spans: list[list[Span]] = block.highlights[1]
        if line < len(spans):
            return spans[line]
        return []

    def match_line(self, match: Match, block: Block) -> int:
        """Return the painted line of its block on which a match begins."""
        texts = [line.text for line in block.lines or ()]
        if self.pattern is not None:
            for row, spans in enumerate(spans_by_line(texts, self.pattern)):
                if any(which >= match.which for _, _, which in spans):
                    return row
        return 0

    def _spans(
        self, item: int, number: int, block: Block, evidence: re.Pattern[str] | None
    ) -> list[list[Span]]:
        texts = [line.text for line in block.lines or ()]
        by_row: list[list[Span]] = [[] for _ in texts]
        if evidence is not None:
            for row, spans in enumerate(spans_by_line(texts, evidence)):
                by_row[row].extend(Span(start, end, "evidence") for start, end, _ in spans)
        if self.pattern is not None:
            here = self.current.which if self.current and self.current[:2] == (item, number) else -1
            for row, spans in enumerate(spans_by_line(texts, self.pattern)):
                by_row[row].extend(
                    Span(start, end, "match-current" if which == here else "match")
                    for start, end, which in spans
                )
        return by_row

    def _may_match(self, index: int, document: Document) -> bool:
        item = document.items[index]
        assert self.pattern is not None
        if (
            item.message is None
            or item.message.generation
            or item.message.spans
            or item.message.failures
            or item.message.violations
        ):
            return True
        return self.pattern.search(item.message.text) is not None

    def _count_block(self, block: Block) -> int:
        if self.pattern is None or block.kind == "gap":
            return 0
        return sum(1 for _ in self.pattern.finditer(block.text))


def spans_by_line(lines: list[str], pattern: re.Pattern[str]) -> list[list[tuple[int, int, int]]]:
    """Return for each line the `(start, end, which)` of matches on it, `which` counting matches
    over all lines.

    A match that wraps is marked on each of its lines.
    """
    by_line: list[list[tuple[int, int, int]]] = [[] for _ in lines]
    joined = "\n".join(lines)
    starts, at = [], 0
    for line in lines:
        starts.append(at)
        at += len(line) + 1
    row = 0
    for which, match in enumerate(pattern.finditer(joined)):
        start, end = match.span()
        while row + 1 < len(starts) and starts[row + 1] <= start:
            row += 1
        here = row
        while here < len(lines) and starts[here] < end:
            first = max(0, start - starts[here])
            last = min(len(lines[here]), end - starts[here])
            if here > row:
                first += len(lines[here][first:last]) - len(lines[here][first:last].lstrip())
            if last > first:
                by_line[here].append((first, last, which))
            here += 1
    return by_line


_LINE_BITS = 16
_BLOCK_BITS = 20
"""Textual's selections know a line only by its number, so item, block and line are packed into one:
a number on the page would change as soon as an item above is measured.
"""


def line_key(spot: Spot) -> int:
    """Return the number that names a line."""
    return (spot.item << _BLOCK_BITS | spot.block) << _LINE_BITS | spot.line


def spot_of_key(key: int) -> Spot:
    """Return the line that a number names."""
    rest, line = divmod(key, 1 << _LINE_BITS)
    item, block = divmod(rest, 1 << _BLOCK_BITS)
    return Spot(item, block, line)


def selected_text(document: Document, selection: Selection) -> str:
    """Return the selected text.

    A block selected in part gives its lines as painted, in full its source.
    """
    if not document.items:
        return ""
    start = spot_of_key(selection.start.y) if selection.start is not None else Spot(0, 0, 0)
    end = spot_of_key(selection.end.y) if selection.end is not None else document.end()
    texts: list[str] = []
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
                        texts.append(
                            text[max(0, span[0]) : None if span[1] < 0 else max(0, span[1])]
                        )
            else:
                texts.append(clean(block.text))
    return "\n".join(texts)


def add_timer(strip: Strip, document: Document, now: datetime | None) -> Strip:
    """Return the first line of the awaited message with the time it has taken so far (`now` None:
    the present).
    """
    pending, painter = document.pending, document.painter
    if pending is None or painter is None:
        return strip
    elapsed = ((now or datetime.now(UTC)) - pending.started_at).total_seconds() * 1000
    return _put_right(strip, painter, Mark(f"{latency_short(max(100.0, elapsed))}…", "note"))


def add_cursor(strip: Strip, block: Block, document: Document, style: Style) -> Strip:
    """Return the marked line, saying at its right which key opens it."""
    painter = document.painter
    assert painter is not None
    if painter.right == MARK_CELLS:
        strip = _put_right(strip, painter, Mark("⏎ close" if block.opened else "⏎ open", "note"))
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


def _put_right(strip: Strip, painter: Painter, mark: Mark) -> Strip:
    edge = painter.edge
    right = painter.marks_strip([mark], MARK_CELLS)
    return Strip.join([strip.crop(0, edge - MARK_CELLS), right, strip.crop(edge)])


class PageView(ScrollView):
    """Scrolling, following and layout; subclasses draw the content.

    Heights of items that were never visible are estimates. The view is therefore tied to the
    content of its first line, not to a line number, so the same words stay on top when heights
    above them are corrected.
    """

    following: reactive[bool] = reactive(True, init=False)
    """Whether the view stays at the end as the conversation grows."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._page = Document()
        self._top = Spot(0, 0, 0)
        self._wanted: Spot | None = None
        """The line to bring into view once the page is laid out."""
        self._laid_out: tuple[Any, ...] = ()
        """The width and styles of the page as it is laid out; empty before."""
        self._laid_out_in = Size(0, 0)
        """The size of the view when the page was laid out last."""
        self._placing = False
        self.may_follow = True
        """Whether a new conversation is followed, and one that was scrolled to its end."""

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scrollbar, made when it is first needed."""
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = QuickBar(
                vertical=True, name="vertical", thickness=self.scrollbar_size_vertical
            )
            self._vertical_scrollbar.display = False
            self.app._start_widget(self, self._vertical_scrollbar)
        return self._vertical_scrollbar

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines in `crop`, ready for the compositor.

        Textual would style every line anew whenever the text has moved up by one. Here a painted
        line keeps its strip, and with it the cached results of filters and the compositor.
        """
        if self.styles.gutter or self.opacity != 1.0 or self.styles.tint.a:
            return super().render_lines(crop)
        width, base = self.outer_size.width, self.rich_style
        empty = Strip.blank(self.scrollable_content_region.width, base).adjust_cell_length(
            width, base
        )
        last = self._page.height - self.scroll_offset.y if self._laid_out else 0
        strips = [
            self.render_line(y).adjust_cell_length(width, base) if y < last else empty
            for y in crop.line_range
        ]
        background = self.background_colors[1]
        for line_filter in self.get_line_filters():
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        start, end = crop.column_span
        return [strip.crop(start, end) for strip in strips]

    def stay(self) -> None:
        """Stop following; `follow` starts it again."""
        self.may_follow = self.following = False

    def follow(self) -> None:
        """Go to the end and follow it."""
        self.following = True
        self._settle()

    def notify_style_update(self) -> None:
        """Take new colours when the theme or a style has changed."""
        super().notify_style_update()
        if self._laid_out:
            # Textual notifies before it has computed the component styles, which lines are painted
            # in.
            self.call_after_refresh(self._take_styles)

    def _take_styles(self) -> None:
        self._rich_style_cache.clear()
        self._visual_style_cache.clear()
        self._lay_out()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Keep the visible text in place when heights above it are corrected. Values are lines from
        the top of the page.
        """
        super().watch_scroll_y(old_value, new_value)
        if self._placing or not self._laid_out or round(old_value) == round(new_value):
            return
        height = self._view_height
        moved = round(new_value) - round(old_value)
        # Up by at most two views: the heights on the way are measured first, so that the text moves
        # by as many lines. Otherwise the heights as they are known or estimated will do.
        if moved < 0 and abs(moved) <= 2 * height:
            self._page.measure_up(self._top, -moved + 1)
            line = max(0, self._page.top(self._top) + moved)
        else:
            line = round(new_value)
        self._top = self._page.locate(line)
        at_end = self.may_follow and round(new_value) >= round(self.max_scroll_y)
        if self.following != at_end:
            self.following = at_end
        self._settle()
        self.scrolled()

    def scrolled(self) -> None:
        """Follow the reader's scrolling; for subclasses."""

    def lay_out_if_resized(self) -> None:
        """Lay out again if the size has changed."""
        if self.scrollable_content_region.size != self._laid_out_in:
            self._lay_out()

    def _on_resize(self, event: events.Resize) -> None:
        self._lay_out()

    def _on_show(self, event: events.Show) -> None:
        self._lay_out()
        self.refresh()

    def _scroll_to(self, x: float | None = None, y: float | None = None, **how: Any) -> bool:
        # An animation would overwrite the corrections that heights need on the way.
        return super()._scroll_to(x, y, **{**how, "animate": False})

    def scroll_home(self, **how: Any) -> None:
        """Go to the first line, even if estimated heights on the way turn out wrong."""
        self.following = False
        self._top = Spot(0, 0, 0)
        self._settle()
        self.refresh()

    def scroll_end(self, **how: Any) -> None:
        """Go to the end and follow it."""
        self.follow()

    def action_scroll_home(self) -> None:
        """Go to the beginning because the reader asked for it."""
        self.scroll_home()
        self.scrolled()

    def action_scroll_end(self) -> None:
        """Go to the end because the reader asked for it."""
        self.scroll_end()
        self.scrolled()

    @property
    def _view_height(self) -> int:
        return max(1, self.scrollable_content_region.height)

    def _style(self, name: str) -> Style:
        if name == "selection":
            # Its foreground is transparent, which only compositing understands.
            return Style(bgcolor=self.screen.get_component_rich_style("screen--selection").bgcolor)
        painted = (self.visual_style + VisualStyle.parse(STYLES[name])).rich_style
        if name in ("match", "evidence"):
            return Style(bgcolor=painted.bgcolor)
        return painted

    def _lay_out(self, *, again: bool = False) -> None:
        """Lay out the page if its width or styles changed, or `again` in any case; then scroll to
        where it was, or to the line that was asked for in the meantime.
        """
        width = self.scrollable_content_region.width
        if width <= 0 or not self.is_mounted:
            # Hidden: everything is laid out when it is shown again.
            if again:
                self._laid_out = ()
            return
        self._laid_out_in = self.scrollable_content_region.size
        styles = {name: self._style(name) for name in STYLES}
        styles["base"] = self.rich_style
        as_now = (width, tuple(styles.values()))
        if again or as_now != self._laid_out:
            self._laid_out = as_now
            self._page.lay_out(Painter(width, styles))
            self.refresh()
        self._settle()
        if self._wanted is not None:
            wanted, self._wanted = self._wanted, None
            self._reveal(wanted)

    def _refresh_below(self, spot: Spot) -> None:
        """Redraw the visible lines at and below a position."""
        if not self._laid_out:
            return
        height = self._view_height
        first = 0
        if spot.item < len(self._page.items):
            first = max(0, self._page.top(spot) - self.scroll_offset.y)
        if first < height:
            self.refresh(Region(0, first, self.scrollable_content_region.width, height - first))

    def _settle(self) -> None:
        """Paint the visible lines, correct the heights, and scroll to the end or to the previous
        place.
        """
        if not self._laid_out or not self._page.items or not self.scrollable_content_region.width:
            return
        height = self._view_height
        page = self._page
        if self.following:
            page.measure_up(page.end(), height + 1)
            line = max(0, page.height - height)
            self._top = page.locate(line)
        else:
            page.measure_down(self._top, height + 1)
            page.measure_up(self._top, 3)
            line = page.top(self._top)
        self._placing = True
        try:
            size = Size(self.scrollable_content_region.width, page.height)
            if self.virtual_size != size:
                # As Textual does where only the scrollbars change: assigning would lay out the
                # whole screen.
                self.set_reactive(PageView.virtual_size, size)
                self._scroll_update(size)
            if round(self.scroll_y) != min(line, max(0, page.height - height)):
                self._scroll_to(y=line, force=True)
        finally:
            self._placing = False

    def _fits(self, spot: Spot) -> bool:
        self._page.measure_down(spot, self._view_height)
        return self._page.height - self._page.top(spot) <= self._view_height

    def _reveal(self, spot: Spot, margin: int | None = None) -> None:
        """Bring a line into view: about a third from the top, or, with `margin`, as little as is
        needed.
        """
        if not self._laid_out:
            self._wanted = spot
            return
        page, height = self._page, self._view_height
        page.measure_up(spot, height)
        page.measure_down(spot, height)
        self._settle()
        line, first = page.top(spot), self.scroll_offset.y
        if margin is not None and first + margin <= line < first + height - margin:
            self.refresh()
            return
        if margin is None:
            wanted = line - height // 3
        else:
            wanted = line - margin if line < first + margin else line - height + 1 + margin
        wanted = max(0, min(wanted, page.height - height))
        self.following = self.following and wanted >= page.height - height
        self._top = page.locate(wanted)
        self._settle()
        self.refresh()

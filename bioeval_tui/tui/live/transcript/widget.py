"""The Transcript widget: keys, mouse, scrolling and the clock around a `Document`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from time import monotonic
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from bioeval_tui.record.state import ConversationState
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.live.transcript.blocks import Fold
from bioeval_tui.tui.live.transcript.document import Spot
from bioeval_tui.tui.live.transcript.markdown import warm_up
from bioeval_tui.tui.live.transcript.page import (
    Highlights,
    PageView,
    Span,
    add_cursor,
    add_timer,
    line_key,
    restyled,
    selected_text,
)
from bioeval_tui.tui.live.transcript.styles import CSS

STREAM_INTERVAL = 0.1
"""Minimum seconds between two repaints of a growing message. Its first words never wait."""

STREAM_SHARE = 10
"""After a repaint of a growing message, wait for this many times its duration: a long message on a
slow machine would leave no time for keys.
"""


class Transcript(PageView, can_focus=True):
    """A conversation: messages with speakers and times, events, failed attempts and disclosed
    facts.

    Bind it with `show`, then tell it with `update` which messages have changed; it reads the state
    that it was given and copies nothing. Only what is in view is painted, so appending costs the
    same at the first message and at the ten-thousandth. All text is literal.

    Keys: arrows and pages scroll, `j` and `k` go from one line that can be opened to the next,
    enter or a click opens and closes it, `e` shows and hides what the agent did, `f` follows the
    end.
    """

    DEFAULT_CSS = CSS

    BINDINGS: ClassVar[list[BindingType]] = bindings("~transcript")

    class Scrolled(Message):
        """The reader scrolled; not posted when the program scrolls."""

        def __init__(self, transcript: Transcript) -> None:
            super().__init__()
            self.transcript = transcript

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._highlights = Highlights()
        self._cursor: Fold | None = None
        self._now: datetime | None = None
        self._waiting: set[int] = set()
        self._stream_timer: Timer | None = None
        self._streamed_at = 0.0
        self._pause = STREAM_INTERVAL
        self._selected: Selection | None = None

    def on_mount(self) -> None:
        """Get ready to colour code, and to lay out whenever the screen was."""
        super().on_mount()  # type: ignore[no-untyped-call]
        warm_up()
        # Textual 8.2.8 sends neither Show nor Resize to a widget that became visible if somebody
        # asked for its region before the screen was laid out.
        self.screen.screen_layout_refresh_signal.subscribe(
            self, lambda _: self.lay_out_if_resized()
        )

    # What screens call.

    def show(self, conversation: ConversationState | None) -> None:
        """Bind to a conversation and read all of it; None shows an empty transcript."""
        fresh = conversation is not self._page.conversation
        self._waiting.clear()
        self._page.show(conversation)
        if fresh:
            self._cursor = None
            self._top = Spot(0, 0, 0)
            self._highlights = Highlights()
            self.following = self.may_follow
        self._lay_out(again=True)

    def update(self, numbers: set[int] | None, *, can_wait: bool = False) -> None:
        """Read the messages with these numbers again (None: all), and add new ones.

        Text that streams in, and whatever `can_wait`, is painted at most every 0.1 s; its first
        words, and its end, at once.
        """
        if numbers is None:
            self.show(self._page.conversation)
            return
        now = set() if can_wait else {number for number in numbers if not self._can_wait(number)}
        self._waiting |= numbers - now
        delay = self._streamed_at + self._pause - monotonic()
        if self._waiting and not now and delay > 0:
            if self._stream_timer is None:
                self._stream_timer = self.set_timer(delay, self._flush)
            return
        self._read(now | self._waiting)

    def find(self, pattern: str) -> int:
        """Look for words (ignoring case, line ends and Markdown marks), mark all matches and return
        their number.

        An empty pattern ends the search. Matches in messages that arrive later are counted, too.
        """
        total = self._highlights.find_all(pattern, self._page)
        self.refresh()
        return total

    def find_next(self, direction: int = 1) -> tuple[int, int]:
        """Go to the next match (or, with -1, the previous one); return its position (from 1) and
        the number of matches.
        """
        match = self._highlights.step(1 if direction >= 0 else -1, self._top)
        if match is None:
            return 0, 0
        block = self._page.blocks(match.item)[match.block]
        if self._laid_out:
            self._page.lines(match.item, block)
        self._reveal(Spot(match.item, match.block, self._highlights.match_line(match, block)))
        return self._highlights.position, self._highlights.total

    @property
    def matches(self) -> tuple[int, int]:
        """Which match is the current one (from 1, 0 before the first) and how many there are."""
        return self._highlights.position, self._highlights.total

    def show_message(self, message: int, quote: str | None = None) -> bool:
        """Bring a message into view and mark `quote` in it; return whether the message (and quote)
        is there.
        """
        index = self._page.numbers.get(message)
        if index is None:
            return False
        wanted = self._highlights.point_out([(index, quote)] if quote else []).get(index)
        spot, there = Spot(index, 0, 0), wanted is None
        for number, block in enumerate(self._page.blocks(index)):
            if block.kind == "gap" and number == 0:
                spot = Spot(index, 1, 0)
            if wanted is not None and wanted.search(block.text):
                lines = self._page.lines(index, block) if self._laid_out else []
                rows = (
                    row
                    for row, _ in enumerate(lines)
                    if self._highlights.spans(index, number, block, row)
                )
                spot, there = Spot(index, number, next(rows, 0)), True
                break
        self._reveal(spot)
        return there

    def mark_evidence(self, quotes: Sequence[tuple[int, str]]) -> None:
        """Mark every quotation, given as (message, quote), and bring the first into view.

        Without quotations, remove the marks.
        """
        numbers = self._page.numbers
        if quotes:
            self.show_message(*quotes[0])
        self._highlights.point_out(
            (numbers[message], quote) for message, quote in quotes if message in numbers
        )
        self.refresh()

    @property
    def top_message(self) -> int | None:
        """The number of the message on the first line in view; None above the first message."""
        items = self._page.items
        message = items[self._top.item].message if self._top.item < len(items) else None
        if message is None:
            return None
        return message.message

    @property
    def chosen_message(self) -> int | None:
        """The number of the current message: the marked line's, otherwise the newest while
        following, otherwise the top one.
        """
        if (
            self._cursor is not None
            and self._cursor.message
            and self._page.fold_spot(self._cursor) is not None
        ):
            return self._cursor.message
        if self.following or self.top_message is None:
            return max(self._page.numbers, default=None)
        return self.top_message

    def put_on_top(self, message: int) -> None:
        """Scroll so that a message begins on the first line, as far as the end allows."""
        index = self._page.numbers.get(message)
        if index is None or not self._laid_out:
            return
        first = self._page.blocks(index)[0]
        self._top = Spot(index, 1 if first.kind == "gap" else 0, 0)
        self._page.measure_down(self._top, self._view_height + 1)
        at_end = self._page.height - self._page.top(self._top) <= self._view_height
        self.following = self.may_follow and at_end
        self._settle()
        self.refresh()

    def set_choices(
        self,
        *,
        show_events: bool | None = None,
        show_checks: bool | None = None,
        dense: bool | None = None,
        roomy: bool | None = None,
    ) -> None:
        """Show or hide what the agent did, which assertions that turned, and the empty lines
        between turns (`roomy`: between messages).
        """
        choices = self._page.choices
        if show_events is not None:
            choices.show_events = show_events
        if show_checks is not None:
            choices.show_checks = show_checks
        if dense is not None:
            choices.dense = dense
        if roomy is not None:
            choices.roomy = roomy
        self._rebuild_all()

    def mark_parting(self, message: int | None) -> None:
        """Mark the first message that the other condition does not share."""
        choices = self._page.choices
        if message != choices.parting:
            before, choices.parting = choices.parting, message
            self._read({number for number in (before, message) if number is not None})

    @property
    def shows_checks(self) -> bool:
        """Whether the assertions that an answer turned are shown."""
        return self._page.choices.show_checks

    @property
    def shows_events(self) -> bool:
        """Whether generation events are shown."""
        return self._page.choices.show_events

    def scrolled(self) -> None:
        """Tell the screen that the reader scrolled."""
        self.post_message(self.Scrolled(self))

    def tick(self, now: datetime | None = None) -> None:
        """Draw running times as of `now` (aware; the present when None).

        Cheap when nothing is awaited.
        """
        self._now = now
        pending = self._page.pending
        if pending is None or not self._laid_out:
            return
        index = self._page.numbers.get(pending.message)
        if index is None:
            return
        for number, block in enumerate(self._page.blocks(index)):
            if block.timer:
                self.refresh_lines(self._page.top(Spot(index, number, 0)), 1)

    # Keys and mouse.

    def action_follow(self) -> None:
        """Go to the end and follow it."""
        self.follow()

    def action_toggle_events(self) -> None:
        """Show or hide the generation events."""
        self.set_choices(show_events=not self.shows_events)

    def action_next_fold(self, direction: int) -> None:
        """Move the mark to the next or previous line that can be opened."""
        spot = self._next_fold(direction)
        if spot is None:
            return
        self._cursor = self._page.blocks(spot.item)[spot.block].fold
        self._reveal(spot, margin=2)

    def action_open(self) -> None:
        """Open or close the marked line; without a mark, mark the first one in view."""
        if self._cursor is None or self._page.fold_spot(self._cursor) is None:
            self._cursor = None
            self.action_next_fold(1)
            return
        self.toggle(self._cursor)

    def toggle(self, fold: Fold) -> None:
        """Open or close the fold."""
        opened = self._page.choices.opened
        opened.symmetric_difference_update({fold})
        self._cursor = fold
        self._page.rebuild(self._page.numbers.get(fold.message, 0))
        self._count_again({fold.message})
        spot = self._page.fold_spot(fold)
        if fold in opened and spot is not None and not self._fits(spot):
            self.following = False
        self._settle()
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Open or close the line under the pointer, unless text was being selected."""
        if self.text_selection is not None or event.button != 1:
            return
        y = self.scroll_offset.y + event.get_content_offset_capture(self).y
        if 0 <= y < self._page.height:
            spot = self._page.locate(y)
            block = self._page.blocks(spot.item)[spot.block]
            if block.fold is not None:
                event.stop()
                self.toggle(block.fold)

    # Painting.

    def render_line(self, y: int) -> Strip:
        """Return line `y` of the view: its text with the running time, search, evidence and
        selection marked in it, and the cursor of what can be opened.
        """
        at = self.scroll_offset.y + y
        if not self._laid_out or at >= self._page.height:
            return Strip.blank(self.scrollable_content_region.width, self.rich_style)
        spot = self._page.locate(at)
        block = self._page.blocks(spot.item)[spot.block]
        lines = self._page.lines(spot.item, block)
        # Until it is painted, here, a block's height is an estimate, which may be too large.
        line = lines[min(spot.line, len(lines) - 1)]
        strip = line.strip
        if line.timer:
            strip = add_timer(strip, self._page, self._now)
        key = line_key(spot)
        spans = [
            *self._highlights.spans(spot.item, spot.block, block, spot.line),
            *self._selected_spans(key, len(line.text)),
        ]
        for start, end, style in spans:
            strip = restyled(strip, line, start, end, self._style(style))
        if block.fold is not None and block.fold == self._cursor and self.has_focus:
            strip = add_cursor(strip, block, self._page, self._style("cursor"))
        return strip.apply_offsets(-line.before, key)

    def _selected_spans(self, key: int, length: int) -> Iterator[Span]:
        """Yield the selected part of the line of that key, which is so long; nothing without
        one.
        """
        if self._selected is None:
            return
        span = self._selected.get_span(key)
        if span is None:
            return
        start, end = span
        # Textual's -1 is the end of the line.
        yield Span(max(0, start), length if end < 0 else min(end, length), "selection")

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text: what was said, without speakers, times and marks at the
        edges.
        """
        return selected_text(self._page, selection), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self._selected = selection
        self.refresh()

    # Inside.

    def _can_wait(self, number: int) -> bool:
        index = self._page.numbers.get(number)
        if index is None:
            return False
        item = self._page.items[index]
        message = item.message
        return message is not None and not message.done and bool(item.text or item.blocks is None)

    def _flush(self) -> None:
        self._stream_timer = None
        if self._waiting:
            self._read(set())

    def _read(self, numbers: set[int]) -> None:
        numbers = numbers | self._waiting
        self._waiting.clear()
        if self._stream_timer is not None:
            self._stream_timer.stop()
            self._stream_timer = None
        begun = monotonic()
        changed = self._page.take(numbers)
        if changed is None:
            self.show(self._page.conversation)
        else:
            self._count_again(numbers)
            self._settle()
            self._refresh_below(changed)
        self._streamed_at = monotonic()
        self._pause = max(STREAM_INTERVAL, STREAM_SHARE * (self._streamed_at - begun))

    def _count_again(self, numbers: set[int]) -> None:
        if self._highlights.pattern is not None:
            for number in numbers:
                if (index := self._page.numbers.get(number)) is not None:
                    self._highlights.count(index, self._page)
            self._highlights.version += 1

    def _rebuild_all(self) -> None:
        for index in range(len(self._page.items)):
            self._page.rebuild(index)
        self._count_again(set(self._page.numbers))
        self._settle()
        self.refresh()

    def _next_fold(self, direction: int) -> Spot | None:
        """Return the next line down (1) or up (−1) that can be opened, from the marked one or, with
        none marked, from the edge of the view; None if there is none.
        """
        page = self._page
        start = None
        if self._cursor is not None:
            start = page.fold_spot(self._cursor)
        if start is None:
            edge = self._top
            if direction < 0:
                edge = page.locate(self.scroll_offset.y + self._view_height)
            # One block outside the view, so that the one at its edge is beyond the start.
            start = Spot(edge.item, edge.block - direction, 0)
        index = start.item
        while 0 <= index < len(page.items):
            if page.items[index].blocks is not None or page.folds(index):
                blocks = page.blocks(index)
                order = range(len(blocks)) if direction > 0 else range(len(blocks) - 1, -1, -1)
                for number in order:
                    beyond = index != start.item or (number - start.block) * direction > 0
                    if beyond and blocks[number].fold is not None:
                        return Spot(index, number, 0)
            index += direction
        return None

"""A list of rows with a cursor (`RowList`), drawn on demand: only visible rows are rendered, so
100,000 rows cost no more than a few.

Tables (`list_table.py`, `sorted_table.py`) and cards put their rows into it (`set_rows`), with a
function that draws one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import ClassVar, Self

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual

from bioeval_tui.tui.keys import bindings, set_keys
from bioeval_tui.tui.shared.themes import readable

MOST_KEPT = 300
"""Number of drawn rows kept, so that scrolling by one row draws only one."""
Heights = int | Sequence[int]
"""How many lines all rows have, or each of them."""
RowPainter = Callable[[int, int], Content]
"""Called with a row's index and the width in cells; returns that row, a line of text for each of
its lines.
"""


class RowList(ScrollView, can_focus=True):
    """Rows with a cursor.

    Posts `Highlighted` when the cursor moves and `Chosen` on enter or a second click.

    `enter` is the place in the table of keys that says what enter does here, and `opens` whether it
    does so on the row under the cursor.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--cursor", "rows--hover"}
    DEFAULT_CSS = """
    RowList {
        background: transparent;
        scrollbar-size-vertical: 1;
        overflow-x: hidden;
        & .rows--cursor { background: $surface-lighten-1; }
        &:focus .rows--cursor { background: $block-cursor-blurred-background; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("~rows")

    class Highlighted(Message):
        """The cursor moved to `index`."""

        def __init__(self, rows: RowList, index: int) -> None:
            super().__init__()
            self.rows = rows
            self.index = index

    class Chosen(Highlighted):
        """The row at `index` was opened."""

    def __init__(self, enter: str = "", opens: Callable[[], bool] = lambda: True) -> None:
        self._drawn: dict[tuple[int, int, Style], list[Strip]] = {}
        super().__init__()
        if enter:
            set_keys(self, enter)
        self._opens = opens
        self._row_count = 0
        self._heights: Heights | Callable[[int], Heights] = 1
        self._lines: Heights = 1
        self._starts: Sequence[int] = ()
        """The first line of each row, if rows have different heights."""
        self._painter: RowPainter | None = None
        self._blurred_cursor = False
        self.cursor = 0
        self._clicked: int | None = None
        """The row that was clicked last, while the cursor stays there: another click opens it."""
        self.user_moved = False
        """Whether the user has moved the cursor; until then, it may stay on the first row as the
        list fills.
        """
        self.tail = False
        """Whether the list stays at its end as rows are added."""

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return self._row_count

    def row_text(self, width: int = 160) -> str:
        """Return the row under the cursor as it would be drawn in `width` cells, for copying."""
        if self._painter is None or not self._row_count:
            return ""
        return self._painter(self.cursor, width).plain.rstrip()

    def table_text(self, width: int = 160) -> str:
        """Return every row as it would be drawn in `width` cells, for copying."""
        painter = self._painter
        if painter is None:
            return ""
        return "\n".join(painter(at, width).plain.rstrip() for at in range(self._row_count))

    def show_blurred_cursor(self) -> None:
        """Mark the cursor's row even without the focus, for lists with a card that follows the
        cursor.
        """
        self._blurred_cursor = True

    def set_rows(
        self, count: int, painter: RowPainter, *, lines: Heights | Callable[[int], Heights] = 1
    ) -> None:
        """Show `count` rows of so many `lines`, drawn by `painter`; the cursor stays where it is,
        if it can.

        `lines` is the height of the rows, or what returns it for a width in cells; many rows are
        fast only if all have the same.
        """
        grew = count > self._row_count
        self._row_count = count
        self._painter, self._heights = painter, lines
        self.cursor = max(0, min(self.cursor, count - 1))
        self._measure()
        if self.tail and grew and not self.has_focus:
            self.scroll_end(animate=False, immediate=True)
        self.refresh()

    def _measure(self) -> None:
        """Find out how high the rows are at this width."""
        width, lines = self.scrollable_content_region.width, self._heights
        if not isinstance(lines, int | Sequence):
            lines = lines(width) if width else 1
        self._lines = lines
        if isinstance(lines, int):
            self._starts = ()
            size = Size(width, self._row_count * lines)
        else:
            self._starts = tuple(accumulate(lines, initial=0))
            size = Size(width, self._starts[-1])
        if self.styles.is_auto_height or not self.size:
            self.virtual_size = size
        elif self.virtual_size != size:
            # As Textual does where only the scrollbars change: assigning would lay out the whole
            # screen.
            self.set_reactive(RowList.virtual_size, size)
            self._scroll_update(size)

    def on_resize(self) -> None:
        """Measure rows whose height depends on the width."""
        if not isinstance(self._heights, int | Sequence):
            self._measure()
            self._scroll_to_cursor()
            self.refresh()

    def move_to(self, index: int) -> None:
        """Put the cursor on `index` and scroll it into view."""
        if not self._row_count:
            return
        before, seen = self.cursor, self.scroll_offset
        self.cursor = max(0, min(index, self._row_count - 1))
        if self.cursor != before:
            self._clicked = None
        self._scroll_to_cursor()
        # Two rows look different now; a list that scrolled is repainted from cached lines.
        if self.scroll_offset == seen:
            self.refresh_line(before)
            self.refresh_line(self.cursor)
        else:
            super().refresh(self.size.region)
        self.post_message(self.Highlighted(self, self.cursor))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the left and right arrows to the screen, because rows are as wide as the list.

        Without rows, nothing can be opened.
        """
        if action == "choose":
            return self._row_count > 0 and self._opens()
        return action not in ("scroll_left", "scroll_right")

    def action_move(self, by: int) -> None:
        """Move the cursor by rows."""
        self.user_moved = True
        self.move_to(self.cursor + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by pages."""
        self.user_moved = True
        lines = self._lines if isinstance(self._lines, int) else max(self._lines, default=1)
        self.move_to(self.cursor + by * max(1, self.size.height // lines - 1))

    def action_edge(self, end: int) -> None:
        """Move the cursor to the first row or the last."""
        self.user_moved = True
        self.move_to(self._row_count - 1 if end else 0)

    def action_choose(self) -> None:
        """Open the row under the cursor, if enter does: a click does not ask `check_action`."""
        if self._row_count and self._opens():
            self.post_message(self.Chosen(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the mouse points; open the row that was clicked before, however long
        ago.
        """
        index, _ = self._find_row(event.y + self.scroll_offset.y)
        if not 0 <= index < self._row_count:
            return
        self.user_moved = True
        if index == self.cursor == self._clicked:
            self._clicked = None
            self.action_choose()
        else:
            self.move_to(index)
            self._clicked = index

    def on_focus(self) -> None:
        """Bring the cursor into view, since it is drawn now."""
        if self._row_count:
            self._scroll_to_cursor()

    def _scroll_to_cursor(self) -> None:
        first, lines = self._span(self.cursor)
        self.scroll_to_region(Region(0, first, 1, lines), animate=False, immediate=True)

    def _span(self, index: int) -> tuple[int, int]:
        """Return the first line of a row, and its height."""
        if isinstance(self._lines, int):
            return index * self._lines, self._lines
        return self._starts[index], self._lines[index]

    def _find_row(self, y: int) -> tuple[int, int]:
        """Return the row at line `y`, and which of its lines that is; the row after the last one
        below it.
        """
        if isinstance(self._lines, int):
            return divmod(y, self._lines)
        index = bisect_right(self._starts, y) - 1
        return index, y - self._starts[index]

    def render_line(self, y: int) -> Strip:
        """Draw one visible line."""
        width = self.scrollable_content_region.width
        index, line = self._find_row(y + self.scroll_offset.y)
        if self._painter is None or index >= self._row_count:
            return Strip.blank(width, self.rich_style)
        style = self.visual_style
        selected = index == self.cursor and (self.has_focus or self._blurred_cursor)
        if selected:
            style = style + self.get_visual_style("rows--cursor")
        key = (index, width, style)
        strips = self._drawn.get(key)
        if strips is None:
            drawn = [text.truncate(width, pad=True) for text in self._painter(index, width).split()]
            lines = self._span(index)[1]
            drawn += [Content("")] * (lines - len(drawn))
            strips = Visual.to_strips(
                self, Content("\n").join(drawn), width, lines, style, pad=True
            )
            if selected:
                strips = [
                    Strip([Segment(text, ink and readable(ink)) for text, ink, _ in one], width)
                    for one in strips
                ]
            if len(self._drawn) >= MOST_KEPT:
                self._drawn.clear()
            self._drawn[key] = strips
        return strips[line]

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> Self:
        """Draw again. Without a region everything may have changed: no line is kept."""
        if not regions:
            self._drawn.clear()
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def refresh_line(self, y: int) -> None:
        """Redraw the row at index `y` with its current content."""
        for key in [key for key in self._drawn if key[0] == y]:
            del self._drawn[key]
        first, lines = self._span(y)
        for line in range(first, first + lines):
            super().refresh_line(line)

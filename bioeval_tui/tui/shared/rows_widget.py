"""A list of rows, drawn on demand: only visible rows are rendered, so 100,000 rows cost no more than 20.

A row is one line, or several if its list has room for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual

from bioeval_tui.tui.keys import bindings

MOST_KEPT = 300
"""Number of drawn rows kept, so that scrolling by one row draws only one."""
RowPainter = Callable[[int, int], Content]
"""Called with a row's index and the width in cells; returns that row, of at most `RowList.row_height` lines."""


class RowList(ScrollView, can_focus=True):
    """Rows with a cursor. Posts `Highlighted` when the cursor moves and `Chosen` on enter or a second click."""

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

        @property
        def control(self) -> RowList:
            """The list that posted it."""
            return self.rows

    class Chosen(Highlighted):
        """The row at `index` was opened."""

    def __init__(self, *, id: str | None = None, classes: str | None = None, cursor: bool = True) -> None:
        self._drawn: dict[tuple[int, int, Style], list[Strip]] = {}
        super().__init__(id=id, classes=classes)
        self._row_count = 0
        self._painter: RowPainter | None = None
        self._lines: Callable[[int], int] | None = None
        self._has_cursor = cursor
        self._blurred_cursor = False
        self.cursor = 0
        self.user_moved = False
        """Whether the user has moved the cursor; until then, it may stay on the first row as the list fills."""
        self.tail = False
        """Whether the list stays at its end as rows are added."""

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return self._row_count

    @property
    def row_height(self) -> int:
        """How many lines each row has: as many as the longest one needs, if all rows then fit."""
        if self._lines is None or not self._row_count or not self.size:
            return 1
        return max(1, min(self.size.height // self._row_count, self._lines(self.size.width)))

    def row_text(self, width: int = 160) -> str:
        """Return the row under the cursor as it would be drawn in `width` cells, for copying."""
        if self._painter is None or not self._row_count:
            return ""
        return self._painter(self.cursor, width).plain.rstrip()

    def table_text(self, width: int = 160) -> str:
        """Return every row as it would be drawn in `width` cells, for copying."""
        rows = range(self._row_count) if self._painter else ()
        return "\n".join(self._painter(at, width).plain.rstrip() for at in rows if self._painter)

    def show_blurred_cursor(self) -> None:
        """Mark the cursor's row even without the focus, for lists with a card that follows the cursor."""
        self._blurred_cursor = True

    def set_rows(self, count: int, painter: RowPainter, lines: Callable[[int], int] | None = None) -> None:
        """Show `count` rows drawn by `painter`; the cursor stays where it is, if it can.

        `lines` is called with the width in cells, and returns how many lines the longest row needs.
        """
        grew = count > self._row_count
        self._row_count, self._painter, self._lines = count, painter, lines
        self.cursor = max(0, min(self.cursor, count - 1))
        self._measure()
        if self.tail and grew and not self.has_focus:
            self.scroll_end(animate=False, immediate=True)
        self.refresh()

    def _measure(self) -> None:
        size = Size(self.scrollable_content_region.width, self._row_count * self.row_height)
        if self.styles.is_auto_height or not self.size:
            self.virtual_size = size
        elif self.virtual_size != size:
            # As Textual does where only the scrollbars change: assigning would lay out the whole screen.
            self.set_reactive(RowList.virtual_size, size)
            self._scroll_update(size)

    def on_resize(self) -> None:
        """Give the rows as many lines as there is room for now."""
        if self._lines is not None:
            self._measure()
            self.refresh()

    def _show_cursor(self) -> None:
        height = self.row_height
        self.scroll_to_region(Region(0, self.cursor * height, 1, height), animate=False, immediate=True)

    def move_to(self, index: int) -> None:
        """Put the cursor on `index` and scroll it into view."""
        if not self._row_count:
            return
        before, seen = self.cursor, self.scroll_offset
        self.cursor = max(0, min(index, self._row_count - 1))
        self._show_cursor()
        # Two rows look different now; a list that scrolled is repainted from cached lines.
        if self.scroll_offset == seen:
            self.refresh_row(before)
            self.refresh_row(self.cursor)
        else:
            super().refresh(self.size.region)
        self.post_message(self.Highlighted(self, self.cursor))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the left and right arrows to the screen, because rows are as wide as the list.

        Without rows, nothing can be opened.
        """
        if action == "choose":
            return self._row_count > 0
        return action not in ("scroll_left", "scroll_right")

    def action_move(self, by: int) -> None:
        """Move the cursor by rows."""
        self.user_moved = True
        self.move_to(self.cursor + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by pages."""
        self.user_moved = True
        self.move_to(self.cursor + by * max(1, self.size.height // self.row_height - 1))

    def action_edge(self, end: int) -> None:
        """Move the cursor to the first row or the last."""
        self.user_moved = True
        self.move_to(self._row_count - 1 if end else 0)

    def action_choose(self) -> None:
        """Open the row under the cursor."""
        if self._row_count:
            self.post_message(self.Chosen(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the mouse points; on the cursor's own row, open it."""
        index = (event.y + self.scroll_offset.y) // self.row_height
        if not 0 <= index < self._row_count:
            return
        self.user_moved = True
        if index == self.cursor and event.chain > 1:
            self.action_choose()
        else:
            self.move_to(index)

    def on_focus(self) -> None:
        """Bring the cursor into view, since it is drawn now."""
        if self._row_count:
            self._show_cursor()

    def render_line(self, y: int) -> Strip:
        """Draw one visible line."""
        width = self.scrollable_content_region.width
        height = self.row_height
        index, line = divmod(y + self.scroll_offset.y, height)
        if self._painter is None or index >= self._row_count:
            return Strip.blank(width, self.rich_style)
        style = self.visual_style
        if self._has_cursor and index == self.cursor and (self.has_focus or self._blurred_cursor):
            style = style + self.get_visual_style("rows--cursor")
        key = (index, width, style)
        strips = self._drawn.get(key)
        if strips is None:
            lines = [text.truncate(width, pad=True) for text in self._painter(index, width).split()]
            lines += [Content(" " * width)] * (height - len(lines))
            strips = [Visual.to_strips(self, text, width, 1, style, pad=True)[0] for text in lines]
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

    def refresh_row(self, index: int) -> None:
        """Redraw one row with its current content."""
        for key in [key for key in self._drawn if key[0] == index]:
            del self._drawn[key]
        self.refresh_lines(index * self.row_height, self.row_height)

"""A grid of tiles with a cursor.

Only visible tiles are drawn, so a thousand cost no more than twenty.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from bioeval_tui.base.widths import fitted
from bioeval_tui.tui.keys import bindings
from bioeval_tui.tui.runs.batch_view import CELL_HEIGHT, CELL_WIDTH
from bioeval_tui.tui.shared.cells import STYLES, Cell
from bioeval_tui.tui.shared.themes import readable

MOST_KEPT = 1000
"""Number of drawn tile slices kept."""
Lines = tuple[tuple[Cell, ...], ...]
TilePainter = Callable[[int, int], Lines]
"""Called with a tile's index and its width in cells; returns its lines."""


class _Frame(NamedTuple):
    """What every slice depends on: width, number of columns, tile width and styles."""

    width: int
    columns: int
    across: int
    style: Style
    here: Style
    blank: RichStyle


class TileGrid(ScrollView, can_focus=True):
    """Arrows move, enter or a second click opens; posts `Moved` and `Chosen`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"tiles--cursor"}
    DEFAULT_CSS = """
    TileGrid {
        background: transparent; scrollbar-size-vertical: 1; overflow-x: hidden;
        & .tiles--cursor { background: $block-cursor-blurred-background; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("~tiles")

    class Chosen(Message):
        """A tile was opened."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    class Moved(Message):
        """Another tile is under the cursor."""

    def __init__(self) -> None:
        self._drawn: dict[tuple[object, ...], Strip] = {}
        self._inks: dict[tuple[str, bool], RichStyle] = {}
        self._frame: _Frame | None = None
        super().__init__()
        self._keys: Sequence[Hashable] = ()
        self._painter: TilePainter | None = None
        self._lines: dict[tuple[int, int], Lines] = {}
        self.cursor = 0
        self._user_moved = False
        self._clicked: int | None = None
        """The tile that was clicked last, while the cursor stays there: another click opens it."""

    @property
    def columns(self) -> int:
        """Number of tiles in a row."""
        return max(1, self.scrollable_content_region.width // CELL_WIDTH)

    @property
    def tile_width(self) -> int:
        """Width of a tile, including the space after it; the remaining width is shared."""
        return max(1, self.scrollable_content_region.width // self.columns)

    def show(self, keys: Sequence[Hashable], painter: TilePainter) -> None:
        """Show tiles drawn by `painter`; a cursor that was moved stays on its tile."""
        here = None
        if self._user_moved and self.cursor < len(self._keys):
            here = self._keys[self.cursor]
        resized = len(keys) != len(self._keys)
        self._keys, self._painter = keys, painter
        self._lines.clear()
        if here is not None and not (self.cursor < len(keys) and keys[self.cursor] == here):
            self.cursor = next((at for at, key in enumerate(keys) if key == here), 0)
            self._show_cursor()
        self.cursor = min(self.cursor, max(0, len(keys) - 1))
        if resized:
            self._fit()
        self.refresh()

    def on_resize(self) -> None:
        """Recompute the columns for the new width."""
        self._fit()

    def _fit(self) -> None:
        rows = -(-len(self._keys) // self.columns)
        self.virtual_size = Size(self.scrollable_content_region.width, rows * CELL_HEIGHT)
        self.refresh()

    def _show_cursor(self) -> None:
        top = self.cursor // self.columns * CELL_HEIGHT
        self.scroll_to_region(Region(0, top, 1, CELL_HEIGHT), animate=False, immediate=True)

    def _put_cursor(self, at: int) -> None:
        self._user_moved = True
        before, seen = self.cursor, self.scroll_offset
        self.cursor = max(0, min(len(self._keys) - 1, at))
        if self.cursor != before:
            self._clicked = None
        self.post_message(self.Moved())
        self._show_cursor()
        if self.scroll_offset == seen:
            # Two tiles look different now.
            self.refresh(self._tile_region(before), self._tile_region(self.cursor))
        else:
            self.refresh()

    def _tile_region(self, at: int) -> Region:
        row, column = divmod(at, self.columns)
        y = row * CELL_HEIGHT - self.scroll_offset.y
        return Region(self.gutter.left + column * self.tile_width, y, self.tile_width, CELL_HEIGHT)

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self._put_cursor(self.cursor + by)

    def action_row(self, by: int) -> None:
        """Move the cursor by rows."""
        if 0 <= self.cursor + by * self.columns < len(self._keys):
            self._put_cursor(self.cursor + by * self.columns)

    def action_page(self, by: int) -> None:
        """Move the cursor by pages."""
        rows = max(1, self.size.height // CELL_HEIGHT)
        self._put_cursor(self.cursor + by * rows * self.columns)

    def action_edge(self, end: int) -> None:
        """Move the cursor to the first tile or the last."""
        self._put_cursor(len(self._keys) - 1 if end else 0)

    def action_choose(self) -> None:
        """Open the tile under the cursor."""
        if self._keys:
            self.post_message(self.Chosen(self.cursor))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the mouse points; open the tile that was clicked before, however
        long ago.
        """
        row = (event.y + self.scroll_offset.y) // CELL_HEIGHT
        column = event.x // self.tile_width
        at = row * self.columns + column
        if column >= self.columns or not 0 <= at < len(self._keys):
            return
        if at == self.cursor == self._clicked:
            self._clicked = None
            self.action_choose()
        else:
            self._put_cursor(at)
            self._clicked = at

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw the visible lines.

        Shared styles are looked up once; if they changed, cached lines are dropped.
        """
        style = self.visual_style
        frame = _Frame(
            self.scrollable_content_region.width,
            self.columns,
            self.tile_width,
            style,
            style + self.get_visual_style("tiles--cursor"),
            self.rich_style,
        )
        if frame != self._frame:
            self._frame = frame
            self._drawn.clear()
            self._inks.clear()
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Draw one line: a slice of every tile of its row. Unchanged slices are reused."""
        frame = self._frame
        if frame is None:
            return Strip([])
        row, line = divmod(y + self.scroll_offset.y, CELL_HEIGHT)
        first = row * frame.columns
        strips = [
            self._slice(self._tile_lines(at, frame.across - 3), line, at == self.cursor, frame)
            for at in range(first, min(first + frame.columns, len(self._keys)))
        ]
        return Strip.join(strips).adjust_cell_length(frame.width, frame.blank)

    def _tile_lines(self, at: int, width: int) -> Lines:
        if self._painter is None:
            return ()
        lines = self._lines.get((at, width))
        if lines is None:
            lines = self._lines[at, width] = self._painter(at, width)
        return lines

    def _slice(self, lines: Lines, line: int, here: bool, frame: _Frame) -> Strip:
        cells = lines[line] if line < len(lines) else None
        key = (cells, here)
        strip = self._drawn.get(key)
        if strip is None:
            if len(self._drawn) >= MOST_KEPT:
                self._drawn.clear()
            strip = self._drawn[key] = self._draw(cells, here, frame)
        return strip

    def _draw(self, cells: tuple[Cell, ...] | None, here: bool, frame: _Frame) -> Strip:
        """Draw a slice directly to segments; one line of known width needs no layout."""
        if cells is None:
            return Strip.blank(frame.across, frame.blank)
        segments = [Segment("▌" if here else " ", self._ink("$accent", here, frame))]
        room = frame.across - 2
        for cell in cells:
            text, width = cell.text, cell_len(cell.text)
            if width > room:
                text, width = fitted(cell.text, room), room
            segments.append(Segment(text, self._ink(STYLES[cell.tone], here, frame)))
            room -= width
        segments.append(Segment(" " * room, self._ink("", here, frame)))
        return Strip([*segments, Segment(" ", frame.blank)], frame.across)

    def _ink(self, style: str, here: bool, frame: _Frame) -> RichStyle:
        """Return a style on the tile's background, looked up once."""
        ink = self._inks.get((style, here))
        if ink is None:
            drawn = frame.here if here else frame.style
            if style:
                drawn += self._get_style(style)
            ink = drawn.rich_style
            if here:
                ink = readable(ink)
            self._inks[style, here] = ink
        return ink

    def notify_style_update(self) -> None:
        """Use the new theme's colours."""
        super().notify_style_update()
        self._frame = None

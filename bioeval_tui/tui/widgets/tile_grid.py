"""Tiles in rows and columns, drawn on demand, with a cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from bioeval_tui.tui.tones import left, paint
from bioeval_tui.tui.view.trials import CELL_HEIGHT, CELL_WIDTH, Tile


class TileGrid(ScrollView, can_focus=True):
    """Arrows move, enter or a second click opens; posts `Chosen`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"tiles--cursor"}
    DEFAULT_CSS = """
    TileGrid {
        background: transparent; scrollbar-size-vertical: 1; overflow-x: hidden;
        & .tiles--cursor { background: $block-cursor-blurred-background; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "open", tooltip="Open this conversation"),
        Binding("left,h", "move(-1)", "left", show=False, tooltip="The tile before"),
        Binding("right,l", "move(1)", "right", show=False, tooltip="The next tile"),
        Binding("up,k", "row(-1)", "up", show=False, tooltip="A row up"),
        Binding("down,j", "row(1)", "down", show=False, tooltip="A row down"),
    ]

    class Chosen(Message):
        """A tile was opened."""

        def __init__(self, tile: Tile) -> None:
            super().__init__()
            self.tile = tile

    def __init__(self) -> None:
        super().__init__()
        self._tiles: list[Tile] = []
        self.cursor = 0
        self._steered = False

    @property
    def columns(self) -> int:
        """How many tiles stand side by side."""
        return max(1, self.scrollable_content_region.width // CELL_WIDTH)

    def show(self, tiles: Sequence[Tile]) -> None:
        """Show tiles; the cursor stays on its conversation once it was moved."""
        here = self._tiles[self.cursor].key if self._steered and self.cursor < len(self._tiles) else None
        self._tiles = list(tiles)
        self.cursor = next((at for at, tile in enumerate(self._tiles) if tile.key == here), 0)
        self._fit()

    def on_resize(self) -> None:
        """Another width, other columns."""
        self._fit()

    def _fit(self) -> None:
        rows = -(-len(self._tiles) // self.columns)
        self.virtual_size = Size(self.scrollable_content_region.width, rows * CELL_HEIGHT)
        self.refresh()

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self._steered = True
        self.cursor = max(0, min(len(self._tiles) - 1, self.cursor + by))
        top = self.cursor // self.columns * CELL_HEIGHT
        self.scroll_to_region(Region(0, top, 1, CELL_HEIGHT), animate=False, immediate=True)
        self.refresh()

    def action_row(self, by: int) -> None:
        """Move the cursor by rows."""
        if 0 <= self.cursor + by * self.columns < len(self._tiles):
            self.action_move(by * self.columns)

    def action_choose(self) -> None:
        """Open the tile under the cursor."""
        if self._tiles:
            self.post_message(self.Chosen(self._tiles[self.cursor]))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the mouse points; on its own tile, open it."""
        row = (event.y + self.scroll_offset.y) // CELL_HEIGHT
        column = event.x // CELL_WIDTH
        at = row * self.columns + column
        if column >= self.columns or not 0 <= at < len(self._tiles):
            return
        if at == self.cursor and event.chain > 1:
            self.action_choose()
        else:
            self.action_move(at - self.cursor)

    def render_line(self, y: int) -> Strip:
        """Draw one line: a slice of every tile of its row."""
        width = self.scrollable_content_region.width
        row, line = divmod(y + self.scroll_offset.y, CELL_HEIGHT)
        first = row * self.columns
        strips = []
        for at in range(first, min(first + self.columns, len(self._tiles))):
            lines = self._tiles[at].lines
            style = self.visual_style
            content = Content("")
            if line < len(lines):
                mark = "▌" if at == self.cursor else " "
                content = Content.assemble((mark, "$accent"), paint(*lines[line]))
                if at == self.cursor:
                    style = style + self.get_visual_style("tiles--cursor")
            content = left(content, CELL_WIDTH - 1)
            strips.append(Visual.to_strips(self, content, CELL_WIDTH - 1, 1, style, pad=True)[0])
            strips.append(Strip.blank(1, self.rich_style))
        return Strip.join(strips).adjust_cell_length(width, self.rich_style)

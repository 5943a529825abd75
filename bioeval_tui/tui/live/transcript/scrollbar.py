"""The scrollbar of a transcript (`page.py`).

It moves with each line that streams in; Textual would make and style all of its rows anew then.
"""

from __future__ import annotations

from rich.color import Color
from rich.segment import Segment
from textual.geometry import Region
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip

MOST_BARS_KEPT = 100


class QuickBar(ScrollBar):
    """Looks and acts like Textual's scrollbar, but keeps one strip for each of its four kinds of
    rows.
    """

    def __init__(
        self, vertical: bool = True, name: str | None = None, *, thickness: int = 1
    ) -> None:
        super().__init__(vertical, name, thickness=thickness)
        self._kept: dict[Segment, Strip] = {}

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the rows in `crop`, ready for the compositor."""
        bar = self.render()
        if not self.vertical or self.opacity != 1.0 or not isinstance(bar, ScrollBarRender):
            return super().render_lines(crop)
        style = self.app.console.get_style(bar.style)
        plain = Color.default()
        drawn = bar.render_bar(
            size=self.size.height,
            virtual_size=bar.virtual_size,
            window_size=bar.window_size,
            position=bar.position,
            thickness=self.size.width,
            vertical=True,
            back_color=style.bgcolor or plain,
            bar_color=style.color or plain,
        )
        background = self.background_colors[1]
        filters = self.get_line_filters()
        start, end = crop.column_span
        strips = []
        for segment in drawn.segments[crop.y : crop.bottom]:
            strip = self._strip(segment)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            strips.append(strip.crop(start, end))
        return strips

    def _strip(self, segment: Segment) -> Strip:
        strip = self._kept.get(segment)
        if strip is None:
            if len(self._kept) >= MOST_BARS_KEPT:
                self._kept.clear()
            strip = self._kept[segment] = Strip([segment], self.size.width)
        return strip

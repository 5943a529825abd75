"""The four themes, and what makes others and the text under a cursor legible.

Colour only repeats what a sign or word says.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from rich.style import Style as RichStyle
from textual.color import BLACK, WHITE, Color
from textual.theme import Theme

DEFAULT_VARIABLES = {
    "quiet": "#8a8f99",
    "line": "#55595f",
    "gold": "#c9a227",
    "silver": "#9aa0a8",
    "bronze": "#b5793f",
    "entries": "#5f87c4",
}
"""Variables of bioeval-tui's styles beyond Textual's, for themes that do not set them."""

DEFAULT_LIGHT_VARIABLES = {
    "quiet": "#5f6672",
    "line": "#b9bdc4",
    "gold": "#8a6400",
    "silver": "#535b68",
    "bronze": "#8d4e1d",
    "entries": "#2f62b0",
}
"""The same for themes with a light background."""

FEW_COLOURS_ON_LIGHT = {
    "gold": "#800080",
    "bronze": "#800000",
    "text-success": "#000080",
    "text-warning": "#800080",
}
"""For light themes in 16 colours: a terminal's yellow cannot be read on white, nor its green, least
of all on a cyan cursor.
"""

THEMES: tuple[Theme, ...] = (
    Theme(
        name="dark",
        primary="#7aa2f7",
        secondary="#9aa5ce",
        accent="#7dcfff",
        foreground="#d5d9e6",
        background="#15171e",
        surface="#1b1e27",
        panel="#222631",
        success="#8ccf8b",
        warning="#e6b566",
        error="#f0828a",
        dark=True,
        variables={
            "quiet": "#8a91a5",
            "line": "#2f3544",
            "gold": "#f0c75e",
            "silver": "#c3cad6",
            "bronze": "#d2996a",
            "entries": "#7aa2f7",
        },
    ),
    Theme(
        name="light",
        primary="#2952a3",
        secondary="#5b6478",
        accent="#0a6c94",
        foreground="#20242e",
        background="#fbfbf9",
        surface="#f1f1ee",
        panel="#e6e7e5",
        success="#1e7a34",
        warning="#8f5b00",
        error="#b3261e",
        dark=False,
        variables={
            "quiet": "#5f6672",
            "line": "#d3d5d2",
            "gold": "#8a6400",
            "silver": "#535b68",
            "bronze": "#8d4e1d",
            "entries": "#2952a3",
        },
    ),
    # Blue, vermilion, yellow and reddish purple (lightened) of Okabe and Ito (2008), which people
    # with any common colour vision tell apart.
    Theme(
        name="colour-blind-safe",
        primary="#56b4e9",
        secondary="#b9c0c9",
        accent="#d99bc1",
        foreground="#e4e6ea",
        background="#14161b",
        surface="#1b1e25",
        panel="#242831",
        success="#56b4e9",
        warning="#f0e442",
        error="#e98a3d",
        dark=True,
        variables={
            "quiet": "#959ca8",
            "line": "#343944",
            "gold": "#f0e442",
            "silver": "#d0d5dd",
            "bronze": "#e98a3d",
            "entries": "#56b4e9",
        },
    ),
    Theme(
        name="high-contrast",
        primary="#ffffff",
        secondary="#ffffff",
        accent="#00ffff",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#1a1a1a",
        success="#00ff66",
        warning="#ffff00",
        error="#ff6b6b",
        dark=True,
        variables={
            "quiet": "#d8d8d8",
            "line": "#808080",
            "gold": "#ffff00",
            "silver": "#ffffff",
            "bronze": "#ffb070",
            "entries": "#00ffff",
        },
    ),
)

LEAST_CONTRAST = 3.0
"""Minimum contrast of a text with every background, as WCAG defines it."""
_TEXTS = (
    "quiet",
    "gold",
    "silver",
    "bronze",
    "text-success",
    "text-warning",
    "text-error",
    "text-accent",
)
_BACKS = ("background", "surface", "panel", "block-cursor-blurred-background")


def legible(variables: Mapping[str, str], *, dark: bool) -> dict[str, str]:
    """Return a theme's variables with text colours moved towards white, or black, until they
    contrast with every background.

    The terminal's own 16 colours are not known, and stay.
    """
    colours, ground = dict(variables), Color.parse(variables["background"])
    if ground.ansi is not None:
        return colours
    backs = [ground + Color.parse(variables[name]) for name in _BACKS]
    end = WHITE if dark else BLACK
    for name in _TEXTS:
        colour, share = Color.parse(variables[name]), 0.0
        while (
            share < 1
            and min(contrast(colour.blend(end, share), back) for back in backs) < LEAST_CONTRAST
        ):
            share += 0.1
        if share:
            colours[name] = colour.blend(end, share).hex
    return colours


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two colours, 1 to 21, as WCAG 2.2 defines it."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in color.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


READABLE = 4.5
"""Minimum contrast of a text with the cursor behind it, as WCAG 2.2 requires (criterion 1.4.3)."""


@lru_cache(maxsize=1024)
def readable(style: RichStyle) -> RichStyle:
    """Return the style with its text blended towards black or white, as far as it takes to be read
    on its background.
    """
    if style.color is None or style.bgcolor is None:
        return style
    ink, ground = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
    end = max(BLACK, WHITE, key=lambda color: contrast(color, ground))
    blended = (ink.blend(end, tenth / 10) for tenth in range(11))
    best = next((color for color in blended if contrast(color, ground) >= READABLE), end)
    return style + RichStyle.from_color(best.rich_color)

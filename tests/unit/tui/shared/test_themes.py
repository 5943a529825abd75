"""Texts can be read in every palette."""

import pytest
from rich.color import ColorSystem
from textual.color import BLACK, WHITE, Color
from textual.theme import BUILTIN_THEMES, Theme

from bioeval_tui.tui.shared.themes import (
    DEFAULT_LIGHT_VARIABLES,
    DEFAULT_VARIABLES,
    FEW_COLOURS_ON_LIGHT,
    LEAST_CONTRAST,
    THEMES,
    legible,
)
from bioeval_tui.tui.shared.tones import contrast


def variables(theme: Theme) -> dict[str, str]:
    missing = DEFAULT_VARIABLES if theme.dark else DEFAULT_LIGHT_VARIABLES
    return {**missing, **theme.to_color_system().generate(), **theme.variables}


@pytest.mark.parametrize("theme", [*THEMES, *BUILTIN_THEMES.values()], ids=lambda theme: theme.name)
def test_texts_contrast_with_the_selected_row_and_keep_the_colours_of_our_own_themes(theme: Theme) -> None:
    given = variables(theme)
    found = legible(given, dark=theme.dark)
    if theme in THEMES or theme.name.startswith("ansi"):
        assert found == given
        return
    row = Color.parse(given["background"]) + Color.parse(given["block-cursor-blurred-background"])
    for name in ("quiet", "gold", "silver", "bronze", "text-success", "text-error"):
        assert contrast(Color.parse(found[name]), row) >= LEAST_CONTRAST - 0.05, name
        assert found[name] not in (WHITE.hex, BLACK.hex), "a colour remains"


def test_in_sixteen_colours_no_text_is_yellow_or_white_on_white() -> None:
    light = next(theme for theme in THEMES if not theme.dark)
    shown = {**legible(variables(light), dark=False), **FEW_COLOURS_ON_LIGHT}
    texts = ("quiet", "gold", "silver", "bronze", "text-success", "text-warning", "text-error", "text-accent")
    for name in texts:
        text = Color.parse(shown[name]).rich_color.downgrade(ColorSystem.STANDARD)
        assert text.number not in (3, 7, 11, 15), name


def test_contrast_is_that_of_wcag() -> None:
    assert contrast(BLACK, WHITE) == 21
    assert contrast(Color.parse("#777777"), WHITE) == pytest.approx(4.48, abs=0.01)

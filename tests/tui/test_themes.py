"""Texts can be read in every theme."""

from __future__ import annotations

import re

import pytest
from driving import contrast
from fakes import FakeServices
from rich.color import ColorSystem
from textual.app import App
from textual.color import BLACK, WHITE, Color
from textual.theme import BUILTIN_THEMES

from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.live.transcript.styles import STYLES


def opened_in(theme: str) -> BioevalApp:
    return BioevalApp(FakeServices(), "runs", theme=theme)


NAMES = sorted(opened_in("dark").available_themes)


@pytest.mark.parametrize("name", NAMES)
def test_texts_contrast_with_the_selected_row_and_our_own_themes_keep_their_colours(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BioevalApp, "few_colours", False)
    app = opened_in(name)
    given, found = App.get_css_variables(app), app.get_css_variables()
    if name not in BUILTIN_THEMES or "ansi" in name:
        assert found == given
        return
    row = Color.parse(given["background"]) + Color.parse(given["block-cursor-blurred-background"])
    for text in ("quiet", "gold", "silver", "bronze", "text-success", "text-error"):
        assert contrast(Color.parse(found[text]), row) >= 3.0 - 0.05, text
        assert found[text] not in (WHITE.hex, BLACK.hex), "a colour remains"


@pytest.mark.parametrize("name", ["dark", "light", "colour-blind-safe", "high-contrast"])
def test_quiet_words_of_a_transcript_can_be_read(name: str) -> None:
    found = opened_in(name).get_css_variables()
    ground, ink = Color.parse(found["background"]), Color.parse(found["foreground"])
    quiet = {
        part: int(share[1]) / 100
        for part, style in STYLES.items()
        if part != "rule" and (share := re.search(r"^(?:italic )?\$foreground (\d+)%", style))
    }
    assert {"note", "event", "latency", "code-comment"} <= quiet.keys()
    for part, share in quiet.items():
        assert contrast(ground.blend(ink, share), ground) >= 4.5, part


def test_in_sixteen_colours_no_text_is_yellow_green_or_white_on_white(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(BioevalApp, "few_colours", True)
    shown = opened_in("light").get_css_variables()
    texts = (
        "quiet",
        "gold",
        "silver",
        "bronze",
        "text-success",
        "text-warning",
        "text-error",
        "text-accent",
    )
    for name in texts:
        text = Color.parse(shown[name]).rich_color.downgrade(ColorSystem.STANDARD)
        assert text.number not in (2, 3, 7, 10, 11, 15), name


def test_the_contrast_measured_here_is_that_of_wcag() -> None:
    assert contrast(BLACK, WHITE) == 21
    assert contrast(Color.parse("#777777"), WHITE) == pytest.approx(4.48, abs=0.01)

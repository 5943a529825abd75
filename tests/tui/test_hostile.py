"""Hostile text in every place that shows recorded text, and clicked on: it is shown and does
nothing.
"""

from __future__ import annotations

import pytest
from driving import NARROW, WIDE, loaded, opened
from hostile import CORPUS, hostile_services
from textual.pilot import OutOfBounds, Pilot

from bioeval_tui.tui.app import BioevalApp

UNSAFE = {
    *range(0x20),
    0x7F,
    *range(0x80, 0xA0),
    0x202E,
    0x2066,
    0x2069,
    0x200B,
    0xFEFF,
    0x2028,
    0xAD,
    0x200F,
    0x61C,
}
PATHS = (
    (None, (), "ScoreCard"),
    (None, ("escape", "tab", "home", "enter", "i", "enter"), "ScoreCard"),
    (None, ("escape", "i", "i", "i", "enter"), "AssertionDetail"),
    (None, ("escape", "slash", "a"), "LiveScreen"),
    ("medals", ("down", "enter"), "MedalDetail"),
    ("medals", ("tab",), "MedalsScreen"),
    ("medals", ("end", "up", "V"), "FindingsDialog"),
    ("jobs", ("down", "enter"), "RunDialog"),
    ("runs", ("down", "question_mark"), "HelpScreen"),
    ("benchmarks", ("down", "enter"), "BenchmarkDialog"),
    (None, ("v",), "ReviewScreen"),  # review, with the judge's words
    (None, ("v", "S"), "ReviewDialog"),
    ("runs", ("A",), "GridScreen"),  # a batch at a glance
    ("runs", ("m", "down", "m", "equals_sign"), "CompareDialog"),  # a comparison
    ("jobs", ("enter",), "RunDialog"),  # the run dialog
)
"""Where the app starts, what is pressed, and the screen that this leads to."""


def printed(app: BioevalApp) -> str:
    """Return the characters that would go to the terminal."""
    filters = app.get_line_filters()
    background = app.screen.background_colors[1]
    found = []
    for strip in app.screen._compositor.render_strips():
        line = list(strip)
        for one in filters:
            line = one.apply(line, background)
        for segment in line:
            style = segment.style
            assert style is None or style.link is None, style
            assert style is None or "@click" not in style.meta, style.meta
            found.append(segment.text)
    return "".join(found)


async def click_about(pilot: Pilot[None]) -> None:
    """Click here and there, in every column."""
    width, height = pilot.app.size
    for y in range(2, height - 1, 11):
        for x in range(12, width, 53):
            try:
                await pilot.click(offset=(x, y))
            except OutOfBounds:
                return


@pytest.mark.parametrize("at", range(len(PATHS)))
async def test_hostile_text_is_shown_on_every_screen_and_does_nothing(at: int) -> None:
    start, keys, screen = PATHS[at]
    options = {"start": start} if start else {}
    # All text passes through the same functions: with two texts for each place, every text meets
    # several places.
    for text, size in ((CORPUS[at % len(CORPUS)], WIDE), (CORPUS[(at + 3) % len(CORPUS)], NARROW)):
        async with opened(None, size, services=hostile_services(text), **options) as (app, pilot):
            for key in keys:
                await pilot.press(key)
                await loaded(app, pilot)
            assert type(app.screen).__name__ == screen
            assert not UNSAFE & {ord(letter) for letter in printed(app)}
            await click_about(pilot)
            await loaded(app, pilot)
            assert not app._exit, "no text runs an action"
            assert not UNSAFE & {ord(letter) for letter in printed(app)}

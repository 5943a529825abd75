"""Opening the application in a test and waiting for what it says."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fakes import FakeServices, FakeView
from textual.color import Color
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Static

from bioeval_tui.evaluation.engine.interface import RunRequest
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.keys import SCREENS

WIDE, NARROW = (160, 45), (80, 24)
SIZES = pytest.mark.parametrize("size", [WIDE, pytest.param(NARROW, marks=pytest.mark.long)])
"""For what screens show: at the wide size, and at the narrow one with `--all`; what a key does at
one size, it does at the other.
"""
LONGEST_S = 60.0
"""How long a test waits for something that always comes at once."""
SOON_S = 0.07
"""Timers that are due so soon belong to what a key does: frames, and lists that wait for the cursor
to rest.
"""
for screen in SCREENS:
    screen.load()  # or the first test of a process begins with what is shown until it is loaded
FOLLOWS = ("feed", "grid")
"""Workers that run as long as a run does."""


@asynccontextmanager
async def opened(
    view: FakeView | None,
    size: tuple[int, int] = WIDE,
    *,
    services: FakeServices | None = None,
    **options: Any,
) -> AsyncIterator[tuple[BioevalApp, Pilot[None]]]:
    """Open the application on a run whose clock stands still."""
    start = options.pop("start", RunRequest(jobs=()))
    app = BioevalApp(services or FakeServices(view), start, clock=lambda: 0.0, **options)
    app.animation_level = "none"
    async with app.run_test(size=size, notifications=True) as pilot:
        await loaded(app, pilot)
        yield app, pilot
        if app.is_running and app.screen_stack:
            # painted as it would be in a terminal, also if the test looks at something else
            screen_text(app)


async def loaded(app: BioevalApp, pilot: Pilot[None]) -> None:
    """Wait until the conversations are on screen and everything posted has been handled."""
    await until(
        pilot,
        lambda: not app.has_live or app.live.opener is None or bool(app.live.conversations.frames),
    )
    while short := [
        worker for worker in app.workers if worker.group not in FOLLOWS and not worker.is_finished
    ]:
        await app.workers.wait_for_complete(short)
    await timers(pilot)
    await until(
        pilot, lambda: not (rest := getattr(app.screen, "at_rest", None)) or not rest.pending
    )
    await pilot.pause()


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    """Let the application work until `condition` holds."""
    end = time.monotonic() + LONGEST_S
    while not condition():
        assert time.monotonic() < end, "it never happened"
        await pilot.pause()
        if not condition():
            # for a thread, a process or a timer, which nobody can await here
            await asyncio.sleep(0.005)


async def timers(pilot: Pilot[None]) -> None:
    """Wait for the timers that are due soon."""
    loop = asyncio.get_running_loop()
    end = loop.time() + SOON_S
    await pilot.pause()
    while due := [
        timer.when()
        for timer in vars(loop)["_scheduled"]
        if not timer.cancelled() and timer.when() <= end
    ]:
        await asyncio.sleep(max(0.0, min(due) - loop.time()))
        await pilot.pause()


async def press_without_effect(app: BioevalApp, pilot: Pilot[None], *keys: str) -> None:
    """Press keys that do not apply: the screen stays as it is."""
    screen, text = app.screen, screen_text(app)
    await pilot.press(*keys)
    await loaded(app, pilot)
    assert app.screen is screen
    assert screen_text(app) == text


def screen_text(app: BioevalApp, screen: Screen[Any] | None = None) -> str:
    """Return the characters on screen, or on one behind it, line by line."""
    width, height = app.size
    lines = (screen or app.screen)._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip)[:width] for strip in lines[:height])


def sorted_by(headings: str) -> str:
    """Return the column whose heading has the sign of the order; empty where there is no room for
    it.
    """
    found = re.search(r"(\w+)[▾▴]", headings)
    return found[1] if found else ""


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two colours as WCAG 2.2 defines it."""
    light = sorted(
        sum(
            weight * (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
            for weight, part in zip((0.2126, 0.7152, 0.0722), colour.normalized, strict=True)
        )
        for colour in (one, other)
    )
    return (light[1] + 0.05) / (light[0] + 0.05)


def is_a(widget: object, kind: str) -> bool:
    """Say whether a screen, box or widget is of the class of this name, wherever that stands."""
    return any(one.__name__ == kind for one in type(widget).__mro__)


def text_of(app: BioevalApp, selector: str) -> str:
    """Return the text of a Static of the current screen."""
    return str(app.screen.query_one(selector, Static).content)


def drawn_by(app: BioevalApp, selector: str) -> list[str]:
    """Return the lines of a widget of the current screen that are in view."""
    region = app.screen.query_one(selector).region
    lines = app.screen._compositor.render_strips()[region.y : region.bottom]
    return [strip.crop(region.x, region.right).text.rstrip() for strip in lines]


def line_with(app: BioevalApp, words: str) -> str:
    """Return the first line on screen that has these words."""
    return next(line for line in screen_text(app).splitlines() if words in line)

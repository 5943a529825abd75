"""While nothing happens, little is drawn and less is written: repaints are counted, not timed."""

from __future__ import annotations

from typing import Any

import pytest
from driving import opened
from fakes import FakeView
from run_script import scripted_run
from textual.screen import Screen

from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.live import live

AWAITED = 100
"""So many events of the script leave an answer awaited."""


async def test_clocks_that_stand_still_are_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []

    def count(app: BioevalApp, screen: Screen[Any], renderable: Any) -> None:
        drawn.append(renderable)

    async with opened(FakeView(scripted_run(), hold_at=AWAITED)) as (app, pilot):
        app.live._tick()
        await pilot.pause()
        monkeypatch.setattr(BioevalApp, "_display", count)
        for _ in range(5):
            app.live._tick()  # the clock of the test stands still, as that of a paused replay does
            await pilot.pause()
        assert drawn == []
        app.live._ticked = None  # as if it had moved
        app.live._tick()
        await pilot.pause()
        assert len(drawn) == 1, "all clocks are drawn in one repaint"
    assert live.TICK_S >= 1.0


async def test_nothing_is_drawn_before_the_terminal_has_drawn_what_came_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[Any] = []

    def count(app: BioevalApp, screen: Screen[Any], renderable: Any) -> None:
        drawn.append(renderable)

    async with opened(None, start="runs") as (app, pilot):
        await pilot.pause()
        monkeypatch.setattr(BioevalApp, "_display", count)
        monkeypatch.setattr(BioevalApp, "behind", True)
        app.screen.refresh()
        app.screen._on_timer_update()
        assert drawn == []
        monkeypatch.setattr(BioevalApp, "behind", False)
        app.screen._on_timer_update()
        assert len(drawn) == 1

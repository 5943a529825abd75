"""While nothing happens, little is drawn and less is written: repaints are counted, not timed."""

from __future__ import annotations

from typing import Any

import pytest
from driving import opened
from fakes import FakeView
from rich.segment import Segment
from run_script import scripted_run
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.live import live
from bioeval_tui.tui.shared.terminal_app import TerminalApp, _as_chops

AWAITED = 100
"""So many events of the script leave an answer awaited."""


def strip(text: str) -> Strip:
    return Strip([Segment(text)], len(text))


def update(*lines: tuple[str, str]) -> ChopsUpdate:
    """Return an update of lines of two pieces of four cells."""
    chops = [{0: strip(left), 4: strip(right)} for left, right in lines]
    return ChopsUpdate(chops, [(y, 0, 8) for y in range(len(lines))], [[4, 8] for _ in lines])


def test_only_pieces_that_changed_are_written() -> None:
    app: TerminalApp[None] = BioevalApp.__new__(BioevalApp)
    app._written = {}
    first = app._unwritten(update(("one ", "1 s "), ("two ", "2 s ")))
    assert first is not None
    assert len(first.spans) == 2
    assert app._unwritten(update(("one ", "1 s "), ("two ", "2 s "))) is None
    changed = app._unwritten(update(("one ", "1 s "), ("two ", "3 s ")))
    assert changed is not None
    assert changed.spans == [(1, 0, 8)]
    assert [[*line.values()] for line in changed.chops] == [[None, None], [None, strip("3 s ")]]
    whole = LayoutUpdate([[strip("one two ")], [strip("two "), strip("3 s ")]], Region(0, 0, 8, 2))
    over = app._unwritten(_as_chops(whole))
    assert over is not None
    assert over.spans == [(0, 0, 8)]
    back = app._unwritten(update(("one ", "1 s "), ("two ", "3 s ")))
    assert back is not None, "a wider piece was written over both"
    assert back.spans == [(0, 0, 8)]


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

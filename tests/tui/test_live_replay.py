"""A replay's keys: pause, step, back, speed, next failed assertion."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from driving import opened, screen_text, until
from fakes import FakeServices, FakeView
from run_script import scripted_run

from bioeval_tui.events import RunEvent
from bioeval_tui.recordings.replay import (
    Player,
    after_next_failure,
    after_next_message,
    before_last_message,
)
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.services import Intent, RunView


class PlayedView:
    """A replay of the scripted run that waits at its beginning."""

    mode: Any = "replay"
    run_id = "7f3a2c91"

    def __init__(self, begin: int = 3) -> None:
        self.speed: float | None = 1.0
        self.script = scripted_run()
        self.begin = begin
        self.player: Player | None = None

    async def events(self) -> AsyncIterator[Sequence[RunEvent]]:
        self.player = Player(self.script, self.speed, begin=self.begin, paused=True, clock=lambda: 0.0)
        async for batch in self.player.play():
            yield batch

    @property
    def paused(self) -> bool:
        return self.player is None or self.player.paused

    def set_paused(self, paused: bool) -> None:
        assert self.player
        self.player.paused = paused

    def set_speed(self, speed: float) -> None:
        assert self.player
        self.speed = self.player.speed = speed

    def step(self) -> bool:
        return self._go(after_next_message)

    def to_next_failure(self) -> bool:
        return self._go(after_next_failure)

    def begin_before_last(self) -> None:
        assert self.player
        self.begin = before_last_message(self.script, self.player.at)

    def _go(self, find: Any) -> bool:
        assert self.player
        place = find(self.script, self.player.at)
        if place is not None:
            self.player.go_to(place)
        return place is not None

    async def send(self, intent: Intent) -> str | None:
        return "this is a replay"

    async def aclose(self) -> None:
        pass


def replayed(view: PlayedView) -> dict[str, Any]:
    async def open_view() -> RunView:
        return view

    return {"start": open_view}


def messages(app: BioevalApp) -> int:
    state = app.live.state
    return sum(m.done for talk in state.conversations.values() for m in talk.messages) if state else 0


async def test_steps_go_forward_and_back_by_one_message() -> None:
    view = PlayedView()
    async with opened(None, services=FakeServices(), **replayed(view)) as (app, pilot):
        assert "‖ REPLAY" in screen_text(app)
        await pilot.press("n")
        await until(pilot, lambda: messages(app) == 1)
        await pilot.press("n")
        await until(pilot, lambda: messages(app) == 2)
        await pilot.press("n")
        await until(pilot, lambda: messages(app) == 3)
        await pilot.press("b")
        await until(pilot, lambda: messages(app) == 2)
        assert "‖ REPLAY" in screen_text(app)


async def test_x_goes_to_the_next_assertion_that_fails() -> None:
    view = PlayedView()
    async with opened(None, services=FakeServices(), **replayed(view)) as (app, pilot):
        await pilot.press("x")
        await until(pilot, lambda: messages(app) == 2)
        checks = app.live.state.conversation("withheld").checks
        assert [check.status for found in checks.values() for check in found].count("failed") == 1
        for _ in range(8):
            await pilot.press("x")
        await until(pilot, lambda: "No further assertion fails" in screen_text(app))


async def test_speed_has_steps_and_ends_and_is_shown() -> None:
    view = PlayedView()
    async with opened(None, services=FakeServices(), **replayed(view)) as (app, pilot):
        await pilot.press("full_stop", "full_stop")
        assert view.speed == 4
        await until(pilot, lambda: "REPLAY 4×" in screen_text(app))
        for _ in range(9):
            await pilot.press("full_stop")
        assert view.speed == 32
        for _ in range(9):
            await pilot.press("comma")
        assert view.speed == 0.5


async def test_space_plays_and_waits() -> None:
    view = PlayedView()
    async with opened(None, services=FakeServices(), **replayed(view)) as (_, pilot):
        await pilot.press("space")
        assert not view.paused
        await pilot.press("space")
        assert view.paused


async def test_a_live_run_has_none_of_these_keys() -> None:
    view = FakeView(scripted_run(), hold_at=100)
    async with opened(view) as (app, pilot):
        await pilot.press("b", "x", "full_stop")
        assert view.sent == []
        assert all(not app.live.check_action(action, ()) for action in ("hold", "play", "play_step", "speed"))

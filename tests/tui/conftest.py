"""Screens are drawn in full colour, whatever terminal the tests run in, when a test looks; style
sheets are parsed once.

Tests wait for what happens, not for a time.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from time import monotonic
from typing import Any

import pytest
from textual._compositor import Compositor
from textual._context import active_app, visible_screen_stack
from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.screen import Screen


@pytest.fixture(autouse=True)
def all_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Say that the terminal has them."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture(autouse=True)
def painted_when_looked_at(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Paint when everything has been handled (`loaded`) and when a test looks: a third of the time
    of a test.

    On the way there Textual paints a dozen times, which without a terminal goes nowhere. `paints`
    has it do so.
    """

    paint = Compositor.render_update

    def render_update(
        self: Compositor,
        full: bool = False,
        screen_stack: list[Screen[Any]] | None = None,
        simplify: bool = False,
    ) -> Any:
        if full:  # for a picture
            return paint(self, full, screen_stack, simplify)
        visible_screen_stack.set(screen_stack or [])
        self._dirty_regions.clear()
        return None

    if "paints" not in request.fixturenames:
        monkeypatch.setattr(Compositor, "render_update", render_update)


@pytest.fixture
def paints() -> None:
    """Paint whenever Textual does."""


@pytest.fixture(autouse=True)
def waits_for_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait until nothing is left to do: Textual waits for a fiftieth of a second without work,
    twice for each key.

    What a timer is to do later is not waited for, except what the screen does at its next frame,
    which is done at once.
    """

    async def settle(*_: object) -> bool:
        ready = vars(asyncio.get_running_loop())["_ready"]
        app, end, frames = active_app.get(), monotonic() + 1, 0
        while monotonic() < end:
            await asyncio.sleep(0)
            if ready:
                continue
            screen = app.screen_stack[-1] if app.is_running and app.screen_stack else None
            if screen is None or not (screen._update_timer._active.is_set() or screen._callbacks):
                break
            if (frames := frames + 1) > 25:
                break
            screen._on_timer_update()
        return True

    monkeypatch.setattr("textual.app.wait_for_idle", settle)
    monkeypatch.setattr("textual.pilot.wait_for_idle", settle)
    monkeypatch.setattr(Pilot, "_wait_for_screen", settle)


@pytest.fixture(autouse=True, scope="session")
def parsed_once() -> Iterator[None]:
    """Keep what was parsed with the same variables for the next application: a fifth of the time of
    a test.
    """
    kept: dict[frozenset[tuple[str, str]], LRUCache[Any, Any]] = defaultdict(lambda: LRUCache(1024))
    make, change = Stylesheet.__init__, Stylesheet.set_variables

    def made(self: Stylesheet, *, variables: dict[str, str] | None = None) -> None:
        make(self, variables=variables)
        self._parse_cache = kept[frozenset(self._variables.items())]

    def changed(self: Stylesheet, variables: dict[str, str]) -> None:
        self._parse_cache = LRUCache(1)  # which is emptied
        change(self, variables)
        self._parse_cache = kept[frozenset(variables.items())]

    with pytest.MonkeyPatch.context() as patch:
        # Each style of each widget is looked for among all rules, which are equal only to
        # themselves: no Python is to run for it.
        patch.setattr(RuleSet, "__hash__", object.__hash__)
        patch.setattr(Stylesheet, "__init__", made)
        patch.setattr(Stylesheet, "set_variables", changed)
        yield

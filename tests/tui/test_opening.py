"""What is shown until the first screen is loaded, with a screen whose module waits for the test."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import loaded, screen_text, until
from fakes import FakeServices
from textual.pilot import Pilot

from bioeval_tui.tui import keys
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.keys import SCREENS, ScreenEntry

SHELF = """
import threading
from textual.widgets import Static
from bioeval_tui.tui.shared.base import BaseScreen

(gate,) = (one for one in threading.enumerate() if one.name == "gate")
gate.join()

class ShelfScreen(BaseScreen):
    NAME = "Shelf"
    def compose_body(self):
        yield Static("three books", markup=False)
"""


class Gate:
    """Holds the module back until it is opened."""

    def __init__(self) -> None:
        self._open = threading.Event()
        threading.Thread(target=self._open.wait, name="gate", daemon=True).start()

    def open(self) -> None:
        """Let the module be loaded."""
        self._open.set()


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """A screen `shelf` that cannot be loaded before the gate is open."""
    (tmp_path / "shelf_behind_gate.py").write_text(SHELF, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    line = ScreenEntry("shelf", "6", "shelf", "Go to the shelf", "shelf_behind_gate:ShelfScreen")
    monkeypatch.setattr(keys, "SCREENS", (*SCREENS, line))
    gate = Gate()
    yield gate
    gate.open()
    sys.modules.pop("shelf_behind_gate", None)


async def pressed(app: BioevalApp, pilot: Pilot[None], *names: str) -> str:
    await pilot.press(*names)
    await pilot.pause()
    return screen_text(app)


async def test_keys_are_heard_while_the_first_screen_is_loaded(gate: Gate) -> None:
    app = BioevalApp(FakeServices(), "shelf", clock=lambda: 0.0)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "bioeval-tui › Shelf" in screen_text(app))
        assert "q quit" in screen_text(app)
        assert "The screen that you asked for is being loaded." in await pressed(
            app, pilot, "question_mark"
        )
        gate.open()
        await loaded(app, pilot)
        assert "three books" not in screen_text(app), "the help stays until it is closed"
        await pilot.press("escape")
        await until(pilot, lambda: "three books" in screen_text(app))
        assert app.current_mode == "shelf"


async def test_a_viewer_who_goes_elsewhere_meanwhile_stays_there(gate: Gate) -> None:
    app = BioevalApp(FakeServices(), "shelf", clock=lambda: 0.0)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "bioeval-tui › Shelf" in screen_text(app))
        await pilot.press("1")
        await until(pilot, lambda: app.current_mode == "jobs")
        gate.open()
        await loaded(app, pilot)
        assert app.current_mode == "jobs"
        await app.action_go_back()
        await until(pilot, lambda: "three books" in screen_text(app))


async def test_quitting_while_the_first_screen_is_loaded(gate: Gate) -> None:
    app = BioevalApp(FakeServices(), "shelf", clock=lambda: 0.0)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "bioeval-tui › Shelf" in screen_text(app))
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)
    gate.open()  # or the thread that loads it outlives the test
    assert app.crash is None


async def test_a_screen_that_cannot_be_loaded_ends_the_program(gate: Gate, tmp_path: Path) -> None:
    (tmp_path / "shelf_behind_gate.py").write_text("import no_such_module", encoding="utf-8")
    app = BioevalApp(FakeServices(), "shelf", clock=lambda: 0.0)
    with pytest.raises(Exception, match="no_such_module"):
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: not app.is_running)
    assert isinstance(app.crash, ModuleNotFoundError)


@pytest.mark.parametrize("entry", SCREENS, ids=lambda entry: entry.mode)
def test_the_title_is_the_same_before_and_after(entry: ScreenEntry) -> None:
    assert entry.title == vars(entry.load())["NAME"]

"""Every key of every screen is pressed: here, or in the test that `ELSEWHERE` names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import history
import pytest
from batches import glances
from driving import is_a, loaded, opened, until
from fakes import FakeServices, FakeView
from medal_rows import sample_rows
from run_script import run_of_trials, scripted_run
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input

from bioeval_tui import tui
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.keys import Placed, key_name, placed

SIZE = (120, 30)
Reach = tuple[str | None, int | None, tuple[str, ...]]
"""What is opened first, how many events the run has given away (-1: a run of trials), and the keys
to get there.
"""
STATES: dict[str, Reach] = {
    "HomeScreen": ("home", None, ()),
    "JobsScreen": ("jobs", None, ()),
    "ShareDialog": ("jobs", None, ("y",)),
    "RunDialog": ("jobs", None, ("end", "enter")),
    "LiveScreen": (None, 100, ()),
    "LiveScreen ended": (None, None, ("escape",)),
    "LiveScreen trials": (None, -1, ()),
    "LiveScreen panel": (None, 185, ("i", "i", "i")),
    "AssertionDetail": (None, 185, ("i", "i", "i", "enter")),
    "ScoreCard": (None, None, ()),
    "GridScreen": (None, -1, ("A",)),
    "HelpScreen": ("jobs", None, ("question_mark",)),
    "RunsScreen": ("runs", None, ("down", "m", "m")),
    "CompareDialog": ("runs", None, ("down", "m", "m", "equals_sign")),
    "PassagesDialog": ("runs", None, ("down", "m", "m", "equals_sign", "enter")),
    "ReplayDialog": ("runs", None, ("down", "space")),
    "BenchmarksScreen": ("benchmarks", None, ("down", "down")),
    "BenchmarkDialog": ("benchmarks", None, ("down", "down", "enter")),
    "OwnAgentDialog": ("jobs", None, ("plus",)),
    "SettingsDialog": ("jobs", None, ("comma",)),
    "PathDialog": ("benchmarks", None, ("down", "down", "M")),
    "MedalsScreen": ("medals", None, ()),
    "MedalsScreen at an invalid file": ("medals", None, ("exclamation_mark",)),
    "MedalsScreen grouped": ("medals", None, ("tab",)),
    "ExportDialog": ("medals", None, ("x",)),
    "MedalDetail": ("medals", None, ("enter",)),
    "ErrorView": ("medals", None, ("enter", "enter")),
}
ELSEWHERE = {
    "resume": "test_live_screen",
    "step": "test_live_screen",
    "say": "test_live_screen",
    "give_back": "test_live_screen",
    "hold": "test_live_replay",
    "play": "test_live_replay",
    "play_step": "test_live_replay",
    "play_back": "test_live_replay",
    "turn": "test_live_replay",
    "edge": "test_live_replay",
    "speed": "test_live_replay",
    "next_failure": "test_live_replay",
    "stop_presenting": "test_live_replay",
    "to_grid": "test_grid",
    "grid": "test_grid",
    "other_trial": "test_grid",
    "sort": "test_medals_screen",
    "reverse": "test_medals_screen",
    "group": "test_medals_screen",
    "ungroup": "test_medals_screen",
    "again": "test_medals_screen",
    "edit": "test_medals_screen",  # of a file that was graded
    "stop": "test_grid",  # and test_medals_screen, for the table
    "batch": "test_grid",
    "follow": "test_live_reading",
    "link": "test_live_reading",
    "waterfall": "test_live_spans",
    "undo": "test_runs_screen",
    "answer": "test_app",
    "leave": "test_typed_text",
    "start_over": "test_typed_text",
    "validate": "test_medals_screen",
    "prepare": "test_medals_screen",  # and here, for benchmarks
    "differences": "test_runs_screen",
    "every_row": "test_runs_screen",
    "grade_samples": "test_medals_screen",
    "to_card": "test_score_card_screen",
    "own_jobs": "test_demo_app",
    "watch_again": "test_demo_app",
    "whole": "test_demo_app",
}
"""Actions that apply only after something else has happened, and the file whose tests press their
keys.
"""


def given(hold_at: int | None) -> FakeServices:
    """Return services with something on every screen."""
    script = run_of_trials(4, end=False) if hold_at == -1 else scripted_run()
    services = history.filled_services(
        FakeView(script, hold_at=None if hold_at == -1 else hold_at),
        rows=sample_rows(),
        reviewed_state=apply_all(RunState(), scripted_run()),
        glances=[glances()],
    )
    services.private = True
    return services


class Presser:
    """Presses every key of a screen and of its focused widget that applies in a state, each action
    once.
    """

    def __init__(self, pictures: Path) -> None:
        self.pictures = pictures
        self.done: set[str] = set()
        self.ran: list[str] = []

    async def press_all(self, state: str) -> None:
        """Go to a state, and press."""
        start, hold_at, reach = STATES[state]
        options: dict[str, Any] = {"start": start} if start else {}
        async with opened(
            None, SIZE, services=given(hold_at), pictures=self.pictures, **options
        ) as (
            app,
            pilot,
        ):
            await self.reach(app, pilot, start or "live", reach)
            name = type(app.screen).__name__
            assert name == state.split()[0]
            for key, active in app.screen.active_bindings.items():
                action = active.binding.action
                if not active.enabled or active.binding.system or plain(action) in self.done:
                    continue
                if (
                    active.node is app
                    or action.startswith(("app.", "screen."))
                    or is_typed(app, key)
                ):
                    continue  # test_app.py presses what works everywhere
                if isinstance(active.node, Input) and action != "submit":
                    continue  # Textual's own
                if type(app.screen).__name__ != name or any(
                    line.is_open for line in app.screen.query("AskLine")
                ):
                    await self.reach(app, pilot, start or "live", reach)
                now = app.screen.active_bindings.get(key)
                if now is None or now.binding.action != action:
                    continue  # what was pressed before has changed what applies
                self.ran.clear()
                await pilot.press(key)
                assert action in self.ran, f"{state}: {key} does not {action}"
                self.done.add(plain(action))

    async def reach(
        self, app: BioevalApp, pilot: Pilot[None], mode: Any, keys: tuple[str, ...]
    ) -> None:
        """Go to where the keys are to be pressed, whatever was opened meanwhile."""
        await loaded(app, pilot)
        await app.action_go(mode)
        while len(app.screen_stack) > 1 and (keys or mode != "live"):
            app.pop_screen()
            await pilot.pause()
        await loaded(app, pilot)  # a key in a list that is not read yet chooses nothing
        for line in app.screen.query("AskLine"):
            line.close()
        if is_a(app.screen, "ListScreen"):
            app.screen.table.rows.focus()
        for key in keys if len(app.screen_stack) == 1 else ():
            await pilot.press(key)
            await loaded(app, pilot)


def is_typed(app: BioevalApp, key: str) -> bool:
    """Say whether the key would be typed into a line."""
    focused = app.screen.focused
    return focused is not None and focused.check_consume_key(key, key if len(key) == 1 else None)


def plain(action: str) -> str:
    """Return an action's name without its arguments."""
    return action.partition("(")[0]


@pytest.mark.parametrize("name", sorted({state.split()[0] for state in STATES}))
async def test_every_key_does_what_its_label_says(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    presser = Presser(tmp_path)
    run_action: Callable[..., Any] = BioevalApp.run_action

    async def spy(app: BioevalApp, action: Any, *where: Any, **named: Any) -> bool:
        presser.ran.append(str(action))
        return bool(await run_action(app, action, *where, **named))

    monkeypatch.setattr(BioevalApp, "run_action", spy)
    for state in STATES:
        if state.split()[0] == name:
            await presser.press_all(state)
    assert missing(screens()[name], presser.done) == []


def kept_apart(name: str) -> bool:
    """Say whether a state needs an application of its own: one with a run, whose card opens once,
    and one with marks, which stay.
    """
    start, _, keys = STATES[name]
    return start is None or "m" in keys


SCREENS = [name for name in STATES if " " not in name]
APART = [[name] for name in SCREENS if kept_apart(name)]
TOGETHER = [name for name in SCREENS if not kept_apart(name)]


@pytest.mark.parametrize("names", [TOGETHER, *APART], ids=" ".join)
async def test_every_screen_opens_in_a_terminal_of_20_by_5(
    names: list[str], tmp_path: Path
) -> None:
    first, hold_at, _ = STATES[names[0]]
    options: dict[str, Any] = {"start": first} if first else {}
    async with opened(None, (20, 5), services=given(hold_at), pictures=tmp_path, **options) as (
        app,
        pilot,
    ):
        for name in names:
            start, _, reach = STATES[name]
            await Presser(tmp_path).reach(app, pilot, start or "live", reach)
            await pilot.press("down", "up")
            await until(pilot, lambda: type(app.screen).__name__ == name)  # noqa: B023


def test_every_key_of_every_screen_is_tested() -> None:
    known = {state.split()[0] for state in STATES}
    assert {
        name: missing(screen, set()) for name, screen in screens().items() if name not in known
    } == {name: [] for name in screens() if name not in known}


def screens() -> dict[str, type[Any]]:
    """Return every screen and dialog by the name of its class."""
    for module in walk_packages(tui.__path__, f"{tui.__name__}."):
        if not module.name.startswith(f"{tui.__name__}.data"):
            import_module(module.name)
    found: dict[str, type[Any]] = {}
    left: list[type[Any]] = [Screen]
    while left:
        left += (below := left.pop().__subclasses__())
        found |= {
            kind.__name__: kind
            for kind in below
            if {"BaseScreen", "Dialog"} & named(kind.__mro__[1:])
        }
    return found


def named(kinds: Sequence[type[Any]]) -> set[str]:
    return {kind.__name__ for kind in kinds}


def keys_of(screen: type[Any]) -> list[Placed]:
    """Return the rows of the table of keys that are a screen's own, and its widgets', but for keys
    to move about.
    """
    own = {binding.id or "" for binding in screen.__dict__.get("BINDINGS", ())}
    owners = {place.partition("/")[0] for place in own} - {"", "app", "dialog"}
    return [row for row in placed() if row.place.partition("/")[0] in owners]


def missing(screen: type[Any], done: set[str]) -> list[str]:
    """Return the keys of a screen that were not pressed here, nor in a test of its own."""
    texts = {
        path.stem: path.read_text(encoding="utf-8")
        for path in Path(__file__).parent.glob("test_*.py")
    }
    found = []
    for row in keys_of(screen):
        action, key = plain(row.key.action), row.key.keys.split(",")[0]
        if action in done or action.startswith("app."):
            continue
        own = [text for text in texts.values() if screen.__name__ in text and presses(text, key)]
        elsewhere = texts.get(ELSEWHERE.get(action, ""), "")
        if not own and not any(f'"{name}"' in elsewhere for name in (key, key_name(key))):
            found.append(f"{screen.__name__}.{action} ({key})")
    return found


def presses(text: str, key: str) -> bool:
    """Say whether a test file presses a key."""
    return re.search(rf"""press\([^)]*["']{re.escape(key)}["']""", text) is not None

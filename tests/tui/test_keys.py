"""One table of keys: bindings, help and docs/screens.md agree, and a letter means the same
everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from pkgutil import walk_packages

import pytest
from driving import opened, screen_text, until
from fakes import FakeServices, FakeView
from run_script import scripted_run
from textual.binding import Binding
from textual.dom import DOMNode

from bioeval_tui import tui
from bioeval_tui.tui import keys
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.keys import SCREENS, Placed, ScreenEntry, bindings, key_name, placed
from bioeval_tui.tui.live.score_card import RunCard, ScoreCard
from bioeval_tui.tui.shared.help_dialogs import help_lines

DOCS = Path(__file__).parents[2] / "docs" / "screens.md"
CHANGING = {"AskLine", "TypedLine"}
"""Lines whose owner says what enter and esc do."""


LETTERS: dict[str, tuple[str, str]] = {
    "a": ("accept", "accept"),
    "A": ("show all: conversations, the batch, runs, or answers", "grid batch runs answers"),
    "b": ("back one message", "play_back"),
    "B": ("to the start", "edge"),
    "c": ("CSV", "choose"),
    "C": ("stop everything that is running", "cancel_all stop"),
    "d": ("density", "density"),
    "D": ("delete", "delete"),
    "e": ("events, or edit the file", "events toggle_events edit"),
    "E": ("to the end", "edge"),
    "f": ("follow the newest message or stay", "follow stay"),
    "F": ("fault", "fault"),
    "g": ("to the first row or line", "edge scroll_home"),
    "G": ("to the last row or line", "edge scroll_end"),
    "h": ("left", "sort turn move other_trial"),
    "H": ("hide or show the judge's score", "blind seeing"),
    "i": ("panels", "next_panel"),
    "j": ("down", "move row scroll_down next_fold"),
    "k": ("up", "move row scroll_up next_fold"),
    "l": ("right", "sort turn move other_trial"),
    "L": ("link or unlink the conversations", "link unlink"),
    "m": ("mark", "mark"),
    "M": ("grade: medals", "grade grade_samples"),
    "n": ("step: one message", "step play_step"),
    "N": ("note", "note"),
    "o": ("open the score card", "score_card"),
    "O": ("show only open or changed rows, or all", "to_do everything differences every_row"),
    "p": ("present", "present stop_presenting"),
    "P": ("prepare", "prepare"),
    "q": ("quit", "leave_app"),
    "r": ("run or run again", "run again watch_again"),
    "R": ("reverse the order", "reverse"),
    "s": ("screenshot", "picture"),
    "S": ("score or mark by hand", "override score mark"),
    "t": ("take over and type", "take_over say"),
    "T": ("give back", "give_back"),
    "u": ("undo", "undo"),
    "U": ("how the user speaks", "manner"),
    "v": ("review", "review"),
    "V": ("validate", "validate"),
    "w": ("exact times, or a turn's waterfall", "exact waterfall no_spans"),
    "x": ("export to a file", "report export"),
    "X": ("cancel this one", "cancel answer"),
    "y": ("copy, or save a picture with its caption", "share first"),
}
"""What each letter means on every screen, and its actions."""
ANSWERS = frozenset({("quit", "l"), ("export", "c"), ("export", "m")})
"""Letters that answer a dialog's question."""

DIALOGS = frozenset(
    {
        *(
            "assertion",
            "waterfall",
            "error-view",
            "share",
            "passages",
            "export",
            "help",
            "medal-card",
            "quit",
        ),
        *(
            "run-a-job",
            "score-card",
            "try-your-own",
            "own-agent",
            "review-form",
            "settings",
            "leave",
        ),
    }
)
"""Boxes that open over a screen: their own footer shows their few keys."""

MOVING = frozenset(
    {
        *(
            "up",
            "down",
            "left",
            "right",
            "pageup",
            "pagedown",
            "home",
            "end",
            "enter",
            "escape",
            "tab",
        ),
        *("shift+tab", "ctrl+c", "ctrl+q", "backspace"),
    }
)
"""Keys that navigate, open, close and leave. They are the same everywhere."""


def letters() -> Iterator[tuple[str, Placed]]:
    """Yield every letter that is a key, with its row."""
    for row in placed():
        for key in row.key.keys.split(","):
            if len(key) == 1 and key.isalpha():
                yield key, row


def test_a_letter_means_the_same_on_every_screen() -> None:
    other = [
        f"{key}: {row.key.action} ({row.place})"
        for key, row in letters()
        if row.key.action.removeprefix("app.").partition("(")[0] not in LETTERS[key][1].split()
        and (row.place, key) not in ANSWERS
    ]
    assert other == []


def test_every_listed_letter_is_a_key() -> None:
    assert set(LETTERS) == {key for key, _ in letters()}


def test_keys_that_delete_need_a_modifier() -> None:
    destroying = {"delete", "cancel", "cancel_all", "stop", "answer(True)"}
    found = {row.key.keys.split(",")[0] for row in placed() if row.key.action in destroying}
    assert found
    assert all(key.isupper() or "+" in key for key in found)


def key_table() -> str:
    """Return the table of docs/screens.md: without dialogs, and digits, which open screens and are
    scores in a review.
    """
    places: dict[str, dict[str, dict[str, None]]] = {}
    for row in placed():
        if row.place.startswith("~") or row.place == "dialog" or row.key.action.startswith("app."):
            continue
        screen = row.place.partition("/")[0]
        if screen in DIALOGS:
            continue
        for key in row.key.keys.split(","):
            if key not in MOVING and not key.isdigit():
                keys = places.setdefault(
                    "everywhere" if screen == "app" else screen.replace("-", " "), {}
                )
                keys.setdefault(key_name(key), {})[row.key.label] = None
    lines = ["| screen | keys |", "|---|---|"]
    for screen, keys in places.items():
        told = ", ".join(f"`{key}` {' or '.join(labels)}" for key, labels in keys.items())
        lines.append(f"| {screen} | {told} |")
    return "\n".join(lines)


def test_the_documentation_lists_exactly_the_keys_there_are() -> None:
    assert key_table() in DOCS.read_text(encoding="utf-8"), key_table()


def test_every_binding_comes_from_the_key_table() -> None:
    for module in walk_packages(tui.__path__, f"{tui.__name__}."):
        if not module.name.startswith(f"{tui.__name__}.data"):
            import_module(module.name)
    kinds, own = [DOMNode], []
    while kinds:
        kinds += (below := kinds.pop().__subclasses__())
        own += [kind for kind in below if kind.__module__.startswith(tui.__name__)]
    known = {(row.key.keys, row.key.action) for row in placed()} | {
        ("ctrl+c", "interrupt"),
        ("ctrl+z", "suspend_process"),
    }
    # a program of its own, with the keys of a browser
    own = [kind for kind in own if kind.__name__ != "DocsApp"]
    strange = [
        (kind.__name__, binding)
        for kind in own
        for binding in kind.__dict__.get("BINDINGS", ())
        if not isinstance(binding, Binding) or (binding.key, binding.action) not in known
    ]
    assert strange == []


async def test_help_describes_each_key() -> None:
    async with opened(FakeView(scripted_run(), hold_at=100)) as (app, _):
        lines = dict(help_lines(app.screen))
        for key, active in app.screen.active_bindings.items():
            binding = active.binding
            if (
                not active.enabled
                or binding.system
                or not binding.tooltip
                or binding.action == "help"
            ):
                continue
            told = [words for names, words in lines.items() if key_name(key) in names.split()]
            assert binding.tooltip in told, key


async def test_help_lists_keys_that_share_a_label_separately() -> None:
    async with opened(None, services=FakeServices(), start="runs") as (app, pilot):
        await pilot.pause()
        lines = dict(help_lines(app.screen))
    assert not any(names.split().count(name) > 1 for names in lines for name in names.split())


NEW_SCREEN = """
from textual.widgets import Static
from bioeval_tui.tui.shared.base import BaseScreen

class ShelfScreen(BaseScreen):
    NAME = "Shelf"
    ABOUT = "What is on the shelf."
    def compose_body(self):
        yield Static("three books", markup=False)
"""


async def test_adding_a_screen_takes_one_file_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shelf_screen.py").write_text(NEW_SCREEN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    line = ScreenEntry("shelf", "6", "shelf", "Go to the shelf", "shelf_screen:ShelfScreen")
    monkeypatch.setattr(keys, "SCREENS", (*SCREENS, line))

    class Wider(BioevalApp):
        # as the class has them when the table has the line from the beginning
        BINDINGS = bindings("app")

    app = Wider(FakeServices(), "jobs", clock=lambda: 0.0)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("6")
        await until(pilot, lambda: "three books" in screen_text(app))
        await pilot.press("1", "question_mark")
        await until(pilot, lambda: "Go to the shelf" in screen_text(app))
        await pilot.press("escape", "ctrl+p", *"shelf")
        await until(pilot, lambda: "Shelf  (6)" in screen_text(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.current_mode == "shelf")


def test_keys_that_a_help_text_names_are_keys_of_its_screen() -> None:
    dialogs = [ScoreCard, RunCard]
    for dialog in dialogs:
        named = set(re.findall(r"(?:and|,) (\S) (?:for|to) ", dialog.ABOUT))
        keys = chain.from_iterable(
            row.key.keys.split(",") for row in placed() if row.place == "score-card"
        )
        assert named, dialog
        assert named <= {*map(key_name, keys)}, dialog

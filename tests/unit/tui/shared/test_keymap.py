"""Custom keys: which are accepted, and the message about the others."""

from __future__ import annotations

import pytest

from bioeval_tui.tui.batch.tile_grid_widget import TileGrid
from bioeval_tui.tui.jobs.source_view import SourceView
from bioeval_tui.tui.keys import places
from bioeval_tui.tui.live.transcript import Transcript
from bioeval_tui.tui.shared.keymap import FIXED, resolve
from bioeval_tui.tui.shared.rows_widget import RowList

PLACES = places()


def test_valid_key_settings_are_used() -> None:
    kept = {
        "live.pause": "f6",
        "app.help": "?,f1",
        "live.step": "space",
        "runs.report": "n",
        "live.link": "L",
    }
    found = resolve(kept, PLACES)
    assert found.problems == ()
    assert found.keys == {**kept, "app.help": "question_mark,f1"}


@pytest.mark.parametrize(
    ("kept", "sentence"),
    [
        ({"live.stop": "f6"}, "keys: there is no live.stop; the keys dialog of the palette lists the names"),
        ({"live.pause": "[/x"}, "keys: live.pause: there is no key [/x; give one such as f6 or ctrl+t"),
        ({"live.pause": 6}, "keys: live.pause: give a key such as f6 or ctrl+t"),
        ({"live.pause": ""}, "keys: live.pause: give a key such as f6 or ctrl+t"),
        ({"live.pause": "t"}, "keys: live.pause: t is already used by live.take_over; give another key"),
        ({"live.pause": "1"}, "keys: live.pause: 1 is already used by app.jobs; give another key"),
        ({"app.help": "t"}, "keys: app.help: t is already used by live.take_over; give another key"),
        ({"live.pause": "j"}, "keys: live.pause: j is a navigation key on every screen; give another key"),
        (["live.pause"], "keys: a mapping of names to keys is expected; none was changed"),
    ],
)
def test_an_invalid_key_setting_is_ignored_with_one_sentence(kept: object, sentence: str) -> None:
    assert resolve(kept, PLACES) == ({}, (sentence,))


def test_one_invalid_key_setting_does_not_affect_the_others() -> None:
    found = resolve({"live.pause": "f6", "live.step": "f6", "medals.export": "ctrl+y"}, PLACES)
    assert found.keys == {"live.pause": "f6", "medals.export": "ctrl+y"}
    assert found.problems == ("keys: live.step: f6 is already used by live.pause; give another key",)


def test_navigation_keys_cannot_be_rebound() -> None:
    bound = {
        key
        for widget in (RowList, TileGrid, SourceView, Transcript)
        for key, _ in widget._merge_bindings()
        if key not in ("e", "f")  # the live screen's own
    }
    assert bound - {f"{mod}+{key}" for mod in ("ctrl", "shift") for key in FIXED} <= FIXED

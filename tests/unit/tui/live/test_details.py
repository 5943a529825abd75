"""What the live screen says about an assertion and the times of answers: changes of the state by
turn, and bars.
"""

from __future__ import annotations

import pytest
from driving import is_a, loaded, opened, screen_text, until
from fakes import FakeView
from run_script import scripted_run

from bioeval_tui.record.events import StateObserved
from bioeval_tui.tui.live.details import changes

FIRST = {"resources": [{"id": "a", "name": "x"}, {"id": "b", "name": "y"}]}
SECOND = {"resources": [{"id": "b", "name": "z"}, {"id": "c", "name": "w"}]}
STATES = {1: FIRST, 2: SECOND, 3: SECOND, 4: {str(number): number for number in range(100)}}


async def test_the_detail_of_an_assertion_shows_what_changed_beside_the_bars_of_its_answers() -> (
    None
):
    events = [
        (
            event.model_copy(update={"object_context": STATES[event.after_turn], "graph": None})
            if isinstance(event, StateObserved) and event.after_turn in STATES
            else event
        )
        for event in scripted_run()
    ]
    ended = next(at for at, event in enumerate(events) if event.kind == "conversation_scored")
    async with opened(FakeView(events, hold_at=ended), (160, 70)) as (app, pilot):
        app.live.conversations.user_moved = True
        await pilot.press("i")
        await until(pilot, lambda: app.live.panels.has_focus_within)
        await loaded(app, pilot)
        bars = screen_text(app)
        await pilot.press("i", "i", "enter")
        await until(pilot, lambda: is_a(app.screen, "AssertionDetail"))
        shown = []
        for _ in range(3):
            await loaded(app, pilot)
            shown.append(screen_text(app))
            await pilot.press("left")
    many, nothing, some = shown
    assert "+ 38: 38" in many
    assert "+ 39: 39" not in many
    assert "… and 61 more changes" in many
    assert "nothing changed in turn 3" in nothing
    for line in (
        '− resources.a: {"id":"a","name":"x"}',
        '~ resources.b.name: "y" → "z"',
        '+ resources.c: {"id":"c","name":"w"}',
    ):
        assert line in some, "items are matched by their id"
    # Waiting is thin and streaming thick; the target crosses the bar of an answer that was later.
    for bar in ("1 ━━    │         0.4 s", "2 ─━━━  │         0.9 s", "3 ─━━━━━┿━━━━━━   3.4 s"):
        assert bar in bars


@pytest.mark.parametrize(
    ("count", "last"),
    [
        (39, "+ 38: 38"),
        (40, "+ 39: 39"),
        (41, "… and 1 more change"),
        (42, "… and 2 more changes"),
    ],
)
def test_forty_changes_are_listed_and_others_counted(count: int, last: str) -> None:
    listed = changes({}, {str(at): at for at in range(count)})
    assert (listed[-1], len(listed)) == (last, min(count, 41))

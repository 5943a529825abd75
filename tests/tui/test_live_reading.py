"""Reading two conversations: turn by turn, compact or not, and copying."""

from __future__ import annotations

import pytest
from driving import WIDE, loaded, opened, screen_text, until
from fakes import FakeServices, FakeView
from run_script import scripted_run

SMALL = (130, 26)


async def test_scrolling_one_conversation_shows_the_same_turn_in_the_other() -> None:
    async with opened(FakeView(scripted_run()), SMALL) as (app, pilot):
        await pilot.press("escape")
        await loaded(app, pilot)
        withheld, supplied = (
            app.live.conversations.frames[name].transcript for name in ("withheld", "supplied")
        )
        withheld.focus()
        await pilot.press("home", "down", "down", "down", "down", "down", "down")
        await loaded(app, pilot)
        talks = app.live.state.conversations
        turn = {
            key.condition: talk.message(
                app.live.conversations.frames[key.condition].transcript.top_message
            ).turn
            for key, talk in talks.items()
        }
        assert turn["withheld"] == turn["supplied"] > 1
        await pilot.press("end")
        await loaded(app, pilot)
        assert supplied.following


@pytest.mark.long
async def test_unlinked_conversations_scroll_separately_and_the_choice_is_kept() -> None:
    services = FakeServices(FakeView(scripted_run()))
    async with opened(None, SMALL, services=services) as (app, pilot):
        await pilot.press("escape", "L")
        await loaded(app, pilot)
        app.live.conversations.frames["withheld"].transcript.focus()
        await pilot.press("home")
        await loaded(app, pilot)
        assert app.live.conversations.frames["supplied"].transcript.following
        assert services.preferences["live.linked"] is False
        await pilot.press("L")
        await loaded(app, pilot)
        assert not app.live.conversations.frames["supplied"].transcript.following


async def test_y_copies_the_selected_message_or_panel_row() -> None:
    async with opened(FakeView(scripted_run(), hold_at=175), WIDE) as (app, pilot):
        await pilot.press("y", "y")
        await until(pilot, lambda: app.clipboard != "")
        talk = app.live.state.conversation(app.live.watched.condition)
        assert app.clipboard == talk.messages[-1].text
        await pilot.press("i", "y", "y")
        await until(pilot, lambda: "Set a reminder" in app.clipboard)


async def test_y_copies_the_score_card() -> None:
    async with opened(FakeView(scripted_run())) as (app, pilot):
        await pilot.press("y", "y")
        await until(pilot, lambda: "mean of both: 0.62" in app.clipboard)
        assert "1 Set a reminder" in app.clipboard


@pytest.mark.long
async def test_density_and_event_display_are_remembered() -> None:
    services = FakeServices(FakeView(scripted_run()))
    async with opened(None, services=services) as (app, pilot):
        await pilot.press("escape")
        await loaded(app, pilot)
        before = app.live.conversations.frames["supplied"].transcript.virtual_size.height
        await pilot.press("d", "e")
        await loaded(app, pilot)
        dense = app.live.conversations.frames["supplied"].transcript.virtual_size.height
        assert dense < before
    services.view = FakeView(scripted_run())
    async with opened(None, services=services) as (app, pilot):
        assert app.live.conversations.frames["supplied"].transcript.virtual_size.height == dense


async def test_f_turns_following_on_and_off_and_is_remembered() -> None:
    services = FakeServices(FakeView(scripted_run(), hold_at=175))
    async with opened(None, SMALL, services=services) as (app, pilot):
        talks = [
            app.live.conversations.frames[name].transcript for name in ("withheld", "supplied")
        ]
        assert all(talk.following for talk in talks)
        await pilot.press("f")
        await loaded(app, pilot)
        assert services.preferences["live.follow"] is False
        top = [talk.top_message for talk in talks]
        services.view.give(200)
        await loaded(app, pilot)
        assert [talk.top_message for talk in talks] == top
    services.view = FakeView(scripted_run(), hold_at=175)
    async with opened(None, SMALL, services=services) as (app, pilot):
        assert not any(
            app.live.conversations.frames[name].transcript.following
            for name in ("withheld", "supplied")
        )
        assert "f follow" in screen_text(app)
        await pilot.press("f")
        await loaded(app, pilot)
        assert services.preferences["live.follow"] is True
        assert app.live.conversations.frames["withheld"].transcript.following

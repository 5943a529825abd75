"""The review screen: accept, override, fault, note, undo, blind reviews and submissions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from driving import NARROW, SIZES, WIDE, is_a, loaded, opened, screen_text, until
from fakes import FakeServices, FakeView
from hostile import CORPUS
from review_queue import kept_rows, submission_queue, task_queue
from run_script import scripted_run
from textual import events
from textual.pilot import Pilot

from bioeval_tui.base.errors import RecordingError
from bioeval_tui.record.events import Reviewed
from bioeval_tui.record.reviews import fold_reviews, reviewed_score
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.review_items import ItemId, ReviewItem
from bioeval_tui.tui.review_view import prefixes

OVERRIDE = ("S", *".8", "down", "y", "enter")


async def press(app: BioevalApp, pilot: Pilot[None], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
    await loaded(app, pilot)


def test_tasks_of_several_runs_say_which_run_they_are_of() -> None:
    def items(*runs: tuple[str, str]) -> list[ReviewItem]:
        return [ReviewItem(ItemId(place, None, 1, None), job, "a task") for place, job in runs]

    assert prefixes(items(("a/20261122-142341-d299.jsonl", "triage"))) == {}
    assert list(prefixes(items(("a", "triage"), ("b", "reminder"))).values()) == [
        "triage · ",
        "reminder · ",
    ]
    alike = prefixes(items(("20261122-142341-d299", "triage"), ("20261122-142341-68df", "triage")))
    assert list(alike.values()) == ["…d299 · ", "…68df · "]


@asynccontextmanager
async def queue(
    size: tuple[int, int] = WIDE, *, blind: bool = False, sample: str = ""
) -> AsyncIterator[tuple[BioevalApp, Pilot[None], FakeServices]]:
    services = FakeServices(FakeView(scripted_run()))
    items = task_queue()
    services.review_items = lambda entries: [
        replace(item, sample=sample) for item in items(entries)
    ]
    services.reviewed_state = apply_all(RunState(), scripted_run())
    services.preferences["review.blind"] = blind
    async with opened(None, size, services=services) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await press(app, pilot, "v")
        await until(pilot, lambda: is_a(app.screen, "ReviewScreen") and bool(app.screen.items))
        await loaded(app, pilot)
        yield app, pilot, services


def place(app: BioevalApp) -> str:
    assert is_a(app.screen, "ReviewScreen")
    item = app.screen.looked_at
    assert item is not None
    assert item.id.key is not None
    return f"{item.id.key.condition} {item.id.task}"


def said(services: FakeServices) -> Sequence[str]:
    return [entry.action for entry in services.entries]


@SIZES
async def test_the_judges_score_and_evidence_are_shown_beside_the_transcript(
    size: tuple[int, int],
) -> None:
    async with queue(size) as (app, _, _services):
        text = screen_text(app)
        assert "0 of 4 reviewed" in text
        assert "✗ 0.20  rules" in text
        assert "no reminder was made" in text
        assert "I can't set it without a time zone." in text
        for key in ("accept", "override", "fault" if size == WIDE else "more"):
            assert key in text


@SIZES
async def test_the_queue_has_heads_and_the_conversations_score_is_beside_its_task(
    size: tuple[int, int],
) -> None:
    for blind in (False, True):
        async with queue(size, blind=blind) as (app, _, _services):
            lines = screen_text(app).splitlines()
            assert any(line.split()[:3] == ["trial", "task", "score"] for line in lines)
            assert any(", scored 0.29" in line for line in lines) != blind


@pytest.mark.long
async def test_what_the_job_calls_a_condition_is_whole_in_the_queue() -> None:
    items = task_queue()
    services = FakeServices(FakeView(scripted_run()))
    services.review_items = lambda entries: [
        replace(item, condition="without the report") for item in items(entries)
    ]
    services.reviewed_state = apply_all(RunState(), scripted_run())
    async with opened(None, (120, 40), services=services) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await press(app, pilot, "v")
        await until(pilot, lambda: is_a(app.screen, "ReviewScreen") and bool(app.screen.items))
        await loaded(app, pilot)
        assert "without the report 1 1 " in screen_text(app)


async def test_accepting_or_overriding_goes_to_the_next_item_and_undo_returns() -> None:
    async with queue(NARROW) as (app, pilot, services):
        await press(app, pilot, *OVERRIDE)
        assert place(app) == "withheld 2"
        assert "0.20 → 0.80" in screen_text(app)
        await press(app, pilot, "a")
        assert (place(app), said(services)) == ("supplied 1", ["override", "accept"])
        first, second = services.entries
        assert (first.before, first.after, first.why, first.author) == (0.2, 0.8, "y", "ada")
        assert (second.before, second.after) == (0.9, 0.9)
        await press(app, pilot, "u")
        assert place(app) == "withheld 2"
        await press(app, pilot, "u")
        assert place(app) == "withheld 1"
        assert fold_reviews(services.entries).standing == {}
        assert len(services.entries) == 4
        assert "0 of 4 reviewed" in screen_text(app)


@pytest.mark.long
async def test_a_score_needs_no_reason_and_a_note_needs_words() -> None:
    async with queue() as (app, pilot, services):
        await press(app, pilot, "S", *"1.2", "enter")
        assert "a score is a number from 0 to 1" in screen_text(app)
        await press(app, pilot, "escape", "N", "enter")
        assert is_a(app.screen, "ReviewDialog")
        assert "write the note" in screen_text(app)
        await press(app, pilot, "escape")
        assert services.entries == []
        await press(app, pilot, "S", "ctrl+r", *".8", "enter")
        assert [(entry.after, entry.why) for entry in services.entries] == [(0.8, "")]


async def test_one_key_scores_an_item_of_a_sample_and_goes_on_without_showing_the_judges() -> None:
    async with queue(blind=True, sample="0 of 4 drawn are reviewed") as (app, pilot, services):
        assert "0 of 4 drawn are reviewed" in screen_text(app)
        for key in "017":
            await press(app, pilot, key)
        assert "→" not in screen_text(app), "nothing tells how far the judge is from me"
        await press(app, pilot, "9")
        assert [entry.after for entry in services.entries] == [0.0, 1.0, 0.7, 0.9]
        assert all(entry.blind and not entry.why for entry in services.entries)
        before = len(services.entries)
        await press(
            app,
            pilot,
            "u",
            "0",
            "u",
            "2",
            "u",
            "3",
            "u",
            "4",
            "u",
            "5",
            "u",
            "6",
            "u",
            "7",
            "u",
            "8",
            "u",
            "9",
        )
        given = [entry.after for entry in services.entries[before:] if entry.action == "override"]
        assert given == [0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]


async def test_a_sample_that_is_opened_again_begins_with_the_first_item_without_my_score() -> None:
    async with queue(blind=True, sample="0 of 4 drawn are reviewed") as (app, pilot, services):
        for key in "01":
            await press(app, pilot, key)
        await press(app, pilot, "escape", "v")
        await until(pilot, lambda: is_a(app.screen, "ReviewScreen") and bool(app.screen.items))
        await loaded(app, pilot)
        await press(app, pilot, "5")
        scored = [(entry.condition, entry.task) for entry in services.entries]
        assert len(set(scored)) == 3, "the key scored another item than the two before"


async def test_a_blind_review_does_not_show_which_assertions_an_answer_turned() -> None:
    for blind in (False, True):
        async with queue(blind=blind) as (app, pilot, _):
            seen = ""
            for _at in range(4):
                seen += screen_text(app)
                await pilot.press("down")
                await loaded(app, pilot)
            assert "Sydney" in seen, "the conversation with the facts"
            assert ("now true: reminder exists" in seen) != blind


async def test_blind_review_hides_the_judges_score_until_you_enter_yours() -> None:
    async with queue(blind=True) as (app, pilot, services):
        text = screen_text(app)
        assert "hidden until you have given your score" in text
        assert "you have seen it" not in text
        assert "no reminder was made" not in text
        assert "0.20" not in text
        await press(app, pilot, "a")
        assert services.entries == []
        await press(app, pilot, *OVERRIDE)
        assert place(app) == "withheld 1"  # it stays, to be compared
        text = screen_text(app)
        assert "no reminder was made" in text
        assert "0.20 → 0.80 (reviewed)" in text
        assert text.count("hidden") == 3
        assert services.entries[0].blind


@pytest.mark.long
async def test_hiding_a_score_you_have_seen_does_not_make_the_review_blind() -> None:
    async with queue() as (app, pilot, services):
        await press(app, pilot, "H")
        assert services.preferences["review.blind"] is True
        assert "you have seen it, so yours is not blind" in " ".join(screen_text(app).split())
        await press(app, pilot, *OVERRIDE)
        await press(app, pilot, *OVERRIDE)  # the next one, which only the queue has shown
        await press(app, pilot, "u", *OVERRIDE)
        scored = [entry.blind for entry in services.entries if entry.action == "override"]
        assert scored == [False, True, False]


@pytest.mark.long
async def test_a_fault_a_note_and_the_scores_of_two_reviewers_are_shown() -> None:
    async with queue() as (app, pilot, services):
        await press(app, pilot, "F", "right", "down", "y", "enter")
        await press(app, pilot, "N", "z", "enter")
        text = screen_text(app)
        assert said(services) == ["fault", "note"]
        assert "none → agent (reviewed)" in text
        assert "ada notes: z" in text
        await press(app, pilot, *OVERRIDE)
        services.reviewer = "ben\x1b[2J[/]"
        await press(app, pilot, "up", "S", "1", "enter", "y", "enter", "up")
        found = fold_reviews(services.entries)
        (opinions,) = found.tasks.values()
        assert sorted(entry.after or 0 for entry in opinions.values()) == [0.8, 1.0]
        assert reviewed_score(opinions) == 0.9
        text = screen_text(app)
        assert "≠" in text
        assert "0.20 → 0.90 (reviewed), mean of 2" in text
        assert "[/]" in text
        assert "\x1b" not in text


async def test_the_queue_can_show_only_open_items_and_tab_goes_to_the_transcript() -> None:
    async with queue() as (app, pilot, _services):
        await press(app, pilot, "a", "O")
        assert is_a(app.screen, "ReviewScreen")
        assert len(app.screen.shown) == 3
        assert "3 to do" in screen_text(app)
        await press(app, pilot, "O", "enter", "tab")
        assert app.focused is not app.screen.rows
        await press(app, pilot, "escape")
        assert app.focused is app.screen.rows
        await press(app, pilot, "escape")
        assert is_a(app.screen, "ScoreCard")


async def test_the_score_card_shows_the_reviewed_score() -> None:
    async with queue() as (app, pilot, _services):
        await press(app, pilot, *OVERRIDE, "escape")
        text = screen_text(app)
        assert "ada, 1 of 4 tasks" in text
        # (1·timing 1.00 + 2·mean(0.8, 0.9) + 4·0.5) / 7 − 0.3, and the mean with the other
        # condition's 0.96
        assert "without the facts 0.29 → 0.37 (reviewed)" in text
        assert "mean 0.62 → 0.67 (reviewed)" in text


async def test_marked_submissions_are_shown_in_the_medal_table() -> None:
    rows = kept_rows()
    services = FakeServices(None, rows)
    services.review_items = submission_queue(rows)
    async with opened(None, services=services, start="medals") as (app, pilot):
        await press(app, pilot, "v")
        assert is_a(app.screen, "ReviewScreen")
        await press(app, pilot, "S", "down", "y", "enter")
        await press(app, pilot, "a")
        assert [(entry.action, entry.mark) for entry in services.entries] == [
            ("override", "invalid"), ("accept", "valid"),
        ]  # fmt: skip
        await press(app, pilot, "escape")
        assert is_a(app.screen, "MedalsScreen")
        text = screen_text(app)
        assert "● gold → !" in text
        assert "✓" in text
        assert "1 gold" in text  # the totals stay as they were graded


@pytest.mark.long
async def test_hostile_text_is_shown_literally_and_failures_are_reported() -> None:
    async with queue() as (app, pilot, services):
        services.error = RecordingError("run.overlay.jsonl: cannot be written: [/b] full")
        await press(app, pilot, *OVERRIDE)
        await until(pilot, lambda: "cannot be written: [/b] full" in screen_text(app))
        services.error = None
        for number, text in enumerate(CORPUS):
            services.entries.append(
                Reviewed(
                    run_id="r", seq=number, at=datetime(2026, 11, 21, tzinfo=UTC),
                    review=f"x{number}",
                    author=f"{number}{text}", action="override", condition="withheld", trial=1,
                    task=1,
                    after=0.5, why=text, submission=None,
                )
            )  # fmt: skip
        assert is_a(app.screen, "ReviewScreen")
        app.screen.refresh_items()
        await loaded(app, pilot)
        text = screen_text(app)
        assert "0.20 → 0.50" in text
        assert "\x1b" not in text


SAMPLE = "0 of 4 drawn are reviewed"
ITEMS = (("withheld", 1), ("withheld", 2), ("supplied", 1), ("supplied", 2))


def type_at_once(app: BioevalApp, keys: Sequence[str]) -> None:
    """Type keys as a terminal sends them that reads several at once."""
    for key in keys:
        name = {".": "full_stop"}.get(key, key)
        app.post_message(events.Key(name, key if len(key) == 1 else None))


async def go_to_first(app: BioevalApp, pilot: Pilot[None]) -> None:
    """Go to the first item: the screen opens at the one that the score card showed when `v` was
    pressed.
    """
    app.screen.rows.move_to(0)
    await loaded(app, pilot)


async def given_at_once(keys: Sequence[str], *, sample: str = SAMPLE) -> tuple[list[object], str]:
    """Return what keys that come at once have given, and what is on screen then."""
    async with queue(NARROW, blind=bool(sample), sample=sample) as (app, pilot, services):
        await go_to_first(app, pilot)
        type_at_once(app, keys)
        await loaded(app, pilot)
        said = [
            (entry.condition, entry.task, entry.after)
            if entry.action in ("override", "accept")
            else entry.why or entry.action
            for entry in services.entries
        ]
        return said, screen_text(app)


async def test_each_key_of_a_sample_counts_once_and_in_order_however_fast_it_is_typed() -> None:
    said, text = await given_at_once("1212")
    assert said == [(*item, score) for item, score in zip(ITEMS, (1.0, 0.2) * 2, strict=True)]
    assert "Everything is reviewed" in text
    said, text = await given_at_once("12121")  # a fifth key does not change the fourth's score
    assert len(said) == 4
    assert "Not taken: everything is reviewed" in text
    said, _ = await given_at_once("1u2")
    assert said == [(*ITEMS[0], 1.0), "undo", (*ITEMS[0], 0.2)]
    said, _ = await given_at_once(["1", "down", "2"])
    assert said == [(*ITEMS[0], 1.0), (*ITEMS[2], 0.2)]
    said, _ = await given_at_once(["1", "2", "escape"])  # saved although the screen is closed
    assert said == [(*ITEMS[0], 1.0), (*ITEMS[1], 0.2)]


async def test_what_is_pasted_is_no_score_and_a_score_that_is_not_saved_is_to_do_again() -> None:
    async with queue(blind=True, sample=SAMPLE) as (app, pilot, services):
        await go_to_first(app, pilot)
        app.post_message(events.Paste("1212"))
        await until(pilot, lambda: "Not taken: what is pasted" in screen_text(app))
        assert services.entries == []
        services.error = RecordingError("full")
        await press(app, pilot, "1")
        await until(pilot, lambda: "Could not save the review of" in screen_text(app))
        services.error = None
        await press(app, pilot, "0", "1")
        given = [(entry.condition, entry.task, entry.after) for entry in services.entries]
        assert given == [(*ITEMS[0], 0.0), (*ITEMS[1], 1.0)]
        await press(app, pilot, "up", "up", "0")
        assert "hidden here, since this is a sample" in screen_text(app)
        assert all(entry.blind for entry in services.entries)

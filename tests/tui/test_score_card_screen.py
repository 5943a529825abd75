"""The score card over the live screen."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import history
import pytest
from driving import (
    NARROW,
    SIZES,
    WIDE,
    drawn_by,
    is_a,
    loaded,
    opened,
    press_without_effect,
    screen_text,
    until,
)
from fakes import FakeServices, FakeView
from medal_rows import sample_rows
from run_script import run_of_trials, scripted_run
from textual.pilot import Pilot

from bioeval_tui.record.condition_names import PUBLISHED_NAMES
from bioeval_tui.record.events import ConversationEnded, ConversationScored, MessageStarted
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.report.words import rounds_words, summary_lines
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.live import score_card_view
from bioeval_tui.tui.live.score_card import ScoreCard
from bioeval_tui.tui.run_form import RunForm
from tests.unit.report.recorded import Recorded, Talk, shown


@asynccontextmanager
async def card(size: tuple[int, int] = WIDE) -> AsyncIterator[tuple[BioevalApp, Pilot[None]]]:
    services = FakeServices(FakeView(scripted_run()), sample_rows())
    async with opened(None, size, services=services) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await loaded(app, pilot)
        yield app, pilot


@SIZES
async def test_the_score_card_shows_both_scores_and_rehearsal_and_their_mean_with_the_rest(
    size: tuple[int, int],
) -> None:
    async with card(size) as (app, pilot):
        text = screen_text(app)
        assert "user: a script · judge: rules, no model" in text
        assert "no reminder was made" in text, "the lower score is explained first"
        assert "tone (not in score)" not in text, "it is seldom needed"
        assert re.search(r"score +0.29 +0.96 +\+0.67", text)
        await pilot.press("full_stop", *["down"] * 4)
        await loaded(app, pilot)
        text = screen_text(app)
        assert "mean of both: 0.62" in text
        assert "tone (not in score)" in text
        await pilot.press("full_stop")
        await loaded(app, pilot)
        assert "mean of both" not in screen_text(app)


@pytest.mark.long
async def test_a_card_that_closes_while_its_reviews_are_read_crashes_nothing() -> None:
    async with card() as (app, pilot):
        shown_card = app.screen
        await shown_card.query_one(
            "#reviewed"
        ).remove()  # as when a screen is left: its widgets go first
        shown_card.on_screen_resume()
        await loaded(app, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is not shown_card)
        assert app.crash is None


@SIZES
async def test_a_run_that_could_not_begin_shows_why_and_what_to_do_and_no_empty_table(
    size: tuple[int, int],
) -> None:
    detail, ways = (
        "1 setup cannot run: no knowledge graph is configured",
        ("pass --graph embedded", "start a Neo4j server"),
    )
    started, *_, ended = scripted_run()
    script = [started]
    for condition in PUBLISHED_NAMES:
        where = {
            "run_id": started.run_id,
            "at": started.at,
            "condition": condition,
            "trial": 1,
            "attempt": 1,
        }
        script += [
            MessageStarted(**where, seq=0, message=1, turn=1, role="user", speaker="Socrates"),
            MessageStarted(**where, seq=0, message=2, turn=1, role="assistant", speaker="agent"),
            ConversationEnded(
                **where, seq=0, reason="cancelled", fault="infrastructure", detail=detail, ways=ways
            ),
            ConversationScored(
                **where,
                seq=0,
                parts=(),
                penalty=0.0,
                failures=0,
                reason=f"not measured: {'; '.join((detail, *ways))}",
            ),
        ]
    script.append(ended.model_copy(update={"scores": dict.fromkeys(PUBLISHED_NAMES), "mean": None}))
    script = [event.model_copy(update={"seq": seq}) for seq, event in enumerate(script, start=1)]
    services = FakeServices(FakeView(script), sample_rows())
    async with opened(None, size, services=services) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await press_without_effect(app, pilot, "tab", "v", "enter")
        text = " ".join(screen_text(app).split())
        assert "1 setup cannot run: no knowledge graph is configured" in text
        assert "what went wrong" not in text, "the conclusion says it"
        assert "NEXT pass --graph embedded, then r run it again" in text
        assert "what you can do start a Neo4j server" in text
        assert text.partition("WHAT")[2].count("--graph embedded") == 1
        assert "average answer" not in text
        assert "mean of both" not in text


async def test_no_name_is_cut_beside_blank_columns_and_the_details_stay_below() -> None:
    task = "Learn how the CFTR variant in the laboratory's report is classified by the graph"
    script = scripted_run()
    job = {
        **script[0].job,
        "about": "What a laboratory's report means",
        "conditions": [
            {
                "name": "withheld",
                "words": "without the report",
                "facts": "none",
                "criteria": "withheld",
            },
            {"name": "supplied", "words": "with the report"},
        ],
    }
    job["tasks"] = [{**job["tasks"][0], "task": task}, job["tasks"][1]]
    script[0] = script[0].model_copy(update={"job": job})
    for size in ((120, 40), (120, 30)):
        services = FakeServices(FakeView(script), sample_rows())
        async with opened(None, size, services=services) as (app, pilot):
            await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
            await loaded(app, pilot)
            text = screen_text(app)
            for word in (*task.split(), "facts that the user gave", "no reminder was made"):
                assert word in text
            table = "\n".join(drawn_by(app, "#table"))
            assert "…" not in table
            title = next(
                n
                for n, line in enumerate(text.splitlines())
                if line.strip().startswith("2 Ask what")
            )
            await pilot.click(offset=(8, title))
            await loaded(app, pilot)
            assert app.screen.looked_at.row == 2, "a click counts lines, not rows"


@SIZES
async def test_tab_shows_the_other_condition(size: tuple[int, int]) -> None:
    async with card(size) as (app, pilot):
        await pilot.press("tab")
        await loaded(app, pilot)
        text = screen_text(app)
        assert "the reminder has date, dose and zone" in text
        assert "task “Ask what" in text


async def test_what_a_small_card_has_no_room_for_ends_after_a_word() -> None:
    begun, *others = scripted_run()
    long = "medibot-with-a-very-long-name, " * 4
    events = [begun.model_copy(update={"agent": long, "job_name": long}), *others]
    async with opened(FakeView(events), NARROW) as (app, pilot):
        await pilot.press("o")
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await loaded(app, pilot)
        heading, agent = screen_text(app, app.screen).splitlines()[:2]
        assert heading.rstrip().endswith("medibot-with-a-very-long-name,…")
        assert agent.startswith(" agent  medibot")
        assert agent.rstrip().endswith("…")
        assert "facts" not in agent


async def test_enter_on_a_task_goes_to_its_evidence() -> None:
    async with card(WIDE) as (app, pilot):
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.live)
        await loaded(app, pilot)
        assert app.live.watched.condition == "withheld"
        assert "I can't set it without a time zone" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await loaded(app, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.live)
        await pilot.press("escape")
        await loaded(app, pilot)
        assert app.screen is app.live, "a card that was closed does not come back"


async def test_enter_on_an_assertion_goes_to_the_turn_that_decided_it() -> None:
    async with card() as (app, pilot):
        await pilot.press("tab")  # the other condition
        await pilot.press("down", "down", "enter")  # its first assertion
        await until(pilot, lambda: app.screen is app.live)
        await loaded(app, pilot)
        assert app.live.watched.condition == "supplied"
        assert "Done: warfarin 5 mg" in screen_text(app)
        assert app.live.panels.shown == "assertions"
        evidence = [row.evidence for row in score_card_view.rows(*shown(app.live.state))][3]
        assert evidence["withheld"].message == evidence["supplied"].message, (
            "the same turn, where it never held"
        )


async def test_rows_without_evidence_offer_none() -> None:
    async with card() as (app, pilot):
        assert "enter passage" in screen_text(app)
        await pilot.press("home")
        await loaded(app, pilot)
        assert "enter passage" not in screen_text(app)
        await pilot.press("enter")
        await pilot.pause()
        assert is_a(app.screen, "ScoreCard")


@pytest.mark.long
async def test_the_score_card_is_still_open_after_a_visit_to_the_medals() -> None:
    async with card() as (app, pilot):
        await pilot.press("5")
        await until(pilot, lambda: is_a(app.screen, "MedalsScreen"))
        await loaded(app, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))


@pytest.mark.long
async def test_r_starts_the_same_run_again() -> None:
    async with card() as (app, pilot):
        services = app.services
        assert isinstance(services, FakeServices)
        old = app.live.link
        services.view = FakeView(scripted_run(), hold_at=50)
        await pilot.press("r")
        await until(pilot, lambda: app.screen is app.live and app.live.link is not old)
        await loaded(app, pilot)
        assert len(services.started) == 2
        assert "without the facts" in screen_text(app)


async def test_r_asks_how_to_run_the_job_again_with_the_trials_that_would_do() -> None:
    async with card() as (app, pilot):
        services = app.services
        assert isinstance(services, FakeServices)
        services.again = Path("/jobs/dose.yml"), RunForm(url="http://a:1", agent="url", repeats="5")
        services.view = FakeView(scripted_run(), hold_at=50)
        await pilot.press("r")
        await until(pilot, lambda: is_a(app.screen, "RunDialog"))
        assert "5 trials: 10 conversations" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: len(services.started) == 2)
    assert services.started[-1].jobs == (Path("/jobs/dose.yml"),)
    assert (services.started[-1].trials, services.started[-1].agent_url) == (5, "http://a:1")


@pytest.mark.skipif(os.name == "nt", reason="a script is a program where its first line says so")
async def test_e_opens_the_job_where_it_was_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor, told, job = tmp_path / "vi", tmp_path / "told", tmp_path / "dose.yml"
    editor.write_text(f'#!/bin/sh\necho "$@" > "{told}"\n', encoding="utf-8")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    job.write_text(
        "tasks:\n- task: one\n- task: two\nassertions:\n- expression: a\n- expression: b\n"
    )
    async with card() as (app, pilot):
        services = app.services
        assert isinstance(services, FakeServices)
        services.again = job, RunForm()
        monkeypatch.setattr(app, "suspend", nullcontext)
        assert isinstance(app.screen, ScoreCard)
        decided = app.screen._answer.decided
        assert decided is not None
        assert "e edit the job" in screen_text(app)
        await pilot.press("e")
        await until(pilot, told.exists)
    first = {"task": 1, "assertion": 5}[decided.kind]
    assert told.read_text().split() == [f"+{first + decided.index}", str(job)]


async def test_a_card_says_what_changed_since_the_last_run_of_its_job() -> None:
    services = FakeServices(FakeView(scripted_run()), sample_rows())
    state = apply_all(RunState(), scripted_run())
    assert state.started is not None
    services.history = [
        history.run(1, job, 0.5, ago=timedelta(hours=hours))._replace(run_id=run_id)
        for run_id, job, hours in (
            (state.started.run_id, "dose", 1), ("before", "dose", 2), ("first", "dose", 3),
            ("other", "x", 2),
        )
    ]  # fmt: skip
    async with opened(None, services=services) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await until(pilot, lambda: "since before: the same" in screen_text(app))


async def test_a_user_who_leaves_the_role_is_told_of_once() -> None:
    left_role = Talk(
        reason="evaluator_failed", fault="evaluator", unsent="x", detail="leak: shows reasoning"
    )
    why = {"reason": "evaluator failed: leak: shows reasoning"}
    events = [
        event.model_copy(update=why) if isinstance(event, ConversationScored) else event
        for event in Recorded([left_role], [left_role]).events()
    ]
    async with opened(FakeView(events), NARROW) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await loaded(app, pilot)
        assert " ".join(screen_text(app).split()).count("leak: shows reasoning") == 1


@pytest.mark.long
async def test_q_also_quits_from_the_score_card() -> None:
    async with card() as (app, pilot):
        await pilot.press("q")
        await until(pilot, lambda: app._exit)


async def test_the_card_of_several_trials_leads_with_all_of_them_and_opens_each() -> None:
    """The headline, the digits and the rows are the same numbers; a trial's own card is one key
    away.
    """
    services = FakeServices(FakeView(run_of_trials(4)), sample_rows())
    async with opened(None, WIDE, services=services) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "RunCard"))
        await loaded(app, pilot)
        text = screen_text(app)
        assert "· 4 trials" in text
        assert "without the facts" in text
        await pilot.press("end", "up", "up", "up", "up")
        await loaded(app, pilot)
        assert "trial 2 of 4" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: type(app.screen).__name__ == "ScoreCard")
        await until(pilot, lambda: "here: trial 1 of 4" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: is_a(app.screen, "RunCard"))


@pytest.mark.parametrize("size", [NARROW, pytest.param((120, 40), marks=pytest.mark.long), WIDE])
async def test_every_statistic_of_several_trials_can_be_reached(size: tuple[int, int]) -> None:
    services = FakeServices(FakeView(run_of_trials(4)), sample_rows())
    async with opened(None, size, services=services) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "RunCard"))
        await loaded(app, pilot)
        card: Any = app.screen
        seen: set[str] = set()
        await pilot.press("full_stop")
        await loaded(app, pilot)
        for _ in score_card_view.run_more_rows(card._result):
            seen |= set(screen_text(app).split())
            await pilot.press("down")
            await loaded(app, pilot)
        repeated = {rounds_words(one) for one in card._result.summary.conditions}
        for _, said in summary_lines(card._result.summary):
            assert said in repeated or set(said.split()) <= seen, said


async def test_arrows_go_from_all_trials_to_each_of_them_and_back() -> None:
    services = FakeServices(FakeView(run_of_trials(4)), sample_rows())
    async with opened(None, NARROW, services=services) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "RunCard"))
        await loaded(app, pilot)
        assert "← → trial" in screen_text(app).splitlines()[-1]
        over_all = app.screen
        for key, shown_now in (
            ("left", "4 trials"),
            ("right", "here: trial 1 of 4"),
            ("right", "here: trial 2 of 4"),
            ("right_curly_bracket", "here: trial 3 of 4"),
            ("right", "here: trial 4 of 4"),
            ("right", "here: trial 4 of 4"),
            ("left", "here: trial 3 of 4"),
            ("left_curly_bracket", "here: trial 2 of 4"),
            ("left", "here: trial 1 of 4"),
            ("left", "4 trials"),
        ):
            await pilot.press(key)
            await until(
                pilot, lambda shown_now=shown_now: shown_now in " ".join(screen_text(app).split())
            )  # type: ignore[misc]
            assert ("here:" in screen_text(app)) == shown_now.startswith("here"), key
        await pilot.press("right", "left")
        assert app.screen is over_all
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.live)


async def test_a_card_of_one_trial_has_no_other_to_go_to() -> None:
    async with card(WIDE) as (app, pilot):
        assert "trial" not in screen_text(app).splitlines()[-1]
        await press_without_effect(app, pilot, "right", "left")


@pytest.mark.parametrize("width", [60, 80])
async def test_a_small_card_says_why_and_how_the_score_adds_up(width: int) -> None:
    async with card((width, 24)) as (app, pilot):
        text = screen_text(app)
        assert "no reminder was made" in text, "the judge's reason"
        block = app.screen.query_one("#answer")
        assert block.size.height <= 8, "two lines each"
        await pilot.press("home")
        await loaded(app, pilot)
        assert re.search(r"= \d\.\d\d of 7", screen_text(app)), "the sum of the parts"


def test_conversations_that_ended_alike_are_one_note_and_not_a_thousand() -> None:
    failed = Talk(reason="agent_failed", fault="agent", detail="away")
    lost = replace(failed, tasks=None, holds=(None,), unmeasured="agent")
    withheld = [*[Talk()] * 600, *[failed] * 30, lost]
    result = Recorded(withheld, [Talk()] * len(withheld)).loaded()
    notes = [cell.text for cell in score_card_view.notes(result) if "ended early" in cell.text]
    assert notes == [
        "without the facts ended early (agent failed, fault of the agent): away, in 30 trials"
    ]

"""What the live screen says at each stage of a run."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from driving import drawn_by, is_a, line_with, loaded, opened, screen_text, until
from fakes import FakeServices, FakeView
from run_script import BEGAN, RUN_ID, scripted_run
from textual.pilot import Pilot

from bioeval_tui.evaluation.engine.attach import ReplayedRun
from bioeval_tui.evaluation.engine.interface import RunView
from bioeval_tui.record import events
from bioeval_tui.record.cases import JobCase
from bioeval_tui.record.events import write_event
from bioeval_tui.tui.app import BioevalApp

ROOMY = (240, 50)


class Stages:
    """A run that goes on to a stage when it is told to."""

    def __init__(
        self, app: BioevalApp, pilot: Pilot[None], view: FakeView, script: list[Any]
    ) -> None:
        self.app, self.pilot, self.view, self.script = app, pilot, view, script

    async def upto(self, kind: str, nth: int = 1) -> None:
        """Go on to the nth event of a kind."""
        places = [at for at, event in enumerate(self.script) if event.kind == kind]
        self.view.give(places[nth - 1] + 1 - self.view.at)
        seq = self.script[places[nth - 1]].seq
        await until(
            self.pilot,
            lambda: self.app.live.state is not None and self.app.live.state.last_seq >= seq,
        )
        await loaded(self.app, self.pilot)

    def head(self, condition: str) -> str:
        """Return the upper edge of a conversation's frame."""
        return drawn_by(self.app, f"#frame-{condition}")[0]


@asynccontextmanager
async def going_on(
    script: list[Any] | None = None, size: tuple[int, int] = ROOMY, at: int = 5
) -> AsyncIterator[Stages]:
    script = script or scripted_run()
    view = FakeView(script, hold_at=at)
    async with opened(view, size) as (app, pilot):
        yield Stages(app, pilot, view, script)


async def test_the_heads_say_the_turn_its_maximum_what_happens_and_the_score() -> None:
    async with going_on() as run:
        assert "◌ queued" in run.head("supplied")
        await run.upto("message_started")
        assert run.head("withheld").rstrip("╮─ ").endswith("–")
        await run.upto("message_completed")
        assert "agent answers…" in run.head("withheld")
        await run.upto("message_started", 2)
        assert "● turn 1 of at most 10 · agent answers" in run.head("withheld")
        await run.upto("message_completed", 2)
        assert "checks assertions…" in run.head("withheld")
        await run.upto("message_started", 5)
        assert "assertions 2 of 3" in run.head("withheld")
        await run.upto("run_ended")
        await until(run.pilot, lambda: is_a(run.app.screen, "ScoreCard"))
        await run.pilot.press("escape")
        await loaded(run.app, run.pilot)
        assert "■ signed off · 4 turns" in run.head("withheld")
        assert "0.29" in run.head("withheld")
        assert "■ ENDED after 00:14" in screen_text(run.app)


async def test_conditions_are_named_as_in_the_job_and_cleaned_in_a_foreign_recording() -> None:
    first, *rest = scripted_run()
    named = [
        {"name": "withheld", "words": "no\x1b[31m card", "facts": "none", "criteria": "withheld"},
        {"name": "supplied", "words": "x" * 20},
    ]
    script = [first.model_copy(update={"job": {**first.job, "conditions": named}}), *rest]
    async with going_on(script, at=100) as run:
        assert "no␛ card" in run.head("withheld")
        assert "x" * 20 in run.head("supplied")


async def test_task_scores_appear_with_the_verdict_and_a_failed_judge_is_no_score_of_zero() -> None:
    def tasks(run: Stages) -> list[str]:
        return [
            line for line in drawn_by(run.app, "TasksPanel") if any(sign in line for sign in "✓✗?·")
        ]

    async with going_on() as run:
        await run.upto("message_completed", 3)
        await run.pilot.press("i")
        await loaded(run.app, run.pilot)
        assert not any("0." in line for line in tasks(run))
        await run.upto("transcript_scored")
        shown = "\n".join(tasks(run))
        assert "✗ 0.20" in shown
        assert "✓ 0.90" in shown
        assert "·" in shown, "the other conversation has no verdict yet"
    async with going_on() as run:
        await run.upto("conversation_ended")
        await run.pilot.press("i")
        run.view.give_event(
            events.TranscriptScored(
                run_id=RUN_ID, seq=999, at=BEGAN, condition="withheld", trial=1, attempt=1,
                judge="rules",
                error="timed out",
            )
        )  # fmt: skip
        await until(run.pilot, lambda: "? –" in "\n".join(tasks(run)))


async def test_an_assertion_passes_at_its_turn_fails_at_the_end_and_is_marked_when_lost() -> None:
    def check(turn: int, status: str) -> events.AssertionChecked:
        return events.AssertionChecked(
            run_id=RUN_ID, seq=900 + turn, at=BEGAN, condition="withheld", trial=1, attempt=1,
            index=0, title="x",
            weight=1.0, after_turn=turn, status=status,
        )  # fmt: skip

    async with going_on() as run:
        await run.upto("message_completed", 3)
        await run.pilot.press("i")
        for turn, status in enumerate(("failed", "passed", "failed", "not_measured"), start=1):
            run.view.give_event(check(turn, status))
        await until(
            run.pilot,
            lambda: any(
                "·✓✗?" in line.replace(" ", "") for line in drawn_by(run.app, "AssertionsPanel")
            ),
        )
    async with going_on(at=1000) as run:
        await until(run.pilot, lambda: is_a(run.app.screen, "ScoreCard"))
        await run.pilot.press("escape", "i")
        await loaded(run.app, run.pilot)
        shown = "\n".join(drawn_by(run.app, "AssertionsPanel")).replace(" ", "")
        assert "···✓✓" in shown
        assert "✗" in shown


@pytest.mark.long
async def test_latencies_are_those_of_successful_attempts_and_a_pending_answer_grows() -> None:
    async with going_on(at=1000) as run:
        await until(run.pilot, lambda: is_a(run.app.screen, "ScoreCard"))
        await run.pilot.press("escape")
        await run.pilot.press("i")
        await loaded(run.app, run.pilot)
        shown = "\n".join(drawn_by(run.app, "LatencyPanel"))
        assert "3.4 s" in shown
        assert re.search(r"without the facts +1\.5 s +3\.4 s +3\.4 s", shown), (
            "the mean of 0.42, 0.91, 3.42 and 1.28"
        )


async def test_the_difference_waits_for_both_conversations() -> None:
    async with going_on() as run:
        await run.upto("message_started", 5)
        await run.pilot.press("i")
        await loaded(run.app, run.pilot)
        assert "once both ended" in screen_text(run.app)
        await run.upto("run_ended")
        await until(run.pilot, lambda: is_a(run.app.screen, "ScoreCard"))
        await run.pilot.press("escape")
        await until(run.pilot, lambda: "+0.67" in screen_text(run.app))


async def test_the_title_says_paused() -> None:
    async with going_on(at=20) as run:
        run.view.give_event(
            events.OperatorActed(run_id=RUN_ID, seq=99, at=BEGAN, action="pause", sender="me")
        )
        await until(run.pilot, lambda: "‖ PAUSED" in screen_text(run.app).splitlines()[0])


async def test_the_pane_that_waits_says_only_what_the_lines_above_do_not() -> None:
    async with going_on() as run:
        await until(run.pilot, lambda: "What the agent is asked for" in screen_text(run.app))
        said = screen_text(run.app)
        assert said.count("Sydney") == 1
        assert said.count("judge:") + said.count("judge ") == 1
        waiting = "\n".join(drawn_by(run.app, "#frame-supplied"))
        assert "has a time zone" in waiting
        assert "supplied:" not in waiting


async def test_the_brief_of_a_trial_has_the_facts_and_tasks_of_its_case() -> None:
    """A job with cases holds placeholders, which nobody should read."""
    first, *_ = scripted_run()
    filled = {"facts": ["The user is 54"], "tasks": [{"task": "Get a dose"}]}
    case = JobCase(name="17", parts=filled)
    job = {**first.job, "facts": ["{{ case.fact }}"], "tasks": [{"task": "{{ case.ask }}"}]}
    script = [first.model_copy(update={"job": job, "cases": (case,)}), *scripted_run()[1:]]
    async with going_on(script) as run:
        await until(run.pilot, lambda: "facts" in screen_text(run.app))
        said = screen_text(run.app)
        assert "The user is 54" in said
        assert "Get a dose" in said
        assert "{{" not in said


@pytest.fixture
def replay(tmp_path: Path) -> ReplayedRun:
    path = tmp_path / "7f3a2c91.jsonl"
    path.write_bytes(b"".join(map(write_event, scripted_run())))
    view = ReplayedRun(path, 1.0, clock=lambda: 0.0)
    view.seek(3)
    return view


@pytest.mark.long
async def test_the_bar_of_a_replay_names_the_turn_as_the_head_does_and_explains_its_signs(
    replay: ReplayedRun,
) -> None:
    async def open_view() -> RunView:
        return replay

    async with opened(None, ROOMY, services=FakeServices(), start=open_view) as (app, pilot):
        await until(pilot, lambda: "start   playback 00:0" in screen_text(app))
        for turn in (1, 2, 3):
            await pilot.press("]")
            await until(
                pilot, lambda turn=turn: f"without the facts, turn {turn} of" in screen_text(app)
            )  # type: ignore[misc]
            await loaded(app, pilot)
            assert f"turn {turn} of" in drawn_by(app, "#frame-withheld")[0]
        assert "● turn  ○ ahead" in line_with(app, "○ ahead")
        await pilot.press("E")
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await pilot.press("escape")
        await until(pilot, lambda: "end   playback 00:14 / 00:14" in screen_text(app))

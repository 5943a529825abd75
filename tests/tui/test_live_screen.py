"""The live screen's keys and states, at both sizes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from driving import NARROW, SIZES, WIDE, drawn_by, is_a, loaded, opened, screen_text, timers, until
from fakes import FakeServices, FakeView
from rich.cells import cell_len
from run_script import BEGAN, RUN_ID, run_of_trials, scripted_run, scripted_run_of
from textual.widgets import Input

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.evaluation.engine.interface import Intent
from bioeval_tui.protocols import Condition
from bioeval_tui.record import events
from bioeval_tui.record.state import RunState, apply, apply_all
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.tui.live.panels import status_line
from bioeval_tui.tui.live.transcript.blocks import turned_checks

MID = 160
"""An event in the middle of the second conversation, the agent's answer streaming in."""


def act(action: str, condition: str | None = None) -> events.OperatorActed:
    trial = 1 if condition else None
    return events.OperatorActed(
        run_id=RUN_ID,
        seq=900,
        at=BEGAN,
        action=action,
        sender="me",
        condition=condition,
        trial=trial,
        attempt=trial,
    )


@SIZES
async def test_the_live_screen_says_which_run_it_shows_and_what_happens(
    size: tuple[int, int],
) -> None:
    async with opened(FakeView(scripted_run(), hold_at=MID), size) as (app, _):
        first = screen_text(app).splitlines()[0]
        assert "Live › medication_reminder" in first
        assert "rehearsal" in first
        assert "● LIVE" in first


async def test_a_wide_terminal_shows_both_conversations_and_i_opens_the_panels() -> None:
    async with opened(FakeView(scripted_run(), hold_at=MID)) as (app, pilot):
        text = screen_text(app)
        for words in (
            "without the facts",
            "with the facts",
            "Sydney.",
            "rather not say",
            "tasks not judged yet",
        ):
            assert words in text
        assert "Latency" not in text
        await pilot.press("i")
        await until(pilot, lambda: app.live.panels.has_focus_within)
        await loaded(app, pilot)
        for words in ("Tasks", "Latency", "Assertions"):
            assert words in screen_text(app)
        await pilot.press("escape")
        await loaded(app, pilot)
        assert "Latency" not in screen_text(app)


async def test_an_assertion_that_an_answer_turned_stands_below_the_answer() -> None:
    script = scripted_run()
    checks = [
        at
        for at, event in enumerate(script)
        if event.kind == "assertion_checked"
        and event.condition == "supplied"
        and event.title == "reminder exists"
        and event.status == "passed"
    ]
    view = FakeView(script, hold_at=checks[0])
    async with opened(view) as (app, pilot):
        assert "now true" not in screen_text(app)
        view.give(1)
        await until(pilot, lambda: "✓ now true: reminder exists" in screen_text(app))
        lines = screen_text(app).splitlines()
        answer = next(n for n, line in enumerate(lines) if "createReminder" in line)
        assert "← reminder r1 created" in lines[answer + 1]
        assert "✓ now true: reminder exists" in lines[answer + 2]


async def test_a_conversation_that_is_not_mounted_is_not_drawn() -> None:
    async with opened(FakeView(scripted_run(), hold_at=5)) as (app, _):
        frame = app.live.conversations.frames["supplied"]
        assert frame.is_empty
        await frame.remove()
        app.live.conversations.show_heads()


def test_an_answer_turns_what_was_otherwise_a_turn_before() -> None:
    state = apply_all(RunState(), scripted_run())
    found = [
        (condition, message.turn, check.title, check.status)
        for (condition, _), talk in state.conversations.items()
        for message in talk.messages
        for check in turned_checks(talk, message)
    ]
    assert ("supplied", 4, "reminder exists", "passed") in found
    assert not any(title == "nothing was deleted" for _, _, title, _ in found)


def test_the_line_of_a_conversation_says_only_what_has_room() -> None:
    state = RunState()
    seen = set()
    for event in scripted_run():
        apply(state, event)
        for condition in state.conditions:
            for width in (36, 56, 76):
                line = status_line(state, condition, 1, width).plain
                assert cell_len(line) == width
                seen.add(line.rstrip())
    told = {line.rpartition("  ")[2] for line in seen if "  " in line}
    assert "none fails" in told
    assert any(words.startswith("✗ ") for words in told)
    assert not any(words.endswith("…") and len(words) < 12 for words in told), told
    assert not any(line.endswith(("not judged…", "none…", "so…")) for line in seen), seen
    assert not any("·· " in line and "none fails" in line and "✓" not in line for line in seen)


async def test_the_conversations_have_most_of_the_screen() -> None:
    async with opened(FakeView(scripted_run(), hold_at=MID), (120, 40)) as (app, _):
        transcript = app.live.conversations.frames["withheld"].transcript
        assert transcript.size.height >= 24


@pytest.mark.parametrize("size", [NARROW, (120, 40), WIDE])
async def test_a_presentation_says_which_side_is_which(size: tuple[int, int]) -> None:
    async with opened(FakeView(scripted_run(), hold_at=MID), size) as (app, pilot):
        await pilot.press("p")
        await loaded(app, pilot)
        tabs = "\n".join(drawn_by(app, "#tabs"))
        assert "without the facts" in tabs
        assert "with the facts" in tabs.replace("without the facts", "")


@pytest.mark.parametrize(
    ("size", "only", "not_held"),
    [(WIDE, "supplied", "without the facts"), (NARROW, "withheld", "with the facts")],
)
async def test_a_run_of_one_condition_shows_it_alone_and_no_mean(
    size: tuple[int, int], only: Condition, not_held: str
) -> None:
    view = FakeView(scripted_run_of(only), hold_at=60)
    async with opened(view, size) as (app, pilot):
        text = screen_text(app)
        assert {"supplied": "with the facts", "withheld": "without the facts"}[only] in text
        assert not_held not in text
        assert "Could you remind me" in text
        assert "tab switch" not in text
        view.give(1000)
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await loaded(app, pilot)
        text = screen_text(app)
        assert "change" not in text
        assert not_held not in text
        await pilot.press("full_stop", "end")
        await loaded(app, pilot)
        assert "needs both conditions" in screen_text(app)
        assert "other" not in text.splitlines()[-1]
        await pilot.press("y", "y")
        assert "nothing was deleted" in app.clipboard
        assert "\tchange" not in app.clipboard


@pytest.mark.long
async def test_the_latencies_of_both_conditions_fit_the_narrowest_panel() -> None:
    async with opened(FakeView(scripted_run(), hold_at=MID), (120, 35)) as (app, pilot):
        await pilot.press("i")
        await loaded(app, pilot)
        lines = screen_text(app).splitlines()
        heading = next(
            number for number, line in enumerate(lines) if "avg" in line and "p90" in line
        )
        assert [" without " in lines[heading + 1], " with " in lines[heading + 2]] == [True, True]


async def test_a_narrow_terminal_shows_one_conversation_and_tab_switches() -> None:
    async with opened(FakeView(scripted_run(), hold_at=MID), NARROW) as (app, pilot):
        assert "Sydney." in screen_text(app)
        await pilot.press("tab")
        await loaded(app, pilot)
        text = screen_text(app)
        assert "Sydney." not in text
        assert "signed off" in text


@pytest.mark.long
async def test_a_conversation_that_the_screen_itself_focuses_late_is_not_the_users_choice() -> None:
    async with opened(FakeView(scripted_run(), hold_at=MID)) as (app, pilot):
        conversations = app.live.conversations
        conversations.show("withheld", 1)
        conversations.focus_conversation()
        conversations.show("supplied", 1)  # a conversation starts before the focus has arrived
        await loaded(app, pilot)
        assert conversations.watched.condition == "supplied"
        assert not conversations.user_moved
        assert conversations.frames["supplied"].transcript.has_focus


async def test_in_a_narrow_terminal_panels_are_tabs() -> None:
    async with opened(FakeView(scripted_run(), hold_at=MID), NARROW) as (app, pilot):
        await pilot.press("i")
        await until(pilot, lambda: app.live.panels.has_focus_within)
        await loaded(app, pilot)
        assert "Set a reminder" in screen_text(app)
        await pilot.press("i")
        await pilot.pause()
        assert "p90" in screen_text(app)
        await pilot.press("i")
        await pilot.pause()
        assert "reminder exists" in screen_text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert app.live.conversations.frames["supplied"].transcript.has_focus


async def test_pause_step_and_cancel_keys_reach_the_engine() -> None:
    view = FakeView(scripted_run(), hold_at=MID)
    async with opened(view) as (app, pilot):
        for before, keys in (
            (
                None,
                {
                    "space": Intent("pause"),
                    "t": Intent("take_over", "supplied"),
                    "X": Intent("cancel", "supplied"),
                    "C": Intent("cancel"),
                },
            ),
            ("pause", {"space": Intent("resume"), "n": Intent("step")}),
            ("take_over", {"T": Intent("give_back", "supplied")}),
        ):
            if before:
                known = len(app.live.state.operator)
                view.give_event(act(before, "supplied" if before == "take_over" else None))
                await until(pilot, lambda: len(app.live.state.operator) > known)  # noqa: B023
                await loaded(app, pilot)  # the line to type in opens, and would take the key
                await pilot.press("escape")
                await pilot.pause()
            for key, intent in keys.items():
                view.sent.clear()
                await pilot.press(key)
                await loaded(app, pilot)
                assert view.sent == [intent], f"{key} after {before}"


async def test_keys_that_do_not_apply_do_nothing() -> None:
    view = FakeView(scripted_run(), hold_at=MID, mode="replay")
    async with opened(view) as (app, pilot):
        await pilot.press("space", "n", "t", "T", "X", "C")
        await loaded(app, pilot)
        assert view.sent == []
        assert "pause" not in screen_text(app).splitlines()[-1]


async def test_a_refused_command_is_shown_without_interpreting_markup() -> None:
    view = FakeView(
        scripted_run(), hold_at=MID, refuse="the engine is busy [/nonsense] [@click=app.quit]x"
    )
    async with opened(view) as (app, pilot):
        await pilot.press("space")
        await loaded(app, pilot)
        await until(pilot, lambda: "[/nonsense]" in screen_text(app))


async def test_taking_over_opens_an_input_and_sends_what_you_type() -> None:
    view = FakeView(scripted_run(), hold_at=MID)
    async with opened(view) as (app, pilot):
        await pilot.press("t")
        await loaded(app, pilot)
        view.give_event(act("take_over", "supplied"))
        line = app.live.query_one("#say")
        await until(pilot, lambda: line.is_open)
        await pilot.press(*"no q", "enter")
        await loaded(app, pilot)
        assert "enter send" in screen_text(app)
        assert "q quit" not in screen_text(app)
        assert view.sent == [Intent("take_over", "supplied"), Intent("say", "supplied", "no q")]
        await pilot.press("escape")
        view.give(5)
        await loaded(app, pilot)
        assert not line.is_open
        assert "t type" in screen_text(app)
        await pilot.press("t")
        await until(pilot, lambda: line.is_open)
        assert len(view.sent) == 2
        view.give_event(act("give_back", "supplied"))
        await until(pilot, lambda: not line.is_open)


async def test_a_watcher_gets_no_input_when_another_terminal_takes_over() -> None:
    view = FakeView(scripted_run(), hold_at=MID)
    async with opened(view) as (app, pilot):
        view.give_event(act("take_over", "supplied"))
        await until(pilot, lambda: "T give back" in screen_text(app))
        assert not app.live.query_one("#say").is_open
        await pilot.press("t")
        await until(pilot, lambda: app.live.query_one("#say").is_open)
        assert view.sent == []


@pytest.mark.long
async def test_find_searches_the_conversations_of_all_trials() -> None:
    async with opened(FakeView(run_of_trials(3, end=False))) as (app, pilot):
        await until(pilot, lambda: app.live.watched.trial == 3)
        await pilot.press("slash", *"warfarin")
        await loaded(app, pilot)
        assert "in 2 other trials" in screen_text(app)
        for trial in (1, 2, 3):
            for _ in range(40):
                await pilot.press("enter")
                if app.live.watched.trial == trial:
                    break
            assert app.live.watched.trial == trial
            assert f"trial {trial}" in screen_text(app).splitlines()[-2]


async def test_find_counts_matches_and_steps_through_them() -> None:
    async with opened(FakeView(scripted_run(), hold_at=MID)) as (app, pilot):
        await pilot.press("tab", "slash", *"warfarin")
        await loaded(app, pilot)
        assert "found" in screen_text(app)
        await pilot.press("enter")
        await pilot.pause()
        assert re.search(r"\d of \d", screen_text(app))
        await pilot.press("escape")
        await pilot.pause()
        assert app.live.conversations.frames["withheld"].transcript.has_focus


async def test_follow_is_offered_only_after_scrolling_up() -> None:
    async with opened(FakeView(scripted_run(), hold_at=MID), NARROW) as (app, pilot):
        await pilot.press("tab")
        await loaded(app, pilot)
        transcript = app.live.conversations.frames["withheld"].transcript
        assert transcript.following
        assert not app.live.conversations.check_action("follow", ())
        await pilot.press("home")
        await until(pilot, lambda: not transcript.following)
        assert app.live.conversations.check_action("follow", ())
        await pilot.press("f")
        await until(pilot, lambda: transcript.following)


async def test_events_collapse_in_both_conversations() -> None:
    async with opened(FakeView(scripted_run(), hold_at=180)) as (app, pilot):
        assert "createReminder" in screen_text(app)
        await pilot.press("e")
        await loaded(app, pilot)
        assert "createReminder" not in screen_text(app)


@SIZES
async def test_enter_on_an_assertion_shows_its_expression_and_what_changed(
    size: tuple[int, int],
) -> None:
    async with opened(FakeView(scripted_run(), hold_at=MID + 20), size) as (app, pilot):
        app.live.conversations.user_moved = True
        await pilot.press("i")
        await until(pilot, lambda: app.live.panels.has_focus_within)
        await pilot.press("i", "i", "enter")
        await until(pilot, lambda: is_a(app.screen, "AssertionDetail"))
        await loaded(app, pilot)
        text = screen_text(app)
        assert 'objectContext.entities.any { it.type == "Reminder" }' in text
        await pilot.press("left", "right", "tab")
        await pilot.pause()
        assert "without the facts" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.live)


@pytest.mark.long
async def test_names_that_do_not_fit_their_column_take_several_lines_of_their_row() -> None:
    async with opened(FakeView(scripted_run(), hold_at=MID), (120, 40)) as (app, pilot):
        # a presentation hides the panels; afterwards they are as before
        await pilot.press("i", "p", "p")
        await until(pilot, lambda: "tomorrow at 9  " in screen_text(app))
        assert "warfarin interacts with  " in screen_text(app)
        rows = app.live.query_one("#tasks RowList")
        await pilot.click(rows, offset=(5, 3))  # the second line of the second row
        await until(pilot, lambda: rows.cursor == 1)


async def test_enter_on_a_latency_goes_to_its_turn() -> None:
    async with opened(FakeView(scripted_run(), hold_at=MID), NARROW) as (app, pilot):
        await pilot.press("tab", "i", "i")  # the panels, and of these the latencies
        await pilot.press("home", "enter")
        await loaded(app, pilot)
        assert "Hello, I keep reminders" in screen_text(app)


async def test_the_score_card_opens_at_the_end_and_again_with_its_key() -> None:
    async with opened(FakeView(scripted_run())) as (app, pilot):
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.live)
        await pilot.press("o")
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))


@pytest.mark.long
async def test_the_score_card_does_not_interrupt_typing() -> None:
    view = FakeView(scripted_run(), hold_at=MID)
    async with opened(view) as (app, pilot):
        await pilot.press("slash", *"war")
        view.give(500)
        await until(pilot, lambda: app.live.state.ended is not None)
        await loaded(app, pilot)
        assert app.screen is app.live
        assert "o opens the score card" in screen_text(app)


async def test_before_the_engine_answers_the_screen_says_what_it_waits_for() -> None:
    async with opened(FakeView(scripted_run(), hold_at=0)) as (app, _):
        assert "Preparing the first conversation…" in screen_text(app)


async def test_a_run_that_cannot_start_says_why_and_r_retries() -> None:
    services = FakeServices(error=BioevalError("no agent answers at http://127.0.0.1:1"))
    async with opened(None, services=services) as (app, pilot):
        await until(pilot, lambda: "no agent answers at http://127.0.0.1:1" in screen_text(app))
        assert "COULD NOT START" in screen_text(app)
        services.error = None
        services.view = FakeView(scripted_run(), hold_at=MID)
        await pilot.press("r")
        await until(pilot, lambda: app.live.state is not None)
        await loaded(app, pilot)
        assert "with the facts" in screen_text(app)
        assert len(services.started) == 2


async def test_a_crashed_engine_leaves_the_conversation_and_says_how_to_resume() -> None:
    view = FakeView(scripted_run(), hold_at=MID)
    async with opened(view) as (app, pilot):
        view.give_event(
            events.Warned(
                run_id=RUN_ID, seq=0, at=BEGAN, code="interrupted", message="the engine is gone"
            )
        )
        view.die()
        await until(pilot, lambda: "INTERRUPTED" in screen_text(app))
        text = screen_text(app)
        assert "The engine is gone." in text
        assert "Sydney." in text
        assert f"runs resume {RUN_ID}" in text


async def test_a_run_with_unequal_starting_states_is_marked_and_shows_no_uplift() -> None:
    async with opened(FakeView(scripted_run(clean=False), hold_at=230)) as (app, pilot):
        await pilot.press("i")
        await loaded(app, pilot)
        text = screen_text(app)
        assert "! not clean" in text
        assert "not shown" in text


async def test_a_run_that_could_not_be_measured_says_so() -> None:
    script = scripted_run()[:-1]
    script.append(
        events.RunEnded(
            run_id=RUN_ID, seq=999, at=BEGAN, status="failed", detail="judge timed out after 60 s"
        )
    )
    async with opened(FakeView(script)) as (app, pilot):
        await until(pilot, lambda: app.live.state.ended is not None)
        await pilot.press("escape")
        await loaded(app, pilot)
        assert "Could not be measured: judge timed out after 60 s" in screen_text(app)


async def test_a_run_that_failed_before_its_first_conversation_waits_for_nothing() -> None:
    script = scripted_run()[:1]
    script.append(
        events.RunEnded(run_id=RUN_ID, seq=2, at=BEGAN, status="failed", detail="the graph is away")
    )
    async with opened(FakeView(script)) as (app, _):
        text = screen_text(app)
        assert "Could not be measured: the graph is away" in text
        assert "The run ended before a conversation started" in text


@SIZES
async def test_help_lists_only_the_keys_that_apply(size: tuple[int, int]) -> None:
    async with opened(FakeView(scripted_run(), hold_at=MID), size) as (app, pilot):
        await pilot.press("question_mark")
        await until(pilot, lambda: is_a(app.screen, "HelpScreen"))
        await loaded(app, pilot)
        text = screen_text(app)
        assert "Pause both conversations before the next message" in text
        assert "Let the evaluator play the user again" not in text
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.live)


@pytest.mark.long
async def test_what_happens_behind_a_box_is_drawn_when_the_box_closes() -> None:
    def behind(app: BioevalApp) -> str:
        # the time of an answer that is awaited
        return re.sub(r"[\d.]+ s…", "", screen_text(app, app.live))

    view = FakeView(scripted_run(), hold_at=MID)
    async with opened(view) as (app, pilot):
        await pilot.press("question_mark")
        await until(pilot, lambda: is_a(app.screen, "HelpScreen"))
        await loaded(app, pilot)
        covered, seen = behind(app), app.live.link.now
        view.give(40)
        await until(pilot, lambda: app.live.link.now != seen)
        await loaded(app, pilot)
        assert behind(app) == covered
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.live)
        await loaded(app, pilot)
        assert behind(app).splitlines()[:-1] != covered.splitlines()[:-1]


@pytest.mark.long
async def test_a_new_score_or_clock_repaints_only_the_edge_of_its_conversation() -> None:
    async with opened(FakeView(scripted_run(), hold_at=MID)) as (app, _):
        frame, state = app.live.conversations.frames["withheld"], app.live.state
        assert state is not None
        head = frame._head
        frame.show_head(
            replace(head, score=head.score._replace(text="0.99")), frame.has_class("-active")
        )
        assert {region.height for region in frame._exchange_repaint_regions()} == {1}
        assert "0.99" in (frame.border_title or "")


@pytest.mark.parametrize(
    "size",
    [
        (1, 1),
        (40, 10),
        *(pytest.param(size, marks=pytest.mark.long) for size in ((20, 5), (119, 15))),
    ],
)
async def test_a_run_can_be_searched_and_ends_with_its_score_card_in_a_tiny_terminal(
    size: tuple[int, int],
) -> None:
    view = FakeView(scripted_run(), hold_at=MID)
    async with opened(view, size) as (app, pilot):
        line = app.live.query_one("#find")
        await pilot.press("slash", *"reminder")
        assert line.is_open
        assert line.query_one(Input).value == "reminder"
        await pilot.press("escape")
        assert not line.is_open
        view.give(500)
        await until(pilot, lambda: is_a(app.screen, "ScoreCard"))


@pytest.mark.long
async def test_resizing_switches_between_both_layouts() -> None:
    async with opened(FakeView(scripted_run(), hold_at=MID)) as (app, pilot):
        await pilot.resize_terminal(*NARROW)
        await loaded(app, pilot)
        assert "╭─ without the facts" not in screen_text(app)
        await pilot.resize_terminal(*WIDE)
        await loaded(app, pilot)
        assert "╭─ without the facts" in screen_text(app)


async def test_the_first_words_reach_the_screen_in_one_frame() -> None:
    script = scripted_run()
    view = FakeView(
        script, hold_at=next(at for at, e in enumerate(script) if e.kind == "message_delta")
    )
    async with opened(view) as (app, pilot):
        assert "Hello," not in screen_text(app)
        view.give(1)
        await timers(pilot)
        assert "Hello," in screen_text(app)


async def test_an_assertion_without_a_name_is_called_what_it_asserts() -> None:
    started, *rest = scripted_run()
    medal = {
        "medal": "silver",
        "task": "oncology/breast-cancer",
        "submission": "answers.csv",
        "weight": 2.0,
    }
    job = {**started.job, "assertions": [medal, *started.job["assertions"][1:]]}
    started = started.model_copy(update={"job": job})
    async with opened(FakeView([started, *rest], hold_at=MID + 20)) as (app, pilot):
        app.live.conversations.user_moved = True
        await pilot.press("i", "i", "i", "home", "enter")
        await until(pilot, lambda: is_a(app.screen, "AssertionDetail"))
        await loaded(app, pilot)
        assert "silver   weight 2" in screen_text(app)
        assert "oncology/breast-cancer" in screen_text(app)

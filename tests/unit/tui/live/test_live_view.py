"""What the live screen shows, from the events of a run alone."""

import re
from datetime import timedelta

import pytest
from run_script import BEGAN, RUN_ID, scripted_run

from bioeval_tui.record import events
from bioeval_tui.record.names import Condition, TurnMark
from bioeval_tui.record.replay import turn_ends
from bioeval_tui.record.state import RunState, apply_all
from bioeval_tui.report import rows
from bioeval_tui.report.brief import brief_of
from bioeval_tui.tui.live import heads_view, operator, panels, replay_bar
from bioeval_tui.tui.shared import bars_view
from bioeval_tui.tui.shared.brief_view import brief_lines


def after(count: int | None = None, **kwargs: bool) -> RunState:
    return apply_all(RunState(), scripted_run(**kwargs)[:count])


def upto(kind: str, nth: int = 1) -> RunState:
    """The run up to and with its nth event of a kind."""
    script = scripted_run()
    places = [at for at, event in enumerate(script) if event.kind == kind]
    return apply_all(RunState(), script[: places[nth - 1] + 1])


def test_the_heading_shows_the_turn_its_maximum_and_how_long_the_agent_takes() -> None:
    state = upto("message_started", 2)
    now = state.last_at + timedelta(seconds=1.3)
    head = heads_view.head(state, "withheld", 1, now)
    assert head.state.text == "● turn 1 of at most 10 · agent answers 1.3 s…"
    assert head.score.text == "–"
    said = (heads_view.head(upto("message_completed", n), "withheld", 1, now).state.text for n in (1, 2))
    assert [text.partition(" · ")[2] for text in said] == ["agent answers…", "checks assertions…"]


def test_a_condition_that_has_not_started_is_queued() -> None:
    assert heads_view.head(after(5), "supplied", 1, None).state.text == "◌ queued"


def test_the_names_of_conditions_are_the_jobs_and_those_of_a_foreign_recording_are_cleaned() -> None:
    state = after()
    assert heads_view.head(state, "withheld", 1, None).title == "facts withheld"
    assert state.started is not None
    state.started.job["conditionNames"] = {"withheld": "no\x1b[31m card", "supplied": "x" * 5000}
    assert heads_view.head(state, "withheld", 1, None).title == "no␛ card"
    assert heads_view.head(state, "supplied", 1, None).title == "x" * 19 + "…"


def test_the_heading_of_a_finished_conversation_shows_its_score() -> None:
    head = heads_view.head(after(), "withheld", 1, None)
    assert head.state.text == "■ signed off · 4 turns"
    assert head.score.text == "0.29"


def test_an_unfinished_conversation_has_no_score_but_says_how_many_assertions_hold() -> None:
    assert heads_view.head(upto("message_started", 5), "withheld", 1, None).score.text == "assertions 2 of 3"
    assert heads_view.head(upto("message_started", 1), "withheld", 1, None).score.text == "–"


def test_the_bar_of_a_replay_names_the_turn_as_the_heading_does() -> None:
    script, state = scripted_run(), after()
    marks = turn_ends(script)
    assert replay_bar.label(marks, len(script), 14.0, 120, state) == "end   playback 00:14 / 00:14"
    seen = set()
    for given in range(marks[0].given, len(script)):
        state = apply_all(RunState(), script[:given])
        where = replay_bar.label(marks, given, 0.0, 120, state).partition("   ")[0]
        condition, comma, turn = where.partition(", ")
        if comma:
            heading = heads_view.head(state, condition, 1, None).state.text
            assert re.search(rf"\b{turn.partition(' of ')[0]} of |\b{turn.split()[-1]} turns", heading), given
            seen.add(where)
    assert "withheld, turn 4 of 4" in seen
    middle = marks[2]
    state = apply_all(RunState(), script[: middle.given])
    assert replay_bar.label(marks, middle.given, middle.at_s, 80, state).startswith("turn ")


def test_a_replay_explains_only_the_signs_that_its_bar_has() -> None:
    marks = turn_ends(scripted_run())
    calm = [mark._replace(failed=False) for mark in marks]
    last = marks[-1]

    def legend(shown: list[TurnMark], given: int, width: int = 60) -> str:
        return replay_bar.legend(replay_bar.bar(shown, given, 0.0, width))

    assert legend(calm, last.given) == "● turn"
    assert legend(calm, 0) == "○ turn"
    assert legend(calm, marks[2].given) == "● turn  ○ ahead"
    assert legend(calm, last.given, 8) == "", "so many turns in so few cells have no sign"
    failed = [*calm[:2], calm[2]._replace(failed=True), *calm[3:]]
    assert legend(failed, marks[1].given) == "● turn  ○ ahead  ✗ assertion failed"
    told = replay_bar.bar(failed, marks[1].given, 0.0, 60, demo=True)
    assert replay_bar.legend(told) == "● turn  ○ ahead", "a demo does not tell what will fail"


@pytest.mark.parametrize(
    ("link", "words"), [("live", "● LIVE"), ("replay", "▸ REPLAY"), ("interrupted", "! INTERRUPTED")]
)
def test_the_title_says_what_is_happening(link: heads_view.LinkState, words: str) -> None:
    assert heads_view.title_state(after(20), link, None).text.startswith(words)


def test_the_title_says_paused_and_ended() -> None:
    state = after(20)
    pause = events.OperatorActed(run_id=RUN_ID, seq=99, at=BEGAN, action="pause", sender="me")
    assert heads_view.title_state(apply_all(state, [pause]), "live", None).text.startswith("‖ PAUSED")
    assert heads_view.title_state(after(), "live", None).text == "■ ENDED after 00:14"


def test_the_title_says_rehearsal_and_not_clean() -> None:
    words = [note.text for note in heads_view.title_notes(after(clean=False))]
    assert words == ["rehearsal", "! not clean"]


def test_task_scores_appear_with_the_judges_verdict() -> None:
    assert task_cells(upto("message_completed", 3), "withheld") == ["·", "·"]
    assert task_cells(upto("transcript_scored"), "withheld") == ["✗ 0.20", "✓ 0.90"]
    assert task_cells(upto("transcript_scored"), "supplied")[0] == "·"


def task_cells(state: RunState, condition: Condition) -> list[str]:
    talk = state.conversation(condition)
    return [panels.task_cell(row, condition, talk).text for row in rows.task_rows(state, 1)]


def test_a_failed_judge_is_not_a_score_of_zero() -> None:
    state = upto("conversation_ended")
    failed = events.TranscriptScored(
        run_id=RUN_ID,
        seq=999,
        at=BEGAN,
        condition="withheld",
        trial=1,
        attempt=1,
        judge="rules",
        error="timed out",
    )
    apply_all(state, [failed])
    assert task_cells(state, "withheld")[0] == "? –"


def test_an_assertion_passes_at_its_turn_and_fails_only_at_the_end() -> None:
    reminder = rows.assertion_rows(after(), 1)[0]
    assert reminder.title == "reminder exists"
    marks = panels.assertion_marks(reminder.timelines["supplied"])
    assert "".join(marks[turn].text for turn in range(1, 6)) == "···✓✓"
    final = panels.final_mark(reminder.finals["withheld"])
    assert final is not None
    assert final.text == "✗"


def test_an_assertion_that_no_longer_holds_is_marked_at_once() -> None:
    def check(turn: int, status: str) -> events.AssertionChecked:
        return events.AssertionChecked(
            run_id=RUN_ID,
            seq=900 + turn,
            at=BEGAN,
            condition="withheld",
            trial=1,
            attempt=1,
            index=0,
            title="x",
            weight=1.0,
            after_turn=turn,
            status=status,
        )

    state = apply_all(
        after(5), [check(1, "failed"), check(2, "passed"), check(3, "failed"), check(4, "not_measured")]
    )
    marks = panels.assertion_marks(rows.assertion_rows(state, 1)[0].timelines["withheld"])
    assert "".join(marks[turn].text for turn in (1, 2, 3, 4)) == "·✓✗?"


def test_latencies_are_those_of_successful_attempts() -> None:
    turns = panels.latency_rows(after(), 1, None)
    assert turns[2].bars["withheld"].ms == 3420.0
    summary = rows.latency(after(), "withheld", 1)
    assert summary.average_ms == pytest.approx((420 + 910 + 3420 + 1280) / 4)
    assert summary.max_ms == 3420.0


def test_the_pending_answer_has_a_growing_bar() -> None:
    state = upto("message_started", 2)
    row = panels.latency_rows(state, 1, state.last_at + timedelta(seconds=2))[0]
    assert row.bars["withheld"].running
    assert row.bars["withheld"].ms == pytest.approx(2000)


def test_a_latency_bar_shows_waiting_streaming_and_target_without_colour() -> None:
    bar = panels.Bar(ms=1000, first_ms=400, message=2)
    text = "".join(cell.text for cell in bars_view.latency_bar(bar, 2000, 1500, 20))
    assert text == "────━━━━━━     │    "
    late = "".join(cell.text for cell in bars_view.latency_bar(bar, 1000, 500, 10))
    assert late == "────━┿━━━━"


@pytest.mark.parametrize("width", [0, 1, 2, 7])
def test_a_latency_bar_never_exceeds_its_width(width: int) -> None:
    bar = panels.Bar(ms=9e9, first_ms=1.0, message=2)
    assert sum(len(cell.text) for cell in bars_view.latency_bar(bar, 100, 50, width)) == width


def test_uplift_is_not_shown_when_the_run_is_not_clean() -> None:
    early = panels.uplift_cells(upto("message_started", 5), 1)
    assert early is not None
    assert early.text == "once both ended"
    shown = panels.uplift_cells(after(), 1)
    assert shown is not None
    assert shown.text == "+0.67"
    hidden = panels.uplift_cells(after(clean=False), 1)
    assert hidden is not None
    assert "not clean" in hidden.text


def test_keys_are_offered_only_where_they_apply() -> None:
    running, ended = upto("message_started", 3), after()
    assert operator.applies("pause", running, "live", "withheld", 1)
    assert not operator.applies("resume", running, "live", "withheld", 1)
    assert not operator.applies("give_back", running, "live", "withheld", 1)
    assert not operator.applies("cancel", running, "live", "supplied", 1)
    for action in operator.CONTROL:
        assert not operator.applies(action, ended, "live", "withheld", 1)
        assert not operator.applies(action, running, "replay", "withheld", 1)
    assert operator.applies("again", ended, "live", "withheld", 1)


def test_an_interrupted_run_says_what_was_kept_and_how_to_resume() -> None:
    sentence = heads_view.banner(
        after(60), "interrupted", "the engine is gone; the run was interrupted", None
    )
    assert "7 messages kept" in sentence
    assert f"bioeval-tui runs resume {RUN_ID}" in sentence


def test_a_run_that_could_not_start_says_why_and_what_to_press() -> None:
    keys = heads_view.Keys(jobs="1", runs="3", again="f5", quit="q")
    lines = heads_view.waiting("failed", "no agent at http://127.0.0.1:1", 0, keys)
    text = " ".join(cell.text for cell in lines)
    assert "no agent at http://127.0.0.1:1" in text
    assert "f5  try again" in text


def test_without_an_engine_no_key_to_run_is_mentioned() -> None:
    keys = heads_view.Keys(jobs="", runs="3", again="", quit="q")
    for link in ("empty", "failed"):
        text = " ".join(cell.text for cell in heads_view.waiting(link, "why", 0, keys))
        assert "jobs" not in text
        assert "try again" not in text


def test_the_brief_of_a_trial_has_the_facts_and_tasks_of_its_case() -> None:
    """A job with cases holds placeholders, which nobody should read."""
    first, *_ = scripted_run()
    filled = {"facts": ["The user is 54"], "tasks": [{"task": "Get a dose"}]}
    case = events.JobCase(name="17", parts=filled)
    job = {**first.job, "facts": ["{{ case.fact }}"], "tasks": [{"task": "{{ case.ask }}"}]}
    started = first.model_copy(update={"job": job, "cases": (case,)})
    state = apply_all(RunState(), [started])
    said = "\n".join(cell.text for line in brief_lines(brief_of(state, started, 1)) for cell in line)
    assert "The user is 54" in said
    assert "Get a dose" in said
    assert "{{" not in said

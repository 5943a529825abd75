"""Captions describe every moment of a recorded run."""

from pathlib import Path

from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.replay import reading_times
from bioeval_tui.record.state import RunState, apply
from bioeval_tui.report.rows import parting
from bioeval_tui.sample.paths import sample_recordings
from bioeval_tui.tui.live.captions_view import caption
from tests.unit.report.recorded import GOLDEN


def captions(recording: Path = GOLDEN) -> list[str]:
    """Return the captions of a run, in order, each once."""
    state, found = RunState(), [""]
    for event in read_recording(recording).events:
        apply(state, event)
        words = caption(state, 1)
        if words != found[-1]:
            found.append(words)
    return found[1:]


def test_the_demo_has_captions_from_beginning_to_end() -> None:
    told = captions()
    assert told[0] == "Conversation 1 of 2: the user knows no facts, and cannot answer when the agent asks."
    assert (
        "Without the facts the agent scores 0.44: 3 of 4 assertions do not hold, such as “a reminder exists”."
        in told
    )
    assert any(
        words.startswith("Conversation 2 of 2: the same user again, who now knows 2 facts") for words in told
    )
    assert any(words.startswith("The conversations differ from here") for words in told)
    assert "The user gives fact 1 because the agent asked." in told
    assert any(words.startswith("Now true: “a reminder exists” and 2 more") for words in told)
    assert "With the facts the agent scores 1.00: all 4 assertions hold, such as “a reminder exists”." in told
    assert told[-1].startswith(
        "Rehearsal: the agent scores 0.44 without the facts and 1.00 with the facts; one trial is too few"
    )


def test_the_batch_demo_says_what_the_careful_agent_keeps_and_the_guessing_one_breaks() -> None:
    careful, guessing = (captions(path) for path in sample_recordings("batch"))
    kept = "Without the facts the agent scores 1.00: all 2 assertions hold, such as “no reminder is set without a time zone”."
    assert kept in careful
    lost = "after turn 4, 1 of 2 assertions holds, no longer “no reminder is set without a time zone”."
    assert f"Conversation 1 of 2: {lost}" in guessing


def test_the_conversations_diverge_at_the_first_message_that_differs() -> None:
    state = RunState()
    for event in read_recording(GOLDEN).events:
        apply(state, event)
    assert parting(state, 1) == 5, "the user answers only where it knows the fact"
    assert parting(state, 2) is None


def test_the_demo_can_be_read_in_about_a_minute() -> None:
    events = read_recording(GOLDEN).events
    times = reading_times(events)
    assert len(times) == len(events)
    assert times == sorted(times)
    assert 45 <= times[-1] <= 75

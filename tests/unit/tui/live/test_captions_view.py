"""Captions describe every moment of a recorded run."""

from collections.abc import Callable, Sequence
from pathlib import Path

from fakes import FakeServices

from bioeval_tui.record.events import MessageCompleted, RunEvent
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.replay import reading_times, side_by_side
from bioeval_tui.record.state import RunState, apply
from bioeval_tui.sample.paths import sample_recordings
from bioeval_tui.tui.app import BioevalApp
from tests.unit.report.recorded import GOLDEN

caption = BioevalApp(FakeServices(), "runs").caption


def captions(
    recording: Path = GOLDEN, order: Callable[[Sequence[RunEvent]], Sequence[RunEvent]] = tuple
) -> list[str]:
    """Return the captions of a run, in order, as long as each stays."""
    state, found = RunState(), [""]
    for event in order(read_recording(recording).events):
        apply(state, event)
        words = caption(state, 1)
        if words and words != found[-1]:
            found.append(words)
    return found[1:]


def test_the_demo_has_captions_from_beginning_to_end() -> None:
    told = captions()
    assert (
        told[0]
        == "Conversation 1 of 2: the user knows no facts, and cannot answer when the agent asks."
    )
    assert (
        "Without the facts the agent scores 0.44: 3 of 4 assertions do not hold, such as “a"
        " reminder exists”." in told
    )
    assert any(
        words.startswith("Conversation 2 of 2: the same user again, who now knows 2 facts")
        for words in told
    )
    assert any(words.startswith("The conversations differ from here") for words in told)
    assert "The user gives fact 1 because the agent asked." in told
    assert any(words.startswith("Now true: “a reminder exists” and 2 more") for words in told)
    assert (
        "With the facts the agent scores 1.00: all 4 assertions hold, such as “a reminder exists”."
        in told
    )
    assert told[-1].startswith("0.44 → 1.00 with the facts. Fails without the facts only: ")


def test_side_by_side_the_fork_comes_first_and_no_caption_comes_twice() -> None:
    told = captions(order=side_by_side)
    assert len(told) == len(set(told))
    fork = told.index(
        "The conversations differ from here. Until now, they were the same, word for word."
    )
    assert told[fork - 1].startswith("The agent asks. This user knows no facts")
    assert told[fork + 1] == "The user gives fact 1 because the agent asked."
    assert sorted(told) == sorted(captions()), "the same moments in another order"


def test_conversations_beside_each_other_keep_their_own_order_and_their_result() -> None:
    events = read_recording(GOLDEN).events
    beside = side_by_side(events)
    assert sorted(event.seq for event in beside) == [event.seq for event in events]
    for condition in ("withheld", "supplied"):
        assert [e.seq for e in beside if e.condition == condition] == [
            e.seq for e in events if e.condition == condition
        ]
    one, other = RunState(), RunState()
    for event in events:
        apply(one, event)
    for event in beside:
        apply(other, event)
    assert (one.conversations, one.ended) == (other.conversations, other.ended)


def test_what_is_shown_beside_each_other_never_changes_while_the_run_is_written() -> None:
    events = read_recording(GOLDEN).events
    whole = side_by_side(events)
    for count in range(1, len(events) + 1):
        known = side_by_side(events[:count])
        assert list(known) == list(whole[: len(known)])


def test_the_batch_demo_says_what_the_careful_agent_keeps_and_the_guessing_one_breaks() -> None:
    careful, guessing = (captions(path) for path in sample_recordings("batch"))
    kept = (
        "Without the facts the agent scores 1.00: both assertions hold, such as “no reminder is"
        " set without a time zone”."
    )
    assert kept in careful
    assert "No longer true without the facts: “no reminder is set without a time zone”." in guessing


def test_the_demo_is_read_in_less_than_45_seconds() -> None:
    events = read_recording(GOLDEN).events
    times = reading_times(events)
    assert len(times) == len(events)
    assert times == sorted(times)
    assert 25 <= times[-1] <= 45


def test_the_fork_is_shown_within_ten_seconds_and_the_verdict_within_45() -> None:
    events = side_by_side(read_recording(GOLDEN).events)
    times = reading_times(events)
    said = {
        event.content: at
        for event, at in zip(events, times, strict=True)
        if isinstance(event, MessageCompleted) and event.role == "user"
    }
    assert max(said["I'd rather not say where I live."], said["I live in Sydney."]) < 10
    assert times[-1] < 45

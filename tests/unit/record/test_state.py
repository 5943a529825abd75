"""The fold: the same events give the same state, however they are sliced or stored."""

from __future__ import annotations

import asyncio
from functools import lru_cache

from hypothesis import given
from hypothesis import strategies as st

from bioeval_tui.record import events
from bioeval_tui.record.events import RunEvent, read_event, write_event
from bioeval_tui.record.state import ConversationKey, RunState, apply, apply_all
from tests.unit.evaluate.conversation.fakes import FakeAgent, FakeEvaluator, Stage, job
from tests.unit.evaluate.conversation.test_run_job import broken


@lru_cache(maxsize=1)
def recorded() -> tuple[RunEvent, ...]:
    stage = Stage(
        job(assertions=[{"expression": "true"}], seeds=[{"text": "x"}]),
        agents={"withheld": FakeAgent(["hi", broken(), "again"])},
        evaluators={"withheld": FakeEvaluator(["do it", "and that"]), "supplied": FakeEvaluator(["do it"])},
    )
    asyncio.run(stage.run())
    return tuple(stage.sink.events)


@given(st.data())
def test_the_state_is_the_same_however_the_events_are_split(data: st.DataObject) -> None:
    events_ = recorded()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(events_)), max_size=6)))
    state = RunState()
    for start, end in zip([0, *cuts], [*cuts, len(events_)], strict=True):
        apply_all(state, events_[start:end])
        for talk in state.conversations.values():
            for message in talk.messages:
                assert isinstance(message.text, str)  # reading joins pieces; it must not matter
    assert state == apply_all(RunState(), events_)


def test_events_are_read_back_as_they_were_written() -> None:
    for event in recorded():
        assert read_event(write_event(event)) == event


def test_an_event_of_a_newer_program_is_kept_and_written_back() -> None:
    line = b'{"kind":"mind_read","run_id":"r","seq":7,"at":"2026-01-01T00:00:00Z","thought":{"a":null}}\n'
    event = read_event(line)
    assert isinstance(event, events.UnknownEvent)
    assert read_event(write_event(event)) == event
    state = RunState()
    assert apply(state, event).kind == "mind_read"
    assert state.unknown == [event]


def test_a_second_attempt_replaces_the_first_whose_late_events_are_ignored() -> None:
    first = [event for event in recorded() if event.condition == "withheld"]
    again = [event.model_copy(update={"attempt": 2}) for event in first]
    state = apply_all(RunState(), [*first, *again, *first])
    once = apply_all(RunState(), again)
    assert state.conversations == once.conversations
    assert state.conversations[ConversationKey("withheld", 1)].attempt == 2


def test_the_final_score_replaces_the_running_one() -> None:
    state = apply_all(RunState(), recorded())
    for talk in state.conversations.values():
        assert talk.score is not None
        assert state.running_score(talk) == talk.score.score


def test_a_message_is_found_by_its_number_even_when_one_is_missing() -> None:
    """A damaged recording lacks messages: their place in the list is then not their number."""
    state = RunState()
    conversation = None
    for event in recorded():
        change = apply(state, event)
        if change.kind == "conversation_scored" and change.key is not None:
            conversation = state.conversations[change.key]
            break
    assert conversation is not None
    last = conversation.messages[-1]
    del conversation.messages[0]
    assert conversation.message(last.message) is last
    assert conversation.message(last.message + 1) is None
    assert conversation.message(1) is None

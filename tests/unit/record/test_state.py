"""The state of a run: the same events give the same state, however they are split or stored."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, strategies as st

from bioeval_tui.formats import ConversationKey
from bioeval_tui.protocols import Condition
from bioeval_tui.record import events
from bioeval_tui.record.events import RunEvent, read_event, write_event
from bioeval_tui.record.state import RunState, apply, apply_all
from tests.unit.evaluation.conversation.fakes import AT, FakeAgent, FakeEvaluator, Stage, job, where
from tests.unit.evaluation.conversation.test_run_job import broken


@lru_cache(maxsize=1)
def recorded() -> tuple[RunEvent, ...]:
    stage = Stage(
        job(assertions=[{"expression": "true"}], seeds=[{"text": "x"}]),
        agents={"withheld": FakeAgent(["hi", broken(), "again"])},
        evaluators={
            "withheld": FakeEvaluator(["do it", "and that"]),
            "supplied": FakeEvaluator(["do it"]),
        },
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
    line = (
        b'{"kind":"mind_read","run_id":"r","seq":7,"at":"2026-01-01T00:00:00Z",'
        b'"thought":{"a":null}}\n'
    )
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
    (talk,) = state.conversations.values()
    assert [attempt.attempt for attempt in talk.attempts] == [2, 1], "the first was paid for"
    assert state.conversations[ConversationKey("withheld", 1)].attempt == 2


def test_a_retried_answer_forgets_what_the_failed_attempt_streamed() -> None:
    asked = events.MessageStarted(**where(message=2, turn=1, role="assistant", speaker="a"))
    told = events.MessageDelta(**where(message=2, text="I will", generation=({"thought": "hm"},)))
    failed = events.RequestFailed(
        **where(message=2, peer="agent", request_attempt=1, error="broken")
    )
    started = [
        event for event in recorded() if event.kind in ("run_started", "conversation_started")
    ][:2]
    state = apply_all(RunState(), [*started, asked, told, failed])
    (conversation,) = state.conversations.values()
    message = conversation.message(2)
    assert message is not None
    assert (message.text, message.generation, message.failures) == (
        "I will",
        [{"thought": "hm"}],
        (failed,),
    )
    apply(state, asked)
    assert (message.text, message.generation, message.failures) == ("", [], (failed,))


@pytest.mark.parametrize(
    ("mean", "scores", "measured"),
    [
        (0.5, {"withheld": 0.2, "supplied": 0.8}, True),
        (None, {"withheld": 0.2, "supplied": None}, False),
        (None, {"supplied": 0.8}, True),
        (None, {"supplied": None}, False),
    ],
)
def test_a_run_is_measured_when_every_condition_that_it_ran_has_a_score(
    mean: float | None, scores: dict[Condition, float | None], measured: bool
) -> None:
    ended = events.RunEnded(run_id="r", seq=1, at=AT, status="completed", mean=mean, scores=scores)
    assert ended.measured is measured


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


def test_of_an_assertions_checks_the_newest_counts_and_the_final_one_before_all() -> None:
    def check(turn: int, index: int, status: str, *, final: bool = False) -> RunEvent:
        told = {"index": index, "title": "t", "weight": 1.0, "observed": 1, "expected": 1}
        return events.AssertionChecked(
            **where(), **told, after_turn=turn, status=status, final=final
        )

    state = apply_all(
        RunState(),
        [
            check(1, 0, "failed"),
            check(1, 1, "passed"),
            check(2, 0, "passed"),
            check(2, 1, "failed"),
        ],
    )
    talk = state.conversations[ConversationKey("withheld", 1)]
    assert [one.status for one in talk.latest_checks()] == ["passed", "failed"]
    apply_all(state, [check(2, 1, "passed", final=True), check(3, 1, "failed")])
    assert [(one.index, one.status) for one in talk.latest_checks()] == [
        (0, "passed"),
        (1, "passed"),
    ]


def test_the_time_of_a_run_leaves_out_pauses_and_the_time_until_it_was_resumed() -> None:
    """A turn that was running when the pause began, and one that a step allowed, count."""

    def at(second: int) -> dict[str, Any]:
        return where(at=AT + timedelta(seconds=second))

    def of_run(second: int) -> dict[str, Any]:
        return {"run_id": "r", "seq": 1, "at": AT + timedelta(seconds=second)}

    def act(second: int, action: str) -> RunEvent:
        return events.OperatorActed(**of_run(second), action=action, sender="me")

    def message(second: int, number: int) -> RunEvent:
        told = {"message": number, "turn": 1, "role": "assistant", "speaker": "a", "content": "x"}
        return events.MessageCompleted(**at(second), **told)

    began = recorded()[0].model_copy(update=of_run(0))
    state = RunState()
    apply_all(
        state,
        [began, message(1, 1), act(10, "pause"), message(12, 2), act(20, "step"), message(22, 3)],
    )
    assert state.seconds(AT + timedelta(seconds=29)) == 14, "it stands still while paused"
    assert state.seconds(AT + timedelta(seconds=16)) == 12, (
        "of a pause only what had passed of it by then"
    )
    apply_all(state, [act(30, "resume"), events.RunEnded(**of_run(40), status="completed")])
    assert state.seconds() == 24
    resumed = events.RunResumed(**of_run(100), program_version="0")
    apply_all(state, [resumed, events.RunEnded(**of_run(110), status="completed")])
    assert state.seconds() == 34

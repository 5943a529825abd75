"""What a resumed run already has, read from its recording."""

from __future__ import annotations

from bioeval_tui.base.errors import NotMeasuredError
from bioeval_tui.evaluation.conversation.resume import (
    excluded_trials,
    find_resumption,
    is_finished,
    missing_conversations,
)
from bioeval_tui.formats import ConversationKey
from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.state import RunState, apply_all
from tests.unit.evaluation.conversation.fakes import FakeJudge, Stage, job
from tests.unit.record.test_state import recorded


def folded(events: list[RunEvent]) -> RunState:
    return apply_all(RunState(), events)


def test_a_finished_run_has_no_missing_conversations() -> None:
    assert missing_conversations(folded(list(recorded()))) == []


def test_missing_conversations_come_trial_by_trial_as_a_run_holds_them() -> None:
    begun = folded(
        [event for event in recorded() if event.condition is None and event.kind != "run_ended"]
    )
    wanted = [("withheld", 1), ("supplied", 1), ("withheld", 2), ("supplied", 2)]
    assert missing_conversations(begun, trials=2) == wanted


def test_a_run_has_as_many_trials_as_were_held_if_those_are_more_than_planned() -> None:
    events = [event for event in recorded() if event.kind != "run_ended"]
    third = [
        event.model_copy(update={"trial": 3}) for event in events if event.condition == "withheld"
    ]
    assert find_resumption(folded(events)).trials == 1
    found = find_resumption(folded([*events, *third]))
    assert found.trials == 3
    assert found.owes(("withheld", "supplied"), 2)
    assert not found.owes(("withheld", "supplied"), 1)


def test_an_interrupted_conversation_starts_again_as_another_attempt() -> None:
    events = list(recorded())
    ended = next(i for i, e in enumerate(events) if e.kind == "conversation_scored")
    state = folded(events[: ended + 5])
    assert missing_conversations(state) == [("supplied", 1)]
    found = find_resumption(state)
    assert found.after_seq == ended + 5
    assert set(found.earlier.finished) == {("withheld", 1)}
    held = found.earlier.finished["withheld", 1]
    scored = state.conversations[ConversationKey("withheld", 1)].score
    assert scored is not None
    assert held.score == scored.score
    assert held.start is not None
    assert found.earlier.attempts["supplied", 1] == 1


def test_a_conversation_that_ended_without_a_score_is_run_again() -> None:
    events = [
        event for event in recorded() if event.kind not in ("conversation_scored", "run_ended")
    ]
    assert missing_conversations(folded(events)) == [("withheld", 1), ("supplied", 1)]


def test_a_cancelled_conversation_is_run_again() -> None:
    events = [
        event.model_copy(update={"reason": "cancelled"})
        if event.kind == "conversation_ended"
        else event
        for event in recorded()
    ]
    state = folded(events)
    assert not any(map(is_finished, state.conversations.values()))


def test_a_conversation_whose_judge_was_interrupted_is_run_again() -> None:
    """It ended by itself, and has a score event, but nobody judged it."""
    unscored = {"score": None, "parts": (), "cancelled": True}
    events = [
        event.model_copy(update=unscored) if event.kind == "conversation_scored" else event
        for event in recorded()
        if event.kind != "run_ended"
    ]
    state = folded(events)
    assert missing_conversations(state) == [("withheld", 1), ("supplied", 1)]
    assert find_resumption(state).earlier.finished == {}
    assert excluded_trials(state) == []


def test_the_sessions_of_abandoned_attempts_are_remembered_too() -> None:
    """An agent that gives the id of one of them again does not keep conversations apart."""
    first = [event for event in recorded() if event.kind != "run_ended"]
    again = [
        event.model_copy(
            update={"attempt": 2}
            | (
                {"session_id": f"second {event.condition}"}
                if event.kind == "conversation_started"
                else {}
            )
        )
        for event in first
        if event.condition is not None
    ]
    begun = [event.session_id for event in first if event.kind == "conversation_started"]
    earlier = find_resumption(folded([*first, *again])).earlier
    assert set(earlier.sessions) == {*begun, "second withheld", "second supplied"}
    assert len(set(begun)) == 2
    assert set(earlier.attempts.values()) == {2}


def test_recorded_starting_states_are_compared_after_a_resume() -> None:
    whole = [event for event in recorded() if event.kind != "run_ended"]
    begun = [event for event in whole if event.condition == "withheld"]
    second = [event.model_copy(update={"trial": 2}) for event in begun]
    earlier = find_resumption(folded([*whole, *second])).earlier
    starts = {key: held.start.digests for key, held in earlier.finished.items() if held.start}
    assert set(starts) == {("withheld", 2)}, "the first trial's were compared, and may be large"
    assert earlier.compared == frozenset(starts["withheld", 2])


def test_a_trial_of_which_one_conversation_is_finished_has_compared_nothing_yet() -> None:
    events = [event for event in recorded() if event.kind != "run_ended"]
    one = [event for event in events if event.condition in (None, "withheld")]
    assert find_resumption(folded(one)).earlier.compared is None
    both = find_resumption(folded(events)).earlier.compared
    assert both
    second = [
        event.model_copy(
            update={"trial": 2} | ({"digests": {}} if event.kind == "state_observed" else {})
        )
        for event in one
        if event.condition is not None
    ]
    assert find_resumption(folded([*events, *second])).earlier.compared == both


async def test_trials_that_the_judge_could_not_score_can_be_rerun() -> None:
    stage = Stage(job(), judge=FakeJudge(NotMeasuredError("no verdict")), options={"trials": 2})
    state = await stage.run()
    assert excluded_trials(state) == [1, 2]
    assert missing_conversations(state) == []
    assert missing_conversations(state, trials=3) == [("withheld", 3), ("supplied", 3)]

"""What a resumed run takes from its recording: each rule at its threshold, and two at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from bioeval_tui.evaluation.conversation.resume import (
    MOST_UNMEASURED,
    ConversationRecord,
    count_trials,
    excluded_trials,
    find_resumption,
    is_finished,
    missing_conversations,
)
from bioeval_tui.formats import ConversationKey
from bioeval_tui.record import events, score as composite
from bioeval_tui.record.events import EndReason, Fault
from bioeval_tui.record.state import ConversationState, RunState
from tests.unit.evaluation.conversation.fakes import AT, where
from tests.unit.report.recorded import Recorded

BOTH = ("withheld", "supplied")


def scored(value: float | None = 0.5, **more: Any) -> events.ConversationScored:
    return events.ConversationScored(**where(score=value, parts=(), penalty=0.0, failures=0) | more)


def ended(reason: EndReason = "signed_off") -> events.ConversationEnded:
    return events.ConversationEnded(**where(reason=reason, fault="none"))


def seen(after_turn: int = 0, **more: Any) -> events.StateObserved:
    return events.StateObserved(**where(after_turn=after_turn, **more))


def talk(
    condition: str = "withheld", trial: int = 1, *starts: events.StateObserved, **more: Any
) -> ConversationState:
    """Return a finished conversation, if nothing else is said."""
    given = {"ended": ended(), "score": scored()} | more
    return ConversationState(ConversationKey(condition, trial), observations=list(starts), **given)


def state_of(
    *talks: ConversationState, trials: int = 1, conditions: tuple[str, ...] = BOTH
) -> RunState:
    begun = Recorded(trials=trials, started={"conditions": conditions}).events()[0]
    assert isinstance(begun, events.RunStarted)
    return RunState(started=begun, conversations={each.key: each for each in talks})


@pytest.mark.parametrize(
    ("more", "finished"),
    [
        ({}, True),
        ({"score": scored(None)}, True),
        ({"ended": None}, False),
        ({"score": None}, False),
        ({"ended": None, "score": None}, False),
        ({"ended": ended("cancelled")}, False),
        ({"score": scored(cancelled=True)}, False),
        ({"ended": ended("cancelled"), "score": scored(cancelled=True)}, False),
        ({"ended": ended("agent_failed")}, True),
        ({"ended": ended("evaluator_failed"), "score": scored(None)}, True),
        ({"ended": ended("max_turns")}, True),
        ({"ended": ended("timed_out")}, True),
    ],
)
def test_a_conversation_is_finished_if_it_ended_by_itself_and_was_scored(
    more: dict[str, Any], finished: bool
) -> None:
    one = talk(**more)
    assert is_finished(one) == finished
    state = state_of(one, conditions=("withheld",))
    assert missing_conversations(state) == ([] if finished else [("withheld", 1)])
    assert set(find_resumption(state).earlier.finished) == (
        {("withheld", 1)} if finished else set()
    )


@pytest.mark.parametrize(
    ("planned", "held", "trials"),
    [(1, [], 1), (2, [1], 2), (2, [1, 2], 2), (2, [3, 1], 3), (5, [3], 5)],
)
def test_a_run_has_the_planned_trials_or_those_that_were_held(
    planned: int, held: list[int], trials: int
) -> None:
    state = state_of(*(talk(trial=number) for number in held), trials=planned)
    assert count_trials(state) == find_resumption(state).trials == trials
    assert count_trials(RunState()) == 1


@pytest.mark.parametrize(
    ("trials", "missing"),
    [
        (None, [("supplied", 1), ("withheld", 2), ("supplied", 2)]),
        (1, [("supplied", 1)]),
        (2, [("supplied", 1), ("withheld", 2), ("supplied", 2)]),
        (3, [("supplied", 1), ("withheld", 2), ("supplied", 2), ("withheld", 3), ("supplied", 3)]),
    ],
)
def test_what_is_missing_comes_trial_by_trial(
    trials: int | None, missing: list[tuple[str, int]]
) -> None:
    assert missing_conversations(state_of(talk(), trials=2), trials) == missing
    assert missing_conversations(RunState(), trials) == []


@pytest.mark.parametrize(
    ("conditions", "trials", "owes"),
    [(BOTH, 1, True), (("withheld",), 1, False), (("withheld",), 2, False),
        (("withheld",), 3, True), (("supplied",), 1, True), (BOTH, 0, False)],
)  # fmt: skip
def test_a_run_owes_what_is_not_finished(
    conditions: tuple[str, ...], trials: int, owes: bool
) -> None:
    found = find_resumption(state_of(talk(), talk(trial=2), talk("supplied", ended=None)))
    assert found.owes(conditions, trials) == owes


def test_trials_without_a_score_are_listed_once_in_order() -> None:
    none = {"score": scored(None)}
    state = state_of(
        talk(trial=3, **none), talk("supplied", 3, **none), talk(trial=1, **none), talk(trial=2),
        talk(trial=4, ended=ended("cancelled"), **none), talk(trial=5, ended=None),
        talk(trial=6, score=None),
    )  # fmt: skip
    assert excluded_trials(state) == [1, 3]


A, B, BOTH_PARTS = {"object context": "a"}, {"graph": "g"}, {"object context": "a", "graph": "g"}


@pytest.mark.parametrize(
    ("starts", "compared"),
    [
        ({}, None),
        ({("withheld", 1): BOTH_PARTS}, None),
        ({("withheld", 1): BOTH_PARTS, ("supplied", 2): BOTH_PARTS}, None),  # of two trials
        ({("withheld", 1): BOTH_PARTS, ("supplied", 1): None}, None),
        ({("withheld", 1): BOTH_PARTS, ("supplied", 1): BOTH_PARTS}, {"object context", "graph"}),
        ({("withheld", 1): BOTH_PARTS, ("supplied", 1): A}, {"object context"}),
        ({("withheld", 1): A, ("supplied", 1): B}, set()),
        ({("withheld", 1): {}, ("supplied", 1): {}}, set()),
        ({("withheld", 1): A, ("supplied", 1): BOTH_PARTS, ("withheld", 2): BOTH_PARTS,
                ("supplied", 2): BOTH_PARTS}, {"object context"}),
        ({("withheld", 1): A, ("supplied", 1): A, ("withheld", 2): B, ("supplied", 2): B}, set()),
        ({("withheld", 1): A, ("withheld", 2): BOTH_PARTS, ("supplied", 2): BOTH_PARTS},
            {"object context", "graph"}),
    ],
)  # fmt: skip
def test_only_parts_that_every_whole_trial_compared_were_compared(
    starts: dict[tuple[str, int], dict[str, str] | None], compared: set[str] | None
) -> None:
    talks = [
        talk(*key, *(() if digests is None else (seen(digests=digests),)))
        for key, digests in starts.items()
    ]
    assert find_resumption(state_of(*talks, trials=2)).earlier.compared == compared
    unfinished = [
        talk(*key, seen(digests=B), ended=None) for key in (("withheld", 3), ("supplied", 3))
    ]
    assert find_resumption(state_of(*talks, *unfinished, trials=3)).earlier.compared == compared


def test_a_start_is_the_first_state_before_a_turn() -> None:
    graph = {"labels": {"Person": 2}, "relationships": {"KNOWS": 1}, "digest": "d"}
    first = seen(object_context={"a": 1}, graph=graph, error="half", digests=BOTH_PARTS)
    one = talk(
        "withheld", 1, seen(1, object_context={"late": 1}), first, seen(object_context={"again": 1})
    )
    start = find_resumption(state_of(one)).earlier.finished["withheld", 1].start
    assert start is not None
    assert (start.object_context, start.error, start.digests) == ({"a": 1}, "half", BOTH_PARTS)
    assert start.graph is not None
    assert (start.graph.labels, start.graph.relationships, start.graph.digest) == (
        {"Person": 2},
        {"KNOWS": 1},
        "d",
    )
    bare = (
        find_resumption(state_of(talk("withheld", 1, seen(graph={}))))
        .earlier.finished["withheld", 1]
        .start
    )
    assert bare is not None
    assert bare.graph is not None
    assert (bare.graph.labels, bare.graph.relationships, bare.graph.digest) == ({}, {}, "")
    assert (
        find_resumption(state_of(talk("withheld", 1, seen(1))))
        .earlier.finished["withheld", 1]
        .start
        is None
    )
    no_graph = (
        find_resumption(state_of(talk("withheld", 1, seen()))).earlier.finished["withheld", 1].start
    )
    assert no_graph is not None
    assert no_graph.graph is None


def test_sessions_and_attempts_of_all_conversations_are_known_finished_or_not() -> None:
    before = talk(session_id="old", attempt=1, ended=None)
    again = talk(session_id="new", attempt=2, abandoned=before, ended=None)
    silent = talk("supplied", 2, session_id=None)
    earlier = find_resumption(state_of(again, silent, trials=2)).earlier
    assert earlier.attempts == {("withheld", 1): 2, ("supplied", 2): 1}
    assert earlier.sessions == {
        "old": "without the facts, trial 1",
        "new": "without the facts, trial 1",
    }
    assert {key: record.score for key, record in earlier.finished.items()} == {("supplied", 2): 0.5}


@pytest.mark.parametrize(("clean", "seq", "at_end"), [(True, 0, False), (False, 17, True)])
def test_a_resumed_run_goes_on_where_it_stopped(clean: bool, seq: int, at_end: bool) -> None:
    state = state_of()
    state.clean, state.last_seq = clean, seq
    if at_end:
        state.ended = events.RunEnded(run_id="r", seq=seq, at=AT, status="completed")
    found = find_resumption(state)
    assert (found.earlier.clean, found.after_seq, found.ended) == (clean, seq, at_end)


PAUSED = composite.timing_part(1000.0, [], ended=True, answers=1)
IN_TIME = composite.timing_part(1000.0, [500.0])


@pytest.mark.parametrize(
    ("end", "counts"),
    [
        *((scored(None, fault=fault), fault in MOST_UNMEASURED) for fault in ("agent", "evaluator",
                "none")),
        *((scored(None, fault=fault), True) for fault in ("infrastructure", "program", "judge",
                "unclear")),
        (scored(0.0, fault="judge"), False),
        (scored(None, fault="judge", cancelled=True), False),
        (scored(None, fault="infrastructure", parts=(PAUSED,)), False),
        (scored(None, fault="infrastructure", parts=(IN_TIME, PAUSED)), False),
        (scored(None, fault="infrastructure", parts=(IN_TIME,)), True),
    ],
)  # fmt: skip
def test_a_conversation_in_a_row_of_lost_ones_is_one_that_the_next_ones_would_repeat(
    end: events.ConversationScored, counts: bool
) -> None:
    record = ConversationRecord()
    record.take(scored(None, fault="judge"))
    record.take(end)
    assert record.score == end.score
    assert (record.unmeasured is end) == counts
    assert counts or record.unmeasured is None


@pytest.mark.parametrize(
    ("fault", "most"),
    [("infrastructure", 3), ("program", 3), ("judge", 5), ("unclear", 5), ("agent", None),
        ("evaluator", None), ("none", None)],
)  # fmt: skip
def test_how_many_in_a_row_are_enough(fault: Fault, most: int | None) -> None:
    assert MOST_UNMEASURED.get(fault) == most


KEYS = st.lists(st.tuples(st.sampled_from(BOTH), st.integers(1, 4)), unique=True)


@given(KEYS, KEYS, st.integers(1, 4))
def test_what_is_missing_is_what_is_not_finished_and_owed(
    done: list[tuple[str, int]], begun: list[tuple[str, int]], trials: int
) -> None:
    talks = [talk(*key, ended=None) for key in begun if key not in done] + [
        talk(*key) for key in done
    ]
    state = state_of(*talks, trials=trials)
    missing = missing_conversations(state)
    assert set(missing) == {(name, n) for n in range(1, trials + 1) for name in BOTH} - set(done)
    assert len(missing) == len(set(missing))
    assert bool(missing) == find_resumption(state).owes(BOTH, trials)
    turned = state_of(*reversed(talks), trials=trials)
    assert missing_conversations(turned) == missing
    assert find_resumption(turned).earlier.finished == find_resumption(state).earlier.finished

"""When a replay shows what, and where it can go: each rule at its edge."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from bioeval_tui.record import events, replay
from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.replay import (
    FRAME_S,
    LONGEST_PREPARATION_S,
    LONGEST_WAIT_S,
    MOST_AT_ONCE,
    Player,
    Timeline,
    reading_times,
    replay_times,
    side_by_side,
)
from bioeval_tui.record.turn_marks import TurnMark
from tests.unit.evaluation.conversation.fakes import AT, where

STARTED: dict[str, Any] = {
    "job_name": "job", "job_path": "job.yml", "job": {}, "job_sha256": "0" * 64,
    "program_version": "0.1.0", "agent": "a", "evaluator": "e", "judge": "j", "seed": 1,
    "trials": 1, "conditions": ("withheld", "supplied"), "concurrency": 1,
}  # fmt: skip


def run_started(**more: Any) -> RunEvent:
    return events.RunStarted(run_id="r", seq=1, at=AT, **(STARTED | more))


def ended() -> RunEvent:
    return events.RunEnded(run_id="r", seq=1, at=AT, status="completed")


def warned(second: float = 0.0, **place: Any) -> RunEvent:
    return events.Warned(
        run_id="r", seq=1, at=AT + timedelta(seconds=second), code="c", message="m", **place
    )


def begun(**place: Any) -> RunEvent:
    return events.ConversationStarted(
        **where(**place), session_id="s", greeting="Hello", max_messages=20
    )


def starts(number: int, turn: int = 1, role: Any = "user", **place: Any) -> RunEvent:
    return events.MessageStarted(
        **where(**place), message=number, turn=turn, role=role, speaker="s"
    )


def said(number: int, text: str, turn: int = 1, role: Any = "user", **more: Any) -> RunEvent:
    return events.MessageCompleted(
        **where(**more), message=number, turn=turn, role=role, speaker="s", content=text
    )


def delta(number: int, text: str) -> RunEvent:
    return events.MessageDelta(**where(), message=number, text=text)


def checked(status: Any, *, index: int = 0, turn: int = 1, final: bool = False) -> RunEvent:
    return events.AssertionChecked(
        **where(), index=index, title="t", weight=1.0, after_turn=turn, status=status, final=final
    )


def scored() -> RunEvent:
    return events.ConversationScored(**where(), score=1.0, parts=(), penalty=0.0, failures=0)


def gaps(*shown: RunEvent) -> list[float]:
    """Return how long after the event before it each but the first is shown at reading pace."""
    return [round(after - before, 6) for before, after in pairwise(reading_times(shown))]


# A greeting and a first answer are passed six times as fast, the second turn three times.
@pytest.mark.parametrize(("turn", "hurry"), [(1, 6.0), (2, 3.0), (3, 1.0), (4, 1.0)])
def test_a_message_begins_is_streamed_and_is_read(turn: int, hurry: float) -> None:
    long = "word " * 32  # 160 characters
    user = (warned(), starts(1, turn), said(1, "one two", turn))
    assert gaps(*user) == [round(0.5 / hurry, 6), round((0.3 + 2 / 9.5) / hurry, 6)]
    answer = (
        warned(),
        starts(2, turn, "assistant"),
        delta(2, long[:80]),
        said(2, long, turn, "assistant"),
    )
    assert gaps(*answer) == [
        round(0.5 / hurry, 6),
        round(1.2 * 80 / 160 / hurry, 6),
        round((2.4 - 1.2) / hurry, 6),
    ]


def test_a_short_answer_is_streamed_in_less_time_and_read_for_a_moment_at_least() -> None:
    events_ = (starts(2, 3, "assistant"), delta(2, "word"), said(2, "word", 3, "assistant"))
    assert gaps(*events_) == [round(1.2 * 4 / 80, 6), 0.6]
    lost = (warned(), delta(2, "x" * 80))
    assert gaps(*lost) == [1.2], "a message without its beginning is of no first turn"
    unfinished = (starts(2, 3, "assistant"), delta(2, "x" * 80))
    assert gaps(*unfinished) == [1.2], "a message without its end is as long as a short one"


def test_a_text_that_was_read_before_is_passed_and_only_by_the_same_role() -> None:
    def again(role: Any) -> list[float]:
        return gaps(
            said(1, "one two", 3), starts(2, 3, role), said(2, "one two", 3, role)
        )  # fmt: skip

    assert again("user") == [0.1, round((0.3 + 2 / 9.5) / 5, 6)]
    assert again("assistant") == [0.5, 0.6]


def test_an_introduction_a_caption_and_a_score_have_their_time() -> None:
    first = begun()
    assert gaps(run_started(), first, warned()) == [1.5, 0.0]
    assert gaps(said(1, "one", 3), begun(trial=2), scored(), warned()) == [0.5, 0.8, 1.5]
    fact = events.FactDisclosed(**where(), fact=1, text="a fact", message=1, turn=1, asked=True)
    assert gaps(warned(), fact, warned()) == [0.6, 0.0]


@pytest.mark.parametrize(
    ("checks", "pause"),
    [
        ([checked("passed")], 0.0),  # it never failed
        ([checked("failed")], 0.0),
        ([checked("failed"), checked("passed")], 1.8),
        ([checked("failed"), checked("passed", index=1)], 0.0),
        ([checked("failed"), checked("not_measured"), checked("passed")], 1.8),
        ([checked("failed"), checked("passed", final=True)], 0.0),
        ([checked("failed", final=True), checked("passed")], 0.0),
        # once, after the whole group, and only once for one failure
        ([checked("failed"), checked("failed", index=1), checked("passed"),
            checked("passed", index=1)], 1.8),
        ([checked("failed"), checked("passed"), checked("passed", index=1)], 1.8),
    ],
)  # fmt: skip
def test_an_assertion_that_passes_at_last_is_looked_at_after_its_group(
    checks: list[RunEvent], pause: float
) -> None:
    assert gaps(*checks, warned()) == [0.0] * (len(checks) - 1) + [pause]


def test_an_assertion_that_passed_at_last_has_to_fail_again_first() -> None:
    again = (checked("failed"), checked("passed"), warned(), checked("passed"), warned())
    assert gaps(*again) == [0.0, 1.8, 0.0, 0.0]


@pytest.mark.parametrize(
    ("seconds", "gap"),
    [(-1.0, 0.0), (0.0, 0.0), (1.5, 1.5), (LONGEST_WAIT_S, LONGEST_WAIT_S),
        (LONGEST_WAIT_S + 0.1, LONGEST_WAIT_S)],
)  # fmt: skip
def test_a_long_silence_is_cut(seconds: float, gap: float) -> None:
    two = [warned(), warned(seconds)]
    assert replay_times(two) == [0.0, gap]
    assert list(Timeline(two).times) == [0.0, gap]
    added = Timeline(two[:1])
    added.add(two[1:])
    assert list(added.times) == [0.0, gap]
    assert replay_times([]) == []


@pytest.mark.parametrize(
    ("seconds", "gap"),
    [(LONGEST_PREPARATION_S, LONGEST_PREPARATION_S), (LONGEST_PREPARATION_S + 1, 0.5)],
)
def test_each_step_of_a_setup_is_cut(seconds: float, gap: float) -> None:
    late = {"at": AT + timedelta(seconds=seconds)}
    for step in (
        begun(**late),
        events.SetupApplied(**where(**late), index=0, cypher="c", elapsed_ms=1.0),
        events.SeedApplied(**where(**late), index=0, what="text", applied=True),
    ):
        assert replay_times([warned(), step]) == [0.0, gap]


# What of two conversations is shown beside each other


def talk(condition: str, messages: int) -> list[RunEvent]:
    found = [begun(condition=condition)]
    for number in range(1, messages + 1):
        found.append(starts(number, condition=condition))
        found.append(said(number, f"{condition} {number}", condition=condition))
    return found


def shown_order(*more: list[RunEvent], end: bool = True, **started: Any) -> list[str]:
    """Return the messages of `side_by_side`, in order, as `w1` or `s1`; and `end`."""
    given = [run_started(**started), *(event for each in more for event in each)]
    if end:
        given.append(ended())
    found = []
    for event in side_by_side(given):
        if isinstance(event, events.MessageCompleted):
            found.append(f"{str(event.condition)[0]}{event.message}")
        elif isinstance(event, events.RunEnded):
            found.append("end")
    return found


def test_the_second_conversation_begins_when_the_first_has_its_lead() -> None:
    both = shown_order(talk("withheld", 6), talk("supplied", 5))
    assert both == ["w1", "w2", "w3", "w4", "s1", "s2", "s3", "s4", "w5", "s5", "w6", "end"]
    short = shown_order(talk("withheld", 2), talk("supplied", 3))
    assert short == ["w1", "w2", "s1", "s2", "s3", "end"]
    other_way = shown_order(talk("supplied", 5), talk("withheld", 5))
    assert other_way == ["s1", "s2", "s3", "s4", "w1", "w2", "w3", "w4", "s5", "w5", "end"]


def test_of_a_run_that_is_still_written_only_what_nothing_can_precede_is_shown() -> None:
    first = talk("withheld", 3)
    assert shown_order(first, end=False) == ["w1", "w2"], "more about message 3 may follow"
    assert shown_order(first, [begun(condition="supplied")], end=False) == ["w1", "w2", "w3"]
    assert shown_order(first, talk("supplied", 2), end=False) == ["w1", "w2", "w3", "s1"]
    assert shown_order(first, end=True) == ["w1", "w2", "w3", "end"]


@pytest.mark.parametrize(
    "started", [{"trials": 2}, {"conditions": ("withheld",)}, {"conditions": ()}]
)
def test_other_runs_stay_as_they_are(started: dict[str, Any]) -> None:
    assert shown_order(talk("withheld", 6), talk("supplied", 1), **started) == [
        "w1", "w2", "w3", "w4", "w5", "w6", "s1", "end",
    ]  # fmt: skip
    assert side_by_side([]) == ()
    assert side_by_side([warned()]) == (warned(),)


# Where a replay can go


def test_marks_are_the_beginning_each_turn_and_the_end() -> None:
    timeline = Timeline(
        [
            warned(0),
            begun(),
            said(1, "Hello", 1),
            said(2, "Hi", 1, "assistant"),
            checked("passed", turn=1),
            said(3, "and", 2),
            said(4, "ok", 2, "assistant"),
            checked("failed", turn=2),
            said(5, "bye", 3, signs_off=True),
            scored(),
            warned(0),
        ]
    )
    assert timeline.marks() == (
        TurnMark(None, 1, 0, 2, 0.0),
        TurnMark("withheld", 1, 1, 5, 0.0, False, 1.0),
        TurnMark("withheld", 1, 2, 8, 0.0, True, 0.0),
        TurnMark(None, 1, 0, 11, 0.0),
    )
    assert Timeline().marks() == ()
    assert Timeline([warned(0)]).marks() == (
        TurnMark(None, 1, 0, 1, 0.0),
        TurnMark(None, 1, 0, 1, 0.0),
    )


def test_an_event_without_a_trial_or_attempt_is_of_the_first() -> None:
    """A stranger's recording may leave them out."""

    def told(**place: Any) -> tuple[TurnMark, ...]:
        shown = [begun(), said(1, "Hello", 1), checked("passed"), scored(), checked("failed")]
        return Timeline([event.model_copy(update=place) for event in shown]).marks()

    assert told(trial=None) == told(attempt=None) == told()
    assert [mark.passed for mark in told()] == [None, 0.0, 0.0]


def test_each_attempt_and_trial_has_turns_and_checks_of_its_own() -> None:
    timeline = Timeline(
        [
            said(1, "Hello", 1),
            checked("passed"),
            *(
                event.model_copy(update=place)
                for place in ({"attempt": 2}, {"trial": 2})
                for event in (said(1, "Hello", 1), checked("failed", index=1))
            ),
        ]
    )
    assert [(mark.trial, mark.given, mark.passed) for mark in timeline.marks()[1:-1]] == [
        (1, 2, 1.0),
        (1, 4, 0.0),
        (2, 6, 0.0),
    ]


def test_a_check_of_another_turn_moves_no_mark_and_a_score_forgets_the_checks() -> None:
    timeline = Timeline(
        [begun(), said(1, "Hello", 1), checked("failed", turn=2), scored(), said(2, "Hi", 2)]
    )
    assert [(mark.turn, mark.given, mark.passed) for mark in timeline.marks()] == [
        (0, 1, None),
        (1, 2, None),
        (2, 5, None),
        (0, 5, None),
    ]


def test_messages_and_failures_are_found_from_any_place() -> None:
    timeline = Timeline([said(1, "a"), said(2, "b"), said(3, "c"), checked("failed", final=True)])
    assert [timeline.next_message(at) for at in range(5)] == [1, 2, 3, None, None]
    assert [timeline.message_before_last(at) for at in range(5)] == [0, 0, 1, 2, 2]
    assert [timeline.next_failure(at) for at in range(5)] == [4, 4, 4, 4, None]


@pytest.mark.parametrize(
    ("before", "fails"),
    [([], False), (["passed"], True), (["failed"], False), (["passed", "failed"], False),
        (["passed", "not_measured"], False), (["failed", "passed"], True)],
)  # fmt: skip
def test_an_assertion_fails_if_it_held_before(before: list[str], fails: bool) -> None:
    earlier = [checked(status) for status in before]
    place = len(earlier)
    assert Timeline([*earlier, checked("failed")]).next_failure(place) == (
        place + 1 if fails else None
    )


# When an event is due


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_what_is_due_within_a_frame_is_shown_now() -> None:
    player = Player([warned()] * 3, clock=Clock(), times=[0.0, FRAME_S, FRAME_S * 1.01])
    assert len(await anext(player.play())) == 2
    fast = Player([warned()] * 3, 2.0, clock=Clock(), times=[0.0, FRAME_S * 2, FRAME_S * 2.01])
    assert len(await anext(fast.play())) == 2


async def test_so_many_events_are_shown_at_once() -> None:
    player = Player([warned()] * (MOST_AT_ONCE + 1), None, clock=Clock())
    assert [len(batch) async for batch in player.play()] == [MOST_AT_ONCE, 1]


async def test_the_place_stands_still_in_a_pause_and_goes_on_at_the_new_speed() -> None:
    clock = Clock()
    player = Player([warned()] * 4, clock=clock, times=[0.0, 10.0, 20.0, 100.0])
    await anext(player.play())
    clock.now = 5.0
    assert player.now_s == 5.0
    player.set_paused(True)
    clock.now = 50.0
    assert player.now_s == 5.0
    player.set_paused(False)
    player.speed = 2.0
    clock.now = 51.0
    assert player.now_s == 7.0
    clock.now = 1000.0
    assert player.now_s == 100.0, "not beyond the end"
    player.speed = None
    assert player.now_s == 0.0, "of what was shown last"


def test_a_player_of_nothing_is_at_its_beginning() -> None:
    clock = Clock()
    player = Player([], clock=clock)
    clock.now = 5.0
    assert (player.now_s, player.heading) == (0.0, 0)
    player.speed = None
    assert player.now_s == 0.0


@pytest.mark.parametrize(("count", "heading"), [(0, 1), (1, 1), (2, 2), (3, 3), (4, 3)])
async def test_a_jump_goes_to_what_is_there_and_not_back(count: int, heading: int) -> None:
    player = Player([warned()] * 3, clock=Clock(), times=[0.0, 10.0, 20.0])
    await anext(player.play())
    player.jump(count)
    assert player.heading == heading
    assert player.paused


async def test_a_jump_continues_from_where_it_went() -> None:
    clock = Clock()
    player = Player([warned()] * 3, clock=clock, times=[0.0, 10.0, 20.0])
    playing = player.play()
    await anext(playing)
    player.jump(2)
    assert len(await anext(playing)) == 1
    assert player.now_s == 10.0
    player.set_paused(False)
    clock.now = 10.0
    assert len(await anext(playing)) == 1
    assert replay.Player([warned()], None).heading == 0


async def test_a_fast_replay_waits_for_less() -> None:
    player = Player([warned()] * 2, 1_000.0, times=[0.0, 60.0])
    async with asyncio.timeout(10):
        assert sum([len(batch) async for batch in player.play()]) == 2


async def test_a_paused_replay_shows_nothing_however_long_it_lasts() -> None:
    clock = Clock()
    player = Player([warned()] * 2, clock=clock, times=[0.0, 0.01])
    player.set_paused(True)
    coming = asyncio.ensure_future(anext(player.play()))
    await asyncio.sleep(0.05)
    assert not coming.done()
    player.set_paused(False)
    clock.now = 1.0
    assert len(await coming) == 2

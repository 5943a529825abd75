"""Replaying a recording: its pace, pausing, stepping and seeking."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bioeval_tui.record.events import (
    AssertionChecked,
    ConversationStarted,
    MessageCompleted,
    RunEvent,
    Warned,
)
from bioeval_tui.record.replay import (
    LONGEST_PREPARATION_S,
    LONGEST_WAIT_S,
    Player,
    Timeline,
    replay_times,
)

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def warned(second: float) -> RunEvent:
    return Warned(run_id="r", seq=1, at=NOON + timedelta(seconds=second), code="x", message="m")


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def in_talk(kind: type[Any], **values: Any) -> RunEvent:
    place = {"condition": "supplied", "trial": 1, "attempt": 1}
    return kind(run_id="r", seq=1, at=NOON, **place, **values)  # type: ignore[no-any-return]


def checked(status: str, *, final: bool = False) -> RunEvent:
    return in_talk(
        AssertionChecked, index=0, title="t", weight=1.0, after_turn=1, status=status, final=final
    )


def said(number: int) -> RunEvent:
    return in_talk(
        MessageCompleted,
        message=number,
        turn=1,
        role="user",
        speaker="s",
        content="c",
        latency_ms=1.0,
    )


async def given(player: Player) -> list[int]:
    """Return how many events each batch held."""
    return [len(batch) async for batch in player.play()]


async def test_without_a_speed_all_events_come_at_once() -> None:
    assert await given(Player([warned(second) for second in range(100)], None)) == [100]


async def test_events_come_at_their_recorded_times() -> None:
    now = 0.0
    player = Player([warned(0), warned(1), warned(1), warned(90)], 2.0, clock=lambda: now)
    batches: list[Sequence[RunEvent]] = []
    playing = player.play()
    batches.append(await anext(playing))
    now = 0.5
    batches.append(await anext(playing))
    now = 0.5 + LONGEST_WAIT_S / 2
    batches.append(await anext(playing))
    assert [len(batch) for batch in batches] == [1, 2, 1]
    with pytest.raises(StopAsyncIteration):
        await anext(playing)


async def test_a_paused_replay_waits_until_it_seeks_or_resumes() -> None:
    player = Player([warned(second) for second in range(10)], 1.0, clock=lambda: 0.0)
    player.set_paused(True)
    counts: list[int] = []
    came = asyncio.Event()

    async def play() -> None:
        async for batch in player.play():
            counts.append(len(batch))
            came.set()

    task = asyncio.create_task(play())
    await asyncio.sleep(0)
    assert counts == []
    player.jump(4)
    await came.wait()
    assert (counts, player.paused) == ([4], True)
    player.speed = None
    await task
    assert counts == [4, 6]


async def test_a_replay_can_start_in_the_middle() -> None:
    player = Player([warned(second) for second in range(10)], 1.0)
    player.set_paused(True)
    playing = player.play(7)
    assert len(await anext(playing)) == 7
    player.set_paused(False)
    player.speed = None
    assert len(await anext(playing)) == 3


def test_a_replay_can_go_to_the_next_message_or_failure() -> None:
    events = [
        warned(0),
        said(1),
        checked("failed"),
        said(2),
        checked("failed"),
        checked("passed"),
        said(3),
        checked("failed"),
        checked("failed", final=True),
    ]
    timeline = Timeline(events)
    assert timeline.next_message(0) == 2
    assert timeline.next_message(2) == 4
    assert timeline.next_message(7) is None
    assert timeline.message_before_last(5) == 2
    assert timeline.message_before_last(2) == 0
    assert timeline.next_failure(0) == 8, "what did not hold yet has not failed"
    assert timeline.next_failure(8) == 9
    assert timeline.next_failure(9) is None


async def test_events_written_later_are_played_at_their_time() -> None:
    clock, events = Clock(), [warned(0), warned(1)]
    player = Player(events, 1.0, clock=clock, whole=False)
    playing = player.play()
    assert len(await anext(playing)) == 1
    clock.now = 1.0
    assert len(await anext(playing)) == 1
    clock.now = 60.0  # nothing was there to play meanwhile
    player.extend(more := [*events, warned(2), warned(3)], replay_times(more), whole=True)
    clock.now = 61.0
    assert len(await anext(playing)) == 1, (
        "the wait counts for nothing: only what is due by now comes"
    )
    clock.now = 62.0
    assert len(await anext(playing)) == 1
    assert [batch async for batch in playing] == []


async def test_a_player_can_wait_for_the_first_event() -> None:
    clock = Clock()
    player = Player([], 1.0, clock=clock, whole=False)
    player.set_paused(True)
    playing = player.play()
    player.extend([warned(0)], [0.0], whole=True)
    player.set_paused(False)
    assert len(await anext(playing)) == 1


def test_a_replay_shortens_the_preparation_of_a_conversation() -> None:
    late = NOON + timedelta(seconds=4)
    begun = ConversationStarted(
        run_id="r", seq=2, at=late, session_id="s", greeting="Hi", max_messages=4
    )
    assert replay_times([warned(0), begun]) == [0.0, LONGEST_PREPARATION_S]


def test_a_finished_recording_knows_its_end() -> None:
    player = Player([warned(0), warned(3)], None, clock=Clock())
    player.given = 2
    assert player.now_s == 3.0

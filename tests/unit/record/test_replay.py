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
    after_next_failure,
    after_next_message,
    before_last_message,
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
    return kind(run_id="r", seq=1, at=NOON, condition="supplied", trial=1, attempt=1, **values)  # type: ignore[no-any-return]


def checked(status: str, *, final: bool = False) -> RunEvent:
    return in_talk(AssertionChecked, index=0, title="t", weight=1.0, after_turn=1, status=status, final=final)


def said(number: int) -> RunEvent:
    return in_talk(
        MessageCompleted, message=number, turn=1, role="user", speaker="s", content="c", latency_ms=1.0
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
    player = Player([warned(second) for second in range(10)], 1.0, paused=True, clock=lambda: 0.0)
    counts: list[int] = []
    came = asyncio.Event()

    async def play() -> None:
        async for batch in player.play():
            counts.append(len(batch))
            came.set()

    task = asyncio.create_task(play())
    await asyncio.sleep(0)
    assert counts == []
    player.go_to(4)
    await came.wait()
    assert (counts, player.paused) == ([4], True)
    player.speed = None
    await task
    assert counts == [4, 6]


async def test_a_replay_can_start_in_the_middle() -> None:
    player = Player([warned(second) for second in range(10)], 1.0, begin=7, paused=True)
    playing = player.play()
    assert len(await anext(playing)) == 7
    player.paused = False
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
    assert after_next_message(events, 0) == 2
    assert after_next_message(events, 2) == 4
    assert after_next_message(events, 7) is None
    assert before_last_message(events, 5) == 2
    assert before_last_message(events, 2) == 0
    assert after_next_failure(events, 0) == 8, "what did not hold yet has not failed"
    assert after_next_failure(events, 8) == 9
    assert after_next_failure(events, 9) is None


async def test_events_written_later_are_played_at_their_time() -> None:
    clock, events = Clock(), [warned(0), warned(1)]
    player = Player(events, 1.0, clock=clock, whole=False)
    playing = player.play()
    assert len(await anext(playing)) == 1
    clock.now = 1.0
    assert len(await anext(playing)) == 1
    clock.now = 60.0  # nothing was there to play meanwhile
    player.extend([*events, warned(2), warned(3)], whole=True)
    clock.now = 61.0
    assert len(await anext(playing)) == 1, "the wait counts for nothing: only what is due by now comes"
    clock.now = 62.0
    assert len(await anext(playing)) == 1
    assert [batch async for batch in playing] == []


async def test_a_player_can_wait_for_the_first_event() -> None:
    clock = Clock()
    player = Player([], 1.0, paused=True, clock=clock, whole=False)
    playing = player.play()
    player.extend([warned(0)], whole=True)
    player.paused = False
    assert len(await anext(playing)) == 1


def test_a_replay_shortens_the_preparation_of_a_conversation() -> None:
    late = NOON + timedelta(seconds=4)
    begun = ConversationStarted(run_id="r", seq=2, at=late, session_id="s", greeting="Hi", max_messages=4)
    assert replay_times([warned(0), begun]) == [0.0, LONGEST_PREPARATION_S]


def test_a_finished_recording_knows_its_end() -> None:
    player = Player([warned(0), warned(3)], None, clock=Clock())
    player.at = 2
    assert player.now_s == 3.0

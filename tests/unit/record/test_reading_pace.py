"""A run that is still written can be played at a pace of its own."""

from datetime import UTC, datetime, timedelta

from bioeval_tui.record.events import ConversationStarted, RunEvent, Warned
from bioeval_tui.record.replay import LONGEST_PREPARATION_S, Player, replay_times


def warned(second: float) -> RunEvent:
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
    return Warned(run_id="r", seq=1, at=at, code="x", message="m")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


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
    late = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=4)
    begun = ConversationStarted(run_id="r", seq=2, at=late, session_id="s", greeting="Hi", max_messages=4)
    assert replay_times([warned(0), begun]) == [0.0, LONGEST_PREPARATION_S]


def test_a_finished_recording_knows_its_end() -> None:
    player = Player([warned(0), warned(3)], None, clock=Clock())
    player.at = 2
    assert player.now_s == 3.0

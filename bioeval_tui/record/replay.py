"""Play a recording again, true to its recorded times or faster: pause, step, and go to a place at once."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from time import monotonic
from typing import NamedTuple

from bioeval_tui.record.events import (
    AssertionChecked,
    ConditionName,
    ConversationStarted,
    MessageCompleted,
    RunEvent,
)

FRAME_S = 1 / 30
LONGEST_WAIT_S = 5.0
"""A longer silence (a pause, an interruption before a resume) is cut to this many recorded seconds."""


class TurnEnd(NamedTuple):
    """Where a turn of a conversation is complete, checks included: after `given` events, `at_s` into the replay.

    Turn 0 stands for the beginning; the last one, without a condition, for the end of the recording. `failed` says
    that an assertion turned out failed since the place before.
    """

    condition: ConditionName | None
    trial: int
    turn: int
    given: int
    at_s: float
    failed: bool = False


class Player:
    """Gives away recorded events when they are due.

    `at` is how many were given. `speed` 2 is twice as fast, None gives everything at once. `begin` is how many
    events come at once before the clock starts. The clock is monotonic, in seconds.
    """

    def __init__(
        self,
        events: Sequence[RunEvent],
        speed: float | None = 1.0,
        *,
        begin: int = 0,
        paused: bool = False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._events = events
        self._times = replay_times(events)
        self._clock = clock
        self._speed = speed
        self._paused = paused
        self._place = 0.0
        self._since = clock()
        self._target = min(begin, len(events))
        self._woken = asyncio.Event()
        self.at = 0

    @property
    def heading(self) -> int:
        """How many events will have been given where it was sent last: it may still be on its way."""
        return max(self.at, self._target)

    @property
    def paused(self) -> bool:
        """Whether nothing is given until it goes on, steps or is sent somewhere."""
        return self._paused

    @paused.setter
    def paused(self, paused: bool) -> None:
        self._anchor()
        self._paused = paused

    @property
    def speed(self) -> float | None:
        """Recorded seconds a second."""
        return self._speed

    @speed.setter
    def speed(self, speed: float | None) -> None:
        self._anchor()
        self._speed = speed

    @property
    def now_s(self) -> float:
        """The place in the replay, in recorded seconds; long silences are cut."""
        return min(self._now(), self.length_s)

    @property
    def length_s(self) -> float:
        """How long the replay takes at its recorded speed, in s."""
        return self._times[-1]

    def go_to(self, count: int) -> None:
        """Give everything up to the `count`-th event at once, then pause there."""
        self._target = max(self._target, min(count, len(self._events)))
        self._anchor()
        self._paused = True

    async def play(self) -> AsyncIterator[Sequence[RunEvent]]:
        """Yield batches until the last event was given."""
        self._since = self._clock()
        while self.at < len(self._events):
            end = self._due()
            if end <= self.at:
                await self._wait()
                continue
            batch = self._events[self.at : end]
            self.at = end
            yield batch

    def _due(self) -> int:
        """Return how many events are to have been given by now."""
        if self._speed is None:
            return len(self._events)
        if self.at < self._target:
            self._place, self._since = self._times[self._target - 1], self._clock()
            return self._target
        if self._paused:
            return self.at
        # What is due within a frame comes with it.
        return bisect_right(self._times, self._now() + FRAME_S * self._speed)

    def _now(self) -> float:
        """Return the place on the recorded time line, in seconds."""
        if self._paused or self._speed is None:
            return self._place
        return self._place + (self._clock() - self._since) * self._speed

    def _anchor(self) -> None:
        self._place, self._since = self._now(), self._clock()
        self._woken.set()

    async def _wait(self) -> None:
        """Wait until the next event is due, or somebody changed something."""
        self._woken.clear()
        wait = None if self._paused else max(0.0, self._times[self.at] - self._now()) / (self._speed or 1.0)
        try:
            async with asyncio.timeout(wait):
                await self._woken.wait()
        except TimeoutError:
            pass


def replay_times(events: Sequence[RunEvent]) -> list[float]:
    """Return when each event is due, in s from the beginning; longer silences are cut."""
    gaps = ((b.at - a.at).total_seconds() for a, b in pairwise(events))
    return list(accumulate((min(max(gap, 0.0), LONGEST_WAIT_S) for gap in gaps), initial=0.0))


def turn_ends(events: Sequence[RunEvent]) -> list[TurnEnd]:
    """Return every place to which one can go: the beginning, each turn of each conversation, and the end."""
    times = replay_times(events)
    begun = next((n + 1 for n, event in enumerate(events) if isinstance(event, ConversationStarted)), 1)
    ends: dict[tuple[ConditionName | None, int, int, int], int] = {}
    for number, event in enumerate(events):
        match event:
            case MessageCompleted():
                turn = event.turn
            case AssertionChecked() if not event.final:
                turn = event.after_turn
            case _:
                continue
        key = (event.condition, event.trial or 1, event.attempt or 1, turn)
        if isinstance(event, MessageCompleted) or key in ends:
            ends[key] = number + 1
    places = [(condition, trial, turn, count) for (condition, trial, _, turn), count in ends.items() if turn]
    places = sorted(places, key=lambda place: place[3])
    failures = [number for number, fails in enumerate(_new_failures(events)) if fails]
    found = [TurnEnd(None, 1, 0, begun, times[begun - 1])]
    for condition, trial, turn, count in [*places, (None, 1, 0, len(events))]:
        failed = bisect_left(failures, found[-1].given) < bisect_left(failures, count)
        found.append(TurnEnd(condition, trial, turn, count, times[count - 1], failed))
    return found


def after_next_message(events: Sequence[RunEvent], at: int) -> int | None:
    """Return how many events there are up to the next completed message after the first `at`; None when there is none."""
    return next((n + 1 for n in range(at, len(events)) if isinstance(events[n], MessageCompleted)), None)


def before_last_message(events: Sequence[RunEvent], at: int) -> int:
    """Return how many events there are up to the completed message before the newest one of the first `at`."""
    ends = [n + 1 for n in range(at) if isinstance(events[n], MessageCompleted)]
    return ends[-2] if len(ends) > 1 else 0


def after_next_failure(events: Sequence[RunEvent], at: int) -> int | None:
    """Return how many events there are up to the next assertion that turns out failed after the first `at`.

    One that was failed at the check before (of the same conversation) is passed over, unless it is the final check.
    """
    return next((n + 1 for n, fails in enumerate(_new_failures(events)) if fails and n >= at), None)


def _new_failures(events: Sequence[RunEvent]) -> Iterator[bool]:
    """Yield for each event whether it is an assertion that turns out failed."""
    before: dict[tuple[object, ...], str] = {}
    for event in events:
        if not isinstance(event, AssertionChecked):
            yield False
            continue
        key = (event.condition, event.trial, event.index)
        news = before.get(key) != "failed" or event.final
        before[key] = event.status
        yield event.status == "failed" and news

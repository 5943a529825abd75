"""Replays a recording with its recorded times or faster; can pause, step and jump."""

from __future__ import annotations

import asyncio
from array import array
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from datetime import datetime
from itertools import accumulate, pairwise
from operator import itemgetter
from time import monotonic

from bioeval_tui.languages.segments import word_count
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.events import (
    AssertionChecked,
    ConversationScored,
    ConversationStarted,
    FactDisclosed,
    MessageCompleted,
    MessageDelta,
    MessageStarted,
    RunEnded,
    RunEvent,
    RunStarted,
    SeedApplied,
    SetupApplied,
)
from bioeval_tui.record.score import passed_share
from bioeval_tui.record.turn_marks import TurnMark

FRAME_S = 1 / 30
LONGEST_WAIT_S = 5.0
"""A longer silence (a pause, an interruption before a resume) is cut to this many recorded seconds.
"""
LONGEST_PREPARATION_S = 0.5
"""Maximum duration of each step of a conversation's setup in a replay, because nothing is visible
then.
"""
MOST_AT_ONCE = 2_000
"""Maximum number of events that are taken from a recording at once."""
Timing = Callable[[Sequence[RunEvent]], list[float]]
"""Says when each event is due, in s from the beginning."""


class Player:
    """Yields recorded events when they are due.

    `given` is the number of yielded events. The clock is monotonic, in seconds. `times` say when
    events are due, by default as recorded; unless the recording is `whole`, `extend` adds more.
    """

    def __init__(
        self,
        events: Sequence[RunEvent],
        speed: float | None = 1.0,
        *,
        clock: Callable[[], float] = monotonic,
        times: Sequence[float] | None = None,
        whole: bool = True,
    ) -> None:
        self._events = events
        self._times = replay_times(events) if times is None else times
        self._whole = whole
        self._clock = clock
        self._speed = speed
        self._paused = False
        self._place = 0.0
        self._since = clock()
        self._target = 0
        self._woken = asyncio.Event()
        self.given = 0

    @property
    def heading(self) -> int:
        """The number of events at the last jump's target, which may not have been reached yet."""
        return max(self.given, self._target)

    @property
    def paused(self) -> bool:
        """Whether the replay is paused: nothing is shown until it continues, steps or jumps."""
        return self._paused

    def set_paused(self, paused: bool) -> None:
        """Pause or continue."""
        self._anchor()
        self._paused = paused

    @property
    def speed(self) -> float | None:
        """Recorded seconds per second: 2 is twice as fast, None yields everything immediately."""
        return self._speed

    @speed.setter
    def speed(self, speed: float | None) -> None:
        self._anchor()
        self._speed = speed

    @property
    def now_s(self) -> float:
        """The position in the replay, in recorded seconds; long silences are shortened."""
        if self._speed is None and self.given:
            return self._times[self.given - 1]
        return min(self._now(), self._end_s)

    @property
    def _known(self) -> int:
        """The number of events that can be played: while a recording is read, an event is there
        before its time is.
        """
        return len(self._times)

    @property
    def _end_s(self) -> float:
        """When the last of the known events is due."""
        if self._times:
            return self._times[-1]
        return 0.0

    def extend(self, events: Sequence[RunEvent], times: Sequence[float], *, whole: bool) -> None:
        """Continue with these events and times, which start with the known ones."""
        self._anchor()
        # What was not there yet takes no time.
        self._place = min(self._place, self._end_s)
        self._events, self._times, self._whole = events, times, whole
        self._woken.set()

    def jump(self, count: int) -> None:
        """Yield everything up to the `count`-th event immediately, then pause."""
        self._target = max(self._target, min(count, self._known))
        self._anchor()
        self._paused = True

    async def play(self, begin: int = 0) -> AsyncIterator[Sequence[RunEvent]]:
        """Yield batches until the last event, each when it is due.

        Everything up to the `begin`-th event is due immediately (`_due`).
        """
        self._place, self._since, self._target = 0.0, self._clock(), min(begin, self._known)
        while self.given < self._known or not self._whole:
            end = min(self._due(), self.given + MOST_AT_ONCE)
            if end <= self.given:
                await self._wait()
                continue
            batch = self._events[self.given : end]
            self.given = end
            yield batch

    def _due(self) -> int:
        """Return the number of events that are due by now."""
        if self._speed is None:
            return self._known
        if self.given < self._target:
            self._place, self._since = self._times[self._target - 1], self._clock()
            return self._target
        if self._paused:
            return self.given
        # Events that are due within the frame are included.
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
        """Wait until the next event is due, or the state changed."""
        self._woken.clear()
        wait = None
        if not self._paused and self.given < self._known:
            wait = max(0.0, self._times[self.given] - self._now()) / (self._speed or 1.0)
        try:
            async with asyncio.timeout(wait):
                await self._woken.wait()
        except TimeoutError:
            pass


def replay_times(events: Sequence[RunEvent]) -> list[float]:
    """Return when each event is due, in s from the beginning; longer silences are cut."""
    gaps = (_gap(before.at, event) for before, event in pairwise(events))
    return list(accumulate(gaps, initial=0.0))[: len(events)]


def _gap(before: datetime, event: RunEvent) -> float:
    """Return how many seconds after the one before it an event is due."""
    prepares = isinstance(event, SetupApplied | SeedApplied | ConversationStarted)
    longest = LONGEST_PREPARATION_S if prepares else LONGEST_WAIT_S
    return min(max((event.at - before).total_seconds(), 0.0), longest)


WORDS_PER_S = 9.5
"""Reading speed in words."""
_REPEATED = 5.0
"""How much faster a text is shown that was shown before."""
_LONGEST_READ_S = 2.4
_STREAMING_S, _STREAMED_AT_LEAST = 1.2, 80
"""The number of seconds over which an agent's answer appears; less for a short one."""
_INTRODUCTION_S, _CAPTION_S, _JUDGE_S, _SCORE_S, _FACT_S, _PASSED_S = 1.5, 0.5, 0.8, 1.5, 0.6, 1.8
"""How long the introduction, a conversation's caption, the judge at work, a score, a disclosed fact
and assertions that have just passed are shown, in seconds.
"""
_HURRY = {1: 6.0, 2: 3.0}
"""How much faster the first turns are shown: a greeting and a first question, which stay on screen.
"""


def reading_times(events: Sequence[RunEvent]) -> list[float]:
    """Return when each event is due at reading pace: by its length, not by its recorded time.

    The introduction precedes the first conversation, a caption each other one; a user's message
    appears at once, an agent's is streamed, and then it is read. The first turns and repeated texts
    are passed quickly.
    """
    reader = _Reader(events)
    due, pause, times = 0.0, 0.0, []
    for event in events:
        # Checks come in a group, and the pause is after the whole group.
        if not isinstance(event, AssertionChecked):
            due, pause = due + pause, 0.0
        due += reader.wait_seconds(event)
        pause = reader.look_seconds(event) or pause
        times.append(due)
    return times


class _Reader:
    """Somebody who reads a run from its beginning, and remembers what they have read."""

    def __init__(self, events: Sequence[RunEvent]) -> None:
        self._turns = {
            _message_key(event): event.turn for event in events if isinstance(event, MessageStarted)
        }
        self._texts = {
            _message_key(event): (event.role, event.content)
            for event in events
            if isinstance(event, MessageCompleted)
        }
        self._has_read: set[tuple[str, str]] = set()
        self._failed: set[tuple[object, ...]] = set()

    def wait_seconds(self, event: RunEvent) -> float:
        """Return how long after the event before it an event is shown."""
        match event:
            case ConversationStarted() if self._has_read:
                return _CAPTION_S
            case MessageStarted() | MessageDelta() | MessageCompleted():
                return self._message_s(event)
            case FactDisclosed():
                return _FACT_S
            case ConversationScored():
                return _JUDGE_S
            case _:
                return 0.0

    def look_seconds(self, event: RunEvent) -> float:
        """Return how long an event is looked at before the next one is shown."""
        match event:
            case RunStarted():
                return _INTRODUCTION_S
            case ConversationScored():
                return _SCORE_S
            case AssertionChecked() if self._passes_at_last(event):
                return _PASSED_S
            case _:
                return 0.0

    def _message_s(self, event: MessageStarted | MessageDelta | MessageCompleted) -> float:
        """Return how long a part of a message takes: it begins, it is streamed, it is read."""
        message = _message_key(event)
        text = self._texts.get(message, ("", ""))
        hurry = _HURRY.get(self._turns.get(message, 0), 1.0)
        if text in self._has_read:
            hurry = _REPEATED
        if isinstance(event, MessageStarted):
            return 0.5 / hurry
        if isinstance(event, MessageDelta):
            return _STREAMING_S * len(event.text) / max(len(text[1]), _STREAMED_AT_LEAST) / hurry
        self._has_read.add(text)
        seconds = min(0.3 + word_count(event.content) / WORDS_PER_S, _LONGEST_READ_S)
        if event.role == "assistant":  # much of it was read while it was streamed
            seconds = max(0.6, seconds - _STREAMING_S)
        return seconds / hurry

    def _passes_at_last(self, event: AssertionChecked) -> bool:
        """Return whether an assertion passes that had failed before."""
        check = (event.condition, event.trial, event.index)
        if event.final:
            return False
        if event.status == "failed":
            self._failed.add(check)
        recovers = event.status == "passed" and check in self._failed
        if recovers:
            self._failed.remove(check)
        return recovers


def _message_key(event: MessageStarted | MessageDelta | MessageCompleted) -> tuple[object, ...]:
    return event.condition, event.trial, event.message


LEAD = 4
"""By how many messages the first conversation begins earlier: the second is held after it, and no
viewer need wait for it.
"""


def side_by_side(events: Sequence[RunEvent]) -> Sequence[RunEvent]:
    """Return a run's events with its two conversations beside each other, message by message.

    Conversations are held one after the other. Of a run that is still written, only what no later
    event can precede is returned. A run of several trials or of one condition is returned as it is.
    """
    if not events or not isinstance(started := events[0], RunStarted):
        return tuple(events)
    if started.trials > 1 or len(started.conditions) < 2:
        return tuple(events)
    stages = _stages(events)
    first = next((event.condition for event in events if event.condition), started.conditions[0])
    second = next(name for name in started.conditions if name != first)
    over: set[Condition] = set()
    if (None, 1) in stages:
        over = {first, second}
    if (second, 0) in stages:
        over.add(first)
    placed = list(stages[None, 0])
    for stage in range(max(LEAD, *(message for _, message in stages)) + 1):
        beside: Iterable[int] = ()
        if stage == LEAD:
            # The second conversation begins once the first has its lead, with all that it has said
            # by then.
            beside = range(LEAD + 1)
        elif stage > LEAD:
            beside = (stage,)
        for condition, message in [(first, stage), *((second, message) for message in beside)]:
            if condition not in over and (condition, message + 1) not in stages:
                return placed  # more about this message may follow
            placed += stages.get((condition, message), ())
    return [*placed, *stages.get((None, 1), ())]


def _stages(events: Iterable[RunEvent]) -> dict[tuple[Condition | None, int], list[RunEvent]]:
    """Return the events by condition and newest message, 0 before the first; those of the run are
    under None, its end under 1.
    """
    stages: dict[tuple[Condition | None, int], list[RunEvent]] = {}
    reached: dict[Condition, int] = {}
    at: tuple[Condition | None, int] = (None, 0)
    for event in events:
        if isinstance(event, RunEnded):
            at = (None, 1)
        elif (condition := event.condition) is not None:
            message = event.message if isinstance(event, MessageStarted) else 0
            reached[condition] = max(message, reached.get(condition, 0))
            at = (condition, reached[condition])
        stages.setdefault(at, []).append(event)
    return stages


class Timeline:
    """When each event of a run is due, and the places that a replay can go to.

    It keeps numbers, not the events.
    """

    def __init__(self, events: Sequence[RunEvent] = (), timing: Timing = replay_times) -> None:
        self.times = array("d")
        """When each event is due, in s from the beginning."""
        self._messages, self._failures = array("Q"), array("Q")
        """For each completed message, how many events there are up to its completion; and for each
        assertion that fails, how many up to that check.
        """
        self._last: datetime | None = None
        """When the last event was recorded."""
        self._begun = 0
        """How many events there are up to the first conversation's beginning; 0 before it."""
        self._turns: dict[tuple[Condition | None, int, int, int], tuple[int, float | None]] = {}
        """For each turn (condition, trial, attempt, number): how many events there are up to its
        end, and the share of assertions that hold there.
        """
        self._checks: dict[tuple[Condition | None, int, int], dict[int, AssertionChecked]] = {}
        """The last check of each assertion, by its index, for each conversation that has no score
        yet.
        """
        self._holding: set[tuple[object, ...]] = set()
        """The assertions that passed when they were last checked: condition, trial and index."""
        self.add(events, timing(events))

    def add(self, events: Sequence[RunEvent], times: Iterable[float] | None = None) -> None:
        """Take the next events, which are due at `times`, by default as recorded."""
        if times is None:
            times = map(self._recorded_due, events)
        for event, due in zip(events, times, strict=True):
            self.times.append(due)
            self._last = event.at
            match event:
                case ConversationStarted():
                    self._begun = self._begun or len(self.times)
                case MessageCompleted():
                    self._messages.append(len(self.times))
                    if not event.signs_off:  # only the agent's answer makes it a turn
                        self._end_turn(event, event.turn)
                case AssertionChecked():
                    self._check(event)
                case ConversationScored():
                    self._checks.pop((event.condition, event.trial or 1, event.attempt or 1), None)

    def _recorded_due(self, event: RunEvent) -> float:
        if self._last is None:
            return 0.0
        return self.times[-1] + _gap(self._last, event)

    def _check(self, event: AssertionChecked) -> None:
        key = (event.condition, event.trial, event.index)
        if event.status == "failed" and (event.final or key in self._holding):
            self._failures.append(len(self.times))
        if event.status == "passed":
            self._holding.add(key)
        else:
            self._holding.discard(key)
        if not event.final:
            talk = (event.condition, event.trial or 1, event.attempt or 1)
            self._checks.setdefault(talk, {})[event.index] = event
            if (*talk, event.after_turn) in self._turns:
                self._end_turn(event, event.after_turn)

    def _end_turn(self, event: MessageCompleted | AssertionChecked, turn: int) -> None:
        talk = (event.condition, event.trial or 1, event.attempt or 1)
        share = passed_share(self._checks.get(talk, {}).values())
        self._turns[*talk, turn] = len(self.times), share

    def marks(self) -> tuple[TurnMark, ...]:
        """Return every position to jump to: the beginning, each turn of each conversation, and the
        end.
        """
        if not self.times:
            return ()
        begun = self._begun or 1
        turns = [(count, *place) for place, (count, _) in self._turns.items() if place[-1]]
        passed = dict(self._turns.values())
        marks = [TurnMark(None, 1, 0, begun, self.times[begun - 1])]
        end = (len(self.times), None, 1, 1, 0)
        for count, condition, trial, _, turn in [*sorted(turns, key=itemgetter(0)), end]:
            failed = bisect_right(self._failures, marks[-1].given) < bisect_right(
                self._failures, count
            )
            at_s = self.times[count - 1]
            marks.append(TurnMark(condition, trial, turn, count, at_s, failed, passed.get(count)))
        return tuple(marks)

    def next_message(self, at: int) -> int | None:
        """Return how many events there are up to the next completed message after the first `at`;
        None if there is none.
        """
        return _next(self._messages, at)

    def message_before_last(self, at: int) -> int:
        """Return how many events there are up to the completed message before the newest one of the
        first `at`.
        """
        place = bisect_right(self._messages, at) - 2
        if place >= 0:
            return self._messages[place]
        return 0

    def next_failure(self, at: int) -> int | None:
        """Return the number of events up to the next assertion that fails after the first `at`;
        None if none does.

        An assertion fails if it passed at the previous check of the conversation, or at the end.
        """
        return _next(self._failures, at)


def _next(counts: Sequence[int], at: int) -> int | None:
    place = bisect_right(counts, at)
    if place < len(counts):
        return counts[place]
    return None

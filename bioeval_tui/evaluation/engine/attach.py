"""A run for screens: in progress, or replayed from its file."""

from __future__ import annotations

import asyncio
import getpass
import socket
import subprocess
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, time
from typing import Literal

from bioeval_tui.base.text import clean_line
from bioeval_tui.evaluation.conversation.intents import (
    HOW_IS_IT,
    NO_ANSWER,
    send_intent,
    what_helps,
)
from bioeval_tui.evaluation.engine.interface import Intent
from bioeval_tui.record.events import RunEnded, RunEvent, RunResumed, Warned
from bioeval_tui.record.masking import masking
from bioeval_tui.record.reading import PlacedEvent, RecordedEvents, follow, read_recording
from bioeval_tui.record.replay import Player, Timeline, Timing, replay_times
from bioeval_tui.record.runs import is_live, read_live
from bioeval_tui.record.state import Change, RunState
from bioeval_tui.record.stored import StoredRun
from bioeval_tui.record.turn_marks import TurnMark

QUIET_S = 2.0
"""After this many seconds without an event, ask the engine whether it can write."""
MOST_WHOLE = 1_000
"""Of a run that has more conversations than this, scored ones become rows on a screen that
follows it: whole, each takes 14 kB.
"""


class FollowedRun:
    """A run in progress in a separate engine.

    `process` is the engine if it was started from here.
    """

    mode: Literal["live", "replay"] = "live"
    batch_id: str | None = None

    def __init__(
        self,
        path: Path,
        process: subprocess.Popen[bytes] | None = None,
        log: Path | None = None,
        *,
        ends: int = 0,
    ) -> None:
        """`ends` is how many times a resumed run had ended before; those ends are skipped."""
        self.path = path
        self.run_id = path.stem
        self.process = process
        self.log = log
        self._begin, self._ends = 0, ends
        self.late_s = 0.0 if process else _age_s(path)
        self.ended: RunEnded | None = None
        self.run = StoredRun(path)
        """The run so far, if `apply` is called with each event."""
        self._unapplied: deque[PlacedEvent] | None = None

    def begin_applying(self) -> RunState:
        """Return the run, which `apply` then takes each event into that `events` yields."""
        # What a mask returns are other events than those that stand in the file.
        if not masking():
            self._unapplied = deque()
        return self.run.state

    def apply(self, event: RunEvent) -> Change:
        """Take an event into the run; of a large one, scored conversations become rows."""
        line = None
        if self._unapplied and self._unapplied[0][-1] is event:
            offset, written, _ = self._unapplied.popleft()
            if self.is_large:
                line = offset, written
        return self.run.apply(event, line)

    @property
    def is_large(self) -> bool:
        """Whether the run has so many conversations that those which are scored become rows."""
        started = self.run.state.started
        return started is not None and started.conversations > MOST_WHOLE

    def _place(self, events: Sequence[PlacedEvent]) -> None:
        if self._unapplied is not None:
            self._unapplied.extend(events)

    async def events(self) -> AsyncIterator[Sequence[RunEvent]]:
        """Yield new events until the run has ended or its engine has died (then a last
        `Warned`).
        """
        async for batch in self._written_or_troubled():
            for event in batch:
                if isinstance(event, RunEnded):
                    self.ended = event
                elif isinstance(event, RunResumed):
                    self.ended = None
            yield batch
        if self.ended is None:
            yield [self._interrupted()]

    async def _written_or_troubled(self) -> AsyncIterator[Sequence[RunEvent]]:
        """Yield new events; if none arrive, ask the engine why, because a full disk cannot be
        recorded.
        """
        batches = follow(
            self.path,
            begin=self._begin,
            ends=self._ends,
            still_written=self.engine_runs,
            placed=self._place,
        )
        waiting: asyncio.Task[Sequence[RunEvent] | None] | None = None
        last_trouble: str | None = None
        try:
            while True:
                waiting = waiting or asyncio.create_task(anext(batches, None))
                if not (await asyncio.wait({waiting}, timeout=QUIET_S))[0]:
                    trouble = await self._trouble()
                    if trouble != last_trouble and trouble is not None:
                        yield [self._warned("disk", f"{trouble}; {what_helps(self.run_id)}")]
                    last_trouble = trouble
                    continue
                batch, waiting = waiting.result(), None
                if batch is None:
                    return
                yield batch
        finally:
            if waiting is not None:
                waiting.cancel()
                await asyncio.wait({waiting})

    async def _trouble(self) -> str | None:
        """Return why the engine cannot write; None if it can, or if it does not answer."""
        info = read_live(self.path)
        if info is None or not info.alive():
            return None
        answer = await send_intent(info, HOW_IS_IT)
        if answer == NO_ANSWER:
            return None
        return answer

    async def send(self, intent: Intent) -> str | None:
        """Send an intent to the engine; return None if it was accepted, otherwise why not."""
        info = read_live(self.path)
        if info is None or not info.alive():
            return "the run has ended"
        return await send_intent(info, intent.kind, intent.condition, intent.text, sender_name())

    async def aclose(self) -> None:
        """Detach; the engine continues."""

    @property
    def in_progress(self) -> bool:
        """Whether the engine was started from here and still works on the run, or on others of its
        batch.
        """
        runs = self.process is not None and self.process.poll() is None
        return runs and (self.ended is None or self.batch_id is not None)

    def engine_runs(self) -> bool:
        """Return whether the engine that writes the recording still runs."""
        if self.process is not None and self.process.poll() is None:
            return True
        return is_live(self.path)

    def _interrupted(self) -> Warned:
        message = "the engine is gone; the run was interrupted"
        if self.log and (detail := last_line(self.log)):
            message += f": {detail}"
        return self._warned("interrupted", message)

    def _warned(self, code: str, message: str) -> Warned:
        return Warned(run_id=self.run_id, seq=0, at=datetime.now(UTC), code=code, message=message)


class ReplayedRun(Player):
    """A replay of a recording, with controls.

    `events` starts it from the beginning, or where `seek` went.
    """

    mode: Literal["live", "replay"] = "replay"
    batch_id: str | None = None
    late_s = 0.0

    def __init__(
        self,
        path: Path,
        speed: float | None,
        *,
        clock: Callable[[], float] = monotonic,
        timing: Timing = replay_times,
        order: Callable[[Sequence[RunEvent]], Sequence[RunEvent]] = tuple,
        source: FollowedRun | None = None,
    ) -> None:
        """`timing` says when events are due, `order` in which order.

        With a `source`, the run is played while its engine still writes it.
        """
        super().__init__((), speed, clock=clock, whole=source is None)
        self.path = path
        self.run_id = path.stem
        self._timing = timing
        self._order = order
        self.true_times = timing is replay_times
        """Whether events arrive at their recorded times; if not, a running clock beside them would
        be wrong.
        """
        self._source = source
        self._reading: asyncio.Task[None] | None = None
        self.marks: Sequence[TurnMark] = ()
        """The places to go to, in order: the beginning, every turn, the end.

        Empty until the run has ended.
        """
        self._timeline = Timeline()
        self._begun = False
        self._begin: int | None = None
        """Where the next `events` begin after jumping back."""

    async def events(self) -> AsyncIterator[Sequence[RunEvent]]:
        """Yield the events at their recorded pace; an interrupted run ends with a `Warned`."""
        self.given, at_once = 0, self._speed is None and not self._paused
        if self._source is not None and self._reading is None:
            self._reading = asyncio.create_task(self._follow(self._source))
        elif self._source is None and self._reading is None and not self._events:
            if masking() or not self.true_times:
                # A reader's pace and a mask need to know what follows.
                recording = await asyncio.to_thread(read_recording, self.path)
                self._take(recording.events, whole=True)
            elif at_once:
                async for batch in self._read():  # what was read need not be read again
                    self.given += len(batch)
                    yield batch
            else:
                self._whole = False
                self._reading = asyncio.create_task(self._read_on())
                if self._begin:  # a place may be anywhere
                    await asyncio.wait({self._reading})
        if self._paused:  # a run that was shown whole has no pace to step back at
            self._speed = self._speed or 1.0
        begin, self._begin, self._begun = self._begin or 0, None, True
        async for batch in self.play(begin):
            yield batch
        if self._reading is not None and self._source is None:
            await self._reading  # why the recording could not be read
        if self._source is None and not isinstance(self._events[-1], RunEnded):
            message = "the recording ends here; the run was interrupted"
            yield [
                Warned(
                    run_id=self.run_id,
                    seq=0,
                    at=datetime.now(UTC),
                    code="interrupted",
                    message=message,
                )
            ]

    async def _read(self, *, plays: bool = False) -> AsyncIterator[Sequence[RunEvent]]:
        """Read the recording, yield its events in batches, and note when they are due.

        If it `plays` meanwhile, the events are there as soon as they are read.
        """
        events, timeline = RecordedEvents(self.path), Timeline()
        batches, self._timeline, self._times = events.read(), timeline, timeline.times
        if plays:
            self._events = events

        def read_batch() -> Sequence[RunEvent] | None:
            if batch := next(batches, None):
                timeline.add(batch)
            return batch

        last: Sequence[RunEvent] = ()
        while (batch := await asyncio.to_thread(read_batch)) is not None:
            if last and batch:
                yield last
            last = batch or last
        self._events, self.marks = events, await asyncio.to_thread(timeline.marks)
        yield last  # now that the places to go to are known

    async def _read_on(self) -> None:
        """Read the recording while its beginning is played: the places to go to are known at its
        end.
        """
        try:
            async for _ in self._read(plays=True):
                self._woken.set()
        finally:
            self._whole = True
            self._woken.set()

    def _take(self, written: Sequence[RunEvent], *, whole: bool) -> None:
        events = self._order(written)
        self._timeline = Timeline(events, self._timing)
        if whole or isinstance(events[-1], RunEnded):  # until then, the total would grow
            self.marks = self._timeline.marks()
        self.extend(events, self._timeline.times, whole=whole)

    async def _follow(self, source: FollowedRun) -> None:
        """Read events as the engine writes them; they are played when they are due."""
        written: list[RunEvent] = []
        async for batch in source.events():
            written += batch
            self._take(written, whole=False)
        self.extend(self._events, self._times, whole=True)

    def step(self) -> bool:
        """Play to the end of the next message and pause; return False if there is no other
        message.
        """
        return self._jump(self._timeline.next_message)

    def play_to_failure(self) -> bool:
        """Play to the next failed assertion and pause; return False if no other assertion fails."""
        return self._jump(self._timeline.next_failure)

    def begin_before_last(self) -> bool:
        """Make the next `events` start one message before the newest, paused; return False if they
        must restart for that.
        """
        about_to_begin = self._begin is not None
        self._begin = self._timeline.message_before_last(self.heading)
        self._paused = True
        return about_to_begin

    @property
    def heading(self) -> int:
        """The number of events at the last jump's target, which may not have been reached yet."""
        if self._begin is None:
            return super().heading
        return self._begin

    def seek(self, count: int) -> bool:
        """Go to the point after `count` events and pause; return False if `events` must restart for
        that.
        """
        if (
            self._begun
            and self._begin is None
            and self.heading <= count
            and self.given < len(self._events)
        ):
            self.jump(count)
            return True
        about_to_begin = self._begun and self._begin is not None
        self._paused, self._begin = True, count
        return about_to_begin

    def _jump(self, find: Callable[[int], int | None]) -> bool:
        place = find(self.heading)
        if place is not None and self._begin is not None:
            self._paused, self._begin = True, place
        elif place is not None:
            self.jump(place)
        return place is not None

    async def send(self, intent: Intent) -> str | None:
        """Reject the intent: a recording cannot be changed."""
        return "this is a replay"

    async def aclose(self) -> None:
        """Stop reading."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait({self._reading})


def _age_s(path: Path) -> float:
    """Return how long ago a file was written to, in seconds."""
    try:
        return max(0.0, time() - path.stat().st_mtime)
    except OSError:
        return 0.0


def sender_name() -> str:
    """Return the name of this viewer in the recording: user and host."""
    try:
        return clean_line(f"{getpass.getuser()}@{socket.gethostname()}", 80)
    except (OSError, KeyError):
        return "viewer"


def last_line(log: Path) -> str:
    """Return the last line of a log file, cleaned; empty without one."""
    try:
        lines = log.read_bytes()[-20_000:].decode("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    if lines:
        return clean_line(lines[-1], 300)
    return ""

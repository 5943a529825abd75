"""Follows every run of a batch, in progress or replayed together, reducing each conversation to a
few values.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from itertools import chain
from pathlib import Path
from time import monotonic

from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.conversation.intents import send_intent
from bioeval_tui.evaluation.engine.attach import FollowedRun, sender_name
from bioeval_tui.evaluation.engine.interface import EngineSpec
from bioeval_tui.record.condition_names import PUBLISHED_NAMES
from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.masking import masked
from bioeval_tui.record.reading import LineReader, read_recording
from bioeval_tui.record.runs import is_live, read_live, recording_path
from bioeval_tui.record.state import RunState, apply
from bioeval_tui.tui.data.run_list import RunList
from bioeval_tui.tui.runs.batch_view import Glance, Rank, is_running, planned, run_glances
from bioeval_tui.tui.shared.cells import Cell

LOOK_S = 0.25
"""Interval at which the recordings are read."""
BUDGET_S = 0.1
"""Maximum time of one read before the results so far are passed on."""
CHUNK = 1 << 18
"""Number of bytes read between two looks at the clock."""
ASK_AGAIN_S = 3.0
"""Interval of checks for stopped engines and new runs of the batch."""
UNREAD = (b'"kind":"message_delta"', b'"kind":"state_observed"')
"""Events that the grid does not need, although they are most of a recording: streamed text and the
agent's state.
"""
HEAD = 400
"""Number of bytes of each line searched for its kind."""


@dataclass(slots=True)
class _Run:
    """One recording that is being read."""

    path: Path
    glances: list[Glance] = field(default_factory=list)
    offset: int = 0
    over: bool = False
    asked_at: float = 0.0
    _state: RunState | None = field(default_factory=RunState)
    _reader: LineReader | None = None
    _rest: bytes = b""

    def read(self, until: float) -> bool:
        """Read at least one new piece; return whether there was any."""
        size = _size(self.path)
        if self._state is None or size <= self.offset:
            return self._ask_engine()
        with self.path.open("rb") as file:
            file.seek(self.offset)
            while data := file.read(CHUNK):
                self.offset += len(data)
                self._fold(data)
                if monotonic() > until:
                    break
        self._look(gone=False)
        return True

    def _fold(self, data: bytes) -> None:
        assert self._state is not None
        self._reader = self._reader or LineReader(self.path.name)
        *lines, self._rest = (self._rest + data).split(b"\n")
        kept = [line for line in lines if not any(kind in line[:HEAD] for kind in UNREAD)]
        for event in masked(self._reader.feed(b"\n".join([*kept, b""]))):
            apply(self._state, event)

    def _ask_engine(self) -> bool:
        """Check at intervals whether the engine has stopped, after which no more events arrive."""
        if (
            self.over
            or self._state is None
            or not self.offset
            or monotonic() - self.asked_at < ASK_AGAIN_S
        ):
            return False
        self.asked_at = monotonic()
        if is_live(self.path) or _size(self.path) > self.offset:
            return False
        self._look(gone=True)
        return True

    def close(self) -> None:
        """The engine has stopped: conversations that had not ended were interrupted."""
        if not self.over and self.offset:
            self._look(gone=True)

    def _look(self, *, gone: bool) -> None:
        assert self._state is not None
        self.glances = run_glances(self._state, gone=gone and self._state.ended is None)
        if self._state.ended is not None or gone:
            self.over, self._state, self._reader = True, None, None

    @property
    def has_more(self) -> bool:
        """Whether there is more to read."""
        return self._state is not None and _size(self.path) > self.offset


class Batch:
    """The runs of one batch.

    If it was started from here, `spec` is known, and queued runs are shown, too.

    `find` returns the recordings of the batch; it is called regularly while the batch is in
    progress.
    """

    def __init__(
        self, runs_dir: Path, spec: EngineSpec | None, find: Callable[[], Iterable[Path]]
    ) -> None:
        self._find = find
        self._plan: dict[Path, list[Glance]] = {}
        if spec is not None:
            for run in spec.runs:
                to_come = planned(
                    run.run_id,
                    run.job_path,
                    run.model,
                    spec.trials,
                    spec.conditions or PUBLISHED_NAMES,
                )
                self._plan[recording_path(runs_dir, run.run_id)] = masked(to_come)
        self._runs = {path: _Run(path) for path in self._plan}
        self._found_at = float("-inf")
        self._beyond_s = 0.0
        """How long the last look took beyond its reading: it sums up every conversation."""

    async def glances(self, still_written: Callable[[], bool]) -> AsyncIterator[Sequence[Glance]]:
        """Yield all conversations whenever one has changed, until no run is in progress."""
        while True:
            written = still_written()
            changed, more = await asyncio.to_thread(self._look)
            glances = self._all_glances()
            if more:
                yield glances
                await asyncio.sleep(0.01)  # the screen gets its turn between pieces
                continue
            over = not is_running(glances) and all(run.over for run in self._runs.values())
            if over or not (written or self._any_live()):
                for run in self._runs.values():
                    run.close()
                yield [
                    _not_started(glance) if glance.rank is Rank.QUEUED else glance
                    for glance in self._all_glances()
                ]
                return
            if changed:
                yield glances
            await asyncio.sleep(max(LOOK_S, self._beyond_s))

    def _any_live(self) -> bool:
        return any(not run.over and is_live(run.path) for run in self._runs.values())

    def _look(self) -> tuple[bool, bool]:
        """Read for `BUDGET_S`, or as long as it takes to sum up what was read; return two answers:
        whether anything is new, and whether there is more to read.
        """
        began = monotonic()
        # Otherwise thousands of conversations would be summed up for each few that are read.
        until = began + max(BUDGET_S, self._beyond_s)
        # The runs of a batch that was started from here are all planned; others may be added.
        if not self._plan and began - self._found_at > ASK_AGAIN_S:
            self._found_at = began
            for path in self._find():
                self._runs.setdefault(path, _Run(path))
        changed = False
        # Each time from the first run on: one that is read to its end takes hardly any time.
        for run in self._runs.values():
            if not run.over:
                changed = run.read(until) or changed
                if monotonic() > until:
                    break
        self._beyond_s = max(0.0, monotonic() - until)
        return changed, any(run.has_more for run in self._runs.values() if not run.over)

    def _all_glances(self) -> list[Glance]:
        glances: list[Glance] = []
        for path, run in self._runs.items():
            glances += run.glances or self._plan.get(path, [])
        return glances

    async def stop(self) -> str | None:
        """Cancel every conversation and start no more; return a sentence saying why that failed, if
        it did.
        """
        await asyncio.to_thread(self._look)
        live = [
            info for run in self._runs.values() if (info := read_live(run.path)) and info.alive()
        ]
        if not live:
            return "no run of this batch is live any more"
        if os.name != "nt":
            # Cancel through the engine, because cancelling one run would only let the next one
            # start.
            for pid in {info.pid for info in live}:
                try:
                    os.kill(pid, signal.SIGTERM)
                except OSError as error:
                    return f"could not ask the engine to stop: {error.strerror}"
            return None
        answers = [await send_intent(info, "cancel", None, "", sender_name()) for info in live]
        return next((answer for answer in answers if answer), None)


class Batches:
    """The batches that the screens show, including those started from here that have not begun."""

    def __init__(self, settings: Settings, runs: RunList) -> None:
        self._runs_dir = settings.runs_dir
        self._list = runs
        self._started: dict[str, tuple[EngineSpec, FollowedRun]] = {}

    def note(self, spec: EngineSpec, view: FollowedRun) -> None:
        """Remember a batch started from here, by its first run."""
        if spec.batch_id is not None and len(spec.runs) > 1:
            view.batch_id = spec.batch_id
            self._started[spec.batch_id] = (spec, view)

    def is_running(self, batch_id: str) -> bool:
        """Return whether the engine of a batch started from here is still running."""
        started = self._started.get(batch_id)
        return started is not None and started[1].in_progress

    def follow(self, batch_id: str) -> AsyncIterator[Sequence[Glance]]:
        """Yield all conversations of a batch whenever one has changed."""
        return self._batch(batch_id).glances(lambda: self.is_running(batch_id))

    async def stop(self, batch_id: str) -> str | None:
        """End a batch."""
        refused = await self._batch(batch_id).stop()
        if (
            refused
            and self.is_running(batch_id)
            and (process := self._started[batch_id][1].process)
        ):
            process.terminate()  # it has not begun the first run yet
            return None
        return refused

    def _batch(self, batch_id: str) -> Batch:
        started = self._started.get(batch_id)

        def find() -> list[Path]:
            return [run.path for run in reversed(self._list.runs()) if run.batch_id == batch_id]

        return Batch(self._runs_dir, started[0] if started else None, find)


def _not_started(glance: Glance) -> Glance:
    return replace(
        glance, rank=Rank.NOT_MEASURED, state=Cell("– not started: the batch has ended", "warn")
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


FRAME_S = 0.2


async def replayed_batch(
    paths: Sequence[Path], seconds: float, *, held: Callable[[], bool] = lambda: False
) -> AsyncIterator[Sequence[Glance]]:
    """Yield all conversations over time, the whole batch in `seconds`; time stops while `held`
    returns True.

    Runs recorded one after another are shown side by side, each from its own start.
    """
    recordings = [(await asyncio.to_thread(read_recording, path)).events for path in paths]
    states = [RunState() for _ in recordings]
    due = [_times(events, place) for place, events in enumerate(recordings)]
    length = max((each[-1][0] for each in due if each), default=0.0) or 1.0
    waiting = list(merge(*due))
    at, passed, last = 0, 0.0, monotonic()
    while at < len(waiting):
        now = monotonic()
        if not held():
            passed += now - last
        last = now
        before = at
        while at < len(waiting) and waiting[at][0] / length * seconds <= passed:
            _, place, number = waiting[at]
            apply(states[place], recordings[place][number])
            at += 1
        if at > before:
            yield list(chain.from_iterable(map(run_glances, states)))
        await asyncio.sleep(FRAME_S)


def _times(events: Sequence[RunEvent], place: int) -> list[tuple[float, int, int]]:
    began = events[0].at
    return [
        ((event.at - began).total_seconds(), place, number) for number, event in enumerate(events)
    ]

"""Replays a recorded batch: all recordings together, each conversation at the same point in time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from heapq import merge
from pathlib import Path
from time import monotonic

from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.reading import read_recording
from bioeval_tui.record.state import RunState, apply
from bioeval_tui.tui.batch.batch_view import Glance, glances_of

FRAME_S = 0.2


async def replayed_batch(
    paths: Sequence[Path], seconds: float, *, held: Callable[[], bool] = lambda: False
) -> AsyncIterator[Sequence[Glance]]:
    """Yield all conversations over time, the whole batch in `seconds`; time stops while `held` returns True.

    Runs recorded one after another are shown side by side, each from its own start.
    """
    recordings = [(await asyncio.to_thread(read_recording, path)).events for path in paths]
    states = [RunState() for _ in recordings]
    due = [_due(events, place) for place, events in enumerate(recordings)]
    length = max((each[-1][0] for each in due if each), default=0.0) or 1.0
    waiting = list(merge(*due))
    at, passed, last = 0, 0.0, monotonic()
    while at < len(waiting):
        now = monotonic()
        passed, last = passed + (0.0 if held() else now - last), now
        before = at
        while at < len(waiting) and waiting[at][0] / length * seconds <= passed:
            _, place, number = waiting[at]
            apply(states[place], recordings[place][number])
            at += 1
        if at > before:
            yield [glance for state in states for glance in glances_of(state)]
        await asyncio.sleep(FRAME_S)


def _due(events: Sequence[RunEvent], place: int) -> list[tuple[float, int, int]]:
    began = events[0].at
    return [((event.at - began).total_seconds(), place, number) for number, event in enumerate(events)]

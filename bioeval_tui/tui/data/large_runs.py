"""Large recorded runs: read once for all who ask, and shown whole before anything is played. Those
in progress are read in the same way before they are followed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from bioeval_tui.base.errors import RecordingError
from bioeval_tui.evaluation.engine.attach import FollowedRun, ReplayedRun
from bioeval_tui.record.events import RunStarted
from bioeval_tui.record.masking import masking
from bioeval_tui.record.reading import LineReader, batches, no_first_event
from bioeval_tui.record.runs import is_large, overlay_path
from bioeval_tui.record.state import RunState, apply
from bioeval_tui.record.stored import StoredRun

if TYPE_CHECKING:
    from bioeval_tui.report.result import RunResult

Version = tuple[Path, int, int, int, int]
"""A recording as it is now: its path, its size in bytes, and when it was written to, in ns; the
same two of its later verdicts and reviews, 0 without any.
"""


class LargeRuns:
    """Reads large recordings, each once while somebody shows it: reading one takes seconds, and a
    preview, the score card and what changed since the last run all ask for it.
    """

    def __init__(self, *, writes: bool = True) -> None:
        """Without `writes`, no rows are kept in the list of runs."""
        # Every live screen loads this module, and only recorded runs need this one.
        from bioeval_tui.report import result

        self._reader = result
        self._writes = writes
        self._one_at_a_time = threading.Lock()
        self._last: RunResult | None = None
        """The run that was read last, which is likely to be asked for again."""
        self._shown: WeakValueDictionary[Version, RunResult] = WeakValueDictionary()
        """Those that somebody still has."""
        self._being_read: StoredRun | None = None

    def has_rows(self, path: Path) -> bool:
        """Return whether a recording is large, and shown as it was recorded: `LargeRun` shows what
        it knows at first before anything of it is masked.
        """
        return is_large(path) and not masking()

    def whole(self, path: Path, scores: Mapping[str, float | None]) -> LargeRun:
        """Return a run that `has_rows` for the live screen; `scores` are those that the list has.

        Raises:
            RecordingError: the file cannot be read, or its first event is missing.
        """
        return LargeRun(path, self, scores)

    def growing(self, path: Path) -> GrowingRun:
        """Return a run in progress that `has_rows` for the live screen.

        Raises:
            RecordingError: the file cannot be read, or its first event is missing.
        """
        return GrowingRun(path)

    def result(self, path: Path) -> RunResult:
        """Return the result of a recording. Of those that `has_rows`, one is read at a time.

        Raises:
            RecordingError: the file cannot be read, or its first event is missing.
        """
        load_run = self._reader.load_run
        if not self.has_rows(path):
            return load_run(path, keeps=self._writes)
        with self._one_at_a_time:
            version = _version(path)
            if (known := self._shown.get(version)) is not None:
                return known
            self._last = None  # two of them would take twice the memory
            try:
                self._last = load_run(path, keeps=self._writes, begins=self._begin)
            finally:
                self._being_read = None
            self._shown[version] = self._last
            return self._last

    def _begin(self, run: StoredRun) -> None:
        self._being_read = run

    def conversations_read(self, path: Path) -> int:
        """Return how many conversations of a recording were read so far; 0 unless it is being
        read.
        """
        run = self._being_read
        if run is None or run.path != path:
            return 0
        return run.conversations_read


def _version(path: Path) -> Version:
    try:
        stat = path.stat()
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from None
    later = overlay_path(path)
    try:
        of_later = later.stat()
    except OSError:
        return path, stat.st_size, stat.st_mtime_ns, 0, 0
    return path, stat.st_size, stat.st_mtime_ns, of_later.st_size, of_later.st_mtime_ns


class LargeRun(ReplayedRun):
    """An ended run of a large recording: `read` returns all of it, conversation by conversation as
    rows; its events are read and played only once somebody asks for that.
    """

    def __init__(
        self, path: Path, large_runs: LargeRuns, scores: Mapping[str, float | None]
    ) -> None:
        """`scores` are those that the list of runs has, by condition.

        Raises:
            RecordingError: the file cannot be read, or its first event is missing.
        """
        super().__init__(path, None)
        self.scores = scores
        self.begun = _begun(path)
        """The run after its first event."""
        self._large_runs = large_runs
        self._result: asyncio.Task[RunResult] | None = None

    @property
    def started(self) -> RunStarted:
        """The run's first event."""
        assert self.begun.started is not None
        return self.begun.started

    @property
    def conversations(self) -> int:
        """How many conversations the run was to have."""
        return self.started.conversations

    @property
    def conversations_read(self) -> int:
        """How many of them were read so far; 0 before and after."""
        return self._large_runs.conversations_read(self.path)

    @property
    def has_times(self) -> bool:
        """Whether it was recorded when each event happened, so that it can be played."""
        return has_times(self.started)

    @property
    def is_played(self) -> bool:
        """Whether somebody has asked for its events."""
        return self._begun or self._begin is not None

    async def read(self) -> RunResult:
        """Read the run in a thread, once.

        Raises:
            RecordingError: the file cannot be read.
        """
        if self._result is None:
            reading = asyncio.to_thread(self._large_runs.result, self.path)
            self._result = asyncio.create_task(reading)
        # A thread cannot be cancelled: who comes later takes what it has read.
        return await asyncio.shield(self._result)


class GrowingRun(FollowedRun):
    """A run in progress whose recording is large: `read` reads what was written before, its
    conversations as rows; later events follow.
    """

    is_large = True

    def __init__(self, path: Path) -> None:
        """Nothing is read yet but the first event.

        Raises:
            RecordingError: the file cannot be read, or its first event is missing.
        """
        super().__init__(path)
        started = _begun(path).started
        assert started is not None
        self.conversations = started.conversations
        """How many conversations the run is to have."""

    @property
    def conversations_read(self) -> int:
        """How many conversations were read so far."""
        return self.run.conversations_read

    async def read(self) -> RunState:
        """Read what was written before, in a thread.

        Raises:
            RecordingError: the file cannot be read.
        """
        await asyncio.to_thread(self.run.read)
        self._begin, self.ended = self.run.taken, self.run.state.ended
        return self.run.state


def has_times(started: RunStarted) -> bool:
    """Return whether a run's events have times of their own: those of an import may not."""
    return started.source is None or started.source.times == "told"


def _begun(path: Path) -> RunState:
    reader, state = LineReader(path.name), RunState()
    for batch in batches(path, reader):
        if batch:
            apply(state, batch[0])
            break
    if state.started is None:
        raise no_first_event(path)
    return state

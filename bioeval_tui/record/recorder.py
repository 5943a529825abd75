"""The writer of a recording: a thread that appends, flushes and syncs, so that no caller waits for
the disk.

Every batch is flushed within 10 ms; `written()` returns once everything so far has been flushed,
and is awaited before a message is sent to the agent; fsync is grouped, at most once a second, and
done at the end. If writing fails (disk full, read-only), the thread keeps its events and tries
again: the run pauses at its next `written()`, and nothing is lost. `move` continues in another
folder. A run that should stop does not wait for the disk: `limit_retries` limits how long writing
may still fail.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from bioeval_tui.base.errors import RecordingError, StorageError
from bioeval_tui.base.files import below, open_own, private_dir, sync_folder
from bioeval_tui.base.portable import lock
from bioeval_tui.record import events
from bioeval_tui.record.events import RunEvent, write_event
from bioeval_tui.record.moving import copy_open, link
from bioeval_tui.record.runs import moved_file, require_same_file
from bioeval_tui.record.spans import drop_content
from bioeval_tui.record.tool_calls import INJECTED, injected_failure

FLUSH_S = 0.01
SYNC_S = 1.0
RETRY_S = 0.5
GRACE_S = 2.0
"""Additional seconds for the writer to end, because a disk can take long to report an error."""
RELEASED_AT_ONCE = 2
CHUNK = 1 << 20
MOVE_S = 30.0


def drop_prompts(event: RunEvent) -> RunEvent | None:
    """Return the event without prompts, retrieved contexts and outputs; None if nothing remains.

    Function calls are kept, because assertions use them.
    """
    if isinstance(event, events.SpansReceived):
        return event.model_copy(update={"spans": tuple(drop_content(span) for span in event.spans)})
    if not isinstance(event, events.MessageDelta | events.MessageCompleted | events.CallsTraced):
        return event
    kept = tuple(call for item in event.generation if (call := _bare_call(item)) is not None)
    if not kept and (
        isinstance(event, events.CallsTraced)
        or (isinstance(event, events.MessageDelta) and not event.text)
    ):
        return None
    if kept == event.generation:
        return event
    return event.model_copy(update={"generation": kept})


def _bare_call(item: dict[str, Any]) -> dict[str, Any] | None:
    """Return a function call without its `context`, which may quote a prompt, or how the job made
    one fail; None for any other event.
    """
    if injected_failure(item):
        kept = {key: item[key] for key in ("id", "error", INJECTED) if key in item}
        return {"output": None, **kept}
    request = item.get("request")
    if not isinstance(request, dict):
        return None
    bare = {"request": {key: value for key, value in request.items() if key != "context"}}
    if "span" in item:
        bare["span"] = item["span"]
    return bare


class _GaveUpError(Exception):
    """The disk rejected writes for longer than the run could wait."""


class Recorder:
    """Appends events to one file.

    `append` never blocks; `aclose` flushes, syncs and ends the thread.

    `on_trouble` is called from the writer's thread with a sentence when the disk refuses, and with
    None when writing works again. The file is locked as long as the recorder is open.
    """

    def __init__(
        self,
        path: Path,
        *,
        resume: bool = False,
        keep_prompts: bool = True,
        on_trouble: Callable[[str | None], None] | None = None,
    ) -> None:
        """Create the file, or with `resume` continue an existing one, without its incomplete last
        line.

        Without `keep_prompts`, events are written `drop_prompts`.

        Raises:
            RecordingError: it cannot be written, exists already, or another process writes it.
        """
        self.path = path
        self.trouble: str | None = None
        self._on_trouble = on_trouble
        self._keep_prompts = keep_prompts
        self._lines: list[bytes] = []
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._appended = 0
        self._flushed = 0
        self._waiters: list[tuple[int, asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._closing = False
        self._patience_s: float | None = None
        self._gave_up = False
        self._moves: list[tuple[Path, Future[None]]] = []
        self._file = _open_private(path, resume)
        self._thread = threading.Thread(
            target=self._write_forever, name=f"recorder {path.stem}", daemon=True
        )
        self._thread.start()

    def append(self, event: RunEvent) -> None:
        """Queue an event; it is in the file within milliseconds.

        After `aclose`, events are ignored.
        """
        kept = event if self._keep_prompts else drop_prompts(event)
        if kept is None:
            return
        line = write_event(kept)
        with self._lock:
            if self._closing:
                return  # a late intent of a viewer; the run has ended
            self._lines.append(line)
            self._appended += 1
        _set(self._wake)

    async def written(self) -> None:
        """Return once everything appended so far is flushed to the file.

        Raises:
            RecordingError: the recorder gave up.
        """
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._gave_up:
                raise self._lost()
            if self._flushed >= self._appended:
                return
            waiter = loop.create_future()
            self._waiters.append((self._appended, loop, waiter))
        _set(self._hurry)
        await waiter

    def move(self, folder: Path) -> None:
        """Move the recording to `folder` and continue there; a link stays in its place.

        Blocks until it is done, for at most a few seconds.

        Raises:
            RecordingError: the recording cannot be moved there and stays where it is.
        """
        done: Future[None] = Future()
        with self._lock:
            if self._closing:
                raise RecordingError("the run has ended")
            self._moves.append((folder, done))
        self._wake.set()
        try:
            done.result(MOVE_S)
        except TimeoutError:
            raise RecordingError(
                f"moving the recording to {folder} takes too long; the move may still succeed"
            ) from None

    def limit_retries(self, seconds: float) -> None:
        """Stop retrying after that many seconds, because the run must end even if the disk is
        full.
        """
        self._patience_s = seconds
        self._wake.set()

    async def aclose(self, timeout_s: float = 10.0) -> None:
        """Flush, sync and close.

        Raises `RecordingError` if writing still fails after `timeout_s`.
        """
        if self._patience_s is None:
            self._patience_s = timeout_s
        with self._lock:
            self._closing = True
        self._hurry.set()
        self._wake.set()
        await asyncio.to_thread(self._thread.join, timeout_s + GRACE_S)
        if self._thread.is_alive() or self._gave_up:
            raise self._lost()

    def _lost(self) -> RecordingError:
        return RecordingError(
            f"{self.path.name}: the last events could not be written: {self.trouble}; once there is"
            f" room, `bioeval-tui runs resume {self.path.stem}` runs the missing conversations"
        )

    def _write_forever(self) -> None:
        try:
            self._write_until_closed()
        except _GaveUpError:
            with self._lock:
                self._gave_up = self._closing = True
                waiters, self._waiters = self._waiters, []
                moves, self._moves = self._moves, []
            for _, done in moves:
                done.set_exception(RecordingError("the run has ended"))
            for _, loop, future in waiters:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(_refuse, future, self._lost())
        finally:
            self._file.close()

    def _write_until_closed(self) -> None:
        unsynced = False
        synced = time.monotonic()
        while True:
            self._wake.wait(SYNC_S if unsynced else None)
            woken = self._wake.is_set()
            self._wake.clear()
            if woken and not self._closing:
                # A short wait combines events that arrive together, unless a caller is waiting;
                # flushing stays within FLUSH_S.
                self._hurry.wait(FLUSH_S / 4)
            self._hurry.clear()
            self._move()
            unsynced = self._write_batch() or unsynced
            if unsynced and (self._closing or time.monotonic() - synced >= SYNC_S):
                self._sync()
                unsynced = False
                synced = time.monotonic()
            if self._closing and not self._lines:
                return

    def _write_batch(self) -> bool:
        with self._lock:
            lines, self._lines = self._lines, []
            count = self._appended
        if lines:
            self._write(b"".join(lines))
        with self._lock:
            self._flushed = count
            ready = [waiter for waiter in self._waiters if waiter[0] <= count]
            del self._waiters[: len(ready)]  # they stand in the order in which they began to wait
        if ready:
            _release(ready[0][1], [future for _, _, future in ready])
        return bool(lines)

    def _write(self, data: bytes) -> None:
        """Write all of `data`, waiting while the disk rejects it; never write a part twice.

        Raises:
            _GaveUpError: it has refused for longer than `limit_retries` allows.
        """
        view = memoryview(data)
        refused: float | None = None
        while view:
            try:
                view = view[self._file.write(view) or 0 :]
                refused = None
            except OSError as error:
                now = time.monotonic()
                if refused is None:
                    refused = now
                self._say(f"cannot write {self.path.name}: {error.strerror}")
                if self._patience_s is not None and now - refused >= self._patience_s:
                    raise _GaveUpError from None
                self._wake.clear()
                if not self._moves:
                    self._wake.wait(RETRY_S)
                self._move()
        self._say(None)

    def _move(self) -> None:
        """Move to the requested folder, and report the result to the caller.

        The recording continues in a copy there; `path` stays, and becomes a link to it.
        """
        while self._moves:
            folder, done = self._moves.pop(0)
            try:
                moved = copy_open(self._file.fileno(), self.path, folder)
            except RecordingError as error:
                done.set_exception(error)
                continue
            # The copy is whole. If the link fails, the recording continues there all the same.
            self._file.close()
            self._file = moved
            try:
                link(self.path, folder / self.path.name)
            except RecordingError as error:
                done.set_exception(error)
            else:
                done.set_result(None)

    def _sync(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            self._say(f"cannot sync {self.path.name}: {error.strerror}")

    def _say(self, trouble: str | None) -> None:
        if trouble != self.trouble:
            self.trouble = trouble
            if self._on_trouble is not None:
                # a listener's defect must not stop the writing
                with contextlib.suppress(Exception):
                    self._on_trouble(trouble)


def _set(event: threading.Event) -> None:
    """Set an event, checking first because that is faster.

    The writer clears it before it takes the queued data.
    """
    if not event.is_set():
        event.set()


def _refuse(future: asyncio.Future[None], error: RecordingError) -> None:
    if not future.done():
        future.set_exception(error)


def _release(loop: asyncio.AbstractEventLoop, waiting: list[asyncio.Future[None]]) -> None:
    """Wake waiting conversations, a few per iteration of the loop, so that a hundred don't all
    continue in one.
    """

    # The loop may have closed while the disk was busy; then no caller waits any more.
    if not loop.is_closed():
        loop.call_soon_threadsafe(_release_some, loop, waiting)


def _release_some(loop: asyncio.AbstractEventLoop, waiting: list[asyncio.Future[None]]) -> None:
    for future in waiting[:RELEASED_AT_ONCE]:
        if not future.done():
            future.set_result(None)
    del waiting[:RELEASED_AT_ONCE]
    if waiting:
        loop.call_soon(_release_some, loop, waiting)


def _open_private(path: Path, resume: bool) -> io.FileIO:
    """Open `path` for appending, unbuffered, readable only by its owner, locked against a second
    writer.
    """
    flags = os.O_RDWR | os.O_APPEND | (0 if resume else os.O_CREAT)
    try:
        private_dir(path.parent)
        file = (resume and moved_file(path)) or path
        descriptor = open_own(below(file.parent, file.name), flags)
    except StorageError as error:
        raise RecordingError(str(error)) from None
    except OSError as error:
        raise RecordingError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        try:
            lock(descriptor)
        except OSError:
            raise RecordingError(f"{path.name}: another process is writing to it") from None
        require_same_file(descriptor, path)
        if resume:
            _cut_torn_line(descriptor)
        elif os.fstat(descriptor).st_size:
            raise RecordingError(f"{path.name} already contains a recording and is not overwritten")
        else:
            sync_folder(path.parent)
    except BaseException:
        os.close(descriptor)
        raise
    return io.FileIO(descriptor, "ab")


def _cut_torn_line(descriptor: int) -> None:
    """Truncate after the last newline: the writer died in the middle of a line."""
    size = end = os.fstat(descriptor).st_size
    while end:
        start = max(0, end - CHUNK)
        os.lseek(descriptor, start, os.SEEK_SET)
        newline = os.read(descriptor, end - start).rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end != size:
        os.ftruncate(descriptor, end)

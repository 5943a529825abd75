"""The event loop in which a batch runs: fair when hundreds of answers arrive at once, and stopped
by SIGINT and SIGTERM.

The engine process and headless runs begin it with `run_fairly`, a Python program with `fair_loop`
(`library.py`). `wiring/start.py` runs the batch within `stopping_at_signals`.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import selectors
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from typing import TypeVar

from bioeval_tui.base.isolation import code_command
from bioeval_tui.base.settings import plain_environment

Result = TypeVar("Result")

OBJECTS_BETWEEN_COLLECTIONS = 20_000
"""Events and answers have no reference cycles, so collect garbage rarely; the default of 700 costs
a batch a tenth of its time.
"""


def run_fairly(main: Coroutine[object, object, Result]) -> Result:
    """Run a batch to its end, like `asyncio.run`. This process then collects garbage less often."""
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, 20, 20)
    with asyncio.Runner(loop_factory=fair_loop) as runner:
        return runner.run(main)


def drop_batch() -> None:
    """Free what a batch that has ended held in memory.

    Its parts refer to each other, and `run_fairly` has kept its plans from being searched.
    """
    gc.unfreeze()
    gc.collect()


def fair_loop() -> asyncio.AbstractEventLoop:
    """Return a new fair loop; on Windows the default one, because only that can start processes."""
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    return asyncio.SelectorEventLoop(FairSelector())


ANSWERS_AT_ONCE = 2
"""Number of sockets that are served before timers and other tasks get a turn."""


class FairSelector(selectors.DefaultSelector):
    """Returns ready sockets a few at a time, each once, before polling the system again.

    asyncio serves all ready sockets before it checks timers: with 200 answers that takes a fifth of
    a second, in which no timeout fires, no pause takes effect and no other conversation continues.
    """

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[tuple[selectors.SelectorKey, int]] = deque()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return up to `ANSWERS_AT_ONCE` ready sockets."""
        if not self._waiting:
            self._waiting.extend(super().select(timeout))
        given: list[tuple[selectors.SelectorKey, int]] = []
        while self._waiting and len(given) < ANSWERS_AT_ONCE:
            key, ready = self._waiting.popleft()
            # It may have been closed, or is waiting for something else by now.
            if self.get_map().get(key.fd) is key:
                given.append((key, ready))
        return given


STOP_S = 2.0
"""Processor time after which a run that does not stop is stuck.

On a busy machine it gets less of it; see `WAIT_S`.
"""

WAIT_S = 15.0
"""Time after which a run that does not stop is killed, however little processor time it got."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def stopping_at_signals(stop: Callable[[], None], advice: str) -> Iterator[None]:
    """Call `stop` in the running event loop at SIGINT and SIGTERM.

    If the block has not ended after `STOP_S` or `WAIT_S`, this process is killed, and `advice` is
    in the sentence on stderr (not on Windows). Outside the main thread, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    with _killed_if_late(advice):
        before = {
            number: signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))
            for number in SIGNALS
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextlib.contextmanager
def _killed_if_late(advice: str) -> Iterator[None]:
    # Python writes only to sockets there, and the event loop needs that
    if sys.platform == "win32":
        yield
        return
    read, write = os.pipe()
    try:
        os.set_blocking(write, False)
        watch = _watching(read, advice)
        before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            if watch is not None:
                watch.kill()
                watch.wait()
    finally:
        os.close(read)
        os.close(write)


def _watching(read: int, advice: str) -> subprocess.Popen[bytes] | None:
    sentence = f"error: the run was too busy to stop, so it was killed; {advice}\n"
    command = code_command(_WATCH, str(os.getpid()), str(STOP_S), str(WAIT_S), sentence)
    try:
        return subprocess.Popen(  # noqa: S603 - our own code, no shell
            command,
            stdin=read,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            env=plain_environment(),
        )
    except OSError:  # no resources: the loop alone stops the run
        return None


# It ends when the pipe closes, because this process ended or does not need it any more. The signals
# may be sent to every process of a group or container, this one included.
_WATCH = """
import os, select, signal, sys, time
signals = {signal.SIGINT, signal.SIGTERM}
for number in (*signals, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
received = b""
while signals.isdisjoint(received):
    received = os.read(0, 64) or sys.exit()
def used():
    try:
        fields = open("/proc/" + sys.argv[1] + "/stat").read().rpartition(")")[2].split()
    except OSError:  # another system: as if it had been busy all the time
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
stuck, late = used() + float(sys.argv[2]), time.monotonic() + float(sys.argv[3])
while used() < stuck and time.monotonic() < late:
    if select.select([0], [], [], 0.1)[0] and not os.read(0, 64):
        sys.exit()
os.kill(int(sys.argv[1]), signal.SIGKILL)
os.write(2, os.fsencode(sys.argv[4]))
"""

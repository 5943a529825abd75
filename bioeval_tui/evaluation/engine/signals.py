"""Stop a batch at SIGINT and SIGTERM, within `STOP_S` whatever this process does.

The event loop cancels the conversations, which takes a fraction of a second. But an agent's function, or C code that
keeps the interpreter's lock, may never give the loop a turn. Then nothing in this process can act, so a second one
learns of the signal by the file descriptor that Python's C handler writes to, and kills this one. What was recorded
until then stays, and the run can be resumed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

from bioeval_tui.isolation import code_command
from bioeval_tui.settings import plain_environment

STOP_S = 2.0
SIGNALS = (signal.SIGINT, signal.SIGTERM)

# It ends when the pipe closes, because this process ended or does not need it any more. The signals may be sent to
# every process of a group or container, this one included.
_WATCH = """
import os, select, signal, sys, time
signals = {signal.SIGINT, signal.SIGTERM}
for number in (*signals, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
received = b""
while signals.isdisjoint(received):
    received = os.read(0, 64) or sys.exit()
ends = time.monotonic() + float(sys.argv[2])
while (left := ends - time.monotonic()) > 0:
    if select.select([0], [], [], left)[0] and not os.read(0, 64):
        sys.exit()
os.kill(int(sys.argv[1]), signal.SIGKILL)
os.write(2, os.fsencode(sys.argv[3]))
"""


@contextlib.contextmanager
def stopping_at_signals(stop: Callable[[], None], advice: str) -> Iterator[None]:
    """Call `stop` in the running event loop at SIGINT and SIGTERM.

    If the block has not ended `STOP_S` seconds later, this process is killed, and `advice` is in the sentence on stderr
    (not on Windows). Outside the main thread, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    with _killed_if_late(advice):
        before = {
            number: signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop)) for number in SIGNALS
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextlib.contextmanager
def _killed_if_late(advice: str) -> Iterator[None]:
    if sys.platform == "win32":  # Python writes only to sockets there, and the event loop needs that
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
    said = f"error: the run was too busy to stop within {STOP_S:g} s, so it was killed; {advice}\n"
    command = code_command(_WATCH, str(os.getpid()), str(STOP_S), said)
    try:
        return subprocess.Popen(  # noqa: S603 - our own code, no shell
            command, stdin=read, stdout=subprocess.DEVNULL, start_new_session=True, env=plain_environment()
        )
    except OSError:  # no resources: the loop alone stops the run
        return None

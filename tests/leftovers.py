"""Nothing that a test starts outlives the tests, however they end.

SIGTERM becomes an interrupt, so that fixtures end what they started. If the tests are killed, a
watcher, which notices because its standard input closes, kills what inherited their mark.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

MARK = "BIOEVAL_STARTED_BY_TESTS"
"""A variable in the environment of everything that tests start: the process id of pytest, or of its
worker.
"""


def watch() -> None:
    """Start the watcher, and mark what is started from now on."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not Path("/proc/self/environ").exists():
        return
    mark = f"{MARK}={os.getpid()}"
    unmarked = {name: value for name, value in os.environ.items() if name != MARK}
    read, _ = os.pipe()  # the end for writing stays open, in this process alone, until it ends
    with os.fdopen(read, "rb") as end:
        watcher = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, mark],
            stdin=end, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=unmarked,
            start_new_session=True,
        )  # fmt: skip
    # it outlives this process: nobody waits for it, and Python need not warn of that at the end
    watcher.returncode = 0
    os.environ[MARK] = str(os.getpid())


def kill_marked(mark: bytes) -> None:
    """Kill every process with this variable until there is none."""
    found = True
    while found:
        found = False
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)
                    found = True


if __name__ == "__main__":
    sys.stdin.buffer.read()
    kill_marked(sys.argv[1].encode())

"""The process of a browser tab: its input is checked, and it leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from bioeval_tui.base.errors import UnavailableError
from bioeval_tui.serve import server
from bioeval_tui.serve.server import TabProcess, bounded

STUBBORN = """
import os, signal, subprocess, sys, time
for name in ("SIGTERM", "SIGINT", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
os.write(1, b"__GANGLION__\\n")
os.write(1, b"D" + (8).to_bytes(4, "big") + str(child.pid).rjust(8).encode())
time.sleep(600)
"""


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return sys.platform != "linux"


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX")
async def test_a_session_that_does_not_end_is_killed_with_its_process_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "QUIT_S", 0.1)
    tab = await TabProcess.start([sys.executable, "-c", STUBBORN], "driver", (80, 24))
    child = int(await anext(tab.drawn()))
    program = tab._process.pid
    assert is_there(child)
    await tab.aclose()
    assert tab._process.returncode == -9
    assert not is_there(program)
    for _ in range(1000):  # whoever adopts the child has to collect it
        if not is_there(child):
            break
        await asyncio.sleep(0.01)
    assert not is_there(child)


async def test_a_session_that_ends_at_once_says_why() -> None:
    with pytest.raises(UnavailableError, match=r"^error: no such run$"):
        await TabProcess.start(
            [sys.executable, "-c", "import sys; sys.exit('error: no such run')"], "driver", (80, 24)
        )


def test_the_terminal_size_is_limited() -> None:
    assert bounded(100, 40) == (100, 40)
    assert bounded(10**9, -5) == (500, 8)
    assert bounded("80", 24) is bounded(True, 24) is bounded(None, 24) is bounded(80.0, 24) is None

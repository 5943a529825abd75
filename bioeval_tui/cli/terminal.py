"""Whether there is a terminal to draw on, and what happens when it goes away."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading

from bioeval_tui.errors import UsageError

_TERMINAL = 0
"""Standard input, which Textual reads."""


def need_terminal(instead: str) -> None:
    """Raise `UsageError` when there is no terminal to draw on; `instead` is what works without one."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(f"this needs a terminal; without one, {instead}")
    if hasattr(select, "poll") and os.isatty(_TERMINAL):
        threading.Thread(target=_hang_up_with_terminal, daemon=True).start()


def _hang_up_with_terminal() -> None:
    """End this process when its terminal has gone and the system does not say so by SIGHUP.

    It says so to the terminal's own session alone, and not to who was told to ignore it (`nohup`). The screen would
    read the end of its input for ever, on a whole core.
    """
    terminal = select.poll()
    terminal.register(_TERMINAL, 0)  # that it is hung up is told unasked
    while not (told := terminal.poll()):
        pass
    if not told[0][1] & select.POLLHUP:
        return  # this system cannot tell of terminals
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        os._exit(128 + signal.SIGHUP)
    os.kill(os.getpid(), signal.SIGHUP)

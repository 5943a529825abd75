"""Check that there is a terminal, and exit when it is closed."""

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
    """Check that there is a terminal; `instead` suggests what works without one.

    Raises:
        UsageError: stdin or stdout is not a terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(f"this needs a terminal; without one, {instead}")
    if hasattr(select, "poll") and os.isatty(_TERMINAL):
        threading.Thread(target=_hang_up_with_terminal, daemon=True).start()


def _hang_up_with_terminal() -> None:
    """End this process when its terminal is closed without a SIGHUP.

    The signal reaches only the terminal's own session, and not with `nohup`. Otherwise the screen would read the end of
    its input forever and use a whole core.
    """
    terminal = select.poll()
    terminal.register(_TERMINAL, 0)  # POLLHUP is always reported
    while not (told := terminal.poll()):
        pass
    if not told[0][1] & select.POLLHUP:
        return  # this system does not support polling terminals
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        os._exit(128 + signal.SIGHUP)
    os.kill(os.getpid(), signal.SIGHUP)

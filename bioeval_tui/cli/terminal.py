"""End with what started the program: check that there is a terminal, and exit when it, or standard
input, is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import threading

from bioeval_tui.base.errors import ExitCode, UsageError
from bioeval_tui.base.streams import has_screen, is_dumb, make_lasting_for_screens

_TERMINAL = 0
"""Standard input, which Textual reads."""


def need_terminal(instead: str) -> None:
    """Get the terminal ready for a screen, and end this process when it is closed from now on.

    `instead` says what to type without a terminal, and what that does.

    Raises:
        UsageError: stdin or stdout is not a terminal, or it only prints lines.
    """
    if is_dumb():
        raise UsageError(f"this terminal (TERM=dumb) cannot draw screens; {instead}")
    if not has_screen():
        raise UsageError(f"this needs a terminal; without one, {instead}")
    make_lasting_for_screens()
    # `_hang_up_with_terminal` waits all the time, so it has its own thread. Windows has neither
    # poll nor SIGHUP.
    if hasattr(select, "poll") and os.isatty(_TERMINAL):
        threading.Thread(target=_hang_up_with_terminal, daemon=True).start()


def code_of_signal() -> asyncio.Future[int]:
    """Return the exit code that SIGTERM or SIGINT ends this process with, once one arrives."""
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[int] = loop.create_future()

    def end(code: int) -> None:
        if not stop.done():
            stop.set_result(code)

    for number, code in ((signal.SIGTERM, ExitCode.OK), (signal.SIGINT, ExitCode.INTERRUPTED)):
        try:
            loop.add_signal_handler(number, end, code)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_, code=code: loop.call_soon_threadsafe(end, code))
    return stop


def end_with_stdin() -> None:
    """Receive a SIGTERM when standard input is closed: its other end is with the program that
    started this one.
    """

    def wait() -> None:
        # The descriptor, not sys.stdin: a thread that holds the latter's lock at exit aborts the
        # interpreter.
        with contextlib.suppress(OSError):
            while os.read(0, 4096):
                pass
        signal.raise_signal(signal.SIGTERM)

    threading.Thread(target=wait, name="stdin", daemon=True).start()


def _hang_up_with_terminal() -> None:
    """End this process when its terminal is closed without a SIGHUP.

    The signal reaches only the terminal's own session, and not with `nohup`. Otherwise the screen
    would read the end of its input forever and use a whole core.
    """
    terminal = select.poll()
    terminal.register(_TERMINAL, 0)  # POLLHUP is always reported
    while not (events := terminal.poll()):
        pass
    if not events[0][1] & select.POLLHUP:
        return  # this system does not support polling terminals
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        os._exit(128 + signal.SIGHUP)
    os.kill(os.getpid(), signal.SIGHUP)

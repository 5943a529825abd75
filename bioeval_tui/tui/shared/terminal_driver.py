"""Textual's driver for a terminal on Unix; it gives the terminal back however the program stops or
ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import termios
from time import monotonic, sleep
from types import FrameType

from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message
from textual.messages import TerminalSupportsSynchronizedOutput

_DEADLY = (
    "SIGTERM", "SIGHUP", "SIGQUIT", "SIGABRT", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGUSR1",
    "SIGUSR2", "SIGXCPU",
    "SIGIO", "SIGPWR", "SIGSTKFLT",
)  # fmt: skip
"""The signals that end a program and can be caught; Python turns SIGINT into an exception, and
Textual then cleans up.
"""
_GIVEN_BACK = (
    b"\x1b[?2026l"  # what was held back is drawn
    b"\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"  # the mouse
    b"\x1b[?2004l\x1b[?2048l\x1b[?7h"  # pastes, changes of size, long lines
    b"\x1b[<u"  # the keyboard, which each of the two screens has its own of
    b"\x1b[?1049l\x1b[?25h\x1b[?1004l"  # the screen as it was, with a cursor
)
_QUESTION = "\x1b[?2026$p"
"""Whether frames can be drawn at once, which Textual asks at the start, too."""
_LOST_S = 5.0
"""How long an answer may take, in seconds."""
_LONGEST_S = 2.0
"""How long a dying program waits for a terminal that accepts nothing."""


class TerminalDriver(LinuxDriver):
    """Restores the terminal at deadly signals, and stops only where a shell can continue the
    program.
    """

    _has_terminal = _answers = False
    _asked_at: float | None = None
    _drawn_to = 2
    """Standard error, or what the program draws on instead."""

    def start_application_mode(self) -> None:
        """Take the terminal, and from now on give it back when a signal ends the program."""
        loop = asyncio.get_running_loop()
        for name in _DEADLY:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                # A signal that another thread takes, or that comes just before the loop waits,
                # would be noticed only at the next event, which may never come: what the loop adds
                # wakes it. What is set after it does not wait for the loop, which may be busy.
                loop.add_signal_handler(number, self._end, number, None)
                signal.signal(number, self._end)
        self._has_terminal = True
        if self._file is not None:
            self._drawn_to = self._file.fileno()
        if forget := getattr(self._app, "forget_written", None):
            forget()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        # In the background, Textual starts nothing.
        self._has_terminal = self._key_thread is not None and self._key_thread.is_alive()

    def stop_application_mode(self) -> None:
        """Give the terminal back, once it has answered: a shell would take the answer as typed."""
        end = monotonic() + _LONGEST_S
        while self.behind and self._answers and monotonic() < end:
            sleep(0.01)
        super().stop_application_mode()
        self._has_terminal, self._asked_at = False, None

    def ask_whether_drawn(self) -> None:
        """Ask the terminal something that it answers when it has drawn all before; do nothing where
        none answers.

        Beyond a network, megabytes may be on their way that neither this program nor its system
        knows of.
        """
        if self._answers and self._asked_at is None:
            self._asked_at = monotonic()
            self.write(_QUESTION)

    def process_message(self, message: Message) -> None:
        """Note answers; the first one is to Textual's own question, at the start."""
        if isinstance(message, TerminalSupportsSynchronizedOutput):
            self._answers, self._asked_at = True, None
        super().process_message(message)

    @property
    def behind(self) -> bool:
        """Whether the terminal has not yet drawn all that was written; an answer may also have been
        lost.
        """
        asked = self._asked_at is not None and monotonic() - self._asked_at < _LOST_S
        return asked or (self._writer_thread is not None and self._writer_thread._queue.qsize() > 0)

    def _end(self, number: int, _frame: FrameType | None) -> None:
        """Give the terminal back and die of the signal, as without this handler.

        Nothing here may wait for a lock: the signal may have come while the main thread held it.
        """
        if self._has_terminal:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, _LONGEST_S)
            # in the background, it would stop the program here
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            with contextlib.suppress(OSError):
                os.write(self._drawn_to, _GIVEN_BACK)
            with contextlib.suppress(termios.error, OSError):
                # a shell would take the mouse's moves as typed
                termios.tcflush(self.fileno, termios.TCIFLUSH)
                if self.attrs_before is not None:
                    termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _sigtstp_application(self, *_: object) -> None:
        """Give the terminal back and stop, until the shell continues the program.

        The system discards this signal where no shell could: there, Textual's SIGSTOP would freeze
        the program forever.
        """
        if self._auto_restart and self._has_terminal:
            self.suspend_application_mode()
            self._must_signal_resume = True
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._sigtstp_application)
        self._resume()

    def _sigcont_application(self, *_: object) -> None:
        """Take the terminal again, which may have been used by others."""
        if self._auto_restart and self._has_terminal:  # after a SIGSTOP
            self.suspend_application_mode()
            self._must_signal_resume = True
        self._resume()

    def _resume(self) -> None:
        if self._auto_restart and not self._has_terminal:
            self.resume_application_mode()

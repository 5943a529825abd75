"""However the program is ended or stopped, the terminal is as it was before."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from bioeval_tui.base.errors import ExitCode
from tests.integration.program import environment
from tests.terminals import Terminal

from .screen import LEFT, Screen

MODES = (b"1049", b"1000", b"1003", b"1006", b"2004", b"1004")
"""The other screen, the mouse, pastes, and the focus."""
DEADLY = ("SIGHUP", "SIGQUIT", "SIGUSR1", "SIGXCPU", "SIGALRM")


def check_given_back(written: bytes) -> None:
    """Check that every mode that was set was reset after, and that the cursor is shown."""
    for mode in MODES:
        on, off = (b"\x1b[?" + mode + end for end in (b"h", b"l"))
        assert written.rfind(off) > written.rfind(on) > -1, mode
    assert written.rfind(b"\x1b[?25h") > written.rfind(b"\x1b[?25l")
    assert written.rfind(b"\x1b[<u") > written.rfind(b"\x1b[>")


def newest_thread(process: int) -> int:
    """Return the id of the thread that takes what is sent to it, or the process's where none are
    listed.

    Usually the main thread takes them, which wakes it; under load, another one may.
    """
    threads = Path(f"/proc/{process}/task")
    return (
        max((int(thread.name) for thread in threads.iterdir()), default=process)
        if threads.is_dir()
        else process
    )


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("app", "SIGTERM"),
        ("docs", "SIGTERM"),
        *(pytest.param("app", name, marks=pytest.mark.long) for name in DEADLY),
    ],
)
def test_a_signal_that_ends_the_program_gives_the_terminal_back(
    tmp_path: Path, command: str, name: str
) -> None:
    number = getattr(signal, name)
    with Screen(command, data_dir=tmp_path) as screen:
        screen.sees("quit")
        screen.until_quiet()  # from now on, nothing else wakes the main thread
        os.kill(newest_thread(screen.process.pid), number)
        assert screen.left() == -number
        while screen.read(0.1):
            pass
        check_given_back(screen.written)


def test_ctrl_z_gives_the_terminal_to_the_shell_until_it_continues_the_program(
    tmp_path: Path,
) -> None:
    looks = {"TERM": "xterm-256color", "TEXTUAL_ANIMATIONS": "none", "PS1": "shell> "}
    shell = ["/bin/bash", "--norc", "-i"]
    with Terminal(shell, {**environment(tmp_path), **looks}, folder=tmp_path) as terminal:
        terminal.until_quiet(b"shell> ")
        terminal.press(f"{sys.executable} -m bioeval_tui app\n".encode())
        terminal.shows(b"screens")
        terminal.press(b"\x1a")
        terminal.shows(b"Stopped")
        check_given_back(terminal.written.partition(b"Stopped")[0])  # a shell has modes of its own
        terminal.press(b"fg\n")
        terminal.shows(b"\x1b[?1049h")
        terminal.shows(b"screens")
        terminal.press(b"\x11")  # ctrl+q
        terminal.shows(LEFT)
        # until the shell reads again: what is typed before may be the program's
        terminal.until_quiet()
        terminal.press(b"exit\n")
        assert terminal.left() == os.EX_OK


def test_ctrl_z_does_not_freeze_a_program_that_no_shell_could_continue(tmp_path: Path) -> None:
    with Screen("app", data_dir=tmp_path) as screen:
        screen.sees("quit")
        screen.press(b"\x1a")
        screen.shows(b"\x1b[?1049h")
        screen.types("?", "Go to the job files")


@pytest.mark.parametrize(
    ("command", "typed"),
    [("app", "`bioeval-tui --help`"), ("demo", "`bioeval-tui demo --headless`")],
)
def test_in_a_terminal_that_only_prints_lines_it_is_said_what_to_type(
    tmp_path: Path, command: str, typed: str
) -> None:
    with Screen(command, data_dir=tmp_path, TERM="dumb") as screen:
        assert screen.left() == ExitCode.BAD_INPUT
        while screen.read(0.1):
            pass
        assert b"\x1b" not in screen.written
        assert b"TERM=dumb" in screen.written
        assert typed.encode() in b" ".join(screen.written.split())

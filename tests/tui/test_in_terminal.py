"""The real program in a real terminal: what is written to it, and how it is left."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hostile import CORPUS

from tests.hostile.terminal import typed
from tests.terminals import SEQUENCE, shapes

HERE = Path(__file__).parent
LONGEST_S = 120.0
SHOWN = """
import sys
sys.path[:0] = [{here!r}]
from hostile import hostile_services
from bioeval_tui.tui.app import BioevalApp
from bioeval_tui.evaluation.engine.interface import RunRequest
BioevalApp(hostile_services({text!r}), RunRequest(jobs=()), on_quit="leave").run()
"""
KEYS = (
    b"\x1b",
    b"\t",
    b"e",
    b"i",
    b"5",
    b"\t",
    b"\t",
    b"\r",
    b"\x1b",
    b"1",
    b"3",
    b"4",
    b"?",
    b"\x1b",
)


def printed(text: str) -> bytes:
    """Run the screens on services full of `text` in a pseudo-terminal, go about, quit; return all
    that was written.
    """
    looks = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "TEXTUAL_ANIMATIONS": "none"}
    command = [sys.executable, "-c", SHOWN.format(here=str(HERE), text=text)]
    written, code = typed(command, KEYS, {**os.environ, **looks})
    assert code == 0, written[-2000:]
    return written


def test_no_escape_sequence_in_hostile_text_reaches_the_terminal() -> None:
    known = shapes(printed("a harmless text"))
    # All at once, what a terminal obeys first: test_hostile.py shows each alone on every screen.
    sequences, markup, directions = CORPUS[:3]
    written = printed(f"{sequences} {directions} {markup}")
    assert shapes(written) <= known
    check_rest(written)


def check_rest(written: bytes) -> None:
    """Check that beside its own sequences the program wrote nothing that a terminal obeys."""
    rest = SEQUENCE.sub(b"", written)
    assert b"\x1b" not in rest
    letters = set(rest.decode("utf-8"))
    assert not {ord(letter) for letter in letters} & {
        *range(0x0A),
        *range(0x0E, 0x20),
        0x0B,
        0x0C,
        0x7F,
        *range(0x80, 0xA0),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
    }
    assert b"]52;" not in b"".join(found[0] for found in SEQUENCE.finditer(written))
    assert b"\x1b[?1049l" in written


def tmux(name: str, *words: str) -> str:
    """Run tmux on a server of its own."""
    done = subprocess.run(
        ["tmux", "-L", name, "-f", "/dev/null", *words], capture_output=True, text=True
    )
    return done.stdout


@pytest.mark.real_server
def test_the_demo_runs_in_a_real_terminal_and_leaves_it_clean(tmp_path: Path) -> None:
    if shutil.which("tmux") is None:
        if os.environ.get("BIOEVAL_REQUIRE_REAL") == "1":
            pytest.fail("tmux is not installed")
        pytest.skip("tmux is not installed")
    name = f"bioeval-{os.getpid()}"
    command = f"{sys.executable} -m bioeval_tui demo --pace fast; echo EXIT=$?; exec sleep 600"
    tmux(
        name,
        "new-session",
        "-d",
        "-x",
        "140",
        "-y",
        "40",
        "-e",
        f"BIOEVAL_DATA_DIR={tmp_path}",
        "-s",
        "s",
        command,
    )
    try:
        wait_for(name, "0.50 → 1.00 with the facts")
        wait_for(name, "Now try your own")
        tmux(name, "send-keys", "-t", "s", "q")
        left = wait_for(name, "EXIT=")
        assert "EXIT=0" in left
        assert "mean of both" in left
        assert f"bioeval-tui runs replay {next(tmp_path.glob('runs/*.jsonl')).stem}" in left
        assert (
            tmux(
                name, "display-message", "-p", "-t", "s", "#{alternate_on}#{mouse_any_flag}"
            ).strip()
            == "00"
        )
    finally:
        tmux(name, "kill-server")


def wait_for(name: str, words: str) -> str:
    """Wait until the terminal shows `words`; return all that it shows."""
    end = time.monotonic() + LONGEST_S
    while time.monotonic() < end:
        shown = tmux(name, "capture-pane", "-p", "-t", "s")
        if words in shown:
            return shown
        select.select([], [], [], 0.1)
    raise AssertionError(f"not seen: {words}\n{shown}")

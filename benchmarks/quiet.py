"""What the live screen writes to a terminal of 120 × 40 in true colour while nothing but time
passes, and for a key.

    uv run python benchmarks/quiet.py                  # one minute
    uv run python benchmarks/quiet.py --reader 8000    # so many bytes a second are read

It shows an awaited answer, a paused and an ended replay.
The agent hardly answers. Bytes and repaints are counts; CPU is of the screen's process.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from measure import RUNS  # noqa: F401 - one environment for all programs

from bioeval_tui.base.isolation import program_command

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.terminals import Terminal

WATCHED_S = 10.0
SETTLED_S = 0.35
"""After so long without a byte, a key is answered: a cursor blinks twice a second."""
KEYS = {
    "? help": b"?",
    "esc, back": b"\x1b",
    "ctrl+p palette": b"\x10",
    "esc, back from it": b"\x1b",
    "i panels": b"i",
    "i without panels": b"i",
    "3 Runs": b"3",
    "2 Live": b"2",
}
GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "demo-run.jsonl"
RUN = "20261120-210356-44c7"
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@contextlib.contextmanager
def slow_agent(folder: Path) -> Iterator[str]:
    """Run the sample agent, which says a word every 100 s; yields its address."""
    command = program_command("agent", "--port", "0", "--tokens-per-second", "0.01")
    env = {**os.environ, "BIOEVAL_DATA_DIR": str(folder)}
    with subprocess.Popen(
        [*command, "--exit-with-stdin"], stdin=-1, stdout=-1, stderr=-3, env=env
    ) as agent:
        assert agent.stdin
        assert agent.stdout
        yield json.loads(agent.stdout.readline())["url"]
        agent.stdin.close()


def cpu_s(pid: int) -> float:
    """Return the processor seconds of a process on Linux."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Reader(Terminal):
    """A terminal that reads so many bytes a second at most; 0 is as fast as it can."""

    speed = answered = 0

    def read(self, longest_s: float, most: int = 65536) -> bytes | None:
        """Read, slowly."""
        piece = super().read(longest_s, self.speed // 10 or most)
        if piece and self.speed:
            time.sleep(len(piece) / self.speed)
        # The terminal says that it can draw a whole frame at once, as most do, when it has come so
        # far.
        while self.written.count(b"\x1b[?2026$p", self.answered) and piece:
            self.answered = self.written.index(b"\x1b[?2026$p", self.answered) + 1
            self.press(b"\x1b[?2026;2$y")
        return piece

    def passes(self, seconds: float) -> None:
        """Read for so long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)

    def tell(self, name: str, seconds: float = WATCHED_S) -> None:
        """Watch for a while, and print what was written."""
        before, cpu, began = len(self.written), cpu_s(self.process.pid), time.monotonic()
        self.passes(seconds)
        took, new = time.monotonic() - began, self.written[before:]
        frames = new.count(b"\x1b[?2026h")
        used = (cpu_s(self.process.pid) - cpu) / took
        print(
            f"{name:32} {len(new) / took:8.0f} B/s {frames / took:6.1f} repaints/s {used:6.1%} of a"
            " core"
        )

    def answer(self, key: bytes, name: str) -> None:
        """Press a key, and print how much was written and how long it took to read until nothing
        more came.
        """
        before, began = len(self.written), time.monotonic()
        self.press(key)
        last = began
        while time.monotonic() < last + SETTLED_S:
            if self.read(0.05):
                last = time.monotonic()
        print(f"{name:32} {len(self.written) - before:8} B in {last - began:6.2f} s")


def opened(folder: Path, *words: str, speed: int) -> Reader:
    """Start the program with these words."""
    looks = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "BIOEVAL_DATA_DIR": str(folder)}
    command = program_command(*words)
    terminal = Reader(command, {**os.environ, **looks}, columns=120, rows=40)
    terminal.speed = speed
    return terminal


def main() -> None:
    """Measure each state in turn."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--reader", type=int, default=0, metavar="BYTES", help="read so many bytes a second"
    )
    speed = parser.parse_args().reader
    with tempfile.TemporaryDirectory() as name, slow_agent(Path(name)) as url:
        folder = Path(name)
        (folder / "runs").mkdir(exist_ok=True)
        shutil.copy(GOLDEN, folder / "runs" / f"{RUN}.jsonl")
        run = ("run", "medication_reminder", "--rehearsal", "--agent-url", url)
        with opened(folder, *run, speed=speed) as live:
            live.shows(b"agent")
            live.passes(12)
            live.tell("an answer is awaited")
            for name, key in KEYS.items():
                live.answer(key, name)
            live.press(b" ")
            live.passes(3)
            live.tell("the same, paused")
            live.press(b"\x11")
            live.passes(1)
            live.press(b"X")
            live.left()
        with opened(folder, "runs", "replay", RUN, speed=speed) as replay:
            replay.shows(b"playback")
            replay.tell("a replay plays", 4.0)
            replay.press(b" ")
            replay.passes(3)
            replay.tell("a replay is paused")
            replay.press(b"E")
            replay.passes(4)
            replay.tell("a replay has ended")
            replay.press(b"\x11")
            replay.left()


if __name__ == "__main__":
    main()

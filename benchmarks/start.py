"""How fast the program starts: commands beside what they cannot do without, and first paints beside
a bare Textual app.

    uv run python benchmarks/start.py            # a minute

First paint is from starting the process in a pseudo-terminal of 160×45 until the title of its first
screen came out; for `demo`, until its introduction. `demo` and a replay then load their screen:
`until its run` goes on until the terminal shows what the run is about, above its conversations. The
processor time of a paint is that of the process alone, without an engine that it may have started.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import select
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from fcntl import ioctl
from functools import partial
from pathlib import Path

from measure import RUNS, Taken, in_turn, ratio, spread, timed
from replay import GOLDEN, write
from throughput import JOB, TURNS, environment, peer

from bioeval_tui.base.isolation import program_command

BARE_APP = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("painted")
Bare().run()
"""
TITLE = "›"
"""Only the title of a screen has it; the program's name is in what it says of a failure, too."""
TOPIC = "warfarin"
"""What both the demo's run and the replayed one are about."""
TICKS = os.sysconf("SC_CLK_TCK")


def paint(command: list[str], marker: bytes, env: dict[str, str]) -> Taken:
    """Return what it took until `marker` came out of the pseudo-terminal."""
    began = time.perf_counter()
    pid, master = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, env)
    ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 160, 0, 0))
    seen = b""
    try:
        while marker not in seen:
            if not select.select([master], [], [], 60)[0]:
                raise SystemExit(f"{command[:5]} painted no {marker!r}: {seen[-300:]!r}")
            seen += os.read(master, 1 << 16)
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return Taken(time.perf_counter() - began, (int(fields[11]) + int(fields[12])) / TICKS)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(master)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, peer() as url:
        folder = Path(name)
        job, runs = folder / "job.yml", folder / "data" / "runs"
        job.write_text(JOB.replace(f"maxTurns: {2 * TURNS}", "maxTurns: 2"))
        runs.mkdir(parents=True)
        recording = runs / f"{json.loads(GOLDEN.read_text().splitlines()[0])['run_id']}.jsonl"
        write(recording, 10_000)
        env = environment(url, folder / "data")
        screen = {**env, "TERM": "xterm-256color", "COLORTERM": "truecolor"}

        def process(command: list[str]) -> Callable[[], Taken]:
            return lambda: timed(command, env)[0]

        def program(*arguments: str) -> Callable[[], Taken]:
            return process(program_command(*arguments))

        def first(marker: str, *arguments: str) -> Callable[[], Taken]:
            return partial(paint, program_command(*arguments), marker.encode(), screen)

        def imports(names: str) -> Callable[[], Taken]:
            return process([sys.executable, "-c", f"import {names}"])

        one_turn = ("run", str(job), "--agent-url", url, "--headless", "--json", "--graph", "none")
        ways: dict[str, Callable[[], Taken]] = {
            "import click": imports("click"),
            "--help": program("--help"),
            "run --help": program("run", "--help"),
            "check of a job": program("check", str(job)),
            "import openai": imports("openai"),
            "headless run of one turn": program(*one_turn),
            "bare Textual app": partial(
                paint, [sys.executable, "-c", BARE_APP], b"painted", screen
            ),
            "app": first(TITLE, "app"),
            "demo": first("Does an agent", "demo"),
            "replay of 10,000 events": first(TITLE, "runs", "replay", recording.stem),
            "demo, until its run": first(TOPIC, "demo"),
            "replay, until its run": first(TOPIC, "runs", "replay", recording.stem),
        }
        beside = dict.fromkeys(("--help", "run --help"), "import click")
        beside |= dict.fromkeys(("check of a job", "headless run of one turn"), "import openai")
        paints = ("app", "demo", "replay of 10,000 events")
        beside |= dict.fromkeys(paints, "bare Textual app")
        runs_shown = ("demo, until its run", "replay, until its run")
        beside |= dict.fromkeys(runs_shown, "bare Textual app")
        found = in_turn(ways, options.runs)
    print(f"{'':26}{'wall, ms':>20}{'CPU, ms':>20}  CPU beside another")
    for way, taken in found.items():
        wall, cpu, _ = zip(*taken, strict=True)
        other = beside.get(way)
        than = f"{ratio(cpu, [one.cpu for one in found[other]]):.2f} × {other}" if other else ""
        print(f"{way:26}{spread(wall, '.0f', 1000):>20}{spread(cpu, '.0f', 1000):>20}  {than}")


if __name__ == "__main__":
    main()

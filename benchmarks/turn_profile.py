"""Where the processor time of a turn goes, by rooms of the program and the libraries below them.

    uv run python benchmarks/turn_profile.py                      # 50 conversations of 10 turns
    uv run python benchmarks/turn_profile.py --conversations 200

A headless run is interrupted every few milliseconds of its processor time. A sample belongs to the
innermost function of a room below, so that what json or re do counts for who called them; imports,
preparations and the result are left out. Milliseconds
are those of this machine: the shares tell more.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import FrameType

import measure  # noqa: F401  # says the machine's load
from throughput import JOB, TURNS, environment, peer

INTERVAL_S = 0.001
ROOMS = {
    "bioeval_tui/guards/": "guards",
    "bioeval_tui/languages/": "guards",
    "bioeval_tui/record/": "recording",
    "bioeval_tui/peers/models/prompting": "prompts",
    "bioeval_tui/jobs/": "prompts",
    "/jinja2/": "prompts",
    "bioeval_tui/peers/models/": "what models answer",
    "bioeval_tui/peers/agents/": "the agent's protocol",
    "bioeval_tui/peers/": "limits and failures of requests",
    "bioeval_tui/evaluation/conversation/observe": "the agent's state",
    "bioeval_tui/evaluation/": "the conversation",
    "/openai/": "openai",
    "/httpx2/": "HTTP client",
    "/httpx_aiohttp/": "HTTP client",
    "/aiohttp/": "HTTP client",
    "/yarl/": "HTTP client",
    "/asyncio/": "event loop",
    "bioeval_tui/": "the rest",
}
"""Parts of a file's path, and the room that its functions belong to; the first that fits counts."""
OUTSIDE = ("importlib._bootstrap", "/bioeval_tui/report/", "/bioeval_tui/cli/")
"""What is no turn: imports and preparations, and the result. The event loop stands below `cli`, so
that only what is nearer than the loop counts.
"""
LOOP = "/asyncio/base_events.py"


class Samples:
    """How often each room was met."""

    def __init__(self) -> None:
        self.met: Counter[str] = Counter()
        self.taken = 0
        self._rooms: dict[str, str] = {}

    def take(self, _: int, frame: FrameType | None) -> None:
        """Note where the program is."""
        self.taken += 1
        room = ""
        while frame is not None:
            name = frame.f_code.co_filename
            if any(part in name for part in OUTSIDE):
                return
            room = room or self._room(name)
            if name.endswith(LOOP):
                break
            frame = frame.f_back
        if frame is not None:
            self.met[room] += 1

    def _room(self, name: str) -> str:
        if name not in self._rooms:
            rooms = (room for part, room in ROOMS.items() if part in name)
            self._rooms[name] = next(rooms, "")
        return self._rooms[name]


def main() -> None:
    """Run, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--conversations", type=int, default=50)
    options = parser.parse_args()
    samples = Samples()
    with tempfile.TemporaryDirectory() as name, peer() as url:
        folder = Path(name)
        job = folder / "job.yml"
        job.write_text(JOB)
        os.environ.update(environment(url, folder))
        number = options.conversations
        sys.argv[1:] = ["run", str(job), "--agent-url", url, "--headless", "--json"]
        sys.argv += ["--graph", "none", "--repeat", str(number // 2), "--concurrency", str(number)]
        began = time.process_time()
        run(samples)
        sample_ms = 1000 * (time.process_time() - began) / samples.taken
    turns = number * TURNS
    print(f"{number} conversations of {TURNS} turns; processor time of a turn")
    for room, met in samples.met.most_common():
        print(f"{room:32} {met * sample_ms / turns:5.2f} ms {met / samples.met.total():6.1%}")


def run(samples: Samples) -> None:
    """Run the command in this process, interrupted."""
    from bioeval_tui.cli.main import main as program

    with Path(os.devnull).open("w") as nothing:
        out, err, sys.stdout, sys.stderr = sys.stdout, sys.stderr, nothing, nothing
        signal.signal(signal.SIGPROF, samples.take)
        signal.setitimer(signal.ITIMER_PROF, INTERVAL_S, INTERVAL_S)
        try:
            program()
        except SystemExit:
            pass
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            sys.stdout, sys.stderr = out, err


if __name__ == "__main__":
    main()

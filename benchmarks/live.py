"""How true and how light the live screen is, in the real program with its engine and an agent, all
processes of their own.

    uv run python benchmarks/live.py                      # all, five runs each; five minutes
    uv run python benchmarks/live.py --only both --runs 1

The program runs in a pseudo-terminal of 160×45 (`bioeval-tui run …`). The agent (`wire_agent.py`)
streams long Markdown tables; when bytes came to it and left it the kernel says. Measured are

- latency: for every turn, what the screen shows (the recording's `latency_ms`) minus the time
  between the request's last byte and the answer's last byte at the agent's socket, at 300 tokens/s;
- first token: from the moment an answer's first word left the agent until it came out of the
  pseudo-terminal;
- both: both conditions at once at 100 tokens/s each, with latencies and assertions: how late a task
  that wants to run every 10 ms runs in the screen's event loop, and the processor time of the
  screen's process, while conversations are held.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import pty
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from fcntl import ioctl
from pathlib import Path
from typing import Any

from measure import RUNS, percentile

from bioeval_tui.base.isolation import program_command

HERE = Path(__file__).parent
TICK_S = 0.01
ASSERTIONS = [
    {"name": "three turns were held", "expression": "objectContext.resources.size >= 3"},
    {
        "name": "what is shown is a turn",
        "expression": 'objectContext.resources.all { "Turn" in it.labels }',
    },
    {
        "name": "every answer came in time",
        "expression": (
            'evaluation.transcript.filter { it.role == "assistant" }.all { it.timeTakenMillis <'
            " 5000 }"
        ),
        "invariant": True,
    },
]
Figures = dict[str, list[float]]


class Screen:
    """The program in a pseudo-terminal; `first_seen(marker)` is when a text first came out of
    it.
    """

    def __init__(self, command: list[str], data_dir: Path, **more: str) -> None:
        environment = {
            **os.environ,
            "BIOEVAL_DATA_DIR": str(data_dir),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            **more,
        }
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, environment)
        ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 160, 0, 0))
        self.is_open = True
        self._chunks: list[tuple[float, bytes]] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(self.master, 1 << 16):
                self._chunks.append((time.time(), data))
        self.is_open = False

    @property
    def end(self) -> bytes:
        """The last bytes that came out."""
        return b"".join(data for _, data in self._chunks)[-500:]

    def first_seen(self, marker: bytes) -> float | None:
        """Return when the bytes that hold `marker` were read, in seconds since 1970."""
        return self.seen_since(0.0, marker)

    def seen_since(self, since: float, marker: bytes) -> float | None:
        """Return when `marker` was first read after a moment, in seconds since 1970."""
        tail = b""
        for at, data in self._chunks:
            if at < since:
                continue
            if marker in tail + data:
                return at
            tail = data[-len(marker) :]
        return None

    def close(self) -> None:
        """Press q until it has ended; end it if that does not help."""
        for _ in range(20):
            with contextlib.suppress(OSError):
                os.write(self.master, b"q")
            time.sleep(0.25)
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                break
        else:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.master)


@contextmanager
def agent(tokens_per_second: int) -> Iterator[str]:
    """Run the agent; give its address."""
    command = [
        sys.executable,
        str(HERE / "wire_agent.py"),
        "--tokens-per-second",
        str(tokens_per_second),
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        yield process.stdout.readline().strip()
        process.stdin.close()


def job(turns: int, order: str = "withheld-first") -> str:
    """Return a job whose script asks so many questions, in conditions of this order."""
    return json.dumps(
        {
            "target": {"user": "bench", "chatbot": "bench"},
            "aspirationalAverage": 1000,
            "maxTurns": 2 * turns + 4,
            "evaluator": {
                "kind": "scripted",
                "lines": [{"say": f"What of drug {n}?"} for n in range(turns)],
            },
            "scorer": {"kind": "rules"},
            "tasks": [],
            "facts": [],
            "assertions": ASSERTIONS,
            "greetings": ["Hello"],
            "order": order,
        }
    )


@contextmanager
def run_on_screen(
    url: str,
    turns: int,
    program: list[str],
    *options: str,
    order: str = "withheld-first",
    **more: str,
) -> Iterator[tuple[Screen, list[dict[str, Any]]]]:
    """Run a job in the pseudo-terminal until it has ended; give the screen and the recording's
    events.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "bench.yml"
        path.write_text(job(turns, order))
        command = [*program, "run", str(path), "--agent-url", url, *options]
        screen = Screen(command, folder / "data", **more)
        try:
            yield screen, _until_ended(screen, folder / "data" / "runs")
        finally:
            screen.close()


def _until_ended(screen: Screen, runs: Path) -> list[dict[str, Any]]:
    while screen.is_open:
        time.sleep(0.5)
        for recording in runs.glob("*.jsonl"):
            *_, last = recording.read_bytes().rstrip().rpartition(b"\n")
            if b'"run_ended"' in last:
                time.sleep(0.5)
                return [json.loads(line) for line in recording.read_bytes().splitlines()]
    raise SystemExit(f"the program ended before its run: {screen.end.decode(errors='replace')}")


def one_after_the_other(turns: int) -> Figures:
    """Return, for each turn, the error of the latency shown and the first word's way to the
    terminal, in ms.
    """
    program = program_command()
    with agent(300) as url, run_on_screen(url, turns, program) as (screen, events):
        with urllib.request.urlopen(f"{url}/wire") as given:
            wire = json.load(given)
        seen = [screen.first_seen(one["marker"].encode()) for one in wire]
    sessions = {
        (e["condition"]): e["session_id"] for e in events if e["kind"] == "conversation_started"
    }
    shown = [
        (sessions[e["condition"]], e["latency_ms"])
        for e in events
        if e["kind"] == "message_completed" and e["role"] == "assistant"
    ]
    measured = [(one["session"], (one["left"] - one["arrived"]) * 1000) for one in wire]
    if [session for session, _ in shown] != [session for session, _ in measured]:
        raise SystemExit(f"{len(measured)} answers were sent, {len(shown)} are in the recording")
    if None in seen:
        print(f"  never seen on the screen: {seen.count(None)} of {len(seen)}")
    return {
        "error": [abs(a - b) for (_, a), (_, b) in zip(shown, measured, strict=True)],
        "first": [
            (at - one["first"]) * 1000 for at, one in zip(seen, wire, strict=True) if at is not None
        ],
    }


def both_at_once(turns: int) -> Figures:
    """Return how late the ticker was in the screen's process, in ms, and its processor time in % of
    one core.
    """
    program = [sys.executable, str(HERE / "live.py"), "--inside"]
    with tempfile.NamedTemporaryFile() as file, agent(100) as url:
        with run_on_screen(url, turns, program, order="parallel", BENCH_TICKS=file.name) as (
            _,
            events,
        ):
            kinds = [event["kind"] for event in events]
            begin = seconds(events[kinds.index("message_delta")])
            end = seconds(events[-1 - kinds[::-1].index("message_delta")])
        ticks = [tick for tick in json.load(file) if begin <= tick[0] <= end]
    used = (ticks[-1][2] - ticks[0][2]) / (ticks[-1][0] - ticks[0][0])
    return {"lag": [tick[1] * 1000 for tick in ticks], "cpu": [100 * used]}


def seconds(event: dict[str, Any]) -> float:
    """Return when an event happened, in seconds since 1970."""
    return datetime.fromisoformat(event["at"]).timestamp()


def kept_waiting_s() -> float:
    """Return for how many seconds in all other processes kept this thread from a core that it was
    ready for.
    """
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


def inside(arguments: list[str]) -> None:
    """Be the program, with one more task on its event loop that notes the time, how late it is, the
    CPU used, and for how long other processes had kept this thread from running.
    """
    from bioeval_tui.cli import main as cli
    from bioeval_tui.tui.app import BioevalApp

    ticks: list[tuple[float, float, float, float]] = []
    running: list[asyncio.Task[None]] = []
    mounted = BioevalApp.on_mount

    async def watch() -> None:
        while True:
            due = time.perf_counter() + TICK_S
            await asyncio.sleep(TICK_S)
            late_s = time.perf_counter() - due
            ticks.append((time.time(), late_s, time.process_time(), kept_waiting_s()))

    def on_mount(app: BioevalApp) -> None:
        mounted(app)
        running.append(asyncio.create_task(watch()))

    BioevalApp.on_mount = on_mount  # type: ignore[method-assign, assignment]
    sys.argv = ["bioeval-tui", *arguments]
    try:
        cli.main()
    finally:
        Path(os.environ["BENCH_TICKS"]).write_text(json.dumps(ticks))


def main() -> None:
    """Measure, and print medians of the runs."""
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--turns", type=int, default=20, help="turns a condition; both conditions are held"
    )
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", choices=("latency", "both"))
    options = parser.parse_args()
    if options.only != "both":
        runs = [one_after_the_other(options.turns) for _ in range(options.runs)]
        report("latency shown − at the wire", "ms", [run["error"] for run in runs])
        report("first token, agent's socket to terminal", "ms", [run["first"] for run in runs])
    if options.only != "latency":
        runs = [both_at_once(max(2, options.turns // 2)) for _ in range(options.runs)]
        report("both at 100 tokens/s: lag of the screen", "ms", [run["lag"] for run in runs])
        cpu = statistics.median(run["cpu"][0] for run in runs)
        print(f"{'both at 100 tokens/s: CPU of the screen':42} {cpu:.0f} % of one core")


def report(what: str, unit: str, runs: list[list[float]]) -> None:
    """Print the medians over the runs of p50 and p95, and the largest of all."""
    p50, p95 = (statistics.median(percentile(run, share) for run in runs) for share in (0.5, 0.95))
    most = max(max(run) for run in runs)
    count = sum(len(run) for run in runs)
    print(
        f"{what:42} p50 {p50:.1f} {unit}, p95 {p95:.1f} {unit}, max {most:.0f} {unit}  (n={count})",
        flush=True,
    )


if __name__ == "__main__":
    main()

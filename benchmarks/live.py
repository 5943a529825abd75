"""How true the live screen is: its latencies against the agent's own, and the first token's way to the screen.

    uv run python benchmarks/live.py            # both, about two minutes
    uv run python benchmarks/live.py --turns 50 --runs 3

The real program runs in a pseudo-terminal of 160×45 (`bioeval-tui run …`), the agent in a process of its own. All
processes share one monotonic clock. Two measurements:

- latency: for every turn, what the screen shows (the recording's `latency_ms`) minus what the sample agent measured
  itself, while long Markdown tables stream into the screen;
- first token: from the moment an agent wrote the first word of an answer to its socket until that word came out of the
  pseudo-terminal.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import pty
import select
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
from fcntl import ioctl
from pathlib import Path

from aiohttp import web

TABLE = "\n".join(
    f"| row {n} | {n * 17 % 101} | some words that fill a cell | {n / 7:.3f} |" for n in range(12)
)


def percentile(values: list[float], share: float) -> float:
    """Return the nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Screen:
    """The program in a pseudo-terminal; `seen(marker)` is when a text first came out of it."""

    def __init__(self, command: list[str], data_dir: Path) -> None:
        environment = {
            **os.environ,
            "BIOEVAL_DATA_DIR": str(data_dir),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
        }
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, environment)
        ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 160, 0, 0))
        self._chunks: list[tuple[float, bytes]] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                ready, _, _ = select.select([self.master], [], [], 1)
                if ready:
                    data = os.read(self.master, 1 << 16)
                    if not data:
                        return
                    self._chunks.append((time.monotonic(), data))

    def first_seen(self, marker: bytes) -> float | None:
        """Return the monotonic time at which the bytes that hold `marker` were read."""
        tail = b""
        for at, data in self._chunks:
            if marker in tail + data:
                return at
            tail = data[-len(marker) :]
        return None

    def close(self) -> None:
        """Press q twice, then end it."""
        for key in (b"q", b"q"):
            with contextlib.suppress(OSError):
                os.write(self.master, key)
                time.sleep(0.3)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        os.close(self.master)


def job(turns: int, lines: list[str]) -> str:
    """Return a job whose script says `lines`."""
    return json.dumps(
        {
            "target": {"user": "bench", "chatbot": "bench"},
            "aspirationalAverage": 1000,
            "maxTurns": 2 * turns + 4,
            "evaluator": {"kind": "scripted", "lines": [{"say": line} for line in lines]},
            "scorer": {"kind": "rules"},
            "tasks": [],
            "facts": [],
            "greetings": ["Hello"],
            "order": "withheld-first",
        }
    )


def run_on_screen(url: str, turns: int, lines: list[str], folder: Path) -> tuple[Screen, list[dict]]:
    """Run a job in the pseudo-terminal until it has ended; return the screen and the recording's events."""
    path = folder / "bench.yml"
    path.write_text(job(turns, lines))
    screen = Screen(
        [sys.executable, "-m", "bioeval_tui", "run", str(path), "--agent-url", url], folder / "data"
    )
    deadline = time.monotonic() + 600
    events: list[dict] = []
    while time.monotonic() < deadline:
        time.sleep(0.5)
        for recording in (folder / "data" / "runs").glob("*.jsonl"):
            events = [
                json.loads(line)
                for line in recording.read_bytes().splitlines(keepends=False)
                if line.endswith(b"}")
            ]
        if events and events[-1]["kind"] == "run_ended":
            time.sleep(0.5)
            return screen, events
    raise SystemExit("the run did not end")


def latency(turns: int) -> list[float]:
    """Return |shown − measured by the sample agent| in ms, one a turn."""
    drugs = ["warfarin", "simvastatin", "ibuprofen", "clarithromycin"]
    lines = [f"What interacts with {drugs[n % 4]}? Question {n}." for n in range(turns)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [
            sys.executable,
            "-m",
            "bioeval_tui",
            "agent",
            "--port",
            "0",
            "--exit-with-stdin",
            "--tokens-per-second",
            "300",
            "--graph",
            str(folder / "graph.db"),
        ]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
            assert agent.stdout is not None
            url = json.loads(agent.stdout.readline())["url"]
            screen, events = run_on_screen(url, turns, lines, folder)
            screen.close()
            differences = []
            for start in (event for event in events if event["kind"] == "conversation_started"):
                with urllib.request.urlopen(f"{url}/api/v1/chat/latencies/{start['session_id']}") as answer:
                    own = [entry["latencyMs"] for entry in json.load(answer)]
                shown = [
                    event["latency_ms"]
                    for event in events
                    if event["kind"] == "message_completed"
                    and event["role"] == "assistant"
                    and event["condition"] == start["condition"]
                ]
                differences += [abs(a - b) for a, b in zip(shown, own, strict=True)]
            agent.stdin.close()  # type: ignore[union-attr]
    return differences


def first_token(turns: int) -> list[float]:
    """Return the way of each answer's first word from the agent's socket to the terminal, in ms."""
    sent: dict[str, float] = {}
    ready = threading.Event()
    address: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        marker = f"first{len(sent):04d}word"
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await asyncio.sleep(0.15)
        text = f"{marker} and then\n\n| a | b | c | d |\n|---|---|---|---|\n{TABLE}\n"
        pieces = [f"{marker} ", *(line + "\n" for line in text.removeprefix(f"{marker} ").split("\n"))]
        for number, piece in enumerate(pieces):
            if number == 0:
                sent[marker] = time.monotonic()
            await response.write(f"event: delta\ndata: {json.dumps({'content': piece})}\n\n".encode())
            await asyncio.sleep(0.02)
        whole = {
            "sessionId": body["sessionId"],
            "chatbot": "bench",
            "message": {"content": text, "role": "assistant"},
            "history": [],
            "events": [],
        }
        await response.write(f"event: message\ndata: {json.dumps(whole)}\n\n".encode())
        return response

    async def serve() -> None:
        async def session(request: web.Request) -> web.Response:
            return web.json_response({"sessionId": f"s{time.monotonic_ns()}"})

        async def context(request: web.Request) -> web.Response:
            return web.json_response({"context": "", "resources": [], "functions": []})

        app = web.Application()
        app.add_routes(
            [
                web.put("/api/v1/chat/sessions", session),
                web.put("/api/v1/chat/messages", answer),
                web.get("/api/v1/chat/objectContexts/{s}", context),
            ]
        )
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        address.append(f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}")  # type: ignore[union-attr]
        ready.set()
        await asyncio.Event().wait()

    threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
    ready.wait(10)
    with tempfile.TemporaryDirectory() as name:
        screen, _ = run_on_screen(address[0], turns, [f"Question {n}" for n in range(turns)], Path(name))
        found = {marker: screen.first_seen(marker.encode()) for marker in sent}
        screen.close()
    missing = [marker for marker, at in found.items() if at is None]
    if missing:
        print(f"  never seen on the screen: {len(missing)} of {len(found)} ({', '.join(missing[:3])} …)")
    return [(at - sent[marker]) * 1000 for marker, at in found.items() if at is not None]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=25, help="turns a condition; both conditions are held")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    for name, measure in (
        ("latency shown − measured by the agent", latency),
        ("first token, socket to screen", first_token),
    ):
        p50s, p95s, most, count = [], [], [], 0
        for _ in range(options.runs):
            values = measure(options.turns)
            count += len(values)
            p50s.append(statistics.median(values))
            p95s.append(percentile(values, 0.95))
            most.append(max(values))
        print(
            f"{name}: n={count}  p50 {statistics.median(p50s):.1f} ms  p95 {statistics.median(p95s):.1f} ms  max {max(most):.1f} ms  (medians of {options.runs} runs)"
        )


if __name__ == "__main__":
    main()

"""What a turn costs beside its peers, and what 200 conversations at once cost the event loop.

    uv run python benchmarks/turns.py

One conversation at a time, of 20 and of 100 turns, then 200 of 10; five times.
The peers (`peer.py`) note on the machine's monotonic clock when each request came and when its
answer was sent.

- *overhead*: the time of a turn in which no request was with a peer: sockets, clients, guards,
  checks, recording. *Bare* is the same for a script that sends the same requests through the same
  clients, one after the other.
- *lag*: how late a task that wants to run every 5 ms runs, in the process that holds 200
  conversations; its peak memory.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

from measure import RUNS, percentile
from throughput import HERE, JOB, TURNS, environment, one_conversation, peer, run_bare

LAG_STEP_S = 0.005
LENGTHS = (20, 100)
"""Turns of the conversations whose turns are looked at: every turn sends the whole transcript so
far.
"""


class Overhead(NamedTuple):
    """Percentiles of a conversation's turns."""

    p50: float
    p95: float


def run(url: str, folder: Path, turns: int, trials: int, at_once: int) -> dict[str, Any]:
    """Hold the conversations in a process of its own; return what it measured of itself."""
    job = folder / "job.yml"
    job.write_text(JOB.replace(f"maxTurns: {2 * TURNS}", f"maxTurns: {2 * turns}"))
    command = [
        *(sys.executable, str(HERE / "turns.py"), "--inside"),
        *("run", str(job), "--agent-url", url, "--headless", "--json", "--graph", "none"),
        *("--repeat", str(trials), "--concurrency", str(at_once)),
    ]
    data = Path(tempfile.mkdtemp(dir=folder))
    done = subprocess.run(command, env=environment(url, data), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"exit {done.returncode}: {done.stderr[-2000:]}")
    measured: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
    return measured


def inside(arguments: list[str]) -> None:
    """Be the program, with one more task on its event loop that measures how late it runs."""
    from bioeval_tui.cli import headless, main as cli
    from bioeval_tui.evaluation.engine import batch

    late: list[float] = []

    async def watch() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(LAG_STEP_S)
            late.append(time.perf_counter() - began - LAG_STEP_S)

    held = batch.run_batch

    async def watched(*args: Any, **options: Any) -> Any:
        watcher = asyncio.create_task(watch())
        try:
            return await held(*args, **options)
        finally:
            watcher.cancel()

    for module in (
        batch,
        headless,
        *[m for n, m in sys.modules.items() if n.startswith("bioeval_tui.")],
    ):
        if getattr(module, "run_batch", None) is held:
            module.run_batch = watched  # type: ignore[attr-defined]
    sys.argv = ["bioeval-tui", *arguments]
    try:
        cli.main()
    finally:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        found = {
            "p50": percentile(late, 0.5),
            "p95": percentile(late, 0.95),
            "max": max(late),
            "peak_mb": peak,
        }
        print(json.dumps(found), file=sys.stderr)


def medians(measured: list[Overhead]) -> Overhead:
    """Return the median of each percentile, in milliseconds."""
    return Overhead(*(statistics.median(column) * 1000 for column in zip(*measured, strict=True)))


def overhead(url: str) -> Overhead:
    """Return the percentiles since they were last asked for; without the first turns, which open
    connections.
    """
    found = [one for one in overheads(url)[3:] if one < 1]
    return Overhead(percentile(found, 0.5), percentile(found, 0.95))


def overheads(url: str) -> list[float]:
    """Return, for each turn, the seconds in which no request was with a peer."""
    with urllib.request.urlopen(f"{url}/times") as given:
        spans = [tuple(span) for span in json.loads(given.read())]
    asked = [began for path, began, _ in spans if path.endswith("/messages")]
    found = []
    for start, end in itertools.pairwise(asked):
        busy, until = 0.0, start
        for _, began, ended in sorted(spans, key=lambda span: span[1]):
            began, ended = max(began, until), min(ended, end)
            if ended > began:
                busy += ended - began
                until = ended
        found.append(end - start - busy)
    return found


def main() -> None:
    """Measure, and print."""
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    turns: dict[int, list[Overhead]] = {length: [] for length in LENGTHS}
    bare: dict[int, list[Overhead]] = {length: [] for length in LENGTHS}
    many: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name, peer() as url:
        requests = {length: one_conversation(url, Path(name), length) for length in LENGTHS}
        for _ in range(options.runs):
            for length in LENGTHS:
                urllib.request.urlopen(f"{url}/times").read()
                run(url, Path(name), length, 1, 1)
                turns[length].append(overhead(url))
                run_bare(url, Path(name), requests[length], 1)
                bare[length].append(overhead(url))
            many.append(run(url, Path(name), TURNS, 100, 200))
    for length, measured in turns.items():
        ours, script = medians(measured), medians(bare[length])
        print(
            f"overhead of a turn, one of {length}: p50 {ours.p50:.1f} ms, p95 {ours.p95:.1f} ms;"
            f" bare p50 {script.p50:.1f} ms, p95 {script.p95:.1f} ms; ours × bare"
            f" {ours.p50 / script.p50:.1f} and {ours.p95 / script.p95:.1f}"
        )
    lag = {key: statistics.median(one[key] for one in many) for key in many[0]}
    print(
        f"200 conversations at once: lag p50 {lag['p50'] * 1000:.1f} ms, p95"
        f" {lag['p95'] * 1000:.1f} ms, max {lag['max'] * 1000:.0f} ms; peak memory"
        f" {lag['peak_mb']:.0f} MB"
    )


if __name__ == "__main__":
    main()

"""How much faster a run is on the workers of a Dask cluster than in one process, for an agent in
Python that is busy with every answer.

    uv run python benchmarks/many_machines.py                # 40 conversations, two workers
    uv run python benchmarks/many_machines.py --workers 8 --trials 200
    uv run python benchmarks/many_machines.py --busy 0       # what the recording process can take

*Whole* is the command from start to exit, *conversations* from the first conversation's beginning
to the end of the run, as the recording says. Workers are started before, and have loaded the
program after the first round, which does not count. *CPU* is the command's own, without its
workers.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import distributed
import psutil
from measure import RUNS, Taken, in_turn, ratio, spread, timed

from bioeval_tui.base.isolation import program_command

AGENT = """
import hashlib, time


def answer(message):
    until = time.thread_time() + BUSY_S
    while time.thread_time() < until:
        hashlib.sha256(bytes(1000)).digest()
    return f"I made a note of {message}"
"""
JOB = """
target: {user: ada, chatbot: bench, protocol: python, function: busy_bench_agent:answer}
aspirationalAverage: 100000
seed: 1
evaluator:
  kind: scripted
  lines: [{say: "Please make a note."}, {say: "And another one."}, {say: "And a third."}]
scorer: {kind: rules}
facts: [The user lives in Sydney]
tasks: [{task: Have a note made, rules: [{pattern: made a note}]}]
"""


class Ways:
    """The command with and without a cluster, on the same job."""

    def __init__(self, folder: Path, trials: int, cluster: Any) -> None:
        self._folder = folder
        self._trials = trials
        self._cluster = cluster
        self.bytes_each = 0
        self.busiest: list[float] = []
        """The processor seconds of the worker that used most, of each round."""

    def alone(self) -> Taken:
        """Hold the conversations in one process."""
        return self._run()

    def on_workers(self) -> Taken:
        """Hold them on the workers."""
        before = self._used()
        taken = self._run("--scheduler", self._cluster.scheduler_address)
        self.busiest.append(max(now - was for now, was in zip(self._used(), before, strict=True)))
        return taken

    def _used(self) -> list[float]:
        """Return the processor seconds of each worker so far."""
        times = [psutil.Process(one.pid).cpu_times() for one in self._cluster.workers.values()]
        return [used.user + used.system for used in times]

    def _run(self, *options: str) -> Taken:
        data = Path(tempfile.mkdtemp(dir=self._folder))
        command = [
            *program_command("run", str(self._folder / "job.yml"), "--code", str(self._folder)),
            *("--repeat", str(self._trials), "--graph", "none", "--headless", *options),
        ]
        whole, _ = timed(command, {**os.environ, "BIOEVAL_DATA_DIR": str(data)})
        recording = next((data / "runs").glob("*.jsonl"))
        lines = [json.loads(line) for line in recording.read_text().splitlines()]
        scored = sum(line["kind"] == "conversation_scored" for line in lines)
        if scored != 2 * self._trials:
            raise SystemExit(f"{scored} conversations were held")
        self.bytes_each = recording.stat().st_size // scored
        began = min(line["at"] for line in lines if line["kind"] == "conversation_started")
        times = [datetime.fromisoformat(at) for at in (began, lines[-1]["at"])]
        return whole._replace(held=(times[1] - times[0]).total_seconds())


def main() -> None:
    """Measure, and print a table with the ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--busy", type=float, default=0.25, help="CPU seconds of an answer")
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        agent = AGENT.replace("BUSY_S", str(options.busy))
        (folder / "busy_bench_agent.py").write_text(agent)
        (folder / "job.yml").write_text(JOB)
        os.environ["BIOEVAL_DATA_DIR"] = name
        with distributed.LocalCluster(
            n_workers=options.workers,
            threads_per_worker=1,
            dashboard_address=None,
            host="127.0.0.1",
        ) as cluster:
            ways = Ways(folder, options.trials, cluster)
            measured: dict[str, Callable[[], Taken]] = {
                "one process": ways.alone,
                f"{options.workers} workers": ways.on_workers,
            }
            times = in_turn(measured, options.runs)
    count = 2 * options.trials
    print(f"{count} conversations of 4 answers, each {options.busy:g} s of CPU; medians")
    print(f"{'':14}{'whole, s':>24}{'conversations, s':>24}{'CPU, s':>20}")
    for who, taken in times.items():
        wall, cpu, held = (list(values) for values in zip(*taken, strict=True))
        print(f"{who:14}{spread(wall):>24}{spread(held):>24}{spread(cpu):>20}")
    alone, workers = times.values()
    for what, place in (("whole", 0), ("conversations", 2)):
        faster = ratio([one[place] for one in alone], [one[place] for one in workers])
        print(f"{what}: {faster:.2f} × as fast with {options.workers} workers")
    on_workers = [one.cpu + used for one, used in zip(workers, ways.busiest[1:], strict=True)]
    bound = ratio([one.cpu for one in alone], on_workers)
    print(
        f"by processor time: {bound:.2f} × (one process beside the busiest worker and the whole"
        " command, one after the other), which other work on the machine does not change"
    )
    own = sorted(one.cpu for one in workers)[len(workers) // 2]
    print(
        f"the recording: {ways.bytes_each:,} bytes a conversation; the command's own CPU with"
        f" workers: {1000 * own / count:.1f} ms a conversation, its start included"
    )


if __name__ == "__main__":
    main()

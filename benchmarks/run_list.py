"""How long listing many runs takes: `uv run python benchmarks/run_list.py [--runs 10000]`.

Writes that many small recordings, then measures the first listing (which reads them all), the
following ones inside a process, and whole `runs list` commands, beside a bare `python -c "import
click"`. Prints medians.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from measure import Taken, in_turn, spread, timed

from bioeval_tui.base.isolation import program_command
from bioeval_tui.record import events
from bioeval_tui.record.catalogue import Catalogue
from bioeval_tui.record.events import write_event

REPEATS = 5


def write_recordings(folder: Path, count: int) -> None:
    """Write `count` finished recordings, a minute apart, and two that were interrupted for every
    hundred.
    """
    folder.mkdir(parents=True)
    begin = datetime(2025, 1, 1, tzinfo=UTC)
    for number in range(count):
        at = begin + timedelta(minutes=number)
        run_id = f"{at:%Y%m%d-%H%M%S}-{number % 65536:04x}"
        whole = _recording(run_id, number, at)
        kept = whole[:-1] if number % 100 in (3, 50) else whole
        (folder / f"{run_id}.jsonl").write_bytes(b"".join(map(write_event, kept)))


def _recording(run_id: str, number: int, at: datetime) -> list[events.RunEvent]:
    job = {"aspirationalAverage": 1000, "tasks": [{"task": "a task"}], "facts": ["a fact"]}
    found: list[events.RunEvent] = [
        events.RunStarted(
            run_id=run_id, seq=1, at=at, job_name=f"job_{number % 7}", job_path="job.yml", job=job,
            job_sha256="0" * 64, program_version="0", agent="a", evaluator="e", judge="j", seed=1,
            model=f"model-{number % 3}",
        )
    ]  # fmt: skip
    for condition in ("withheld", "supplied"):
        where = {"run_id": run_id, "at": at, "condition": condition, "trial": 1, "attempt": 1}
        for message in range(1, 7):
            found.append(
                events.MessageCompleted(
                    **where, seq=len(found) + 1, message=message, turn=(message + 1) // 2,
                    role="user" if message % 2 else "assistant", speaker="s", content="words " * 20,
                )
            )  # fmt: skip
        found.append(
            events.ConversationScored(
                **where, seq=len(found) + 1, score=0.5, parts=(), penalty=0.0, failures=0
            )
        )
    found.append(
        events.RunEnded(
            run_id=run_id, seq=len(found) + 1, at=at, status="completed",
            scores={"withheld": 0.5, "supplied": 0.5}, mean=number % 100 / 100,
        )
    )  # fmt: skip
    return found


def median_ms(work: Callable[[], object]) -> float:
    """Return the median time of a few repetitions, in milliseconds."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10_000)
    count = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        runs_dir = Path(folder) / "runs"
        write_recordings(runs_dir, count)
        catalogue = Catalogue(runs_dir)
        began = time.perf_counter()
        catalogue.runs()
        print(
            f"first listing of {count:,} runs, every file read  "
            f" {time.perf_counter() - began:8.2f} s"
        )
        time.sleep(2.1)  # a folder that changed just now is looked at again
        catalogue.runs()
        print(f"all runs, in a process                      {median_ms(catalogue.runs):8.1f} ms")
        print(
            "newest 50, in a process                    "
            f" {median_ms(lambda: catalogue.runs(limit=50)):8.1f} ms"
        )
        (runs_dir / "other.txt").touch()
        print(
            "newest 50 after the folder changed         "
            f" {median_ms(lambda: catalogue.runs(limit=50)):8.1f} ms"
        )
        time.sleep(2.1)
        catalogue.runs(limit=1)
        environment = {**os.environ, "BIOEVAL_DATA_DIR": folder}

        def process(command: list[str]) -> Callable[[], Taken]:
            return lambda: timed(command, environment)[0]

        ways = {
            "runs list": process(program_command("runs", "list")),
            f"runs list --limit {count}": process(
                program_command("runs", "list", "--limit", str(count))
            ),
            "runs list --json": process(program_command("runs", "list", "--json")),
            "python -c 'import click'": process([sys.executable, "-c", "import click"]),
        }
        for name, taken in in_turn(ways).items():
            wall, cpu, _ = zip(*taken, strict=True)
            print(f"{name:28} {spread(wall, '.0f', 1000)} ms, CPU {spread(cpu, '.0f', 1000)} ms")


if __name__ == "__main__":
    main()

"""A recording of up to 1,000,000 events, opened as a replay that is shown whole: read, and folded
into the state of its run.

    uv run python benchmarks/replay.py    # medians of five, each size in a process of its own

The recording is the golden demo run's conversations again and again, as the trials of one run.
*bare* parses the same lines with `json.loads` and keeps them. *back* goes back from the end to the
last turn but one, as `[` does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from measure import RUNS, in_turn, ratio, spread, timed

GOLDEN = Path(__file__).parent.parent / "tests" / "golden" / "demo-run.jsonl"
SIZES = (1_000, 10_000, 100_000, 1_000_000)


def write(path: Path, events: int) -> None:
    """Write a recording of so many events."""
    lines = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
    talk = [line for line in lines if line.get("trial") is not None]
    head, tail = lines[: lines.index(talk[0])], lines[lines.index(talk[-1]) + 1 :]
    with path.open("w") as file:
        lines = [*head, *_again(talk, events - len(head) - len(tail)), *tail]
        for number, line in enumerate(lines, start=1):
            file.write(json.dumps({**line, "seq": number}) + "\n")


def _again(talk: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    return [{**talk[n % len(talk)], "trial": n // len(talk) + 1} for n in range(count)]


def inside(kind: str, path: Path) -> None:
    """Read the recording in this process; print the seconds and the peak memory in MB that it
    took.
    """
    began = time.perf_counter()
    if kind == "bare":
        kept: Any = [json.loads(line) for line in path.open("rb")]
    else:
        from bioeval_tui.evaluation.engine.attach import ReplayedRun
        from bioeval_tui.record.state import RunState, apply_all

        began = time.perf_counter()
        view, state = ReplayedRun(path, None), RunState()

        async def shown(given: int | None = None) -> None:
            async for batch in view.events():
                apply_all(state, batch)
                if view.given == given:
                    return

        asyncio.run(shown())
        if kind == "back":
            began, state, place = time.perf_counter(), RunState(), view.marks[-3].given
            view.seek(place)
            asyncio.run(shown(place))
        kept = (view, state)
    took = time.perf_counter() - began
    assert kept
    print(json.dumps([took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))


def measure(kind: str, path: Path) -> tuple[float, float, float]:
    """Return the seconds of reading and folding, the processor seconds of the process, and its peak
    memory in MB.
    """
    took, printed = timed([sys.executable, __file__, "--inside", kind, str(path)])
    seconds, memory = json.loads(printed)
    return seconds, took.cpu, memory


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        inside(options.inside[0], Path(options.inside[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        for events in SIZES:
            path = Path(folder) / f"{events}.jsonl"
            write(path, events)
            ways = {kind: partial(measure, kind, path) for kind in ("ours", "back", "bare")}
            found = in_turn(ways, options.runs)
            print(f"{events:9,} events, {path.stat().st_size / 1e6:5.1f} MB")
            for kind, taken in found.items():
                wall, cpu, memory = zip(*taken, strict=True)
                than = ratio(wall, [seconds for seconds, *_ in found["bare"]])
                print(
                    f"  {kind:5} {spread(wall)} s, CPU of the process {spread(cpu)} s,"
                    f" {max(memory):.0f} MB: {than:.2f} × bare"
                )


if __name__ == "__main__":
    main()

"""What the cost of each kind of work grows by as there is ten and a hundred times as much of it.

    uv run python benchmarks/growth.py                    # all, medians of five; an hour
    uv run python benchmarks/growth.py --only turns,replay --runs 1
    uv run python benchmarks/growth.py --picture docs/pictures/growth.svg

The functions that measure are those of the other benchmarks. *Grew* is the cost of the largest size
over that of the middle one, for ten times the work: at most 10 is linear or better. The small size
mostly shows what is paid once. *Memory* is the peak of this process and all below it but the
peer's, shared memory counted once, looked at five times a second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

from measure import RUNS

Measure = Callable[[], float]
LINEAR = 11.5
"""Ten, and what repeated measurements differ by."""


@dataclass(frozen=True)
class Work:
    """A kind of work: what there is more of, at which sizes, and what gives the seconds that a size
    takes.

    `measures` gives, for each size in turn, what measures it once; it may prepare what all
    repetitions share. What it gives is good until the next size is asked for. `flat` says that the
    cost is of one piece of work beside so many others, and must not grow with them.
    """

    title: str
    of: str
    sizes: tuple[int, int, int]
    measures: Callable[[tuple[int, ...]], Iterator[Measure]]
    flat: bool = False


def conversations(sizes: tuple[int, ...]) -> Iterator[Measure]:
    """Hold so many conversations of 10 turns at once."""
    from throughput import ours, peer

    def measure(url: str, folder: Path, size: int) -> float:
        return ours(url, folder, size).held

    with _folder() as folder, peer() as url:
        for size in sizes:
            yield partial(measure, url, folder, size)


def cases(sizes: tuple[int, ...]) -> Iterator[Measure]:
    """Hold a conversation of one turn about each of so many cases, in both conditions."""
    from measure import timed
    from throughput import JOB, TURNS, environment, peer

    from bioeval_tui.base.isolation import program_command

    def measure(url: str, folder: Path) -> float:
        data = Path(tempfile.mkdtemp(dir=folder))
        command = program_command(
            "run", str(folder / "job.yml"), "--agent-url", url, "--headless", "--json"
        )
        return timed([*command, "--graph", "none", "--concurrency", "50"], environment(url, data))[
            0
        ].wall

    for size in sizes:
        with _folder() as folder, peer() as url:
            rows = "".join(f"patient-{number},cough number {number}\n" for number in range(size))
            (folder / "cases.csv").write_text(f"patient,complaint\n{rows}")
            job = JOB.replace(
                f"maxTurns: {2 * TURNS}", "maxTurns: 2\ncases: {file: cases.csv, id: patient}"
            )
            (folder / "job.yml").write_text(job.replace("the plan", "{{ case.complaint }}"))
            yield partial(measure, url, folder)


def turns(sizes: tuple[int, ...]) -> Iterator[Measure]:
    """Hold one conversation of so many turns: its time without what its peers took."""
    from throughput import peer
    from turns import overheads, run

    def measure(url: str, folder: Path, size: int) -> float:
        with urllib.request.urlopen(f"{url}/times") as given:
            given.read()
        run(url, folder, size, 1, 1)
        # The first turns open connections and import the client.
        return statistics.mean(overheads(url)[3:]) * size

    with _folder() as folder, peer() as url:
        for size in sizes:
            yield partial(measure, url, folder, size)


def replay(sizes: tuple[int, ...]) -> Iterator[Measure]:
    """Read and fold a recording of so many events."""
    from replay import measure as replayed, write

    def measure(path: Path) -> float:
        return replayed("ours", path)[0]

    with _folder() as folder:
        for size in sizes:
            path = folder / f"{size}.jsonl"
            write(path, size)
            yield partial(measure, path)


def stream(sizes: tuple[int, ...]) -> Iterator[Measure]:
    """Stream 2,000 tokens at 1,000/s over so many messages: processor time of the screen."""

    def measure(size: int) -> float:
        command = [sys.executable, __file__, "--stream-over", str(size)]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    for size in sizes:
        yield partial(measure, size)


def medal_table(which: int) -> Callable[[tuple[int, ...]], Iterator[Measure]]:
    """Return what measures opening (0), sorting (1) or filtering (2) a medal table of so many
    reports.
    """

    def measure(size: int, repetitions: Iterator[int]) -> float:
        return _table_used(size, next(repetitions))[which] / 1000

    def measures(sizes: tuple[int, ...]) -> Iterator[Measure]:
        for size in sizes:
            yield partial(measure, size, count())

    return measures


@cache
def _table_used(size: int, repetition: int) -> list[float]:
    """Open, sort and filter a medal table once for all three."""
    from medal_table import measure

    return measure(size, file=False)


def grading(sizes: tuple[int, ...]) -> Iterator[Measure]:
    """Grade a batch of so many submissions of 100 rows on two workers that are warm."""
    from grading import World, throughput as graded

    def measure(world: Any, size: int) -> float:
        # The plain loop has no part in this: it grades ten.
        return size / graded(world, ["tiny"], size, 1, 10)[1]

    for size in sizes:
        with _folder() as folder:
            world = World(folder)
            world.csv_task("tiny", "mean_absolute_error", 100, size, binary=False, lower=True)
            yield partial(measure, world, size)


def rows(sizes: tuple[int, ...]) -> Iterator[Measure]:
    """Grade one CSV file of so many rows by its AUC."""
    from grading import World, process_seconds

    from bioeval_tui.base.isolation import program_command

    def measure(world: Any) -> float:
        file = str(world.files / "auc" / "0.csv")
        command = program_command("grade-sample", file, "bench/auc", "--data-dir", str(world.data))
        return process_seconds(command, {**os.environ, "BIOEVAL_TASKS_DIR": str(world.tasks)})

    for size in sizes:
        with _folder() as folder:
            world = World(folder)
            world.csv_task("auc", "roc_auc", size, 1, binary=True, lower=False)
            yield partial(measure, world)


def run_list(sizes: tuple[int, ...]) -> Iterator[Measure]:
    """List so many runs for the first time, reading every recording."""
    from run_list import write_recordings

    from bioeval_tui.record.catalogue import Catalogue

    def measure(folder: Path) -> float:
        for path in folder.glob("catalogue.sqlite*"):
            path.unlink()
        began = time.perf_counter()
        Catalogue(folder).runs()
        return time.perf_counter() - began

    for size in sizes:
        with _folder() as folder:
            write_recordings(folder / "runs", size)
            yield partial(measure, folder / "runs")


WORKS = {
    "conversations": Work("conversations at once", "conversations", (4, 40, 400), conversations),
    "cases": Work("cases of one turn", "cases", (100, 1_000, 10_000), cases),
    "turns": Work("one conversation, beside its peers", "turns", (10, 100, 1_000), turns),
    "replay": Work("replay", "events", (10_000, 100_000, 1_000_000), replay),
    "stream": Work("live stream over a history", "messages", (20, 200, 2_000), stream, flat=True),
    "open": Work("medal table: open", "reports", (1_000, 10_000, 100_000), medal_table(0)),
    "sort": Work("medal table: sort", "reports", (1_000, 10_000, 100_000), medal_table(1)),
    "filter": Work("medal table: filter", "reports", (1_000, 10_000, 100_000), medal_table(2)),
    "grading": Work("grading", "submissions", (1_000, 10_000, 100_000), grading),
    "rows": Work("grade one file", "rows", (100_000, 1_000_000, 10_000_000), rows),
    "runs": Work("list of runs, every file read", "runs", (1_000, 10_000, 100_000), run_list),
}


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="bioeval-growth-") as name:
        yield Path(name)


class Peak:
    """While it is entered, notes the peak memory of this process and those below it, in MB (Linux;
    0 elsewhere).
    """

    def __init__(self) -> None:
        self.megabytes = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        from grading import proportional_megabytes

        from bioeval_tui.grade.batch.containment import LINUX, below

        while LINUX and not self._ended.wait(0.2):
            ours = [pid for pid in (os.getpid(), *below(os.getpid())) if not _is_peer(pid)]
            self.megabytes = max(self.megabytes, sum(map(proportional_megabytes, ours)))


def _is_peer(pid: int) -> bool:
    try:
        return b"peer.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True  # it has ended


def stream_over(messages: int) -> float:
    """Return the seconds of processor time that streaming over so many messages takes in this
    process.
    """
    from ui import stream_here

    lag, _ = asyncio.run(stream_here("text", 2_000, 1_000, messages))
    return lag.cpu_s


def seconds(value: float) -> str:
    """Return a time with three digits, in the unit that it is read best in."""
    for unit, least in (("s", 1.0), ("ms", 1e-3)):
        if value >= least:
            return f"{value / least:.3g} {unit}"
    return f"{value * 1e6:.3g} µs"


def table_row(work: Work, costs: list[float], peaks: list[float]) -> str:
    """Return a line of the table."""
    sizes = " · ".join(f"{size:,}" for size in work.sizes)
    whole = " · ".join(seconds(cost) for cost in costs)
    each = " · ".join(
        seconds(cost / (1 if work.flat else size))
        for cost, size in zip(costs, work.sizes, strict=True)
    )
    grew = costs[-1] / costs[-2]
    verdict = (
        "linear or better" if grew <= (LINEAR / 10 if work.flat else LINEAR) else "grows faster"
    )
    memory = " · ".join(f"{peak:,.0f}" for peak in peaks) + " MB"
    return (
        f"{work.title:36} {sizes + ' ' + work.of:34} {whole:28} {each:30} {memory:22} {grew:6.2f}× "
        f" {verdict}"
    )


def main() -> None:
    """Measure, print a table, and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(WORKS), help=f"some of {','.join(WORKS)}")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--figures", type=Path, help="write the seconds to this JSON file")
    parser.add_argument("--picture", type=Path, help="draw to this SVG file")
    parser.add_argument("--stream-over", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stream_over is not None:
        print(stream_over(options.stream_over))
        return
    print(
        f"{'':36} {'size':34} {'seconds':28} {'a piece (stream: in all)':30} {'memory':22}"
        f" {'grew':>6}"
    )
    found: dict[str, list[float]] = {}
    for name in options.only.split(","):
        work, peaks = WORKS[name], []
        found[name] = []
        for measure in work.measures(work.sizes):
            with Peak() as peak:
                found[name].append(statistics.median(measure() for _ in range(options.runs)))
            peaks.append(peak.megabytes)
        print(table_row(work, found[name], peaks), flush=True)
    if options.figures:
        options.figures.write_text(json.dumps(found, indent=1))
    if options.picture:
        from growth_picture import Panel, draw

        works = [(WORKS[name], costs) for name, costs in found.items()]
        panels = [Panel(work.title, work.of, work.sizes, costs, work.flat) for work, costs in works]
        picture = draw(panels, [[seconds(cost) for cost in costs] for costs in found.values()])
        options.picture.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()

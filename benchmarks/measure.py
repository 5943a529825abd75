"""How every benchmark measures: one environment for all programs, processor time beside the clock,
medians with their spread.

Importing it lets the programs that a benchmark starts write their bytecode: where
`PYTHONDONTWRITEBYTECODE` is set, each start would compile everything that it imports, and the
compiler would be measured. It also prints, when the benchmark ends, the load of the machine at its
beginning and end (on standard error).
"""

from __future__ import annotations

import atexit
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
RUNS = 5
"""How often each benchmark measures, unless told otherwise."""
Found = TypeVar("Found")


class Taken(NamedTuple):
    """What a process took: seconds by the clock, seconds of the processors with its children's, and
    those of its work by the clock.
    """

    wall: float
    cpu: float
    held: float = 0.0


def timed(
    command: Sequence[str], env: Mapping[str, str] | None = None, *, codes: Sequence[int] = (0,)
) -> tuple[Taken, str]:
    """Run a program to its end; return what it took and what it printed."""
    before, began = children_cpu(), time.perf_counter()
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    took = Taken(time.perf_counter() - began, children_cpu() - before)
    if done.returncode not in codes:
        said = (done.stdout + done.stderr)[-2000:]
        raise SystemExit(f"{' '.join(command[:6])} exited {done.returncode}: {said}")
    return took, done.stdout


def children_cpu() -> float:
    """Return the processor seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def in_turn(ways: Mapping[str, Callable[[], Found]], runs: int = RUNS) -> dict[str, list[Found]]:
    """Measure each way so often, A B A B …, after one round that does not count: it writes bytecode
    and fills caches.
    """
    found: dict[str, list[Found]] = {name: [] for name in ways}
    for number in range(runs + 1):
        for name, measure in ways.items():
            one = measure()
            if number:
                found[name].append(one)
        print(f"round {number} of {runs}", file=sys.stderr)
    return found


def ratio(ours: Sequence[float], others: Sequence[float]) -> float:
    """Return the median of the ratios, pair by pair: what slows the machine down for a while slows
    both.
    """
    return statistics.median(one / other for one, other in zip(ours, others, strict=True))


def spread(values: Sequence[float], form: str = ".2f", scale: float = 1.0) -> str:
    """Return the median with the smallest and the largest: `3.19 (3.10–3.52)`."""
    low, middle, high = (
        format(scale * value, form)
        for value in (min(values), statistics.median(values), max(values))
    )
    return f"{middle} ({low}–{high})"


def percentile(values: Sequence[float], share: float) -> float:
    """Return the nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _load() -> str:
    return " ".join(f"{value:.1f}" for value in os.getloadavg())


def _say_load(began: str) -> None:
    print(
        f"load average of {os.cpu_count()} processors: {began} at first, {_load()} at last",
        file=sys.stderr,
    )


if os.environ.setdefault("BIOEVAL_BENCHMARK", str(os.getpid())) == str(os.getpid()):
    atexit.register(_say_load, _load())  # not in the processes that a benchmark starts

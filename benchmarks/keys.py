"""How soon the live screen answers a key while both conditions stream into it.

    uv run python benchmarks/keys.py            # one run of twenty rounds; three minutes

The real program in a pseudo-terminal of 160×45, as in `live.py`: both conditions at 100 tokens/s
each, with latencies and assertions. Keys are sent as a keyboard would; a key is answered when a
text that only its answer shows has come out of the pseudo-terminal. *First* is the first time in a
run, when a screen may have to be loaded; *again* every later time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

from live import Screen, agent, job
from measure import percentile

from bioeval_tui.base.isolation import program_command

# What is looked for stands behind the first letter of an empty line: the cursor stands on that. A
# cell that shows the same letter already is not written again: of `Runs` over `Jobs`, the last one.
KEYS: dict[str, tuple[bytes, bytes]] = {
    "? help": (b"?", b"Both conversations of a run"),
    "/ find": (b"/", b"ext in all conversations"),
    "ctrl+p palette": (b"\x10", b"earch for commands"),
    "ctrl+p its list": (b"\x10", b"Pause both conversations"),
    "1 Jobs": (b"1", b"Jobs"),
    "3 Runs": (b"3", b"Run"),
    "4 Benchmarks": (b"4", b"Benchmarks"),
    "5 Medals": (b"5", b"Medals"),
    "2 Live": (b"2", b"without the facts"),
    "space pause": (b" ", b"PAUSED"),
    "space go on": (b" ", b"LIVE"),
}
CLOSED_BY_ESCAPE = ("? help", "/ find", "ctrl+p palette", "ctrl+p its list")
PATIENCE_S = 3.0
SETTLE_S = 0.3


def answered(screen: Screen, key: bytes, marker: bytes) -> float | None:
    """Press a key; return the milliseconds until the marker came, None if it did not."""
    began = time.time()
    os.write(screen.master, key)
    while time.time() < began + PATIENCE_S:
        at = screen.seen_since(began, marker)
        if at is not None:
            return (at - began) * 1000
        time.sleep(0.001)
    return None


def one_run(rounds: int) -> dict[str, list[float | None]]:
    """Press every key so many times while the run goes on; return what each time took."""
    found: dict[str, list[float | None]] = {name: [] for name in KEYS}
    with agent(100) as url, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "bench.yml"
        path.write_text(job(200, "parallel"))
        program = program_command("run", str(path), "--agent-url", url)
        screen = Screen(program, folder / "data")
        try:
            while screen.first_seen(b"drug 1?") is None:
                time.sleep(0.05)
            for _ in range(rounds):
                for key, (press, marker) in KEYS.items():
                    found[key].append(answered(screen, press, marker))
                    time.sleep(SETTLE_S)
                    if key in CLOSED_BY_ESCAPE:
                        os.write(screen.master, b"\x1b")
                        time.sleep(SETTLE_S)
        finally:
            screen.close()
    return found


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    runs = [one_run(options.rounds) for _ in range(options.runs)]
    print(f"{'key':16} {'first':>8} {'again: p50':>12} {'p95':>8} {'max':>8}   (ms)")
    for key in KEYS:
        first = [run[key][0] for run in runs]
        again = [took for run in runs for took in run[key][1:]]
        if None in first or None in again:
            print(f"{key:16} not answered {(first + again).count(None)} times")
            continue
        known = [took for took in again if took is not None]
        print(
            f"{key:16} {statistics.median(took for took in first if took is not None):8.0f} "
            f"{percentile(known, 0.5):12.0f} {percentile(known, 0.95):8.0f} {max(known):8.0f}"
        )


if __name__ == "__main__":
    main()

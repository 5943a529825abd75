"""One process that tries cases of one kind: `python -m tests.fuzz.child KIND --seed 1 --cases 200
--folder DIR`.

Says a line of JSON for each finding and, last, one that sums up. The case being tried is in
`DIR/current`, so that whoever started this knows what it was when the process dies. Cases come from
hypothesis: the same seed gives the same.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import hypothesis

from tests.fuzz.kinds import KINDS, kind_of
from tests.fuzz.watch import Hang, Watch

HERE = Path(__file__).parent
PR_SET_PDEATHSIG = 1


class Trial:
    """Tries cases, counts what comes of them, keeps one case of each finding."""

    def __init__(self, kind: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["BIOEVAL_DATA_DIR"] = str(folder / "data")
        self.folder = folder
        self.watch = Watch([folder])
        self.kind = kind_of(kind)(folder, self.watch)
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.findings: dict[str, str] = {}
        self.slowest_ms = 0.0
        (self.folder / "current").touch()
        self._current = (self.folder / "current").open("r+b")

    def run(self, case: bytes) -> None:
        """Try one case. A finding is said once for each place in the code."""
        self._note(case)
        self.kind.prepare(case)
        started = time.process_time()
        with self.watch.case() as noticed:
            found, outcome = "", "error"
            try:
                outcome = self.kind.run(case)
            except Hang as hang:
                found = f"hang: {hang}"
            except BaseException as error:
                found = f"{type(error).__name__}: {str(error)[:200]}{_place(error)}"
        self.slowest_ms = max(self.slowest_ms, (time.process_time() - started) * 1000)
        self.outcomes["finding" if found or noticed else outcome] += 1
        for what in filter(None, [found, *noticed]):
            key = what.split(" @ ")[-1] if " @ " in what else what[:60]
            if key not in self.findings:
                self.findings[key] = what
                number = len(self.findings)
                path = self.folder / f"finding-{number}"
                path.write_bytes(case)
                print(json.dumps({"finding": what, "case": str(path)}), flush=True)

    def _note(self, case: bytes) -> None:
        self._current.seek(0)
        self._current.truncate()
        self._current.write(case)
        self._current.flush()

    def summary(self) -> dict[str, Any]:
        """Return what came of it."""
        return {
            "cases": self.outcomes.total(),
            "outcomes": dict(self.outcomes.most_common()),
            "findings": list(self.findings.values()),
            "slowest_ms": round(self.slowest_ms),
        }


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "bioeval_tui" in frame.filename] or frames
    return (
        f" @ {type(error).__name__} {Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""
    )


def main() -> None:
    """Try the kept finds first, then new cases."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--only", type=Path, help="Try this one file.")
    options = parser.parse_args()
    if sys.platform.startswith("linux"):  # end with whoever started this, however they end
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    trial = Trial(options.kind, options.folder)
    kept = [options.only] if options.only else sorted((HERE / "found" / options.kind).glob("*"))
    always = trial.kind.always()
    first = [*(path.read_bytes() for path in kept), *([] if options.only else always)]
    for case in always[:1] or first[:1]:  # what is imported late must not count as a case's memory
        trial.kind.prepare(case)
        trial.kind.run(case)
    trial.watch.limit_address_space()
    for case in first:
        trial.run(case)

    @hypothesis.seed(options.seed)
    @hypothesis.settings(
        max_examples=max(1, options.cases - len(first)),
        deadline=None,
        database=None,
        derandomize=False,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(trial.kind.cases())
    def tried(case: bytes) -> None:
        trial.run(case)

    if not options.only and options.cases > len(first):
        tried()
    trial.kind.close()
    print(json.dumps(trial.summary()), flush=True)


if __name__ == "__main__":
    main()

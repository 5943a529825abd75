"""Starts the process that tries cases (`child`), and another when one dies or hangs; that is a
finding, too.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SILENT_S = 60.0
"""A case may take 5 s of processor time; one that sleeps this long hangs all the same."""
MOST_DEATHS = 5


@dataclass
class Tried:
    """What came of the cases of one kind.

    A finding is what happened and the file that holds the case.
    """

    cases: int = 0
    outcomes: collections.Counter[str] = field(default_factory=collections.Counter)
    findings: list[tuple[str, Path]] = field(default_factory=list)
    slowest_ms: int = 0


def tried(kind: str, folder: Path, *, cases: int, seed: int = 1) -> Tried:
    """Try that many cases of one kind below `folder`; each death of the process is one finding, and
    the rest goes on.
    """
    found = Tried()
    for death in range(MOST_DEATHS):
        part = folder / str(death)
        part.mkdir(parents=True)
        summary, ended = _child(kind, part, cases - found.cases, seed + 1000 * death, found)
        if summary is not None:
            found.cases += summary["cases"]
            found.outcomes.update(summary["outcomes"])
            found.slowest_ms = max(found.slowest_ms, summary["slowest_ms"])
            return found
        case = folder / f"death-{death}"
        shutil.copy(part / "current", case)
        found.findings.append((f"the process {ended}", case))
    return found


def _child(
    kind: str, folder: Path, cases: int, seed: int, found: Tried
) -> tuple[dict[str, Any] | None, str]:
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "tests.fuzz.child",
        kind,
        "--folder",
        str(folder),
    ]
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "LANG", "HOME", "PYTHONPATH")
    }
    limits = {
        "MALLOC_ARENA_MAX": "2",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    process = subprocess.Popen(
        [*command, "--cases", str(cases), "--seed", str(seed)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=ROOT, env={**kept, **limits},
    )  # fmt: skip
    watcher = threading.Thread(
        target=_end_when_silent, args=(process, folder / "current"), daemon=True
    )
    watcher.start()
    assert process.stdout is not None
    summary = None
    for line in process.stdout:
        said = json.loads(line)
        if "finding" in said:
            found.findings.append((said["finding"], Path(said["case"])))
        else:
            summary = said
    _, errors = process.communicate()
    if process.returncode == 0:
        return summary, ""
    ended = (
        f"died of {signal.Signals(-process.returncode).name}"
        if process.returncode < 0
        else f"failed: {errors[-1500:]}"
    )
    return None, ended


def _end_when_silent(process: subprocess.Popen[str], current: Path) -> None:
    """Kill the process when it has been at the same case for too long."""
    seen = -1.0
    while process.poll() is None:
        with contextlib.suppress(OSError):
            now = current.stat().st_mtime
            if now == seen:
                process.kill()
                return
            seen = now
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SILENT_S)

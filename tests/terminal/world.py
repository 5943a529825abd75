"""What the screens in these tests show: recorded runs and graded submissions."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from bioeval_tui.record.runs import read_live
from tests.integration.program import run

REPOSITORY = Path(__file__).parents[2]
GOLDEN = REPOSITORY / "tests" / "golden" / "demo-run.jsonl"
RUN = "20261120-210356-44c7"
ANOTHER_RUN = "20261121-090000-beef"


def recorded(data_dir: Path) -> Path:
    """Put two recordings of whole runs into a data folder, and return it."""
    (data_dir / "runs").mkdir()
    text = GOLDEN.read_text(encoding="utf-8")
    for run_id in (RUN, ANOTHER_RUN):
        (data_dir / "runs" / f"{run_id}.jsonl").write_text(
            text.replace(RUN, run_id), encoding="utf-8"
        )
    return data_dir


def graded(data_dir: Path) -> Path:
    """Grade the sample submissions, and return the folder of the reports."""
    reports = data_dir / "reports"
    submissions = REPOSITORY / "sample_submissions" / "submissions.jsonl"
    done = run("grade", str(submissions), "--output-dir", str(reports), data_dir=data_dir)
    assert reports.is_dir(), done.stderr
    return reports


@contextlib.contextmanager
def no_engine_left(data_dir: Path) -> Iterator[None]:
    """Kill the engines that still write recordings when a test has failed."""
    try:
        yield
    finally:
        for recording in (data_dir / "runs").glob("*.jsonl"):
            info = read_live(recording)
            if info is not None and info.alive():
                os.kill(info.pid, signal.SIGKILL)

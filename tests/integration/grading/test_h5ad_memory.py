"""A worker that reads a submitted h5ad file uses no more memory than the answers can need, and all
together what is free.
"""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

import pytest

from bioeval_tui.grade.batch import pool
from bioeval_tui.grade.batch.containment import below
from bioeval_tui.grade.batch.feeding import BatchItem
from bioeval_tui.grade.batch.pool import largest_files, workers_that_fit
from bioeval_tui.grading import GraderPool, Invalid, Registry, TaskReport
from tests.fuzz.kinds.h5ad_files import TRUTH, made, plain
from tests.fuzz.kinds.submissions import add_task

GRADER = {"name": "kind", "metric": "accuracy", "h5ad": {"obs": "kind"}}


def peak_mb(pid: int) -> float:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) / 1000


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="limits on memory are the kernel's"
)
def test_an_h5ad_file_that_claims_gigabytes_is_not_loaded(tmp_path: Path) -> None:
    scratch = tmp_path / "answers.h5ad"
    plain(scratch, TRUTH)
    right = scratch.read_bytes()
    task_id = add_task(tmp_path, "kinds", GRADER, ".h5ad", right)
    submission = tmp_path / "submission.h5ad"
    registry = Registry([tmp_path / "tasks"], tmp_path / "taskdata")
    with GraderPool(registry, workers=1) as graders:
        submission.write_bytes(right)
        assert isinstance(graders.grade(submission, task_id), TaskReport)
        (worker,) = graders._idle
        (process,) = below(worker.pid)
        before = peak_mb(process)
        submission.write_bytes(made("lengths bomb", scratch, tmp_path))
        outcome = graders.grade(submission, task_id)
        assert isinstance(outcome, Invalid), outcome
        assert "is not a readable h5ad file" in outcome.reason
        assert peak_mb(process) - before < 500
        submission.write_bytes(right)
        assert isinstance(graders.grade(submission, task_id), TaskReport), (
            "the same worker goes on, its limit as before"
        )
        assert graders._idle == [worker]


@pytest.mark.parametrize(("free_mb", "workers"), [(math.inf, 8), (1300, 3), (100, 1)])
def test_no_more_workers_grade_large_files_than_fit_into_half_of_the_free_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_mb: float, workers: int
) -> None:
    monkeypatch.setattr(pool, "free_megabytes", lambda: free_mb)
    names = ("small", "large", "missing")
    items = [
        BatchItem(number, "lab/task", str(tmp_path / name)) for number, name in enumerate(names)
    ]
    (tmp_path / "small").write_text("id,y\n")
    assert workers_that_fit(largest_files(items)["lab/task"], 8) == 8
    with (tmp_path / "large").open("wb") as file:
        file.truncate(20 << 20)
    largest = largest_files(
        [*items, BatchItem(3, "lab/task", None), BatchItem(4, "lab/other", None)]
    )
    assert largest == {"lab/task": 20 << 20, "lab/other": 0}
    assert workers_that_fit(largest["lab/task"], 8) == workers

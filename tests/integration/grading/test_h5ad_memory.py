"""A worker that reads a submitted h5ad file uses no more memory than the answers can need."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from bioeval_tui.grade import GraderPool, Invalid, Registry, TaskReport
from tests.fuzz.kinds.h5ad_files import TRUTH, made, plain
from tests.fuzz.kinds.submissions import add_task

GRADER = {"name": "kind", "metric": "accuracy", "h5ad": {"obs": "kind"}}


def peak_mb(pid: int) -> float:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) / 1000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits on memory are the kernel's")
def test_an_h5ad_file_that_claims_gigabytes_is_not_loaded(tmp_path: Path) -> None:
    scratch = tmp_path / "answers.h5ad"
    plain(scratch, TRUTH)
    right = scratch.read_bytes()
    task_id = add_task(tmp_path, "kinds", GRADER, ".h5ad", right)
    submission = tmp_path / "submission.h5ad"
    registry = Registry([tmp_path / "tasks"], tmp_path / "taskdata")
    with GraderPool(registry, workers=1) as pool:
        submission.write_bytes(right)
        assert isinstance(pool.grade(submission, task_id), TaskReport)
        (worker,) = pool._idle
        before = peak_mb(worker.pid)
        submission.write_bytes(made("lengths bomb", scratch, tmp_path))
        outcome = pool.grade(submission, task_id)
        assert isinstance(outcome, Invalid), outcome
        assert "is not a readable h5ad file" in outcome.reason
        assert peak_mb(worker.pid) - before < 500
        submission.write_bytes(right)
        assert isinstance(pool.grade(submission, task_id), TaskReport), (
            "the same worker goes on, its limit as before"
        )
        assert pool._idle == [worker]

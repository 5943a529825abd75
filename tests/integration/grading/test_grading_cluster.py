"""A real Dask cluster of two workers, one of them killed in the middle of a batch."""

from __future__ import annotations

import json
import os
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bioeval_tui.base.errors import UnavailableError
from bioeval_tui.grade.batch.run import grade_batch

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore")

SLOW = """
import time
def grade(submission, answers):
    time.sleep(0.02)
    return float(submission["y"].iloc[0])
"""


@pytest.fixture
def cluster() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
        ) as cluster:
            yield cluster


def test_every_submission_is_reported_once_when_a_worker_is_killed(
    tasks, cluster: Any, tmp_path: Path
) -> None:
    from bioeval_tui.grade.batch.run import ClusterBackend

    task_id = tasks.add(code=SLOW)
    count = 300
    lines = []
    for n in range(count):
        tasks.submit(f"id,y\na,0.{n:03}\n", f"s{n}.csv")
        lines.append(json.dumps({"task_id": task_id, "submission_path": f"s{n}.csv"}))
    listed = tasks.submit("\n".join(lines), "submissions.jsonl")
    pids = [worker.pid for worker in cluster.workers.values()]
    killed = []

    def kill_one(progress: Any) -> None:
        if progress.done >= count // 4 and not killed:
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)

    with ClusterBackend(
        cluster.scheduler_address, tasks.registry, time_limit_s=30, memory_limit_mb=None
    ) as backend:
        result = grade_batch(listed, tmp_path / "out", backend, on_progress=kill_one)
    assert killed
    assert (result.valid, result.invalid, result.not_graded) == (count, 0, ())
    report = json.loads(result.report_path.read_text())
    assert [item["score"] for item in report["task_reports"]] == [n / 1000 for n in range(count)]
    assert len(list(result.individual_dir.glob("*.json"))) == count


def test_an_unreachable_scheduler_is_one_sentence(tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    from bioeval_tui.base import clusters
    from bioeval_tui.grade.batch import run

    monkeypatch.setattr(clusters, "CONNECT_TIMEOUT_S", 1)
    with pytest.raises(
        UnavailableError, match=r"the Dask scheduler tcp://127\.0\.0\.1:9 cannot be used"
    ):
        run.ClusterBackend(
            "tcp://127.0.0.1:9", tasks.registry, time_limit_s=1, memory_limit_mb=None
        )

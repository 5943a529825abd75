"""What a worker writes is an answer only if the program itself could have written it about this
very submission.
"""

from __future__ import annotations

import json
import queue
from collections import deque
from typing import Any

import pytest

from bioeval_tui.grade.batch.feeding import BatchItem, GradingBatch, GradingLimits, SubmissionFeed
from bioeval_tui.grade.batch.run import InProcess
from bioeval_tui.grade.batch.worker_process import WorkerDied
from bioeval_tui.grade.batch.worker_protocol import IDLE
from bioeval_tui.grade.outcome_json import outcome_from_dict
from bioeval_tui.grading import TaskReport


class Worker:
    """Answers with a text, whatever it is sent."""

    def __init__(self, text: str) -> None:
        self.block = f"0\t{text}\n".encode()
        self.killed = False

    def send(self, items: Any) -> None:
        """Take the items."""

    def receive(self, wait_s: float) -> bytes:
        return self.block

    def may_grade(self, task_id: str) -> bool:
        return True

    def current(self) -> tuple[int, float]:
        return IDLE, 0.0

    def kill(self) -> None:
        self.killed = True


def fed(item: BatchItem, text: str) -> tuple[Worker, list[Any]]:
    """Feed an item to a worker that answers with the text; return the worker and the results."""
    worker, results = Worker(text), queue.Queue[Any]()
    batch, limits = GradingBatch(deque(), results), GradingLimits(60, None)
    feed = SubmissionFeed(worker, batch, 1, limits)  # type: ignore[arg-type]
    feed.run([item])
    return worker, results.get_nowait()


def test_answers_that_the_program_did_not_write_as_they_stand_end_the_worker(tasks, good) -> None:
    item = BatchItem(0, tasks.add(), str(good()))
    ((_, text),) = InProcess(tasks.registry).stream([item])
    worker, results = fed(item, text)
    assert not worker.killed
    assert [number for number, _ in results] == [0]
    report = outcome_from_dict(json.loads(text))
    assert isinstance(report, TaskReport)
    assert report.score == 0.5
    for written in (
        json.dumps(json.loads(text), separators=(",", ":")),
        "[]",
        '{"report": 1}',
        text.replace("lab/numbers", "lab/other"),
        "[" * 100_000,
        text + " ",
        "",
    ):
        with pytest.raises(WorkerDied, match="the grader wrote into the worker's output"):
            fed(item, written)


def test_two_workers_take_from_both_ends_and_return_what_they_had_not_begun() -> None:
    items = [BatchItem(n, task, None) for n, task in enumerate(["large"] * 3 + ["small"] * 5)]
    batch = GradingBatch(deque(items), queue.Queue())
    batch.learn("large", 1, 1)
    batch.learn("small", 1, 1)
    front, back = batch.take(2, 0), batch.take(2, -1)
    assert [item.number for item in front] == [0]
    assert [item.number for item in back] == [7]
    batch.give_back(back, -1)
    batch.give_back(front, 0)
    assert list(batch.waiting) == items

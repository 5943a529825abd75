"""Feeds a batch to workers: items, the batch that threads share, and the feed of one worker."""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bioeval_tui.grade.batch.worker_process import WorkerDied, WorkerProcess
from bioeval_tui.grade.batch.worker_protocol import IDLE, Wire
from bioeval_tui.grade.explaining.sections import Section
from bioeval_tui.grade.outcome_json import (
    is_not_graded,
    outcome_from_dict,
    outcome_to_dict,
    problem_from_dict,
    to_text,
)
from bioeval_tui.grade.outcomes import NotGraded, reported
from bioeval_tui.grade.submission_files import why_not_followed
from bioeval_tui.grade.submissions import Submission
from bioeval_tui.grade.uncertainty import Uncertainty

POLL_S = 0.2
SILENT_S = 5.0
"""How much longer than the time limit a worker may say nothing, whatever a grader has written to
its page, in seconds.
"""
_FINAL = '"final": true}}'
_NEEDS_OTHER_PYTHON = '"elsewhere": true,\r"final": false}}'
_CHUNK_TARGET_S = 0.15
_MOST_IN_CHUNK = 256
"""How many seconds a chunk of submissions should take, and how many submissions it has at most."""
_CHECKED: dict[str, Any] = {
    "problem": str | None,
    "warnings": list,
    "scored": str | None,
    "elsewhere": bool,
}
"""What an item of the kind `check` is answered with."""


@dataclass(frozen=True, slots=True)
class BatchItem(Submission):
    """One submission to grade, or to look into.

    Reports name the file as it was given (`shown`, else `path`); workers, which have a folder of
    their own, open it by its absolute path. `kind`: `grade`; `examine`, which adds the doctor's
    findings; `check`, which only loads the task's grader and grades its sample submission;
    `diagnose`, which asks the doctor without running the grader; `interval` and `interval-code`,
    which say how sure a valid score is, without and with calls of a grader with code; `explain:`
    and the options of `explanations` as JSON, which looks into a valid submission. `follow`: the
    folders into which the path may be a link, besides its own run group; None for a file that the
    user named, whose links are followed everywhere.
    """

    kind: str = "grade"
    shown: str | None = None
    follow: tuple[Path, ...] | None = None

    def wire(self) -> Wire:
        """Return the JSON form sent to a worker."""
        shown = self.shown or self.path
        absolute = refused = None
        if self.path:
            absolute = os.path.abspath(self.path)  # noqa: PTH100 (the hot path)
            if self.follow is not None:
                refused = why_not_followed(Path(absolute), self.follow, shown)
        return Wire(self.number, self.task_id, shown, absolute, self.kind, self.agent, refused)


Result = tuple[int, str]
"""A submission's number and its outcome as JSON text."""


class Backend(Protocol):
    """Where submissions are graded, or looked into: this process, a pool, or a cluster."""

    def stream(self, items: Sequence[BatchItem]) -> Iterator[Result]:
        """Yield each item's number and outcome text exactly once, in any order."""


def _is_answer(item: BatchItem, text: str) -> bool:
    """Whether a worker's text answers an item.

    The task's code runs where it was written, so it may be anything.
    """
    try:
        answer = json.loads(text)
        if to_text(answer) != text:  # reports are cut out of it as it stands
            return False
        if "not_graded" not in answer:
            if item.kind == "check":
                return all(
                    isinstance(answer["check"][name], kind) for name, kind in _CHECKED.items()
                )
            if item.kind.startswith("interval"):
                return isinstance(Uncertainty.from_dict(answer["uncertainty"]), Uncertainty)
            if item.kind.startswith("explain:"):
                return all(
                    isinstance(Section.from_dict(each), Section) for each in answer["explanation"]
                )
        for finding in answer.get("findings", ()):
            problem_from_dict(finding)
        outcome = outcome_from_dict(answer)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False
    return reported(outcome).task_id == item.task_id


def not_graded_text(item: BatchItem, reason: str, attempts: int = 1) -> str:
    """Return the JSON text of a NotGraded."""
    value = NotGraded(
        item.task_id, item.shown or item.path or "", reason, attempts, agent=item.agent
    )
    return to_text(outcome_to_dict(value))


@dataclass(frozen=True, slots=True)
class GradingLimits:
    """Limits for one submission: wall-clock seconds, and megabytes (None for no limit)."""

    time_s: float
    memory_mb: int | None


@dataclass
class GradingBatch:
    """The queue that the threads of one batch share: chunks are taken from both ends and returned
    to where they were.
    """

    waiting: deque[BatchItem]
    results: queue.Queue[list[Result] | BaseException | None]
    seconds_each: dict[str, float] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    cancelled: threading.Event = field(default_factory=threading.Event)
    failed: list[tuple[BatchItem, str]] = field(default_factory=list)
    moved: list[BatchItem] | None = None
    """The items that need another Python; None without one."""
    isolate: str = "task"
    """What gets a process of its own: `task` or `submission`."""

    def take(
        self, workers: int, end: int, may_grade: Callable[[str], bool] = lambda task_id: True
    ) -> list[BatchItem]:
        """Return the next submissions of one task, about as many as take `_CHUNK_TARGET_S`; none of
        other tasks.

        `end`: 0 takes from the front, −1 from the back.
        """
        with self.lock:
            if not self.waiting or self.cancelled.is_set():
                return []
            task_id = self.waiting[end].task_id
            if not may_grade(task_id):
                return []
            size = 1
            if self.isolate == "task":
                size = max(1, min(self._chunk_size(task_id), len(self.waiting) // (2 * workers)))
            chunk: list[BatchItem] = []
            take = self.waiting.pop if end else self.waiting.popleft
            while self.waiting and len(chunk) < size and self.waiting[end].task_id == task_id:
                chunk.append(take())
            return chunk

    def _chunk_size(self, task_id: str) -> int:
        """Return how many submissions of a task take `_CHUNK_TARGET_S`; 2 before any was timed."""
        each = self.seconds_each.get(task_id)
        if each is None:
            return 2
        return min(_MOST_IN_CHUNK, int(_CHUNK_TARGET_S / max(each, 1e-6)))

    def give_back(self, items: Sequence[BatchItem], end: int) -> None:
        """Return the submissions that a dead worker had not begun to the queue."""
        with self.lock:
            put_back = self.waiting.extend if end else self.waiting.extendleft
            put_back(reversed(items))

    def learn(self, task_id: str, seconds: float, count: int) -> None:
        """Remember how long a submission of this task takes, recent chunks counting most."""
        with self.lock:
            old = self.seconds_each.get(task_id, seconds / count)
            self.seconds_each[task_id] = (old + seconds / count) / 2


class SubmissionFeed:
    """Keeps one worker busy with two chunks at a time, taken from one end of the batch, and reads
    its answers.
    """

    def __init__(
        self,
        worker: WorkerProcess,
        batch: GradingBatch,
        count: int,
        limits: GradingLimits,
        end: int = 0,
    ) -> None:
        self._worker, self._batch, self._count, self._limits, self._end = (
            worker,
            batch,
            count,
            limits,
            end,
        )
        self._outstanding: dict[int, BatchItem] = {}
        # Task, submissions left, submissions sent, when.
        self._chunks: list[tuple[str, int, int, float]] = []
        self._last_done = self._looked = 0.0
        self._heard = time.monotonic()
        self._received = b""
        self._cause = ""

    def run(self, first: list[BatchItem]) -> None:
        """Send chunks and read answers until nothing is left. Raises WorkerDied."""
        self._send(first)
        self._send(self._batch.take(self._count, self._end, self._worker.may_grade))
        while self._outstanding:
            block = self._worker.receive(POLL_S)
            if block is not None:
                self._heard = time.monotonic()
                self._receive(block)
            self._check_limits()
            if self._batch.cancelled.is_set():
                self._worker.kill()
                raise WorkerDied("cancelled")

    def _send(self, chunk: list[BatchItem]) -> None:
        if not chunk:
            return
        self._outstanding.update((item.number, item) for item in chunk)
        self._chunks.append((chunk[0].task_id, len(chunk), len(chunk), time.monotonic()))
        self._worker.send([item.wire() for item in chunk])

    def _receive(self, block: bytes) -> None:
        *lines, self._received = (self._received + block).split(b"\n")
        results = []
        try:
            for line in lines:
                number_text, tab, text = line.decode("utf-8", "replace").partition("\t")
                item = None
                if tab and number_text.isdigit():
                    item = self._outstanding.get(int(number_text))
                if item is None or not _is_answer(item, text):
                    self._cause = (
                        "the grader wrote into the worker's output, or changed what it writes"
                    )
                    self._worker.kill()
                    raise WorkerDied(self._cause)
                del self._outstanding[item.number]
                failed = item.kind == "grade" and is_not_graded(text)
                if failed and text.endswith(_NEEDS_OTHER_PYTHON):
                    if self._batch.moved is None:
                        # trying again would give the same result
                        results.append((item.number, text))
                    else:
                        self._batch.moved.append(item)
                elif failed and not text.endswith(_FINAL):
                    self._batch.failed.append((item, json.loads(text)["not_graded"]["reason"]))
                else:
                    results.append((item.number, text))
                self._count_off()
        finally:
            if results:
                self._batch.results.put(results)

    def _count_off(self) -> None:
        task_id, left, count, sent = self._chunks[0]
        if left > 1:
            self._chunks[0] = (task_id, left - 1, count, sent)
            return
        now = time.monotonic()
        self._batch.learn(task_id, now - max(sent, self._last_done), count)
        self._last_done = now
        self._chunks.pop(0)
        self._send(self._batch.take(self._count, self._end, self._worker.may_grade))

    def _check_limits(self) -> None:
        limits = self._limits
        number, seconds = self._worker.current()
        is_silent = time.monotonic() - self._heard > limits.time_s + SILENT_S
        if number == IDLE and not is_silent:
            return
        if seconds > limits.time_s or is_silent:
            self._cause = f"stopped after {limits.time_s:g} s, the time limit"
        elif limits.memory_mb and seconds > 2 * POLL_S and time.monotonic() - self._looked > POLL_S:
            in_use = self._worker.megabytes
            self._looked = time.monotonic()
            if in_use > limits.memory_mb:
                self._cause = (
                    f"stopped at {in_use:,.0f} MB, in all processes that the grader started; "
                    f"the memory limit is {limits.memory_mb:,} MB"
                )
        if self._cause:
            self._worker.kill()
            raise WorkerDied(self._cause)

    def settle(self, how: str) -> None:
        """After the worker has died: the current submission has failed; the others are returned to
        the queue.
        """
        number = self._worker.last_number
        if number not in self._outstanding and self._outstanding:
            number = next(iter(self._outstanding))
        guilty = self._outstanding.pop(number, None)
        if guilty is not None:
            reason = self._cause or f"the grader's process {how}"
            self._batch.failed.append((guilty, reason))
        self._batch.give_back(list(self._outstanding.values()), self._end)

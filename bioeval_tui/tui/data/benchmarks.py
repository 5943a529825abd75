"""The machine-learning tasks for the screens: what they are, preparing them, validating and grading files."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bioeval_tui.errors import BioevalError, NotMeasuredError
from bioeval_tui.grade.outcomes import Verdict, verdict_of
from bioeval_tui.grade.service import Grading
from bioeval_tui.grade.tasks.prepare import remove_drafts
from bioeval_tui.isolation import program_command
from bioeval_tui.record.masking import masked
from bioeval_tui.settings import Settings
from bioeval_tui.text import clean, clean_line
from bioeval_tui.tui.items import BenchmarkDetail, BenchmarkItem, Board

if TYPE_CHECKING:
    from bioeval_tui.grade.tasks.task import Task, TaskEntry

_HOW = {
    "builtin": "Its data comes with bioeval-tui or an installed package; nothing is downloaded.",
    "kaggle": "Its data is downloaded from Kaggle, with your own account.",
    "polaris": "Its data is downloaded from the Polaris hub.",
    "proteingym-dms": "Its data is downloaded from ProteinGym.",
    "manual": "You download its data yourself; preparing the task tells you where to put it.",
}
_KILL_WAIT_S = 10.0


class Benchmarks:
    """The registry's tasks. Methods that are not coroutines block."""

    def __init__(self, settings: Settings, grading: Grading) -> None:
        self._settings = settings
        self._grading = grading

    def items(self) -> list[BenchmarkItem]:
        """Return every task, as its config and its files are now; broken ones with what is wrong."""
        return masked([_item(entry) for entry in self._grading.registry().entries()])

    def detail(self, task_id: str) -> BenchmarkDetail:
        """Return a task's description and leaderboard."""
        return masked(self._detail(task_id))

    def _detail(self, task_id: str) -> BenchmarkDetail:
        task = self._grading.registry().get_task(task_id)
        try:
            # pandas: the list of tasks does not need it.
            from bioeval_tui.grade.grade import leaderboard_of, load_humans

            board = leaderboard_of(task)
        except BioevalError as error:
            return BenchmarkDetail(task.description, no_board=clean_line(str(error)))
        humans: tuple[float, ...] = ()
        with contextlib.suppress(OSError, ValueError):
            baselines = load_humans(task.public_dir / "human_baselines.csv")
            humans = tuple(float(score) for score in baselines if score == score)
        marks = board.rank(None)
        return BenchmarkDetail(
            task.description,
            Board(
                scores=tuple(float(score) for score in board.best_first()),
                lower_is_better=board.is_lower_better,
                gold=marks.gold_threshold,
                silver=marks.silver_threshold,
                bronze=marks.bronze_threshold,
                median=marks.median_threshold,
                humans=humans,
                warnings=board.warnings,
                origin=clean_line(board.origin, 300),
                reference=_reference(task),
            ),
        )

    async def prepare(self, task_id: str) -> AsyncIterator[str]:
        """Prepare a task in a process of its own; yield its progress messages. Closing the iterator ends the process.

        Raises:
            NotMeasuredError: with the reason, when the task could not be prepared.
        """
        process = await asyncio.create_subprocess_exec(
            *self._prepare_command(task_id),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        last = ""
        try:
            async for line in process.stderr:
                last = clean_line(line.decode("utf-8", "replace"))
                if last:
                    yield masked(last)
            output = await process.stdout.read()
            await process.wait()
        finally:
            await _end(process)
            with contextlib.suppress(BioevalError):  # an unknown task has no drafts; the process has said so
                remove_drafts(self._grading.registry().get_task(task_id), process.pid)
        reason = _failure(output)
        if reason is None and process.returncode:
            reason = last or f"preparation failed with exit code {process.returncode}"
        if reason:
            raise NotMeasuredError(reason)

    def _prepare_command(self, task_id: str) -> list[str]:
        command = program_command("tasks", "prepare", "--json")
        for folder in self._settings.tasks_dirs:
            command += ["--tasks-dir", str(folder)]
        return [*command, "--data-dir", str(self._settings.tasks_data_dir), "--", task_id]

    def examine(self, task_id: str, file: str) -> Verdict:
        """Return everything that is wrong with a file."""
        verdict = verdict_of(*self._grading.examine(Path(file).expanduser().absolute(), task_id))
        return masked(replace(verdict, findings=tuple(clean(line, 2000) for line in verdict.findings)))


def _reference(task: Task) -> tuple[str, float] | None:
    with contextlib.suppress(BioevalError, ValueError):
        if task.reference is not None:
            return task.reference.team, float(task.reference.score)
    return None


def _item(entry: TaskEntry) -> BenchmarkItem:
    domain = clean_line(entry.id.rpartition("/")[0], 60)
    if entry.problem is not None:
        return BenchmarkItem(
            clean_line(entry.id), clean_line(entry.id), domain, problem=clean_line(str(entry.problem))
        )
    task = entry.task
    source = str((task.data_source or {}).get("type") or "")
    ready = task.is_prepared
    return BenchmarkItem(
        task_id=clean_line(task.id),
        name=task.name,
        domain=task.domain or domain,
        task_type=task.task_type or "",
        difficulty=task.difficulty or "",
        source=clean_line(source, 40),
        metric=clean_line(str(task.grader.name), 60),
        prepared=ready,
        how="" if ready else _how(task, source),
        awards_medals=task.awards_medals,
        time_limit_s=task.time_limit if isinstance(task.time_limit, int) else None,
        file_kind="h5ad" if task.sample_submission.suffix.lower() == ".h5ad" else "CSV",
    )


def _how(task: Task, source: str) -> str:
    if task.answers.is_file():
        return clean_line(task.why_not_prepared() or "")
    return _HOW.get(
        source, f"Its data comes from {clean_line(source, 40) or 'a source that the task does not name'}."
    )


def _failure(output: bytes) -> str | None:
    """Return why the task was not prepared, from what the command prints."""
    try:
        rows: Any = json.loads(output)
        failed = [row for row in rows if row.get("status") == "failed"]
    except (ValueError, AttributeError, TypeError):
        return None
    return clean_line(str(failed[0].get("reason") or "preparation failed"), 1000) if failed else None


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the process and whatever it started, if it still runs."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.terminate()
        else:
            # An interrupt, not SIGTERM, so that partial results are removed.
            os.killpg(process.pid, signal.SIGINT)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _KILL_WAIT_S)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    await process.wait()

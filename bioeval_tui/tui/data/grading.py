"""Grading for screens and medal assertions, in worker processes, off the event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bioeval_tui.errors import BioevalError, InputError
from bioeval_tui.grade.outcomes import Invalid, NotGraded, load_outcomes
from bioeval_tui.grade.service import Grading
from bioeval_tui.grade.submissions import extract_agent_from_submission_path
from bioeval_tui.grade.task_report import TaskReport
from bioeval_tui.record.masking import masked
from bioeval_tui.report.reviews import reports_folder, submission_key
from bioeval_tui.text import clean_line
from bioeval_tui.tui.items import MedalRow

if TYPE_CHECKING:
    from bioeval_tui.grade.outcomes import Outcome
    from bioeval_tui.grade.task_report import Uncertainty

WATCH_S = 1.0
Written = tuple[tuple[str, int, int], ...]
"""Names of files with the time of their last change in ns, and their size in bytes."""


async def all_rows(
    grading: Grading, submissions: Sequence[tuple[str, Path | None]], reports: Sequence[Path]
) -> AsyncIterator[MedalRow | None]:
    """Grade these submissions, then read these reports and follow them; see `grade_rows` and `report_rows`."""
    async with aclosing(grade_rows(grading, submissions)) as rows:
        async for row in rows:
            yield row
    if reports:
        async for found in report_rows(grading, reports):
            yield found


async def grade_rows(
    grading: Grading, submissions: Sequence[tuple[str, Path | None]]
) -> AsyncGenerator[MedalRow]:
    """Grade submissions; yield each row as it is ready, in any order. Closing the iterator ends the workers.

    Raises:
        NotMeasuredError: no grading worker can be started.
    """
    outcomes = grading.grade_many(submissions)
    try:
        while (graded := await asyncio.to_thread(next, outcomes, None)) is not None:
            number, outcome = graded
            task_id, path = submissions[number]
            yield await asyncio.to_thread(_outcome_row, grading, task_id, path, outcome)
    except (asyncio.CancelledError, GeneratorExit):
        grading.close()
        raise


async def row_intervals(
    grading: Grading, rows: Sequence[MedalRow]
) -> AsyncGenerator[tuple[MedalRow, Uncertainty]]:
    """Yield the uncertainty of each valid score whose report lacks it and whose file is available.

    Raises:
        NotMeasuredError: no grading worker can be started.
    """
    waiting = [row for row in rows if row.report is not None and row.report.uncertainty is None]
    waiting = await asyncio.to_thread(
        lambda: [row for row in waiting if row.path is not None and row.path.is_file()]
    )
    reports = [
        replace(row.report, submission_path=str(row.path)) for row in waiting if row.report is not None
    ]
    intervals = grading.uncertainties(reports) if reports else iter(())
    try:
        while (one := await asyncio.to_thread(next, intervals, None)) is not None:
            yield waiting[one[0]], one[1]
    except (asyncio.CancelledError, GeneratorExit):
        grading.close()
        raise


async def report_rows(grading: Grading, paths: Sequence[Path]) -> AsyncIterator[MedalRow | None]:
    """Read reports (files or folders), and follow new ones without end.

    Yields None whenever all reports so far were read and no batch is being graded.

    Raises:
        InputError: something cannot be read at first; what is unreadable later is taken to be half written.
    """
    shown: set[tuple[str, str, str]] = set()
    boards: dict[str, tuple[float, ...]] = {}
    domains: dict[str, str] = {}
    seen: dict[Path, Written] = {}
    reported = False
    while True:
        going_on = False
        for path in paths:
            written, is_graded = await asyncio.to_thread(_written, path)
            going_on = going_on or is_graded
            if written == seen.get(path):
                continue
            try:
                loaded = await asyncio.to_thread(load_outcomes, path)
            except InputError:
                if path not in seen:
                    raise
                continue
            seen[path], reported = written, False
            folder = reports_folder(path)
            for report in loaded.reports:
                key = (report.task_id, report.submission_path, report.created_at.isoformat())
                if key in shown:
                    continue
                shown.add(key)
                if report.task_id not in boards:
                    boards[report.task_id] = await asyncio.to_thread(grading.leaderboard, report.task_id)
                    domains[report.task_id] = await asyncio.to_thread(grading.domain, report.task_id)
                yield _report_row(report, boards[report.task_id], domains[report.task_id], folder)
            for failed in loaded.not_graded:
                key = (failed.task_id, failed.submission_path, failed.reason)
                if key not in shown:
                    shown.add(key)
                    domain = await asyncio.to_thread(grading.domain, failed.task_id)
                    yield _not_graded_row(failed, domain, folder)
        if not going_on and not reported:
            reported = True
            yield None
        await asyncio.sleep(WATCH_S)


def _written(path: Path) -> tuple[Written, bool]:
    """Return a stamp that changes when reports are written, and whether a batch is being graded."""
    try:
        if not path.is_dir():
            return ((path.name, path.stat().st_mtime_ns, path.stat().st_size),), False
        with os.scandir(path) as items:
            files = [(item.name, item.stat().st_mtime_ns, item.stat().st_size) for item in items]
    except OSError:  # it went away, or an item did meanwhile: the next look will tell
        return (), False
    names = {name for name, _, _ in files}
    ends = [name.removesuffix("_grading.jsonl") for name in names if name.endswith("_grading.jsonl")]
    return tuple(sorted(files)), any(f"{start}_grading_report.json" not in names for start in ends)


def rows_at(grading: Grading, path: Path) -> list[MedalRow]:
    """Return the rows of every report at `path`, a file or a folder.

    Raises: InputError: there is no report.
    """
    folder = reports_folder(path)
    loaded = load_outcomes(path)
    return [
        *(
            _report_row(report, grading.leaderboard(report.task_id), grading.domain(report.task_id), folder)
            for report in loaded.reports
        ),
        *(_not_graded_row(item, grading.domain(item.task_id), folder) for item in loaded.not_graded),
    ]


def _not_graded_row(item: NotGraded, domain: str, folder: Path) -> MedalRow:
    agent = item.agent or extract_agent_from_submission_path(item.submission_path)
    row = MedalRow(
        clean_line(item.task_id, 200),
        clean_line(agent, 80),
        clean_line(item.submission_path),
        not_graded=clean_line(item.reason, 2000),
        domain=domain,
        folder=folder,
        path=Path(item.submission_path) if item.submission_path else None,
    )
    return masked(row)


def _report_row(report: TaskReport, board: tuple[float, ...], domain: str, folder: Path) -> MedalRow:
    row = MedalRow(
        report.task_id,
        clean_line(report.agent, 80),
        clean_line(report.submission_path),
        report,
        leaderboard=board,
        domain=domain,
        folder=folder,
        submission=submission_key(report),
        path=Path(report.submission_path),
    )
    return masked(row)


def grade_row(grading: Grading, task_id: str, path: Path | None) -> MedalRow:
    """Grade one file; errors become part of the row."""
    try:
        outcome = grading.grade(path, task_id)
    except BioevalError as error:
        outcome = NotGraded(task_id, str(path), str(error))
    return _outcome_row(grading, task_id, path, outcome)


def _outcome_row(grading: Grading, task_id: str, path: Path | None, outcome: Outcome) -> MedalRow:
    agent = clean_line(extract_agent_from_submission_path(str(path)), 80)
    shown = clean_line(str(path))
    if isinstance(outcome, NotGraded):
        lacks_data = grading.lacks_data(task_id)
        reason = clean_line(outcome.reason)
        return masked(MedalRow(task_id, agent, shown, not_graded=reason, path=path, lacks_data=lacks_data))
    report = outcome.report if isinstance(outcome, Invalid) else outcome
    board, domain = grading.leaderboard(report.task_id), grading.domain(report.task_id)
    return masked(MedalRow(report.task_id, agent, shown, report, leaderboard=board, domain=domain, path=path))

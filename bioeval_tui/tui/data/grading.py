"""Machine-learning tasks for the screens: what they are, preparing them, checking and grading files
in worker processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bioeval_tui.base.errors import BioevalError, InputError, NotMeasuredError
from bioeval_tui.base.files import write_numbered
from bioeval_tui.base.isolation import program_command
from bioeval_tui.base.settings import Settings
from bioeval_tui.base.text import clean, clean_line
from bioeval_tui.grade.outcomes import Invalid, NotGraded
from bioeval_tui.grade.published_totals import aggregate_reports
from bioeval_tui.grade.report_files import (
    JOURNAL,
    Graded,
    load_outcomes,
    moment,
    read_outcomes,
    report_files,
)
from bioeval_tui.grade.score_numbers import score_that_reaches
from bioeval_tui.grade.service import Grading
from bioeval_tui.grade.submissions import (
    UNKNOWN_AGENT,
    extract_agent_from_submission_path,
    read_submissions,
)
from bioeval_tui.grade.task_report import ReportExtra, TaskReport, now
from bioeval_tui.grade.tasks.prepare import remove_drafts
from bioeval_tui.grade.validation import Validation, validation_of
from bioeval_tui.record.masking import masked, masking
from bioeval_tui.report.reviews import reports_folder, submission_key
from bioeval_tui.tui.grading_items import BenchmarkDetail, BenchmarkItem, Board, MedalRow

if TYPE_CHECKING:
    from bioeval_tui.grade.outcomes import Outcome
    from bioeval_tui.grade.submissions import Submission
    from bioeval_tui.grade.tasks.task import Task, TaskEntry
    from bioeval_tui.grade.uncertainty import Uncertainty


_HOW = {
    "builtin": "Its data comes with bioeval-tui or an installed package; nothing is downloaded.",
    "kaggle": "Its data is downloaded from Kaggle, with your own account.",
    "polaris": "Its data is downloaded from the Polaris hub.",
    "proteingym-dms": "Its data is downloaded from ProteinGym.",
    "manual": "You download its data yourself; preparing the task tells you where to put it.",
}
_KILL_WAIT_S = 10.0
"""How long an interrupted preparation may take to remove its partial results, in seconds; killed at
once, it would leave them.
"""


class Benchmarks:
    """The registry's tasks. Methods that are not coroutines block."""

    def __init__(self, settings: Settings, grading: Grading) -> None:
        self._settings = settings
        self._grading = grading
        self.unread: list[str] = []
        """What says of reports that they cannot be read, of those that `rows` was given."""
        self.reading: tuple[int, int] | None = None
        """How many results of reports were given, and of how many; None while none is read."""

    def items(self) -> list[BenchmarkItem]:
        """Return every task, as its config and its files are now; broken ones with what is
        wrong.
        """
        return masked([_item(entry) for entry in self._grading.registry().entries()])

    def detail(self, task_id: str) -> BenchmarkDetail:
        """Return a task's description and leaderboard."""
        return masked(self._detail(task_id))

    def _detail(self, task_id: str) -> BenchmarkDetail:
        task = self._grading.registry().get_task(task_id)
        try:
            # pandas: the list of tasks does not need it.
            from bioeval_tui.grade.grade import humans_of, leaderboard_of

            board = leaderboard_of(task)
        except BioevalError as error:
            return BenchmarkDetail(task.description, no_board=clean_line(str(error)))
        baselines, unread = humans_of(task)
        humans = tuple(float(score) for score in baselines if score == score)
        marks, lower = board.rank(None), board.is_lower_better
        return BenchmarkDetail(
            task.description,
            Board(
                scores=tuple(float(score) for score in board.best_first()),
                lower_is_better=lower,
                gold=score_that_reaches(marks.gold_threshold, lower),
                silver=score_that_reaches(marks.silver_threshold, lower),
                bronze=score_that_reaches(marks.bronze_threshold, lower),
                median=marks.median_threshold,
                humans=humans,
                warnings=(*board.warnings, unread) if unread else board.warnings,
                origin=clean_line(board.origin, 300),
                reference=_reference(task),
            ),
        )

    async def prepare(self, task_id: str) -> AsyncGenerator[str]:
        """Prepare a task in a process of its own; yield its progress messages.

        Closing the iterator ends the process.

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
            await _end_process(process)
            # an unknown task has no drafts; the process has said so
            with contextlib.suppress(BioevalError):
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

    def examine(self, task_id: str, file: str) -> Validation:
        """Return everything that is wrong with a file."""
        validation = validation_of(
            *self._grading.examine(Path(file).expanduser().absolute(), task_id)
        )
        return masked(
            replace(validation, findings=tuple(clean(line, 2000) for line in validation.findings))
        )

    def grade(self, task_id: str, file: str) -> MedalRow:
        """Grade one file; errors become part of the row."""
        path = Path(file).expanduser().absolute()
        try:
            outcome = self._grading.grade(path, task_id)
        except BioevalError as error:
            outcome = NotGraded(task_id, str(path), str(error))
        return _outcome_row(self._grading, task_id, path, outcome)

    def grade_again(self, row: MedalRow, *, writes: bool) -> MedalRow:
        """Grade a row's file again; what it was before becomes an earlier grading.

        With `writes`, a row that was read from a report gets a new report beside that one, so that
        it is shown from then on.

        Raises:
            StorageError, InputError: the report cannot be written.
        """
        fresh = self.grade(row.task_id, str(row.path or row.file))
        report = fresh.report
        if report is None:
            return replace(
                fresh, agent=row.agent, key=row.key, at=now(), earlier=_earlier_gradings(row)
            )
        at = now() if report.created_at is None else moment(report.created_at)
        if row.agent != UNKNOWN_AGENT:
            report = replace(report, extra=replace(report.extra or ReportExtra(), agent=row.agent))
        folder, submission = None, ""
        if writes and row.folder is not None and not masking():
            # It takes the place of one with an interval, in every table that reads the folder.
            for _, sure in self._grading.uncertainties([report]):
                report = replace(report, uncertainty=sure)
            folder, submission = row.folder, submission_key(report)
            stem = f"{at:%Y-%m-%dT%H-%M-%S}-GMT"
            document = json.dumps(aggregate_reports([report]), ensure_ascii=False, indent=1)
            write_numbered(row.folder, f"{stem}_again_grading_report", ".json", document + "\n")
        return replace(
            fresh,
            report=report,
            agent=row.agent,
            domain=row.domain or fresh.domain,
            folder=folder,
            submission=submission,
            key=row.key,
            at=at,
            earlier=_earlier_gradings(row),
        )

    async def graded_list(self, path: Path) -> AsyncGenerator[MedalRow]:
        """Grade the submissions of a list, as `grade` does, without writing reports.

        Raises:
            InputError: the list cannot be read, or has wrong lines, which are named.
            NotMeasuredError: no grading worker can be started.
        """
        listed = await asyncio.to_thread(read_submissions, path, needs_any=True)
        async with aclosing(grade_rows(self._grading, listed.submissions)) as rows:
            async for row in rows:
                yield row

    async def rows(
        self, submissions: Sequence[Submission], reports: Sequence[Path]
    ) -> AsyncIterator[MedalRow | None]:
        """Grade these submissions, then read these reports and follow them; see `grade_rows` and
        `report_rows`.
        """
        async with aclosing(grade_rows(self._grading, submissions)) as rows:
            async for row in rows:
                yield row
        if reports:
            async for reported in report_rows(
                self._grading, reports, self.unread, beside=submissions, on_reading=self._reads
            ):
                yield reported

    def _reads(self, reading: tuple[int, int] | None) -> None:
        self.reading = reading

    async def intervals(
        self, rows: Sequence[MedalRow]
    ) -> AsyncGenerator[tuple[MedalRow, Uncertainty]]:
        """Yield the uncertainty of each valid score whose report lacks it and whose file is
        available.

        Raises:
            NotMeasuredError: no grading worker can be started.
        """
        waiting = [row for row in rows if row.report is not None and row.report.uncertainty is None]
        waiting = await asyncio.to_thread(
            lambda: [row for row in waiting if row.path is not None and row.path.is_file()]
        )
        reports = [
            replace(row.report, submission_path=str(row.path))
            for row in waiting
            if row.report is not None
        ]
        if not reports:
            return
        intervals = self._grading.uncertainties(reports)
        try:
            while (one := await asyncio.to_thread(next, intervals, None)) is not None:
                yield waiting[one[0]], one[1]
        except (asyncio.CancelledError, GeneratorExit):
            self._grading.close()
            raise


def _reference(task: Task) -> tuple[str, float] | None:
    with contextlib.suppress(BioevalError, ValueError):
        if task.reference is not None:
            return task.reference.team, float(task.reference.score)
    return None


def _item(entry: TaskEntry) -> BenchmarkItem:
    domain = clean_line(entry.id.rpartition("/")[0], 60)
    if entry.problem is not None:
        return BenchmarkItem(
            clean_line(entry.id),
            clean_line(entry.id),
            domain,
            problem=clean_line(str(entry.problem)),
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
        how="" if ready else _how_to_get(task, source),
        awards_medals=task.awards_medals,
        time_limit_s=task.time_limit if isinstance(task.time_limit, int) else None,
        file_kind="h5ad" if task.sample_submission.suffix.lower() == ".h5ad" else "CSV",
    )


def _how_to_get(task: Task, source: str) -> str:
    if task.answers.is_file():
        return clean_line(task.why_not_prepared() or "")
    return _HOW.get(
        source,
        f"Its data comes from {clean_line(source, 40) or 'a source that the task does not name'}.",
    )


def _failure(output: bytes) -> str | None:
    """Return why the task was not prepared, from what the command prints."""
    try:
        rows: Any = json.loads(output)
        failed = [row for row in rows if row.get("status") == "failed"]
    except (ValueError, RecursionError, AttributeError, TypeError):
        return None
    if failed:
        return clean_line(str(failed[0].get("reason") or "preparation failed"), 1000)
    return None


async def _end_process(process: asyncio.subprocess.Process) -> None:
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


WATCH_S = 1.0
Written = tuple[tuple[str, int, int], ...]
"""Names of files with the time of their last change in ns, and their size in bytes."""


async def grade_rows(
    grading: Grading, submissions: Sequence[Submission]
) -> AsyncGenerator[MedalRow]:
    """Grade submissions; yield each row as it is ready, in any order.

    Closing the iterator, or cancelling its task, ends the workers. After the last row they stay,
    for what is graded next.

    Raises:
        NotMeasuredError: no grading worker can be started.
    """
    outcomes = grading.grade_many(submissions)
    try:
        while (graded := await asyncio.to_thread(next, outcomes, None)) is not None:
            number, outcome = graded
            item = submissions[number]
            path = None if item.path is None else Path(item.path)
            row = await asyncio.to_thread(_outcome_row, grading, item.task_id, path, outcome)
            yield replace(
                row, agent=clean_line(item.agent or row.agent, 80), key=item.key, at=now()
            )
    except (asyncio.CancelledError, GeneratorExit):
        grading.close()
        raise


async def report_rows(
    grading: Grading,
    paths: Sequence[Path],
    unread: list[str] | None = None,
    *,
    beside: Sequence[Submission] = (),
    on_reading: Callable[[tuple[int, int] | None], None] = lambda reading: None,
) -> AsyncIterator[MedalRow | None]:
    """Read reports (files or folders), and follow new ones without end.

    Yields None whenever all reports so far were read and no batch is being graded. `unread` gets
    what says of files that they cannot be read. `beside` are the submissions that are graded now:
    of a run among them, a report that it left no file is not shown again. `on_reading` is told how
    many results were given and of how many, and None when all are.

    Raises:
        InputError: nothing can be read at first; what is unreadable later is taken to be half
            written.
    """
    shown: set[tuple[str, ...]] = set()
    boards: dict[str, tuple[float, ...]] = {}
    domains: dict[str, str] = {}
    graded_here = [
        Graded(
            NotGraded(item.task_id, "", "", agent=item.agent),
            Path(),
            item.batch,
            datetime.max,
            item.key,
        )
        for item in beside
    ]
    seen: Written | None = None
    unreadable: tuple[str, ...] = ()
    reported = False
    while True:
        written, going_on = await asyncio.to_thread(_stamp, paths)
        if written != seen:
            try:
                loaded = await asyncio.to_thread(read_outcomes, paths, graded_here)
                if not beside and not loaded.results and loaded.unread:
                    raise InputError(loaded.unread_words)
            except InputError:
                if seen is None:
                    raise
                await asyncio.sleep(WATCH_S)
                continue
            if loaded.unread != unreadable:
                # it may be half written, so there is a second look
                seen, unreadable = (), loaded.unread
            else:
                seen, reported = written, False
            if unread is not None:
                unread.clear()
                if loaded.unread:
                    unread.append(masked(loaded.unread_words))
            for one in _not_shown(loaded.results, shown):
                on_reading((len(shown), len(loaded.results)))
                task_id = one.outcome.task_id
                if task_id not in boards:
                    boards[task_id] = await asyncio.to_thread(grading.leaderboard, task_id)
                    domains[task_id] = await asyncio.to_thread(grading.domain, task_id)
                yield _loaded_row(one, boards[task_id], domains[task_id])
            on_reading(None)
        if not going_on and not reported:
            reported = True
            yield None
        await asyncio.sleep(WATCH_S)


def _not_shown(results: Sequence[Graded], shown: set[tuple[str, ...]]) -> Iterator[Graded]:
    """Yield the results that are not in `shown`, and add them there."""
    places: Counter[tuple[str, ...]] = Counter()
    for one in results:
        outcome = one.outcome
        if one.at == datetime.max:  # it is graded now
            continue
        said = outcome.created_words if isinstance(outcome, TaskReport) else outcome.reason
        # Several runs of a batch may have left no file: they differ only in their number.
        same = (outcome.task_id, outcome.submission_path, said, one.batch)
        places[same] += 1
        known = (*same, str(places[same]))
        if known not in shown:
            shown.add(known)
            yield one


def _stamp(paths: Sequence[Path]) -> tuple[Written, bool]:
    """Return a stamp that changes when reports are written, and whether a batch is being graded."""
    going_on, written = False, []
    for path in paths:
        inside = [path]
        if path.is_dir():
            inside = report_files(path)
            going_on = going_on or any(item.name.endswith(JOURNAL) for item in inside)
        for item in inside:
            with contextlib.suppress(OSError):  # it went away meanwhile: the next look will tell
                written.append((str(item), item.stat().st_mtime_ns, item.stat().st_size))
    return tuple(written), going_on


def read_rows(grading: Grading, path: Path) -> list[MedalRow]:
    """Return the rows of every report at `path`, a file or a folder.

    Raises: InputError: there is no report.
    """
    return [
        _loaded_row(
            one, grading.leaderboard(one.outcome.task_id), grading.domain(one.outcome.task_id)
        )
        for one in load_outcomes(path).results
    ]


def _loaded_row(one: Graded, board: tuple[float, ...], domain: str) -> MedalRow:
    outcome = one.outcome
    row = MedalRow(
        clean_line(outcome.task_id, 200),
        clean_line(one.agent, 80),
        clean_line(outcome.submission_path),
        domain=domain,
        folder=reports_folder(one.file),
        path=Path(outcome.submission_path) if outcome.submission_path else None,
        key=one.key,
        at=one.at,
        earlier=tuple((before.at, outcome_words(before.outcome)) for before in one.earlier),
    )
    if isinstance(outcome, NotGraded):
        return masked(replace(row, not_graded=clean_line(outcome.reason, 2000)))
    return masked(
        replace(row, report=outcome, leaderboard=board, submission=submission_key(outcome))
    )


def _earlier_gradings(row: MedalRow) -> tuple[tuple[datetime, str], ...]:
    """Return the earlier gradings of a row that is graded again: what it shows now, and those
    before.
    """
    was = row.report or NotGraded(row.task_id, row.file, row.not_graded or "")
    if row.at is not None:
        return ((row.at, outcome_words(was)), *row.earlier)
    return row.earlier


def outcome_words(outcome: TaskReport | NotGraded) -> str:
    """Return what came out of a submission in a few words: its medal and score, or why it has
    none.
    """
    if isinstance(outcome, NotGraded):
        return f"not graded: {clean_line(outcome.reason, 300)}"
    if not outcome.valid_submission:
        return f"invalid: {clean_line(outcome.why_invalid, 300)}"
    return f"{outcome.medal or 'no medal'}, {outcome.score_words}"


def _outcome_row(grading: Grading, task_id: str, path: Path | None, outcome: Outcome) -> MedalRow:
    agent = clean_line(extract_agent_from_submission_path(str(path)), 80)
    shown = "" if path is None else clean_line(str(path))
    if isinstance(outcome, NotGraded):
        lacks_data = grading.lacks_data(task_id)
        reason = clean_line(outcome.reason)
        return masked(
            MedalRow(task_id, agent, shown, not_graded=reason, path=path, lacks_data=lacks_data)
        )
    report = outcome.report if isinstance(outcome, Invalid) else outcome
    board, domain = grading.leaderboard(report.task_id), grading.domain(report.task_id)
    return masked(
        MedalRow(report.task_id, agent, shown, report, leaderboard=board, domain=domain, path=path)
    )

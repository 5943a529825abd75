"""What the screens request from outside."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from bioeval_tui.errors import StorageError
from bioeval_tui.evaluation.engine.interface import EngineSpec, RunRequest, spec_of
from bioeval_tui.files import below, private_dir, read_small, write_whole
from bioeval_tui.grade.outcomes import Verdict
from bioeval_tui.record.masking import masked

if TYPE_CHECKING:
    from bioeval_tui.evaluation.engine.attach import FollowedRun
    from bioeval_tui.evaluation.engine.interface import RunView
    from bioeval_tui.evaluation.job.template import Answers
    from bioeval_tui.evaluation.wiring.doctor import ComponentState
    from bioeval_tui.grade.runs import Runs
    from bioeval_tui.grade.service import Grading
    from bioeval_tui.grade.task_report import Section, Uncertainty
    from bioeval_tui.record.reviews import Opinions
    from bioeval_tui.record.runs import CataloguedRun
    from bioeval_tui.report.comparison import Comparison
    from bioeval_tui.settings import Settings
    from bioeval_tui.tui.data.batches import Batches
    from bioeval_tui.tui.data.grading import Benchmarks
    from bioeval_tui.tui.data.job_list import JobList
    from bioeval_tui.tui.data.reviews import ReviewDesk
    from bioeval_tui.tui.data.run_list import RunList
    from bioeval_tui.tui.items import (
        BenchmarkDetail,
        BenchmarkItem,
        JobItem,
        MedalRow,
        NewReview,
        ReviewItem,
        ReviewSource,
    )
    from bioeval_tui.tui.runs.batch_view import Glance


Made = TypeVar("Made")

SAMPLES_SHOWN = 3
"""Number of sample submissions that the demo grades: a good, a poor and an invalid one for the same task."""


class _Part(Generic[Made]):
    """An attribute created once, on first use, from any thread."""

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    def __get__(self, services: AppServices, owner: type) -> Made:
        with services.making:
            if self._name not in services.__dict__:
                services.__dict__[self._name] = self._make(services)
        made: Made = services.__dict__[self._name]
        return made


class AppServices:
    """Everything that screens can request from outside: files, engines and grading workers.

    Each part is imported and created on first use, in the thread that does the work, so that neither the first paint
    nor a key press waits for it.
    """

    def __init__(
        self,
        settings: Settings,
        submissions: Sequence[tuple[str, Path | None]] | None = None,
        spec: EngineSpec | None = None,
        reports: Sequence[Path] = (),
        job_places: Sequence[Path] = (),
        reviewer: str = "",
        runs: Runs | None = None,
        *,
        writes: bool = True,
    ) -> None:
        """Without `writes`, the list of runs and the preferences are kept only in memory."""
        self._writes = writes
        self._settings = settings
        if runs is not None:
            submissions = [
                (item.task_id, Path(item.path) if item.path else None) for item in runs.submissions
            ]
        self._submissions = submissions
        self._looked = () if runs is None else runs.looked
        self._reports = reports
        self._reviewer = reviewer
        self._job_places = job_places
        self.making = threading.RLock()
        self._preferences = Preferences(settings.data_dir, writes=writes)
        self._spec = spec
        self._started: list[FollowedRun] = []
        self._starting: set[asyncio.Future[FollowedRun]] = set()

    @_Part
    def _grading(self) -> Grading:
        # Here and below: in the thread that does the work, after the first paint.
        from bioeval_tui.grade.service import Grading

        return Grading(self._settings, None if self._submissions else 1)

    @_Part
    def _jobs(self) -> JobList:
        from bioeval_tui.tui.data.job_list import JobList

        return JobList(self._job_places)

    @_Part
    def _runs(self) -> RunList:
        from bioeval_tui.tui.data.run_list import RunList

        return RunList(self._settings, writes=self._writes)

    @_Part
    def _benchmarks(self) -> Benchmarks:
        from bioeval_tui.tui.data.grading import Benchmarks

        return Benchmarks(self._settings, self._grading)

    @_Part
    def _desk(self) -> ReviewDesk:
        from bioeval_tui.tui.data.reviews import ReviewDesk

        return ReviewDesk(self._settings, self._grading)

    @_Part
    def _engines(self) -> ModuleType:
        """The starting and stopping of engines."""
        from bioeval_tui.evaluation.wiring import start

        return start

    @_Part
    def _doctor(self) -> ModuleType:
        """What examines the installation, and the models of a run."""
        from bioeval_tui.evaluation.wiring import doctor

        return doctor

    @_Part
    def batches(self) -> Batches:
        """The batches that were started from here."""
        from bioeval_tui.tui.data.batches import Batches

        return Batches(self._settings, self._runs)

    # Runs on the live screen

    async def start_run(self, request: RunRequest) -> RunView:
        """Start an engine for the request and follow its first run; the others are in the list of runs."""
        # A thread cannot be cancelled: if the caller is, the engine starts nevertheless, and must not be forgotten.
        starting = asyncio.ensure_future(asyncio.to_thread(self._start, request))
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)
        return await asyncio.shield(starting)

    def _start(self, request: RunRequest) -> FollowedRun:
        request = self._as_started(request)
        spec = spec_of(request, self._settings.runs_dir)
        view: FollowedRun = self._engines.start_batch(spec, self._settings)[0]
        self.note(spec, view)
        return view

    def note(self, spec: EngineSpec, view: FollowedRun) -> None:
        """Remember an engine that was started for this session, by its first run."""
        self.batches.note(spec, view)
        self._started.append(view)

    def in_progress(self) -> Sequence[str]:
        """Return the ids of the runs started from here whose engines still work; "" for one that is being started."""
        return [*(view.run_id for view in self._started if view.in_progress), *("" for _ in self._starting)]

    async def stop_runs(self) -> None:
        """Stop every run started from here, and wait until its engine and servers have ended."""
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*(self._engines.stop_run(view) for view in self._started if view.in_progress))

    def _as_started(self, request: RunRequest) -> RunRequest:
        """Return a request with the command line's options that the dialog does not have."""
        if self._spec is None:
            return request
        given = self._spec.values(lambda option: not option.on_screen)
        pause, code = self._spec.typing_delay_s, request.code or self._spec.code
        return replace(request, **{**given, "code": code}, typing_delay_s=pause)

    async def connections(self, request: RunRequest) -> Sequence[ComponentState]:
        """Check once that the agent and models of a run answer; nothing from the job is sent."""
        return await asyncio.to_thread(
            lambda: self._doctor.connections(self._as_started(request), self._settings)
        )

    async def why_no_key(self, request: RunRequest) -> str:
        """Return why a model of a run cannot be asked, such as a missing key, in a sentence; empty if all can."""
        return await asyncio.to_thread(
            lambda: self._doctor.why_no_key(self._as_started(request), self._settings)
        )

    async def open_recording(self, run_id: str, *, speed: float | None = None) -> RunView:
        """Attach to a run in progress, or replay one (`speed` 1 is the recorded speed, None is at once)."""

        def open_view() -> RunView:
            from bioeval_tui.evaluation.engine.attach import FollowedRun, ReplayedRun
            from bioeval_tui.record.runs import is_live

            path = self._runs.find(run_id)
            return FollowedRun(path) if is_live(path) else ReplayedRun(path, speed)

        return await asyncio.to_thread(open_view)

    def batch(self, batch_id: str) -> AsyncIterator[Sequence[Glance]]:
        """Yield all conversations of a batch whenever one has changed, until none is in progress."""
        return self.batches.follow(batch_id)

    async def stop_batch(self, batch_id: str) -> str | None:
        """Cancel every conversation and start no more; return a sentence saying why that failed, if it did."""
        return await self.batches.stop(batch_id)

    # Jobs

    async def jobs(self) -> Sequence[JobItem]:
        """Return the job files as they are now, with their last scores."""
        return await asyncio.to_thread(lambda: self._jobs.items(self._runs.runs()))

    def new_job_path(self) -> Path:
        """Return a file that does not exist yet, in the first folder of jobs."""
        folder = next((place for place in self._job_places if place.is_dir()), Path.cwd())
        names = (f"my-agent{'' if n == 1 else f'-{n}'}.yml" for n in count(1))
        return next(folder / name for name in names if not (folder / name).exists())

    async def write_job(self, path: Path, answers: Answers) -> Path:
        """Write a job file for these answers, and list it from now on; return its path.

        Raises:
            StorageError: the disk is full, or the folder cannot be written.
        """
        return await asyncio.to_thread(lambda: self._jobs.write(path, answers))

    def edit(self, path: Path, line: int = 0) -> str | None:
        """Open a file in the user's editor and wait until it is closed; return a sentence saying why that failed, if it did."""
        from bioeval_tui.tui.data.job_list import edit

        return edit(path, line)

    # The history

    async def runs(self) -> Sequence[CataloguedRun]:
        """Return the history, newest first."""
        return await asyncio.to_thread(lambda: self._runs.runs())

    async def from_runs(self, function: Callable[..., Made], *run_ids: str) -> Made:
        """Read recorded runs and call a function with them, in a thread; return its result."""

        def called() -> Made:
            from bioeval_tui.report.result import load_run

            return function(*[load_run(self._runs.find(run_id)) for run_id in run_ids])

        return await asyncio.to_thread(called)

    async def compared(self, run_id: str, other: Path) -> Comparison:
        """Compare a recording that is in none of our folders with a run."""

        def made() -> Comparison:
            from bioeval_tui.report import comparison, result  # the first paint waits for no statistics

            ours, theirs = result.load_run(self._runs.find(run_id)), result.load_run(other)
            return comparison.compare(ours, theirs)

        return await asyncio.to_thread(made)

    async def problems(self) -> Sequence[ComponentState]:
        """Return the problems of this installation, without contacting another host."""
        findings = await asyncio.to_thread(lambda: self._doctor.examine(self._settings, online=False))
        return [finding for finding in findings if finding.state != "works"]

    async def report(self, run_ids: Sequence[str]) -> Path:
        """Write one HTML report of these runs into the current folder and return its path."""
        from bioeval_tui.evaluation.spending import FILE_NAME, load_prices
        from bioeval_tui.report.formats.html import write_report

        def write() -> Path:
            prices = load_prices(self._settings.data_dir / FILE_NAME)
            return write_report([self._runs.find(run_id) for run_id in run_ids], Path.cwd(), prices)

        return await asyncio.to_thread(write)

    async def delete_runs(self, run_ids: Sequence[str]) -> None:
        """Move recordings to the trash. Nothing is moved if one of them is in progress."""
        await asyncio.to_thread(lambda: self._runs.delete(run_ids))

    async def undo_delete(self) -> int:
        """Restore the runs deleted last; return their number, 0 if there are none."""
        return await asyncio.to_thread(lambda: self._runs.undo())

    # Benchmarks and medals

    async def benchmarks(self) -> Sequence[BenchmarkItem]:
        """Return the machine-learning tasks, broken ones too."""
        return await asyncio.to_thread(lambda: self._benchmarks.items())

    async def benchmark(self, task_id: str) -> BenchmarkDetail:
        """Return a task's description and leaderboard."""
        return await asyncio.to_thread(lambda: self._benchmarks.detail(task_id))

    def prepare(self, task_id: str) -> AsyncIterator[str]:
        """Prepare a task in a process of its own; yield a sentence at each step. Closing the iterator stops the work."""
        return self._benchmarks.prepare(task_id)

    async def examine(self, task_id: str, file: str) -> Verdict:
        """Return everything that is wrong with a file as a submission; cancelling ends the worker."""
        return await self._in_worker(lambda: self._benchmarks.examine(task_id, file))

    async def grade(self, task_id: str, file: str) -> MedalRow:
        """Grade a file; cancelling ends the worker."""
        return await self._in_worker(lambda: self._benchmarks.grade(task_id, file))

    async def _in_worker(self, call: Callable[[], Made]) -> Made:
        """Call what a grading worker does; cancelling ends the worker."""
        try:
            return await asyncio.to_thread(call)
        except asyncio.CancelledError:
            self._grading.close()
            raise

    @property
    def looked(self) -> Sequence[str]:
        """Lines saying where submissions, tasks and data were searched for."""
        return masked(self._looked)

    @property
    def has_submissions(self) -> bool:
        """Whether the session was given submissions or reports; else `medals` grades shipped samples, once asked to."""
        return bool(self._reports or self._submissions)

    def medals(self) -> AsyncIterator[MedalRow | None]:
        """Grade (or read) the reports that this session shows, one by one as they are ready; by default, the samples.

        None means that all reports so far were given and more may follow.
        """
        submissions = self._submissions or ([] if self._reports else sample_list())
        return self._benchmarks.rows(submissions, self._reports)

    def intervals(self, rows: Sequence[MedalRow]) -> AsyncIterator[tuple[MedalRow, Uncertainty]]:
        """Yield the uncertainty of each valid row's score, one by one, where it is missing and can be computed."""
        return self._benchmarks.intervals(rows)

    async def explain(self, row: MedalRow, *, show_answers: bool = False) -> Sequence[Section]:
        """Return why a valid submission's score is what it is, of private answers only if asked; cancelling ends the worker."""
        report = row.report
        if report is None or not report.valid_submission or (report.explanation and not show_answers):
            return report.explanation if report else ()
        here = replace(report, submission_path=str(row.path or report.submission_path))
        return await self._in_worker(lambda: masked(self._grading.explain(here, show_answers=show_answers)))

    # Reviews

    @property
    def reviewer(self) -> str:
        """The name that reviews are saved under: the chosen one, or user and host."""
        from bioeval_tui.evaluation.engine.attach import sender_name

        return masked(self._reviewer or sender_name())

    async def review_queue(self, source: ReviewSource) -> Sequence[ReviewItem]:
        """Return the reviewable items with their reviews so far."""
        return await asyncio.to_thread(lambda: self._desk.queue(source))

    async def give_review(self, item: ReviewItem, given: NewReview) -> str:
        """Save a review beside the recording or the report; return the entry's id."""
        return await asyncio.to_thread(lambda: self._desk.give(item, given, self.reviewer))

    async def undo_review(self, item: ReviewItem, entry: str) -> None:
        """Undo one's own entry; both stay on record."""
        await asyncio.to_thread(lambda: self._desk.undo(item, entry, self.reviewer))

    async def marks(self, rows: Sequence[MedalRow]) -> Sequence[Opinions]:
        """Return the reviews of each submission, in the order of the rows."""
        return await asyncio.to_thread(lambda: self._desk.marks(rows))

    # Preferences

    @property
    def preferences(self) -> Mapping[str, Any]:
        """The saved preferences, by name."""
        return self._preferences.values

    def keep(self, name: str, value: Any) -> None:
        """Save a JSON-like value under a name. Never raises."""
        self._preferences.keep(name, value)

    def close(self) -> None:
        """End the grading workers, if there are any."""
        if "_grading" in self.__dict__:
            self._grading.close()


def sample_list() -> list[tuple[str, Path | None]]:
    """Return the sample submissions of the demo: good, poor and invalid, for one task."""
    from bioeval_tui.grade.submissions import read_submissions
    from bioeval_tui.sample.paths import sample_submissions

    submissions = read_submissions(sample_submissions() / "submissions.jsonl").submissions
    return [(item.task_id, Path(item.path) if item.path else None) for item in submissions[:SAMPLES_SHOWN]]


# Preferences

FILE = "preferences.json"
MAX_BYTES = 1_000_000


class Preferences:
    """Values by name. If the file is missing, damaged or read-only, values last only for the session."""

    def __init__(self, data_dir: Path, *, writes: bool = True) -> None:
        """Without `writes`, changes last only for the session."""
        self._writes = writes
        self._path = data_dir / FILE
        self._lock = threading.Lock()
        self.values: dict[str, Any] = self._read()

    def keep(self, name: str, value: Any) -> None:
        """Save a JSON-like value; None deletes it. Values that another process wrote are kept."""
        with self._lock:
            known = self._read()
            for values in (known, self.values):
                values.pop(name, None)
                if value is not None:
                    values[name] = value
            if not self._writes:
                return
            with contextlib.suppress(OSError, StorageError, TypeError, ValueError):
                self._write(known)

    def _read(self) -> dict[str, Any]:
        try:
            preferences = json.loads(read_small(self._path, MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return preferences if isinstance(preferences, dict) else {}

    def _write(self, values: dict[str, Any]) -> None:
        text = json.dumps(values, ensure_ascii=False, indent=1)
        write_whole(below(private_dir(self._path.parent), FILE), text, mode=0o600)

"""What the screens request from outside."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from bioeval_tui.base.errors import StorageError
from bioeval_tui.base.files import below, private_dir, read_small, write_whole
from bioeval_tui.record.masking import masked
from bioeval_tui.record.runs import is_live

if TYPE_CHECKING:
    from bioeval_tui.base.settings import Settings
    from bioeval_tui.evaluation.engine.attach import FollowedRun, ReplayedRun
    from bioeval_tui.evaluation.engine.interface import EngineSpec, Resolved, RunRequest, RunView
    from bioeval_tui.evaluation.wiring.doctor import ComponentState
    from bioeval_tui.grade.explaining.sections import Section
    from bioeval_tui.grade.runs import Runs
    from bioeval_tui.grade.service import Grading
    from bioeval_tui.grade.submissions import Submission
    from bioeval_tui.tui.data.batches import Batches
    from bioeval_tui.tui.data.grading import Benchmarks
    from bioeval_tui.tui.data.job_list import JobList
    from bioeval_tui.tui.data.large_runs import LargeRuns
    from bioeval_tui.tui.data.reviews import ReviewDesk
    from bioeval_tui.tui.data.run_list import RunList
    from bioeval_tui.tui.grading_items import MedalRow


Made = TypeVar("Made")

SAMPLES_SHOWN = 3
"""Number of sample submissions that the demo grades: a good, a poor and an invalid one for the same
task.
"""


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

    Each part (`job_list`, `run_list`, `benchmarks`, `review_desk`, `batches`, `doctor`) is imported
    and created on first use, and its plain methods block. `in_thread` and `in_worker` call them in
    the thread that does the work, so that neither the first paint nor a key press waits for them:

        runs = await services.in_thread(lambda: services.run_list.runs())
    """

    def __init__(
        self,
        settings: Settings,
        submissions: Sequence[Submission] | None = None,
        spec: EngineSpec | None = None,
        reports: Sequence[Path] = (),
        job_places: Sequence[Path] = (),
        reviewer: str = "",
        runs: Runs | None = None,
        *,
        writes: bool = True,
    ) -> None:
        """Without `writes`, the list of runs and the preferences are kept only in memory."""
        self.settings = settings
        self.preferences = Preferences(settings.data_dir, writes=writes)
        self._writes = writes
        if runs is not None:
            submissions = runs.submissions
            reports = (*reports, *runs.reports)
        self._submissions = submissions
        self._looked = () if runs is None else (*runs.looked, *runs.problems)
        self._problems = () if runs is None else runs.problems
        self._reports = reports
        self._of_runs = runs is not None
        self._reviewer = reviewer
        self._job_places = job_places
        self.making = threading.RLock()
        self._spec = spec
        self._started: list[FollowedRun] = []
        self._starting: set[asyncio.Future[FollowedRun]] = set()

    @_Part
    def _grading(self) -> Grading:
        # Here and below: in the thread that does the work, after the first paint.
        from bioeval_tui.grade.service import Grading

        return Grading(self.settings, None if self._submissions else 1)

    @_Part
    def job_list(self) -> JobList:
        """The job files, with their last scores."""
        from bioeval_tui.tui.data.job_list import JobList

        return JobList(self._job_places, self.run_list)

    @_Part
    def run_list(self) -> RunList:
        """The history, and its trash."""
        from bioeval_tui.tui.data.run_list import RunList

        return RunList(self.settings, writes=self._writes)

    @_Part
    def _large_runs(self) -> LargeRuns:
        from bioeval_tui.tui.data.large_runs import LargeRuns

        return LargeRuns(writes=self._writes)

    @_Part
    def benchmarks(self) -> Benchmarks:
        """The machine-learning tasks, and what grades files for them."""
        from bioeval_tui.tui.data.grading import Benchmarks

        return Benchmarks(self.settings, self._grading)

    @_Part
    def review_desk(self) -> ReviewDesk:
        """What can be reviewed, and the reviews."""
        from bioeval_tui.tui.data.reviews import ReviewDesk

        return ReviewDesk(self.settings, self._grading)

    @_Part
    def _views(self) -> ModuleType:
        """What runs are opened as."""
        from bioeval_tui.evaluation.engine import attach

        return attach

    @_Part
    def _engines(self) -> ModuleType:
        """The starting of engines."""
        from bioeval_tui.evaluation.wiring import start

        return start

    @_Part
    def doctor(self) -> ModuleType:
        """What examines the installation, and the models of a run."""
        from bioeval_tui.evaluation.wiring import doctor

        return doctor

    @_Part
    def batches(self) -> Batches:
        """The batches that were started from here."""
        from bioeval_tui.tui.data.batches import Batches

        return Batches(self.settings, self.run_list)

    async def in_thread(self, work: Callable[[], Made]) -> Made:
        """Call what blocks, such as `run_list.runs`."""
        return await asyncio.to_thread(work)

    async def in_worker(self, work: Callable[[], Made]) -> Made:
        """Call what a grading worker does, such as `benchmarks.grade`; cancelling ends the
        worker.
        """
        try:
            return await asyncio.to_thread(work)
        except asyncio.CancelledError:
            self._grading.close()
            raise

    # Runs

    async def start_run(self, request: RunRequest) -> RunView:
        """Start an engine for the request and follow its first run; the others are in the list of
        runs.
        """
        # A thread cannot be cancelled: if the caller is, the engine starts nevertheless, and must
        # not be forgotten.
        starting = asyncio.ensure_future(asyncio.to_thread(self._start, request))
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)
        return await asyncio.shield(starting)

    def _start(self, request: RunRequest) -> FollowedRun:
        from bioeval_tui.evaluation.engine.interface import spec_of

        request = self._add_options(request)
        spec = spec_of(request, self.settings.runs_dir)
        view: FollowedRun = self._engines.start_batch(spec, self.settings)[0]
        self.note(spec, view)
        return view

    def note(self, spec: EngineSpec, view: FollowedRun) -> None:
        """Remember an engine that was started for this session, by its first run."""
        self.batches.note(spec, view)
        self._started.append(view)

    def in_progress(self) -> Sequence[str]:
        """Return the ids of the runs started from here whose engines still work; "" for one that is
        being started.
        """
        return [
            *(view.run_id for view in self._started if view.in_progress),
            *("" for _ in self._starting),
        ]

    async def stop_runs(self) -> None:
        """Stop every run started from here, and wait until its engine and servers have ended."""
        from bioeval_tui.evaluation.engine.processes import stop_run

        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*(stop_run(view) for view in self._started if view.in_progress))

    def _add_options(self, request: RunRequest) -> RunRequest:
        """Return a request with the command line's options that the dialog does not have."""
        if self._spec is None:
            return request
        given = self._spec.values(lambda option: not option.on_screen)
        pause, code = self._spec.typing_delay_s, request.code or self._spec.code
        return replace(request, **{**given, "code": code}, typing_delay_s=pause)

    async def connections(self, request: RunRequest) -> Sequence[ComponentState]:
        """Check once that the agent and models of a run answer; nothing from the job is sent."""
        return await self.in_thread(
            lambda: self.doctor.connections(self._add_options(request), self.settings)
        )

    async def why_no_key(self, request: RunRequest) -> str:
        """Return why a model of a run cannot be asked, such as a missing key, in a sentence; empty
        if all can.
        """
        return await self.in_thread(
            lambda: self.doctor.why_no_key(self._add_options(request), self.settings)
        )

    async def will_happen(self, request: RunRequest) -> Sequence[Resolved]:
        """Return who takes part in a run, where each was set, and what would be sent; nothing is
        sent.
        """
        from bioeval_tui.evaluation.wiring.resolved import will_happen

        return await self.in_thread(lambda: will_happen(self._add_options(request), self.settings))

    async def open_recording(self, run_id: str, *, speed: float | None = None) -> RunView:
        """Attach to a run in progress, or replay one (`speed` 1 is the recorded speed, None is at
        once). A large one that has ended is shown before its events are read (`LargeRun`).
        """

        def open_view() -> RunView:
            path = self.run_list.find(run_id)
            if is_live(path):
                return self._followed(path)
            if self._large_runs.has_rows(path):
                runs = self.run_list.runs()
                known = next((run for run in runs if run.run_id == path.stem), None)
                if known is not None and known.status != "interrupted":
                    whole = self._large_runs.whole(path, known.scores)
                    if speed is None or not whole.has_times:  # it would be played all at once
                        return whole
            return self._replayed(path, speed)

        return await self.in_thread(open_view)

    async def open_file(self, path: Path, *, speed: float | None = None) -> RunView:
        """Attach to the run that is recorded there, if it is in progress and no `speed` is given;
        otherwise replay it.
        """

        def open_view() -> RunView:
            if speed is None and is_live(path):
                return self._followed(path)
            return self._replayed(path, speed)

        return await self.in_thread(open_view)

    def _followed(self, path: Path) -> RunView:
        if self._large_runs.has_rows(path):
            return self._large_runs.growing(path)
        view: FollowedRun = self._views.FollowedRun(path)
        return view

    def _replayed(self, path: Path, speed: float | None) -> RunView:
        view: ReplayedRun = self._views.ReplayedRun(path, speed)
        return view

    async def from_runs(self, function: Callable[..., Made], *run_ids: str) -> Made:
        """Read recorded runs and call a function with them, in a thread; return its result."""

        def called() -> Made:
            paths = [self.run_list.find(run_id) for run_id in run_ids]
            return function(*map(self._large_runs.result, paths))

        return await self.in_thread(called)

    # Medals and reviews

    @property
    def looked(self) -> Sequence[str]:
        """Lines saying where submissions, tasks and data were searched for."""
        return masked(self._looked)

    @property
    def unread(self) -> Sequence[str]:
        """What says of reports and lists of runs that they cannot be read."""
        return masked([*self._problems, *self.benchmarks.unread])

    @property
    def has_submissions(self) -> bool:
        """Whether the session was given submissions or reports; else `medals` grades shipped
        samples, once asked to.
        """
        return bool(self._reports or self._submissions)

    def grade_again(self, row: MedalRow) -> MedalRow:
        """Grade a row's file again, and keep the report where that row's is: not in a folder of
        runs, nor if nothing is written.

        Raises:
            StorageError, InputError: the report cannot be written.
        """
        return self.benchmarks.grade_again(row, writes=self._writes and not self._of_runs)

    @property
    def reading(self) -> tuple[int, int] | None:
        """How many results of reports `medals` gave, and of how many; None while none is read."""
        return self.benchmarks.reading

    def medals(self) -> AsyncIterator[MedalRow | None]:
        """Grade (or read) the reports that this session shows, one by one as they are ready; by
        default, the samples.

        None means that all reports so far were given and more may follow.
        """
        submissions = self._submissions or ([] if self._reports else sample_list())
        return self.benchmarks.rows(submissions, self._reports)

    async def explain(self, row: MedalRow, *, show_answers: bool = False) -> Sequence[Section]:
        """Return why a valid submission's score is what it is, of private answers only if asked;
        cancelling ends the worker.
        """
        report = row.report
        if (
            report is None
            or not report.valid_submission
            or (report.explanation and not show_answers)
        ):
            if report:
                return report.explanation
            return ()
        here = replace(report, submission_path=str(row.path or report.submission_path))
        return await self.in_worker(
            lambda: masked(self._grading.explain(here, show_answers=show_answers))
        )

    @property
    def reviewer(self) -> str:
        """The name that reviews are saved under: the chosen one, or user and host."""
        from bioeval_tui.evaluation.engine.attach import sender_name

        return masked(self._reviewer or sender_name())

    def close(self) -> None:
        """End the grading workers, if there are any."""
        if "_grading" in self.__dict__:
            self._grading.close()


def sample_list() -> Sequence[Submission]:
    """Return the sample submissions of the demo: good, poor and invalid, for one task."""
    from bioeval_tui.grade.submissions import read_submissions
    from bioeval_tui.sample.paths import sample_submissions

    return read_submissions(sample_submissions() / "submissions.jsonl").submissions[:SAMPLES_SHOWN]


# Preferences

FILE = "preferences.json"
MAX_BYTES = 1_000_000


class Preferences:
    """Values by name.

    If the file is missing, damaged or read-only, values last only for the session.
    """

    def __init__(self, data_dir: Path, *, writes: bool = True) -> None:
        """Without `writes`, changes last only for the session."""
        self._writes = writes
        self._path = data_dir / FILE
        self._lock = threading.Lock()
        self.values: dict[str, Any] = self._read()

    def get(self, name: str, default: Any = None) -> Any:
        """Return a saved value."""
        return self.values.get(name, default)

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
        if isinstance(preferences, dict):
            return preferences
        return {}

    def _write(self, values: dict[str, Any]) -> None:
        text = json.dumps(values, ensure_ascii=False, indent=1)
        write_whole(below(private_dir(self._path.parent), FILE), text, mode=0o600)

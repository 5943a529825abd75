"""Services in memory: a scripted run and graded submissions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from inspect import isawaitable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

from bioeval_tui.base.errors import UsageError
from bioeval_tui.base.settings import Settings
from bioeval_tui.evaluation.engine.interface import Intent, Resolved, RunRequest, RunView
from bioeval_tui.evaluation.wiring.doctor import ComponentState
from bioeval_tui.formats import RunResult
from bioeval_tui.grade.explaining.sections import PRIVATE, Section
from bioeval_tui.grade.validation import Validation
from bioeval_tui.grading import Uncertainty
from bioeval_tui.jobs.template import Answers
from bioeval_tui.record.events import Reviewed, RunEvent
from bioeval_tui.record.reviews import Opinions, ReviewedScores, fold_reviews, reviewed_scores
from bioeval_tui.record.runs import CataloguedRun
from bioeval_tui.record.state import RunState
from bioeval_tui.report.answer import Answer
from bioeval_tui.report.comparison import Comparison
from bioeval_tui.report.findings import (
    Gain,
    ModelsWithinChance,
    NoConversation,
    Step,
    TooFewForEffect,
    Trials,
)
from bioeval_tui.tui.grading_items import BenchmarkDetail, BenchmarkItem, MedalRow
from bioeval_tui.tui.job_items import JobItem
from bioeval_tui.tui.review_items import NewReview, ReviewItem, ReviewSource
from bioeval_tui.tui.run_form import RunForm
from bioeval_tui.tui.runs.batch_view import Glance
from bioeval_tui.tui.runs.runs_view import RunPreview
from bioeval_tui.tui.shared.cells import Cell


class FakeView:
    """A run that gives away its events up to a point, and the rest when it is told to."""

    def __init__(
        self,
        events: Sequence[RunEvent],
        *,
        hold_at: int | None = None,
        mode: Literal["live", "replay"] = "live",
        refuse: str | None = None,
    ) -> None:
        self.run_id = events[0].run_id if events else "none"
        self.batch_id: str | None = None
        self.late_s = 0.0
        self.mode = mode
        self.sent: list[Intent] = []
        self.closed = False
        self.refuse = refuse
        self._events = list(events)
        self._queue: asyncio.Queue[Sequence[RunEvent] | None] = asyncio.Queue()
        self.at = 0
        self.give(len(self._events) if hold_at is None else hold_at)

    def give(self, count: int) -> None:
        """Let the next `count` events out; after the last one the stream ends."""
        batch = self._events[self.at : self.at + count]
        self.at += len(batch)
        if batch:
            self._queue.put_nowait(batch)
        if self.at >= len(self._events):
            self._queue.put_nowait(None)

    def give_event(self, event: RunEvent) -> None:
        """Let out an event that is not in the script."""
        self._queue.put_nowait([event])

    def die(self) -> None:
        """End the stream as a killed engine does."""
        self._queue.put_nowait(None)

    async def events(self) -> AsyncIterator[Sequence[RunEvent]]:
        """Yield what was given."""
        while (batch := await self._queue.get()) is not None:
            yield batch

    async def send(self, intent: Intent) -> str | None:
        """Remember the intent."""
        self.sent.append(intent)
        return self.refuse

    async def aclose(self) -> None:
        """Remember that the screen let go."""
        self.closed = True


class FakePreferences(dict[str, Any]):
    """Preferences in memory."""

    def keep(self, name: str, value: Any) -> None:
        self[name] = value


class FakeServices:
    """What screens are given, in memory."""

    def __init__(
        self,
        view: FakeView | None = None,
        rows: Sequence[MedalRow] = (),
        error: Exception | None = None,
    ) -> None:
        self.view = view
        self.rows = list(rows)
        self.error = error
        self.started: list[RunRequest] = []
        self.preferences = FakePreferences()
        self.glances: list[Sequence[Glance]] = []
        """What a batch looks like, one look after another."""
        self.next_look = asyncio.Event()
        self.going_on: list[str] = []
        """The runs started from here that go on."""
        self.job_items: Sequence[JobItem] = ()
        self.history: Sequence[CataloguedRun] = ()
        self.tasks: Sequence[BenchmarkItem] = ()
        self.details: dict[str, BenchmarkDetail] = {}
        self.comparison: Comparison | None = None
        self.examined = Validation("valid")
        self.steps: Sequence[str] = ()
        self.hold = False
        """Whether preparing, validating and grading never end by themselves."""
        self.stopped: list[str] = []
        self.entries: list[Reviewed] = []
        self.review_items: Callable[[Sequence[Reviewed]], Sequence[ReviewItem]] = lambda entries: []
        self.reviewed_state: RunState | None = None
        self.no_key = ""
        self.decided: Gain | None = None
        self.again: tuple[Path, RunForm] | None = None
        """The job file of recorded runs, and the form that runs it again."""
        self.asked: list[tuple[str, Any]] = []
        """What was asked for, in order, with its arguments."""

    async def start_run(self, request: RunRequest) -> RunView:
        """Return the run that was given."""
        self.started.append(request)
        if self.error is not None:
            raise self.error
        assert self.view is not None
        return self.view

    async def connections(self, request: RunRequest) -> Sequence[ComponentState]:
        """Return the findings that were given."""
        self.asked.append(("connections", request))
        return self.findings

    async def why_no_key(self, request: RunRequest) -> str:
        """Return the sentence that was given, unless no model is needed."""
        return self.no_key if request.mode == "job" else ""

    async def will_happen(self, request: RunRequest) -> Sequence[Resolved]:
        """Return the lines that were given."""
        return self.resolved

    resolved: Sequence[Resolved] = ()

    async def open_recording(self, run_id: str, *, speed: float | None = None) -> RunView:
        """Return the run that was given."""
        self.asked.append(("open", (run_id, speed)))
        assert self.view is not None
        return self.view

    async def in_thread(self, work: Callable[[], Any]) -> Any:
        """Call at once; wait for what the test lets come later."""
        done = work()
        return await done if isawaitable(done) else done

    async def in_worker(self, work: Callable[[], Any]) -> Any:
        """Call at once; it never ends by itself if the test says so."""
        done = work()
        await self._wait(self.asked[-1][0] if self.asked else "")
        return done

    @property
    def job_list(self) -> SimpleNamespace:
        return SimpleNamespace(
            items=self._jobs, item=self._job, new_path=self._new_job_path, write=self._write_job
        )

    @property
    def run_list(self) -> SimpleNamespace:
        return SimpleNamespace(
            runs=self._runs,
            delete=self._delete_runs,
            undo=self._undo_delete,
            write_report=self._report,
        )

    @property
    def benchmarks(self) -> SimpleNamespace:
        return SimpleNamespace(
            items=self._benchmarks, detail=self._benchmark, prepare=self._prepare,
            examine=self._examine, grade=self._grade, intervals=self._intervals,
            graded_list=lambda path: self.graded_list(path),
        )  # fmt: skip

    @property
    def review_desk(self) -> SimpleNamespace:
        return SimpleNamespace(
            queue=self._review_queue,
            give=self._give_review,
            undo=self._undo_review,
            marks=self._marks,
        )

    @property
    def batches(self) -> SimpleNamespace:
        return SimpleNamespace(follow=self._follow_batch, stop=self._stop_batch)

    @property
    def doctor(self) -> SimpleNamespace:
        return SimpleNamespace(examine=lambda settings, *, online: self.findings)

    settings = Settings()

    async def _follow_batch(self, batch_id: str) -> AsyncIterator[Sequence[Glance]]:
        """Yield the looks that were given, one by one as the test asks for them."""
        self._fail()
        self.asked.append(("batch", batch_id))
        for glances in self.glances:
            yield glances
            await self.next_look.wait()
            self.next_look.clear()

    async def _stop_batch(self, batch_id: str) -> str | None:
        """Remember that a batch was to end."""
        self.asked.append(("stop", batch_id))
        return None

    def in_progress(self) -> Sequence[str]:
        """Return the runs that the test says go on."""
        return tuple(self.going_on)

    async def stop_runs(self) -> None:
        """Remember that they were to end."""
        self.stopped += self.going_on
        self.going_on = []

    def _fail(self) -> None:
        if self.error is not None:
            raise self.error

    def _runs(self) -> Sequence[CataloguedRun]:
        """Return the history that was given."""
        self._fail()
        return list(self.history)

    def _new_job_path(self) -> Path:
        return Path("/jobs/my-agent.yml")

    def _write_job(self, path: Path, answers: Answers) -> Path:
        self.asked.append(("write_job", (str(path), answers)))
        return path

    def _job(self, path: Path) -> JobItem:
        """Return a job that can run, or the one that was given."""
        return next((job for job in self.job_items if job.path == path), JobItem(path, path.stem))

    async def repeated(self, *run_ids: str) -> tuple[Path, RunForm]:
        """Return the job and form that were given; without, there is no job."""
        self.asked.append(("again", *run_ids))
        if self.again is None:
            raise UsageError(f"the job file of run {run_ids[0]} is gone: /jobs/gone.yml")
        return self.again

    async def job_file(self, run_id: str) -> Path:
        """Return the job's file that was given; without, there is none."""
        if self.again is None:
            raise UsageError(f"the job file of run {run_id} is gone: /jobs/gone.yml")
        return self.again[0]

    async def changes_since_run(self, before: str, run_id: str) -> str:
        """Return what a comparison would say."""
        return f"since {before}: the same"

    def _jobs(self) -> Sequence[JobItem]:
        """Return the jobs that were given."""
        self._fail()
        return list(self.job_items)

    async def preview(self, run_id: str) -> RunPreview:
        """Return what was found."""
        measured = all(run.measured for run in self.history if run.run_id == run_id)
        few = TooFewForEffect(Trials(1, 1), None, 5) if measured else NoConversation("503")
        why = (
            "without the facts, turn 2 “Done.” — judge: “a reminder”: it has no time zone."
            if measured
            else ""
        )
        return RunPreview(
            Answer(
                few,
                f"What {run_id} found.",
                "no: nobody knows",
                why,
                (Step("passage", (run_id,)), Step("edit")),
                self.decided,
            ),
            "withheld",
            () if measured else ("look at the agent's log",),
            trials=2,
            seconds=10.0 if measured else 1.0,
            dollars=0.1,
        )

    findings: Sequence[ComponentState] = ()

    results: Sequence[RunResult] = ()
    """Recorded runs that functions of runs are called with, whatever runs are asked for."""

    async def from_runs(self, function: Callable[..., Any], *run_ids: str) -> Any:
        """Call the function with the results that were given; else return what the method of its
        name says.
        """
        if self.results:
            return function(*self.results)
        return await getattr(self, function.__name__)(*run_ids)

    async def conclude(self, *run_ids: str) -> tuple[Answer, list[list[Cell]]]:
        """Return an answer, and why points were lost."""
        compare = (Step("compare", run_ids),) if len(run_ids) == 2 else ()
        steps = (*compare, Step("trials", trials=4, total=5, each=True))
        found = Answer(
            ModelsWithinChance(),
            f"What {len(run_ids)} of them found.",
            "no: nobody knows",
            "",
            steps,
        )
        return found, [[Cell("small lost most: it named a dose.")]]

    async def compare(self, a: str, b: str) -> Comparison:
        """Return the comparison that was given."""
        self.asked.append(("compare", (a, b)))
        assert self.comparison is not None
        return self.comparison

    async def compared(self, run_id: str) -> Comparison:
        """Return the comparison that was given."""
        return await self.compare(run_id, "other")

    async def states(self, a: str, b: str) -> tuple[RunState, RunState]:
        """Return the run that was given, twice."""
        assert self.reviewed_state is not None
        return self.reviewed_state, self.reviewed_state

    def _report(self, run_ids: Sequence[str]) -> Path:
        """Remember what was to be reported."""
        self._fail()
        self.asked.append(("report", tuple(run_ids)))
        return Path("/reports/report.html")

    def _delete_runs(self, run_ids: Sequence[str]) -> None:
        """Take runs out of the history."""
        self._fail()
        self.asked.append(("delete", tuple(run_ids)))
        self._before = list(self.history)
        self.history = [run for run in self.history if run.run_id not in run_ids]

    def _undo_delete(self) -> int:
        """Put them back."""
        back = len(self._before) - len(self.history)
        self.history = self._before
        return back

    def _benchmarks(self) -> Sequence[BenchmarkItem]:
        """Return the tasks that were given."""
        self._fail()
        return list(self.tasks)

    def _benchmark(self, task_id: str) -> BenchmarkDetail:
        """Return what was given of a task."""
        return self.details.get(task_id, BenchmarkDetail())

    async def _prepare(self, task_id: str) -> AsyncIterator[str]:
        """Tell the steps that were given."""
        self.asked.append(("prepare", task_id))
        for sentence in self.steps:
            yield sentence
        await self._wait("prepare")
        self.tasks = [
            replace(task, prepared=task.prepared or task.task_id == task_id) for task in self.tasks
        ]

    def _examine(self, task_id: str, file: str) -> Validation:
        """Return the findings that were given."""
        self.asked.append(("examine", (task_id, file)))
        return self.examined

    def grade_again(self, row: MedalRow) -> MedalRow:
        """Return the row as it is."""
        return row

    async def graded_list(self, path: Path) -> AsyncIterator[MedalRow]:
        """Yield the rows that were given."""
        for row in self.rows:
            yield row

    def _grade(self, task_id: str, file: str) -> MedalRow:
        """Return the first of the rows that were given."""
        self.asked.append(("grade", (task_id, file)))
        self._fail()
        return self.rows[0]

    async def _wait(self, what: str) -> None:
        self._fail()
        if self.hold:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.stopped.append(what)
                raise

    # Reviews

    reviewer = "ada"

    def _review_queue(self, source: ReviewSource) -> Sequence[ReviewItem]:
        """Return the queue that was given, folded anew over what was said."""
        self._fail()
        self.asked.append(("review", source))
        return self.review_items(self.entries)

    def _give_review(self, item: ReviewItem, given: NewReview, author: str) -> str:
        """Keep what was said."""
        self._fail()
        number = len(self.entries) + 1
        fields: dict[str, Any] = {}
        if item.id.key is not None:
            fields = {"condition": item.id.key.condition, "trial": item.id.key.trial, "attempt": 1}
        self.entries.append(
            Reviewed(
                run_id="r", seq=number, at=datetime(2026, 11, 21, 10, number, tzinfo=UTC),
                review=f"e{number}",
                author=author, action=given.action, task=item.id.task,
                submission=item.id.submission,
                before=item.judged.score if item.judged else None, after=given.score,
                fault=given.fault,
                mark=given.mark, why=given.why, blind=given.blind, **fields,
            )
        )  # fmt: skip
        return f"e{number}"

    def _undo_review(self, item: ReviewItem, entry: str, author: str) -> None:
        """Keep that it was taken back."""
        self.entries.append(
            Reviewed(
                run_id="r", seq=0, at=datetime(2026, 11, 21, 11, tzinfo=UTC),
                review=f"u{len(self.entries)}",
                author=author, action="undo", undoes=entry,
            )
        )  # fmt: skip

    async def reviewed(self, run_id: str) -> tuple[ReviewedScores | None, tuple[str, ...]]:
        """Return what follows for the run that was given."""
        state = self.reviewed_state
        found = (
            reviewed_scores(state, fold_reviews(self.entries, state)) if state is not None else None
        )
        return found, ()

    def _marks(self, rows: Sequence[MedalRow]) -> Sequence[Opinions]:
        """Return what was said of each row's file."""
        found = fold_reviews(self.entries).submissions
        return [found.get(row.file, {}) for row in rows]

    has_submissions = True
    looked: Sequence[str] = ()
    unread: Sequence[str] = ()
    reading: tuple[int, int] | None = None
    sure: Mapping[str, Uncertainty] = {}
    """How sure the score of each task's rows is."""

    sections: Sequence[Section] = ()
    private = False
    """Whether the task keeps its answers private."""

    async def explain(self, row: MedalRow, *, show_answers: bool = False) -> Sequence[Section]:
        """Return the views that were given."""
        self.asked.append(("explain", row.task_id))
        return self.sections if show_answers or not self.private else (PRIVATE,)

    async def _intervals(
        self, rows: Sequence[MedalRow]
    ) -> AsyncIterator[tuple[MedalRow, Uncertainty]]:
        """Give what was given, by task."""
        for row in rows:
            if row.task_id in self.sure:
                yield row, self.sure[row.task_id]

    async def medals(self) -> AsyncIterator[MedalRow]:
        """Yield the rows that were given."""
        for row in self.rows:
            yield row

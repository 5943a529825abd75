"""The services of the screens: one Protocol, implemented in `tui/data`, faked in pilot tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bioeval_tui.evaluation.engine.run_view import RunView
from bioeval_tui.evaluation.engine.spec import RunRequest
from bioeval_tui.report.run_summary import RunPreview, RunSummary
from bioeval_tui.tui.items import BenchmarkDetail, BenchmarkItem, Examined, JobItem, MedalRow

if TYPE_CHECKING:  # the first paint waits for no event model
    from bioeval_tui.evaluation.wiring.doctor import Finding
    from bioeval_tui.grade.explanation import Section
    from bioeval_tui.grade.task_report import Uncertainty
    from bioeval_tui.record.reviews import Opinions, ReviewedScores
    from bioeval_tui.record.state import RunState
    from bioeval_tui.report.comparison import Comparison
    from bioeval_tui.tui.batch.batch_view import Glance
    from bioeval_tui.tui.items import Given, ReviewItem, ReviewSource

Opener = Callable[[], Awaitable[RunView]]
"""Opens a run: a new one, one in progress elsewhere, or a recording."""


class Services(Protocol):
    """Everything that screens can request from outside."""

    async def start_run(self, request: RunRequest) -> RunView:
        """Start an engine for the request and follow its first run."""
        ...

    def in_progress(self) -> Sequence[str]:
        """Return the ids of the runs started from here whose engines still work; "" for one that is being started."""
        ...

    async def stop_runs(self) -> None:
        """Stop every run started from here, and wait until its engine and servers have ended."""
        ...

    async def connections(self, request: RunRequest) -> Sequence[Finding]:
        """Check once that the agent and models of a run answer; nothing from the job is sent."""
        ...

    async def open_recording(self, run_id: str, *, speed: float | None = None) -> RunView:
        """Attach to a run in progress, or replay one (`speed` 1 is the recorded speed, None is at once)."""
        ...

    async def runs(self) -> Sequence[RunSummary]:
        """Return the history, newest first."""
        ...

    # Batches

    def batch(self, batch_id: str) -> AsyncIterator[Sequence[Glance]]:
        """Yield all conversations of a batch whenever one has changed, until none is in progress."""
        ...

    async def stop_batch(self, batch_id: str) -> str | None:
        """Cancel every conversation and start no more; return a sentence saying why that failed, if it did."""
        ...

    @property
    def looked(self) -> Sequence[str]:
        """Lines saying where submissions, tasks and data were searched for."""
        ...

    @property
    def has_submissions(self) -> bool:
        """Whether the session was given submissions or reports; else `medals` grades shipped samples, once asked to."""
        ...

    def medals(self) -> AsyncIterator[MedalRow | None]:
        """Grade (or read) the reports that this session shows, one by one as they are ready.

        None means that all reports so far were given and more may follow.
        """
        ...

    def intervals(self, rows: Sequence[MedalRow]) -> AsyncIterator[tuple[MedalRow, Uncertainty]]:
        """Yield the uncertainty of each valid row's score, one by one, where it is missing and can be computed."""
        ...

    async def explain(self, row: MedalRow, *, show_answers: bool = False) -> Sequence[Section]:
        """Return why a valid submission's score is what it is, of private answers only if asked; cancelling ends the work."""
        ...

    # Jobs

    async def jobs(self) -> Sequence[JobItem]:
        """Return the job files as they are now; a file that has not changed is the same object as before."""
        ...

    def edit(self, path: Path, line: int = 0) -> str | None:
        """Open a file in the user's editor and wait until it is closed; return a sentence saying why that failed, if it did."""
        ...

    # Runs

    async def preview(self, run_id: str) -> RunPreview:
        """Return an ended run's conclusion, and how its lowest-scoring conversation ended."""
        ...

    async def problems(self) -> Sequence[Finding]:
        """Return the problems of this installation, without contacting another host."""
        ...

    async def conclusion(self, run_ids: Sequence[str]) -> str:
        """Return a run's conclusion, or which of several models did best, in one sentence."""
        ...

    async def compare(self, a: str, b: str) -> Comparison:
        """Compare run B with run A."""
        ...

    async def recorded(self, run_id: str) -> RunState:
        """Return a whole recorded run."""
        ...

    async def report(self, run_ids: Sequence[str]) -> Path:
        """Write one HTML report of these runs into the current folder and return its path."""
        ...

    async def delete_runs(self, run_ids: Sequence[str]) -> None:
        """Move recordings to the trash. Nothing is moved if one of them is in progress."""
        ...

    async def undo_delete(self) -> int:
        """Restore the runs deleted last; return their number, 0 if there are none."""
        ...

    # Benchmarks

    async def benchmarks(self) -> Sequence[BenchmarkItem]:
        """Return the machine-learning tasks, broken ones too."""
        ...

    async def benchmark(self, task_id: str) -> BenchmarkDetail:
        """Return a task's description and leaderboard."""
        ...

    def prepare(self, task_id: str) -> AsyncIterator[str]:
        """Prepare a task; yield a sentence at each step. Closing the iterator stops the work."""
        ...

    async def examine(self, task_id: str, file: str) -> Examined:
        """Return everything that is wrong with a file as a submission. Cancelling ends the work."""
        ...

    async def grade(self, task_id: str, file: str) -> MedalRow:
        """Grade a file. Cancelling ends the work."""
        ...

    # Reviews

    @property
    def reviewer(self) -> str:
        """The name that reviews are saved under."""
        ...

    async def review_queue(self, source: ReviewSource) -> Sequence[ReviewItem]:
        """Return the reviewable items with their reviews so far."""
        ...

    async def give_review(self, item: ReviewItem, given: Given) -> str:
        """Save a review of an item; return the entry's id."""
        ...

    async def undo_review(self, item: ReviewItem, entry: str) -> None:
        """Undo one's own entry; both stay on record."""
        ...

    async def reviewed(self, run_id: str) -> ReviewedScores | None:
        """Return a run's scores after its reviews; None without any."""
        ...

    async def marks(self, rows: Sequence[MedalRow]) -> Sequence[Opinions]:
        """Return the reviews of each submission, in the order of the rows."""
        ...

    # Preferences

    @property
    def preferences(self) -> Mapping[str, Any]:
        """The saved preferences, by name."""
        ...

    def keep(self, name: str, value: Any) -> None:
        """Save a JSON-like value under a name. Never raises."""
        ...

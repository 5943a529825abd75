"""What screens are given: one Protocol, implemented in `tui/data`, faked in pilot tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bioeval_tui.evaluate.engine.run_view import RunView
from bioeval_tui.evaluate.engine.spec import RunRequest
from bioeval_tui.report.compared import RunComparison, RunPreview, RunSummary
from bioeval_tui.tui.items import BenchmarkDetail, BenchmarkItem, Examined, JobItem, MedalRow

if TYPE_CHECKING:  # the first paint waits for no event model
    from bioeval_tui.evaluate.wiring.doctor import Finding
    from bioeval_tui.grade.explanation import Section
    from bioeval_tui.grade.uncertainty import Uncertainty
    from bioeval_tui.record.reviews import Opinions, ReviewedScores
    from bioeval_tui.record.state import RunState
    from bioeval_tui.tui.batch.batch_view import Glance
    from bioeval_tui.tui.review.review_items import Given, ReviewItem, ReviewSource

Opener = Callable[[], Awaitable[RunView]]
"""Opens a run: a new one, one that goes on elsewhere, or a recording."""


class Services(Protocol):
    """Everything that a screen may ask of the world."""

    async def start_run(self, request: RunRequest) -> RunView:
        """Start an engine for the request and follow its first run."""
        ...

    async def connections(self, request: RunRequest) -> Sequence[Finding]:
        """Ask once those that a run would ask whether they answer; nothing of the job is sent."""
        ...

    async def open_recording(self, run_id: str, *, speed: float | None = None) -> RunView:
        """Attach to a run that goes on, or replay one (`speed` 1 is true to the recorded times, None at once)."""
        ...

    async def runs(self) -> Sequence[RunSummary]:
        """Return the history, newest first."""
        ...

    # Batches

    def batch(self, batch_id: str) -> AsyncIterator[Sequence[Glance]]:
        """Yield all conversations of a batch whenever one has changed, until none goes on."""
        ...

    async def stop_batch(self, batch_id: str) -> str | None:
        """End what goes on and let nothing more begin; return why not, in one sentence."""
        ...

    def batch_goes_on(self, batch_id: str) -> bool:
        """Say whether a batch that was started from here still goes on."""
        ...

    @property
    def looked(self) -> Sequence[str]:
        """Where the submissions that this session grades, their tasks and data were looked for, in lines."""
        ...

    @property
    def has_submissions(self) -> bool:
        """Whether the session was given submissions or reports; else `medals` grades shipped samples, once asked to."""
        ...

    def medals(self) -> AsyncIterator[MedalRow | None]:
        """Grade (or read) the reports that this session shows, one by one as they are ready.

        None says that all that there is was given, and that more may come.
        """
        ...

    def intervals(self, rows: Sequence[MedalRow]) -> AsyncIterator[tuple[MedalRow, Uncertainty]]:
        """Give how sure the score of each valid row is, where that is not known yet and can be told, one by one."""
        ...

    async def explain(self, row: MedalRow) -> Sequence[Section]:
        """Return why a valid submission's score is what it is, without private answers; cancelling ends the work."""
        ...

    # Jobs

    async def jobs(self) -> Sequence[JobItem]:
        """Return the job files as they are now; a file that has not changed is the same object as before."""
        ...

    def edit(self, path: Path, line: int = 0) -> str | None:
        """Open a file in the user's editor and wait until it is closed; return why not, in one sentence."""
        ...

    # Runs

    async def preview(self, run_id: str) -> RunPreview:
        """Return what an ended run found, and how its lowest conversation ended."""
        ...

    async def problems(self) -> Sequence[Finding]:
        """Return what of this installation does not work, without asking another host."""
        ...

    async def conclusion(self, run_ids: Sequence[str]) -> str:
        """Return what a run found, or which of several models did best, in one sentence."""
        ...

    async def compare(self, a: str, b: str) -> RunComparison:
        """Compare run B with run A."""
        ...

    async def recorded(self, run_id: str) -> RunState:
        """Return a whole recorded run."""
        ...

    async def report(self, run_ids: Sequence[str]) -> Path:
        """Write one HTML report of these runs into the current folder and return its path."""
        ...

    async def delete_runs(self, run_ids: Sequence[str]) -> None:
        """Move recordings to the trash. Nothing is moved when one of them still goes on."""
        ...

    async def undo_delete(self) -> int:
        """Bring back what was deleted last; return how many runs, 0 when there is nothing to bring back."""
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
        """Say everything that is wrong with a file as a submission. Cancelling ends the work."""
        ...

    async def grade(self, task_id: str, file: str) -> MedalRow:
        """Grade a file. Cancelling ends the work."""
        ...

    # Reviews

    @property
    def reviewer(self) -> str:
        """Under whose name reviews are kept."""
        ...

    async def review_queue(self, source: ReviewSource) -> Sequence[ReviewItem]:
        """Return what can be reviewed, with what people said of it so far."""
        ...

    async def give_review(self, item: ReviewItem, given: Given) -> str:
        """Keep what the reviewer says of an item; return the entry's id."""
        ...

    async def undo_review(self, item: ReviewItem, entry: str) -> None:
        """Take back one's own entry; both stay on record."""
        ...

    async def reviewed(self, run_id: str) -> ReviewedScores | None:
        """Return a run's scores after its reviews; None without any."""
        ...

    async def marks(self, rows: Sequence[MedalRow]) -> Sequence[Opinions]:
        """Return for each submission what reviewers say of it, in the order of the rows."""
        ...

    # What people change and find again

    @property
    def preferences(self) -> Mapping[str, Any]:
        """What was kept, by name."""
        ...

    def keep(self, name: str, value: Any) -> None:
        """Keep a JSON-like value under a name, now and for the next time. Never raises."""
        ...

"""What screens are given: one Protocol, implemented in `tui/data`, faked in pilot tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from bioeval_tui.tui.items import (
    BenchmarkDetail,
    BenchmarkItem,
    Examined,
    JobItem,
    RunComparison,
    RunSummary,
    TurnMark,
)

if TYPE_CHECKING:  # the first paint waits for no event model
    from bioeval_tui.grade.task_report import TaskReport
    from bioeval_tui.record.events import ConditionName, RunEvent
    from bioeval_tui.record.reviews import Opinions, ReviewedScores
    from bioeval_tui.tui.batch.batch_view import Glance
    from bioeval_tui.tui.review.review_items import Given, ReviewItem, ReviewSource

__all__ = ["Intent", "IntentKind", "MedalRow", "Playback", "RunRequest", "RunSummary", "RunView", "Services"]

IntentKind = Literal["pause", "resume", "step", "take_over", "say", "give_back", "cancel"]


@dataclass(frozen=True, slots=True)
class Intent:
    """Something a viewer asks of the engine. Without `condition` it concerns the whole run."""

    kind: IntentKind
    condition: ConditionName | None = None
    text: str = ""


class RunView(Protocol):
    """One run seen from here: live, attached from another terminal, or replayed. The screen cannot tell them apart."""

    run_id: str
    mode: Literal["live", "replay"]
    batch_id: str | None
    """The batch that was started with it from here; its other runs are shown beside it."""
    late_s: float
    """How long ago the newest event of a live run was written when it was opened, in seconds."""

    def events(self) -> AsyncIterator[Sequence[RunEvent]]:
        """Yield batches of events, at most one a frame, until the run has ended (or died: then a `Warned`)."""
        ...

    async def send(self, intent: Intent) -> str | None:
        """Send an intent; return None when it was taken, else one sentence saying why not."""
        ...

    async def aclose(self) -> None:
        """Detach. The run goes on; ending it is the intent `cancel`."""
        ...


@runtime_checkable
class Playback(Protocol):
    """What a replayed RunView can do besides. Its `events` may be asked for again: they start anew."""

    speed: float | None
    """Recorded seconds a second; None for everything at once."""

    @property
    def paused(self) -> bool:
        """Whether the replay waits."""
        ...

    def set_paused(self, paused: bool) -> None:
        """Wait, or go on."""
        ...

    def set_speed(self, speed: float) -> None:
        """Play faster or slower from here on."""
        ...

    def step(self) -> bool:
        """Play to the end of the next message and wait there; False when there is none."""
        ...

    def to_next_failure(self) -> bool:
        """Play to the next assertion that fails and wait there; False when there is none."""
        ...

    def begin_before_last(self) -> None:
        """Let the next `events` begin, waiting, one message before the newest."""
        ...

    @property
    def marks(self) -> Sequence[TurnMark]:
        """The places to go to, in order: the beginning, every turn, the end. Empty before the first event."""
        ...

    @property
    def given(self) -> int:
        """How many events were given so far."""
        ...

    @property
    def now_s(self) -> float:
        """How far the replay is, in recorded seconds."""
        ...

    def seek(self, count: int) -> bool:
        """Go to where `count` events are given, and wait there; False when it lies behind.

        Then the next `events` begin there.
        """
        ...


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run: job files and how. None means the job's own or the setting's."""

    jobs: tuple[Path, ...]
    agent_url: str | None = None
    models: tuple[str, ...] = ()
    evaluator_model: str | None = None
    judge_models: tuple[str, ...] = ()
    """Who judges; several are a panel."""
    rehearsal: bool = False
    sample_agent: bool = False
    """Start the sample agent for this run, and stop it at its end."""
    trials: int = 1
    conditions: tuple[ConditionName, ...] = ("withheld", "supplied")
    """What each trial holds: both, or only one."""
    order: Literal["withheld-first", "supplied-first", "random"] | None = None
    parallel: bool = False
    concurrency: int | None = None
    """Most conversations at once."""


@dataclass(frozen=True, slots=True)
class MedalRow:
    """One graded, invalid or not graded submission. Exactly one of `report` and `not_graded` is set."""

    task_id: str
    agent: str
    file: str
    """What was handed in, as it is shown; `path` is where it is read from, when that is known."""
    report: TaskReport | None = None
    not_graded: str | None = None
    leaderboard: tuple[float, ...] = ()
    """Scores best first, for the scale and the places around; empty when not known."""
    human: float | None = None
    domain: str = ""
    folder: Path | None = None
    """Where its grading report stands, and reviews of it beside; None when it was graded without one."""
    path: Path | None = None


class Services(Protocol):
    """Everything that a screen may ask of the world."""

    async def start_run(self, request: RunRequest) -> RunView:
        """Start an engine for the request and follow its first run."""
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

    def medals(self) -> AsyncIterator[MedalRow | None]:
        """Grade (or read) the reports that this session shows, one by one as they are ready.

        None says that all that there is was given, and that more may come.
        """
        ...

    # Jobs

    async def jobs(self) -> Sequence[JobItem]:
        """Return the job files as they are now; a file that has not changed is the same object as before."""
        ...

    def edit(self, path: Path, line: int = 0) -> str | None:
        """Open a file in the user's editor and wait until it is closed; return why not, in one sentence."""
        ...

    # Runs

    async def compare(self, a: str, b: str) -> RunComparison:
        """Compare run B with run A."""
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

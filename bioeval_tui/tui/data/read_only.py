"""The services of a read-only session: recordings, and nothing that runs, writes or reads anything else.

Everything not listed here is refused, so a new capability of a screen is off in read-only sessions
until it is allowed explicitly.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, NoReturn

from bioeval_tui.errors import UsageError
from bioeval_tui.evaluation.engine.attach import FollowedRun
from bioeval_tui.evaluation.engine.run_view import Intent, RunView
from bioeval_tui.record.paths import is_run_id
from bioeval_tui.record.reviews import ReviewedScores
from bioeval_tui.record.state import RunState
from bioeval_tui.report.comparison import Comparison
from bioeval_tui.report.run_summary import RunPreview, RunSummary
from bioeval_tui.tui.items import BenchmarkItem, JobItem, MedalRow, ReviewItem, ReviewSource
from bioeval_tui.tui.services import Services

REFUSED = "this session is read-only: it shows recordings"


class ReadOnlyServices:
    """Provides the recordings of `inner`, and rejects everything else with an error message."""

    def __init__(self, inner: Services) -> None:
        self._inner = inner
        self._preferences = dict(inner.preferences)

    async def runs(self) -> Sequence[RunSummary]:
        """Return the history, newest first."""
        return await self._inner.runs()

    async def open_recording(self, run_id: str, *, speed: float | None = None) -> RunView:
        """Replay a run, or watch one in progress without controlling it."""
        view = await self._inner.open_recording(run_id, speed=speed)
        return WatchedRun(view.path) if isinstance(view, FollowedRun) else view

    async def preview(self, run_id: str) -> RunPreview:
        """Return a recorded run's conclusion.

        Raises:
            UsageError: the path is not a recorded run.
        """
        if not is_run_id(run_id):
            raise UsageError(REFUSED)
        return await self._inner.preview(run_id)

    async def conclusion(self, run_ids: Sequence[str]) -> str:
        """Return the conclusion of recorded runs.

        Raises:
            UsageError: a path is not a recorded run.
        """
        if not all(map(is_run_id, run_ids)):
            raise UsageError(REFUSED)
        return await self._inner.conclusion(run_ids)

    async def compare(self, a: str, b: str) -> Comparison:
        """Compare run B with run A."""
        return await self._inner.compare(a, b)

    async def recorded(self, run_id: str) -> RunState:
        """Return a whole recorded run.

        Raises:
            UsageError: the path is not a recorded run.
        """
        if not is_run_id(run_id):
            raise UsageError(REFUSED)
        return await self._inner.recorded(run_id)

    reviewer = ""
    """Empty: reviews are shown, but cannot be given."""

    async def review_queue(self, source: ReviewSource) -> Sequence[ReviewItem]:
        """Return the reviewed items of recorded runs.

        Raises:
            UsageError: a path is not a recorded run.
        """
        if source.rows or source.reports or not all(map(is_run_id, source.run_ids)):
            raise UsageError(REFUSED)
        return await self._inner.review_queue(source)

    async def reviewed(self, run_id: str) -> ReviewedScores | None:
        """Return a run's scores after its reviews.

        Raises:
            UsageError: a path is not a recorded run.
        """
        if not is_run_id(run_id):
            raise UsageError(REFUSED)
        return await self._inner.reviewed(run_id)

    def in_progress(self) -> Sequence[str]:
        """Empty: nothing can be started from here."""
        return ()

    async def jobs(self) -> Sequence[JobItem]:
        """No job files."""
        return ()

    async def benchmarks(self) -> Sequence[BenchmarkItem]:
        """No machine-learning tasks."""
        return ()

    looked: Sequence[str] = ()
    """There are no folders to search."""
    has_submissions = True
    """Reject opening them with a message."""

    async def medals(self) -> AsyncIterator[MedalRow | None]:
        """No submissions: they would be graded here."""
        none: tuple[MedalRow, ...] = ()
        for row in none:
            yield row

    @property
    def preferences(self) -> Mapping[str, Any]:
        """Preferences by name; changes last for the session only."""
        return self._preferences

    def keep(self, name: str, value: Any) -> None:
        """Save a preference for this session only."""
        self._preferences[name] = value

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        """Reject every other call."""
        if name.startswith("_"):
            raise AttributeError(name)

        def refuse(*arguments: object, **options: object) -> NoReturn:
            raise UsageError(REFUSED)

        return refuse


class WatchedRun(FollowedRun):
    """A run in progress, watched without control."""

    async def send(self, intent: Intent) -> str | None:
        """Reject the intent: a read-only session cannot control the run."""
        return REFUSED

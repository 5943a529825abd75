"""What a session that may only look is given: recordings, and nothing that runs, writes or reads elsewhere.

Whatever is not named here is refused, so that a screen that learns something new cannot do it in such a session
until somebody has thought about it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, NoReturn

from bioeval_tui.errors import UsageError
from bioeval_tui.evaluate.engine.attach import FollowedRun
from bioeval_tui.evaluate.engine.run_view import Intent, RunView
from bioeval_tui.record.paths import is_run_id
from bioeval_tui.record.reviews import ReviewedScores
from bioeval_tui.record.state import RunState
from bioeval_tui.report.compared import RunComparison, RunPreview, RunSummary
from bioeval_tui.tui.items import BenchmarkItem, JobItem, MedalRow
from bioeval_tui.tui.review.review_items import ReviewItem, ReviewSource
from bioeval_tui.tui.services import Services

REFUSED = "this session is read-only: it shows recordings"


class ReadOnlyServices:
    """Gives recordings of `inner`, and refuses everything else of `tui.services.Services` in a sentence."""

    def __init__(self, inner: Services) -> None:
        self._inner = inner
        self._preferences = dict(inner.preferences)

    async def runs(self) -> Sequence[RunSummary]:
        """Return the history, newest first."""
        return await self._inner.runs()

    async def open_recording(self, run_id: str, *, speed: float | None = None) -> RunView:
        """Replay a run, or watch one that goes on without a say in it."""
        view = await self._inner.open_recording(run_id, speed=speed)
        return WatchedRun(view.path) if isinstance(view, FollowedRun) else view

    async def preview(self, run_id: str) -> RunPreview:
        """Return what a recorded run found.

        Raises:
            UsageError: something other than a recorded run is asked for.
        """
        if not is_run_id(run_id):
            raise UsageError(REFUSED)
        return await self._inner.preview(run_id)

    async def conclusion(self, run_ids: Sequence[str]) -> str:
        """Return what recorded runs found.

        Raises:
            UsageError: something other than recorded runs is asked for.
        """
        if not all(map(is_run_id, run_ids)):
            raise UsageError(REFUSED)
        return await self._inner.conclusion(run_ids)

    async def compare(self, a: str, b: str) -> RunComparison:
        """Compare run B with run A."""
        return await self._inner.compare(a, b)

    async def recorded(self, run_id: str) -> RunState:
        """Return a whole recorded run.

        Raises:
            UsageError: something other than a recorded run is asked for.
        """
        if not is_run_id(run_id):
            raise UsageError(REFUSED)
        return await self._inner.recorded(run_id)

    reviewer = ""
    """Nobody: reviews are shown, not given."""

    async def review_queue(self, source: ReviewSource) -> Sequence[ReviewItem]:
        """Return what was reviewed in recorded runs.

        Raises:
            UsageError: something other than recorded runs is asked for.
        """
        if source.rows or source.reports or not all(map(is_run_id, source.run_ids)):
            raise UsageError(REFUSED)
        return await self._inner.review_queue(source)

    async def reviewed(self, run_id: str) -> ReviewedScores | None:
        """Return a run's scores after its reviews.

        Raises:
            UsageError: something other than recorded runs is asked for.
        """
        if not is_run_id(run_id):
            raise UsageError(REFUSED)
        return await self._inner.reviewed(run_id)

    def batch_goes_on(self, batch_id: str) -> bool:
        """No: nothing was started from here."""
        return False

    async def jobs(self) -> Sequence[JobItem]:
        """No job files."""
        return ()

    async def benchmarks(self) -> Sequence[BenchmarkItem]:
        """No machine-learning tasks."""
        return ()

    looked: Sequence[str] = ()
    """Nothing is looked for."""
    has_submissions = True
    """Asked for, they are refused in a sentence."""

    async def medals(self) -> AsyncIterator[MedalRow | None]:
        """No submissions: they would be graded here."""
        none: tuple[MedalRow, ...] = ()
        for row in none:
            yield row

    @property
    def preferences(self) -> Mapping[str, Any]:
        """What was kept, by name; changes last as long as the session."""
        return self._preferences

    def keep(self, name: str, value: Any) -> None:
        """Keep a value for this session alone."""
        self._preferences[name] = value

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        """Refuse what is not above."""
        if name.startswith("_"):
            raise AttributeError(name)

        def refuse(*arguments: object, **options: object) -> NoReturn:
            raise UsageError(REFUSED)

        return refuse


class WatchedRun(FollowedRun):
    """A run that goes on, only looked at."""

    async def send(self, intent: Intent) -> str | None:
        """Refuse: whoever watches has no say."""
        return REFUSED

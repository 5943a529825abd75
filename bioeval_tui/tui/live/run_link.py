"""A screen's link to a run: opens it, follows it, keeps its clock and sends intents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING

from bioeval_tui.errors import BioevalError
from bioeval_tui.evaluation.engine.run_view import Intent, IntentKind, Playback
from bioeval_tui.tui.live.feed import Feed, StateChanged
from bioeval_tui.tui.live.heads_view import LinkState

if TYPE_CHECKING:
    from bioeval_tui.evaluation.engine.run_view import RunView
    from bioeval_tui.record.names import Condition
    from bioeval_tui.record.state import RunState
    from bioeval_tui.tui.services import Opener

LOOK_S = 0.25
"""Interval of checks for new events once all known ones are shown."""


class RunLink:
    """The connection to one run. `status` is its state; `failure` is a sentence that says why it broke."""

    def __init__(
        self,
        opener: Opener | None,
        post: Callable[[StateChanged], object],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.status: LinkState = "waiting" if opener else "empty"
        self.failure = ""
        self.opened_at = clock()
        self._opener = opener
        self._post = post
        self._clock = clock
        self._feed: Feed | None = None
        self.playback: Playback | None = None
        """The controls of a replay; None for a live run, and before it is opened."""
        self._over = asyncio.Event()

    @property
    def state(self) -> RunState | None:
        """The run so far; None until the engine has answered."""
        return self._feed.state if self._feed else None

    @property
    def view(self) -> RunView | None:
        """The run as it was opened."""
        return self._feed.view if self._feed else None

    @property
    def is_running(self) -> bool:
        """Whether closing now would cancel or leave a live run."""
        return self.status == "live" and self.state is not None and self.state.ended is None

    @property
    def now(self) -> datetime | None:
        """The current time by the run's clock: that of the newest event, plus the time since it arrived.

        A replay has the time of the recording, and a viewer's clock may differ from the engine's.
        """
        feed = self._feed
        if feed is None or feed.last_at is None or feed.heard_at is None:
            return None
        if feed.state.ended is not None or self.status == "interrupted":
            return feed.last_at
        passed, playback = self._clock() - feed.heard_at, self.playback
        if playback is not None:
            passed *= 0.0 if playback.paused or not playback.true_times else playback.speed or 0.0
        return feed.last_at + timedelta(seconds=passed)

    @property
    def waited_s(self) -> float:
        """How long the run has been loading, in seconds."""
        return self._clock() - self.opened_at

    def has_posted(self, seq: int) -> bool:
        """Whether every event up to `seq` was folded, and the screen was told."""
        return self._feed is not None and self._feed.has_posted(seq)

    def anew(self) -> RunLink:
        """Return a link to the same run, not followed yet: a replay is shown from its beginning."""
        view = self.view

        async def same() -> RunView:
            assert view is not None
            return view

        link = RunLink(same, self._post, self._clock)
        link.playback = self.playback  # a key that is pressed meanwhile counts
        return link

    async def changes(self) -> AsyncIterator[tuple[RunState, bool]]:
        """Yield the run whenever something is new, and whether its engine has stopped, until it has ended."""
        seen = -1
        while (state := self.state) is not None:
            gone = self.status == "interrupted"
            over = gone or state.ended is not None
            if over or state.last_seq != seen:
                seen = state.last_seq
                yield state, gone
            if over:
                return
            await asyncio.sleep(LOOK_S)

    async def follow(self) -> None:
        """Open the run and fold it until it has ended or died."""
        if self._opener is None:
            return
        try:
            await self._follow(self._opener)
        except (BioevalError, OSError) as error:
            self.failure = str(error) or type(error).__name__
            begun = self.state is not None and self.state.started is not None
            self.status = "interrupted" if begun else "failed"

    async def _follow(self, opener: Opener) -> None:
        view = await opener()
        from bioeval_tui.record.state import RunState  # the models of events, after the first paint

        self.status = view.mode
        self.playback = view if isinstance(view, Playback) else None
        self._feed = Feed(view, RunState(), self._post, self._clock)
        await self._feed.run()
        self._over.set()
        if self._feed.state.started is None:
            self.status = "failed"
            self.failure = _last_warning(self._feed.state) or "the engine stopped before the run started"
        elif self._feed.state.ended is None:
            self.status = "interrupted"
            self.failure = _last_warning(self._feed.state)

    async def send(self, kind: IntentKind, condition: Condition | None = None, text: str = "") -> str | None:
        """Send an intent; return None if it was accepted, else a sentence saying why not."""
        if self._feed is None:
            return "the run has not started yet"
        return await self._feed.view.send(Intent(kind, condition, text))

    async def wait_for_end(self) -> None:
        """Wait until there are no more events."""
        await self._over.wait()

    async def close(self) -> None:
        """Detach from the run."""
        if self._feed is not None:
            await self._feed.view.aclose()


def _last_warning(state: RunState) -> str:
    return state.warnings[-1].message if state.warnings else ""

"""A screen's link to a run: opens it, folds its events, notifies the screen at most once a frame,
and sends intents.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from textual.message import Message

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.evaluation.engine.interface import Intent
from bioeval_tui.record.condition_names import PUBLISHED_NAMES
from bioeval_tui.tui.live.heads_view import LinkState

if TYPE_CHECKING:
    from bioeval_tui.evaluation.engine.attach import ReplayedRun
    from bioeval_tui.evaluation.engine.interface import Opener, RunView
    from bioeval_tui.record.condition_names import Condition
    from bioeval_tui.record.events import IntentKind, RunEvent
    from bioeval_tui.record.state import Change, ConversationKey, ConversationState, RunState
    from bioeval_tui.tui.data.large_runs import GrowingRun, LargeRun

    Apply = Callable[[RunEvent], Change]
    """What takes an event into a run."""

PRESENTED = frozenset(
    {
        *("pause", "resume", "step", "switch_condition", "other_trial", "follow", "stay",
            "stop_presenting"),
        *("hold", "play", "play_step", "play_back", "turn", "edge", "speed", "next_failure",
            "leave", "to_grid"),
    }
)  # fmt: skip
"""Actions available while presenting."""


@dataclass
class Watched:
    """One run, followed by `link`.

    `Conversations` chooses condition and trial, `Stage` whether it is presented.
    """

    link: RunLink
    condition: Condition = PUBLISHED_NAMES[0]
    trial: int = 1
    presenting: bool = False

    @property
    def state(self) -> RunState | None:
        """The run so far; None until the engine has answered."""
        return self.link.state

    @property
    def playback(self) -> ReplayedRun | None:
        """The replay's controls; None for a live run."""
        return self.link.playback

    @property
    def conversation(self) -> ConversationState | None:
        """The active conversation."""
        if self.state:
            return self.state.conversation(self.condition, self.trial)
        return None

    @property
    def has_begun(self) -> bool:
        """Whether there is a conversation to show."""
        return self.state is not None and bool(self.state.conversations)

    def waits_for_presentation(self, action: str) -> bool:
        """Return whether an action is disabled during the presentation."""
        return self.presenting and action not in PRESENTED


MANY_CONVERSATIONS = 1_000
"""From so many on, what looks at all conversations of an ended run takes longer than a key may, and
is done in a thread.
"""
FRAME_S = 1 / 60
"""Minimum time between two messages to the screen, in seconds: it draws no more often."""
BACKLOG, PICTURE_S = 200, 0.25
"""So many events at once are no frame of a live run, but what was written before: until all are
applied, the screen draws this often, in seconds. More pictures would take longer than the events.
"""
SLICE_S = 0.008
"""How long a backlog of events is processed before control returns to the screen, in seconds."""


@dataclass(slots=True)
class ConversationChange:
    """What changed in one conversation: kinds of events, and numbers of messages."""

    kinds: set[str] = field(default_factory=set)
    messages: set[int] = field(default_factory=set)

    @property
    def only_text(self) -> bool:
        """Whether only streamed text and spans arrived."""
        return self.kinds <= {"message_delta", "spans_received"}


@dataclass(slots=True)
class Changes:
    """What changed since the last frame, in the run and by conversation."""

    run: set[str] = field(default_factory=set)
    conversations: dict[ConversationKey, ConversationChange] = field(default_factory=dict)

    def note(self, change: Change) -> None:
        """Record the changes made by one event."""
        if change.key is None:
            self.run.add(change.kind)
            return
        known = self.conversations.setdefault(change.key, ConversationChange())
        known.kinds.add(change.kind)
        if change.message is not None:
            known.messages.add(change.message)

    def add(self, later: Changes) -> None:
        """Add the changes of a later frame."""
        self.run |= later.run
        for key, change in later.conversations.items():
            known = self.conversations.setdefault(key, ConversationChange())
            known.kinds |= change.kinds
            known.messages |= change.messages

    @property
    def only_text(self) -> bool:
        """Whether only streamed text arrived."""
        return not self.run and all(change.only_text for change in self.conversations.values())

    def __bool__(self) -> bool:
        return bool(self.run or self.conversations)


class ReadingBegins(Message):
    """A large recorded run is opened, which takes a while to read."""

    def __init__(self, run: LargeRun) -> None:
        super().__init__()
        self.run = run


class StateChanged(Message):
    """The run's state changed; posted at most once a frame, and at once if somebody acted."""

    def __init__(self, changes: Changes) -> None:
        super().__init__()
        self.changes = changes


class Feed:
    """Follows one RunView. The state belongs to the feed; screens only read it."""

    def __init__(
        self,
        view: RunView,
        state: RunState,
        post: Callable[[StateChanged], object],
        clock: Callable[[], float] = monotonic,
        apply: Apply | None = None,
    ) -> None:
        """`apply` takes an event into the state, if the view does that itself."""
        self.view = view
        self.state = state
        self.heard_at: float | None = None
        self.last_at: datetime | None = None
        """The time of the newest event that the engine wrote; what a viewer adds (`seq` 0) has
        another clock.
        """
        self._post = post
        self._clock = clock
        self._late_s = view.late_s
        self._changes = Changes()
        self._posted_at = -PICTURE_S
        self._is_behind = False
        self._timer: asyncio.TimerHandle | None = None
        self._apply = apply

    def has_posted(self, seq: int) -> bool:
        """Whether every event up to `seq` was folded, and the screen was told."""
        return self.state.last_seq >= seq and not self._changes

    async def run(self) -> None:
        """Apply events until they end.

        The first change after a quiet frame is posted immediately; later ones are combined.
        """
        batches = self.view.events()
        try:
            async for batch in batches:
                await self._fold(batch)
        finally:
            self._post_now()
            if isinstance(batches, AsyncGenerator):
                await batches.aclose()

    def show(self, state: RunState) -> None:
        """Take a run that was read whole, or up to now."""
        self.state, self.last_at, self.heard_at = state, state.last_at, self._clock()
        self._changes.run |= {"run_started", "run_ended"}
        self._post_now()

    async def _fold(self, batch: Sequence[RunEvent]) -> None:
        from bioeval_tui.record.state import apply  # the models of events, after the first paint

        take = self._apply or partial(apply, self.state)
        began = self._clock()
        self._is_behind = len(batch) >= BACKLOG
        self.heard_at = began - self._late_s
        self._late_s = 0.0
        for count, event in enumerate(batch):
            self._changes.note(take(event))
            if event.seq:
                self.last_at = event.at
            if count % 32 == 31 and self._clock() - began >= SLICE_S:
                self._post_soon()
                await asyncio.sleep(0)
                began = self._clock()
        self._post_soon()

    def _post_soon(self) -> None:
        """Post now if the last post was at least one frame ago, otherwise one frame later; at once
        if somebody pressed a key and waits for what it does.
        """
        if "operator_acted" in self._changes.run:
            self._post_now()
        if not self._changes:
            return
        frame_s = PICTURE_S if self._is_behind else FRAME_S
        wait = self._posted_at + frame_s - self._clock()
        if wait <= 0:
            self._post_now()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(wait, self._post_now)

    def _post_now(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._changes:
            changes, self._changes = self._changes, Changes()
            self._posted_at = self._clock()
            self._post(StateChanged(changes))


LOOK_S = 0.25
"""Interval of checks for new events once all known ones are shown."""


class RunLink:
    """The connection to one run.

    `status` is its state; `failure` is a sentence that says why it broke.
    """

    def __init__(
        self,
        opener: Opener | None,
        post: Callable[[StateChanged | ReadingBegins], object],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.status: LinkState = "waiting" if opener else "empty"
        self.failure = ""
        self.opened_at = clock()
        self._opener = opener
        self._post = post
        self._clock = clock
        self._feed: Feed | None = None
        self.playback: ReplayedRun | None = None
        """The controls of a replay; None for a live run, and before it is opened."""
        self.whole: LargeRun | None = None
        """The large run that is shown whole; None for one whose events are applied."""
        self.reading: LargeRun | GrowingRun | None = None
        """The large run that is being read before anything of it is shown."""
        self._over = asyncio.Event()

    @property
    def state(self) -> RunState | None:
        """The run so far; None until the engine has answered."""
        if self._feed:
            return self._feed.state
        return None

    @property
    def view(self) -> RunView | None:
        """The run as it was opened."""
        if self._feed:
            return self._feed.view
        return None

    @property
    def is_running(self) -> bool:
        """Whether closing now would cancel or leave a live run."""
        return self.status == "live" and self.state is not None and self.state.ended is None

    @property
    def now(self) -> datetime | None:
        """The current time by the run's clock: that of the newest event, plus the time since it
        arrived.

        A replay has the time of the recording, and a viewer's clock may differ from the engine's.
        """
        feed = self._feed
        if feed is None or feed.last_at is None or feed.heard_at is None:
            return None
        if feed.state.ended is not None or self.status == "interrupted":
            return feed.last_at
        passed, playback = self._clock() - feed.heard_at, self.playback
        if playback is not None:
            # No time passes between the events of a replay that is paused, that has not the
            # recorded times, or that shows everything at once (no speed).
            passed *= 0.0 if playback.paused or not playback.true_times else playback.speed or 0.0
        return feed.last_at + timedelta(seconds=passed)

    @property
    def waited_s(self) -> float:
        """How long the run has been loading, in seconds."""
        return self._clock() - self.opened_at

    def has_posted(self, seq: int) -> bool:
        """Whether every event up to `seq` was folded, and the screen was told."""
        return self._feed is not None and self._feed.has_posted(seq)

    def reopened(self) -> RunLink:
        """Return a link to the same run, not followed yet: a replay is shown from its beginning."""
        view = self.view

        async def same() -> RunView:
            assert view is not None
            return view

        link = RunLink(same, self._post, self._clock)
        link.playback = self.playback  # a key that is pressed meanwhile counts
        return link

    async def changes(self) -> AsyncIterator[tuple[RunState, bool]]:
        """Yield the run whenever something is new, and whether its engine has stopped, until it has
        ended.
        """
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
        # The models of events, after the first paint.
        from bioeval_tui.evaluation.engine.attach import FollowedRun, ReplayedRun
        from bioeval_tui.record.state import RunState
        from bioeval_tui.tui.data.large_runs import GrowingRun, LargeRun

        self.status = view.mode
        self.playback = view if isinstance(view, ReplayedRun) else None
        apply = view.apply if isinstance(view, FollowedRun) else None
        self._feed = Feed(view, RunState(), self._post, self._clock, apply)
        if isinstance(view, LargeRun) and not view.is_played:
            self.whole = self.reading = view
            self._post(ReadingBegins(view))
            self._feed.show((await view.read()).state)
        else:
            if isinstance(view, GrowingRun):
                self.reading = view
                self._feed.show(await view.read())
                self.reading = None
            if isinstance(view, FollowedRun):
                self._feed.state = view.begin_applying()
            await self._feed.run()
        self._over.set()
        if self._feed.state.started is None:
            self.status = "failed"
            self.failure = (
                _last_warning(self._feed.state) or "the engine stopped before the run started"
            )
        elif self._feed.state.ended is None:
            self.status = "interrupted"
            self.failure = _last_warning(self._feed.state)

    async def send(
        self, kind: IntentKind, condition: Condition | None = None, text: str = ""
    ) -> str | None:
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
    if state.warnings:
        return state.warnings[-1].message
    return ""

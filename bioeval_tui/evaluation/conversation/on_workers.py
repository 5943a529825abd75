"""A run whose conversations are held by workers on other machines, and recorded here.

A `Unit` is whole trials, all conditions of each. The worker that holds it gives back a `Part`, the
events that it recorded meanwhile, which are appended here in one piece, with this run's numbers. So
nothing of a worker that died is in the recording, its unit is held again as if for the first time,
and whatever ends the run leaves a recording that can be resumed.

What a run does once stays here: the preflight, the judge's exam, the sentinels, the limits on calls
and cost, and who had which session.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Protocol, get_args

from bioeval_tui.base.errors import BioevalError
from bioeval_tui.base.text import clean_line, listed, plural, shorten
from bioeval_tui.evaluation.conversation.control import Control
from bioeval_tui.evaluation.conversation.plan import Emitter, Parts, RunPlan
from bioeval_tui.evaluation.conversation.resume import ConversationRecord
from bioeval_tui.evaluation.conversation.run_job import JobRun
from bioeval_tui.peers.spending import Spent
from bioeval_tui.record import events
from bioeval_tui.record.condition_names import Condition
from bioeval_tui.record.events import RunEvent, write_event
from bioeval_tui.record.participants import Peer
from bioeval_tui.record.reading import LineReader

UNIT_S = 5.0
"""A unit that takes less time is followed by larger ones, so that sending them does not count."""
MOST_IN_UNIT = 32
"""The most trials in a unit, for each conversation that its worker holds at once: all of them are
held again if it dies.
"""
TRIES = 2
"""How often a trial is given to the cluster, which itself gives a unit to another worker when one
dies.
"""
MOST_GIVEN_UP = 3
"""After so many trials that the cluster gave up on, the next ones would fail, too."""
ONLY_CANCELS = "workers of a cluster hold this run's conversations, so it can only be cancelled"

PEERS: tuple[Peer, ...] = get_args(Peer)

_OF_RUN = (events.JudgeExamined, events.ModelServed, events.Warned)
_OF_CONVERSATION = (
    events.AnswersUnused,
    events.AssertionChecked,
    events.CallsTraced,
    events.ConversationEnded,
    events.ConversationScored,
    events.ConversationStarted,
    events.EvaluatorViolated,
    events.FactDisclosed,
    events.MessageCompleted,
    events.MessageDelta,
    events.MessageStarted,
    events.RequestFailed,
    events.SeedApplied,
    events.SetupApplied,
    events.StateObserved,
    events.SubmissionGraded,
    events.TranscriptScored,
    events.Warned,
)


class LostUnitError(BioevalError):
    """A unit gave no part that can be used."""


class LostClusterError(BioevalError):
    """No worker will hold anything any more."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Whole trials that one worker holds.

    `spent` is what the batch had spent when it was given out, and `exam` the line of the judge's
    exam, if there was one.
    """

    trials: tuple[int, ...]
    spent: Spent
    exam: bytes = b""


@dataclass(frozen=True, slots=True)
class Part:
    """What a worker gives back of a unit: its events as lines, and what they do not say.

    `compared` is `JobRun.compared`; `stopped` says why it held no more; `failed` why it could not
    begin, and then there is nothing else.
    """

    lines: bytes = b""
    spent: Spent = field(default_factory=Spent)
    took_s: float = 0.0
    compared: tuple[str, ...] | None = None
    stopped: str = ""
    failed: str = ""

    def write(self) -> bytes:
        """Return the part as bytes; `read_part` reads them."""
        head = {
            "calls": dict(self.spent.calls),
            "cost": self.spent.cost,
            "took_s": self.took_s,
            "compared": self.compared,
            "stopped": self.stopped,
            "failed": self.failed,
        }
        return json.dumps(head).encode() + b"\n" + self.lines


def read_part(data: object) -> Part:
    """Return the part that a worker gave back, which is not trusted.

    Raises:
        LostUnitError: it is no part.
    """
    try:
        if not isinstance(data, bytes):
            raise TypeError("it is not bytes")
        first, _, lines = data.partition(b"\n")
        head: dict[str, Any] = json.loads(first)
        compared = head["compared"]
        calls = {str(peer): int(count) for peer, count in head["calls"].items()}
        cost, took_s = float(head["cost"]), float(head["took_s"])
        if not (cost >= 0 and took_s >= 0 and all(count >= 0 for count in calls.values())):
            raise ValueError("it counts less than nothing")
        return Part(
            lines=lines,
            spent=Spent({peer: calls[peer] for peer in PEERS if peer in calls}, cost),
            took_s=took_s,
            compared=None if compared is None else tuple(clean_line(str(one)) for one in compared),
            stopped=clean_line(str(head["stopped"]), 600),
            failed=clean_line(str(head["failed"]), 600),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        why = clean_line(f"{type(error).__name__}: {error}", 100)
        raise LostUnitError(f"a worker gave back something else than a part ({why})") from None


class Workers(Protocol):
    """The workers of a batch, as one of its runs sees them."""

    places: int
    """How many units are held at once, of all runs together."""
    share: int
    """How many conversations a worker holds at once in a unit."""
    small: bool
    """Whether units stay small, because what they spend is known only when they come back."""

    def place(self) -> AbstractAsyncContextManager[object]:
        """Return what is entered while a unit is held."""
        ...

    async def hold(self, unit: Unit) -> bytes:
        """Return what a worker gave back for a unit, however many died meanwhile.

        Raises:
            LostUnitError: the cluster gave up on it.
            LostClusterError: the cluster is gone, or has no worker any more.
        """
        ...

    def cancel(self) -> None:
        """Let the workers cancel what they hold, and give back what they have."""
        ...


class RunOnWorkers(JobRun):
    """A run that gives its trials to workers, and records what they give back."""

    def __init__(
        self, plan: RunPlan, parts: Parts, emitter: Emitter, control: Control, workers: Workers
    ) -> None:
        super().__init__(plan, parts, emitter, control)
        control.only_cancels = ONLY_CANCELS
        self._workers = workers
        self._size = workers.share
        self._failures = Counter[int]()
        self._given_up: dict[int, str] = {}

    async def hold(self, trials: Sequence[int]) -> None:
        """Hold these trials, a unit for each place at a time."""
        waiting = deque(trials)
        cancelling = asyncio.create_task(self._pass_cancel_on())
        try:
            await asyncio.gather(*(self._fill_place(waiting) for _ in range(self._workers.places)))
        finally:
            cancelling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await cancelling
        if self.control.all_cancelled:
            for key in product(self.plan.conditions, trials):
                self.records.setdefault(key, ConversationRecord(cancelled=True))
        if self.stopped:
            # What all parts together have spent, which was not known when it stopped.
            self.stopped = self.parts.may_begin() or self.stopped
        elif self._given_up:
            numbers = listed(sorted(self._given_up))
            last = next(reversed(self._given_up.values()))
            self.stopped = f"the cluster gave up on trial {numbers}: {last}"

    async def _pass_cancel_on(self) -> None:
        first = self.control.conversation(self.plan.conditions[0])
        while not self.control.all_cancelled:
            first.changed.clear()
            await first.changed.wait()
        self._workers.cancel()

    async def _fill_place(self, waiting: deque[int]) -> None:
        """Give out one unit after the other while any trial waits."""
        while waiting and self._goes_on():
            async with self._workers.place():
                if not waiting or not self._goes_on():
                    return
                await self._hold_unit(self._next_unit(waiting), waiting)

    def _goes_on(self) -> bool:
        """Return whether another unit may be given out; if not, note why not."""
        if self.control.all_cancelled:
            return False
        self.stopped = self.stopped or self.parts.may_begin() or self._why_hopeless() or ""
        return not self.stopped

    def _next_unit(self, waiting: deque[int]) -> tuple[int, ...]:
        """Take the next trials. One that has failed with others is given out alone."""
        if self._failures[waiting[0]]:
            return (waiting.popleft(),)
        # Smaller units towards the end, so that all places end at about the same time.
        fair = len(waiting) // (2 * self._workers.places)
        size = max(self._workers.share, min(self._size, fair))
        taken: list[int] = []
        while waiting and len(taken) < size and not self._failures[waiting[0]]:
            taken.append(waiting.popleft())
        return tuple(taken)

    async def _hold_unit(self, trials: tuple[int, ...], waiting: deque[int]) -> None:
        exam = b"" if self.examined is None else write_event(self.examined)
        unit = Unit(trials, self.parts.budget.spent, exam)
        try:
            part = read_part(await self._workers.hold(unit))
            if part.failed:
                raise LostUnitError(part.failed)
            recorded = self._require_sound(part, unit)
        except LostClusterError as error:
            self.stopped = self.stopped or str(error)
            return
        except LostUnitError as error:
            self._note_loss(trials, waiting, shorten(str(error), 400))
            return
        self._append(part, recorded)
        self._choose_size(part, len(trials))
        await self.emitter.written()

    def _note_loss(self, trials: tuple[int, ...], waiting: deque[int], why: str) -> None:
        """Let trials be held again, each alone, or give up on them."""
        self._failures.update(trials)
        again = [trial for trial in trials if self._failures[trial] < TRIES]
        waiting.extendleft(reversed(again))
        self._given_up |= {trial: why for trial in trials if trial not in again}
        if len(self._given_up) >= MOST_GIVEN_UP:
            count = len(self._given_up)
            self.stopped = (
                self.stopped or f"the cluster gave up on {plural(count, 'trial')}, the last: {why}"
            )

    def _choose_size(self, part: Part, held: int) -> None:
        if self._workers.small or held < self._size or part.took_s > UNIT_S / 2:
            return
        self._size = min(2 * self._size, MOST_IN_UNIT * self._workers.share)

    def _require_sound(self, part: Part, unit: Unit) -> list[RunEvent]:
        """Return the events of a part.

        Raises:
            LostUnitError: it has others than those of its unit, or a conversation is missing.
        """
        reader = LineReader("a part")
        recorded = reader.feed(part.lines)
        reader.finish()
        if reader.problems:
            raise LostUnitError(f"a worker gave back a damaged part: {reader.problems[0]}")
        scored = Counter[tuple[Condition | None, int | None]]()
        for event in recorded:
            if not self._belongs(event, unit):
                what = clean_line(f"{event.kind} of trial {event.trial}", 100)
                raise LostUnitError(f"a worker gave back what is not its unit's: {what}")
            if isinstance(event, events.ConversationScored):
                scored[event.condition, event.trial] += 1
        if any(count > 1 for count in scored.values()):
            raise LostUnitError("a worker gave back a conversation twice")
        owed = product(self.plan.conditions, unit.trials)
        cut_short = part.stopped or self.control.all_cancelled
        if not cut_short and any(key not in scored for key in owed):
            raise LostUnitError("a worker gave back a part without all of its conversations")
        return recorded

    def _belongs(self, event: RunEvent, unit: Unit) -> bool:
        if event.run_id != self.plan.run_id or event.author is not None:
            return False
        if event.trial is None:
            return isinstance(event, _OF_RUN)
        is_known = isinstance(event, _OF_CONVERSATION)
        return is_known and event.trial in unit.trials and event.condition in self.plan.conditions

    def _append(self, part: Part, recorded: Sequence[RunEvent]) -> None:
        """Record a part, and take over what it means for the rest of the run."""
        judged: set[tuple[Condition | None, int | None]] = set()
        opened: dict[tuple[Condition, int], str] = {}
        for event in recorded:
            match event:
                case events.Warned(code="clean_unknown", message=message):
                    self.clean = False
                    if message in self._told:
                        continue
                    self._told.add(message)
                case events.Warned(code="not_clean", message=message):
                    self.clean = False
                    self._told.add(message)
                case events.JudgeExamined():
                    self.examined = event
                case events.TranscriptScored(error=None):
                    judged.add((event.condition, event.trial))
                case events.ConversationStarted(condition=str(condition), trial=int(trial)):
                    opened[condition, trial] = event.session_id
                case events.ConversationScored(condition=str(condition), trial=int(trial)):
                    self._take_score(event, (condition, trial), judged)
            self.emitter.take(event)
        for (condition, trial), identity in opened.items():
            session = self.follow_session(condition, trial)
            session.end()  # it is over by now, so that another one in it is not held meanwhile
            session.named(identity)
        if part.compared is not None:
            compared = frozenset(part.compared)
            self.compared = compared if self.compared is None else self.compared & compared
        self.parts.budget.add(part.spent)
        if part.stopped and not self.control.all_cancelled:
            self.stopped = self.stopped or self.parts.may_begin() or part.stopped

    def _take_score(
        self,
        event: events.ConversationScored,
        key: tuple[Condition, int],
        judged: set[tuple[Condition | None, int | None]],
    ) -> None:
        record = self.records[key] = ConversationRecord(cancelled=event.cancelled)
        record.take(event)
        needs_none = not any(map(self.plan.trial_plan(key[1]).job.judged_in, self.plan.conditions))
        if record.unmeasured:
            self.unmeasured.append(record.unmeasured)
        elif key in judged or needs_none:
            self.unmeasured.clear()

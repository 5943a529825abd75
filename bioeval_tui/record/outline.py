"""The state of a run without its messages, for lists; works for files of any length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from bioeval_tui import score as composite
from bioeval_tui.errors import Problem, RecordingError
from bioeval_tui.record import events
from bioeval_tui.record.events import RunEvent
from bioeval_tui.record.masking import masking
from bioeval_tui.record.reading import LineReader, SharedStates, batches, read_recording, without_collecting
from bioeval_tui.record.state import NOT_CLEAN, ConversationKey, RunState, apply, apply_all, lighten


@dataclass(slots=True)
class OutlinedTalk:
    """One conversation: how many messages it had, how it ended and was scored."""

    attempt: int = 1
    messages: int = 0
    last_message: int = 0
    faults: tuple[str, ...] = ()
    score: float | None = None


@dataclass(slots=True)
class Outline:
    """A run, with the same values as `RunState` for the same fields."""

    started: events.RunStarted | None = None
    ended: events.RunEnded | None = None
    talks: dict[ConversationKey, OutlinedTalk] = field(default_factory=dict)
    clean: bool = True

    @property
    def messages(self) -> int:
        """How many messages were completed."""
        return sum(talk.messages for talk in self.talks.values())

    @property
    def faults(self) -> list[str]:
        """The faults, in alphabetical order."""
        faults = (
            next((fault for fault in talk.faults if fault != "none"), "none") for talk in self.talks.values()
        )
        return sorted({*faults} - {"none"})

    def scores(self) -> dict[str, float | None]:
        """Return each condition's mean score over its trials; None when one is missing or not measured."""
        scores: dict[str, float | None] = {}
        for condition in self.started.conditions if self.started else ():
            trials = range(1, self.started.trials + 1) if self.started else ()
            held = (self.talks.get(ConversationKey(condition, trial)) for trial in trials)
            scores[condition] = composite.mean_of([talk.score if talk else None for talk in held])
        return scores

    def take(self, event: RunEvent) -> None:
        """Fold one event."""
        if isinstance(event, events.Warned) and event.code in NOT_CLEAN:
            self.clean = False
        match event:
            case events.RunStarted():
                self.started = event
            case events.RunResumed():
                self.ended = None
                if event.trials is not None and self.started is not None:
                    self.started = self.started.model_copy(update={"trials": event.trials})
            case events.RunEnded():
                self.ended = event
                if event.trials is not None and self.started is not None:
                    self.started = self.started.model_copy(update={"trials": event.trials})
                self.clean = self.clean and event.clean
            case _ if event.condition is not None and event.trial is not None:
                self._take_talk(ConversationKey(event.condition, event.trial), event)

    def _take_talk(self, key: ConversationKey, event: RunEvent) -> None:
        attempt = event.attempt or 1
        talk = self.talks.get(key)
        if talk is None or attempt > talk.attempt:
            talk = self.talks[key] = OutlinedTalk(attempt)
        elif attempt < talk.attempt:
            return
        match event:
            case events.MessageCompleted() if event.message != talk.last_message:
                talk.messages += 1
                talk.last_message = event.message
            case events.ConversationEnded():
                talk.faults = (event.fault, *talk.faults[1:])
            case events.ConversationScored():
                talk.faults = (*(talk.faults[:1] or ("none",)), event.fault)
                talk.score = event.score


def outline(path: Path) -> Outline:
    """Return the outline of a recording, read piece by piece; empty where nothing can be read."""
    outlined = Outline()
    for event in _events(path, LineReader(path.name)):
        outlined.take(event)
    return outlined


def started_run(
    path: Path, *, as_written: bool = False
) -> tuple[RunState, events.RunStarted, tuple[Problem, ...]]:
    """Return the state after all of a recording's events, its first event, and what could not be read.

    Raises:
        RecordingError: it cannot be read, or lacks its first event.
    """
    reader = LineReader(path.name)
    if as_written or not masking():
        state = fold_file(path, light=False, reader=reader)
        reader.finish()
    else:  # a mask joins the pieces of a text
        recording = read_recording(path)
        state, reader.problems = apply_all(RunState(), recording.events), [*recording.problems]
    if state.started is None:
        read_recording(path)  # says why no event could be read
        raise RecordingError(
            f"{path.name}: the first event, which contains the job, is missing", tuple(reader.problems)
        )
    return state, state.started, tuple(reader.problems)


def fold_file(path: Path, *, light: bool, reader: LineReader | None = None) -> RunState:
    """Fold a recording in pieces; with `light`, texts of scored conversations are dropped immediately. Empty without a file."""
    state, states, reader = RunState(), SharedStates(), reader or LineReader(path.name)
    with nullcontext() if light else without_collecting(reader):
        for event in _events(path, reader):
            if not light:
                states.take(event)
            change = apply(state, event)
            if light and change.kind == "conversation_scored" and change.key is not None:
                lighten(state.conversations[change.key])
    return state


def _events(path: Path, reader: LineReader) -> Iterator[RunEvent]:
    if path.exists():  # if not, the run never began, or was deleted
        for batch in batches(path, reader):
            yield from _given(batch)


def _given(batch: list[RunEvent]) -> Iterable[RunEvent]:
    """Yield the events and drop each, so that a batch of long ones does not stay in memory."""
    batch.reverse()
    while batch:
        yield batch.pop()

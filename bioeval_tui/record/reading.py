"""Read a recording: whole, followed while another process writes it, or its outline.

Damage is reported, never fatal.
"""

from __future__ import annotations

import asyncio
import gc
import json
import marshal
import os
import re
from array import array
from bisect import bisect_right
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bioeval_tui.base.errors import Problem, RecordingError
from bioeval_tui.base.peer_limits import MAX_DAMAGED, MAX_LINE
from bioeval_tui.base.text import clean_line, clean_value, compact_json, needs_cleaning
from bioeval_tui.record import events, score as composite
from bioeval_tui.record.events import RunEnded, RunEvent, RunResumed, StateObserved, read_event
from bioeval_tui.record.masking import current, masking
from bioeval_tui.record.state import (
    ConversationKey,
    RunState,
    apply,
    apply_all,
    lighten,
)
from bioeval_tui.record.warning_codes import NOT_CLEAN

FRAME_S = 1 / 60
CHUNK, BLOCK = 1 << 20, 1 << 17
"""How many bytes are read at once: of a whole file, and of one that is shown meanwhile."""
MANY_EVENTS = 20_000
MOST_KEPT, MOST_KEPT_BYTES = 100_000, 16 << 20
"""Number of events of a replayed recording that stay in memory, and how many bytes of the file they
may be, of which objects take four times as many; going back reads no file before them.
"""
MOST_SHARED = 5_000
"""Number of different parts of states that are remembered."""


PlacedEvent = tuple[int, bytes, RunEvent]
"""An event with the number of bytes before its line, and the line as it is in the file, without its
end.
"""


@dataclass(slots=True)
class LineReader:
    """Turns incoming bytes into events; keeps an incomplete last line until the rest arrives."""

    name: str
    problems: list[Problem] = field(default_factory=list)
    line: int = 0
    taken: int = 0
    """The number of bytes before the incomplete last line."""
    is_hopeless: bool = False
    """Whether no event will be read any more: too many lines are damaged, or the file begins with
    more bytes than a line may have, and is none of this program.
    """
    _damaged: int = 0
    _has_event: bool = False
    _rest: bytes = b""

    def feed(self, data: bytes) -> list[RunEvent]:
        """Return the events that `data` completes."""
        return [event for _, _, event in self.feed_placed(data)]

    def feed_placed(self, data: bytes) -> list[PlacedEvent]:
        """Return the same, each with where it stands."""
        lines = (whole := self._rest + data).split(b"\n")
        self._rest = lines.pop()
        safe = _is_safe(whole)  # of most files, all of it: line by line takes a fifth of reading
        completed, place = [], self.taken
        for line in lines:
            event = self._read(line if safe else _made_safe(line))
            if event is not None:
                completed.append((place, line, event))
            place += len(line) + 1
        if len(self._rest) > MAX_LINE:
            self.problems.append(
                Problem(f"a line is longer than {MAX_LINE:,} bytes", self.name, self.line + 1)
            )
            self._rest, self.is_hopeless = b"", not self._has_event
        self.taken += len(whole) - len(self._rest)
        return completed

    @property
    def is_torn(self) -> bool:
        """Whether the last line has no end so far."""
        return bool(self._rest)

    def forget_unfinished(self) -> int:
        """Drop an incomplete last line and return its length, so that it can be read again."""
        length, self._rest = len(self._rest), b""
        return length

    def finish(self) -> None:
        """Report the rest: a line without its end was cut off when the writer died."""
        if self._rest.strip():
            self.problems.append(
                Problem("the last line is torn; it is left out", self.name, self.line + 1)
            )
            self._rest = b""

    def _read(self, line: bytes) -> RunEvent | None:
        self.line += 1
        if self.is_hopeless or not line.strip():
            return None
        try:
            event = read_event(line)
        except ValueError as error:
            self._damaged += 1
            message = f"damaged line, left out: {_why_damaged(error)}"
            if self._damaged > MAX_DAMAGED:
                self.is_hopeless = True
                message = f"more than {MAX_DAMAGED:,} damaged lines; the rest is left out"
            self.problems.append(Problem(message, self.name, self.line))
            return None
        self._has_event = True
        return event


def _why_damaged(error: ValueError) -> str:
    """Return which field of an event is wrong, and what it should be."""
    if not isinstance(error, ValidationError):
        return clean_line(str(error), 160)
    detail = error.errors(include_url=False, include_input=False)[0]
    if detail["type"] == "json_invalid":
        return "it is not JSON"
    what = clean_line(detail["msg"], 160)
    place = clean_line(".".join(map(str, detail["loc"])), 80)
    if place:
        return f"`{place}`: {what[:1].lower()}{what[1:]}"
    return what


_ESCAPES = (b"\\u", b"\\b", b"\\f", b"\\r")
_ASCII = re.compile(rb"[\x00-\x7f]+")


def _is_safe(data: bytes) -> bool:
    """Return whether lines have nothing that `clean` changes, nor its escapes, which the engine
    never writes.
    """
    if b"\x7f" in data or (b"\\" in data and any(token in data for token in _ESCAPES)):
        return False
    if data.isascii():
        return True
    # Only other characters are looked at, each run of them apart: to look at every letter took
    # two thirds of the time of reading a file.
    return not needs_cleaning(_ASCII.sub(b" ", data).decode("utf-8", "replace"))


def _made_safe(line: bytes) -> bytes:
    """Return a line with its texts cleaned if it is not safe."""
    if _is_safe(line):
        return line
    try:
        return compact_json(clean_value(json.loads(line))).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return line  # not JSON, or nested more deeply than an event may be


class SharedStates:
    """Lets the states of a recording share their equal parts: they repeat, and take most of its
    memory.
    """

    def __init__(self) -> None:
        self._parts: dict[bytes, Any] = {}

    def take(self, event: RunEvent) -> None:
        """Replace the parts of a state by equal ones of earlier states."""
        if isinstance(event, StateObserved) and event.object_context:
            for name, part in event.object_context.items():
                whole = (
                    list(map(self._shared, part)) if isinstance(part, list) else self._shared(part)
                )
                event.object_context[name] = whole

    def _shared(self, part: Any) -> Any:
        if len(self._parts) > MOST_SHARED:
            self._parts.clear()
        # Unlike a comparison, it tells 1 from 1.0 and true, and one order of keys from another.
        return self._parts.setdefault(marshal.dumps(part, 2), part)


@dataclass(frozen=True, slots=True)
class Recording:
    """A complete recording and its problems."""

    path: Path
    events: tuple[RunEvent, ...]
    problems: tuple[Problem, ...]


def read_recording(path: Path, *, as_written: bool = False, by_words: bool = False) -> Recording:
    """Read a recording from start to end, masked if this process masks; `as_written` is for code
    that continues it.

    With `by_words`, names are replaced with words that the fields of a job can hold.

    Raises:
        RecordingError: the file cannot be read or contains no event.
    """
    reader = LineReader(path.name)
    events: list[RunEvent] = []
    with pause_collector(reader):
        states = SharedStates()
        for batch in batches(path, reader):
            for event in batch:
                states.take(event)
            events += batch
    reader.finish()
    if not events:
        raise _no_recording(path, reader)
    if masking() and not as_written:
        mask = current().worded() if by_words else current()
        events = list(mask.events(events))
    return Recording(path, tuple(events), tuple(reader.problems))


@contextmanager
def pause_collector(reader: LineReader) -> Iterator[None]:
    """Pause the garbage collector: events have no reference cycles, and searching for them takes
    longer than reading.

    The objects of a large recording are frozen afterwards, so they are never searched.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if reader.line > MANY_EVENTS:
            gc.freeze()
        if was_on:
            gc.enable()


def batches(path: Path, reader: LineReader, size: int = CHUNK) -> Iterator[list[RunEvent]]:
    """Yield the events of a file in batches, reading so many bytes at once; `reader` knows what
    could not be read.

    Raises:
        RecordingError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            while not reader.is_hopeless and (data := file.read(size)):
                yield reader.feed(data)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from None


def _no_recording(path: Path, reader: LineReader) -> RecordingError:
    return RecordingError(
        f"{path}: not a recording: no event could be read", tuple(reader.problems)
    )


_OF_RUN = re.compile(rb"run_(?:started|resumed|ended)|\\u")
"""What a line has that says that a run began, went on or ended; escapes may spell it."""


def run_events(path: Path) -> Iterator[RunEvent]:
    """Yield when a run began, went on and ended, as recorded; what lies between is not read.

    Raises:
        RecordingError: the file cannot be read.
    """
    reader = LineReader(path.name)
    try:
        with path.open("rb") as file:
            for line in filter(_OF_RUN.search, file):
                for event in reader.feed(line):
                    if isinstance(event, events.RunStarted | RunResumed | RunEnded):
                        yield event
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from None


def complete_size(path: Path) -> int:
    """Return how many bytes of a recording are complete lines: one that is continued first loses a
    torn last one. 0 without a file.

    Raises:
        RecordingError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            while end > 0:
                begin = max(0, end - BLOCK)
                file.seek(begin)
                found = file.read(end - begin).rfind(b"\n")
                if found >= 0:
                    return begin + found + 1
                end = begin
    except FileNotFoundError:
        pass
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from None
    return 0


class RecordedEvents(Sequence[RunEvent]):
    """The events of a recording of any length: the first are kept, later ones are read again when
    they are asked for.

    Nothing is there before `read`. Asking for an event raises `RecordingError` if the file is not
    what it was.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._states = SharedStates()
        self._kept: list[RunEvent] = []
        self._places, self._firsts = array("Q", [0]), array("Q", [0])
        """Where each block of the file ends, in bytes, and how many events there are up to there.
        """
        self._block: tuple[int, list[RunEvent]] = (0, [])
        """The block that was read last: the number of its first event, and its events."""

    def read(self) -> Iterator[list[RunEvent]]:
        """Read the file, and yield its events in batches.

        Raises:
            RecordingError: the file cannot be read or contains no event.
        """
        reader = LineReader(self._path.name)
        with pause_collector(reader):
            for events in batches(self._path, reader, BLOCK):
                self._share(events)
                keeps = len(self) < MOST_KEPT and reader.taken <= MOST_KEPT_BYTES
                if keeps and len(self._kept) == len(self):
                    self._kept += events
                self._places.append(reader.taken)
                self._firsts.append(len(self) + len(events))
                yield events
        if not len(self):
            reader.finish()
            raise _no_recording(self._path, reader)

    def __len__(self) -> int:
        return self._firsts[-1]

    def __getitem__(self, place: Any) -> Any:
        numbers = range(len(self))[place]
        if isinstance(numbers, int):
            return self._event(numbers)
        return list(map(self._event, numbers))

    def _event(self, number: int) -> RunEvent:
        if number < len(self._kept):
            return self._kept[number]
        first, events = self._block
        if not first <= number < first + len(events):
            first, events = self._block = self._read_again(bisect_right(self._firsts, number))
        return events[number - first]

    def _read_again(self, block: int) -> tuple[int, list[RunEvent]]:
        begin, end = self._places[block - 1 : block + 1]
        first, beyond = self._firsts[block - 1 : block + 1]
        events = LineReader(self._path.name).feed(_read_part(self._path, begin, end - begin))
        if len(events) < beyond - first:
            raise changed_while_shown(self._path)
        self._share(events)
        return first, events[: beyond - first]

    def _share(self, events: Iterable[RunEvent]) -> None:
        for event in events:
            self._states.take(event)


def follow(
    path: Path,
    *,
    begin: int = 0,
    ends: int = 0,
    still_written: Callable[[], bool] = lambda: True,
    frame_s: float = FRAME_S,
    placed: Callable[[Sequence[PlacedEvent]], object] = lambda events: None,
) -> AsyncGenerator[Sequence[RunEvent], None]:
    """Yield batches of events, polling once per frame, until the run has ended; masked if this
    process masks. The first `begin` bytes are left out, which are complete lines. Before each
    batch, `placed` is told where its events stand, as they are written.

    Also ends if the file has no writer any more (`still_written` is called if there is nothing
    new). The file may not exist yet. `ends` is how often the run ended before: a resumed run has
    such ends, which are skipped.
    """
    batches = _follow(path, begin, ends, still_written, frame_s, placed)
    if masking():
        return current().follow(batches)
    return batches


async def _follow(
    path: Path,
    begin: int,
    ends: int,
    still_written: Callable[[], bool],
    frame_s: float,
    placed: Callable[[Sequence[PlacedEvent]], object],
) -> AsyncGenerator[Sequence[RunEvent], None]:
    reader = LineReader(path.name, taken=begin)
    offset = begin
    quiet = 0
    ended = False
    while True:
        # Resuming a run truncates an incomplete last line and writes others in its place.
        again = reader.forget_unfinished()
        data = _read_part(path, offset - again, CHUNK + again)
        new = len(data) - again
        offset += new
        of_lines = reader.feed_placed(data) if data else []
        events = [event for _, _, event in of_lines]
        for event in events:
            if isinstance(event, RunEnded):
                ends -= 1
                ended = ends < 0
            elif isinstance(event, RunResumed):
                ended = False
        if events:
            placed(of_lines)
            yield events
        if ended and not _read_part(path, offset):
            return
        if new == CHUNK:
            await asyncio.sleep(0)  # catching up: let the screen paint between slices
            continue
        quiet = 0 if new else quiet + 1
        # Ask only now and then: it looks up a process.
        if quiet and quiet % 15 == 0 and not still_written() and not _read_part(path, offset):
            return
        await asyncio.sleep(frame_s)


def _read_part(path: Path, offset: int, size: int = CHUNK) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(size)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from None


@dataclass(slots=True)
class OutlinedTalk:
    """One conversation: how many messages it had, how it ended and was scored."""

    attempt: int
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
            next((fault for fault in talk.faults if fault != "none"), "none")
            for talk in self.talks.values()
        )
        return sorted({*faults} - {"none"})

    def scores(self) -> dict[str, float | None]:
        """Return each condition's mean score over its trials; None when one is missing or not
        measured.
        """
        if self.started is None:
            return {}
        scores: dict[str, float | None] = {}
        trials = range(1, self.started.trials + 1)
        for condition in self.started.conditions:
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
    path: Path, *, as_written: bool = False, by_words: bool = False
) -> tuple[RunState, events.RunStarted, tuple[Problem, ...]]:
    """Return the state after all of a recording's events, its first event, and what could not be
    read.

    `by_words` is for code that needs the run's job, as of `read_recording`.

    Raises:
        RecordingError: it cannot be read, or lacks its first event.
    """
    reader = LineReader(path.name)
    if as_written or not masking():
        state = fold_file(path, light=False, reader=reader)
        reader.finish()
    else:  # a mask joins the pieces of a text
        recording = read_recording(path, by_words=by_words)
        state, reader.problems = apply_all(RunState(), recording.events), [*recording.problems]
    if state.started is None:
        read_recording(path)  # says why no event could be read
        raise no_first_event(path, reader.problems)
    return state, state.started, tuple(reader.problems)


def no_first_event(path: Path, problems: Iterable[Problem] = ()) -> RecordingError:
    """Return the error of a recording that lacks the event with the job, and what else is wrong."""
    message = f"{path.name}: the first event, which contains the job, is missing"
    return RecordingError(message, tuple(problems))


def changed_while_shown(path: Path) -> RecordingError:
    """Return the error of a recording that is no longer what was read of it."""
    return RecordingError(f"{path}: changed while it was shown")


def fold_file(path: Path, *, light: bool, reader: LineReader | None = None) -> RunState:
    """Fold a recording in pieces; with `light`, texts of scored conversations are dropped
    immediately. Empty without a file.
    """
    state, states, reader = RunState(), SharedStates(), reader or LineReader(path.name)
    with pause_collector(reader):
        for event in _events(path, reader):
            if not light:
                states.take(event)
            change = apply(state, event)
            if light and change.kind == "conversation_scored" and change.key is not None:
                imported = state.started is not None and state.started.source is not None
                lighten(state.conversations[change.key], counts_questions=not imported)
    return state


def fold_shown(path: Path) -> RunState:
    """Fold a recording as this process shows it: masked, if it masks. Empty without a file."""
    if masking() and path.exists():
        # a mask joins the pieces of a text
        return apply_all(RunState(), read_recording(path).events)
    return fold_file(path, light=False)


def _events(path: Path, reader: LineReader) -> Iterator[RunEvent]:
    if path.exists():  # if not, the run never began, or was deleted
        for batch in batches(path, reader):
            batch.reverse()
            # each event is dropped at once, so that a batch of long ones does not stay in memory
            while batch:
                yield batch.pop()

"""The overlay beside a recording: later scores and reviews, as events with an author that are applied last.

The recording itself never changes. An overlay is opened and locked for each append, so that two
writers never mix their lines.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bioeval_tui import score as composite
from bioeval_tui.errors import Problem, RecordingError, StorageError
from bioeval_tui.files import below, open_own, storage_error, sync_folder, write_fully
from bioeval_tui.peer_limits import MAX_OVERLAY
from bioeval_tui.portable import lock, read_at
from bioeval_tui.record import events
from bioeval_tui.record.events import RunEvent, write_event
from bioeval_tui.record.masking import current, masking
from bioeval_tui.record.reading import CHUNK, LineReader
from bioeval_tui.record.runs import SUFFIX, overlay_path
from bioeval_tui.record.state import ConversationKey, RunState


@dataclass(frozen=True, slots=True)
class Overlay:
    """The events of an overlay in order, and the file's problems."""

    events: tuple[RunEvent, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Judging:
    """One conversation that was judged again: author, time, new verdict and new score."""

    key: ConversationKey
    author: str
    at: str
    verdict: events.TranscriptScored
    score: events.ConversationScored | None = None


def append_numbered(recording: Path, new: Sequence[RunEvent], *, after: int = 0) -> None:
    """Append events to an overlay, readable only by its owner, numbered from its last event or from `after`.

    Raises:
        RecordingError: the overlay cannot be read or written.
    """

    def numbered(there: Overlay) -> Sequence[RunEvent]:
        last = max(last_seq(there), after)
        return [event.model_copy(update={"seq": last + at}) for at, event in enumerate(new, start=1)]

    _append(recording, numbered)


def append_reviews(recording: Path, new: Sequence[events.Reviewed]) -> int:
    """Append the reviews that an overlay does not have yet, numbered from its last event; return how many.

    Raises:
        RecordingError: the overlay cannot be read or written.
    """
    added: list[RunEvent] = []

    def unknown(there: Overlay) -> Sequence[RunEvent]:
        known = {event.review for event in there.events if isinstance(event, events.Reviewed)}
        last = last_seq(there)
        for event in new:
            if event.review not in known:
                added.append(event.model_copy(update={"seq": last + len(added) + 1}))
        return added

    _append(recording, unknown)
    return len(added)


def _append(recording: Path, make: Callable[[Overlay], Sequence[RunEvent]]) -> None:
    """Append the events that `make` returns for the current content, under the lock."""
    path = overlay_path(recording)
    try:
        descriptor = open_own(below(path.parent, path.name), os.O_RDWR | os.O_CREAT | os.O_APPEND)
        with os.fdopen(descriptor, "r+b", buffering=0):
            lock(descriptor, wait=True)
            _require_there(recording, path)
            data = b"".join(map(write_event, make(_read(path, as_written=True))))
            size = os.fstat(descriptor).st_size
            # Ours must not be joined to a torn line that another writer left.
            if size and read_at(descriptor, 1, size - 1) != b"\n":
                data = b"\n" + data
            try:
                write_fully(descriptor, data)
                os.fsync(descriptor)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, size)  # an incomplete event does not count
                raise
            if not size:
                sync_folder(path.parent)
    except StorageError as error:
        raise RecordingError(str(error)) from None
    except OSError as error:
        raise RecordingError(str(storage_error(path, error))) from None


def _require_there(recording: Path, path: Path) -> None:
    """Delete the overlay if another process has deleted the run, because a later run with its id would get the scores.

    A deletion removes the overlay before the recording and once more after it.
    """
    is_run = recording.suffix == SUFFIX  # graded submissions have reviews, too, and no recording
    if is_run and not recording.exists():
        with contextlib.suppress(OSError):  # Windows deletes no open file
            path.unlink()
        raise RecordingError(f"{recording.stem} was just deleted or moved; nothing was added to it")


def read_overlay(recording: Path, *, as_written: bool = False, in_force_only: bool = False) -> Overlay:
    """Return the overlay of a recording, masked if this process masks; `as_written` is for code that appends to it.

    With `in_force_only`, it has only the last verdict of each conversation, to save memory. Empty without a file. Damaged lines are reported and left out.

    Raises:
        RecordingError: the file cannot be read.
    """
    return _read(overlay_path(recording), as_written=as_written, in_force_only=in_force_only)


def _read(path: Path, *, as_written: bool = False, in_force_only: bool = False) -> Overlay:
    reader = LineReader(path.name)
    try:
        found_there = path.stat()
        if not stat.S_ISREG(found_there.st_mode):
            raise RecordingError(f"{path} is not a file")
        if found_there.st_size > MAX_OVERLAY:
            raise RecordingError(f"{path}: later scores and reviews may have at most {MAX_OVERLAY:,} bytes")
        with path.open("rb") as file:
            read = (event for data in iter(partial(file.read, CHUNK), b"") for event in reader.feed(data))
            events = _in_force(read) if in_force_only else list(read)
    except FileNotFoundError:
        return Overlay()
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from None
    reader.finish()
    masked = events if as_written or not masking() else current().events(events)
    return Overlay(tuple(masked), tuple(reader.problems))


def _in_force(read: Iterable[RunEvent]) -> list[RunEvent]:
    """Return the events without verdicts that a later one on the same conversation has replaced."""
    kept: dict[Hashable, RunEvent] = {}
    for number, event in enumerate(read):
        talk = (event.condition, event.trial, event.attempt)
        match event:
            case events.TranscriptScored():
                kept.pop((events.ConversationScored, talk), None)  # the score of the judging before
                key: Hashable = (events.TranscriptScored, talk)
            case events.ConversationScored():
                key = (events.ConversationScored, talk)
            case _:
                key = number
        kept.pop(key, None)
        kept[key] = event
    return list(kept.values())


def last_seq(overlay: Overlay) -> int:
    """Return the number of the last event, or 0."""
    return max((event.seq for event in overlay.events), default=0)


def judgings(state: RunState, overlay: Overlay) -> dict[ConversationKey, list[Judging]]:
    """Return every later verdict on a run's conversations, in order.

    Verdicts on attempts that were abandoned later are left out, because they don't apply to the new attempt.
    """
    judgings: dict[ConversationKey, list[Judging]] = {}
    for event in overlay.events:
        if event.condition is None or event.trial is None:
            continue
        key = ConversationKey(event.condition, event.trial)
        talk = state.conversations.get(key)
        if talk is None or talk.attempt != (event.attempt or 1):
            continue
        if isinstance(event, events.TranscriptScored):
            author = event.author or "unknown"
            judgings.setdefault(key, []).append(Judging(key, author, event.at.isoformat(), event))
        elif isinstance(event, events.ConversationScored) and key in judgings:
            judgings[key][-1] = replace(judgings[key][-1], score=event)
    return judgings


def in_force(state: RunState, overlay: Overlay) -> RunState:
    """Return the state with the latest verdicts, scores and mean in it; `state` itself does not change."""
    latest = {key: same[-1] for key, same in judgings(state, overlay).items()}
    talks = {key: replace(talk) for key, talk in state.conversations.items()}
    for key, judging in latest.items():
        talks[key].verdict = judging.verdict
        talks[key].score = judging.score or talks[key].score
    judged = replace(state, conversations=talks)
    if latest and judged.ended is not None:
        scores = judged.scores()
        mean = composite.published_mean(scores)
        judged.ended = judged.ended.model_copy(update={"scores": scores, "mean": mean})
    return judged

"""Later scores and reviews beside a recording: events of the same union with an author, appended, folded last.

The recording itself never changes. An overlay is opened for each append and locked meanwhile, so that two
writers never cut into each other's lines.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bioeval_tui import score as composite
from bioeval_tui.errors import Problem, RecordingError
from bioeval_tui.record import events
from bioeval_tui.record.events import RunEvent, write_event
from bioeval_tui.record.locks import lock
from bioeval_tui.record.masking.current import current, masking
from bioeval_tui.record.paths import overlay_path
from bioeval_tui.record.reading import LineReader
from bioeval_tui.record.state import ConversationKey, RunState


@dataclass(frozen=True, slots=True)
class Overlay:
    """The events of an overlay in order, and what is wrong with the file."""

    events: tuple[RunEvent, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Judging:
    """One conversation judged again: who asked, when, the new verdict, and the score that follows from it."""

    key: ConversationKey
    author: str
    at: str
    verdict: events.TranscriptScored
    score: events.ConversationScored | None = None


def append_overlay(recording: Path, new: Sequence[RunEvent]) -> None:
    """Append events to a recording's overlay, whole lines, for its owner alone.

    Raises:
        RecordingError: the overlay cannot be written.
    """
    _append(overlay_path(recording), lambda _: new)


def append_reviews(recording: Path, new: Sequence[events.Reviewed]) -> None:
    """Append reviews to an overlay, numbered on from its last event: two reviewers never get the same number.

    Raises:
        RecordingError: the overlay cannot be read or written.
    """

    def numbered(path: Path) -> Sequence[RunEvent]:
        last = last_seq(_read(path))
        return [event.model_copy(update={"seq": last + at}) for at, event in enumerate(new, start=1)]

    _append(overlay_path(recording), numbered)


def _append(path: Path, make: Callable[[Path], Sequence[RunEvent]]) -> None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            lock(descriptor, path, wait=True)
            data = b"".join(map(write_event, make(path)))
            size = os.fstat(descriptor).st_size
            # A line that another writer left torn must not swallow ours.
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                data = b"\n" + data
            file.write(data)
            os.fsync(descriptor)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be written: {error.strerror}") from None


def read_overlay(recording: Path, *, as_written: bool = False) -> Overlay:
    """Return the overlay of a recording, masked if this process masks; `as_written` is for what goes on from it.

    Empty when there is none. Damaged lines are reported and left out.

    Raises:
        RecordingError: the file cannot be read.
    """
    return _read(overlay_path(recording), as_written=as_written)


def _read(path: Path, *, as_written: bool = False) -> Overlay:
    reader = LineReader(path.name)
    try:
        found = reader.feed(path.read_bytes())
    except FileNotFoundError:
        return Overlay()
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from None
    reader.finish()
    masked = found if as_written or not masking() else current().events(found)
    return Overlay(tuple(masked), tuple(reader.problems))


def last_seq(overlay: Overlay) -> int:
    """Return the number of the last event, 0 when there is none."""
    return max((event.seq for event in overlay.events), default=0)


def judgings(state: RunState, overlay: Overlay) -> dict[ConversationKey, list[Judging]]:
    """Return every later judging of a run's conversations, in order.

    A verdict on an attempt that was abandoned since says nothing about the one that took its place.
    """
    found: dict[ConversationKey, list[Judging]] = {}
    for event in overlay.events:
        if event.condition is None or event.trial is None:
            continue
        key = ConversationKey(event.condition, event.trial)
        talk = state.conversations.get(key)
        if talk is None or talk.attempt != (event.attempt or 1):
            continue
        if isinstance(event, events.TranscriptScored):
            author = event.author or "unknown"
            found.setdefault(key, []).append(Judging(key, author, event.at.isoformat(), event))
        elif isinstance(event, events.ConversationScored) and key in found:
            found[key][-1] = replace(found[key][-1], score=event)
    return found


def in_force(state: RunState, overlay: Overlay) -> RunState:
    """Return the state with the latest verdicts, scores and mean in it; `state` itself does not change."""
    latest = {key: same[-1] for key, same in judgings(state, overlay).items()}
    talks = {
        key: replace(talk, verdict=latest[key].verdict, score=latest[key].score or talk.score)
        if key in latest
        else replace(talk)
        for key, talk in state.conversations.items()
    }
    found = replace(state, conversations=talks)
    if latest and found.ended is not None:
        scores = found.scores()
        mean = composite.published_mean(scores)
        found.ended = found.ended.model_copy(update={"scores": scores, "mean": mean})
    return found

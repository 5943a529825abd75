"""The overlay beside a recording: later scores and reviews, as events with an author that are
applied last.

The recording itself never changes. An overlay is opened and locked for each append, so that two
writers never mix their lines.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from bioeval_tui.base.errors import Problem, RecordingError, StorageError
from bioeval_tui.base.files import below, open_own, storage_error, sync_folder, write_fully
from bioeval_tui.base.peer_limits import MAX_OVERLAY
from bioeval_tui.base.portable import lock, read_part
from bioeval_tui.record import events
from bioeval_tui.record.cases import judged_items
from bioeval_tui.record.events import RunEvent, write_event
from bioeval_tui.record.masking import current, masking
from bioeval_tui.record.reading import CHUNK, LineReader
from bioeval_tui.record.runs import SUFFIX, overlay_path
from bioeval_tui.record.state import ConversationKey, ConversationState, RunState


@dataclass(frozen=True, slots=True)
class Overlay:
    """The events of an overlay in order, and the file's problems."""

    events: tuple[RunEvent, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Judging:
    """One conversation that was judged again: author, time, new verdict and new score.

    `begun` says by whose criteria; None for a verdict of an earlier version, which is by the
    recorded ones. `criteria` tells them apart from others, and is empty for the recorded ones.
    """

    key: ConversationKey
    author: str
    at: str
    verdict: events.TranscriptScored
    begun: events.CriteriaGiven | None = None
    criteria: str = ""
    score: events.ConversationScored | None = None
    checks: tuple[events.AssertionChecked, ...] = ()
    """The outcomes of the assertions, if those are other than the recorded ones."""

    @property
    def has_checks(self) -> bool:
        """Whether its assertions are other than the recorded ones, which may be none."""
        return self.begun is not None and self.begun.has_assertions


def append_numbered(recording: Path, new: Sequence[RunEvent], *, after: int = 0) -> None:
    """Append events to an overlay, readable only by its owner, numbered from its last event or from
    `after`.

    Raises:
        RecordingError: the overlay cannot be read or written.
    """

    NumberedOverlay(recording, after=after).append(new)


class NumberedOverlay:
    """Appends events to an overlay again and again, each time numbered from its last event or from
    `after`; what is in it is read once.
    """

    def __init__(self, recording: Path, *, after: int) -> None:
        self._recording, self._last = recording, after
        self._size = 0
        """How many bytes of it are known."""

    def append(self, new: Sequence[RunEvent]) -> None:
        """Append events.

        Raises:
            RecordingError: the overlay cannot be read or written.
        """

        def numbered(there: Overlay) -> Sequence[RunEvent]:
            self._last = max(last_seq(there), self._last)
            return [
                event.model_copy(update={"seq": self._last + at})
                for at, event in enumerate(new, start=1)
            ]

        self._size = _append(self._recording, numbered, known=self._size)
        self._last += len(new)


def append_reviews(recording: Path, new: Sequence[events.Reviewed]) -> int:
    """Append the reviews that an overlay does not have yet, numbered from its last event; return
    how many.

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


def _append(
    recording: Path, make: Callable[[Overlay], Sequence[RunEvent]], *, known: int = 0
) -> int:
    """Append the events that `make` returns for the current content, under the lock; return how
    many bytes there are then.

    Of the current content, the first `known` bytes are left out.
    """
    path = overlay_path(recording)
    try:
        descriptor = open_own(below(path.parent, path.name), os.O_RDWR | os.O_CREAT | os.O_APPEND)
        with os.fdopen(descriptor, "r+b", buffering=0):
            lock(descriptor, wait=True)
            _require_there(recording, path)
            size = os.fstat(descriptor).st_size
            there = _read(path, as_written=True, known=known if known <= size else 0)
            data = b"".join(map(write_event, make(there)))
            # Ours must not be joined to a torn line that another writer left.
            if size and read_part(descriptor, 1, size - 1) != b"\n":
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
            return size + len(data)
    except StorageError as error:
        raise RecordingError(str(error)) from None
    except OSError as error:
        raise RecordingError(str(storage_error(path, error))) from None


def _require_there(recording: Path, path: Path) -> None:
    """Delete the overlay if another process has deleted the run, because a later run with its id
    would get the scores.

    A deletion removes the overlay before the recording and once more after it.
    """
    is_run = recording.suffix == SUFFIX  # graded submissions have reviews, too, and no recording
    if is_run and not recording.exists():
        with contextlib.suppress(OSError):  # Windows deletes no open file
            path.unlink()
        raise RecordingError(f"{recording.stem} was just deleted or moved; nothing was added to it")


def read_overlay(
    recording: Path, *, as_written: bool = False, in_force_only: bool = False
) -> Overlay:
    """Return the overlay of a recording, masked if this process masks; `as_written` is for code
    that appends to it.

    With `in_force_only`, it has only the last verdict of each conversation, to save memory. Empty
    without a file. Damaged lines are reported and left out.

    Raises:
        RecordingError: the file cannot be read.
    """
    return _read(overlay_path(recording), as_written=as_written, in_force_only=in_force_only)


def _read(
    path: Path, *, as_written: bool = False, in_force_only: bool = False, known: int = 0
) -> Overlay:
    """Return what is in an overlay, without its first `known` bytes."""
    reader = LineReader(path.name)
    try:
        found_there = path.stat()
        if not stat.S_ISREG(found_there.st_mode):
            raise RecordingError(f"{path} is not a file")
        if found_there.st_size > MAX_OVERLAY:
            raise RecordingError(
                f"{path}: later scores and reviews may have at most {MAX_OVERLAY:,} bytes"
            )
        with path.open("rb") as file:
            file.seek(known)
            read = chain.from_iterable(map(reader.feed, iter(partial(file.read, CHUNK), b"")))
            events = _unreplaced(read) if in_force_only else list(read)
    except FileNotFoundError:
        return Overlay()
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from None
    reader.finish()
    masked = events if as_written or not masking() else current().events(events)
    return Overlay(tuple(masked), tuple(reader.problems))


def _unreplaced(read: Iterable[RunEvent]) -> list[RunEvent]:
    """Return the events without verdicts that a later one by the same criteria on the same
    conversation has replaced.
    """
    kept: dict[Hashable, RunEvent] = {}
    criteria: dict[str, str] = {}
    by = ""
    for number, event in enumerate(read):
        talk = (event.condition, event.trial, event.attempt)
        match event:
            case events.CriteriaGiven():
                criteria[event.judging] = event.criteria
                key: Hashable = number
            case events.TranscriptScored():
                by = criteria.get(event.judging, "")
                # the score of the judging before
                kept.pop((events.ConversationScored, by, talk), None)
                key = (events.TranscriptScored, by, talk)
            case events.AssertionChecked():
                key = (events.AssertionChecked, by, talk, event.index)
            case events.ConversationScored():
                key = (events.ConversationScored, by, talk)
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

    Verdicts on attempts that were abandoned later are left out, because they don't apply to the new
    attempt; so are those by criteria of which the line is damaged.
    """
    judgings: dict[ConversationKey, list[Judging]] = {}
    begun = {
        event.judging: (event, event.criteria)
        for event in overlay.events
        if isinstance(event, events.CriteriaGiven)
    }
    left_out: set[ConversationKey] = set()
    for event in overlay.events:
        if event.condition is None or event.trial is None:
            continue
        key = ConversationKey(event.condition, event.trial)
        talk = state.conversations.get(key)
        if talk is None or talk.attempt != (event.attempt or 1):
            continue
        if isinstance(event, events.TranscriptScored):
            author = event.author or "unknown"
            started, criteria = begun.get(event.judging, (None, ""))
            left_out.discard(key)
            if event.by_given and started is None:
                left_out.add(key)
                continue
            found = Judging(key, author, event.at.isoformat(), event, started, criteria)
            judgings.setdefault(key, []).append(found)
        elif key not in judgings or key in left_out:
            continue
        elif isinstance(event, events.AssertionChecked):
            last = judgings[key][-1]
            judgings[key][-1] = replace(last, checks=(*last.checks, event))
        elif isinstance(event, events.ConversationScored):
            judgings[key][-1] = replace(judgings[key][-1], score=event)
    return judgings


def counting(state: RunState, found: Mapping[ConversationKey, Sequence[Judging]]) -> list[Judging]:
    """Return the later verdicts that count, given those of `judgings`: of each conversation, the
    latest by the criteria in force.

    Those are the newest by which every conversation was judged that can be. Until then the criteria
    before count, because a mean over verdicts by different criteria would say nothing. The recorded
    criteria need no later verdict.
    """
    every = sorted(chain.from_iterable(found.values()), key=lambda each: each.verdict.seq)
    judged: dict[str, set[ConversationKey]] = {}
    for each in every:
        judged.setdefault(each.criteria, set()).add(each.key)
    newest_first = {each.criteria: each.begun for each in reversed(every)}
    by = next(
        (
            criteria
            for criteria, begun in newest_first.items()
            if not criteria or begun is None or judged[criteria] >= _awaited(state, begun)
        ),
        "",
    )
    return [
        own[-1]
        for same in found.values()
        if (own := [each for each in same if each.criteria == by])
    ]


def _awaited(state: RunState, begun: events.CriteriaGiven) -> set[ConversationKey]:
    """Return the conversations that a judging must have judged to count: in which something is, or
    was, judged.
    """
    anew = state.judged_anew(begun)
    return {
        key
        for key, talk in state.conversations.items()
        if (talk.is_result and begun.has_assertions)
        or (
            talk.can_be_judged
            and (talk.verdict is not None or judged_items(anew.trial_job(key.trial), key.condition))
        )
    }


def state_in_force(state: RunState, overlay: Overlay) -> RunState:
    """Return the state with the verdicts that count, by their criteria, with scores and mean;
    `state` itself does not change.
    """
    if not overlay.events:
        return state
    latest = counting(state, judgings(state, overlay))
    begun = next((each.begun for each in latest if each.begun is not None), None)
    judged = state.judged_anew(begun) if begun is not None else state
    has_others = begun is not None and begun.has_assertions
    by_talk = {judging.key: judging for judging in latest}
    talks = {
        key: _in_force(talk, by_talk.get(key), has_others=has_others)
        for key, talk in judged.conversations.items()
    }
    later = [event for event in overlay.events if isinstance(event, events.JudgeExamined)]
    judged = replace(judged, conversations=talks, exams=[*state.exams, *later])
    if latest and judged.ended is not None:
        update = {"scores": judged.scores(), "mean": judged.mean()}
        judged.ended = judged.ended.model_copy(update=update)
    return judged


def _in_force(
    talk: ConversationState, judging: Judging | None, *, has_others: bool
) -> ConversationState:
    """Return a conversation with the later verdict on it that counts, if there is one; recorded
    checks do not count if the later criteria have other assertions.
    """
    fields: dict[str, Any] = {}
    if has_others:
        fields = {"checks": {}, "final_checks": {}}
    if judging is not None:
        fields["verdict"] = judging.verdict
        if judging.score is not None:
            fields["score"] = judging.score
        if judging.checks:
            before = {} if has_others else talk.final_checks
            fields["final_checks"] = before | {check.index: check for check in judging.checks}
    return talk.changed(**fields) if fields else talk

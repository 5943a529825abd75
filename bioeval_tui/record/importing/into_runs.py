"""Imports a file into the folder of runs: a recording of this program, as a copy with every text
cleaned, or conversations of another tool, as a new recording.

`runs import` calls `import_file`. A copy is whole, synced and marked as imported before
it gets its name, so that a run that is listed is neither half there nor taken for the user's own.
"""

from __future__ import annotations

import contextlib
import filecmp
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from bioeval_tui.base.errors import Problem, RecordingError, StorageError, UsageError
from bioeval_tui.base.files import (
    below,
    open_own,
    private_dir,
    put_new,
    storage_error,
    write_whole,
)
from bioeval_tui.base.peer_limits import MAX_LINE, MAX_OVERLAY
from bioeval_tui.base.text import clean_value, compact_json, plural
from bioeval_tui.record.events import SCHEMA_VERSION, Reviewed, RunStarted, write_event
from bioeval_tui.record.importing.formats import ImportFormat, import_format, no_recording
from bioeval_tui.record.importing.writing import ImportOptions, digest, imported_events, survey
from bioeval_tui.record.overlay import append_reviews
from bioeval_tui.record.reading import CHUNK, LineReader
from bioeval_tui.record.runs import (
    SUFFIX,
    imported_path,
    is_run_id,
    overlay_path,
    recording_path,
)


@dataclass(frozen=True, slots=True)
class Imported:
    """An imported recording; `new` is False if it already existed."""

    run_id: str
    path: Path
    new: bool
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def import_file(
    file: Path,
    runs_dir: Path,
    *,
    kind: str | None = None,
    options: ImportOptions | None = None,
    more: Sequence[Path] = (),
) -> Imported:
    """Import a file: a recording of this program, or conversations of another
    (`importing.formats`).

    Files are read in pieces, so their size does not matter. Importing the same with the same
    options gives the existing run.

    Args:
        file: the file to import.
        runs_dir: where the runs are.
        kind: the name of its format; by default, it is detected from the content.
        options: the user's options for a foreign file.
        more: further files of the same format, for the same run. Conversations of one name are
            trials of one case.

    Raises:
        RecordingError: the file cannot be read, has an unknown format, or cannot be written to the
            runs folder.
    """
    files = [file, *more]
    formats = [import_format(each, kind) for each in files]
    found = formats[0]
    if other := next(
        (each for each, its in zip(files, formats, strict=True) if its != found), None
    ):
        raise UsageError(f"{file} and {other} are of different formats; import each on its own")
    if found is None:
        if options is not None and options != ImportOptions():
            raise UsageError(
                "a recording of bioeval-tui needs no --format, --job, --licence or --origin"
            )
        if len(files) > 1:
            raise UsageError(
                "each recording of bioeval-tui is a run of its own: import them one after another"
            )
        return import_recording(file, runs_dir)
    return _import_foreign(files, runs_dir, found, options or ImportOptions())


def _import_foreign(
    files: Sequence[Path], runs_dir: Path, kind: ImportFormat, options: ImportOptions
) -> Imported:
    private_dir(runs_dir)
    sha256 = digest(files)
    said = compact_json([kind.name, options.licence, options.origin, options.job])
    tag = hashlib.sha256(f"{sha256} {said}".encode("utf-8", "replace")).hexdigest()[:8]
    for there in sorted(runs_dir.glob(f"*-{tag}{SUFFIX}")):
        if is_run_id(there.stem):
            return Imported(there.stem, there, False)
    surveyed = survey(files, kind)
    run_id = f"{(surveyed.began or datetime.now(UTC)).astimezone(UTC):%Y%m%d-%H%M%S}-{tag}"
    target = recording_path(runs_dir, run_id)
    with _new_file(runs_dir) as (copy, written):
        for event in imported_events(files, kind, surveyed, sha256, run_id, options):
            line = write_event(event)
            if len(line) > MAX_LINE:
                where = f"trial {event.trial} has" if event.trial else "it has"
                raise RecordingError(
                    f"{files[0]}: {where} a message of more than {MAX_LINE:,} bytes"
                )
            written.write(line)
        written.flush()
        os.fsync(written.fileno())
        _mark_imported(target)
        _put(copy, target)
    what = f"{kind.about}: {plural(surveyed.conversations, 'conversation')}"
    return Imported(
        run_id, target, True, (what, *surveyed.notes, *filter(None, [surveyed.not_used]))
    )


def import_recording(file: Path, runs_dir: Path) -> Imported:
    """Copy a recording, and its overlay if it is beside it, to the runs folder, cleaning every
    text.

    The file is read in pieces, so its size does not matter.

    Raises:
        RecordingError: the file is not a recording, another run has its id, or the copy cannot be
            written.
    """
    private_dir(runs_dir)
    with _cleaned(file, runs_dir) as (copy, events, problems):
        started = next((event for event in events if isinstance(event, RunStarted)), None)
        if started is None:
            raise no_recording(file)
        if not is_run_id(started.run_id):
            raise RecordingError(f"{file}: not a recording: its run id is invalid")
        target = recording_path(runs_dir, started.run_id)
        new = not target.exists()
        if not new and not filecmp.cmp(target, copy, shallow=False):
            raise RecordingError(
                f"{started.run_id}: another recording already has this id; delete it first"
            )
        notes = []
        if started.schema_version > SCHEMA_VERSION:
            notes.append(
                f"written by a newer program (recording version {started.schema_version}, this one"
                f" knows {SCHEMA_VERSION}): unknown parts are kept but not shown"
            )
        if new:
            _mark_imported(target)
            _put(copy, target)
    notes += _import_overlay(overlay_path(file), target, runs_dir)
    return Imported(started.run_id, target, new, tuple(notes), problems)


def _import_overlay(beside: Path, target: Path, runs_dir: Path) -> list[str]:
    """Import the later scores and reviews beside a foreign recording; return messages about it.

    `beside` is the overlay to import, `target` the recording in the runs folder. An overlay that
    is there already only gets the reviews that it lacks.
    """
    there = overlay_path(target)
    if not beside.is_file() or (there.exists() and beside.samefile(there)):
        return []
    if beside.stat().st_size > MAX_OVERLAY:
        return [
            f"its later scores and reviews were left out: they have more than {MAX_OVERLAY:,} bytes"
        ]
    with _cleaned(beside, runs_dir) as (copy, events, _):
        if not there.exists():
            _put(copy, there)
            return ["its later scores and reviews were imported"]
        taken = append_reviews(target, [event for event in events if isinstance(event, Reviewed)])
    if taken:
        return [f"{plural(taken, 'review')} imported with it"]
    return []


@contextlib.contextmanager
def _cleaned(
    file: Path, folder: Path
) -> Iterator[tuple[Path, list[RunStarted | Reviewed], tuple[Problem, ...]]]:
    """Copy a foreign file into `folder`, cleaning every text; damaged lines are kept and reported
    later.

    Yields the copy, which is removed at the end unless it was moved, its first event and reviews,
    and the problems of the file.

    Raises:
        RecordingError: the file cannot be read, contains no event, or the copy cannot be written.
    """
    reader = LineReader(file.name)
    kept: list[RunStarted | Reviewed] = []
    count = 0
    with _new_file(folder) as (copy, written):
        for line in _lines(file):
            for event in reader.feed(line):
                count += 1
                if isinstance(event, Reviewed) or (isinstance(event, RunStarted) and not kept):
                    kept.append(event)
            written.write(_clean_line(line))
        written.flush()
        os.fsync(written.fileno())
        reader.finish()
        if not count:
            raise no_recording(file)  # a sentence for the file, not for each line
        yield copy, kept, tuple(reader.problems)


def _lines(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file; of a line that is longer than any event, only enough to report
    it.
    """
    try:
        with file.open("rb") as opened:
            while line := opened.readline(MAX_LINE + 2):
                yield line
                if len(line) == MAX_LINE + 2 and not line.endswith(b"\n"):
                    while (rest := opened.readline(CHUNK)) and not rest.endswith(b"\n"):
                        pass
                    yield b"\n"
    except OSError as error:
        raise RecordingError(f"{file}: cannot be read: {error.strerror}") from None


def _clean_line(line: bytes) -> bytes:
    """Return a foreign line with every text cleaned; invalid JSON is unchanged, and a line that is
    too long becomes empty.
    """
    if len(line) > MAX_LINE or line.isspace():  # to parse millions of empty ones takes seconds
        if len(line) > MAX_LINE:
            return b""
        return line
    try:
        value = json.loads(line)
        cleaned = clean_value(value)
    except (ValueError, RecursionError):
        return line
    if cleaned == value:
        return line
    return compact_json(cleaned).encode("utf-8", "replace") + line[len(line.rstrip(b"\r\n")) :]


@contextlib.contextmanager
def _new_file(folder: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Yield a new file readable only by its owner, which is removed at the end unless it was
    moved.
    """
    copy = below(folder, f".import-{secrets.token_hex(8)}.part")
    try:
        descriptor = open_own(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except OSError as error:
        raise RecordingError(str(storage_error(folder, error))) from None
    try:
        with os.fdopen(descriptor, "wb") as written:
            yield copy, written
    except OSError as error:
        raise RecordingError(str(storage_error(folder, error))) from None
    finally:
        copy.unlink(missing_ok=True)


def _mark_imported(target: Path) -> None:
    """Create the mark of an import, an empty file beside the recording: only its name counts.

    It is created before the recording, so that the recording never counts as the user's own.
    """
    try:
        write_whole(below(target.parent, imported_path(target).name), b"", mode=0o600)
    except StorageError as error:
        raise RecordingError(str(error)) from None


def _put(copy: Path, target: Path) -> None:
    """Rename a copy, unless a file of that name was created in the meantime.

    Raises `RecordingError`.
    """
    try:
        put_new(copy, below(target.parent, target.name))
    except FileExistsError:
        raise RecordingError(
            f"{target.stem}: another process just imported a recording with this id; import it"
            " again"
        ) from None
    except OSError as error:
        raise RecordingError(str(storage_error(target, error))) from None

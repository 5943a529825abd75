"""Recordings that come and go: imported from a file, deleted for good."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bioeval_tui.errors import Problem, RecordingError
from bioeval_tui.record.events import SCHEMA_VERSION, Reviewed, RunStarted
from bioeval_tui.record.live import only_here
from bioeval_tui.record.overlay import append_reviews
from bioeval_tui.record.paths import is_run_id, live_path, overlay_path, recording_path
from bioeval_tui.record.reading import LineReader, read_recording
from bioeval_tui.text import clean_value, compact_json, plural


@dataclass(frozen=True, slots=True)
class Imported:
    """A recording that is now among the runs; `new` is False when it was there already, the same."""

    run_id: str
    path: Path
    new: bool
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def import_recording(file: Path, runs_dir: Path) -> Imported:
    """Copy a recording (and its overlay, if one lies beside it) among the runs, every text in it cleaned.

    Raises:
        RecordingError: the file is no recording, or another run has its id.
    """
    recording = read_recording(file, as_written=True)
    started = next((event for event in recording.events if isinstance(event, RunStarted)), None)
    if started is None:
        raise RecordingError(
            f"{file}: not a recording: it does not say how the run began", recording.problems
        )
    if not is_run_id(started.run_id):
        raise RecordingError(f"{file}: not a recording: its run id has not the form of one")
    target = recording_path(runs_dir, started.run_id)
    data = _cleaned(file)
    new = not target.exists()
    if not new and target.read_bytes() != data:
        raise RecordingError(f"{started.run_id}: another recording has this id already; delete it first")
    notes = []
    if started.schema_version > SCHEMA_VERSION:
        notes.append(
            f"written by a newer program (recording version {started.schema_version}, this one knows "
            f"{SCHEMA_VERSION}): what it does not know is kept and left out of what is shown"
        )
    runs_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    if new:
        _write_private(target, data)
    beside = overlay_path(file)
    if beside.is_file() and not overlay_path(target).exists():
        _write_private(overlay_path(target), _cleaned(beside))
        notes.append("its later scores and reviews came with it")
    elif beside.is_file() and beside != overlay_path(target):
        taken = _take_reviews(target, _cleaned(beside))
        notes += [f"{plural(taken, 'review')} of it came along"] if taken else []
    return Imported(started.run_id, target, new, tuple(notes), recording.problems)


def delete_runs(paths: Sequence[Path], logs_dir: Path) -> int:
    """Delete recordings with all that belongs to them; return how many bytes they had.

    Raises:
        RecordingError: a run goes on, or a file cannot be deleted. What came before it is gone.
    """
    freed = 0
    for path in paths:
        belongings = (
            overlay_path(path),
            live_path(path),
            logs_dir / f"{path.stem}.log",
            logs_dir / f"{path.stem}.spec.json",
            path,
        )
        with only_here(path):
            freed += sum(erase(file) for file in belongings)
    return freed


def erase(file: Path) -> int:
    """Delete a file, and the recording elsewhere that a link stands for; return how many bytes that freed.

    A file that is gone already frees none. Raises `RecordingError` when it cannot be deleted.
    """
    try:
        size = file.stat().st_size if file.exists() else 0
        if file.is_symlink() and file.resolve().name == file.name:
            file.resolve().unlink(missing_ok=True)  # the recording went on in another folder
        file.unlink()
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise RecordingError(f"{file}: cannot be deleted: {error.strerror}") from None
    return size


def _take_reviews(target: Path, data: bytes) -> int:
    """Append the reviews that the run does not have yet; return how many there were."""
    reader = LineReader("overlay")
    return append_reviews(target, [event for event in reader.feed(data) if isinstance(event, Reviewed)])


def _cleaned(file: Path) -> bytes:
    """Return the lines of a foreign file with every text cleaned; damaged lines stay, to be reported."""
    lines = []
    for line in file.read_bytes().split(b"\n"):
        try:
            value = json.loads(line)
            cleaned = clean_value(value)
            lines.append(line if cleaned == value else compact_json(cleaned).encode("utf-8", "replace"))
        except (ValueError, RecursionError):
            lines.append(line)
    return b"\n".join(lines)


def _write_private(path: Path, data: bytes) -> None:
    part = path.with_name(f".{path.name}.part")
    with contextlib.suppress(FileNotFoundError):
        part.unlink()
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        part.replace(path)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be written: {error.strerror}") from None

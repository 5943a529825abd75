"""Deletes runs with all their files, and reads and empties the trash.

`runs delete` and `runs prune` delete for good. The list of runs on the screen moves
them to the trash instead (`tui/data/run_list.py`): a folder for each deletion, named by its time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from bioeval_tui.base.errors import RecordingError
from bioeval_tui.record.runs import (
    SUFFIX,
    imported_path,
    is_run_id,
    live_path,
    moved_file,
    only_here,
    overlay_path,
)


def delete_runs(paths: Sequence[Path], logs_dir: Path) -> int:
    """Delete recordings with all their files; return the freed bytes.

    Raises:
        RecordingError: a run is in progress, or a file cannot be deleted. Earlier ones have been
            deleted.
    """
    freed = 0
    for path in paths:
        belongings = (
            overlay_path(path),
            live_path(path),
            logs_dir / f"{path.stem}.log",
            logs_dir / f"{path.stem}.spec.json",
            path,
            overlay_path(path),  # who added to it a moment ago had found the recording
            # after the recording, which at no time is taken for one of the user's own
            imported_path(path),
        )
        with only_here(path):
            freed += sum(_erase(file) for file in belongings)
    return freed


_FOLDER_NAME = "%Y%m%d-%H%M%S-%f"


class Deletion(NamedTuple):
    """One deletion: its folder, when it was, and the ids of its runs."""

    path: Path
    at: datetime
    run_ids: tuple[str, ...]


def folder_name(now: datetime) -> str:
    """Return the name of a new deletion's folder: its time in UTC."""
    return f"{now.astimezone(UTC):{_FOLDER_NAME}}"


def deletions(trash: Path, before: datetime | None = None) -> list[Deletion]:
    """Return the deletions in the trash, oldest first; with `before`, only those before that
    time.
    """
    deletions = []
    for path in sorted(trash.glob("*")):
        try:
            at = datetime.strptime(path.name, _FOLDER_NAME).replace(tzinfo=UTC)
        except ValueError:
            continue  # not ours
        if path.is_symlink() or not path.is_dir():
            continue  # nor is what a link leads to
        names = sorted(file.name for file in path.iterdir())
        ids = [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]
        if before is None or at < before:
            deletions.append(
                Deletion(path, at, tuple(run_id for run_id in ids if is_run_id(run_id)))
            )
    return deletions


def empty_trash(trashed: Iterable[Deletion], logs_dir: Path) -> int:
    """Permanently delete the trash, with the logs of its runs; return the freed bytes.

    Raises:
        RecordingError: a file cannot be deleted. Earlier ones have been deleted.
    """
    freed = 0
    for deletion in trashed:
        files = [*deletion.path.iterdir()]
        for run_id in deletion.run_ids:
            files += [logs_dir / f"{run_id}.log", logs_dir / f"{run_id}.spec.json"]
        freed += sum(map(_erase, files))
        with contextlib.suppress(OSError):
            deletion.path.rmdir()
    return freed


def _erase(file: Path) -> int:
    """Delete a file and, for the link to a recording that was moved, its target; return the freed
    bytes.

    A missing file frees none. Raises `RecordingError` if it cannot be deleted.
    """
    try:
        moved = moved_file(file)
        size = (moved or file).stat().st_size if file.exists() else 0
        if moved is not None:
            moved.unlink(missing_ok=True)
        file.unlink()
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise RecordingError(f"{file}: cannot be deleted: {error.strerror}") from None
    return size

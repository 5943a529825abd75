"""The trash: runs that were deleted on a screen, until they are restored or pruned."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from bioeval_tui.record.paths import SUFFIX, is_run_id
from bioeval_tui.record.transfer import erase

FOLDER = "trash"
_NAME = "%Y%m%d-%H%M%S-%f"


class Deletion(NamedTuple):
    """One deletion: its folder, when it was, and the ids of its runs."""

    path: Path
    at: datetime
    run_ids: tuple[str, ...]


def folder_name(now: datetime) -> str:
    """Return the name of a new deletion's folder: its time in UTC."""
    return f"{now.astimezone(UTC):{_NAME}}"


def deletions(data_dir: Path, before: datetime | None = None) -> list[Deletion]:
    """Return the deletions in the trash, oldest first; with `before`, only those before that time."""
    found = []
    for path in sorted((data_dir / FOLDER).glob("*")):
        try:
            at = datetime.strptime(path.name, _NAME).replace(tzinfo=UTC)
        except ValueError:
            continue  # not ours
        names = sorted(file.name for file in path.iterdir()) if path.is_dir() else []
        ids = [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]
        if path.is_dir() and (before is None or at < before):
            found.append(Deletion(path, at, tuple(run_id for run_id in ids if is_run_id(run_id))))
    return found


def empty(trashed: Iterable[Deletion], logs_dir: Path) -> int:
    """Permanently delete the trash, with the logs of its runs; return the freed bytes.

    Raises:
        RecordingError: a file cannot be deleted. Earlier ones have been deleted.
    """
    freed = 0
    for deletion in trashed:
        logs = [logs_dir / f"{run_id}.{kind}" for run_id in deletion.run_ids for kind in ("log", "spec.json")]
        freed += sum(erase(file) for file in [*deletion.path.iterdir(), *logs])
        with contextlib.suppress(OSError):
            deletion.path.rmdir()
    return freed

"""The paths of a run's files, and the form of its id."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path

SUFFIX = ".jsonl"
OVERLAY = ".overlay.jsonl"
_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4,8}")


def new_run_ids(count: int, runs_dir: Path) -> list[str]:
    """Return that many ids, such as 20261120-195407-7f3a, that differ from each other and from every run in the folder."""
    now = datetime.now(UTC)
    ids: dict[str, None] = {}
    while len(ids) < count:
        # In a large batch, two of the short tags would often be equal.
        run_id = f"{now:%Y%m%d-%H%M%S}-{os.urandom(2 if count < 50 else 4).hex()}"
        if not recording_path(runs_dir, run_id).exists():
            ids[run_id] = None
    return list(ids)


def is_run_id(text: str) -> bool:
    """Return whether `text` has the form of a run id (and so is safe as a file name)."""
    return _ID.fullmatch(text) is not None


def recording_path(runs_dir: Path, run_id: str) -> Path:
    """Return the recording's path."""
    return runs_dir / f"{run_id}{SUFFIX}"


def live_path(recording: Path) -> Path:
    """Return the path of the file that exists while an engine owns the run."""
    return recording.with_suffix(".live")


def imported_path(recording: Path) -> Path:
    """Return the path of the mark that a recording came from elsewhere: its paths and addresses are not the user's."""
    return recording.with_suffix(".imported")


def is_imported(recording: Path) -> bool:
    """Return whether a recording was imported with `runs import`."""
    return imported_path(recording).exists()


def is_own(recording: Path, runs_dir: Path) -> bool:
    """Return whether the paths in a recording are trusted: it is in the runs folder, and was not imported."""
    return recording.parent.resolve() == runs_dir.resolve() and not is_imported(recording)


def overlay_path(recording: Path) -> Path:
    """Return the path of later scores and reviews."""
    return recording.with_suffix(OVERLAY)

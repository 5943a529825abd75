"""Files that a screen writes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from bioeval_tui.files import write_beside


def save(text: str, folder: Path, stem: str, ending: str, at: datetime) -> Path:
    """Write a file that only its owner may read, under an unused name; return its path.

    Raises:
        StorageError: the disk is full, or the folder cannot be written.
    """
    return write_beside(folder, f"{stem}-{at:%Y-%m-%d-%H%M%S}", ending, text)

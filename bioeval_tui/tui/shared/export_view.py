"""Files that a screen writes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path


def save(text: str, folder: Path, stem: str, ending: str, at: datetime) -> Path:
    """Write a file that only its owner may read, under a name that is free; return its path.

    Raises:
        OSError: the folder cannot be written.
    """
    start = f"{stem}-{at:%Y-%m-%d-%H%M%S}"
    path = folder / f"{start}{ending}"
    number = 1
    while path.exists():
        number += 1
        path = folder / f"{start}~{number}{ending}"
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    return path

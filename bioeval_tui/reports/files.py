"""Reports are written whole or not at all, and for their owner alone: transcripts can hold patients' data."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from bioeval_tui.errors import UsageError


def write_private(path: Path, text: str) -> None:
    """Write `text` to `path` (mode 0600), replacing what was there only when all of it is written.

    Raises:
        UsageError: the folder is missing or cannot be written.
    """
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp gives 0600
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None

"""Reports are written whole or not at all, and for their owner alone: transcripts can hold patients' data."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from bioeval_tui.errors import UsageError
from bioeval_tui.text import clean_line


def write_private(path: Path, document: str | bytes) -> None:
    """Write `document` to `path` (mode 0600), replacing what was there only when all of it is written.

    Raises:
        UsageError: the folder is missing or cannot be written.
    """
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp gives 0600
        with os.fdopen(handle, "wb") as file:
            file.write(document.encode("utf-8") if isinstance(document, str) else document)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


def write_or_print(document: str | bytes, output: Path | None) -> None:
    """Write to a file and say so on stderr; without one print to stdout.

    Raises:
        UsageError: the folder is missing or cannot be written.
    """
    if output is None:
        if isinstance(document, str):
            sys.stdout.write(document)
        else:
            sys.stdout.buffer.write(document)
        return
    write_private(output, document)
    sys.stderr.write(f"wrote {clean_line(str(output), 300)}\n")

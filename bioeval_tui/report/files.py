"""Writes reports completely or not at all, readable only by their owner, because they may contain patient data."""

from __future__ import annotations

from pathlib import Path

from bioeval_tui.errors import UsageError
from bioeval_tui.files import write_whole
from bioeval_tui.terminal import print_document, say
from bioeval_tui.text import clean_line


def write_private(path: Path, document: str | bytes) -> None:
    """Write `document` to `path` (mode 0600), replacing the old file only once everything is written.

    Raises:
        UsageError: the folder is missing.
        StorageError: the folder cannot be written, or the disk is full.
    """
    if not path.parent.is_dir():
        raise UsageError(f"{path}: cannot be written: the folder {path.parent} does not exist")
    write_whole(path, document, mode=0o600)


def write_or_print(document: str | bytes, output: Path | None) -> None:
    """Write to a file and say so on stderr; without one print to stdout.

    Raises:
        UsageError, StorageError: as `write_private`.
    """
    if output is None:
        print_document(document)
        return
    write_private(output, document)
    say(f"wrote {clean_line(str(output), 300)}", err=True)

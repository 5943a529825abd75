"""Moves a recording in progress to another folder, and leaves a link in its place."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

from bioeval_tui.errors import RecordingError
from bioeval_tui.files import sync_folder
from bioeval_tui.portable import BINARY, lock, read_at
from bioeval_tui.record.reading import CHUNK


def copy_to(descriptor: int, path: Path, folder: Path) -> io.FileIO:
    """Copy the open recording `path` into `folder`; return the copy, synced, locked, open for appending.

    Raises:
        RecordingError: the folder is missing, full or the current one, or already contains such a file.
    """
    target = folder / path.name
    if not folder.is_dir():
        raise RecordingError(f"{folder} is not a folder")
    try:
        if folder.resolve() == path.resolve().parent:
            raise RecordingError(f"{folder} already contains the recording")
        copy = os.open(target, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | BINARY, 0o600)
    except FileExistsError:
        raise RecordingError(f"{target} already exists and is not overwritten") from None
    except OSError as error:
        raise RecordingError(f"{folder} cannot be written: {error.strerror}") from None
    file = io.FileIO(copy, "ab")
    try:
        lock(copy)
        at = 0
        while data := read_at(descriptor, CHUNK, at):
            at += len(data)
            view = memoryview(data)
            while view:
                view = view[file.write(view) or 0 :]
        os.fsync(copy)
        sync_folder(folder)
    except OSError as error:
        file.close()
        target.unlink(missing_ok=True)
        raise RecordingError(f"the recording cannot be written to {folder}: {error.strerror}") from None
    return file


def link(path: Path, target: Path) -> None:
    """Put a link to `target` where the recording was, so that viewers and `runs list` find it.

    Raises:
        RecordingError: the link cannot be created; the recording continues in `target`.
    """
    part = path.with_suffix(".moved")
    whole = target.absolute()
    try:
        with contextlib.suppress(FileNotFoundError):
            part.unlink()
        try:
            part.symlink_to(whole)
            part.replace(path)
            sync_folder(path.parent)
        except OSError:
            # A full disk may have no room for a second name; the copy is complete and synced, so the original can be deleted.
            path.unlink()
            path.symlink_to(whole)
    except OSError as error:
        raise RecordingError(
            f"the recording continues in {whole}, but no link to it could be created: {error.strerror}"
        ) from None

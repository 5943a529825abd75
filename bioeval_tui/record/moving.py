"""Moves the recording of a run in progress to another folder, when its disk is full.

`Recorder.move` calls both steps: the copy first, and when that is whole, a link to it at the
old place.
"""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

from bioeval_tui.base.errors import RecordingError
from bioeval_tui.base.files import below, open_own, real, sync_folder
from bioeval_tui.base.portable import lock, read_part
from bioeval_tui.record.reading import CHUNK


def copy_open(descriptor: int, path: Path, folder: Path) -> io.FileIO:
    """Copy the open recording `path` into `folder`; return the copy, synced, locked, open for
    appending.

    Raises:
        RecordingError: the folder is missing, full or the current one, or already contains such a
            file.
    """
    if not folder.is_dir():
        raise RecordingError(f"{folder} is not a folder")
    target = below(folder, path.name)
    try:
        if real(folder) == real(path).parent:
            raise RecordingError(f"{folder} already contains the recording")
        copy = open_own(target, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        raise RecordingError(f"{target} already exists and is not overwritten") from None
    except OSError as error:
        raise RecordingError(f"{folder} cannot be written: {error.strerror}") from None
    file = io.FileIO(copy, "ab")
    try:
        lock(copy)
        at = 0
        while data := read_part(descriptor, CHUNK, at):
            at += len(data)
            view = memoryview(data)
            while view:
                view = view[file.write(view) or 0 :]
        os.fsync(copy)
        sync_folder(folder)
    except OSError as error:
        file.close()
        target.unlink(missing_ok=True)
        raise RecordingError(
            f"the recording cannot be written to {folder}: {error.strerror}"
        ) from None
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
            # A full disk may have no room for a second name; the copy is complete and synced, so
            # the original can be deleted.
            path.unlink()
            path.symlink_to(whole)
    except OSError as error:
        raise RecordingError(
            f"the recording continues in {whole}, but no link to it could be created:"
            f" {error.strerror}"
        ) from None

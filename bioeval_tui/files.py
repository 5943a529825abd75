"""Atomic, durable file writes: a file appears only when it is complete, and survives a power failure.

A device or a pipe (`/dev/stdout`, `>(…)`) is written to instead, because a file must not take its place.

Every part of the program that writes a file uses this module, except those that append to their own
(recordings, journals, logs, databases): `tests/test_house.py` lists them.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import itertools
import os
import stat
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from bioeval_tui.errors import StorageError, UsageError
from bioeval_tui.terminal import as_printed, print_document, say
from bioeval_tui.text import clean_line

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_STREAMS = ("/dev/std", "/dev/fd/", "/proc/self/fd/")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def csv_text(rows: Iterable[Iterable[object]], *, end: str = "\n") -> str:
    """Return rows as CSV. Cells of untrusted text must have gone through `text.as_cell`."""
    file = io.StringIO()
    csv.writer(file, lineterminator=end).writerows(rows)
    return file.getvalue()


def is_full(error: OSError) -> bool:
    """Whether there was no space left: on the disk, in the quota, or below the file size limit."""
    return error.errno in _NO_SPACE


def storage_error(path: Path | str, error: OSError) -> StorageError:
    """Return the sentence for a file that could not be written, which mentions a full disk."""
    shown = clean_line(str(path), 300)
    if is_full(error):
        return StorageError(f"{shown} cannot be written: the disk is full or over its quota; free some space")
    return StorageError(f"{shown} cannot be written: {clean_line(error.strerror or str(error), 160)}")


def write_whole(path: Path | str, data: bytes | str, *, mode: int = 0o644, sync: bool = True) -> None:
    """Write a file atomically: at any time, it has either its old content or all of the new one.

    Args:
        path: where to write; its folder must exist.
        data: the content; text is written as UTF-8.
        mode: the permissions of a new file, before the umask; 0o600 for files that may contain patient data.
        sync: wait until file and folder are on the disk. Without it, call `sync_all` before the source is removed.

    Raises:
        StorageError: the disk is full, or the folder cannot be written.
    """
    if _is_stream(path):
        with writing_whole(path) as file:
            printed = as_printed(data) if isinstance(data, str) else data
            file.write(printed.encode("utf-8", "replace") if isinstance(printed, str) else printed)
        return
    partial = _partial(path)
    try:
        _write_partial(partial, data, mode, sync=sync)
        os.replace(partial, path)  # noqa: PTH105 (the hot path of large batches)
        if sync:
            _sync_above(path)
    except OSError as error:
        _remove(partial)
        raise storage_error(path, error) from None


def write_new(path: Path | str, data: bytes | str) -> bool:
    """Write a file like `write_whole` that only its owner can read, unless it exists; return whether it was written.

    Raises:
        StorageError: the disk is full, or the folder cannot be written.
    """
    partial = _partial(path)
    try:
        _write_partial(partial, data, 0o600, sync=True)
        put_new(partial, path)
    except FileExistsError:
        return False
    except OSError as error:
        raise storage_error(path, error) from None
    finally:
        _remove(partial)
    return True


def put_new(whole: Path | str, path: Path | str) -> None:
    """Rename a complete, synced file; an existing file is not replaced.

    Raises:
        FileExistsError: there is one.
        OSError: the folder cannot be written.
    """
    try:
        os.link(whole, path)
        os.unlink(whole)  # noqa: PTH108
    except FileExistsError:
        raise
    except OSError:  # a file system without links: for a moment the file is there and empty
        os.close(os.open(path, _NEW, 0o600))
        os.replace(whole, path)  # noqa: PTH105
    _sync_above(path)


def write_beside(folder: Path, stem: str, ending: str, data: bytes | str) -> Path:
    """Write a new file, readable only by its owner, as `stem` + `ending`, or with `~2`, `~3` … in between; return its path.

    Raises:
        StorageError: the disk is full, or the folder cannot be written.
    """
    names = itertools.chain([stem], (f"{stem}~{number}" for number in itertools.count(2)))
    paths = (folder / f"{name}{ending}" for name in names)
    return next(path for path in paths if not path.exists() and write_new(path, data))


@contextlib.contextmanager
def writing_whole(path: Path | str) -> Iterator[BinaryIO]:
    """Yield a file to write in pieces; it is synced and gets its name if the block ends without an error.

    Raises:
        StorageError: the disk is full, or the folder cannot be written.
    """
    if _is_stream(path):
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "wb") as file:
                yield file
        except OSError as error:
            raise storage_error(path, error) from None
        return
    partial = _partial(path)
    try:
        with os.fdopen(os.open(partial, _NEW, 0o644), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)  # noqa: PTH105
        _sync_above(path)
    except OSError as error:
        raise storage_error(path, error) from None
    finally:
        _remove(partial)


def _is_stream(path: Path | str) -> bool:
    """Return whether a path is a device or a pipe, or stands for an open file, as `/dev/stdout` does."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 (the hot path of large batches)
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or os.fspath(path).startswith(_STREAMS)


def _partial(path: Path | str) -> str:
    folder, name = os.path.split(os.fspath(path))
    return os.path.join(folder, f".{name[:80]}.{uuid.uuid4().hex[:8]}.partial")  # noqa: PTH118 (the hot path)


def _write_partial(partial: str, data: bytes | str, mode: int, *, sync: bool) -> None:
    descriptor = os.open(partial, _NEW, mode)
    try:
        write_fully(descriptor, data.encode("utf-8", "replace") if isinstance(data, str) else data)
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(partial: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(partial)  # noqa: PTH108


def _sync_above(path: Path | str) -> None:
    sync_folder(os.path.dirname(os.fspath(path)) or ".")  # noqa: PTH120 (the hot path)


def write_fully(descriptor: int, data: bytes) -> None:
    """Write all of `data`, because the system may write only a part, for example on a disk that is nearly full.

    Raises:
        OSError: writing fails.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(folder: Path | str) -> None:
    """Wait until the names in a folder are on the disk, where the system can do that (not on Windows)."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_all() -> None:
    """Wait until everything that was written is on the disk: one wait for any number of files (not on Windows)."""
    if hasattr(os, "sync"):
        os.sync()


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

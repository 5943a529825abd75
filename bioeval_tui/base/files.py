"""Where and how this program writes: below the folder that was named for it, atomically and
durably.

What lies in a folder may be another's, such as a checkout of a colleague, and a link there may lead
anywhere. So a path of the program's own choice is a `Target`, which only `below` returns: its
folder, with every link resolved, is inside the folder that was named. A file appears only when it
is complete, in place of whatever had its name, and survives a power failure. What is appended to is
opened with `open_own`, which follows no link.

A file that the user named (`named`) may be a device or a pipe (`/dev/stdout`, `>(…)`). It is
written to instead, because a file must not take its place.

Every part of the program that writes a file uses this module: `tests/test_writers.py` lists the few
that do not.
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
from pathlib import Path, PurePath
from typing import BinaryIO, NewType

from bioeval_tui.base.errors import StorageError, UsageError
from bioeval_tui.base.portable import BINARY
from bioeval_tui.base.terminal import Document, print_document, printed_pieces, say
from bioeval_tui.base.text import clean_line

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_STREAMS = ("/dev/std", "/dev/fd/", "/proc/self/fd/")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
"""The end of a journal of SQLite that names a file, which SQLite deletes after it has undone the
changes in the journal.
"""
_OWN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | BINARY
"""Flags for files of the program's own: no link is followed, and no pipe waited for."""

Target = NewType("Target", Path)
"""A path that may be written to.

Only this module makes it, so that mypy finds what is written elsewhere.
"""

Folder = NewType("Folder", Path)
"""A folder below one that was named, without links on its way. Files in it are `folder_file`."""


def named(path: Path) -> Target:
    """Return a path as one that the user named to be written to; its links are the user's own."""
    return Target(path)


def real(path: Path) -> Path:
    """Return a path with its links resolved; one of a circle stays, which nobody can open.

    `Path.resolve` raises RuntimeError of a circle before Python 3.13: a link that a stranger left
    would end the program.
    """
    return Path(os.path.realpath(path))


def is_hidden(inside: PurePath) -> bool:
    """Return whether a part of a path begins with a dot, such as `.env` or `.git/config`.

    Such files are the machine's own, so no job may name one as something that is sent.
    """
    return any(part.startswith(".") for part in inside.parts)


def checked_below(folder: Path, *parts: str | Path) -> Path:
    """Return the path of `parts` below `folder`, with links below it resolved.

    Nothing needs to exist.

    The folder itself may be a link, because it was named.

    Raises:
        StorageError: a link leads out of the folder, or in a circle.
    """
    return _checked(folder, folder.joinpath(*parts))


def _checked(folder: Path, inside: Path) -> Path:
    try:
        root, path = real(folder), real(inside)
        # What cannot be resolved still has links.
        parts = (root, *root.parents, path, *path.parents)
        circular = any(part.is_symlink() for part in parts)
    except OSError as error:
        reason = clean_line(error.strerror or str(error), 160)
        raise StorageError(f"{_shown(inside)} cannot be used: {reason}") from None
    if circular:
        raise StorageError(f"{_shown(inside)} is not used, because its links form a circle")
    if not path.is_relative_to(root):
        raise StorageError(
            f"{_shown(inside)} is not used, because it leads out of {_shown(folder)}, to"
            f" {_shown(path)}"
        )
    as_given = inside.is_relative_to(folder) and path == root / inside.relative_to(folder)
    if as_given:
        return inside
    return path


def below(folder: Path, *parts: str | Path) -> Target:
    """Return the path of a file below a folder that was named for what is written; it may itself be
    a link, which is replaced.

    Raises:
        StorageError: a link leads out of the folder.
    """
    path = folder.joinpath(*parts)
    return Target(_checked(folder, path.parent) / path.name)


def folder_below(folder: Path, *parts: str | Path) -> Folder:
    """Make a folder below one that was named for what is written, if it is not there, and return
    it.

    Raises:
        StorageError: a link leads out of the folder, or it cannot be made.
    """
    path = checked_below(folder, *parts)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(path, error) from None
    return Folder(path)


def folder_file(folder: Folder, name: str) -> Target:
    """Return the path of a file in a folder that `folder_below` returned; it costs less than
    `below`.

    Raises:
        ValueError: the name leads elsewhere.
    """
    if name in ("", ".", "..") or not {os.sep, os.altsep}.isdisjoint(name):
        raise ValueError(f"{name!r} is not a name in a folder")
    return Target(folder / name)


def private_dir(path: Path) -> Path:
    """Create `path` and its missing parents, accessible only by their owner (0700); return it."""
    if not path.parent.is_dir():
        private_dir(path.parent)  # `mkdir(parents=True)` would leave those to the umask
    path.mkdir(exist_ok=True, mode=0o700)
    return path


def open_own(path: Target, flags: int, mode: int = 0o600) -> int:
    """Open a file of the program's own to change it in place, such as to append to it; return its
    descriptor.

    Raises:
        OSError: it is a link, or no regular file, or has a second name (a hard link), by which it
            may be another's.
    """
    with contextlib.suppress(FileNotFoundError):
        _require_own(path.lstat())  # also where the system has no O_NOFOLLOW
    descriptor = os.open(path, flags | _OWN, mode)
    try:
        _require_own(os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _require_own(found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, "it is a link, which is not followed")
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if found.st_nlink > 1:
        raise OSError(errno.EMLINK, "it has a second name (a hard link); put a copy in its place")


def read_small(path: Path, most: int = 1_000_000) -> bytes:
    """Return a small file of the program's own.

    Raises:
        OSError: it is missing, larger than `most` bytes, or no regular file: a pipe would be waited
            for.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes")
    return data


def make_database(path: Target) -> None:
    """Make an empty file for SQLite, readable only by its owner, unless it is there.

    Raises:
        OSError: as `check_database`.
    """
    check_database(path)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, _NEW, 0o600))


def check_database(path: Path) -> None:
    """Check that SQLite may open a database, whether it is there or not.

    Raises:
        OSError: it, or a file that SQLite would use beside it, is a link, no regular file, or has a
            second name; or its journal is not this program's.
    """
    # The database is not opened: closing it would release the locks of another connection in this
    # process.
    for file in database_files(path):
        with contextlib.suppress(FileNotFoundError):
            _require_own(file.lstat())
    with (
        contextlib.suppress(FileNotFoundError),
        path.with_name(f"{path.name}-journal").open("rb") as journal,
    ):
        size = journal.seek(0, os.SEEK_END)
        journal.seek(max(0, size - len(_NAMES_ANOTHER)))
        if journal.read() == _NAMES_ANOTHER:
            raise OSError(errno.EINVAL, "its journal names another file, which SQLite would delete")


def database_files(path: Path) -> list[Path]:
    """Return a database and the files that SQLite uses beside it, whether they are there or not."""
    return [path.with_name(path.name + ending) for ending in ("", "-journal", "-wal", "-shm")]


def csv_text(rows: Iterable[Iterable[object]], *, end: str = "\n") -> str:
    """Return rows as CSV. Cells of untrusted text must have gone through `spreadsheet_cell`."""
    file = io.StringIO()
    csv.writer(file, lineterminator=end).writerows(rows)
    return file.getvalue()


def is_full(error: OSError) -> bool:
    """Whether there was no space left: on the disk, in the quota, or below the file size limit."""
    return error.errno in _NO_SPACE


def storage_error(path: Path | str, error: OSError) -> StorageError:
    """Return the sentence for a file that could not be written, which mentions a full disk."""
    shown = _shown(path)
    if is_full(error):
        return StorageError(
            f"{shown} cannot be written: the disk is full or over its quota; free some space"
        )
    return StorageError(
        f"{shown} cannot be written: {clean_line(error.strerror or str(error), 160)}"
    )


def _shown(path: Path | str) -> str:
    return clean_line(str(path), 300)


def write_whole(path: Target, data: Document, *, mode: int = 0o644, sync: bool = True) -> None:
    """Write a file atomically: at any time, it has either its old content or all of the new one.

    Args:
        path: where to write; its folder must exist. A link or pipe there is replaced.
        data: the content, or its pieces; text is written as UTF-8.
        mode: the permissions of a new file, before the umask; 0o600 for files that may contain
            patient data.
        sync: wait until file and folder are on the disk. Without it, call `sync_all` before the
            source is removed.

    Raises:
        StorageError: the disk is full, or the folder cannot be written.
    """
    partial = _partial(path)
    try:
        _write_partial(partial, data, mode, sync=sync)
        os.replace(partial, path)  # noqa: PTH105 (the hot path of large batches)
        if sync:
            _sync_above(path)
    except OSError as error:
        _remove(partial)
        raise storage_error(path, error) from None


def write_named(path: Path, data: Document, *, mode: int = 0o644) -> None:
    """Write a file that the user named, like `write_whole`; a device or a pipe is written to
    instead.

    Raises:
        StorageError: the disk is full, or the folder cannot be written.
    """
    if not _is_stream(path):
        write_whole(named(path), data, mode=mode)
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
        try:
            for piece in printed_pieces(data):
                write_fully(descriptor, _encoded(piece))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise storage_error(path, error) from None


def write_new(path: Target, data: bytes | str) -> bool:
    """Write a file like `write_whole` that only its owner can read, unless it exists; return
    whether it was written.

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


def put_new(whole: Path | str, path: Target) -> None:
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


def write_numbered(folder: Path, stem: str, ending: str, data: bytes | str) -> Path:
    """Write a new file, readable only by its owner, as `stem` + `ending`, or with `~2`, `~3` … in
    between; return its path.

    Raises:
        StorageError: the disk is full, or the folder cannot be written.
    """
    names = itertools.chain([stem], (f"{stem}~{number}" for number in itertools.count(2)))
    paths = (below(folder, f"{name}{ending}") for name in names)
    return next(path for path in paths if not path.exists() and write_new(path, data))


@contextlib.contextmanager
def writing_whole(path: Target) -> Iterator[BinaryIO]:
    """Yield a file to write in pieces; it is synced and gets its name if the block ends without an
    error.

    Raises:
        StorageError: the disk is full, or the folder cannot be written.
    """
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


@contextlib.contextmanager
def written_by_path(path: Target) -> Iterator[Path]:
    """Yield a path for a library that writes by path; the file gets its name if the block ends
    without an error.

    Raises:
        StorageError: the disk is full, or the folder cannot be written.
    """
    partial = _partial(path)
    try:
        yield Path(partial)
        # Until here, the name has the old file, whole, whatever happens.
        os.replace(partial, path)  # noqa: PTH105
    except OSError as error:
        raise storage_error(path, error) from None
    finally:
        _remove(partial)


def _is_stream(path: Path) -> bool:
    """Return whether a path is a device or a pipe, or stands for an open file, as `/dev/stdout`
    does.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or os.fspath(path).startswith(_STREAMS)


def _partial(path: Path | str) -> str:
    folder, name = os.path.split(os.fspath(path))
    partial = f".{name[:80]}.{uuid.uuid4().hex[:8]}.partial"
    return os.path.join(folder, partial)  # noqa: PTH118 (the hot path)


def _write_partial(partial: str, data: Document, mode: int, *, sync: bool) -> None:
    pieces: Iterable[bytes | str] = [data] if isinstance(data, bytes | str) else data
    descriptor = os.open(partial, _NEW, mode)
    try:
        for piece in pieces:
            write_fully(descriptor, _encoded(piece))
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _encoded(data: bytes | str) -> bytes:
    if isinstance(data, str):
        return data.encode("utf-8", "replace")
    return data


def _remove(partial: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(partial)  # noqa: PTH108


def _sync_above(path: Path | str) -> None:
    sync_folder(os.path.dirname(os.fspath(path)) or ".")  # noqa: PTH120 (the hot path)


def write_fully(descriptor: int, data: bytes) -> None:
    """Write all of `data`, because the system may write only a part, for example on a disk that is
    nearly full.

    Raises:
        OSError: writing fails.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(folder: Path | str) -> None:
    """Wait until the names in a folder are on the disk, where the system can do that (not on
    Windows).
    """
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_all() -> None:
    """Wait until everything that was written is on the disk: one wait for any number of files (not
    on Windows).
    """
    if hasattr(os, "sync"):
        os.sync()


def write_private(path: Path, document: Document) -> None:
    """Write `document` to `path` (mode 0600), replacing the old file only once everything is
    written.

    Raises:
        UsageError: the folder is missing.
        StorageError: the folder cannot be written, or the disk is full.
    """
    if not path.parent.is_dir():
        raise UsageError(f"{path}: cannot be written: the folder {path.parent} does not exist")
    write_named(path, document, mode=0o600)


def write_or_print(document: Document, output: Path | None) -> None:
    """Write to a file and say so on stderr; without one print to stdout.

    Raises:
        UsageError, StorageError: as `write_private`.
    """
    if output is None:
        print_document(document)
        return
    write_private(output, document)
    say(f"wrote {clean_line(str(output), 300)}", err=True)

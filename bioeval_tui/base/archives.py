"""Zip files that others made. Whatever cannot be read in one is a sentence.

Python's library and its decompressors raise a dozen kinds of errors for a zip that is damaged,
encrypted, or of a kind that they do not know, and which one also depends on the version. So nobody
else here opens a zip to read it.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, cast

from bioeval_tui.base.errors import InputError
from bioeval_tui.base.text import clean_line

# which read members compressed with Zstandard, as in newer Inspect logs
if sys.version_info >= (
    3,
    14,
):
    from zipfile import ZipFile, is_zipfile
else:
    from backports.zstd.zipfile import ZipFile, is_zipfile

_FIRST_BYTES = (b"PK\x03\x04", b"PK\x05\x06")


class ArchiveError(InputError):
    """A zip file, or a member of it, that cannot be read; the message says why and what to do."""


class Archive:
    """An open zip file; `names` are its members, in order."""

    def __init__(self, file: ZipFile) -> None:
        self._file = file
        self.names = tuple(file.namelist())

    def member_size(self, name: str) -> int:
        """Return the size of a member in bytes, as the zip says."""
        return self._file.getinfo(name).file_size

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a member, to be read in pieces.

        Raises:
            ArchiveError: it cannot be read; also while it is read.
        """
        with _named(name):
            file = self._file.open(name)
        try:
            yield cast(BinaryIO, _Member(name, file))
        finally:
            with contextlib.suppress(Exception):  # what is wrong with it was said
                file.close()

    def read(self, name: str) -> bytes:
        """Return a member. Raises `ArchiveError`."""
        with self.open(name) as file:
            return file.read()

    def unpack(self, folder: Path) -> None:
        """Write every member below a folder, which must have no links in it.

        Raises:
            ArchiveError: a member cannot be read.
            OSError: a file cannot be written.
        """
        for name in self.names:
            try:
                self._file.extract(name, folder)
            except Exception as error:
                # Four decompressors, each with errors of its own, none of which has an errno; an
                # error of the disk has one, and is not the archive's.
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                raise ArchiveError(f"{clean_line(name, 200)} {_why(error)}") from None


class _Member(io.BufferedIOBase):
    def __init__(self, name: str, file: IO[bytes]) -> None:
        self._name, self._opened = name, file

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        with _named(self._name):
            return self._opened.read(-1 if size is None else size)

    def tell(self) -> int:
        return self._opened.tell()


def is_archive(path: Path) -> bool:
    """Return whether a file is a zip, or begins as one that was cut off."""
    try:
        with path.open("rb") as file:
            return file.read(4) in _FIRST_BYTES or is_zipfile(path)
    except OSError:
        return False


@contextlib.contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a zip file.

    Raises:
        ArchiveError: it is damaged, or of an unknown kind.
        OSError: there is no such file, or it may not be read.
    """
    with path.open("rb") as file:
        with _named("the zip file"):
            archive = ZipFile(file)
        with archive:
            yield Archive(archive)


@contextlib.contextmanager
def _named(what: str) -> Iterator[None]:
    """Make an `ArchiveError` of whatever is raised in the block."""
    try:
        yield
    except Exception as error:  # the library and four decompressors, each with errors of its own
        raise ArchiveError(f"{clean_line(what, 200)} {_why(error)}") from None


def _why(error: Exception) -> str:
    said = clean_line(str(error), 120) or type(error).__name__
    if isinstance(error, RuntimeError) and ("encrypt" in said or "password" in said):
        return "is encrypted; save it without a password"
    if isinstance(error, NotImplementedError):
        return f"cannot be read here ({said}); save it with another compression, such as Deflate"
    if isinstance(error, MemoryError):
        return "is too large to be unpacked"
    return f"is damaged or incomplete ({said})"
